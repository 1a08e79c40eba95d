//! Variables in built manifests.

use serde_json::Value;
use sluice_api::annotations::kustomize::{DISABLED, SUBSTITUTE};
use sluice_api::kustomize::{PostBuild, SubstituteStrategy};
use sluice_envsubst::{Options, check_names, clean_value};
use sluice_goyaml::{Flavour, Limits};
use sluice_kustomize::Resource;

use super::{BuildError, BuildInput, VariableMap};

/// The variables that were referred to, or why they could not be read. The reason counts only once an object
/// is to be substituted.
pub type Variables = Result<VariableMap, String>;

/// Substitutes variables in one object. `None` leaves it as it is: switched off on the object, or nothing to
/// substitute with.
///
/// The text is parsed anew afterwards, so types may change with the values, as in Flux.
///
/// # Errors
/// The problem in Flux's words, without the object.
pub(super) fn substitute(
    text: &str,
    object: &Value,
    post_build: &PostBuild,
    input: &BuildInput,
) -> Result<Option<Value>, String> {
    if is_disabled(object) {
        return Ok(None);
    }
    let variables = with_inline(input.variables.clone()?, post_build);
    let always = post_build.substitute_strategy == Some(SubstituteStrategy::Always);
    if variables.is_empty() && !always {
        return Ok(None);
    }
    let failed = |error: sluice_envsubst::Error| format!("envsubst error: {error}");
    check_names(variables.keys().map(String::as_str)).map_err(failed)?;
    let options = Options {
        strict: input.strict,
        ..Options::default()
    };
    let text = sluice_envsubst::substitute(text, &variables, &options)
        .map_err(|error| format!("envsubst error: variable substitution failed: {error}"))?;
    let value = sluice_goyaml::parse_json(text.as_bytes(), Flavour::Sigs, Limits::default())
        .map_err(|error| format!("envsubst error: YAMLToJSON: {error}"))?;
    check_object(&value).map_err(|problem| format!("UnmarshalJSON: {problem}"))?;
    Ok(Some(value))
}

/// The variables of a build: those that were referred to, and above them the ones that the spec has itself.
pub fn with_inline(mut variables: VariableMap, post_build: &PostBuild) -> VariableMap {
    for (name, value) in &post_build.substitute {
        variables.insert(name.clone(), clean_value(value).into_owned());
    }
    variables
}

/// The problem with its object, as Flux names it.
pub(super) fn describe(resource: &Resource, problem: &str) -> BuildError {
    let (group, version) = resource
        .api_version()
        .split_once('/')
        .unwrap_or(("[noGrp]", resource.api_version()));
    let (kind, name) = (resource.kind(), resource.name());
    BuildError {
        message: format!("post build failed for '{kind}.{version}.{group}/{name}': {problem}"),
        place: resource.source().map(str::to_owned),
        remedy: None,
    }
}

fn is_disabled(object: &Value) -> bool {
    ["labels", "annotations"].iter().any(|field| {
        let value = object
            .get("metadata")
            .and_then(|metadata| metadata.get(*field)?.get(SUBSTITUTE));
        value.and_then(Value::as_str) == Some(DISABLED)
    })
}

/// Whether substitution has left an object behind.
fn check_object(value: &Value) -> Result<(), String> {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    for (field, path) in [("kind", "/kind"), ("metadata.name", "/metadata/name")] {
        if text(path).is_empty() {
            return Err(format!("missing {field} in object"));
        }
    }
    Ok(())
}
