use std::sync::Arc;

use super::{Accumulator, SchemaState};
use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::{FieldSpecs, load_configurations, load_crds};
use crate::generators::{make_config_map, make_secret, merge_options};
use crate::kustomization::Kustomization;
use crate::loader::{Loaded, Loader, Session, is_remote_base};
use crate::plugins;
use crate::resource::{LOCAL_CONFIG, ORIGIN_ANNOTATION, Origin, Resource, read_objects};
use crate::resource_map::ResourceMap;
use crate::schema::Schema;
use crate::transformers::{add_hashes, fix_name_references, resolve_variables};

/// One kustomization that is being built.
pub(crate) struct Target<'a, 's> {
    pub(super) loader: Loader<'a>,
    pub(super) schema: &'s SchemaState,
    /// The name of the kustomization file.
    pub(super) file_name: &'static str,
    /// The path of the kustomization file for messages.
    pub(super) file: String,
    pub(super) kustomization: Kustomization,
    /// Where this kustomization is, if `buildMetadata` is asked for.
    pub(super) origin: Option<Origin>,
    build_metadata: Arc<[String]>,
}

impl<'a, 's> Target<'a, 's> {
    /// Reads the kustomization file of a root.
    pub(crate) fn load(loader: Loader<'a>, schema: &'s SchemaState) -> Result<Self> {
        let (Loaded { contents, name }, file_name) = loader.load_kustomization()?;
        let text = std::str::from_utf8(&contents).map_err(|_| {
            Error::new(ErrorKind::Yaml, "the file is not UTF-8")
                .in_file(name.as_str())
                .remedy("save it as UTF-8")
        })?;
        let kustomization = Kustomization::parse(text, &name, &loader.session.limits().yaml)?;
        for field in &kustomization.deprecated {
            let successor = match *field {
                "bases" => "resources",
                "commonLabels" => "labels",
                "imageTags" => "images",
                "vars" => "replacements",
                _ => "patches",
            };
            loader
                .session
                .warn(format!("{name}: {field} is deprecated; use {successor}"));
        }
        let build_metadata: Arc<[String]> = kustomization.build_metadata.clone().into();
        let origin = (!build_metadata.is_empty()).then(Origin::default);
        Ok(Self {
            loader,
            schema,
            file_name,
            file: name,
            kustomization,
            origin,
            build_metadata,
        })
    }

    pub(crate) fn session(&self) -> &'a Session<'a> {
        self.loader.session
    }

    /// The path of the kustomization file for messages.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn kustomization(&self) -> &Kustomization {
        &self.kustomization
    }

    /// Takes up the root's schema.
    pub(crate) fn choose_schema(&self, root: bool) -> Result<()> {
        self.schema
            .choose(&self.kustomization, &self.loader, root)
            .map_err(|error| error.in_file(self.file.as_str()))
    }

    /// Builds the root: everything below, then hashes, references and variables.
    pub(crate) fn build(&self) -> Result<ResourceMap> {
        let mut accumulator = self.accumulate(Accumulator::default())?;
        let schema = self.schema.get();
        add_hashes(&mut accumulator.map, &schema)?;
        fix_name_references(&mut accumulator.map, &accumulator.specs.name_reference, &schema)?;
        let Accumulator {
            mut map,
            specs,
            variables,
        } = accumulator;
        for unused in resolve_variables(&mut map, &variables, &specs.var_reference)? {
            self.loader
                .session
                .warn(format!("the variable {unused:?} is used nowhere"));
        }
        drop_local(&mut map)?;
        // kustomize panics on objects that patches have made the same.
        map.check_unique(&schema)?;
        Ok(map)
    }

    /// Collects and transforms what the kustomization says, on top of what a component's user has.
    pub(crate) fn accumulate(&self, accumulator: Accumulator) -> Result<Accumulator> {
        self.loader.session.check_deadline()?;
        let mut accumulator = self.add_resources(accumulator, &self.kustomization.resources, "resources")?;
        self.add_specs(&mut accumulator)?;
        self.run_generators(&mut accumulator)?;
        let mut accumulator = self.add_components(accumulator)?;
        self.run_transformers(&mut accumulator)?;
        self.run_validators(&mut accumulator)?;
        accumulator
            .add_variables(&self.kustomization.vars, &self.schema.get())
            .map_err(|error| error.in_file(self.file.as_str()).at_field("vars"))?;
        Ok(accumulator)
    }

    fn place(&self, error: Error, field: &str) -> Error {
        error.in_file(self.file.as_str()).at_field(field)
    }

    pub(super) fn add_resources(
        &self,
        mut accumulator: Accumulator,
        paths: &[String],
        field: &str,
    ) -> Result<Accumulator> {
        for (index, path) in paths.iter().enumerate() {
            let field = format!("{field}[{index}]");
            let Err(file_error) = self.add_file(&mut accumulator, path) else {
                continue;
            };
            let loader = match self.loader.descend(path) {
                Ok(loader) => loader,
                Err(directory_error) => {
                    let error = choose_error(path, file_error, directory_error);
                    return Err(self
                        .place(error, &field)
                        .while_doing(format!("{field} of {}", self.file)));
                }
            };
            accumulator = self
                .add_directory(accumulator, loader, path, false)
                .map_err(|error| error.while_doing(format!("{field} of {}", self.file)))?;
            self.check_count(&accumulator)?;
        }
        Ok(accumulator)
    }

    fn check_count(&self, accumulator: &Accumulator) -> Result<()> {
        let limit = self.loader.session.limits().objects;
        if accumulator.map.len() > limit {
            return Err(
                Error::new(ErrorKind::Limit, format!("there are more than {limit} objects"))
                    .remedy("split the kustomization"),
            );
        }
        Ok(())
    }

    fn add_file(&self, accumulator: &mut Accumulator, path: &str) -> Result<()> {
        let loaded = self.loader.load(path)?;
        let mut resources = read_objects(&loaded.contents, &loaded.name, &self.loader.session.limits().yaml)?;
        if let Some(origin) = &self.origin {
            let text = origin.append(path).to_yaml();
            for resource in &mut resources {
                resource.set_annotation(ORIGIN_ANNOTATION, &text)?;
            }
        }
        accumulator.map.append_all(resources, &self.schema.get())?;
        self.check_count(accumulator)
    }

    fn add_components(&self, mut accumulator: Accumulator) -> Result<Accumulator> {
        for (index, path) in self.kustomization.components.iter().enumerate() {
            let field = format!("components[{index}]");
            let loader = self
                .loader
                .descend(path)
                .map_err(|error| self.place(error, &field))?;
            accumulator = self
                .add_directory(accumulator, loader, path, true)
                .map_err(|error| error.while_doing(format!("{field} of {}", self.file)))?;
        }
        Ok(accumulator)
    }

    fn add_directory(
        &self,
        accumulator: Accumulator,
        loader: Loader<'a>,
        path: &str,
        component: bool,
    ) -> Result<Accumulator> {
        let mut target = Target::load(loader, self.schema)?;
        target.build_metadata = Arc::clone(&self.build_metadata);
        target.origin = self.origin.as_ref().map(|origin| origin.append(path));
        target.choose_schema(false)?;
        if component != target.kustomization.is_component() {
            let (is, wanted) = if component {
                ("Kustomization", "Component")
            } else {
                ("Component", "Kustomization")
            };
            let list = if component { "resources" } else { "components" };
            return Err(Error::new(
                ErrorKind::Kustomization,
                format!("expected a {wanted}, found a {is}"),
            )
            .in_file(target.file)
            .at_field("kind")
            .remedy(format!("list it under {list}")));
        }
        if component {
            let merged = target.accumulate(accumulator)?;
            let mut result = Accumulator::default();
            result.merge(merged, &self.schema.get())?;
            return Ok(result);
        }
        let below = target.accumulate(Accumulator::default())?;
        let mut result = accumulator;
        result.merge(below, &self.schema.get())?;
        Ok(result)
    }

    fn add_specs(&self, accumulator: &mut Accumulator) -> Result<()> {
        let limits = &self.loader.session.limits().yaml;
        let mut specs = FieldSpecs::defaults();
        if !self.kustomization.configurations.is_empty() {
            let mut loaded = FieldSpecs::default();
            for (index, path) in self.kustomization.configurations.iter().enumerate() {
                let place = |error| self.place(error, &format!("configurations[{index}]"));
                let file = self.loader.load(path).map_err(place)?;
                loaded
                    .merge(&load_configurations(&file.contents, &file.name, limits)?)
                    .map_err(place)?;
            }
            Arc::make_mut(&mut specs)
                .merge(&loaded)
                .map_err(|error| self.place(error, "configurations"))?;
        }
        if self.kustomization.configurations.is_empty() && *accumulator.specs == FieldSpecs::default() {
            accumulator.specs = specs;
        } else {
            FieldSpecs::merge_shared(&mut accumulator.specs, &specs)
                .map_err(|error| self.place(error, "configurations"))?;
        }
        for (index, path) in self.kustomization.crds.iter().enumerate() {
            let place = |error| self.place(error, &format!("crds[{index}]"));
            let file = self.loader.load(path).map_err(place)?;
            Arc::make_mut(&mut accumulator.specs)
                .merge(&load_crds(&file.contents, &file.name, limits)?)
                .map_err(place)?;
        }
        Ok(())
    }

    fn run_generators(&self, accumulator: &mut Accumulator) -> Result<()> {
        let schema = self.schema.get();
        let kustomization = &self.kustomization;
        let global = kustomization.generator_options.as_ref();
        for args in &kustomization.config_map_generator {
            let mut args = args.clone();
            args.options = merge_options(args.options.as_ref(), global);
            let resource = make_config_map(&args, &self.loader, &self.file)?;
            self.absorb(accumulator, resource, "ConfigMapGenerator", &schema)?;
        }
        for args in &kustomization.secret_generator {
            let mut args = args.clone();
            args.base.options = merge_options(args.base.options.as_ref(), global);
            let resource = make_secret(&args, &self.loader, &self.file)?;
            self.absorb(accumulator, resource, "SecretGenerator", &schema)?;
        }
        if !kustomization.helm_charts.is_empty() {
            return Err(self
                .place(
                    Error::new(ErrorKind::Plugin, "Helm charts are not rendered in a build"),
                    "helmCharts",
                )
                .remedy("use a HelmRelease"));
        }
        let configurations = self.load_plugins(&kustomization.generators, "generators")?;
        for configuration in configurations {
            let resources = plugins::generate(&configuration, &self.loader)?;
            let mut made = ResourceMap::new(resources);
            if let Some(origin) = configuration.plugin_origin() {
                made.add_origin(&origin)?;
            }
            accumulator.map.absorb_all(made.into_resources(), &schema)?;
        }
        Ok(())
    }

    fn absorb(
        &self,
        accumulator: &mut Accumulator,
        mut resource: Resource,
        plugin: &str,
        schema: &Schema,
    ) -> Result<()> {
        if let Some(origin) = &self.origin {
            resource.set_origin(&origin.built_in(self.file_name, plugin))?;
        }
        accumulator.map.absorb_all(vec![resource], schema)
    }

    /// The configurations of plugins: texts, and paths to files or kustomizations.
    pub(super) fn load_plugins(&self, entries: &[String], field: &str) -> Result<Vec<Resource>> {
        let schema = self.schema.get();
        let mut accumulator = Accumulator::default();
        let mut paths = Vec::new();
        for entry in entries {
            match read_objects(entry.as_bytes(), &self.file, &self.loader.session.limits().yaml) {
                Err(_) => paths.push(entry.clone()),
                Ok(mut resources) => {
                    if let Some(origin) = &self.origin {
                        let origin = origin.append(self.file_name);
                        resources
                            .iter_mut()
                            .try_for_each(|resource| resource.set_origin(&origin))?;
                    }
                    accumulator.map.append_all(resources, &schema)?;
                }
            }
        }
        Ok(self
            .add_resources(accumulator, &paths, field)?
            .map
            .into_resources())
    }
}

/// What is neither file nor directory is told by what it looks like.
fn choose_error(path: &str, file: Error, directory: Error) -> Error {
    let is_readable = !matches!(file.kind(), ErrorKind::File | ErrorKind::Remote);
    if is_remote_base(path) {
        return if is_readable {
            file.while_doing(format!("and as a Git repository: {}", directory.problem()))
        } else {
            directory
        };
    }
    match directory.kind() {
        ErrorKind::Cycle | ErrorKind::Limit if !is_readable => directory,
        _ => file,
    }
}

/// Drops objects that only configure the build.
fn drop_local(map: &mut ResourceMap) -> Result<()> {
    map.drop_empty();
    map.iter().try_for_each(Resource::validate)?;
    let is_local = |resource: &Resource| {
        resource
            .annotation(LOCAL_CONFIG)
            .is_some_and(|value| value != "false")
    };
    if map.iter().any(is_local) {
        map.resources_mut().retain(|resource| !is_local(resource));
    }
    Ok(())
}
