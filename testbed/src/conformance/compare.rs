//! Where two recordings differ, and which of it is meant.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use super::recording::{Recording, Snapshot};
use super::requests;
use super::scenario::{Difference, Scenario};

/// What stands at a place in one recording and in the other.
struct Mismatch {
    at: String,
    recorded: Option<Value>,
    ours: Option<Value>,
}

/// Where a recording of ours differs from the kept one, apart from the scenario's differences, each as some
/// lines of text.
pub fn compare(scenario: &Scenario, recorded: &Recording, ours: &Recording) -> Vec<String> {
    let mut problems = Vec::new();
    let names = |recording: &Recording| {
        let names = recording.snapshots.iter().map(|snapshot| snapshot.name.clone());
        names.collect::<Vec<_>>()
    };
    if names(recorded) != names(ours) {
        problems.push(format!(
            "the snapshots are {:?}, recorded {:?}: record the scenario again",
            names(ours),
            names(recorded)
        ));
        return problems;
    }
    let mut used = BTreeSet::new();
    for (before, now) in recorded.snapshots.iter().zip(&ours.snapshots) {
        problems.extend(compare_snapshot(scenario, before, now, &mut used));
    }
    for (index, difference) in scenario.differences.iter().enumerate() {
        if !used.contains(&index) && !difference.sometimes {
            problems.push(format!(
                "the difference at {} ({}) is no longer there: take it out of the scenario",
                difference.at, difference.parity
            ));
        }
    }
    problems
}

/// The differences whose row is not in the text of docs/parity.md.
pub fn undocumented_differences<'a>(scenario: &'a Scenario, parity: &str) -> Vec<&'a Difference> {
    let missing = |difference: &&Difference| {
        difference.parity.is_empty()
            || !parity
                .lines()
                .any(|line| line.starts_with("| ") && line.contains(&difference.parity))
    };
    scenario.differences.iter().filter(missing).collect()
}

/// True if a snapshot of ours is as recorded, but for what is meant. Requests are not looked at.
pub(super) fn matches(scenario: &Scenario, recorded: &Snapshot, ours: &Snapshot) -> bool {
    mismatches(recorded, ours)
        .iter()
        .all(|mismatch| allowed(scenario, &ours.name, mismatch).is_some())
}

fn compare_snapshot(
    scenario: &Scenario,
    recorded: &Snapshot,
    ours: &Snapshot,
    used: &mut BTreeSet<usize>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for mismatch in mismatches(recorded, ours) {
        match allowed(scenario, &ours.name, &mismatch) {
            Some(index) => {
                used.insert(index);
            }
            None => problems.push(format!(
                "{} {}:\n    recorded {}\n    ours     {}",
                ours.name,
                mismatch.at,
                shown(mismatch.recorded.as_ref()),
                shown(mismatch.ours.as_ref())
            )),
        }
    }
    for excess in requests::excess(&recorded.requests, &ours.requests, scenario.unsteady.is_some()) {
        let mismatch = Mismatch {
            at: "/requests".to_owned(),
            recorded: None,
            ours: Some(excess.clone().into()),
        };
        match allowed(scenario, &ours.name, &mismatch) {
            Some(index) => {
                used.insert(index);
            }
            None => problems.push(format!("{} requests: {excess}", ours.name)),
        }
    }
    problems
}

fn mismatches(recorded: &Snapshot, ours: &Snapshot) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let both = |left, right, at: &str, found: &mut Vec<Mismatch>| {
        if let (Ok(left), Ok(right)) = (left, right) {
            diff(Some(&left), Some(&right), at, found);
        }
    };
    both(
        serde_json::to_value(&recorded.toolkit),
        serde_json::to_value(&ours.toolkit),
        "/toolkit",
        &mut found,
    );
    both(
        serde_json::to_value(&recorded.objects),
        serde_json::to_value(&ours.objects),
        "/objects",
        &mut found,
    );
    let lines = |snapshot: &Snapshot| snapshot.events.iter().cloned().collect::<BTreeSet<_>>();
    let (before, now) = (lines(recorded), lines(ours));
    for line in before.difference(&now) {
        found.push(Mismatch {
            at: "/events".to_owned(),
            recorded: Some(line.clone().into()),
            ours: None,
        });
    }
    for line in now.difference(&before) {
        found.push(Mismatch {
            at: "/events".to_owned(),
            recorded: None,
            ours: Some(line.clone().into()),
        });
    }
    found
}

fn diff(recorded: Option<&Value>, ours: Option<&Value>, at: &str, found: &mut Vec<Mismatch>) {
    match (recorded, ours) {
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            let keys: BTreeSet<_> = before.keys().chain(now.keys()).collect();
            for key in keys {
                let below = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                diff(before.get(key), now.get(key), &below, found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                diff(Some(before), Some(now), &format!("{at}/{index}"), found);
            }
        }
        (before, now) if before == now => {}
        (before, now) => found.push(Mismatch {
            at: at.to_owned(),
            recorded: before.cloned(),
            ours: now.cloned(),
        }),
    }
}

/// The index of the difference that means this mismatch.
fn allowed(scenario: &Scenario, snapshot: &str, mismatch: &Mismatch) -> Option<usize> {
    scenario.differences.iter().position(|difference| {
        difference.snapshot.as_deref().is_none_or(|name| name == snapshot)
            && is_at(&difference.at, &mismatch.at)
            && is_meant(&difference.ours, mismatch)
    })
}

fn is_at(pattern: &str, at: &str) -> bool {
    let (pattern, at): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), at.split('/').collect());
    let (pattern, open) = match pattern[..] {
        [ref head @ .., "**"] => (head.to_vec(), true),
        _ => (pattern, false),
    };
    (pattern.len() == at.len() || (open && pattern.len() <= at.len()))
        && pattern
            .iter()
            .zip(&at)
            .all(|(pattern, part)| *pattern == "*" || pattern == part)
}

/// Null means that ours has nothing there; an event that ours lacks is named by its text in the recording.
fn is_meant(meant: &Value, mismatch: &Mismatch) -> bool {
    let actual = match (&mismatch.ours, &mismatch.recorded) {
        (None, Some(Value::String(event))) if mismatch.at == "/events" && !meant.is_null() => {
            Value::String(format!("without {event}"))
        }
        (None, _) => return meant.is_null(),
        (Some(ours), _) => ours.clone(),
    };
    match (meant, &actual) {
        (Value::String(meant), Value::String(actual)) if meant.starts_with('~') => {
            Regex::new(&meant[1..]).is_ok_and(|expression| expression.is_match(actual))
        }
        _ => *meant == actual,
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn scenario(differences: &str) -> Scenario {
        let text = format!("covers: []\nabout: x\nsteps: []\ndifferences: {differences}\n");
        Scenario::parse("x", &text).unwrap()
    }

    fn recording(status: &Value, events: &[&str]) -> Recording {
        let snapshot = Snapshot {
            name: "s".to_owned(),
            toolkit: BTreeMap::from([("Kustomization/app".to_owned(), json!({"status": status}))]),
            events: events.iter().map(|event| (*event).to_owned()).collect(),
            ..Snapshot::default()
        };
        Recording {
            snapshots: vec![snapshot],
        }
    }

    #[test]
    fn every_mismatch_is_told_with_its_place() {
        let recorded = recording(&json!({"a": 1, "b": [1, 2]}), &["one", "two"]);
        let ours = recording(&json!({"a": 1, "b": [1, 3], "c": 1}), &["two", "three"]);
        let problems = compare(&scenario("[]"), &recorded, &ours);
        assert_eq!(problems.len(), 4, "{problems:#?}");
        assert!(
            problems[0].contains("/toolkit/Kustomization~1app/status/b/1"),
            "{problems:#?}"
        );
        assert!(compare(&scenario("[]"), &recorded, &recorded).is_empty());
    }

    #[test]
    fn differences_excuse_exactly_what_they_say() {
        let (recorded, ours) = (
            recording(&json!({"a": 1}), &["one"]),
            recording(&json!({"a": 2}), &[]),
        );
        let meant =
            "[{at: /toolkit/*/status/a, ours: 2, parity: x}, {at: /events, ours: without one, parity: x}]";
        assert!(compare(&scenario(meant), &recorded, &ours).is_empty());
        let other =
            "[{at: /toolkit/*/status/a, ours: 3, parity: x}, {at: /events, ours: ~^without o, parity: x}]";
        let problems = compare(&scenario(other), &recorded, &ours);
        assert_eq!(problems.len(), 2, "{problems:#?}");
        assert!(problems[1].contains("no longer there"), "{problems:#?}");
        assert_eq!(undocumented_differences(&scenario(meant), "| y | z |").len(), 2);
        assert!(undocumented_differences(&scenario(meant), "| x | z |").is_empty());
    }
}
