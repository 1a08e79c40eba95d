//! The conditions of an object's status.

use serde_json::Value;

use crate::fields::go_kind;

/// The parts of a condition that the rules look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Reads `status.conditions`; anything absent or null is empty, anything of the wrong shape an error.
pub(crate) fn read(object: &Value) -> Result<Vec<Condition>, String> {
    let Some(status) = present(object.get("status")) else {
        return Ok(Vec::new());
    };
    let Value::Object(status) = status else {
        return Err(format!("cannot restore struct from: {}", go_kind(status)));
    };
    let Some(conditions) = present(status.get("conditions")) else {
        return Ok(Vec::new());
    };
    let Value::Array(conditions) = conditions else {
        return Err(format!("cannot restore slice from {}", go_kind(conditions)));
    };
    conditions.iter().map(read_one).collect()
}

/// Whether a condition of `kind` has `status`.
pub(crate) fn has(conditions: &[Condition], kind: &str, status: &str) -> bool {
    find(conditions, kind, status).is_some()
}

/// The first condition of `kind` with `status`.
pub(crate) fn find<'a>(conditions: &'a [Condition], kind: &str, status: &str) -> Option<&'a Condition> {
    conditions
        .iter()
        .find(|condition| condition.kind == kind && condition.status == status)
}

fn read_one(value: &Value) -> Result<Condition, String> {
    match value {
        Value::Null => Ok(Condition::default()),
        Value::Object(_) => Ok(Condition {
            kind: read_text(value, "type", "string")?,
            status: read_text(value, "status", "v1.ConditionStatus")?,
            reason: read_text(value, "reason", "string")?,
            message: read_text(value, "message", "string")?,
        }),
        other => Err(format!("cannot restore struct from: {}", go_kind(other))),
    }
}

fn read_text(condition: &Value, field: &str, go_name: &str) -> Result<String, String> {
    match present(condition.get(field)) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) if number.is_i64() => Err(format!("cannot convert int64 to {go_name}")),
        Some(_) => Err("unrecognized type: string".to_owned()),
    }
}

fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}
