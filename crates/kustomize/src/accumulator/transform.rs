use std::collections::BTreeMap;

use super::{Accumulator, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::{FieldSpec, merge_all, merge_one};
use crate::kustomization::Label;
use crate::plugins;
use crate::resource::read_objects;
use crate::resource_map::ResourceMap;
use crate::schema::Schema;
use crate::transformers::{
    AddName, Annotations, Images, InlinePatch, JsonTransformer, Labels, Namespace, PatchTransformer,
    Position, Replacements, Replicas, StrategicTransformer, SubjectMode,
};

impl Target<'_, '_> {
    /// Runs one transformer, records it if asked for, and drops what it deleted.
    fn step(
        &self,
        map: &mut ResourceMap,
        plugin: &str,
        run: impl FnOnce(&mut ResourceMap, &Schema) -> Result<()>,
    ) -> Result<()> {
        self.loader.session.check_deadline()?;
        let schema = self.schema.get();
        run(map, &schema).map_err(|error| error.in_file(self.file.as_str()))?;
        if let Some(origin) = &self.origin {
            map.add_transformation(&origin.built_in(self.file_name, plugin))?;
        }
        map.drop_empty();
        Ok(())
    }

    pub(super) fn run_transformers(&self, accumulator: &mut Accumulator) -> Result<()> {
        let Accumulator { map, specs, .. } = accumulator;
        let kustomization = &self.kustomization;
        self.run_patches(map)?;
        if !kustomization.namespace.is_empty() {
            let namespace = Namespace {
                namespace: kustomization.namespace.clone(),
                fields: specs.namespace.clone(),
                unset_only: false,
                subjects: SubjectMode::DefaultOnly,
            };
            self.step(map, "NamespaceTransformer", |map, schema| {
                namespace.apply(map, schema)
            })?;
        }
        for (text, position, fields, plugin) in [
            (
                &kustomization.name_prefix,
                Position::Before,
                &specs.name_prefix,
                "PrefixTransformer",
            ),
            (
                &kustomization.name_suffix,
                Position::After,
                &specs.name_suffix,
                "SuffixTransformer",
            ),
        ] {
            if !text.is_empty() {
                let names = AddName {
                    text: text.clone(),
                    position,
                    fields: fields.clone(),
                };
                self.step(map, plugin, |map, schema| names.apply(map, schema))?;
            }
        }
        self.run_labels(accumulator)?;
        let Accumulator { map, specs, .. } = accumulator;
        if !kustomization.common_annotations.is_empty() {
            let annotations = Annotations {
                annotations: kustomization.common_annotations.clone(),
                fields: specs.common_annotations.clone(),
            };
            self.step(map, "AnnotationsTransformer", |map, _| annotations.apply(map))?;
        }
        self.run_json_patches(map)?;
        for replica in &kustomization.replicas {
            let replicas = Replicas {
                replica: replica.clone(),
                fields: specs.replicas.clone(),
            };
            self.step(map, "ReplicaCountTransformer", |map, _| replicas.apply(map))?;
        }
        // Each is a transformation of its own where these are recorded.
        let at_once = if self.origin.is_some() { 1 } else { usize::MAX };
        for images in kustomization.images.chunks(at_once) {
            let images = Images {
                images: images.to_vec(),
                fields: specs.images.clone(),
            };
            self.step(map, "ImageTagTransformer", |map, _| images.apply(map))?;
        }
        self.run_replacements(map)?;
        for configuration in self.load_plugins(&kustomization.transformers, "transformers")? {
            self.run_plugin(&mut accumulator.map, &configuration)?;
        }
        Ok(())
    }

    fn run_plugin(&self, map: &mut ResourceMap, configuration: &crate::resource::Resource) -> Result<()> {
        let schema = self.schema.get();
        plugins::transform(configuration, &self.loader, map, &schema)?;
        if let Some(origin) = configuration.plugin_origin() {
            map.add_transformation(&origin)?;
        }
        map.drop_empty();
        Ok(())
    }

    pub(super) fn run_validators(&self, accumulator: &mut Accumulator) -> Result<()> {
        for configuration in self.load_plugins(&self.kustomization.validators, "validators")? {
            let before: Vec<_> = accumulator
                .map
                .iter()
                .map(|resource| (resource.node().clone(), resource.state.clone()))
                .collect();
            let schema = self.schema.get();
            plugins::transform(&configuration, &self.loader, &mut accumulator.map, &schema)?;
            let same = before.len() == accumulator.map.len()
                && accumulator
                    .map
                    .iter()
                    .zip(&before)
                    .all(|(resource, (node, state))| resource.node() == node && resource.state == *state);
            if !same {
                return Err(Error::new(ErrorKind::Plugin, "a validator changed the objects")
                    .in_file(self.file.as_str())
                    .at_field("validators")
                    .remedy("list it under transformers"));
            }
        }
        Ok(())
    }

    fn run_patches(&self, map: &mut ResourceMap) -> Result<()> {
        let limits = &self.loader.session.limits().yaml;
        let kustomization = &self.kustomization;
        if !kustomization.patches_strategic_merge.is_empty() {
            let mut patches = Vec::new();
            for (index, entry) in kustomization.patches_strategic_merge.iter().enumerate() {
                let place = |error: Error| {
                    error
                        .in_file(self.file.as_str())
                        .at_field(format!("patchesStrategicMerge[{index}]"))
                };
                match read_objects(entry.as_bytes(), &self.file, limits) {
                    Ok(inline) => patches.extend(inline),
                    Err(_) => {
                        let loaded = self.loader.load(entry).map_err(place)?;
                        patches.extend(read_objects(&loaded.contents, &loaded.name, limits).map_err(place)?);
                    }
                }
            }
            if patches.is_empty() {
                return Err(Error::new(ErrorKind::Patch, "the patches are empty")
                    .in_file(self.file.as_str())
                    .at_field("patchesStrategicMerge")
                    .remedy("remove the field, or fill the patches"));
            }
            let patches = StrategicTransformer { patches };
            self.step(map, "PatchStrategicMergeTransformer", |map, schema| {
                patches.apply(map, schema)
            })?;
        }
        for (index, entry) in kustomization.patches.iter().enumerate() {
            let patch = PatchTransformer {
                patch: self.patch_text(
                    &entry.path,
                    entry.patch.trim(),
                    entry.line,
                    &format!("patches[{index}]"),
                )?,
                target: entry.target.clone(),
                options: entry.options.clone().unwrap_or_default(),
            };
            self.step(map, "PatchTransformer", |map, schema| {
                patch.apply(map, schema, limits)
            })?;
        }
        Ok(())
    }

    fn run_json_patches(&self, map: &mut ResourceMap) -> Result<()> {
        let limits = &self.loader.session.limits().yaml;
        for (index, entry) in self.kustomization.patches_json6902.iter().enumerate() {
            let field = format!("patchesJson6902[{index}]");
            let patch = JsonTransformer {
                patch: self.patch_text(&entry.path, &entry.patch, entry.line, &field)?,
                target: entry.target.clone().unwrap_or_default(),
            };
            self.step(map, "PatchJson6902Transformer", |map, schema| {
                patch.apply(map, schema, limits)
            })?;
        }
        Ok(())
    }

    /// The text of a patch that is given in place or by path.
    fn patch_text(&self, path: &str, text: &str, line: u32, field: &str) -> Result<InlinePatch> {
        let problem = |problem: &str| {
            Error::new(ErrorKind::Patch, problem)
                .in_file(self.file.as_str())
                .at_line(line)
                .at_field(field)
        };
        match (path.is_empty(), text.is_empty()) {
            (true, true) => Err(problem("neither path nor patch is given").remedy("give one of them")),
            (false, false) => Err(problem("both path and patch are given").remedy("remove one of them")),
            (true, false) => Ok(InlinePatch {
                text: text.to_owned(),
                file: self.file.clone(),
                line,
                field: field.to_owned(),
            }),
            (false, true) => {
                let loaded = self
                    .loader
                    .load(path)
                    .map_err(|error| error.in_file(self.file.as_str()).at_line(line).at_field(field))?;
                let text = String::from_utf8_lossy(&loaded.contents).into_owned();
                Ok(InlinePatch {
                    text,
                    file: loaded.name,
                    line: 0,
                    field: field.to_owned(),
                })
            }
        }
    }

    fn run_labels(&self, accumulator: &mut Accumulator) -> Result<()> {
        let Accumulator { map, specs, .. } = accumulator;
        let kustomization = &self.kustomization;
        if kustomization.labels.is_empty() && kustomization.common_labels.is_empty() {
            return Ok(());
        }
        for (index, label) in kustomization.labels.iter().enumerate() {
            let fields =
                label_fields(label, specs).map_err(|error| error.at_field(format!("labels[{index}]")))?;
            self.set_labels(map, &label.pairs, fields)?;
        }
        // kustomize runs this one even without labels, which shows in the recorded transformations.
        self.set_labels(map, &kustomization.common_labels, specs.common_labels.clone())
    }

    fn set_labels(
        &self,
        map: &mut ResourceMap,
        pairs: &BTreeMap<String, String>,
        fields: Vec<FieldSpec>,
    ) -> Result<()> {
        let labels = Labels {
            labels: pairs.clone(),
            fields,
        };
        self.step(map, "LabelTransformer", |map, _| labels.apply(map))
    }

    fn run_replacements(&self, map: &mut ResourceMap) -> Result<()> {
        if self.kustomization.replacements.is_empty() {
            return Ok(());
        }
        let replacements = Replacements {
            replacements: plugins::load_replacements(&self.kustomization.replacements, &self.loader)
                .map_err(|error| error.in_file(self.file.as_str()).at_field("replacements"))?,
        };
        self.step(map, "ReplacementTransformer", |map, schema| {
            replacements.apply(map, schema)
        })
    }
}

fn label_fields(label: &Label, specs: &crate::field_specs::FieldSpecs) -> Result<Vec<FieldSpec>> {
    let mut fields = label.fields.clone();
    merge_all(&mut fields, &specs.labels)?;
    if label.include_selectors {
        merge_all(&mut fields, &specs.common_labels)?;
        return Ok(fields);
    }
    if label.include_templates {
        merge_all(&mut fields, &specs.template_labels)?;
    }
    merge_one(&mut fields, &FieldSpec::of_all("metadata/labels", true))?;
    Ok(fields)
}
