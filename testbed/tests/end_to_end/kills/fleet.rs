//! A repository of many applications, and what the cluster should hold for it.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_testbed::git::Repository;

use crate::support::*;

/// ConfigMaps of each application at the start.
const MAPS: usize = 4;

/// Bytes in each commit that cannot be compressed, so that fetching and packing take a while.
const BALLAST: usize = 400 << 10;

/// A repository with a directory for each application, and in it a file for each ConfigMap.
pub(super) struct Fleet {
    repository: Repository,
    applications: Vec<BTreeMap<String, u64>>,
    serial: u64,
    commits: usize,
    revision: String,
}

fn directory(index: usize) -> String {
    format!("applications/{index:03}")
}

impl Fleet {
    /// Commits so many applications.
    pub(super) fn new(repository: Repository, applications: usize, random: &mut Random) -> Self {
        let mut fleet = Self {
            repository,
            applications: vec![BTreeMap::new(); applications],
            serial: 0,
            commits: 0,
            revision: String::new(),
        };
        for index in 0..applications {
            (0..MAPS).for_each(|_| fleet.add(index));
        }
        fleet.commit(random);
        fleet
    }

    /// The number of applications.
    pub(super) fn len(&self) -> usize {
        self.applications.len()
    }

    /// The number of commits so far.
    pub(super) fn commits(&self) -> usize {
        self.commits
    }

    /// The revision of the last commit.
    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    /// A Kustomization for each application; every third waits for health.
    pub(super) fn kustomizations(&self, source: &str, namespace: &str) -> Vec<Value> {
        let one = |index: usize| {
            let name = format!("application-{index:03}");
            let mut object = kustomization(&name, source, &directory(index), namespace);
            object["spec"]["wait"] = index.is_multiple_of(3).into();
            object
        };
        (0..self.len()).map(one).collect()
    }

    /// Name and value of every ConfigMap that the last commit asks for.
    pub(super) fn wanted(&self) -> BTreeMap<String, u64> {
        self.applications
            .iter()
            .flatten()
            .map(|(name, value)| (name.clone(), *value))
            .collect()
    }

    /// Adds, changes and deletes a file of each application that chance chooses, a third of all or at least
    /// one, and commits that. Gives the changed applications.
    pub(super) fn commit_changes(&mut self, random: &mut Random) -> Vec<usize> {
        let mut chosen: Vec<_> = (0..self.len()).filter(|_| random.once_in(3)).collect();
        if chosen.is_empty() {
            chosen.push(0);
        }
        for &index in &chosen {
            let mut names: Vec<_> = self.applications[index].keys().cloned().collect();
            self.add(index);
            let changed = take_any(&mut names, random);
            self.serial += 1;
            self.applications[index].insert(changed.clone(), self.serial);
            self.write(index, &changed);
            let deleted = take_any(&mut names, random);
            self.applications[index].remove(&deleted);
            self.repository
                .remove(&format!("{}/{deleted}.yaml", directory(index)))
                .unwrap();
        }
        self.commit(random);
        chosen
    }

    fn add(&mut self, index: usize) {
        self.serial += 1;
        let name = format!("map-{index:03}-{}", self.serial);
        self.applications[index].insert(name.clone(), self.serial);
        self.write(index, &name);
    }

    fn write(&self, index: usize, name: &str) {
        let content = config_map_yaml(name, self.applications[index][name]);
        self.repository
            .write(&format!("{}/{name}.yaml", directory(index)), content)
            .unwrap();
    }

    fn commit(&mut self, random: &mut Random) {
        self.repository.write("ballast", random.bytes(BALLAST)).unwrap();
        self.commits += 1;
        let commit = self
            .repository
            .commit(&format!("Commit {}", self.commits))
            .unwrap();
        self.revision = revision(&commit);
    }
}

fn take_any(names: &mut Vec<String>, random: &mut Random) -> String {
    let position = random.below(u64::try_from(names.len()).unwrap());
    names.swap_remove(usize::try_from(position).unwrap())
}
