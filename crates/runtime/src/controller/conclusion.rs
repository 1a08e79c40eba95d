//! The end of a reconcile in the status: which conditions say so, and whether `status.observedGeneration` moves.
//!
//! Flux's controllers differ here, so the rule is data that a reconciler names in its [`Policy`](super::Policy).

use sluice_api::conditions::{READY, RECONCILING, STALLED};
use sluice_api::meta::{Condition, ConditionStatus};
use sluice_api::reasons::PROGRESSING_WITH_RETRY;

use crate::conditions::{self, delete, find, is_false, is_ready, is_true, mark_false, mark_stalled};
use crate::error::{Class, ReconcileError};
use crate::object::Object;

/// How a reconcile ended, as far as the status is concerned.
#[derive(Clone, Copy, Debug)]
pub enum Ending<'a> {
    /// It succeeded.
    Done,
    /// It shall run again, without judgement.
    Requeued,
    /// The object is suspended; nothing was done.
    Suspended,
    /// It failed.
    Failed(&'a ReconcileError),
}

/// The rule by which the end of a reconcile becomes conditions and an observed generation.
#[derive(Clone, Debug)]
pub enum Conclusion {
    /// kustomize-controller's rule: the reconciler sets Ready itself. An error sets Ready to False with its reason and message.
    /// `status.observedGeneration` moves only where Ready is True at the end.
    ReadyDriven,
    /// source-controller's rule: Ready is the summary of other conditions. An error sets the condition that it names.
    /// `status.observedGeneration` moves on success and on a stall.
    Summarized(Summary),
}

/// Which conditions make up Ready, most important first.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// The conditions that count, in order of importance.
    pub conditions: &'static [&'static str],
    /// Those among them of which True is bad.
    pub negative: &'static [&'static str],
    /// Conditions whose False is copied to Ready whatever else holds, in order of importance.
    pub bipolar: &'static [&'static str],
}

impl Conclusion {
    /// Applies the rule to the object's status. `lastHandledReconcileAt` is not touched here.
    pub fn conclude<K: Object>(&self, object: &mut K, ending: Ending<'_>) {
        match self {
            Self::ReadyDriven => conclude_ready_driven(object, ending),
            Self::Summarized(summary) => summary.conclude(object, ending),
        }
    }

    /// Whether a reported success counts as one: with a summarised Ready, only if Ready came out True.
    pub(crate) fn accepts<K: Object>(&self, object: &K) -> bool {
        match self {
            Self::ReadyDriven => true,
            Self::Summarized(_) => is_ready(object),
        }
    }
}

fn conclude_ready_driven<K: Object>(object: &mut K, ending: Ending<'_>) {
    if let Ending::Failed(error) = ending {
        if !error.conditions_set {
            mark_false(object, READY, &error.reason, error.message.clone());
        }
        match error.class {
            Class::Stalled => mark_stalled(object, &error.reason, error.message.clone()),
            _ => delete(object, STALLED),
        }
    }
    if is_true(object, READY) {
        delete(object, RECONCILING);
    } else if is_false(object, READY) {
        mark_retrying(object);
    }
    let observed = match ending {
        Ending::Failed(ReconcileError {
            observed: Some(observed),
            ..
        }) => *observed,
        _ => is_true(object, READY),
    };
    if observed {
        observe_generation(object);
    }
}

impl Summary {
    fn conclude<K: Object>(&self, object: &mut K, ending: Ending<'_>) {
        if let Ending::Failed(error) = ending
            && !error.conditions_set
            && let Some(condition) = error.condition
        {
            let negative = self.negative.contains(&condition);
            let status = if negative {
                ConditionStatus::True
            } else {
                ConditionStatus::False
            };
            conditions::set(object, condition, status, &error.reason, error.message.clone());
        }
        if matches!(ending, Ending::Done) {
            delete(object, RECONCILING);
        }
        mark_retrying(object);
        let observed = match ending {
            Ending::Failed(error) if error.class == Class::Stalled => {
                mark_stalled(object, &error.reason, error.message.clone());
                true
            }
            Ending::Failed(_) | Ending::Requeued => {
                delete(object, STALLED);
                false
            }
            Ending::Done | Ending::Suspended => {
                delete(object, STALLED);
                true
            }
        };
        let observed = match ending {
            Ending::Failed(ReconcileError {
                observed: Some(observed),
                ..
            }) => *observed,
            _ => observed,
        };
        if observed && !object.conditions().is_empty() {
            observe_generation(object);
        }
        self.summarize(object);
    }

    /// Sets Ready from the conditions that count; without any of them Ready is left alone.
    ///
    /// The group that decides: a bad True, else a good condition that is False, else good ones that are True, else bad ones that
    /// are False, else Unknown. Within the group the order of [`Summary::conditions`] decides whose reason and message are shown.
    pub fn summarize<K: Object>(&self, object: &mut K) {
        let top = self
            .conditions
            .iter()
            .filter_map(|kind| conditions::get(object, kind))
            .min_by_key(|condition| self.priority(condition))
            .cloned();
        if let Some(top) = top {
            let negative = self.is_negative(&top);
            let status = match (&top.status, negative) {
                (ConditionStatus::True, false) | (ConditionStatus::False, true) => ConditionStatus::True,
                (ConditionStatus::True, true) | (ConditionStatus::False, false) => ConditionStatus::False,
                _ => ConditionStatus::Unknown,
            };
            conditions::set(object, READY, status, &top.reason, top.message);
        }
        let failed = self.bipolar.iter().find_map(|kind| {
            find(object.conditions(), kind)
                .filter(|condition| condition.is_false())
                .cloned()
        });
        if let Some(failed) = failed {
            mark_false(object, READY, &failed.reason, failed.message);
        }
    }

    fn is_negative(&self, condition: &Condition) -> bool {
        self.negative.contains(&condition.condition_type.as_str())
    }

    fn priority(&self, condition: &Condition) -> u8 {
        match (&condition.status, self.is_negative(condition)) {
            (ConditionStatus::True, true) => 0,
            (ConditionStatus::False, false) => 1,
            (ConditionStatus::True, false) => 2,
            (ConditionStatus::False, true) => 3,
            _ => 4,
        }
    }
}

/// A Reconciling that is still there at the end means that there will be another try.
fn mark_retrying<K: Object>(object: &mut K) {
    let message = conditions::get(object, RECONCILING).map(|condition| condition.message.clone());
    if let Some(message) = message {
        conditions::set(
            object,
            RECONCILING,
            ConditionStatus::True,
            PROGRESSING_WITH_RETRY,
            message,
        );
    }
}

fn observe_generation<K: Object>(object: &mut K) {
    if let Some(generation) = object.meta().generation {
        object.set_observed_generation(generation);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluice_api::Reconciled;
    use sluice_api::conditions::source::{
        ARTIFACT_IN_STORAGE, FETCH_FAILED, SOURCE_VERIFIED, STORAGE_OPERATION_FAILED,
    };
    use sluice_api::source::GitRepository;

    use super::*;
    use crate::conditions::{mark_reconciling, mark_true, mark_unknown};

    const SUMMARY: Conclusion = Conclusion::Summarized(Summary {
        conditions: &[
            STORAGE_OPERATION_FAILED,
            FETCH_FAILED,
            ARTIFACT_IN_STORAGE,
            SOURCE_VERIFIED,
            STALLED,
            RECONCILING,
        ],
        negative: &[STORAGE_OPERATION_FAILED, FETCH_FAILED, STALLED, RECONCILING],
        bipolar: &[SOURCE_VERIFIED],
    });

    fn object() -> GitRepository {
        let mut object = GitRepository::default();
        object.metadata.generation = Some(2);
        object.status.get_or_insert_default().observed_generation = Some(1);
        mark_reconciling(&mut object, "Progressing", "working");
        object
    }

    /// `type=status/reason/message` of each condition, and the observed generation.
    fn shown(object: &GitRepository) -> (Vec<String>, Option<i64>) {
        let conditions = object
            .conditions()
            .iter()
            .map(|c| format!("{}={}/{}/{}", c.condition_type, c.status, c.reason, c.message))
            .collect();
        (conditions, sluice_api::Reconciled::observed_generation(object))
    }

    #[test]
    fn success_ends_progress_and_observes_the_generation() {
        // COM-016
        let mut object = object();
        mark_true(
            &mut object,
            READY,
            "ReconciliationSucceeded",
            "Applied revision: r",
        );
        Conclusion::ReadyDriven.conclude(&mut object, Ending::Done);
        let expected = vec!["Ready=True/ReconciliationSucceeded/Applied revision: r".to_owned()];
        assert_eq!(shown(&object), (expected, Some(2)));
    }

    #[test]
    fn a_failure_with_a_retry_keeps_the_old_observed_generation() {
        // COM-010, COM-016
        let mut object = object();
        let error = ReconcileError::retry_after(Duration::from_secs(1), "BuildFailed", "no such file");
        Conclusion::ReadyDriven.conclude(&mut object, Ending::Failed(&error));
        let expected = vec![
            "Reconciling=True/ProgressingWithRetry/working".to_owned(),
            "Ready=False/BuildFailed/no such file".to_owned(),
        ];
        assert_eq!(shown(&object), (expected, Some(1)));
    }

    #[test]
    fn a_stall_driven_by_ready_observes_only_on_demand() {
        // COM-016
        for (error, generation) in [
            (ReconcileError::stalled("AccessDenied", "denied"), 1),
            (
                ReconcileError::stalled("AccessDenied", "denied").with_observed(true),
                2,
            ),
        ] {
            let mut object = object();
            Conclusion::ReadyDriven.conclude(&mut object, Ending::Failed(&error));
            let expected = vec![
                "Stalled=True/AccessDenied/denied".to_owned(),
                "Ready=False/AccessDenied/denied".to_owned(),
            ];
            assert_eq!(shown(&object), (expected, Some(generation)));
        }
    }

    #[test]
    fn a_summary_takes_the_first_failing_condition() {
        let mut object = object();
        mark_true(&mut object, ARTIFACT_IN_STORAGE, "Succeeded", "stored");
        let error =
            ReconcileError::backoff("GitOperationFailed", "cannot clone").with_condition(FETCH_FAILED);
        SUMMARY.conclude(&mut object, Ending::Failed(&error));
        let expected = vec![
            "Reconciling=True/ProgressingWithRetry/working".to_owned(),
            "Ready=False/GitOperationFailed/cannot clone".to_owned(),
            "ArtifactInStorage=True/Succeeded/stored".to_owned(),
            "FetchFailed=True/GitOperationFailed/cannot clone".to_owned(),
        ];
        assert_eq!(shown(&object), (expected, Some(1)));
    }

    #[test]
    fn a_summary_of_success_is_ready_with_the_good_conditions_message() {
        let mut object = object();
        mark_true(&mut object, ARTIFACT_IN_STORAGE, "Succeeded", "stored");
        SUMMARY.conclude(&mut object, Ending::Done);
        let expected = vec![
            "Ready=True/Succeeded/stored".to_owned(),
            "ArtifactInStorage=True/Succeeded/stored".to_owned(),
        ];
        assert_eq!(shown(&object), (expected, Some(2)));
        assert!(SUMMARY.accepts(&object));
    }

    #[test]
    fn a_failed_verification_is_what_ready_shows() {
        let mut object = object();
        mark_true(&mut object, ARTIFACT_IN_STORAGE, "Succeeded", "stored");
        mark_false(&mut object, SOURCE_VERIFIED, "InvalidCommitSignature", "unsigned");
        SUMMARY.conclude(&mut object, Ending::Done);
        assert!(
            conditions::get(&object, READY)
                .is_some_and(|ready| ready.message == "unsigned" && ready.is_false())
        );
        assert!(!SUMMARY.accepts(&object));
    }

    #[test]
    fn a_summarised_stall_observes_the_generation() {
        // COM-016
        let mut object = object();
        let error = ReconcileError::stalled("URLInvalid", "bad address").with_condition(FETCH_FAILED);
        SUMMARY.conclude(&mut object, Ending::Failed(&error));
        let expected = vec![
            "Stalled=True/URLInvalid/bad address".to_owned(),
            "Ready=False/URLInvalid/bad address".to_owned(),
            "FetchFailed=True/URLInvalid/bad address".to_owned(),
        ];
        assert_eq!(shown(&object), (expected, Some(2)));
    }

    #[test]
    fn waiting_ends_a_stall_and_will_be_tried_again() {
        let mut object = object();
        mark_unknown(&mut object, READY, "Progressing", "working");
        let error = ReconcileError::waiting(Duration::from_secs(30), "NoArtifact", "not there yet");
        SUMMARY.conclude(&mut object, Ending::Failed(&error));
        let expected = vec![
            "Reconciling=True/ProgressingWithRetry/working".to_owned(),
            "Ready=False/ProgressingWithRetry/working".to_owned(),
        ];
        assert_eq!(shown(&object), (expected, Some(1)));
    }

    #[test]
    fn suspension_observes_the_generation_as_flux_does() {
        // COM-008: conditions stay as they are.
        let mut object = object();
        conditions::delete(&mut object, RECONCILING);
        mark_true(&mut object, READY, "Succeeded", "done");
        Conclusion::ReadyDriven.conclude(&mut object, Ending::Suspended);
        assert_eq!(
            shown(&object),
            (vec!["Ready=True/Succeeded/done".to_owned()], Some(2))
        );
        let mut fresh = GitRepository::default();
        fresh.metadata.generation = Some(1);
        SUMMARY.conclude(&mut fresh, Ending::Suspended);
        assert_eq!(
            shown(&fresh),
            (vec![], None),
            "an object that was never reconciled stays as it is"
        );
    }
}
