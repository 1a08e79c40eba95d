//! Why a build fails: the texts of kustomize 5.8.1 beside what the engine must say.

use std::path::Path;

use sluice_kustomize::ErrorKind;
use sluice_kustomize::ErrorKind::{
    Cycle, DuplicateId, File, Generator, Kustomization, Patch, Plugin, Reference, Remote, Replacement,
    Resource, Restricted, Schema, Transformer, Variable, Yaml,
};

/// A class of failures: a part of kustomize's text, and the kind and a part of ours. Parts of ours that are
/// separated by `|` are alternatives.
type Reason = (&'static str, &'static [ErrorKind], &'static str);

/// Special texts come before the general ones that they contain.
const REASONS: &[Reason] = &[
    // Files and directories.
    ("cycle detected", &[Cycle], "being built|refers to itself"),
    (
        "is not in or below",
        &[Restricted],
        "is not in or below|leads outside",
    ),
    ("cannot be absolute", &[Restricted], "absolute path"),
    ("HTTP Error", &[Remote], "HTTP Error"),
    ("Found multiple kustomization files", &[Kustomization], "has both"),
    (
        "unable to find one of 'kustomization.yaml'",
        &[Kustomization],
        "there is no kustomization file",
    ),
    // Kustomization files.
    ("kustomization.yaml is empty", &[Kustomization], "says nothing"),
    (
        "should be kustomize.config.k8s.io",
        &[Kustomization],
        "the apiVersion of a",
    ),
    ("expected kind", &[Kustomization], "expected a"),
    ("unknown field", &[Kustomization], ""),
    (
        "cannot unmarshal",
        &[Kustomization, Yaml, Patch, Plugin, Schema],
        "",
    ),
    ("the field 'sortOptions", &[Kustomization], ""),
    ("may not have an empty", &[Kustomization], ""),
    ("cannot use both", &[Schema], "exclude each other"),
    // Identities.
    (
        "namespace transformation produces ID conflict",
        &[DuplicateId],
        "setting the namespace makes two objects",
    ),
    ("already registered id", &[DuplicateId], "comes twice"),
    ("namespace is blank", &[Reference], "is blank"),
    ("found multiple possible referrals", &[Reference], ""),
    // Generators.
    (
        "does not exist; cannot merge or replace",
        &[Generator],
        "is not there to",
    ),
    ("exists; can not use behavior", &[Generator], "is there already"),
    ("illegally repeats the key", &[Generator], "comes twice"),
    ("invalid literal source", &[Generator], "is not key=value"),
    ("is not a valid key name", &[Generator], ""),
    ("loading KV pairs", &[Generator, File, Restricted], ""),
    // Patches and targets.
    ("multiple matches for Id", &[Reference], "several objects match"),
    ("no matches for Id", &[Reference], "there is no object"),
    (
        "operation does not apply",
        &[Patch],
        "the JSON patch does not apply",
    ),
    ("does not apply: ", &[Patch], "the JSON patch does not apply"),
    ("error in ", &[Patch], "the JSON patch does not apply"),
    ("testing value", &[Patch], "the JSON patch does not apply"),
    (
        "Unable to remove nonexistent key",
        &[Patch],
        "the JSON patch does not apply",
    ),
    (
        "Unable to access invalid index",
        &[Patch],
        "the JSON patch does not apply",
    ),
    (
        "invalid index referenced",
        &[Patch],
        "the JSON patch does not apply",
    ),
    ("operation missing", &[Patch], "operation"),
    ("empty json patch operations", &[Patch], "has no operations"),
    ("must specify the target name", &[Patch], "the target has no name"),
    ("unable to parse SM or JSON patch", &[Patch], ""),
    ("patch appears to be both", &[Patch], "either kind"),
    (
        "Multiple Strategic-Merge Patches in one `patches` entry",
        &[Patch],
        "several strategic merge patches",
    ),
    ("must specify a target for", &[Patch], "needs a target"),
    ("must specify the target", &[Patch], "the target has no name"),
    // Replicas, replacements, variables.
    (
        "does not match a config with the following GVK",
        &[Reference],
        "there is no object",
    ),
    (
        "is missing for replacement source",
        &[Replacement],
        "to take the value from",
    ),
    ("nothing selected by", &[Replacement], "there is no object"),
    ("multiple matches for selector", &[Replacement], "several"),
    ("is out of bounds for value", &[Replacement], "out of range"),
    (
        "delimiter option can only be used with",
        &[Replacement],
        "a delimiter needs a scalar",
    ),
    ("fieldPath cannot be empty", &[Replacement], ""),
    ("must specify at least one target", &[Replacement], "target"),
    (
        "must specify a source and at least one target",
        &[Replacement],
        "",
    ),
    (
        "target must specify resources to select",
        &[Replacement],
        "select",
    ),
    (
        "cannot specify both path and inline replacement",
        &[Replacement],
        "path excludes",
    ),
    ("unable to find or create field", &[Replacement], "cannot be made"),
    ("unable to find field", &[Replacement], "cannot be found"),
    ("not found in corresponding resource", &[Variable], "has no field"),
    ("cannot be mapped to a field", &[Variable], "there is no"),
    (
        "unable to disambiguate",
        &[Variable],
        "objects match the variable",
    ),
    ("already encountered", &[Variable], "is defined twice"),
    // Plugins.
    (
        "validator shouldn't modify",
        &[Plugin],
        "a validator changed the objects",
    ),
    ("external plugins disabled", &[Plugin], ""),
    ("unable to load builtin", &[Plugin], ""),
    (
        "trouble configuring builtin",
        &[Plugin, Restricted, File, Patch, Transformer],
        "",
    ),
    // Texts.
    (
        "expected sequence or mapping node",
        &[Reference],
        "expected a mapping or a list",
    ),
    ("cannot decode !!", &[Yaml, Patch], "the tag"),
    (
        "json: unsupported type: map[interface {}]",
        &[Yaml, Patch],
        "which JSON does not allow",
    ),
    (
        "json: unsupported value",
        &[Yaml, Patch],
        "cannot be expressed in JSON",
    ),
    ("missing metadata.name", &[Resource], ""),
    ("missing Resource metadata", &[Resource], ""),
    ("yaml: line", &[Yaml, Kustomization], ""),
    ("MalformedYAMLError", &[Yaml, Resource], ""),
    (
        "wrong node kind",
        &[Transformer, Resource, Replacement, Patch, Yaml, Reference],
        "",
    ),
    (
        "wrong Node Kind",
        &[Transformer, Resource, Replacement, Patch, Yaml, Reference],
        "",
    ),
    ("not a valid directory", &[File], "no such file"),
    ("doesn't exist", &[File], "no such file"),
    ("no such file or directory", &[File], "no such file"),
];

/// What kustomize says last: it tells first how it came there.
fn innermost(real: &str) -> &str {
    let text = real.rfind("Error: ").map_or(real, |index| &real[index..]);
    [
        "recursed accumulation of path '",
        "recursed merging from path '",
        "couldn't make target for path '",
    ]
    .iter()
    .filter_map(|way| text.rfind(way))
    .max()
    .map_or(text, |index| &text[index..])
}

/// What a text says of that kustomize failed with, if nobody has put that into a class yet.
pub(crate) const UNCLASSIFIED: &str = "no class for this failure";

/// Whether both fail for the same reason.
///
/// # Errors
/// How they differ, or that kustomize's text belongs to no known class.
pub(crate) fn compare_reasons(real: &str, kind: ErrorKind, ours: &str) -> Result<(), String> {
    let innermost = innermost(real);
    let Some((part, kinds, wanted)) = REASONS.iter().find(|(part, ..)| innermost.contains(part)) else {
        return Err(format!("{UNCLASSIFIED}: {innermost}\nours: {kind:?}: {ours}"));
    };
    let says = wanted.split('|').any(|wanted| ours.contains(wanted));
    if kinds.contains(&kind) && says {
        return Ok(());
    }
    Err(format!(
        "fails for another reason, class {part:?}: {innermost}\nours: {kind:?}: {ours}"
    ))
}

/// The failure that a corpus recorded beside a case.
pub(crate) fn recorded(case: &Path) -> String {
    std::fs::read_to_string(case.join("error")).unwrap_or_default()
}
