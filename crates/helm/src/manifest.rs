//! Splitting rendered files into documents, telling hooks from objects, and sorting both.

mod hook;
mod kinds;

use std::collections::BTreeMap;

pub use hook::{DeletePolicy, Hook, HookEvent, LogPolicy};
pub use kinds::{INSTALL_ORDER, UNINSTALL_ORDER, compare_kinds};

use crate::decode::Place;

/// One document of a rendered file that is no hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The path of the file from the root chart: `chart/templates/x.yaml`.
    pub path: String,
    /// The text of the document.
    pub content: String,
    /// Its `apiVersion`; empty if it has none.
    pub api_version: String,
    /// Its `kind`; empty if it has none.
    pub kind: String,
}

/// A rendered file is no YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("YAML parse error on {path}: {problem}")]
pub struct ManifestError {
    /// The file.
    pub path: String,
    /// The text of Helm's YAML library.
    pub problem: String,
}

/// The documents of a rendered file. Three dashes at the start of a line end a document, whatever follows
/// them on the line; what follows is kept. Blank documents are left out.
pub fn split_manifests(text: &str) -> Vec<String> {
    let text = text.trim_start_matches(crate::text::is_space);
    let mut documents = Vec::new();
    let mut document = String::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("---") {
            Some(rest) => {
                documents.push(std::mem::take(&mut document));
                document.push_str(rest.trim_start_matches([' ', '\t']));
            }
            None => document.push_str(line),
        }
    }
    documents.push(document);
    documents
        .into_iter()
        .map(|document| document.trim_start_matches(crate::text::is_space).to_owned())
        .filter(|document| !document.is_empty())
        .collect()
}

/// Sorts rendered files by path into hooks and manifests, each in the order of installation.
///
/// Partials (`_name`), blank files and documents with an unknown hook are left out.
///
/// # Errors
/// If a document is no YAML or its head has the wrong types.
pub fn sort_manifests(files: &BTreeMap<String, String>) -> Result<(Vec<Hook>, Vec<Manifest>), ManifestError> {
    let mut hooks = Vec::new();
    let mut manifests = Vec::new();
    for (path, text) in files {
        if crate::text::base(path).starts_with('_') {
            continue;
        }
        for content in split_manifests(text) {
            let head = Head::read(&content).map_err(|problem| ManifestError {
                path: path.clone(),
                problem,
            })?;
            match hook::events(&head.annotations) {
                None => manifests.push(Manifest {
                    path: path.clone(),
                    content,
                    api_version: head.api_version,
                    kind: head.kind,
                }),
                Some(events) => hooks.extend(Hook::new(path, content, head, events)),
            }
        }
    }
    hooks.sort_by(|first: &Hook, second| compare_kinds(&first.kind, &second.kind, &INSTALL_ORDER));
    manifests.sort_by(|first: &Manifest, second| compare_kinds(&first.kind, &second.kind, &INSTALL_ORDER));
    Ok((hooks, manifests))
}

/// The part of a document that decides where it goes.
#[derive(Default)]
struct Head {
    api_version: String,
    kind: String,
    name: String,
    annotations: BTreeMap<String, String>,
}

impl Head {
    fn read(document: &str) -> Result<Self, String> {
        crate::decode::decode(document.as_bytes(), |decoder, node| {
            let Some(fields) = decoder.structure(node, &Place::root(), "SimpleHead", "util.SimpleHead")
            else {
                return Self::default();
            };
            let mut head = Self {
                api_version: decoder.text(&fields, "apiVersion"),
                kind: decoder.text(&fields, "kind"),
                ..Self::default()
            };
            let go_type = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \
                           \"json:\\\"annotations\\\"\" }";
            if let Some(metadata) = decoder.inner(&fields, "metadata", "", go_type) {
                head.annotations = decoder.text_map(&metadata, "annotations").unwrap_or_default();
                head.name = decoder.text(&metadata, "name");
            }
            head
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // H10
    #[test]
    fn text_behind_dashes_is_kept() {
        assert_eq!(
            split_manifests("\n---\n# c\n---\n--- \n---apiVersion: v1\nkind: A\n"),
            ["# c\n", "apiVersion: v1\nkind: A\n"]
        );
    }

    // H11
    #[test]
    fn blank_lines_in_block_scalars_are_kept() {
        assert_eq!(
            split_manifests("data:\n  k: |\n    a\n\n    b\n\n---\nb: 1\n"),
            ["data:\n  k: |\n    a\n\n    b\n\n", "b: 1\n"]
        );
    }
}
