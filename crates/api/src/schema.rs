//! Pieces of schema that types share: patterns, and stand-ins for Rust types whose derived schema would say
//! more than the API does.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Pattern of an interval: numbers with the units ms, s, m or h.
pub(crate) const INTERVAL: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// Pattern of a timeout for a network operation: as [`INTERVAL`], without hours.
pub(crate) const TIMEOUT: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$";

/// One entry of `x-kubernetes-validations`: a CEL rule and what the API server answers when it is broken.
pub(crate) fn rule(rule: &str, message: &str) -> Value {
    json!({ "rule": rule, "message": message })
}

/// An integer for which the API names no format.
pub(crate) struct Integer;

impl JsonSchema for Integer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Integer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer" })
    }
}

/// Any JSON value, kept by the API server as it came.
pub(crate) struct Anything;

impl JsonSchema for Anything {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Anything".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
    }
}
