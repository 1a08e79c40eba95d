//! Flux's rule for Jobs, which waits for completion where kstatus is content with a start.

use serde_json::Value;

use crate::{Assessment, conditions, fields};

/// Assesses a Job. As in Flux, neither deletion nor the observed generation is looked at.
pub(crate) fn assess(object: &Value) -> Result<Assessment, String> {
    if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return Ok(Assessment::current("Job is suspended"));
    }
    let parallelism = fields::integer(object, &["spec", "parallelism"], 1);
    let counts = Counts::read(object);
    if let Some(finished) = assess_finished(object, &counts)? {
        return Ok(finished);
    }
    if fields::text(object, &["status", "startTime"], "").is_empty() {
        return Ok(Assessment::in_progress(
            "JobNotStarted",
            format!("Job not started. active: 0/{parallelism}"),
        ));
    }
    Ok(Assessment::in_progress("JobInProgress", counts.progress()))
}

/// The conditions Complete and Failed, which both rules for Jobs share.
pub(crate) fn assess_finished(object: &Value, counts: &Counts) -> Result<Option<Assessment>, String> {
    for condition in conditions::read(object)? {
        if condition.status != "True" {
            continue;
        }
        match condition.kind.as_str() {
            "Complete" => {
                let message = format!(
                    "Job Completed. succeeded: {}/{}",
                    counts.succeeded, counts.completions
                );
                return Ok(Some(Assessment::current(message)));
            }
            "Failed" => {
                let message = format!("Job Failed. failed: {}/{}", counts.failed, counts.completions);
                return Ok(Some(Assessment::failed("JobFailed", message)));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The pod counts of a Job.
pub(crate) struct Counts {
    completions: i64,
    active: i64,
    succeeded: i64,
    failed: i64,
}

impl Counts {
    pub(crate) fn read(object: &Value) -> Self {
        let parallelism = fields::integer(object, &["spec", "parallelism"], 1);
        Self {
            completions: fields::integer(object, &["spec", "completions"], parallelism),
            active: fields::integer(object, &["status", "active"], 0),
            succeeded: fields::integer(object, &["status", "succeeded"], 0),
            failed: fields::integer(object, &["status", "failed"], 0),
        }
    }

    pub(crate) fn progress(&self) -> String {
        let Self {
            active,
            succeeded,
            failed,
            ..
        } = self;
        format!("Job in progress. success:{succeeded}, active: {active}, failed: {failed}")
    }
}
