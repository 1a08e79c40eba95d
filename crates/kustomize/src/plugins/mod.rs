//! Configurations under `generators`, `transformers` and `validators`: those of built-in plugins are carried
//! out, all others refused.

use sluice_goyaml::{Flavour, Mapping, Node, parse_document};

use crate::error::{Error, ErrorKind, Result};
use crate::generators::{make_config_map, make_secret};
use crate::kustomization::decode::Decoder;
use crate::kustomization::parse::{
    read_config_map_args, read_field_spec, read_image, read_object_meta, read_patch_options,
    read_replacement_field, read_replica, read_secret_args, read_selector,
};
use crate::kustomization::{ConfigMapArgs, Replacement, ReplacementField};
use crate::loader::Loader;
use crate::resource::{Resource, read_objects};
use crate::resource_map::ResourceMap;
use crate::schema::Schema;
use crate::transformers::{
    AddName, Annotations, Images, InlinePatch, JsonTransformer, Labels, Namespace, PatchTransformer,
    Position, Replacements, Replicas, StrategicTransformer, SubjectMode, ValueAdd, ValueTarget, add_hashes,
};
use crate::tree;

const BUILT_IN: &str = "builtin";

fn source_of(configuration: &Resource) -> String {
    configuration.source().unwrap_or_default().to_owned()
}

fn refuse(configuration: &Resource, problem: String, remedy: &str) -> Error {
    Error::new(ErrorKind::Plugin, problem)
        .in_file(source_of(configuration))
        .at_line(configuration.node().position.line)
        .remedy(remedy)
}

fn check_built_in(configuration: &Resource) -> Result<()> {
    if configuration.api_version() == BUILT_IN {
        return Ok(());
    }
    Err(refuse(
        configuration,
        format!(
            "{} {:?} is an external plugin, and builds run none",
            configuration.kind(),
            configuration.name()
        ),
        "use a built-in plugin (apiVersion: builtin), or write out what it makes",
    ))
}

fn unknown(configuration: &Resource, role: &str) -> Error {
    refuse(
        configuration,
        format!("there is no built-in {role} {}", configuration.kind()),
        "correct the kind; sortOptions are given in the kustomization file itself",
    )
}

/// Reads replacements, those in files too.
pub(crate) fn load_replacements(
    fields: &[ReplacementField],
    loader: &Loader<'_>,
) -> Result<Vec<Replacement>> {
    let mut result = Vec::new();
    for field in fields {
        if field.path.is_empty() {
            result.push(field.replacement.clone());
            continue;
        }
        if field.replacement.source.is_some()
            || field.replacement.targets.as_ref().is_some_and(|t| !t.is_empty())
        {
            return Err(
                Error::new(ErrorKind::Replacement, "path excludes source and targets")
                    .at_line(field.replacement.line)
                    .remedy("remove the path, or the rest"),
            );
        }
        let loaded = loader.load(&field.path)?;
        let node = parse_document(&loaded.contents, Flavour::Sigs, loader.session.limits().yaml)
            .map_err(|error| Error::from_yaml(&error).in_file(loaded.name.as_str()))?
            .unwrap_or_else(Node::null);
        let decoder = Decoder {
            file: &loaded.name,
            strict: false,
        };
        if node.as_sequence().is_some() {
            let list = decoder.list(&node, "", read_replacement_field)?;
            result.extend(list.into_iter().map(|field| field.replacement));
        } else if node.as_mapping().is_some() {
            result.push(read_replacement_field(&decoder, &node, "")?.replacement);
        } else {
            return Err(
                Error::new(ErrorKind::Replacement, "expected a replacement or a list of them")
                    .in_file(loaded.name),
            );
        }
    }
    Ok(result)
}

/// Runs a generator.
///
/// # Errors
/// Whatever the generator says, and plugins that are not built in.
pub(crate) fn generate(configuration: &Resource, loader: &Loader<'_>) -> Result<Vec<Resource>> {
    check_built_in(configuration)?;
    let file = source_of(configuration);
    let decoder = Decoder {
        file: &file,
        strict: false,
    };
    let node = configuration.node();
    let named = |args: &mut ConfigMapArgs| -> Result<()> {
        let metadata = decoder
            .fields(node, "")?
            .object("metadata", read_object_meta)?
            .unwrap_or_default();
        if args.name.is_empty() {
            args.name = metadata.name;
        }
        if args.namespace.is_empty() {
            args.namespace = metadata.namespace;
        }
        Ok(())
    };
    match configuration.kind() {
        "ConfigMapGenerator" => {
            let mut args = read_config_map_args(&decoder, node, "")?;
            named(&mut args)?;
            Ok(vec![make_config_map(&args, loader, &file)?])
        }
        "SecretGenerator" => {
            let mut args = read_secret_args(&decoder, node, "")?;
            named(&mut args.base)?;
            Ok(vec![make_secret(&args, loader, &file)?])
        }
        "IAMPolicyGenerator" => Ok(vec![make_iam_policy(&decoder, node)?]),
        "HelmChartInflationGenerator" => Err(refuse(
            configuration,
            "Helm charts are not rendered in a build".to_owned(),
            "use a HelmRelease",
        )),
        _ => Err(unknown(configuration, "generator")),
    }
}

fn make_iam_policy(decoder: &Decoder<'_>, node: &Node) -> Result<Resource> {
    let mut fields = decoder.fields(node, "")?;
    let cloud = fields.string("cloud")?;
    if cloud != "gke" {
        return Err(decoder
            .error(node, "cloud", format!("the cloud {cloud:?} is unknown"))
            .remedy("use gke"));
    }
    let mut part = |field: &str, first: &str, second: &str| {
        let pair = fields.object(field, |decoder, node, path| {
            let mut fields = decoder.fields(node, path)?;
            Ok((fields.string(first)?, fields.string(second)?))
        });
        pair.map(Option::unwrap_or_default)
    };
    let (name, namespace) = part("kubernetesService", "name", "namespace")?;
    let (account, project) = part("serviceAccount", "name", "projectId")?;
    let mut annotations = Mapping::new();
    annotations.push(
        Node::plain("iam.gke.io/gcp-service-account"),
        tree::string(format!("{account}@{project}.iam.gserviceaccount.com")),
    );
    let mut metadata = Mapping::new();
    metadata.push(Node::plain("annotations"), Node::mapping(annotations));
    metadata.push(Node::plain("name"), tree::untagged(name));
    if !namespace.is_empty() {
        metadata.push(Node::plain("namespace"), tree::untagged(namespace));
    }
    let mut root = Mapping::new();
    root.push(Node::plain("apiVersion"), Node::plain("v1"));
    root.push(Node::plain("kind"), Node::plain("ServiceAccount"));
    root.push(Node::plain("metadata"), Node::mapping(metadata));
    Ok(Resource::new(Node::mapping(root)))
}

/// Runs a transformer.
///
/// # Errors
/// Whatever the transformer says, and plugins that are not built in.
pub(crate) fn transform(
    configuration: &Resource,
    loader: &Loader<'_>,
    map: &mut ResourceMap,
    schema: &Schema,
) -> Result<()> {
    check_built_in(configuration)?;
    let file = source_of(configuration);
    let decoder = Decoder {
        file: &file,
        strict: false,
    };
    run_transformer(configuration, &decoder, loader, map, schema).map_err(|error| {
        error.in_file(file.as_str()).while_doing(format!(
            "{} {:?}",
            configuration.kind(),
            configuration.name()
        ))
    })
}

fn run_transformer(
    configuration: &Resource,
    decoder: &Decoder<'_>,
    loader: &Loader<'_>,
    map: &mut ResourceMap,
    schema: &Schema,
) -> Result<()> {
    let node = configuration.node();
    let mut fields = decoder.fields(node, "")?;
    let specs = fields.list("fieldSpecs", read_field_spec)?;
    let limits = &loader.session.limits().yaml;
    match configuration.kind() {
        "LabelTransformer" => Labels {
            labels: fields.string_map("labels")?,
            fields: specs,
        }
        .apply(map),
        "AnnotationsTransformer" => Annotations {
            annotations: fields.string_map("annotations")?,
            fields: specs,
        }
        .apply(map),
        kind @ ("PrefixTransformer" | "SuffixTransformer" | "PrefixSuffixTransformer") => {
            if specs.is_empty() {
                return Err(decoder
                    .error(node, "fieldSpecs", "no fields are given")
                    .remedy("add path: metadata/name"));
            }
            let (prefix, suffix) = (fields.string("prefix")?, fields.string("suffix")?);
            if kind != "SuffixTransformer" {
                AddName {
                    text: prefix,
                    position: Position::Before,
                    fields: specs.clone(),
                }
                .apply(map, schema)?;
            }
            if kind != "PrefixTransformer" {
                AddName {
                    text: suffix,
                    position: Position::After,
                    fields: specs,
                }
                .apply(map, schema)?;
            }
            Ok(())
        }
        "NamespaceTransformer" => {
            let metadata = fields.object("metadata", read_object_meta)?.unwrap_or_default();
            let subjects = match fields.string("setRoleBindingSubjects")?.as_str() {
                "" | "defaultOnly" => SubjectMode::DefaultOnly,
                "allServiceAccounts" => SubjectMode::AllServiceAccounts,
                "none" => SubjectMode::None,
                other => {
                    return Err(decoder
                        .error(
                            node,
                            "setRoleBindingSubjects",
                            format!("the value {other:?} is unknown"),
                        )
                        .remedy("use defaultOnly, allServiceAccounts or none"));
                }
            };
            let unset_only = fields.boolean("unsetOnly")?;
            Namespace {
                namespace: metadata.namespace,
                fields: specs,
                unset_only,
                subjects,
            }
            .apply(map, schema)
        }
        "ImageTagTransformer" => {
            let image = fields.object("imageTag", read_image)?.unwrap_or_default();
            Images {
                images: vec![image],
                fields: specs,
            }
            .apply(map)
        }
        "ReplicaCountTransformer" => {
            let replica = fields.object("replica", read_replica)?.unwrap_or_default();
            Replicas {
                replica,
                fields: specs,
            }
            .apply(map)
        }
        "HashTransformer" => add_hashes(map, schema),
        "ReplacementTransformer" => {
            let list = fields.list("replacements", read_replacement_field)?;
            Replacements {
                replacements: load_replacements(&list, loader)?,
            }
            .apply(map, schema)
        }
        "PatchTransformer" => {
            let patch = patch_text(decoder, node, loader, "patch")?;
            let target = fields.object("target", read_selector)?;
            let options = fields.object("options", read_patch_options)?.unwrap_or_default();
            PatchTransformer {
                patch,
                target,
                options,
            }
            .apply(map, schema, limits)
        }
        "PatchJson6902Transformer" => {
            let patch = patch_text(decoder, node, loader, "jsonOp")?;
            let target = fields.object("target", read_selector)?.unwrap_or_default();
            JsonTransformer { patch, target }.apply(map, schema, limits)
        }
        "PatchStrategicMergeTransformer" => {
            let mut patches = Vec::new();
            for path in fields.strings("paths")? {
                match read_objects(path.as_bytes(), decoder.file, limits) {
                    Ok(inline) => patches.extend(inline),
                    Err(_) => {
                        let loaded = loader.load(&path)?;
                        patches.extend(read_objects(&loaded.contents, &loaded.name, limits)?);
                    }
                }
            }
            patches.extend(read_objects(
                fields.string("patches")?.as_bytes(),
                decoder.file,
                limits,
            )?);
            if patches.is_empty() {
                return Err(decoder
                    .error(node, "", "the patches are empty")
                    .remedy("give paths or patches"));
            }
            StrategicTransformer { patches }.apply(map, schema)
        }
        "ValueAddTransformer" => value_add(decoder, node, loader)?.apply(map, schema),
        _ => Err(unknown(configuration, "transformer")),
    }
}

fn patch_text(decoder: &Decoder<'_>, node: &Node, loader: &Loader<'_>, field: &str) -> Result<InlinePatch> {
    let mut fields = decoder.fields(node, "")?;
    let (path, text) = (fields.string("path")?, fields.string(field)?);
    let text = if field == "patch" {
        text.trim().to_owned()
    } else {
        text
    };
    let line = node.position.line;
    match (path.is_empty(), text.is_empty()) {
        (true, true) => Err(decoder.error(node, field, format!("neither path nor {field} is given"))),
        (false, false) => Err(decoder.error(node, field, format!("both path and {field} are given"))),
        (true, false) => Ok(InlinePatch {
            text,
            file: decoder.file.to_owned(),
            line,
            field: field.to_owned(),
        }),
        (false, true) => {
            let loaded = loader.load(&path)?;
            let text = String::from_utf8_lossy(&loaded.contents).into_owned();
            Ok(InlinePatch {
                text,
                file: loaded.name,
                line: 0,
                field: "path".to_owned(),
            })
        }
    }
}

fn value_add(decoder: &Decoder<'_>, node: &Node, loader: &Loader<'_>) -> Result<ValueAdd> {
    let mut fields = decoder.fields(node, "")?;
    let value = fields.string("value")?.trim().to_owned();
    let value = if value.is_empty() {
        loader.root().file_name().to_owned()
    } else {
        value
    };
    let mut targets = fields.list("targets", read_value_target)?;
    let path = fields.string("targetFilePath")?;
    if !path.is_empty() {
        let loaded = loader.load(&path)?;
        let file = parse_document(&loaded.contents, Flavour::Sigs, loader.session.limits().yaml)
            .map_err(|error| Error::from_yaml(&error).in_file(loaded.name.as_str()))?
            .unwrap_or_else(Node::null);
        let decoder = Decoder {
            file: &loaded.name,
            strict: false,
        };
        targets.extend(decoder.fields(&file, "")?.list("targets", read_value_target)?);
    }
    if targets.is_empty() {
        return Err(decoder
            .error(node, "targets", "no targets are given")
            .remedy("add one"));
    }
    Ok(ValueAdd { value, targets })
}

fn read_value_target(decoder: &Decoder<'_>, node: &Node, path: &str) -> Result<ValueTarget> {
    let mut fields = decoder.fields(node, path)?;
    let position = fields.integer("filePathPosition")?;
    let target = ValueTarget {
        selector: fields.object("selector", read_selector)?,
        field_path: fields.string("fieldPath")?,
        position: usize::try_from(position).map_err(|_| {
            decoder
                .error(node, path, "filePathPosition is negative")
                .remedy("use 0 or more")
        })?,
    };
    if target.field_path.is_empty() {
        return Err(decoder.error(node, path, "fieldPath is missing").remedy("add it"));
    }
    Ok(target)
}
