use sluice_goyaml::{Flavour, Limits, Node, json_from_node, parse_document};

use super::decode::Decoder;
use super::types::{
    ConfigMapArgs, FieldOptions, FieldSelector, GeneratorOptions, Image, Kustomization, Label,
    LegacySortOptions, ObjectMeta, Patch, PatchOptions, Replacement, ReplacementField, Replica, SecretArgs,
    Selector, SortOptions, SourceSelector, TargetSelector, Var, VarTarget,
};
use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::FieldSpec;

/// The API version of kustomizations.
pub const KUSTOMIZATION_VERSION: &str = "kustomize.config.k8s.io/v1beta1";
/// The kind of kustomizations.
pub const KUSTOMIZATION_KIND: &str = "Kustomization";
/// The API version of components.
pub const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";
/// The kind of components.
pub const COMPONENT_KIND: &str = "Component";

impl Kustomization {
    /// Reads a kustomization file, moves deprecated fields to their successors and fills in kind and API
    /// version.
    ///
    /// # Errors
    /// What is not YAML, unknown fields, wrong types, another kind or API version, and a file that says
    /// nothing; with `file` and line.
    pub fn parse(text: &str, file: &str, limits: &Limits) -> Result<Self> {
        let node = parse_document(text.as_bytes(), Flavour::Sigs, *limits).map_err(|error| {
            Error::from_yaml(&error)
                .in_file(file)
                .while_doing("reading the kustomization file")
        })?;
        let node = node.unwrap_or_else(Node::null);
        let decoder = Decoder { file, strict: true };
        let mut kustomization = read_kustomization(&decoder, &node)?;
        kustomization.fix();
        let empty = Self {
            api_version: kustomization.api_version.clone(),
            kind: kustomization.kind.clone(),
            ..Self::default()
        };
        let says_something = node.as_mapping().is_some_and(|fields| {
            fields
                .iter()
                .any(|(name, value)| value.text().is_none() && !matches!(name, "bases" | "imageTags"))
        });
        // Even an empty list or mapping says something to kustomize, an empty text does not.
        if kustomization == empty && !says_something {
            return Err(
                Error::new(ErrorKind::Kustomization, "the kustomization file says nothing")
                    .in_file(file)
                    .remedy("list resources, generators or components in it"),
            );
        }
        kustomization.note_deprecated(&node);
        kustomization.check_kind(file)?;
        Ok(kustomization)
    }

    /// Whether this is a component.
    #[must_use]
    pub fn is_component(&self) -> bool {
        self.kind == COMPONENT_KIND
    }

    /// The file's text: fields that are set, keys sorted.
    ///
    /// # Errors
    /// None in practice; a value that has no JSON form.
    pub fn to_yaml(&self) -> Result<String> {
        let value = serde_json::to_value(self)
            .map_err(|error| Error::new(ErrorKind::Kustomization, error.to_string()))?;
        sluice_goyaml::write_sigs(&value).map_err(|error| Error::from_yaml(&error))
    }

    fn note_deprecated(&mut self, node: &Node) {
        for field in [
            "bases",
            "commonLabels",
            "imageTags",
            "patchesJson6902",
            "patchesStrategicMerge",
            "vars",
        ] {
            if node.get(field).is_some_and(|value| !value.is_null()) {
                self.deprecated.push(field);
            }
        }
    }

    fn fix(&mut self) {
        if self.kind.is_empty() {
            KUSTOMIZATION_KIND.clone_into(&mut self.kind);
        }
        if self.api_version.is_empty() {
            let version = if self.is_component() {
                COMPONENT_VERSION
            } else {
                KUSTOMIZATION_VERSION
            };
            version.clone_into(&mut self.api_version);
        }
    }

    fn check_kind(&self, file: &str) -> Result<()> {
        if self.kind != KUSTOMIZATION_KIND && self.kind != COMPONENT_KIND {
            return Err(
                Error::new(ErrorKind::Kustomization, format!("the kind is {:?}", self.kind))
                    .in_file(file)
                    .at_field("kind")
                    .remedy(format!("use {KUSTOMIZATION_KIND} or {COMPONENT_KIND}")),
            );
        }
        let wanted = if self.is_component() {
            COMPONENT_VERSION
        } else {
            KUSTOMIZATION_VERSION
        };
        if self.api_version != wanted {
            return Err(Error::new(
                ErrorKind::Kustomization,
                format!("the apiVersion of a {} is {:?}", self.kind, self.api_version),
            )
            .in_file(file)
            .at_field("apiVersion")
            .remedy(format!("use {wanted}")));
        }
        Ok(())
    }
}

fn read_kustomization(decoder: &Decoder<'_>, node: &Node) -> Result<Kustomization> {
    let mut fields = decoder.fields(node, "")?;
    let mut result = Kustomization {
        api_version: fields.string("apiVersion")?,
        kind: fields.string("kind")?,
        metadata: fields.object("metadata", read_object_meta)?,
        openapi: fields.string_map("openapi")?,
        name_prefix: fields.string("namePrefix")?,
        name_suffix: fields.string("nameSuffix")?,
        namespace: fields.string("namespace")?,
        common_labels: fields.string_map("commonLabels")?,
        labels: fields.list("labels", read_label)?,
        common_annotations: fields.string_map("commonAnnotations")?,
        patches_strategic_merge: fields.strings("patchesStrategicMerge")?,
        patches_json6902: fields.list("patchesJson6902", read_patch)?,
        patches: fields.list("patches", read_patch)?,
        images: fields.list("images", read_image)?,
        replacements: fields.list("replacements", read_replacement_field)?,
        replicas: fields.list("replicas", read_replica)?,
        vars: fields.list("vars", read_var)?,
        sort_options: fields.object("sortOptions", read_sort_options)?,
        resources: fields.strings("resources")?,
        components: fields.strings("components")?,
        crds: fields.strings("crds")?,
        config_map_generator: fields.list("configMapGenerator", read_config_map_args)?,
        secret_generator: fields.list("secretGenerator", read_secret_args)?,
        helm_globals: fields.object("helmGlobals", read_json)?,
        helm_charts: fields.list("helmCharts", read_json)?,
        generator_options: fields.object("generatorOptions", read_generator_options)?,
        configurations: fields.strings("configurations")?,
        generators: fields.strings("generators")?,
        transformers: fields.strings("transformers")?,
        validators: fields.strings("validators")?,
        build_metadata: fields.strings("buildMetadata")?,
        deprecated: Vec::new(),
    };
    result.resources.extend(fields.strings("bases")?);
    result.images.extend(fields.list("imageTags", read_image)?);
    result
        .helm_charts
        .extend(fields.list("helmChartInflationGenerator", read_json)?);
    fields.finish()?;
    Ok(result)
}

fn read_json(decoder: &Decoder<'_>, node: &Node, _path: &str) -> Result<serde_json::Value> {
    json_from_node(node, Flavour::Sigs).map_err(|error| Error::from_yaml(&error).in_file(decoder.file))
}

pub(crate) fn read_object_meta(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<ObjectMeta> {
    let mut fields = decoder.fields(node, path)?;
    let result = ObjectMeta {
        name: fields.string("name")?,
        namespace: fields.string("namespace")?,
        labels: fields.string_map("labels")?,
        annotations: fields.string_map("annotations")?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_field_spec(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<FieldSpec> {
    let mut fields = decoder.fields(node, path)?;
    let result = FieldSpec {
        group: fields.string("group")?,
        version: fields.string("version")?,
        kind: fields.string("kind")?,
        path: fields.string("path")?,
        create: fields.boolean("create")?,
    };
    fields.finish()?;
    Ok(result)
}

fn read_label(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<Label> {
    let mut fields = decoder.fields(node, path)?;
    let result = Label {
        pairs: fields.string_map("pairs")?,
        include_selectors: fields.boolean("includeSelectors")?,
        include_templates: fields.boolean("includeTemplates")?,
        fields: fields.list("fields", read_field_spec)?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_patch(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<Patch> {
    let mut fields = decoder.fields(node, path)?;
    let result = Patch {
        path: fields.string("path")?,
        patch: fields.string("patch")?,
        target: fields.object("target", read_selector)?,
        options: fields.object("options", read_patch_options)?,
        line: node.position.line,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_patch_options(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<PatchOptions> {
    let mut fields = decoder.fields(node, path)?;
    let result = PatchOptions {
        allow_name_change: fields.boolean("allowNameChange")?,
        allow_kind_change: fields.boolean("allowKindChange")?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_selector(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<Selector> {
    let mut fields = decoder.fields(node, path)?;
    let result = Selector {
        group: fields.string("group")?,
        version: fields.string("version")?,
        kind: fields.string("kind")?,
        name: fields.string("name")?,
        namespace: fields.string("namespace")?,
        annotation_selector: fields.string("annotationSelector")?,
        label_selector: fields.string("labelSelector")?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_image(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<Image> {
    let mut fields = decoder.fields(node, path)?;
    let result = Image {
        name: fields.string("name")?,
        new_name: fields.string("newName")?,
        tag_suffix: fields.string("tagSuffix")?,
        new_tag: fields.string("newTag")?,
        digest: fields.string("digest")?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_replica(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<Replica> {
    let mut fields = decoder.fields(node, path)?;
    let result = Replica {
        name: fields.string("name")?,
        count: fields.integer("count")?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_replacement_field(
    decoder: &Decoder<'_>,
    node: &Node,
    path: &str,
) -> Result<ReplacementField> {
    let mut fields = decoder.fields(node, path)?;
    let result = ReplacementField {
        path: fields.string("path")?,
        replacement: Replacement {
            source: fields.object("source", read_source_selector)?,
            targets: fields.object("targets", |decoder, node, path| {
                decoder.list(node, path, read_target_selector)
            })?,
            source_value: fields.optional_string("sourceValue")?,
            line: node.position.line,
        },
    };
    fields.finish()?;
    Ok(result)
}

fn read_source_selector(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<SourceSelector> {
    let mut fields = decoder.fields(node, path)?;
    let result = SourceSelector {
        group: fields.string("group")?,
        version: fields.string("version")?,
        kind: fields.string("kind")?,
        name: fields.string("name")?,
        namespace: fields.string("namespace")?,
        field_path: fields.string("fieldPath")?,
        options: fields.object("options", read_field_options)?,
    };
    fields.finish()?;
    Ok(result)
}

fn read_target_selector(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<TargetSelector> {
    let mut fields = decoder.fields(node, path)?;
    let result = TargetSelector {
        select: fields.object("select", read_selector)?,
        reject: fields.list("reject", read_selector)?,
        field_paths: fields.strings("fieldPaths")?,
        options: fields.object("options", read_field_options)?,
    };
    fields.finish()?;
    Ok(result)
}

fn read_field_options(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<FieldOptions> {
    let mut fields = decoder.fields(node, path)?;
    let result = FieldOptions {
        delimiter: fields.string("delimiter")?,
        index: fields.integer("index")?,
        encoding: fields.string("encoding")?,
        create: fields.boolean("create")?,
    };
    fields.finish()?;
    Ok(result)
}

fn read_var(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<Var> {
    let mut fields = decoder.fields(node, path)?;
    let result = Var {
        name: fields.string("name")?,
        objref: fields.object("objref", read_var_target)?.unwrap_or_default(),
        fieldref: fields
            .object("fieldref", read_field_selector)?
            .unwrap_or_default(),
    };
    fields.finish()?;
    Ok(result)
}

fn read_var_target(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<VarTarget> {
    let mut fields = decoder.fields(node, path)?;
    let result = VarTarget {
        api_version: fields.string("apiVersion")?,
        group: fields.string("group")?,
        version: fields.string("version")?,
        kind: fields.string("kind")?,
        name: fields.string("name")?,
        namespace: fields.string("namespace")?,
    };
    fields.finish()?;
    Ok(result)
}

fn read_field_selector(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<FieldSelector> {
    let mut fields = decoder.fields(node, path)?;
    let result = FieldSelector {
        field_path: fields.string("fieldPath")?,
    };
    fields.finish()?;
    Ok(result)
}

fn read_sort_options(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<SortOptions> {
    let mut fields = decoder.fields(node, path)?;
    let result = SortOptions {
        order: fields.string("order")?,
        legacy_sort_options: fields.object("legacySortOptions", |decoder, node, path| {
            let mut fields = decoder.fields(node, path)?;
            let result = LegacySortOptions {
                order_first: fields.strings("orderFirst")?,
                order_last: fields.strings("orderLast")?,
            };
            fields.finish()?;
            Ok(result)
        })?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_generator_options(
    decoder: &Decoder<'_>,
    node: &Node,
    path: &str,
) -> Result<GeneratorOptions> {
    let mut fields = decoder.fields(node, path)?;
    let result = GeneratorOptions {
        labels: fields.string_map("labels")?,
        annotations: fields.string_map("annotations")?,
        disable_name_suffix_hash: fields.boolean("disableNameSuffixHash")?,
        immutable: fields.boolean("immutable")?,
    };
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_config_map_args(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<ConfigMapArgs> {
    let mut fields = decoder.fields(node, path)?;
    let result = read_generator_args(&mut fields, node)?;
    fields.finish()?;
    Ok(result)
}

pub(crate) fn read_secret_args(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<SecretArgs> {
    let mut fields = decoder.fields(node, path)?;
    let base = read_generator_args(&mut fields, node)?;
    let result = SecretArgs {
        base,
        secret_type: fields.string("type")?,
    };
    fields.finish()?;
    Ok(result)
}

fn read_generator_args(fields: &mut super::decode::Fields<'_, '_>, node: &Node) -> Result<ConfigMapArgs> {
    let mut args = ConfigMapArgs {
        namespace: fields.string("namespace")?,
        name: fields.string("name")?,
        behavior: fields.string("behavior")?,
        literals: fields.strings("literals")?,
        files: fields.strings("files")?,
        envs: fields.strings("envs")?,
        options: fields.object("options", read_generator_options)?,
        line: node.position.line,
    };
    let env = fields.string("env")?;
    if !env.is_empty() {
        args.envs.push(env);
    }
    Ok(args)
}
