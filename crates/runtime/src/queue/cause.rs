//! Why an object is reconciled.

use std::fmt;

/// One reason to reconcile an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Cause {
    /// The process has started and found the object, or the object is new.
    Created = 1,
    /// Its generation changed: the spec, or suspension.
    Spec = 1 << 1,
    /// The reconcile request annotation has a new value.
    Requested = 1 << 2,
    /// It is being deleted, or is gone.
    Deleted = 1 << 3,
    /// The source that it refers to changed.
    Source = 1 << 4,
    /// An object that it depends on changed.
    Dependency = 1 << 5,
    /// A ConfigMap or Secret that it refers to changed.
    Configuration = 1 << 6,
    /// An object that it manages changed.
    Managed = 1 << 7,
    /// Its interval has passed.
    Schedule = 1 << 8,
    /// The time to try again after a failure, or after something was not ready, has come.
    Retry = 1 << 9,
    /// The deadline of its wait has come.
    Deadline = 1 << 10,
    /// The step before asks for the next one at once.
    Continued = 1 << 11,
    /// Somebody has changed or deleted an object that it manages.
    Drift = 1 << 12,
}

const ALL: [(Cause, &str); 13] = [
    (Cause::Created, "created"),
    (Cause::Spec, "spec"),
    (Cause::Requested, "requested"),
    (Cause::Deleted, "deleted"),
    (Cause::Source, "source"),
    (Cause::Dependency, "dependency"),
    (Cause::Configuration, "configuration"),
    (Cause::Managed, "managed"),
    (Cause::Schedule, "schedule"),
    (Cause::Retry, "retry"),
    (Cause::Deadline, "deadline"),
    (Cause::Continued, "continued"),
    (Cause::Drift, "drift"),
];

/// A set of causes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Causes(u16);

impl Causes {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// This set and one more cause.
    #[must_use]
    pub fn with(self, cause: Cause) -> Self {
        Self(self.0 | cause as u16)
    }

    /// All of both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What this set has and the other has not.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set has this cause.
    pub fn contains(self, cause: Cause) -> bool {
        self.0 & cause as u16 != 0
    }

    /// Whether the sets have a cause in common.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl From<Cause> for Causes {
    fn from(cause: Cause) -> Self {
        Self(cause as u16)
    }
}

impl fmt::Display for Causes {
    /// Writes the causes' names, separated by commas.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (cause, name) in ALL {
            if self.contains(cause) {
                write!(formatter, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Causes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Causes({self})")
    }
}
