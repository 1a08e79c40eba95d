//! Health rules: from a Kubernetes object as JSON to whether it is ready, still moving, or failed.
//!
//! The default profile answers exactly as Flux 2.9 does: the kstatus rules of `fluxcd/cli-utils` v1.2.2,
//! Flux's own rule for Jobs, and the rule that a pod controller in progress with a failed pod has failed.
//! Everything here is pure: objects come in as [`serde_json::Value`], the time as an argument, and nothing
//! is fetched. [`WaitSet`] is the state of a wait, driven by whoever polls or watches.

mod assessment;
mod children;
mod conditions;
mod custom;
mod fields;
mod generic;
mod job;
mod kinds;
mod wait;

pub use assessment::{Assessment, Status};
pub use children::{assess_with_pods, controls_pods};
pub use custom::{CustomRule, CustomRuleError, CustomRules};
pub use sluice_expression::HealthExpressions;
pub use wait::{Verdict, WaitSet, aggregate};

use jiff::Timestamp;
use serde_json::Value;

/// Assesses `object` as Flux's controllers do at the time `now`: kstatus, with Flux's own rule for Jobs.
///
/// `object` is a whole Kubernetes object with `apiVersion`, `kind` and `metadata`. An object that is
/// malformed where a rule looks (for example text in `metadata.generation`) is [`Status::Unknown`] and the
/// message says what is wrong.
pub fn assess(object: &Value, now: Timestamp) -> Assessment {
    if fields::group(object) == "batch" && fields::kind(object) == "Job" {
        return job::assess(object).unwrap_or_else(Assessment::unknown);
    }
    kstatus(object, now)
}

/// Assesses `object` with the rules of kstatus alone, in which a Job that has started counts as current.
pub fn kstatus(object: &Value, now: Timestamp) -> Assessment {
    compute(object, now).unwrap_or_else(Assessment::unknown)
}

/// The order of kstatus: generic properties, the table of kinds, the Ready condition, and else current.
fn compute(object: &Value, now: Timestamp) -> Result<Assessment, String> {
    if let Some(assessment) = generic::assess(object)? {
        return Ok(assessment);
    }
    if let Some(answer) = kinds::assess(object, now) {
        return answer;
    }
    if let Some(assessment) = generic::assess_ready_condition(object)? {
        return Ok(assessment);
    }
    Ok(Assessment::current("Resource is current"))
}
