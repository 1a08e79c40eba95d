//! Where objects come from and what changed them, as `buildMetadata` records it in annotations.

use sluice_goyaml::{Flavour, Limits, Node, parse_document};

use super::Resource;
use crate::error::Result;
use crate::loader::GitAddress;
use crate::tree;

/// Where an object comes from.
pub(crate) const ORIGIN_ANNOTATION: &str = "config.kubernetes.io/origin";
/// What changed an object.
pub(crate) const TRANSFORMATIONS_ANNOTATION: &str = "alpha.config.kubernetes.io/transformations";

/// Where an object, a generator or a transformer comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) path: String,
    pub(crate) repo: String,
    pub(crate) reference: String,
    pub(crate) configured_in: String,
    /// apiVersion, kind, name and namespace of the configuration.
    pub(crate) configured_by: [String; 4],
}

const CONFIGURED_BY: [&str; 4] = ["apiVersion", "kind", "name", "namespace"];

impl Origin {
    /// The origin of what a kustomization at this origin names by `path`.
    pub(crate) fn append(&self, path: &str) -> Self {
        let mut result = self.clone();
        match GitAddress::parse(path) {
            Some(address) => {
                address.repository().clone_into(&mut result.repo);
                address.reference().clone_into(&mut result.reference);
                // kustomize writes the name that it has for the root before it is cloned.
                result.path = match clean_join("", address.directory().trim_start_matches('/')) {
                    root if root.is_empty() || root == "." => "notCloned".to_owned(),
                    directory => directory,
                };
            }
            None => result.path = clean_join(&self.path, path),
        }
        result
    }

    /// The origin of what a built-in generator or transformer of the kustomization file does.
    pub(crate) fn built_in(&self, file: &str, plugin: &str) -> Self {
        Self {
            path: String::new(),
            configured_in: clean_join(&self.path, file),
            configured_by: [
                "builtin".to_owned(),
                plugin.to_owned(),
                String::new(),
                String::new(),
            ],
            ..self.clone()
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (field, value) in [
            ("path", &self.path),
            ("repo", &self.repo),
            ("ref", &self.reference),
            ("configuredIn", &self.configured_in),
        ] {
            if !value.is_empty() {
                lines.push(format!("{field}: {}", quote(value)));
            }
        }
        if self.configured_by.iter().any(|value| !value.is_empty()) {
            lines.push("configuredBy:".to_owned());
            for (field, value) in CONFIGURED_BY.iter().zip(&self.configured_by) {
                if !value.is_empty() {
                    lines.push(format!("  {field}: {}", quote(value)));
                }
            }
        }
        lines
    }

    /// The annotation's text.
    pub(crate) fn to_yaml(&self) -> String {
        let lines = self.lines();
        if lines.is_empty() {
            return "{}\n".to_owned();
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn from_node(node: &Node) -> Self {
        let text = |node: &Node, field: &str| node.get(field).map_or("", tree::value_of).to_owned();
        let configured_by = node.get("configuredBy");
        Self {
            path: text(node, "path"),
            repo: text(node, "repo"),
            reference: text(node, "ref"),
            configured_in: text(node, "configuredIn"),
            configured_by: CONFIGURED_BY
                .map(|field| configured_by.map(|node| text(node, field)).unwrap_or_default()),
        }
    }
}

impl Resource {
    /// The recorded origin.
    pub(crate) fn origin(&self) -> Option<Origin> {
        let text = self.annotation(ORIGIN_ANNOTATION)?;
        let node = parse_document(text.as_bytes(), Flavour::Kyaml, Limits::default()).ok()??;
        Some(Origin::from_node(&node))
    }

    /// Records the origin.
    pub(crate) fn set_origin(&mut self, origin: &Origin) -> Result<()> {
        self.set_annotation(ORIGIN_ANNOTATION, &origin.to_yaml())
    }

    /// Records that something changed the object.
    pub(crate) fn add_transformation(&mut self, origin: &Origin) -> Result<()> {
        let mut text = self
            .annotation(TRANSFORMATIONS_ANNOTATION)
            .unwrap_or_default()
            .to_owned();
        if text.trim() == "[]" {
            text.clear();
        }
        for (index, line) in origin.lines().iter().enumerate() {
            text.push_str(if index == 0 { "- " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
        self.set_annotation(TRANSFORMATIONS_ANNOTATION, &text)
    }

    /// The origin of what this object, the configuration of a plugin, makes or changes.
    pub(crate) fn plugin_origin(&self) -> Option<Origin> {
        let origin = self.origin()?;
        Some(Origin {
            configured_in: origin.path,
            path: String::new(),
            repo: origin.repo,
            reference: origin.reference,
            configured_by: [self.api_version(), self.kind(), self.name(), self.namespace()]
                .map(str::to_owned),
        })
    }
}

/// A scalar as yaml.v3 writes it: plain where that reads as the same string.
fn quote(text: &str) -> String {
    let node = Node::string(text);
    let plain = node.style == sluice_goyaml::Style::Plain
        && text.trim() == text
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.starts_with(|first: char| "!&*-?|>%@`\"'#,[]{}:=".contains(first))
        || text.starts_with('-') && text.len() > 1 && !text.starts_with("- ");
    if plain {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Go's `filepath.Join`.
pub(crate) fn clean_join(base: &str, path: &str) -> String {
    let joined = match (base.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (false, true) => base.to_owned(),
        (false, false) => format!("{base}/{path}"),
    };
    if joined.is_empty() {
        return joined;
    }
    let absolute = joined.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            other => parts.push(other),
        }
    }
    let path = parts.join("/");
    match (absolute, path.is_empty()) {
        (true, _) => format!("/{path}"),
        (false, true) => ".".to_owned(),
        (false, false) => path,
    }
}
