//! The book of what is managed by whom, and in which state it was left: pure, so that every order of events
//! can be tried.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use sluice_apply::{Mark, ObjectId};
use sluice_runtime::ObjectKey;
use tokio::time::Instant;

use super::fight::Fight;

/// How long changes are collected before a reconcile: those of one edit come together.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(250);

/// A kind whose objects are watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Kind {
    /// The API group, empty for the core group.
    pub(super) group: String,
    /// The kind.
    pub(super) kind: String,
}

impl Kind {
    /// The kind of an object.
    pub(super) fn of(id: &ObjectId) -> Self {
        Self {
            group: id.group.clone(),
            kind: id.kind.clone(),
        }
    }
}

/// What a watch has seen of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is in this state.
    Changed(Mark),
    /// It is gone, at this version where that is known.
    Gone(Option<u64>),
}

/// An object as a reconcile has left it.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    /// The object.
    pub(crate) id: ObjectId,
    /// A version in which it is served.
    pub(crate) version: String,
    /// Its state.
    pub(crate) mark: Mark,
}

/// A doorbell to be rung.
#[derive(Debug)]
pub(super) struct Ring {
    /// Whose.
    pub(super) key: ObjectKey,
    /// The objects, with the managers who wrote to them last.
    pub(super) objects: Vec<(ObjectId, Option<String>)>,
}

/// An object over which there is a fight: who else writes it, and how often it was corrected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The object.
    pub(crate) id: ObjectId,
    /// Who else writes it.
    pub(crate) manager: Option<String>,
    /// How often it was corrected in a row.
    pub(crate) corrections: u32,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// By object: those who manage it, mostly one, and how they left it.
    holders: HashMap<Arc<ObjectId>, Vec<(Arc<ObjectKey>, Mark)>>,
    records: HashMap<Arc<ObjectKey>, Record>,
    /// How many objects there are of a kind, and a version in which it is served.
    kinds: BTreeMap<Kind, (String, usize)>,
    /// Raised when the set of kinds changes.
    kinds_version: u64,
}

/// One who manages objects.
#[derive(Debug, Default)]
struct Record {
    objects: Vec<Arc<ObjectId>>,
    /// A reconcile is under way: what it writes is not known yet.
    running: bool,
    /// The last reconcile has applied everything, so what differs from that was done by others.
    armed: bool,
    noticed: HashMap<Arc<ObjectId>, Noticed>,
    fights: HashMap<Arc<ObjectId>, Fight>,
}

#[derive(Debug)]
struct Noticed {
    seen: Seen,
    manager: Option<String>,
    due: Instant,
}

impl Ledger {
    /// A reconcile begins.
    pub(super) fn begin(&mut self, key: &ObjectKey) {
        self.record(key).running = true;
    }

    /// A reconcile has applied everything: this is what it has left.
    pub(super) fn settle(&mut self, key: &ObjectKey, left: Vec<Left>) {
        let owner = self.owner(key);
        self.release(&owner);
        let mut objects = Vec::with_capacity(left.len());
        for Left { id, version, mark } in left {
            let kind = Kind::of(&id);
            let id = match self.holders.get_key_value(&id) {
                Some((known, _)) => Arc::clone(known),
                None => Arc::new(id),
            };
            let holders = self.holders.entry(Arc::clone(&id)).or_default();
            holders.push((Arc::clone(&owner), mark));
            let entry = self.kinds.entry(kind).or_insert_with(|| {
                self.kinds_version += 1;
                (version, 0)
            });
            entry.1 += 1;
            objects.push(id);
        }
        self.drop_unused_kinds();
        let marks: HashMap<&Arc<ObjectId>, Mark> = objects
            .iter()
            .filter_map(|id| Some((id, mark_of(self.holders.get(id)?, &owner)?)))
            .collect();
        if let Some(record) = self.records.get_mut(&owner) {
            record.armed = true;
            record
                .noticed
                .retain(|id, noticed| marks.get(id).is_some_and(|mark| overtakes(mark, &noticed.seen)));
            let known: HashSet<&Arc<ObjectId>> = marks.keys().copied().collect();
            record.fights.retain(|id, _| known.contains(id));
        }
        if let Some(record) = self.records.get_mut(&owner) {
            record.objects = objects;
        }
    }

    /// The reconcile has ended; if it did not get to applying everything, what it left is not known, and nothing
    /// rings until one does.
    pub(super) fn end(&mut self, key: &ObjectKey, settled: bool) {
        let record = self.record(key);
        record.running = false;
        if !settled {
            record.armed = false;
            record.noticed.clear();
        }
    }

    /// Forgets an object that is gone, or is not watched any more.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        if let Some((owner, _)) = self.records.get_key_value(key) {
            let owner = Arc::clone(owner);
            self.release(&owner);
            self.records.remove(&owner);
            self.drop_unused_kinds();
        }
    }

    /// A watch has seen an object. Returns whether that may ring somebody's doorbell.
    pub(super) fn observe(&mut self, id: &ObjectId, seen: Seen, manager: Option<&str>, now: Instant) -> bool {
        let Some((id, holders)) = self.holders.get_key_value(id) else {
            return false;
        };
        let mut rings = false;
        for (owner, mark) in holders {
            let Some(record) = self.records.get_mut(owner) else {
                continue;
            };
            if !record.running && !overtakes(mark, &seen) {
                // It was put right by whoever changed it.
                if is_newer(mark, &seen) {
                    record.noticed.remove(id);
                }
                continue;
            }
            if !record.armed && !record.running {
                continue;
            }
            rings = true;
            let fight = record.fights.get(id);
            let due = now + fight.map_or(DEBOUNCE, |fight| fight.pause(now));
            let noticed = record.noticed.entry(Arc::clone(id)).or_insert(Noticed {
                seen,
                manager: None,
                due,
            });
            noticed.seen = seen;
            noticed.manager = manager.map(str::to_owned).or_else(|| noticed.manager.take());
        }
        rings
    }

    /// The objects of a kind that somebody manages, to be compared with a complete listing.
    pub(super) fn held(&self, kind: &Kind) -> Vec<ObjectId> {
        let of_kind = |id: &&Arc<ObjectId>| id.group == kind.group && id.kind == kind.kind;
        self.holders
            .keys()
            .filter(of_kind)
            .map(|id| ObjectId::clone(id))
            .collect()
    }

    /// When the next doorbell is to be rung.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let ready = self.records.values().filter(|record| record.rings());
        ready
            .flat_map(|record| record.noticed.values())
            .map(|noticed| noticed.due)
            .min()
    }

    /// The doorbells that are to be rung now.
    pub(super) fn ring(&mut self, now: Instant) -> Vec<Ring> {
        let mut rings = Vec::new();
        for (owner, record) in &mut self.records {
            let due = record.rings() && record.noticed.values().any(|noticed| noticed.due <= now);
            if !due {
                continue;
            }
            let mut objects = Vec::new();
            for (id, noticed) in record.noticed.drain() {
                let fight = record.fights.entry(Arc::clone(&id)).or_default();
                fight.note(now, noticed.manager.clone());
                objects.push((ObjectId::clone(&id), noticed.manager));
            }
            objects.sort();
            rings.push(Ring {
                key: ObjectKey::clone(owner),
                objects,
            });
        }
        rings
    }

    /// The fights of one that have not been reported yet.
    pub(super) fn reports(&mut self, key: &ObjectKey) -> Vec<Report> {
        let Some(record) = self.records.get_mut(key) else {
            return Vec::new();
        };
        let mut reports: Vec<Report> = record
            .fights
            .iter_mut()
            .filter_map(|(id, fight)| {
                let (corrections, manager) = fight.report()?;
                Some(Report {
                    id: ObjectId::clone(id),
                    manager,
                    corrections,
                })
            })
            .collect();
        reports.sort_by(|left, right| left.id.cmp(&right.id));
        reports
    }

    /// The kinds to watch, each with a version in which it is served.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&Kind, &str)> {
        self.kinds
            .iter()
            .map(|(kind, (version, _))| (kind, version.as_str()))
    }

    /// A number that changes with the set of kinds.
    pub(super) fn kinds_version(&self) -> u64 {
        self.kinds_version
    }

    /// How many objects are watched.
    pub(super) fn len(&self) -> usize {
        self.holders.len()
    }

    fn owner(&mut self, key: &ObjectKey) -> Arc<ObjectKey> {
        if let Some((owner, _)) = self.records.get_key_value(key) {
            return Arc::clone(owner);
        }
        let owner = Arc::new(key.clone());
        self.records.insert(Arc::clone(&owner), Record::default());
        owner
    }

    fn record(&mut self, key: &ObjectKey) -> &mut Record {
        let owner = self.owner(key);
        self.records.entry(owner).or_default()
    }

    /// Takes all objects from an owner. Kinds stay, with a count of nothing, until they are dropped.
    fn release(&mut self, owner: &Arc<ObjectKey>) {
        let objects = self
            .records
            .get_mut(owner)
            .map(|record| std::mem::take(&mut record.objects))
            .unwrap_or_default();
        for id in objects {
            if let Some((_, count)) = self.kinds.get_mut(&Kind::of(&id)) {
                *count -= 1;
            }
            if let Some(holders) = self.holders.get_mut(&id) {
                holders.retain(|(other, _)| other != owner);
                if holders.is_empty() {
                    self.holders.remove(&id);
                }
            }
        }
    }

    fn drop_unused_kinds(&mut self) {
        let before = self.kinds.len();
        self.kinds.retain(|_, (_, count)| *count > 0);
        if self.kinds.len() != before {
            self.kinds_version += 1;
        }
    }
}

impl Record {
    fn rings(&self) -> bool {
        self.armed && !self.running
    }
}

fn mark_of(holders: &[(Arc<ObjectKey>, Mark)], owner: &Arc<ObjectKey>) -> Option<Mark> {
    holders
        .iter()
        .find(|(holder, _)| holder == owner)
        .map(|(_, mark)| *mark)
}

/// Whether what was seen came after the mark.
fn is_newer(mark: &Mark, seen: &Seen) -> bool {
    let version = match seen {
        Seen::Changed(seen) => seen.version,
        Seen::Gone(version) => *version,
    };
    match (mark.version, version) {
        (Some(known), Some(seen)) => seen >= known,
        _ => true,
    }
}

/// Whether what was seen came after the mark and is something else.
fn overtakes(mark: &Mark, seen: &Seen) -> bool {
    match seen {
        Seen::Changed(seen) => mark.is_overtaken_by(seen),
        Seen::Gone(_) => is_newer(mark, seen),
    }
}

#[cfg(test)]
mod tests;
