//! Which orders of events ring, and which do not.

use super::*;
use crate::drift::fight::PATIENCE;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("apps", name)
}

fn id(kind: &str, name: &str) -> ObjectId {
    ObjectId {
        namespace: "apps".into(),
        name: name.into(),
        group: String::new(),
        kind: kind.into(),
    }
}

fn mark(version: u64, content: u64) -> Mark {
    Mark {
        version: Some(version),
        content: Some(content),
        switches: 0,
    }
}

fn left(kind: &str, name: &str, mark: Mark) -> Left {
    Left {
        id: id(kind, name),
        version: "v1".into(),
        mark,
    }
}

/// A Kustomization `k` that has applied ConfigMap `a` at version 10 with content 1.
fn settled() -> (Ledger, Instant) {
    let mut ledger = Ledger::default();
    reconcile(&mut ledger, "k", vec![left("ConfigMap", "a", mark(10, 1))]);
    (ledger, Instant::now())
}

fn reconcile(ledger: &mut Ledger, name: &str, objects: Vec<Left>) {
    ledger.begin(&key(name));
    ledger.settle(&key(name), objects);
    ledger.end(&key(name), true);
}

fn changed(ledger: &mut Ledger, version: u64, content: u64, now: Instant) {
    let seen = Seen::Changed(mark(version, content));
    ledger.observe(&id("ConfigMap", "a"), seen, Some("kubectl-edit"), now);
}

fn gone(ledger: &mut Ledger, version: Option<u64>, now: Instant) {
    ledger.observe(&id("ConfigMap", "a"), Seen::Gone(version), None, now);
}

/// Who is rung for within a second.
fn rings(ledger: &mut Ledger, now: Instant) -> Vec<String> {
    let later = now + Duration::from_secs(1);
    ledger.ring(later).into_iter().map(|ring| ring.key.name).collect()
}

#[test]
fn changes_and_deletions_by_others_ring_once() {
    let (mut ledger, now) = settled();
    changed(&mut ledger, 11, 2, now);
    assert_eq!(ledger.next_due(), Some(now + DEBOUNCE));
    assert!(ledger.ring(now).is_empty(), "changes are collected first");
    let ring = ledger.ring(now + DEBOUNCE).remove(0);
    assert_eq!(ring.key, key("k"));
    assert_eq!(
        ring.objects,
        [(id("ConfigMap", "a"), Some("kubectl-edit".to_owned()))]
    );
    assert!(rings(&mut ledger, now).is_empty() && ledger.next_due().is_none());
    gone(&mut ledger, Some(12), now);
    assert_eq!(rings(&mut ledger, now), ["k"]);
}

#[test]
fn status_writes_own_writes_and_foreign_objects_do_not_ring() {
    let (mut ledger, now) = settled();
    changed(&mut ledger, 11, 1, now);
    changed(&mut ledger, 10, 1, now);
    changed(&mut ledger, 9, 7, now);
    gone(&mut ledger, Some(8), now);
    ledger.observe(&id("ConfigMap", "other"), Seen::Gone(None), None, now);
    assert!(rings(&mut ledger, now).is_empty());
}

#[test]
fn what_is_put_right_in_time_does_not_ring() {
    let (mut ledger, now) = settled();
    changed(&mut ledger, 11, 2, now);
    changed(&mut ledger, 12, 1, now);
    assert!(rings(&mut ledger, now).is_empty());
    // As when a listing lags behind an apply: the object was only not listed yet.
    gone(&mut ledger, None, now);
    changed(&mut ledger, 13, 1, now);
    assert!(rings(&mut ledger, now).is_empty());
}

#[test]
fn own_writes_that_the_watch_delivers_first_do_not_ring() {
    let (mut ledger, now) = settled();
    ledger.begin(&key("k"));
    changed(&mut ledger, 20, 5, now);
    assert!(
        ledger.next_due().is_none(),
        "nothing rings while a reconcile runs"
    );
    ledger.settle(&key("k"), vec![left("ConfigMap", "a", mark(20, 5))]);
    ledger.end(&key("k"), true);
    assert!(rings(&mut ledger, now).is_empty());
    // And one that comes later.
    changed(&mut ledger, 20, 5, now);
    assert!(rings(&mut ledger, now).is_empty());
}

#[test]
fn changes_during_a_reconcile_ring_after_it() {
    let (mut ledger, now) = settled();
    ledger.begin(&key("k"));
    changed(&mut ledger, 21, 6, now);
    ledger.settle(&key("k"), vec![left("ConfigMap", "a", mark(20, 5))]);
    ledger.end(&key("k"), true);
    assert_eq!(rings(&mut ledger, now), ["k"]);
}

#[test]
fn nothing_rings_between_a_failure_and_the_next_success() {
    let (mut ledger, now) = settled();
    ledger.begin(&key("k"));
    changed(&mut ledger, 21, 6, now);
    ledger.end(&key("k"), false);
    changed(&mut ledger, 22, 7, now);
    assert!(rings(&mut ledger, now).is_empty());
    reconcile(&mut ledger, "k", vec![left("ConfigMap", "a", mark(30, 1))]);
    changed(&mut ledger, 31, 2, now);
    assert_eq!(rings(&mut ledger, now), ["k"]);
}

#[test]
fn pruned_objects_are_forgotten_and_kinds_come_and_go() {
    let (mut ledger, now) = settled();
    let kinds =
        |ledger: &Ledger| -> Vec<String> { ledger.kinds().map(|(kind, _)| kind.kind.clone()).collect() };
    let version = ledger.kinds_version();
    assert_eq!(kinds(&ledger), ["ConfigMap"]);
    reconcile(&mut ledger, "k", vec![left("Secret", "s", mark(11, 1))]);
    assert_eq!(kinds(&ledger), ["Secret"]);
    assert_ne!(ledger.kinds_version(), version);
    gone(&mut ledger, Some(12), now);
    assert!(rings(&mut ledger, now).is_empty());
    reconcile(&mut ledger, "other", vec![left("Secret", "t", mark(11, 1))]);
    let version = ledger.kinds_version();
    ledger.forget(&key("k"));
    assert_eq!(
        (kinds(&ledger), ledger.kinds_version()),
        (vec!["Secret".to_owned()], version)
    );
    assert_eq!(ledger.held(&Kind::of(&id("Secret", ""))), [id("Secret", "t")]);
    ledger.forget(&key("other"));
    assert!(kinds(&ledger).is_empty() && ledger.len() == 0 && ledger.records.is_empty());
}

#[test]
fn an_object_of_two_rings_for_both() {
    let (mut ledger, now) = settled();
    reconcile(&mut ledger, "l", vec![left("ConfigMap", "a", mark(12, 3))]);
    // The second apply is a change to the first: who wins is not the watch's business, how often is.
    changed(&mut ledger, 12, 3, now);
    assert_eq!(rings(&mut ledger, now), ["k"]);
    gone(&mut ledger, Some(13), now);
    let mut both = rings(&mut ledger, now);
    both.sort();
    assert_eq!(both, ["k", "l"]);
}

#[test]
fn a_fight_is_slowed_down_and_reported_once() {
    let (mut ledger, mut now) = settled();
    let mut version = 10;
    let mut reports = 0;
    let mut times = Vec::new();
    let begun = now;
    for _ in 0..12 {
        version += 1;
        changed(&mut ledger, version, 2, now);
        now = ledger.next_due().unwrap();
        assert_eq!(ledger.ring(now).len(), 1);
        times.push(now.duration_since(begun).as_secs());
        version += 1;
        ledger.begin(&key("k"));
        ledger.settle(&key("k"), vec![left("ConfigMap", "a", mark(version, 1))]);
        let found = ledger.reports(&key("k"));
        reports += found.len();
        for report in found {
            assert_eq!(report.manager.as_deref(), Some("kubectl-edit"));
            assert_eq!(report.corrections, PATIENCE);
        }
        ledger.end(&key("k"), true);
    }
    assert_eq!(reports, 1);
    let within_a_minute = times.iter().filter(|time| **time < 60).count();
    assert!(within_a_minute <= 8, "{times:?}");
}

/// A cluster that is changed by hand and by reconciles at random, and a watch that lags at random: once all is
/// quiet the object is as it should be, and the doorbell has stopped.
#[test]
fn random_orders_end_with_the_object_put_right() {
    let mut seed = 0x5eed_u64;
    let mut below = move |limit: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % limit
    };
    for _ in 0..2000 {
        let (mut ledger, now) = settled();
        let mut version = 10;
        let (mut cluster, mut content) = (Some(mark(10, 1)), 100);
        let mut queue: std::collections::VecDeque<Seen> = std::collections::VecDeque::new();
        let mut rung = false;
        let mut running = false;
        let mut settles = None;
        for step in 0..60 {
            let quiet = step >= 30;
            match below(if quiet { 4 } else { 6 }) {
                // The watch delivers.
                0 | 1 => {
                    if let Some(seen) = queue.pop_front() {
                        ledger.observe(&id("ConfigMap", "a"), seen, None, now);
                    }
                }
                2 => rung |= !ledger.ring(now + Duration::from_secs(3600)).is_empty(),
                3 if running => {
                    ledger.settle(&key("k"), vec![left("ConfigMap", "a", settles.unwrap())]);
                    ledger.end(&key("k"), true);
                    running = false;
                }
                3 => {
                    // A reconcile reads and writes, and hears of its own write before or after the watch does.
                    if rung {
                        ledger.begin(&key("k"));
                        rung = false;
                        running = true;
                        if cluster.is_none_or(|mark| mark.content != Some(1)) {
                            version += 1;
                            cluster = Some(mark(version, 1));
                            queue.push_back(Seen::Changed(mark(version, 1)));
                        }
                        settles = cluster;
                    }
                }
                4 => {
                    version += 1;
                    content += 1;
                    cluster = Some(mark(version, content));
                    queue.push_back(Seen::Changed(mark(version, content)));
                }
                _ => {
                    if cluster.take().is_some() {
                        version += 1;
                        queue.push_back(Seen::Gone(Some(version)));
                    }
                }
            }
        }
        for _ in 0..4 {
            if running {
                ledger.settle(&key("k"), vec![left("ConfigMap", "a", settles.unwrap())]);
                ledger.end(&key("k"), true);
            }
            running = false;
            while let Some(seen) = queue.pop_front() {
                ledger.observe(&id("ConfigMap", "a"), seen, None, now);
            }
            rung |= !ledger.ring(now + Duration::from_secs(3600)).is_empty();
            if !rung {
                break;
            }
            rung = false;
            ledger.begin(&key("k"));
            running = true;
            if cluster.is_none_or(|mark| mark.content != Some(1)) {
                version += 1;
                cluster = Some(mark(version, 1));
                queue.push_back(Seen::Changed(mark(version, 1)));
            }
            settles = cluster;
        }
        assert_eq!(cluster.and_then(|mark| mark.content), Some(1));
        assert!(!running, "the doorbell does not stop");
    }
}
