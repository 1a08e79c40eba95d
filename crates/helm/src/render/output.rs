//! The text that `helm template` prints.

use super::{Rendered, push_document};
use crate::glob::matches_path;
use crate::manifest::split_manifests;

/// What `helm template` shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputOptions {
    /// Whether the files in `crds/` come first.
    pub custom_resources: bool,
    /// Whether hooks are left out.
    pub no_hooks: bool,
    /// Whether hooks that are tests are left out.
    pub skip_tests: bool,
    /// Patterns for paths below the root chart: only what one of them matches is shown, in their order.
    pub show_only: Vec<String>,
}

/// A pattern of [`OutputOptions::show_only`] matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not find template {0} in chart")]
pub struct TemplateNotFound(pub String);

/// A document that `helm template --output-dir` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputDocument {
    /// The path of the file from the root chart.
    pub path: String,
    /// The document with its source.
    pub text: String,
    /// Whether it is the first of its file; others are appended.
    pub is_first: bool,
    /// Whether the file lies in `crds/`; Helm puts these beside the folder of the release.
    pub is_custom_resource: bool,
}

impl Rendered {
    /// All that `helm template` prints.
    ///
    /// # Errors
    /// If a pattern matches nothing.
    pub fn output(&self, options: &OutputOptions) -> Result<String, TemplateNotFound> {
        let mut text = self.manifest(options.custom_resources);
        text = text.trim_matches(crate::text::is_space).to_owned();
        text.push('\n');
        for hook in self.shown_hooks(options) {
            push_document(&mut text, &hook.path, &hook.manifest);
        }
        if options.show_only.is_empty() {
            return Ok(text);
        }
        show_only(&text, &options.show_only)
    }

    fn shown_hooks(&self, options: &OutputOptions) -> impl Iterator<Item = &crate::manifest::Hook> {
        let (none, no_tests) = (options.no_hooks, options.skip_tests);
        self.hooks
            .iter()
            .filter(move |hook| !(none || no_tests && hook.is_test()))
    }

    /// The documents that `helm template --output-dir` writes, in its order.
    pub fn output_documents(&self, options: &OutputOptions) -> Vec<OutputDocument> {
        let mut documents: Vec<OutputDocument> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut add = |path: &str, content: &str, is_custom_resource: bool| {
            let mut text = String::new();
            push_document(&mut text, path, content);
            documents.push(OutputDocument {
                path: path.to_owned(),
                text,
                is_first: seen.insert(path.to_owned()),
                is_custom_resource,
            });
        };
        if options.custom_resources {
            for file in &self.custom_resources {
                add(&file.path, &String::from_utf8_lossy(&file.data), true);
            }
        }
        for manifest in &self.manifests {
            add(&manifest.path, &manifest.content, false);
        }
        for hook in self.shown_hooks(options) {
            add(&hook.path, &hook.manifest, false);
        }
        documents
    }
}

fn show_only(text: &str, patterns: &[String]) -> Result<String, TemplateNotFound> {
    let documents = split_manifests(text);
    let mut shown = String::new();
    for pattern in patterns {
        let mut is_missing = true;
        for document in &documents {
            let Some(path) = source_below_chart(document) else {
                continue;
            };
            if matches_path(pattern, path).unwrap_or(false) {
                shown.push_str("---\n");
                shown.push_str(document);
                shown.push('\n');
                is_missing = false;
            }
        }
        if is_missing {
            return Err(TemplateNotFound(pattern.clone()));
        }
    }
    Ok(shown)
}

/// The path below the root chart that the first source comment of a document names.
fn source_below_chart(document: &str) -> Option<&str> {
    let mut rest = document;
    while let Some(at) = rest.find("# Source: ") {
        rest = &rest[at + "# Source: ".len()..];
        let line = rest.lines().next().unwrap_or_default();
        if let Some((chart, below)) = line.split_once('/')
            && !chart.is_empty()
            && !below.is_empty()
        {
            return Some(below);
        }
    }
    None
}
