//! Which requests belong to a scenario, and in what sense ours may not exceed Flux's.

use std::collections::BTreeMap;

use crate::audit::{Request, Requests};

/// The controllers whose requests are counted, by the start of their user agent.
pub(super) const CONTROLLERS: [&str; 2] = ["source-controller", "kustomize-controller"];

/// Requests by controller and label.
pub(super) type Tables = BTreeMap<String, BTreeMap<String, usize>>;

/// The requests of each controller that concern a scenario: in its namespaces, or about something of the
/// cluster whose name begins with the namespace's and two dashes, or ends with its group.
pub(super) fn tables(requests: &Requests, namespace: &str) -> Tables {
    let concerns = |request: &Request| {
        is_of(&request.namespace, namespace)
            || is_of(&request.name, namespace)
            || request.name.ends_with(&format!(".{namespace}.example.com"))
    };
    CONTROLLERS
        .iter()
        .map(|controller| {
            let prefix = format!("{controller}/");
            let table = requests.by_user_agent(&prefix).filter(concerns).table();
            ((*controller).to_owned(), table)
        })
        .filter(|(_, table)| !table.is_empty())
        .collect()
}

fn is_of(name: &str, namespace: &str) -> bool {
    name.strip_prefix(namespace)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("--"))
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    /// Reading one or several objects.
    Read,
    /// Trying a write.
    DryRun,
    /// Writing a custom resource of the toolkit: finalizers, status.
    Toolkit,
    /// Writing an event.
    Event,
    /// Writing anything else.
    Write,
    /// Opening a watch: a matter of the process and not of the scenario.
    Watch,
}

impl Purpose {
    fn of(label: &str) -> Self {
        let (verb, resource) = label.split_once(' ').unwrap_or((label, ""));
        if verb == "watch" {
            Self::Watch
        } else if matches!(verb, "get" | "list") {
            Self::Read
        } else if label.ends_with("(dry run)") {
            Self::DryRun
        } else if resource == "events" {
            Self::Event
        } else if resource.starts_with("gitrepositories") || resource.starts_with("kustomizations") {
            Self::Toolkit
        } else {
            Self::Write
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::DryRun => "dry runs",
            Self::Toolkit => "writes of toolkit objects",
            Self::Event => "writes of events",
            Self::Write => "writes of managed objects",
            Self::Watch => "watches",
        }
    }
}

/// In what ours exceed what was recorded: more reads, dry runs or writes of toolkit objects altogether, or
/// more of any one kind of write to managed objects. With `by_kind`, only kinds of writes to managed objects
/// that were not recorded at all.
pub(super) fn excess(recorded: &Tables, ours: &Tables, by_kind: bool) -> Vec<String> {
    let mut found = Vec::new();
    let empty = BTreeMap::new();
    for (controller, table) in ours {
        let before = recorded.get(controller).unwrap_or(&empty);
        for (label, count) in table {
            if Purpose::of(label) != Purpose::Write {
                continue;
            }
            let allowed = before.get(label).copied().unwrap_or(0);
            if (by_kind && allowed == 0) || (!by_kind && *count > allowed) {
                found.push(format!(
                    "{controller}: {label}: {count} times, recorded {allowed} times"
                ));
            }
        }
        if by_kind {
            continue;
        }
        for purpose in [Purpose::Read, Purpose::DryRun, Purpose::Toolkit] {
            let (sum, allowed) = (total(table, purpose), total(before, purpose));
            if sum > allowed {
                found.push(format!(
                    "{controller}: {sum} {}, recorded {allowed}; ours {table:?}, recorded {before:?}",
                    purpose.name()
                ));
            }
        }
    }
    found
}

fn total(table: &BTreeMap<String, usize>, purpose: Purpose) -> usize {
    let matching = table.iter().filter(|(label, _)| Purpose::of(label) == purpose);
    matching.map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(entries: &[(&str, usize)]) -> Tables {
        let table = entries
            .iter()
            .map(|(label, count)| ((*label).to_owned(), *count))
            .collect();
        BTreeMap::from([("kustomize-controller".to_owned(), table)])
    }

    #[test]
    fn fewer_requests_are_fine_and_more_are_named() {
        let recorded = tables(&[
            ("get configmaps", 2),
            ("patch configmaps (dry run)", 1),
            ("patch configmaps", 1),
        ]);
        let fewer = tables(&[("get secrets", 2), ("patch configmaps", 1)]);
        assert!(excess(&recorded, &fewer, false).is_empty());
        let more = tables(&[
            ("get secrets", 3),
            ("patch configmaps", 1),
            ("delete configmaps", 1),
        ]);
        let found = excess(&recorded, &more, false);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("delete configmaps"), "{found:?}");
        assert!(found[1].contains("3 reads, recorded 2"), "{found:?}");
    }

    #[test]
    fn where_counts_depend_on_time_only_new_kinds_of_writes_count() {
        let recorded = tables(&[("patch configmaps", 1)]);
        assert!(excess(&recorded, &tables(&[("patch configmaps", 5), ("get x", 9)]), true).is_empty());
        assert_eq!(excess(&recorded, &tables(&[("patch secrets", 1)]), true).len(), 1);
    }
}
