//! A repository of many applications, and what the cluster should hold for it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_testbed::git::Repository;

use super::item::{COMMON, Item, Kind};
use crate::support::*;

/// Bytes in each commit that cannot be compressed, so that fetching and packing take a while.
const BALLAST: usize = 400 << 10;

/// What an application has besides objects of the common kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extra {
    Nothing,
    /// A namespace and something in it, from time to time.
    Territory,
    /// A definition and an object of the kind that it brings, from time to time.
    Definition,
}

impl Extra {
    /// Of so many applications one in ten has a namespace of its own, and one in twenty a definition: each
    /// costs the control plane more than all the rest together.
    fn of(index: usize) -> Self {
        match index % 20 {
            1 | 11 => Self::Territory,
            2 => Self::Definition,
            _ => Self::Nothing,
        }
    }
}

/// What a commit has to bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    /// Changes of an application whose objects form one stage.
    OneStage,
    /// Changes of an application with an object that has a stage before the others: the old one goes, a new
    /// one comes.
    TwoStages,
}

/// A repository with a directory for each application, and in it a file for each object.
pub(super) struct Fleet {
    repository: Repository,
    namespace: String,
    applications: Vec<BTreeMap<String, Item>>,
    serial: u64,
    commits: usize,
    revision: String,
}

fn directory(index: usize) -> String {
    format!("applications/{index:03}")
}

fn anchor(index: usize) -> String {
    format!("app-{index:03}-anchor")
}

impl Fleet {
    /// Commits so many applications, whose objects go to that namespace.
    pub(super) fn new(
        repository: Repository,
        namespace: &str,
        applications: usize,
        random: &mut Random,
    ) -> Self {
        let mut fleet = Self {
            repository,
            namespace: namespace.to_owned(),
            applications: vec![BTreeMap::new(); applications],
            serial: 0,
            commits: 0,
            revision: String::new(),
        };
        for index in 0..applications {
            let anchor = anchor(index);
            fleet.put(index, Kind::ConfigMap, "", &fleet.namespace.clone(), &anchor);
            (0..3).for_each(|_| fleet.add(index));
            fleet.toggle_extra(index);
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

    /// A Kustomization for each application. Every third waits for the health of all its objects, others for
    /// one of them or for none.
    pub(super) fn kustomizations(&self, source: &str) -> Vec<Value> {
        let one = |index: usize| {
            let name = format!("application-{index:03}");
            let mut object = kustomization(&name, source, &directory(index), &self.namespace);
            let spec = &mut object["spec"];
            spec["wait"] = index.is_multiple_of(3).into();
            if index % 3 == 1 {
                spec["healthChecks"] = json!([
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": anchor(index), "namespace": self.namespace}
                ]);
            }
            // With a target namespace, the engine would rename the namespaces among the objects.
            if Extra::of(index) == Extra::Territory {
                spec.as_object_mut().unwrap().remove("targetNamespace");
            }
            object
        };
        (0..self.len()).map(one).collect()
    }

    /// Owner and object of everything that the last commit asks for, by inventory id.
    pub(super) fn wanted(&self) -> BTreeMap<String, (String, Item)> {
        let all = self.applications.iter().enumerate();
        all.flat_map(|(index, items)| {
            items
                .values()
                .map(move |item| (item.id(), (format!("application-{index:03}"), item.clone())))
        })
        .collect()
    }

    /// Adds, changes and deletes a file of each application that chance chooses, a quarter of all, and commits
    /// that. Gives one of the changed applications, of the kind that was asked for.
    pub(super) fn commit_changes(&mut self, random: &mut Random, focus: Focus) -> usize {
        let fits: Vec<_> = (0..self.len())
            .filter(|&index| match focus {
                Focus::OneStage => Extra::of(index) == Extra::Nothing,
                Focus::TwoStages => Extra::of(index) != Extra::Nothing && self.extras(index).next().is_some(),
            })
            .collect();
        let chosen = fits[usize::try_from(random.below(fits.len() as u64)).unwrap()];
        for index in 0..self.len() {
            if index == chosen {
                self.change(index, random);
                // What there is goes, and something new comes.
                self.toggle_extra(index);
                self.toggle_extra(index);
            } else if random.once_in(4) {
                self.change(index, random);
                // The first ones always have something that can go.
                if index > 2 && random.once_in(2) {
                    self.toggle_extra(index);
                }
            }
        }
        self.commit(random);
        chosen
    }

    fn change(&mut self, index: usize, random: &mut Random) {
        let common = |item: &Item| COMMON.contains(&item.kind) && item.namespace == self.namespace;
        let items = self.applications[index].iter();
        let mut names: Vec<_> = items
            .filter(|(_, item)| common(item))
            .map(|(file, _)| file.clone())
            .collect();
        self.add(index);
        let changed = take_any(&mut names, random);
        self.serial += 1;
        let item = self.applications[index].get_mut(&changed).unwrap();
        item.value = self.serial;
        self.write(index, &changed);
        names.retain(|file| *file != anchor(index));
        let deleted = take_any(&mut names, random);
        self.remove(index, &deleted);
    }

    /// Adds an object of the next common kind.
    fn add(&mut self, index: usize) {
        let kind = COMMON[usize::try_from(self.serial).unwrap() % COMMON.len()];
        let group = if kind == Kind::Role {
            "rbac.authorization.k8s.io"
        } else {
            ""
        };
        let name = format!("app-{index:03}-{}", self.serial + 1);
        self.put(index, kind, group, &self.namespace.clone(), &name);
    }

    fn extras(&self, index: usize) -> impl Iterator<Item = &String> {
        let items = self.applications[index].iter();
        items
            .filter(|(_, item)| !COMMON.contains(&item.kind) || item.namespace != self.namespace)
            .map(|(file, _)| file)
    }

    /// Removes what an application has besides the common kinds, or brings something new of that sort.
    fn toggle_extra(&mut self, index: usize) {
        let present: Vec<_> = self.extras(index).cloned().collect();
        if !present.is_empty() {
            present.iter().for_each(|file| self.remove(index, file));
            return;
        }
        let name = format!("app-{index:03}-{}", self.serial + 1);
        match Extra::of(index) {
            Extra::Nothing => {}
            Extra::Territory => {
                let territory = format!("{}-{name}", self.namespace);
                self.put(index, Kind::Namespace, "", "", &territory);
                self.put(index, Kind::ConfigMap, "", &territory, &format!("{name}-inner"));
            }
            Extra::Definition => {
                let group = format!("{name}.{}.example.com", self.namespace);
                let definition = format!("widgets.{group}");
                self.put(index, Kind::Definition, "apiextensions.k8s.io", "", &definition);
                self.put(index, Kind::Widget, &group, "", &name);
            }
        }
    }

    fn put(&mut self, index: usize, kind: Kind, group: &str, namespace: &str, name: &str) {
        self.serial += 1;
        let item = Item {
            kind,
            group: group.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            explicit: Extra::of(index) == Extra::Territory,
            value: self.serial,
        };
        self.applications[index].insert(name.to_owned(), item);
        self.write(index, name);
    }

    fn write(&self, index: usize, file: &str) {
        let content = self.applications[index][file].manifest();
        self.repository
            .write(&format!("{}/{file}.yaml", directory(index)), content)
            .unwrap();
    }

    fn remove(&mut self, index: usize, file: &str) {
        self.applications[index].remove(file);
        self.repository
            .remove(&format!("{}/{file}.yaml", directory(index)))
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
