//! The rules that hold for every kind.

use serde_json::Value;

use crate::{Assessment, conditions, fields};

/// Deletion, observed generation, and the standard conditions Reconciling and Stalled; `None` if they say
/// nothing.
pub(crate) fn assess(object: &Value) -> Result<Option<Assessment>, String> {
    let deleted = fields::strict_text(object, &["metadata", "deletionTimestamp"])
        .map_err(|error| format!("looking up metadata.deletionTimestamp from resource: {error}"))?;
    if deleted.is_some_and(|timestamp| !timestamp.is_empty()) {
        return Ok(Some(Assessment::terminating()));
    }
    if let Some(assessment) = assess_generation(object)? {
        return Ok(Some(assessment));
    }
    for condition in conditions::read(object)? {
        if condition.status != "True" {
            continue;
        }
        match condition.kind.as_str() {
            "Reconciling" => return Ok(Some(Assessment::in_progress(condition.reason, condition.message))),
            "Stalled" => return Ok(Some(Assessment::failed(condition.reason, condition.message))),
            _ => {}
        }
    }
    Ok(None)
}

/// The generation that was written and the one that a controller has seen; either may be absent.
pub(crate) fn generations(object: &Value) -> Result<(Option<i64>, Option<i64>), String> {
    let generation = fields::strict_integer(object, &["metadata", "generation"])
        .map_err(|error| format!("looking up metadata.generation from resource: {error}"))?;
    let observed = if generation.is_some() {
        fields::strict_integer(object, &["status", "observedGeneration"])
            .map_err(|error| format!("looking up status.observedGeneration from resource: {error}"))?
    } else {
        None
    };
    Ok((generation, observed))
}

fn assess_generation(object: &Value) -> Result<Option<Assessment>, String> {
    let (Some(generation), Some(observed)) = generations(object)? else {
        return Ok(None);
    };
    if generation == observed {
        return Ok(None);
    }
    let kind = fields::kind(object);
    let message = format!("{kind} generation is {generation}, but latest observed generation is {observed}");
    Ok(Some(Assessment::in_progress(
        "LatestGenerationNotObserved",
        message,
    )))
}

/// The Ready condition, for kinds that no other rule knows.
pub(crate) fn assess_ready_condition(object: &Value) -> Result<Option<Assessment>, String> {
    for condition in conditions::read(object)? {
        if condition.kind != "Ready" {
            continue;
        }
        match condition.status.as_str() {
            "True" => return Ok(Some(Assessment::current("Resource is Ready"))),
            "False" | "Unknown" => {
                return Ok(Some(Assessment::in_progress(condition.reason, condition.message)));
            }
            _ => {}
        }
    }
    Ok(None)
}
