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
