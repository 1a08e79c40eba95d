//! The kustomization file that a build starts from: the repository's own with the spec merged in, or a made-up
//! one that lists all manifests.

use serde_json::{Map, Value, json};
use sluice_api::kustomize::KustomizationSpec;
use sluice_api::meta::{Image, Patch};
use sluice_goyaml::{Flavour, Limits};
use sluice_kustomize::kustomization::FILE_NAMES;
use sluice_vfs::{EntryKind, FileSystem, FileSystemError, Overlay, VirtualPath};

use super::{BuildError, Ignored};

/// The fields of a kustomization file. Others are dropped, as in Flux, where the file passes through a Go type.
const FIELDS: [&str; 34] = [
    "apiVersion",
    "kind",
    "metadata",
    "openapi",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "commonAnnotations",
    "patchesStrategicMerge",
    "patchesJson6902",
    "patches",
    "images",
    "imageTags",
    "replacements",
    "replicas",
    "vars",
    "sortOptions",
    "resources",
    "components",
    "crds",
    "bases",
    "configMapGenerator",
    "secretGenerator",
    "helmGlobals",
    "helmCharts",
    "helmChartInflationGenerator",
    "generatorOptions",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "buildMetadata",
];

/// How kustomize recognises addresses of remote bases, in the order in which they are tried.
const REMOTE_PREFIXES: [&str; 8] = [
    "git::",
    "gh:",
    "ssh://",
    "https://",
    "http://",
    "git@",
    "github.com:",
    "github.com/",
];

/// The fields, at any depth, that hold booleans or numbers; all others hold texts.
const NO_TEXTS: [&str; 11] = [
    "allowKindChange",
    "allowNameChange",
    "count",
    "create",
    "disableNameSuffixHash",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "immutable",
    "includeSelectors",
    "includeTemplates",
];

/// Writes the kustomization file of `directory` into the overlay.
///
/// # Errors
/// Files that are no manifests, a kustomization file that cannot be read, remote components.
pub(super) fn write_kustomization<B: FileSystem>(
    files: &mut Overlay<B>,
    directory: &VirtualPath,
    spec: &KustomizationSpec,
    ignored: Option<&Ignored>,
) -> Result<(), BuildError> {
    let (path, mut file) = match find(files, directory)? {
        Some(path) => {
            let mut file = read(files, &path)?;
            if items(&mut file, "resources")?.is_empty() {
                // Flux does so to keep kustomize from calling the file empty.
                file.insert("buildMetadata".to_owned(), json!(["originAnnotations"]));
            }
            if let Some(ignored) = ignored {
                leave_out(&mut file, files, directory, ignored)?;
            }
            (path, file)
        }
        None => (
            join(directory, FILE_NAMES[0])?,
            make_up(files, directory, ignored)?,
        ),
    };
    file.entry("apiVersion")
        .or_insert_with(|| "kustomize.config.k8s.io/v1beta1".into());
    file.entry("kind").or_insert_with(|| "Kustomization".into());
    merge(&mut file, spec, files, directory)?;
    file.retain(|_, value| !is_empty(value));
    let text = sluice_goyaml::write_sigs(&Value::Object(file))
        .map_err(|error| BuildError::new(format!("unable to write {path}: {error}")))?;
    files
        .write(path, text)
        .map_err(|error| BuildError::new(error.to_string()))
}

/// The kustomization file of a directory.
fn find(files: &impl FileSystem, directory: &VirtualPath) -> Result<Option<VirtualPath>, BuildError> {
    for name in FILE_NAMES {
        let path = join(directory, name)?;
        if files.is_file(&path).map_err(unreadable)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn read(files: &impl FileSystem, path: &VirtualPath) -> Result<Map<String, Value>, BuildError> {
    let text = files.read(path).map_err(unreadable)?;
    let value =
        sluice_goyaml::parse_json(&text, Flavour::Sigs, Limits::default()).map_err(|error| BuildError {
            place: Some(place(path, error.line())),
            ..BuildError::new(error.in_file(path.as_str()).to_string())
        })?;
    match value {
        Value::Object(mut file) => {
            file.retain(|field, value| FIELDS.contains(&field.as_str()) && !value.is_null());
            file.iter_mut()
                .for_each(|(field, value)| read_as_text(field, value, false));
            Ok(file)
        }
        Value::Null => Ok(Map::new()),
        _ => Err(BuildError {
            place: Some(path.to_string()),
            ..BuildError::new(format!("{path}: a kustomization file must be a mapping"))
        }),
    }
}

/// Turns plain booleans and numbers into the texts that the Go types make of them: `namespace: n` is "false"
/// in YAML 1.1, and `newTag: 1.0` is "1". `only_texts` is set below maps of texts.
fn read_as_text(field: &str, value: &mut Value, only_texts: bool) {
    if !only_texts && (NO_TEXTS.contains(&field) || field == "index") {
        return;
    }
    match value {
        Value::Bool(flag) => *value = flag.to_string().into(),
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < 1e15);
            *value = whole
                .map_or_else(|| number.to_string(), |float| format!("{float:.0}"))
                .into();
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| read_as_text("", item, only_texts)),
        Value::Object(fields) => {
            let map = matches!(
                field,
                "commonLabels" | "commonAnnotations" | "labels" | "annotations" | "pairs"
            );
            fields
                .iter_mut()
                .for_each(|(name, value)| read_as_text(name, value, only_texts || map));
        }
        Value::Null | Value::String(_) => {}
    }
}

/// A file that lists all manifests below the directory; a placeholder where there are none.
fn make_up(
    files: &impl FileSystem,
    directory: &VirtualPath,
    ignored: Option<&Ignored>,
) -> Result<Map<String, Value>, BuildError> {
    let mut resources = Vec::new();
    scan(files, directory, &VirtualPath::root(), ignored, &mut resources)?;
    let mut file = Map::new();
    if resources.is_empty() {
        file.insert("namespace".to_owned(), "_placeholder".into());
    } else {
        file.insert("resources".to_owned(), resources.into());
    }
    Ok(file)
}

/// Collects manifests, and directories that have a kustomization file of their own, in the order of names.
fn scan(
    files: &impl FileSystem,
    directory: &VirtualPath,
    relative: &VirtualPath,
    ignored: Option<&Ignored>,
    resources: &mut Vec<Value>,
) -> Result<(), BuildError> {
    for entry in files.list(directory).map_err(unreadable)? {
        let path = join(directory, &entry.name)?;
        let relative = join(relative, &entry.name)?;
        let resource = || format!("./{relative}").into();
        match entry.kind {
            EntryKind::Directory if find(files, &path)?.is_some() => resources.push(resource()),
            EntryKind::Directory => scan(files, &path, &relative, ignored, resources)?,
            EntryKind::File if !(entry.name.ends_with(".yaml") || entry.name.ends_with(".yml")) => {}
            EntryKind::File if ignored.is_some_and(|ignored| ignored(&relative, EntryKind::File)) => {}
            EntryKind::File => {
                check_manifest(files, &path)?;
                resources.push(resource());
            }
        }
    }
    Ok(())
}

/// Takes out of a kustomization file what is ignored of the files and directories that it names.
fn leave_out(
    file: &mut Map<String, Value>,
    files: &impl FileSystem,
    directory: &VirtualPath,
    ignored: &Ignored,
) -> Result<(), BuildError> {
    for field in ["resources", "components", "crds"] {
        let mut kept = Vec::new();
        for item in std::mem::take(items(file, field)?) {
            // What leads out of the directory is no business of its ignore files.
            let relative = item.as_str().and_then(|path| VirtualPath::root().join(path).ok());
            let kind = match &relative {
                Some(relative) if !relative.is_root() => files
                    .kind(&join(directory, relative.as_str())?)
                    .map_err(unreadable)?,
                _ => None,
            };
            let is_ignored = matches!((&relative, kind), (Some(path), Some(kind)) if ignored(path, kind));
            if !is_ignored {
                kept.push(item);
            }
        }
        *items(file, field)? = kept;
    }
    Ok(())
}

/// Whether every document of the file is a Kubernetes object.
fn check_manifest(files: &impl FileSystem, path: &VirtualPath) -> Result<(), BuildError> {
    let text = files.read(path).map_err(unreadable)?;
    match sluice_kustomize::parse_objects(&text, path.as_str(), &Limits::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(BuildError {
            message: format!("failed to decode Kubernetes YAML from {path}: {error}"),
            place: Some(place(path, error.line())),
            remedy: Some("correct the file, or keep it out of the path".to_owned()),
        }),
    }
}

/// Merges the spec's fields, as Flux does: texts override, lists are appended, images merged by name.
fn merge(
    file: &mut Map<String, Value>,
    spec: &KustomizationSpec,
    files: &impl FileSystem,
    directory: &VirtualPath,
) -> Result<(), BuildError> {
    let texts = [
        ("namespace", &spec.target_namespace),
        ("namePrefix", &spec.name_prefix),
        ("nameSuffix", &spec.name_suffix),
    ];
    for (field, text) in texts {
        if let Some(text) = text {
            file.insert(field.to_owned(), text.clone().into());
        }
    }
    items(file, "patches")?.extend(spec.patches.iter().map(patch_value));
    for component in &spec.components {
        if !is_local(component) {
            return Err(BuildError::new(format!(
                "component path '{component}' must be local and relative"
            )));
        }
        if spec.ignore_missing_components && !exists(files, directory, component)? {
            continue;
        }
        items(file, "components")?.push(component.clone().into());
    }
    let images = items(file, "images")?;
    spec.images.iter().for_each(|image| merge_image(images, image));
    if !spec.build_metadata.is_empty() {
        let wanted: Vec<Value> = spec
            .build_metadata
            .iter()
            .map(|item| item.as_str().into())
            .collect();
        file.insert("buildMetadata".to_owned(), wanted.into());
    }
    Ok(())
}

fn patch_value(patch: &Patch) -> Value {
    let mut value = json!({"patch": patch.patch});
    if let Some(target) = &patch.target {
        value["target"] = json!(target);
    }
    value
}

/// A tag and a digest both choose the version: setting one takes the other away.
fn merge_image(images: &mut Vec<Value>, image: &Image) {
    let known = images
        .iter_mut()
        .find(|known| known.get("name").and_then(Value::as_str) == Some(&image.name));
    let Some(known) = known.and_then(Value::as_object_mut) else {
        images.push(json!(image));
        return;
    };
    if let Some(name) = &image.new_name {
        known.insert("newName".to_owned(), name.clone().into());
    }
    if image.new_tag.is_some() || image.digest.is_some() {
        for (field, text) in [("newTag", &image.new_tag), ("digest", &image.digest)] {
            match text {
                Some(text) => known.insert(field.to_owned(), text.clone().into()),
                None => known.remove(field),
            };
        }
    }
}

/// The list in a field, made if it is missing.
fn items<'a>(file: &'a mut Map<String, Value>, field: &str) -> Result<&'a mut Vec<Value>, BuildError> {
    match file.entry(field).or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(items) => Ok(items),
        _ => Err(BuildError::new(format!(
            "the field {field} of the kustomization file must be a list"
        ))),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Whether a component's path stays in the artifact by its form.
fn is_local(path: &str) -> bool {
    let lower = path.to_lowercase();
    let remote = REMOTE_PREFIXES
        .iter()
        .any(|prefix| lower.len() > prefix.len() && lower.starts_with(prefix));
    !remote && !path.starts_with('/') && !lower.strip_prefix("file://").unwrap_or(&lower).starts_with('/')
}

fn exists(files: &impl FileSystem, directory: &VirtualPath, path: &str) -> Result<bool, BuildError> {
    match directory.join(path) {
        Ok(path) => Ok(files.kind(&path).map_err(unreadable)?.is_some()),
        Err(_) => Ok(false),
    }
}

fn join(directory: &VirtualPath, name: &str) -> Result<VirtualPath, BuildError> {
    directory
        .join(name)
        .map_err(|error| BuildError::new(error.to_string()))
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err calls")]
fn unreadable(error: FileSystemError) -> BuildError {
    BuildError::new(error.to_string())
}

fn place(path: &VirtualPath, line: Option<u32>) -> String {
    line.map_or_else(|| path.to_string(), |line| format!("{path}:{line}"))
}
