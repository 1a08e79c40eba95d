//! Post-renderers: programs or engines that change manifests after rendering.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use sluice_goyaml::{Document, Limits, Node, parse_for_editing, write_kyaml};

use super::PostRenderer;
use crate::manifest::{ManifestError, sort_manifests, split_manifests};

/// Tells in the stream which file a document comes from.
const FILE: &str = "postrenderer.helm.sh/postrender-filename";

/// What a post-renderer gets to see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PostRenderStrategy {
    /// Objects and hooks in one stream.
    #[default]
    Combined,
    /// Hooks in one stream, then objects in another: one object may be both.
    Separate,
    /// Objects only, as in Helm 3.
    NoHooks,
}

/// A post-renderer and what it gets to see.
#[derive(Clone)]
pub struct PostRendering {
    /// What changes the manifests.
    pub renderer: Arc<dyn PostRenderer + Send + Sync>,
    /// What it gets to see.
    pub strategy: PostRenderStrategy,
}

/// Why manifests cannot be post-rendered. The texts are Helm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostRenderError {
    /// What was rendered is no YAML.
    #[error(transparent)]
    Manifest(ManifestError),
    /// What was rendered cannot be made a stream.
    #[error("error merging {what}: {problem}")]
    Merge {
        /// `manifests`, or `hooks`.
        what: &'static str,
        /// Why.
        problem: String,
    },
    /// The post-renderer failed.
    #[error("error while running post render on {what}: {problem}")]
    Run {
        /// `files`, `manifests` or `hooks`.
        what: &'static str,
        /// Its own words.
        problem: String,
    },
    /// What the post-renderer gave back cannot be taken apart.
    #[error("error while parsing post rendered output{what}: {problem}")]
    Output {
        /// Nothing, or ` for manifests`, ` for hooks`.
        what: &'static str,
        /// Why.
        problem: String,
    },
}

type Files = BTreeMap<String, String>;

/// Sends rendered files through a post-renderer.
pub(super) fn post_render(files: &Files, rendering: &PostRendering) -> Result<Files, PostRenderError> {
    let renderer = &*rendering.renderer;
    if rendering.strategy == PostRenderStrategy::Combined {
        let problem = |problem| PostRenderError::Merge {
            what: "manifests",
            problem,
        };
        let stream = merge(files).map_err(problem)?;
        let problem = |problem| PostRenderError::Run {
            what: "files",
            problem,
        };
        let stream = renderer.run(&stream).map_err(problem)?;
        let problem = |problem| PostRenderError::Output { what: "", problem };
        return take_apart(&stream, "").map_err(problem);
    }
    let (hooks, manifests) = sort_manifests(files).map_err(PostRenderError::Manifest)?;
    let (mut hook_files, mut manifest_files, mut all) = (Files::new(), Files::new(), Files::new());
    for hook in hooks {
        append(&mut hook_files, hook.path, &hook.manifest);
    }
    for manifest in manifests {
        append(&mut manifest_files, manifest.path, &manifest.content);
    }
    let is_seen = rendering.strategy == PostRenderStrategy::Separate;
    for (what, of, prefix, files, is_seen) in [
        ("hooks", " for hooks", "hooks-", hook_files, is_seen),
        ("manifests", " for manifests", "manifests-", manifest_files, true),
    ] {
        if files.is_empty() {
            continue;
        }
        let rendered = if is_seen {
            let stream = merge(&files).map_err(|problem| PostRenderError::Merge { what, problem })?;
            let run = renderer.run(&stream);
            let stream = run.map_err(|problem| PostRenderError::Run { what, problem })?;
            take_apart(&stream, prefix).map_err(|problem| PostRenderError::Output { what: of, problem })?
        } else {
            files
        };
        for (path, text) in rendered {
            append(&mut all, path, &text);
        }
    }
    Ok(all)
}

fn append(files: &mut Files, path: String, text: &str) {
    files
        .entry(path)
        .and_modify(|existing| {
            existing.push_str("\n---\n");
            existing.push_str(text);
        })
        .or_insert_with(|| text.to_owned());
}

/// All documents as one stream, each with the name of its file.
fn merge(files: &Files) -> Result<String, String> {
    let mut all = Vec::new();
    for (path, text) in files {
        if crate::text::base(path).starts_with('_') || text.trim().is_empty() {
            continue;
        }
        for document in split_manifests(text) {
            let documents = read(&document).map_err(|problem| format!("parsing {path}: {problem}"))?;
            for mut document in documents {
                let annotations = document
                    .root
                    .mapping_at_mut(["metadata", "annotations"])
                    .ok_or_else(|| format!("annotating {path}: the document is no mapping"))?;
                annotations.set(FILE, Node::string(path.as_str()));
                all.push(document);
            }
        }
    }
    Ok(write_kyaml(&all))
}

/// The files of a stream; documents without a name get one by their number.
fn take_apart(stream: &str, prefix: &str) -> Result<Files, String> {
    let mut documents: BTreeMap<String, Vec<Document>> = BTreeMap::new();
    let read = read(stream).map_err(|problem| format!("error parsing YAML: {problem}"))?;
    for (index, mut document) in read.into_iter().enumerate() {
        let name = document.root.str_at(["metadata", "annotations", FILE]);
        let name = name.filter(|name| !name.is_empty()).map_or_else(
            || format!("generated-by-postrender-{prefix}{index}.yaml"),
            str::to_owned,
        );
        clear_name(&mut document.root);
        documents.entry(name).or_default().push(document);
    }
    let write = |(name, documents): (String, Vec<Document>)| (name, write_kyaml(&documents));
    Ok(documents.into_iter().map(write).collect())
}

fn clear_name(document: &mut Node) {
    let Some(root) = document.as_mapping_mut() else {
        return;
    };
    let Some(metadata) = root.get_mut("metadata").and_then(Node::as_mapping_mut) else {
        return;
    };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Node::as_mapping_mut) {
        annotations.remove(FILE);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    if metadata.is_empty() {
        root.remove("metadata");
    }
}

/// The documents of a stream that hold something; lists are taken apart if they stand alone.
fn read(stream: &str) -> Result<Vec<Document>, String> {
    let stream = stream.replace("\r\n", "\n");
    let texts = split_documents(&stream)?;
    let is_alone = texts.len() == 1;
    let mut documents = Vec::new();
    for text in texts {
        let read = parse_for_editing(text.as_bytes(), Limits::default());
        let first = read
            .map_err(|error| format!("MalformedYAMLError: {error}"))?
            .into_iter()
            .next();
        let Some(document) = first.filter(|document| !document.root.is_null()) else {
            continue;
        };
        let is_list = matches!(document.root.str_at(["kind"]), Some("List" | "ResourceList"));
        match document.root.get("items").and_then(Node::as_sequence) {
            Some(items) if is_alone && is_list => {
                documents.extend(items.iter().map(|item| Document {
                    root: item.clone(),
                    comments: Default::default(),
                }));
            }
            _ => documents.push(document),
        }
    }
    Ok(documents)
}

fn split_documents(stream: &str) -> Result<Vec<String>, String> {
    static SEPARATOR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\n---.*\n").ok());
    let mut texts = Vec::new();
    let mut from = 0;
    for found in SEPARATOR.iter().flat_map(|separator| separator.find_iter(stream)) {
        let rest = found.as_str()[4..].trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            return Err(format!("invalid document separator: {}", found.as_str().trim()));
        }
        texts.push(format!("{}\n", &stream[from..found.start()]));
        from = found.end();
    }
    if !stream.is_empty() {
        texts.push(stream[from..].to_owned());
    }
    Ok(texts)
}
