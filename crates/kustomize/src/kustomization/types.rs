use std::collections::BTreeMap;

use serde::Serialize;

use crate::field_specs::FieldSpec;

/// A kustomization or component file, with the names and meanings of `kustomize.config.k8s.io`.
///
/// Empty text, lists and maps mean that the field is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kustomization {
    /// `kustomize.config.k8s.io/v1beta1`, or `v1alpha1` for components.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `Kustomization` or `Component`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Name and such of the file itself; without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ObjectMeta>,
    /// `path` of a custom schema, or `version` of a built-in one.
    #[serde(rename = "openapi", skip_serializing_if = "BTreeMap::is_empty")]
    pub openapi: BTreeMap<String, String>,
    /// Put before every name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_prefix: String,
    /// Put after every name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name_suffix: String,
    /// Set on every namespaced object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Deprecated: labels for objects, templates and selectors.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub common_labels: BTreeMap<String, String>,
    /// Labels for objects and, if asked, templates and selectors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// Annotations for objects and templates.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub common_annotations: BTreeMap<String, String>,
    /// Deprecated: strategic merge patches, each a path or the text itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches_strategic_merge: Vec<String>,
    /// Deprecated: JSON 6902 patches.
    #[serde(rename = "patchesJson6902", skip_serializing_if = "Vec::is_empty")]
    pub patches_json6902: Vec<Patch>,
    /// Patches of either kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// Changes of image names, tags and digests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Copies of fields from one object into others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replacements: Vec<ReplacementField>,
    /// Replica counts by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Replica>,
    /// Deprecated: variables for `$(NAME)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vars: Vec<Var>,
    /// The order of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_options: Option<SortOptions>,
    /// Files, directories and addresses to take objects from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Directories of components.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<String>,
    /// OpenAPI definitions that say where custom kinds refer to others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crds: Vec<String>,
    /// ConfigMaps to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub config_map_generator: Vec<ConfigMapArgs>,
    /// Secrets to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_generator: Vec<SecretArgs>,
    /// `helmGlobals`, kept only to say that charts are not rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm_globals: Option<serde_json::Value>,
    /// `helmCharts` and `helmChartInflationGenerator`, likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub helm_charts: Vec<serde_json::Value>,
    /// Options for all generators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator_options: Option<GeneratorOptions>,
    /// Files that say which fields the transformers touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<String>,
    /// Configurations of generator plugins: paths or texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<String>,
    /// Configurations of transformer plugins: paths or texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transformers: Vec<String>,
    /// Configurations of validator plugins: paths or texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validators: Vec<String>,
    /// `originAnnotations`, `transformerAnnotations`, `managedByLabel`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub build_metadata: Vec<String>,
    /// Deprecated fields that the file used, for warnings.
    #[serde(skip)]
    pub deprecated: Vec<&'static str>,
}

/// The metadata of a kustomization or of a plugin's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ObjectMeta {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An entry of `labels`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    /// The labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pairs: BTreeMap<String, String>,
    /// Whether selectors and templates get them too.
    #[serde(skip_serializing_if = "is_false")]
    pub include_selectors: bool,
    /// Whether templates get them too.
    #[serde(skip_serializing_if = "is_false")]
    pub include_templates: bool,
    /// Further fields to put them in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldSpec>,
}

/// An entry of `patches` or `patchesJson6902`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Patch {
    /// The file that holds the patch.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The patch itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub patch: String,
    /// Which objects it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Selector>,
    /// What it may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<PatchOptions>,
    /// The line of the entry, for errors.
    #[serde(skip)]
    pub line: u32,
}

/// Options of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchOptions {
    /// Whether a strategic merge patch may change the name.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_name_change: bool,
    /// Whether it may change the kind.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_kind_change: bool,
}

/// Selects objects. Group, version, kind, name and namespace are regular expressions that must match the
/// whole text; empty ones match all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// The API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name, original or current.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace, original or current.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// A label selector over annotations.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub annotation_selector: String,
    /// A label selector.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label_selector: String,
}

/// An entry of `images`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The name without tag; kustomize reads it as a regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The new name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub new_name: String,
    /// Put after the present tag.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tag_suffix: String,
    /// The new tag.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub new_tag: String,
    /// The new digest.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

/// An entry of `replicas`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Replica {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The count.
    pub count: i64,
}

/// An entry of `replacements`: a file of them, or one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReplacementField {
    /// The file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The replacement, if there is no file.
    #[serde(flatten)]
    pub replacement: Replacement,
}

/// Copies a value into fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// Where the value comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceSelector>,
    /// Where it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<TargetSelector>>,
    /// The value itself, instead of a source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_value: Option<String>,
    /// The line of the entry, for errors.
    #[serde(skip)]
    pub line: u32,
}

/// The source of a replacement; unlike in [`Selector`], texts are compared as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceSelector {
    /// The API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name, in any of its stages.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The field; `metadata.name` if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
    /// Which part of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<FieldOptions>,
}

/// Targets of a replacement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSelector {
    /// Which objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select: Option<Selector>,
    /// Which of those not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reject: Vec<Selector>,
    /// The fields; `metadata.name` if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub field_paths: Vec<String>,
    /// Which part of them, and whether they are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<FieldOptions>,
}

/// Which part of a field a replacement reads or writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FieldOptions {
    /// Splits the field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub delimiter: String,
    /// Which part.
    #[serde(skip_serializing_if = "is_zero")]
    pub index: i64,
    /// Without effect, as in kustomize.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub encoding: String,
    /// Whether missing fields are made.
    #[serde(skip_serializing_if = "is_false")]
    pub create: bool,
}

/// An entry of `vars`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Var {
    /// The name in `$(NAME)`.
    pub name: String,
    /// The object, by its original name.
    pub objref: VarTarget,
    /// The field; `metadata.name` if empty.
    pub fieldref: FieldSelector,
}

/// The object that a variable reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VarTarget {
    /// Group and version; beats the two fields.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// The field that a variable reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldSelector {
    /// The path, dots between the steps.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
}

/// The order of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SortOptions {
    /// `fifo` or `legacy`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub order: String,
    /// For `legacy`: which kinds come first and last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legacy_sort_options: Option<LegacySortOptions>,
}

/// Kinds that come first and last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacySortOptions {
    /// Kinds that come first, in this order.
    pub order_first: Vec<String>,
    /// Kinds that come last, in this order.
    pub order_last: Vec<String>,
}

/// Options of generators.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratorOptions {
    /// Labels for what is made.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for what is made.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Leaves out the hash in names.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_name_suffix_hash: bool,
    /// Makes them immutable.
    #[serde(skip_serializing_if = "is_false")]
    pub immutable: bool,
}

/// An entry of `configMapGenerator`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapArgs {
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name, without what is put around it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `create`, `replace` or `merge`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub behavior: String,
    /// `key=value` texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub literals: Vec<String>,
    /// `[key=]path` texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Files of `key=value` lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub envs: Vec<String>,
    /// Options of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<GeneratorOptions>,
    /// The line of the entry, for errors.
    #[serde(skip)]
    pub line: u32,
}

/// An entry of `secretGenerator`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SecretArgs {
    /// What Secrets have in common with ConfigMaps.
    #[serde(flatten)]
    pub base: ConfigMapArgs,
    /// The type; `Opaque` if empty.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub secret_type: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(value: &i64) -> bool {
    *value == 0
}
