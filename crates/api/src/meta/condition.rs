//! Conditions: what is true of an object, and since when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::Timestamp;
use crate::string_enum;

string_enum! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not hold.
        False = "False",
        /// It is not known, for instance because work is in progress.
        Unknown = "Unknown",
    }
}

/// One aspect of the state of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// When the condition last changed. In this API a change of status, reason or message counts.
    pub last_transition_time: Timestamp,
    /// What there is to say about it, for people. May be empty.
    #[schemars(extend("maxLength" = 32768))]
    pub message: String,
    /// The generation of the object that the condition was computed from. If it is lower than the object's,
    /// the condition is out of date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0))]
    pub observed_generation: Option<i64>,
    /// Why the condition has its status, as one word in CamelCase for programs.
    #[schemars(extend("maxLength" = 1024, "minLength" = 1, "pattern" = REASON))]
    pub reason: String,
    /// One of True, False and Unknown.
    pub status: ConditionStatus,
    /// Which aspect this is, in CamelCase, such as Ready.
    #[serde(rename = "type")]
    #[schemars(extend("maxLength" = 316, "pattern" = TYPE))]
    pub condition_type: String,
}

/// What the API server accepts as a reason.
const REASON: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// What the API server accepts as a type.
const TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

impl Condition {
    /// A condition of the given type that changed now.
    #[must_use]
    pub fn new(
        condition_type: &str,
        status: ConditionStatus,
        reason: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            last_transition_time: Timestamp::now(),
            message: message.into(),
            observed_generation: None,
            reason: reason.to_owned(),
            status,
            condition_type: condition_type.to_owned(),
        }
    }

    /// Whether the status is True.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }

    /// Whether the status is False.
    #[must_use]
    pub fn is_false(&self) -> bool {
        self.status == ConditionStatus::False
    }
}
