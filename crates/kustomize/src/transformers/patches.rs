use crate::error::{Error, ErrorKind, Result};
use crate::kustomization::{PatchOptions, Selector};
use crate::patch::{JsonPatch, apply_json, apply_strategic};
use crate::resource::{Resource, read_objects};
use crate::resource_map::{Matcher, ResourceMap};
use crate::schema::Schema;

/// A patch's text with where it comes from.
#[derive(Debug, Clone)]
pub(crate) struct InlinePatch {
    pub(crate) text: String,
    /// The file, or the kustomization file that holds the text.
    pub(crate) file: String,
    /// The line of the entry in the kustomization file; 0 for a patch in its own file.
    pub(crate) line: u32,
    /// The field of the kustomization.
    pub(crate) field: String,
}

impl InlinePatch {
    fn place(&self, error: Error) -> Error {
        let error = error.in_file(self.file.as_str()).at_field(self.field.as_str());
        if self.line > 0 {
            error.at_line(self.line)
        } else {
            error
        }
    }
}

/// `patches`: strategic merge or JSON 6902, told apart by what the text is.
#[derive(Debug, Clone)]
pub(crate) struct PatchTransformer {
    pub(crate) patch: InlinePatch,
    pub(crate) target: Option<Selector>,
    pub(crate) options: PatchOptions,
}

impl PatchTransformer {
    pub(crate) fn apply(
        &self,
        map: &mut ResourceMap,
        schema: &Schema,
        limits: &sluice_goyaml::Limits,
    ) -> Result<()> {
        self.run(map, schema, limits)
            .map_err(|error| self.patch.place(error))
    }

    fn run(&self, map: &mut ResourceMap, schema: &Schema, limits: &sluice_goyaml::Limits) -> Result<()> {
        let text = self.patch.text.as_str();
        let strategic = read_objects(text.as_bytes(), &self.patch.file, limits);
        match strategic {
            Ok(mut patches) => {
                let json = JsonPatch::parse(text, limits);
                if !patches.is_empty() && json.is_ok_and(|json| !json.is_empty()) {
                    return Err(
                        Error::new(ErrorKind::Patch, "the patch can be read as either kind")
                            .remedy("keep one kind of patch in one entry"),
                    );
                }
                for patch in &mut patches {
                    if self.options.allow_name_change || self.options.allow_kind_change {
                        // kustomize notes the options among the annotations, which become strings by that.
                        let annotations = patch.annotations();
                        patch.set_string_map("annotations", &annotations)?;
                    }
                    patch.state.allow_name_change |= self.options.allow_name_change;
                    patch.state.allow_kind_change |= self.options.allow_kind_change;
                }
                self.run_strategic(map, patches, schema)
            }
            Err(not_strategic) => match JsonPatch::parse(text, limits) {
                Ok(json) => self.run_json(map, &json, schema),
                Err(not_json) => Err(Error::new(
                    ErrorKind::Patch,
                    format!(
                        "neither a strategic merge patch ({}) nor a JSON patch ({not_json})",
                        not_strategic.problem()
                    ),
                )
                .remedy("give an object with apiVersion, kind and metadata.name, or a list of operations")),
            },
        }
    }

    fn run_strategic(
        &self,
        map: &mut ResourceMap,
        mut patches: Vec<Resource>,
        schema: &Schema,
    ) -> Result<()> {
        let Some(target) = &self.target else {
            for patch in patches {
                let index = map
                    .find_one(&patch.original_id(schema), schema)
                    .map_err(|error| {
                        error.while_doing(format!(
                            "looking for the target of the patch of {}",
                            patch.describe()
                        ))
                    })?;
                map.change(index, schema, |resource| apply_strategic(resource, patch, schema))?;
            }
            return Ok(());
        };
        if patches.len() > 1 {
            return Err(Error::new(
                ErrorKind::Patch,
                "several strategic merge patches share one target",
            )
            .remedy("give each patch its own entry, or remove the target"));
        }
        let Some(patch) = patches.pop() else { return Ok(()) };
        let matcher = Matcher::new(target)?;
        let candidates = map.candidates(matcher.literal_name());
        let selected: Vec<usize> = candidates
            .into_iter()
            .filter(|index| {
                map.get(*index)
                    .is_some_and(|resource| matcher.selects(resource, schema))
            })
            .collect();
        apply_to_selected(map, &selected, &patch, schema)
    }

    fn run_json(&self, map: &mut ResourceMap, patch: &JsonPatch, schema: &Schema) -> Result<()> {
        if patch.is_empty() {
            return Ok(());
        }
        let Some(target) = &self.target else {
            return Err(Error::new(ErrorKind::Patch, "a JSON patch needs a target")
                .remedy("add target with kind and name"));
        };
        let matcher = Matcher::new(target)?;
        for index in map.candidates(matcher.literal_name()) {
            if !map
                .get(index)
                .is_some_and(|resource| matcher.selects(resource, schema))
            {
                continue;
            }
            map.change(index, schema, |resource| {
                resource.store_previous_id(schema);
                apply_json(resource, patch)
            })?;
        }
        Ok(())
    }
}

/// Applies a copy of a strategic merge patch to each of the objects; those that it deletes are dropped.
fn apply_to_selected(
    map: &mut ResourceMap,
    selected: &[usize],
    patch: &Resource,
    schema: &Schema,
) -> Result<()> {
    for index in selected {
        map.change(*index, schema, |resource| {
            let mut copy = patch.clone();
            // kustomize copies the patch's metadata onto itself, which makes labels and annotations strings.
            copy.take_metadata_from(patch)?;
            let api_version = resource.gvk().api_version();
            copy.set_api_version(&api_version)?;
            apply_strategic(resource, copy, schema)
        })?;
    }
    map.drop_empty();
    if patch.state.allow_kind_change || patch.state.allow_name_change {
        map.check_unique(schema)?;
    }
    Ok(())
}

/// `patchesStrategicMerge`.
#[derive(Debug, Clone)]
pub(crate) struct StrategicTransformer {
    pub(crate) patches: Vec<Resource>,
}

impl StrategicTransformer {
    pub(crate) fn apply(&self, map: &mut ResourceMap, schema: &Schema) -> Result<()> {
        for patch in &self.patches {
            let place = |error: Error| match patch.source() {
                Some(source) => error.in_file(source).at_line(patch.node().position.line),
                None => error,
            };
            let index = map.find_one(&patch.original_id(schema), schema).map_err(place)?;
            apply_to_selected(map, &[index], patch, schema).map_err(place)?;
        }
        Ok(())
    }
}

/// `patchesJson6902`.
#[derive(Debug, Clone)]
pub(crate) struct JsonTransformer {
    pub(crate) patch: InlinePatch,
    pub(crate) target: Selector,
}

impl JsonTransformer {
    pub(crate) fn apply(
        &self,
        map: &mut ResourceMap,
        schema: &Schema,
        limits: &sluice_goyaml::Limits,
    ) -> Result<()> {
        self.run(map, schema, limits)
            .map_err(|error| self.patch.place(error))
    }

    fn run(&self, map: &mut ResourceMap, schema: &Schema, limits: &sluice_goyaml::Limits) -> Result<()> {
        if self.target.name.is_empty() {
            return Err(Error::new(ErrorKind::Patch, "the target has no name").remedy("add target.name"));
        }
        let patch = JsonPatch::parse(&self.patch.text, limits)
            .map_err(|problem| Error::new(ErrorKind::Patch, problem).remedy("give a list of operations"))?;
        if patch.is_empty() {
            return Err(
                Error::new(ErrorKind::Patch, "the patch has no operations").remedy("add some, or remove it")
            );
        }
        let matcher = Matcher::new(&self.target)?;
        for index in map.candidates(matcher.literal_name()) {
            if map
                .get(index)
                .is_some_and(|resource| matcher.selects(resource, schema))
            {
                map.change(index, schema, |resource| apply_json(resource, &patch))?;
            }
        }
        Ok(())
    }
}
