//! Values held against `values.schema.json`, with Helm's words for what does not fit.

mod evaluate;
mod failure;
mod format;
mod reference;
mod unevaluated;

use serde_json::Value as Json;

use crate::dependencies::Branch;
use crate::values::Values;
use evaluate::Evaluator;

/// How deep a schema may be applied within itself.
const MAX_DEPTH: usize = 512;

/// How many times a schema may be applied in one check.
const MAX_STEPS: usize = 5_000_000;

/// Values do not fit the schemas of the charts that they are for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
pub struct SchemaError(String);

/// Checks the values of a chart and of all charts inside it.
pub(crate) fn validate(branch: &Branch, values: &Values) -> Result<(), SchemaError> {
    let mut text = String::new();
    collect(branch, values, &mut text);
    if text.is_empty() {
        Ok(())
    } else {
        Err(SchemaError(text))
    }
}

fn collect(branch: &Branch, values: &Values, text: &mut String) {
    if let Some(schema) = &branch.chart.schema
        && let Err(problem) = validate_against(schema, values)
    {
        text.push_str(branch.name());
        text.push_str(":\n");
        text.push_str(&problem);
    }
    for inner in &branch.dependencies {
        match values.get(inner.name()) {
            None | Some(Json::Null) => {}
            Some(Json::Object(values)) => collect(inner, values, text),
            Some(other) => {
                let name = inner.name();
                let found = crate::values::go_type(other);
                text.push_str(&format!(
                    "{name}:\ninvalid type for values: expected object (map), got {found}\n"
                ));
            }
        }
    }
}

/// Checks values against one schema; the error is the text for its chart.
fn validate_against(schema: &[u8], values: &Values) -> Result<(), String> {
    let schema: Json = serde_json::from_slice(schema).map_err(|error| error.to_string())?;
    let mut evaluator = Evaluator::new(&schema)?;
    let values = Json::Object(values.clone());
    match evaluator.check(&values)? {
        None => Ok(()),
        Some(failure) => Err(failure.to_text()),
    }
}
