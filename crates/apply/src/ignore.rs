//! Fields in which drift does not count (`spec.ignore` of a Kustomization).

use std::collections::HashSet;

use regex::Regex;
use serde_json::{Map, Value};

use crate::{Object, selector::LabelSelector};

/// Which objects a rule concerns. Empty parts match all; the first five are regular expressions that must
/// match as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreTarget {
    /// API group.
    pub group: String,
    /// API version without the group.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// A label selector applied to the annotations.
    pub annotation_selector: String,
    /// A label selector.
    pub label_selector: String,
}

/// JSON pointers of fields, and the objects they are ignored in (all without a target).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreRule {
    /// RFC 6901 pointers such as `/spec/replicas`.
    pub paths: Vec<String>,
    /// The objects.
    pub target: Option<IgnoreTarget>,
}

/// Rules ready for use.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules(Vec<Compiled>);

#[derive(Debug, Clone)]
struct Compiled {
    paths: Vec<String>,
    target: Option<Matcher>,
}

#[derive(Debug, Clone)]
struct Matcher {
    patterns: [Option<Regex>; 5],
    labels: Option<LabelSelector>,
    annotations: Option<LabelSelector>,
}

/// What becomes of an ignored field that differs when the object has to be written for another reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Resolution {
    /// Another applier owns it: leave it out.
    Leave(String),
    /// Nobody else applies it: send the live value.
    Adopt(String, Value),
}

impl IgnoreRules {
    /// Compiles rules.
    ///
    /// # Errors
    /// The text of the first regular expression or selector that is not one.
    pub fn compile(rules: impl IntoIterator<Item = IgnoreRule>) -> Result<Self, String> {
        let compile = |rule: IgnoreRule| {
            let target = rule.target.map(|target| Matcher::compile(&target)).transpose()?;
            Ok(Compiled {
                paths: rule.paths,
                target,
            })
        };
        rules.into_iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pointers that are ignored in `object`.
    fn paths(&self, object: &Object) -> Vec<&str> {
        self.0
            .iter()
            .filter(|rule| rule.target.as_ref().is_none_or(|target| target.matches(object)))
            .flat_map(|rule| rule.paths.iter().map(String::as_str))
            .collect()
    }

    /// Both objects without the fields ignored in `dry_run`.
    pub(crate) fn strip(&self, live: &Object, dry_run: &Object) -> (Object, Object) {
        let (mut live, mut stripped) = (live.clone(), dry_run.clone());
        for path in self.paths(dry_run) {
            remove(&mut live, path);
            remove(&mut stripped, path);
        }
        (live, stripped)
    }

    /// What to do with each ignored field that the dry run would change; `manager` is us.
    pub(crate) fn resolve(&self, live: &Object, dry_run: &Object, manager: &str) -> Vec<Resolution> {
        let (live_value, dry_value) = (live.to_value(), dry_run.to_value());
        let mut resolutions = Vec::new();
        for path in self.paths(dry_run) {
            let before = live_value.pointer(path);
            if before == dry_value.pointer(path) {
                continue;
            }
            resolutions.push(if owned_by_other_applier(&live_value, path, manager) {
                Resolution::Leave(path.to_owned())
            } else {
                Resolution::Adopt(path.to_owned(), before.cloned().unwrap_or(Value::Null))
            });
        }
        resolutions
    }
}

impl Resolution {
    /// Carries the resolution out on what is to be sent.
    pub(crate) fn carry_out(self, object: &mut Object) {
        match self {
            Self::Leave(path) => remove(object, &path),
            Self::Adopt(path, value) => {
                let mut content = Value::Object(std::mem::take(object.content_mut()));
                if let Some(slot) = content.pointer_mut(&path) {
                    *slot = value;
                }
                if let Value::Object(content) = content {
                    *object.content_mut() = content;
                }
            }
        }
    }
}

impl Matcher {
    fn compile(target: &IgnoreTarget) -> Result<Self, String> {
        let pattern = |name: &str, text: &str| {
            if text.is_empty() {
                return Ok(None);
            }
            Regex::new(&format!("^(?:{text})$"))
                .map(Some)
                .map_err(|error| format!("invalid {name} regex: {error}"))
        };
        let selector = |name: &str, text: &str| {
            if text.is_empty() {
                return Ok(None);
            }
            LabelSelector::parse(text)
                .map(Some)
                .map_err(|error| format!("invalid {name} selector: {error}"))
        };
        Ok(Self {
            patterns: [
                pattern("group", &target.group)?,
                pattern("version", &target.version)?,
                pattern("kind", &target.kind)?,
                pattern("name", &target.name)?,
                pattern("namespace", &target.namespace)?,
            ],
            labels: selector("label", &target.label_selector)?,
            annotations: selector("annotation", &target.annotation_selector)?,
        })
    }

    fn matches(&self, object: &Object) -> bool {
        let texts = [
            object.group(),
            object.version(),
            object.kind(),
            object.name(),
            object.namespace(),
        ];
        self.patterns
            .iter()
            .zip(texts)
            .all(|(pattern, text)| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text)))
            && self
                .labels
                .as_ref()
                .is_none_or(|selector| selector.matches(|key| non_empty(object.label(key))))
            && self
                .annotations
                .as_ref()
                .is_none_or(|selector| selector.matches(|key| non_empty(object.annotation(key))))
    }
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Removes what stands at the pointer, if anything does.
fn remove(object: &mut Object, path: &str) {
    let Some((parent, last)) = path.rsplit_once('/') else {
        return;
    };
    let key = last.replace("~1", "/").replace("~0", "~");
    let mut content = Value::Object(std::mem::take(object.content_mut()));
    match content.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.remove(&key);
        }
        Some(Value::Array(list)) => {
            if let Some(index) = key.parse().ok().filter(|index| *index < list.len()) {
                list.remove(index);
            }
        }
        _ => {}
    }
    if let Value::Object(content) = content {
        *object.content_mut() = content;
    }
}

/// Whether an Apply entry of another manager owns the field at the pointer.
fn owned_by_other_applier(live: &Value, path: &str, manager: &str) -> bool {
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    let appliers: Vec<(&str, &Map<String, Value>)> = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry["operation"] == "Apply" && entry.get("subresource").is_none())
        .filter_map(|entry| Some((entry["manager"].as_str()?, entry["fieldsV1"].as_object()?)))
        .collect();
    let Some(segments) = field_segments(live, path, &appliers) else {
        return false;
    };
    appliers
        .iter()
        .filter(|(name, _)| *name != manager)
        .any(|(_, fields)| walk(fields, &segments).is_some())
}

/// The pointer as the keys of a field set: `f:name` for fields, `k:{…}` for list items with a merge key.
fn field_segments(live: &Value, path: &str, appliers: &[(&str, &Map<String, Value>)]) -> Option<Vec<String>> {
    let mut segments: Vec<String> = Vec::new();
    let mut value = live;
    for part in path.strip_prefix('/')?.split('/') {
        let part = part.replace("~1", "/").replace("~0", "~");
        match part.parse::<usize>() {
            Err(_) => {
                value = value.get(&part).unwrap_or(&Value::Null);
                segments.push(format!("f:{part}"));
            }
            Ok(index) => {
                value = value.get(index)?;
                let keys: HashSet<&String> = appliers
                    .iter()
                    .filter_map(|(_, fields)| walk(fields, &segments)?.as_object())
                    .flat_map(Map::keys)
                    .collect();
                let key = keys.into_iter().find(|key| names_item(key, value))?;
                segments.push(key.clone());
            }
        }
    }
    Some(segments)
}

/// Whether the `k:{…}` key names the list item.
fn names_item(key: &str, item: &Value) -> bool {
    let Some(text) = key.strip_prefix("k:") else {
        return false;
    };
    let Ok(wanted) = serde_json::from_str::<Map<String, Value>>(text) else {
        return false;
    };
    wanted.iter().all(|(field, value)| item.get(field) == Some(value))
}

fn walk<'a>(fields: &'a Map<String, Value>, segments: &[String]) -> Option<&'a Value> {
    let (first, rest) = segments.split_first()?;
    let child = fields.get(first)?;
    if rest.is_empty() {
        Some(child)
    } else {
        walk(child.as_object()?, rest)
    }
}
