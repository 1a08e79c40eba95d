//! Repairing references after names have changed.
//!
//! Only names change on the way here, never during this pass, so the facts about all objects are taken once
//! and candidates are found by their former names.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sluice_goyaml::{Content, Node};

use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::{NameReference, split_path};
use crate::resource::{DEFAULT_NAMESPACE, Gvk, NOT_A_NAMESPACE, Resource, ResourceId};
use crate::resource_map::ResourceMap;
use crate::schema::Schema;
use crate::tree::{self, Create, Outcome};

/// What is to be known of an object as referrer or target.
struct Facts {
    id: ResourceId,
    effective: String,
    original: String,
    previous: Vec<ResourceId>,
    prefixes: Vec<Arc<str>>,
    suffixes: Vec<Arc<str>>,
}

struct Objects {
    facts: Vec<Facts>,
    by_former_name: HashMap<String, Namesakes>,
    by_original_namespace: HashMap<String, Spread>,
}

/// The objects that had a name, ascending.
#[derive(Default)]
struct Namesakes {
    all: Vec<usize>,
    /// The same by their effective and by their original namespaces; only made where there are many.
    by_namespace: Option<[HashMap<String, Vec<usize>>; 2]>,
}

/// From how many on namesakes are told apart by their namespaces.
const MANY: usize = 16;

/// Where the objects are now that were in one namespace at first.
#[derive(Default)]
struct Spread {
    effective: HashSet<String>,
    named: HashSet<String>,
}

/// A field that refers to objects of a kind.
struct Rule<'a> {
    target: &'a NameReference,
    path: &'a str,
    /// The steps of the path, made when the first object of the kind comes: most kinds never do.
    steps: OnceCell<Vec<String>>,
    group: &'a str,
    version: &'a str,
}

impl Rule<'_> {
    fn steps(&self) -> &[String] {
        self.steps.get_or_init(|| split_path(self.path, '/'))
    }
}

/// Updates every field that refers to an object by a former name.
///
/// # Errors
/// A reference that fits several objects, and fields that are no references at all.
pub(crate) fn fix_name_references(
    map: &mut ResourceMap,
    references: &[NameReference],
    schema: &Schema,
) -> Result<()> {
    if references.is_empty() {
        return Ok(());
    }
    let rules = index_rules(references);
    let objects = Objects::new(map, schema);
    let mut referred: Vec<usize> = Vec::new();
    for (index, resource) in map.contents_mut().iter_mut().enumerate() {
        let original = resource.original_id(schema).gvk;
        let view = objects.view_of(index, resource)?;
        for (_, rule) in rules_for(&rules, &original) {
            if !original.is_selected_by(rule.group, rule.version, "") {
                continue;
            }
            let role = if rule.path.ends_with("roleRef/name") {
                role_of(resource)
            } else {
                None
            };
            let lookup = Lookup {
                objects: &objects,
                view: &view,
                target: rule.target,
                role,
            };
            let mut found = Vec::new();
            let result = tree::visit(resource.node_mut(), rule.steps(), Create::Nothing, &mut |node| {
                lookup.update(node, &mut found)
            });
            result.map_err(|problem| reference_error(resource, rule.path, problem))?;
            referred.append(&mut found);
        }
    }
    let resources = map.contents_mut();
    for index in referred {
        resources[index].state.referred_to = true;
    }
    Ok(())
}

fn reference_error(resource: &Resource, path: &str, problem: String) -> Error {
    let remedy = if problem.contains("fits several objects") {
        "give the objects names that differ, or refer to one by its final name"
    } else {
        "correct the field, or the nameReference of a configuration that leads to it"
    };
    resource
        .error(ErrorKind::Reference, problem)
        .at_field(path)
        .remedy(remedy)
}

/// Rules by the kind of the referrer, with their place in the whole order; those for all kinds under "".
fn index_rules(references: &[NameReference]) -> HashMap<&str, Vec<(usize, Rule<'_>)>> {
    let mut rules: HashMap<&str, Vec<(usize, Rule<'_>)>> = HashMap::new();
    let mut place = 0;
    for target in references {
        for referrer in &target.referrers {
            let rule = Rule {
                target,
                path: &referrer.path,
                steps: OnceCell::new(),
                group: &referrer.group,
                version: &referrer.version,
            };
            rules
                .entry(referrer.kind.as_str())
                .or_default()
                .push((place, rule));
            place += 1;
        }
    }
    rules
}

fn rules_for<'r, 'a>(
    rules: &'r HashMap<&str, Vec<(usize, Rule<'a>)>>,
    gvk: &Gvk,
) -> Vec<&'r (usize, Rule<'a>)> {
    let list = |kind: &str| rules.get(kind).map_or(&[][..], Vec::as_slice);
    let mut result: Vec<&(usize, Rule<'a>)> = list(&gvk.kind).iter().collect();
    if !gvk.kind.is_empty() && !list("").is_empty() {
        result.extend(list(""));
        result.sort_by_key(|(place, _)| *place);
    }
    result
}

/// Group and kind of a binding's role.
fn role_of(resource: &Resource) -> Option<(String, String)> {
    let role = resource.node().get("roleRef")?;
    Some((
        tree::text_of(role.get("apiGroup")?).to_owned(),
        tree::text_of(role.get("kind")?).to_owned(),
    ))
}

impl Objects {
    fn new(map: &ResourceMap, schema: &Schema) -> Self {
        let mut by_former_name: HashMap<String, Namesakes> = HashMap::new();
        let mut by_original_namespace: HashMap<String, Spread> = HashMap::new();
        let mut facts = Vec::with_capacity(map.len());
        for (index, resource) in map.iter().enumerate() {
            let previous: Vec<ResourceId> = resource.previous_ids().collect();
            for id in &previous {
                let list = &mut by_former_name.entry(id.name.clone()).or_default().all;
                if list.last() != Some(&index) {
                    list.push(index);
                }
            }
            let id = resource.id(schema);
            let effective = id.effective_namespace().to_owned();
            let original = previous
                .first()
                .map_or(effective.as_str(), ResourceId::effective_namespace)
                .to_owned();
            let spread = by_original_namespace.entry(original.clone()).or_default();
            if !spread.effective.contains(&effective) {
                spread.effective.insert(effective.clone());
            }
            if !spread.named.contains(&id.namespace) {
                spread.named.insert(id.namespace.clone());
            }
            facts.push(Facts {
                id,
                effective,
                original,
                previous,
                prefixes: resource.state.prefixes.clone(),
                suffixes: resource.state.suffixes.clone(),
            });
        }
        for namesakes in by_former_name.values_mut() {
            namesakes.tell_apart(&facts);
        }
        Self {
            facts,
            by_former_name,
            by_original_namespace,
        }
    }

    /// Which objects a referrer could refer to at all.
    fn view_of(&self, index: usize, resource: &Resource) -> Result<View> {
        let cluster_scoped = self.facts[index].id.cluster_scoped;
        let subject_namespaces = if cluster_scoped {
            Vec::new()
        } else {
            subject_namespaces(resource)?
        };
        Ok(View {
            referrer: index,
            cluster_scoped,
            subject_namespaces,
        })
    }
}

/// Namespaces of the service accounts that a RoleBinding names.
fn subject_namespaces(resource: &Resource) -> Result<Vec<String>> {
    let mut result = Vec::new();
    if resource.kind() != "RoleBinding" {
        return Ok(result);
    }
    let subjects = resource
        .node()
        .get("subjects")
        .and_then(Node::as_sequence)
        .unwrap_or_default();
    for subject in subjects {
        let (Some(namespace), Some(kind)) = (subject.get("namespace"), subject.get("kind")) else {
            continue;
        };
        if tree::text_of(kind) != "ServiceAccount" {
            continue;
        }
        match namespace.as_str() {
            Some(text) => result.push(text.to_owned()),
            None => {
                return Err(resource
                    .error(ErrorKind::Reference, "the namespace of a ServiceAccount is blank")
                    .at_line(namespace.position.line)
                    .at_field("subjects.namespace")
                    .remedy("give the namespace, or remove the field"));
            }
        }
    }
    Ok(result)
}

struct View {
    referrer: usize,
    cluster_scoped: bool,
    subject_namespaces: Vec<String>,
}

impl View {
    fn sees(&self, objects: &Objects, candidate: usize) -> bool {
        let facts = &objects.facts[candidate];
        self.cluster_scoped
            || facts.id.cluster_scoped
            || facts.effective == objects.facts[self.referrer].effective
            || self.subject_namespaces.contains(&facts.id.namespace)
    }
}

impl Namesakes {
    fn tell_apart(&mut self, facts: &[Facts]) {
        if self.all.len() <= MANY {
            return;
        }
        let by = |namespace: fn(&Facts) -> &String| {
            let mut map: HashMap<String, Vec<usize>> = HashMap::new();
            for index in &self.all {
                map.entry(namespace(&facts[*index]).clone())
                    .or_default()
                    .push(*index);
            }
            map
        };
        self.by_namespace = Some([by(|facts| &facts.effective), by(|facts| &facts.original)]);
    }
}

/// The namespace that a reference names.
struct Space<'a> {
    namespace: &'a str,
    /// Whether it means the one that objects were in at first.
    by_original: bool,
}

impl Space<'_> {
    fn holds(&self, facts: &Facts) -> bool {
        let own = if self.by_original {
            &facts.original
        } else {
            &facts.effective
        };
        own == self.namespace && own != NOT_A_NAMESPACE
    }
}

struct Lookup<'a> {
    objects: &'a Objects,
    view: &'a View,
    target: &'a NameReference,
    role: Option<(String, String)>,
}

impl Lookup<'_> {
    fn update(&self, node: &mut Node, found: &mut Vec<usize>) -> Outcome<()> {
        if tree::is_null(node) {
            return Ok(());
        }
        match &mut node.content {
            Content::Mapping(_) => self.update_mapping(node, found),
            Content::Sequence(items) => items.iter_mut().try_for_each(|item| {
                if tree::is_null(item) {
                    Ok(())
                } else if item.as_mapping().is_some() {
                    self.update_mapping(item, found)
                } else if item.text().is_some() {
                    self.update_scalar(item, found)
                } else {
                    Err("expected names or mappings with a name, found a list".to_owned())
                }
            }),
            _ => self.update_scalar(node, found),
        }
    }

    fn update_scalar(&self, node: &mut Node, found: &mut Vec<usize>) -> Outcome<()> {
        let old = tree::text_of(node).to_owned();
        let Some(index) = self.select(&old, None, false)? else {
            return Ok(());
        };
        found.push(index);
        let name = &self.objects.facts[index].id.name;
        if *name == old {
            return Ok(());
        }
        tree::replace_scalar(node, tree::untagged(name.as_str()))
    }

    fn update_mapping(&self, node: &mut Node, found: &mut Vec<usize>) -> Outcome<()> {
        let Some(name) = node.get("name") else {
            return Err("the field that is configured as a reference has no name".to_owned());
        };
        let old = tree::text_of(name).to_owned();
        let namespace = node
            .get("namespace")
            .map(|namespace| tree::text_of(namespace).to_owned());
        let selected = match &namespace {
            None => self.select(&old, None, true)?,
            Some(namespace) => {
                let space = Space {
                    namespace,
                    by_original: namespace != NOT_A_NAMESPACE && self.any_was_in(namespace),
                };
                self.select(&old, Some(&space), true)?
            }
        };
        let Some(index) = selected else { return Ok(()) };
        found.push(index);
        let target = &self.objects.facts[index].id;
        if target.name == old && target.namespace.is_empty() {
            return Ok(());
        }
        tree::set_text_field(node, "name", &target.name)?;
        if target.namespace.is_empty() {
            return Ok(());
        }
        tree::set_text_field(node, "namespace", &target.namespace)
    }

    /// Whether any object in view was in the namespace at first.
    fn any_was_in(&self, namespace: &str) -> bool {
        let Some(spread) = self.objects.by_original_namespace.get(namespace) else {
            return false;
        };
        let view = self.view;
        view.cluster_scoped
            || spread.effective.contains(NOT_A_NAMESPACE)
            || spread
                .effective
                .contains(&self.objects.facts[view.referrer].effective)
            || view
                .subject_namespaces
                .iter()
                .any(|namespace| spread.named.contains(namespace))
    }

    /// The objects that had the name and may be in view, and in the namespace if one is asked for.
    fn candidates(&self, name: &str, space: Option<&Space<'_>>) -> Cow<'_, [usize]> {
        let Some(named) = self.objects.by_former_name.get(name) else {
            return Cow::Borrowed(&[]);
        };
        let Some([by_effective, by_original]) = &named.by_namespace else {
            return Cow::Borrowed(&named.all);
        };
        let mut result: Vec<usize> = Vec::new();
        let mut add = |map: &HashMap<String, Vec<usize>>, namespace: &str| {
            result.extend(map.get(namespace).into_iter().flatten());
        };
        match space {
            Some(space) if space.by_original => add(by_original, space.namespace),
            Some(space) => add(by_effective, space.namespace),
            None if self.view.cluster_scoped => return Cow::Borrowed(&named.all),
            None => {
                add(by_effective, &self.objects.facts[self.view.referrer].effective);
                add(by_effective, NOT_A_NAMESPACE);
                for namespace in &self.view.subject_namespaces {
                    let effective = if namespace.is_empty() {
                        DEFAULT_NAMESPACE
                    } else {
                        namespace
                    };
                    add(by_effective, effective);
                }
            }
        }
        result.sort_unstable();
        result.dedup();
        Cow::Owned(result)
    }

    fn select(
        &self,
        old: &str,
        space: Option<&Space<'_>>,
        compare_namespaces: bool,
    ) -> Outcome<Option<usize>> {
        let named = self.candidates(old, space);
        let target = self.target;
        let was = |index: usize, group: &str, version: &str, kind: &str| {
            self.objects.facts[index]
                .previous
                .iter()
                .any(|id| id.gvk.is_selected_by(group, version, kind))
        };
        let mut candidates: Vec<usize> = named
            .iter()
            .copied()
            .filter(|index| {
                self.view.sees(self.objects, *index)
                    && space.is_none_or(|space| space.holds(&self.objects.facts[*index]))
            })
            .filter(|index| was(*index, &target.group, &target.version, &target.kind))
            .filter(|index| {
                self.role
                    .as_ref()
                    .is_none_or(|(group, kind)| was(*index, group, "", kind))
            })
            .filter(|index| self.shares_namespace(*index))
            .collect();
        if let [one] = candidates[..] {
            return Ok(Some(one));
        }
        candidates.retain(|index| self.same_names(*index, true));
        if candidates.len() > 1 {
            candidates.retain(|index| self.same_names(*index, false));
        }
        let Some(first) = candidates.first().copied() else {
            return Ok(None);
        };
        let id = |index: usize| &self.objects.facts[index].id;
        let same = candidates.iter().all(|index| {
            id(*index).name == id(first).name
                && (!compare_namespaces || id(*index).namespace == id(first).namespace)
        });
        if same {
            return Ok(Some(first));
        }
        let ids: Vec<String> = candidates.iter().map(|index| id(*index).to_string()).collect();
        Err(format!(
            "the reference {old:?} fits several objects: {}",
            ids.join(", ")
        ))
    }

    fn shares_namespace(&self, candidate: usize) -> bool {
        let facts = &self.objects.facts[candidate];
        self.view.cluster_scoped
            || facts.id.cluster_scoped
            || facts.id.gvk.kind == "ServiceAccount"
            || facts.effective == self.objects.facts[self.view.referrer].effective
    }

    /// Whether referrer and candidate went through the same prefixes and suffixes at the end.
    fn same_names(&self, candidate: usize, allow_empty: bool) -> bool {
        let own = &self.objects.facts[self.view.referrer];
        let other = &self.objects.facts[candidate];
        let same = |left: &[Arc<str>], right: &[Arc<str>]| {
            allow_empty && (left.is_empty() || right.is_empty()) || same_ending(left, right)
        };
        same(&other.prefixes, &own.prefixes) && same(&other.suffixes, &own.suffixes)
    }
}

fn same_ending(left: &[Arc<str>], right: &[Arc<str>]) -> bool {
    let shorter = left.len().min(right.len());
    if shorter == 0 {
        return left.len() == right.len();
    }
    left[left.len() - shorter..] == right[right.len() - shorter..]
}
