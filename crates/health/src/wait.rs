//! The state of a wait for many objects.

use indexmap::IndexMap;

use crate::Status;

/// How the statuses of a set add up: a failure outweighs all, then an unknown; else all are current or the
/// set is in progress. An empty set is current.
pub fn aggregate(statuses: impl IntoIterator<Item = Status>) -> Status {
    let mut result = Status::Current;
    for status in statuses {
        match status {
            Status::Failed => return Status::Failed,
            Status::Unknown => result = Status::Unknown,
            Status::Current => {}
            _ if result != Status::Unknown => result = Status::InProgress,
            _ => {}
        }
    }
    result
}

/// Where a wait stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Some objects are still on their way.
    Waiting,
    /// Every object is current (or was a Job whose time to live ended).
    Healthy,
    /// The wait has ended in failure; the text is Flux's: `failed early due to stalled resources: […]`.
    Failed(String),
}

/// The last known status of each object of a wait, and the rules by which Flux ends one.
///
/// Objects are keyed by whatever identifies them to the caller. The order of insertion is the order in
/// which messages list them.
#[derive(Debug, Clone, Default)]
pub struct WaitSet {
    entries: IndexMap<String, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    subject: String,
    vanishing_succeeds: bool,
    status: Status,
    error: Option<String>,
}

impl WaitSet {
    /// A wait for nothing, which is healthy at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object of unknown status. `subject` is what messages call it, `Kind/namespace/name`;
    /// `vanishing_succeeds` is set for a Job with `ttlSecondsAfterFinished`, which is gone once it is done.
    pub fn insert(&mut self, key: String, subject: String, vanishing_succeeds: bool) {
        let entry = Entry {
            subject,
            vanishing_succeeds,
            status: Status::Unknown,
            error: None,
        };
        self.entries.insert(key, entry);
    }

    /// Records the status of an object, with the error that hid it if it is unknown. Returns whether
    /// anything changed; an unknown key changes nothing.
    pub fn record(&mut self, key: &str, status: Status, error: Option<String>) -> bool {
        let Some(entry) = self.entries.get_mut(key) else {
            return false;
        };
        let changed = entry.status != status || entry.error != error;
        entry.status = status;
        entry.error = error;
        changed
    }

    /// The keys of the objects, in order of insertion.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The keys of the objects that do not yet count as done, in order of insertion.
    pub fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.effective() != Status::Current)
            .map(|(key, _)| key.as_str())
    }

    /// The last known status of an object; `None` for an unknown key.
    pub fn status(&self, key: &str) -> Option<Status> {
        self.entries.get(key).map(Entry::effective)
    }

    /// How many objects are waited for.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing to wait for.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where the wait stands. With `fail_fast` the first failure ends it; without, it ends when every object
    /// has either failed or become current.
    pub fn verdict(&self, fail_fast: bool) -> Verdict {
        let effective = || self.entries.values().map(Entry::effective);
        let failed = effective().any(|status| status == Status::Failed);
        let terminal = effective().all(|status| matches!(status, Status::Failed | Status::Current));
        if failed && (fail_fast || terminal) {
            let culprits = self.describe(|status| status == Status::Failed);
            return Verdict::Failed(format!("failed early due to stalled resources: [{culprits}]"));
        }
        if terminal {
            Verdict::Healthy
        } else {
            Verdict::Waiting
        }
    }

    /// The message when the time is up, or `None` if nothing is outstanding.
    pub fn timeout_message(&self) -> Option<String> {
        let culprits = self.describe(|status| status != Status::Current);
        (!culprits.is_empty()).then(|| format!("timeout waiting for: [{culprits}]"))
    }

    fn describe(&self, include: impl Fn(Status) -> bool) -> String {
        let culprits: Vec<String> = self
            .entries
            .values()
            .filter(|entry| include(entry.effective()))
            .map(Entry::describe)
            .collect();
        culprits.join(", ")
    }
}

impl Entry {
    fn effective(&self) -> Status {
        match self.status {
            Status::NotFound if self.vanishing_succeeds => Status::Current,
            status => status,
        }
    }

    fn describe(&self) -> String {
        let Self { subject, status, .. } = self;
        match &self.error {
            Some(error) => format!("{subject} status: '{status}': {error}"),
            None => format!("{subject} status: '{status}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(statuses: &[(&str, Status)]) -> WaitSet {
        let mut wait = WaitSet::new();
        for (name, status) in statuses {
            wait.insert((*name).to_owned(), format!("Deployment/apps/{name}"), false);
            wait.record(name, *status, None);
        }
        wait
    }

    /// F13: a wait with nothing to wait for ends at once.
    #[test]
    fn an_empty_wait_is_healthy() {
        assert_eq!(WaitSet::new().verdict(true), Verdict::Healthy);
        assert_eq!(aggregate([]), Status::Current);
    }

    /// KUS-054
    #[test]
    fn the_first_failure_ends_a_fail_fast_wait() {
        let wait = wait_for(&[("a", Status::InProgress), ("b", Status::Failed)]);
        let expected = "failed early due to stalled resources: [Deployment/apps/b status: 'Failed']";
        assert_eq!(wait.verdict(true), Verdict::Failed(expected.to_owned()));
        assert_eq!(wait.verdict(false), Verdict::Waiting);
    }

    #[test]
    fn without_fail_fast_a_wait_ends_when_all_are_failed_or_current() {
        let wait = wait_for(&[("a", Status::Current), ("b", Status::Failed)]);
        assert!(matches!(wait.verdict(false), Verdict::Failed(_)));
    }

    /// KUS-053
    #[test]
    fn a_timeout_names_every_object_that_is_not_current() {
        let mut wait = wait_for(&[
            ("a", Status::InProgress),
            ("b", Status::Current),
            ("c", Status::NotFound),
        ]);
        wait.insert("d".into(), "Pod/apps/d".into(), false);
        wait.record("d", Status::Unknown, Some("forbidden".into()));
        assert_eq!(
            wait.timeout_message().unwrap(),
            "timeout waiting for: [Deployment/apps/a status: 'InProgress', Deployment/apps/c status: 'NotFound', \
             Pod/apps/d status: 'Unknown': forbidden]"
        );
    }

    /// F12, KUS-056: a Job with a time to live is done when it is gone; any other is not.
    #[test]
    fn a_vanished_job_with_time_to_live_counts_as_done() {
        let mut wait = WaitSet::new();
        wait.insert("job".into(), "Job/apps/job".into(), true);
        assert_eq!(wait.verdict(true), Verdict::Waiting);
        wait.record("job", Status::NotFound, None);
        assert_eq!(wait.verdict(true), Verdict::Healthy);
        let mut plain = WaitSet::new();
        plain.insert("job".into(), "Job/apps/job".into(), false);
        plain.record("job", Status::NotFound, None);
        assert_eq!(plain.verdict(true), Verdict::Waiting);
    }

    #[test]
    fn a_failure_outweighs_an_unknown_and_an_unknown_outweighs_progress() {
        assert_eq!(aggregate([Status::Unknown, Status::InProgress]), Status::Unknown);
        assert_eq!(aggregate([Status::InProgress, Status::Unknown]), Status::Unknown);
        assert_eq!(aggregate([Status::Unknown, Status::Failed]), Status::Failed);
        assert_eq!(
            aggregate([Status::Current, Status::Terminating]),
            Status::InProgress
        );
        assert_eq!(aggregate([Status::Current, Status::Current]), Status::Current);
    }
}
