//! What commands that build from a directory are told.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;
use sluice_api::kustomize::{GROUP, Kustomization};
use sluice_goyaml::{Flavour, Limits, json_from_node, parse_documents};

use crate::error::{CommandError, Result};

/// The Kustomization and the directory that stands for its artifact.
#[derive(Debug, clap::Args)]
pub(crate) struct LocalArguments {
    /// Name of the Kustomization
    pub(super) name: String,
    /// Directory that stands for the Kustomization's spec.path
    #[arg(long, value_name = "DIRECTORY")]
    path: PathBuf,
    /// File with the Kustomization, instead of the one in the cluster
    #[arg(long, value_name = "FILE")]
    kustomization_file: Option<PathBuf>,
    /// Leave out files that these patterns match, as .gitignore has them
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub(super) ignore_paths: Vec<String>,
    /// Fail where a variable has neither a value nor a default
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    pub(super) strict_substitute: bool,
    /// Go on with the Kustomizations among the objects
    #[arg(long, short = 'r')]
    pub(super) recursive: bool,
    /// Directories that stand for the sources of those Kustomizations
    #[arg(long, value_delimiter = ',', value_name = "KIND/NAMESPACE/NAME=DIRECTORY")]
    pub(super) local_sources: Vec<LocalSource>,
    /// Accepted for scripts written for flux: the directory is never written to
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    in_memory_build: Option<bool>,
}

/// A source and the directory that stands for its artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalSource {
    /// `Kind/namespace/name`.
    pub(super) source: String,
    /// The directory.
    pub(super) directory: PathBuf,
}

impl FromStr for LocalSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((source, directory)) if source.split('/').count() == 3 && !directory.is_empty() => {
                Ok(Self {
                    source: source.to_owned(),
                    directory: directory.into(),
                })
            }
            _ => Err(
                "write Kind/namespace/name=directory, for example: GitRepository/flux-system/fleet=."
                    .to_owned(),
            ),
        }
    }
}

impl LocalArguments {
    /// The directory, which must exist.
    pub(super) fn directory(&self) -> Result<PathBuf> {
        if self.path.is_dir() {
            return Ok(self.path.clone());
        }
        Err(
            CommandError::new(format!("invalid resource path \"{}\"", self.path.display()))
                .with_hint("name the directory that stands for the Kustomization's spec.path"),
        )
    }

    /// Whether to go on with the Kustomizations among the objects.
    pub(crate) fn is_recursive(&self) -> bool {
        self.recursive
    }

    /// Whether a file stands for the Kustomization.
    pub(crate) fn has_kustomization_file(&self) -> bool {
        self.kustomization_file.is_some()
    }

    /// The Kustomization in the file, if there is one: of all its documents the one with the name, in the
    /// namespace or in none.
    ///
    /// # Errors
    /// A file that cannot be read, or does not have it.
    pub(super) fn read_kustomization(&self, namespace: &str) -> Result<Option<Kustomization>> {
        let Some(file) = &self.kustomization_file else {
            return Ok(None);
        };
        if !file.is_file() {
            return Err(CommandError::new(format!(
                "invalid kustomization file \"{}\"",
                file.display()
            )));
        }
        let is_wanted = |document: &Value| {
            let text = |pointer: &str| {
                document
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            text("/kind") == "Kustomization"
                && text("/apiVersion").split('/').next() == Some(GROUP)
                && text("/metadata/name") == self.name
                && (["", namespace].contains(&text("/metadata/namespace")))
        };
        let found = documents(file)?.into_iter().find(is_wanted).ok_or_else(|| {
            CommandError::new(format!(
                "failed find kustomization with name '{}' and namespace '{namespace}' in file '{}'",
                self.name,
                file.display()
            ))
            .with_hint("check the name and -n")
        })?;
        serde_json::from_value(found)
            .map(Some)
            .map_err(|error| unreadable(file, &error.to_string()))
    }
}

fn documents(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read(file).map_err(|error| unreadable(file, &error.to_string()))?;
    let wrong = |error: sluice_goyaml::Error| unreadable(file, &error.to_string());
    parse_documents(&text, Flavour::Sigs, Limits::default())
        .map_err(wrong)?
        .iter()
        .map(|node| json_from_node(node, Flavour::Sigs).map_err(wrong))
        .collect()
}

fn unreadable(file: &Path, problem: &str) -> CommandError {
    CommandError::new(format!(
        "failed to unmarshall kustomization file {}: {problem}",
        file.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_sources_name_kind_namespace_and_directory() {
        let source: LocalSource = "GitRepository/flux-system/fleet=./a=b".parse().unwrap();
        assert_eq!(source.source, "GitRepository/flux-system/fleet");
        assert_eq!(source.directory, PathBuf::from("./a=b"));
        for wrong in [
            "fleet=.",
            "GitRepository/fleet=.",
            "GitRepository/a/b",
            "GitRepository/a/b=",
        ] {
            assert!(wrong.parse::<LocalSource>().is_err(), "{wrong}");
        }
    }
}
