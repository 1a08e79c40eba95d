//! The files that say what happens.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use sluice_goyaml::{Flavour, Limits, parse_json};

use crate::proxy::Rule;
use crate::{Error, Result, tools};

/// What happens, step by step, in a namespace of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its ending, which is also the namespace's.
    #[serde(skip)]
    pub name: String,
    /// The checklist ids that it covers.
    pub covers: Vec<String>,
    /// What it shows, in a sentence.
    pub about: String,
    /// Further flags by controller. Scenarios with flags have a set of controllers of their own.
    #[serde(default)]
    pub flags: BTreeMap<String, Vec<String>>,
    /// True if it disturbs what runs beside it, as the restart of a controller does.
    #[serde(default)]
    pub alone: bool,
    /// Kinds of custom resources that it uses, each as `GROUP/VERSION Kind plural`.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Why the number of requests depends on time. They are then compared by kind and not by count.
    #[serde(default)]
    pub unsteady: Option<String>,
    /// What ours cannot do yet, in the words of "Not there yet" in docs/parity.md. The scenario is then played
    /// all the same, and must not be as recorded.
    #[serde(default)]
    pub not_yet: Option<String>,
    /// Where ours differ from the recording on purpose.
    #[serde(default)]
    pub differences: Vec<Difference>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// A place where ours differ on purpose from what was recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Difference {
    /// The snapshot; all without it.
    #[serde(default)]
    pub snapshot: Option<String>,
    /// The JSON pointer in the snapshot; `*` stands for any one part of it, `**` at the end for all below.
    pub at: String,
    /// What stands there in ours: null for nothing, a text that begins with `~` for a regular expression.
    pub ours: Value,
    /// The row of docs/parity.md that says why: its first cell, or all of the row.
    pub parity: String,
    /// True if ours may also be as recorded, because it depends on who is first.
    #[serde(default)]
    pub sometimes: bool,
}

/// One thing that happens, or is waited for.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Step {
    /// Changes a repository.
    Commit(Commit),
    /// Changes a repository, and lets its GitRepository, which has the same name, fetch it.
    Push(Commit),
    /// Applies a GitRepository of the repository of that name and waits until it is ready. Fields but `name`
    /// go into `spec` over the defaults.
    Repository(BTreeMap<String, Value>),
    /// Applies a Kustomization. Fields but `name` go into `spec` over the defaults.
    Kustomization(BTreeMap<String, Value>),
    /// Applies a stream of YAML documents as a user does.
    Apply(String),
    /// Changes an object by a merge patch.
    Edit(Edit),
    /// Deletes an object and waits until it is gone.
    Delete(String),
    /// Asks for the end of an object without waiting for it.
    Release(String),
    /// Asks for a reconcile and waits until its end is in the status.
    Reconcile(String),
    /// Waits until the object is ready, has nothing to do, and has the last commit.
    Ready(String),
    /// Waits until an object is as said.
    Await(Await),
    /// Looks at everything.
    Snapshot(String),
    /// Ends a controller and starts it again.
    Restart(Restart),
    /// Sets a rule of the proxy before the API server.
    Fault(Fault),
    /// Waits until a rule has harmed a request.
    Harmed(String),
    /// Removes a rule.
    Clear(String),
    /// Removes the files of all artifacts, as the restart of a pod does.
    EmptyStorage(bool),
}

/// A change of a repository.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Commit {
    /// The repository, which is created by its first commit; `app` without it.
    pub repository: Option<String>,
    /// Files by path; null removes one.
    pub files: BTreeMap<String, Option<String>>,
    /// Symbolic links by path, with what they point to.
    pub links: BTreeMap<String, String>,
    /// The branch, created if need be; the present one without it.
    pub branch: Option<String>,
    /// A lightweight tag for the commit.
    pub tag: Option<String>,
    /// An annotated tag for the commit.
    pub annotated_tag: Option<String>,
    /// A further reference for the commit, such as `refs/pull/1/head`.
    pub reference: Option<String>,
}

/// A change of an object.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// `Kind/name` or `Kind/namespace/name`.
    pub object: String,
    /// The merge patch.
    pub patch: Value,
    /// The field manager; `test-user` without it.
    #[serde(default)]
    pub manager: Option<String>,
    /// Such as `status`.
    #[serde(default)]
    pub subresource: Option<String>,
}

/// What an object is to become.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Await {
    /// `Kind/name` or `Kind/namespace/name`.
    pub object: String,
    /// The condition; `Ready` without it.
    #[serde(default)]
    pub condition: Option<String>,
    /// The condition's status.
    #[serde(default)]
    pub status: Option<String>,
    /// The condition's reason.
    #[serde(default)]
    pub reason: Option<String>,
    /// A part of the condition's message.
    #[serde(default)]
    pub message: Option<String>,
    /// True if the object is to be gone.
    #[serde(default)]
    pub gone: bool,
    /// Fields by JSON pointer; null for a field that is not there.
    #[serde(default)]
    pub fields: BTreeMap<String, Value>,
}

/// The end and the new start of a controller.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Restart {
    /// Such as `kustomize-controller`.
    pub controller: String,
    /// True for SIGKILL, false for SIGTERM.
    #[serde(default)]
    pub kill: bool,
    /// Steps that are taken while it is down.
    #[serde(default, rename = "while")]
    pub meanwhile: Vec<Step>,
}

/// A rule of the proxy.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// Its name within the scenario.
    pub name: String,
    /// What goes wrong with which requests.
    pub rule: Rule,
}

impl Scenario {
    /// The folder that holds the project's scenarios.
    pub fn directory() -> std::path::PathBuf {
        tools::workspace().join("testbed/conformance/scenarios")
    }

    /// Reads the scenario of that file.
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).map_err(Error::io(format!("read {}", file.display())))?;
        let name = file
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        Self::parse(&name, &text)
    }

    /// All scenarios of a folder, or those of the given names, in alphabetical order.
    pub fn read_all(directory: &Path, names: &[String]) -> Result<Vec<Self>> {
        let what = || Error::io(format!("read {}", directory.display()));
        let mut files = std::fs::read_dir(directory)
            .map_err(what())?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(what())?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
        files.sort();
        let scenarios = files
            .iter()
            .map(|file| Self::read(file))
            .collect::<Result<Vec<_>>>()?;
        if let Some(unknown) = names
            .iter()
            .find(|name| !scenarios.iter().any(|scenario| scenario.name == **name))
        {
            return Err(Error::Failed {
                what: format!("find scenario {unknown}"),
                output: format!("there is no such file in {}", directory.display()),
            });
        }
        Ok(scenarios
            .into_iter()
            .filter(|scenario| names.is_empty() || names.contains(&scenario.name))
            .collect())
    }

    /// Reads a scenario. `${namespace}` stands for its namespace, `${git}` for where its repositories are;
    /// the latter is left in place until it is known.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let text = text.replace("${namespace}", name);
        let value = yaml(name, &text)?;
        let scenario: Self =
            serde_json::from_value(value).map_err(Error::json(format!("scenario {name}")))?;
        Ok(Self {
            name: name.to_owned(),
            ..scenario
        })
    }

    /// The object kinds that it declares: API version, kind, plural.
    pub(crate) fn declared_kinds(&self) -> Result<Vec<(String, String, String)>> {
        self.kinds
            .iter()
            .map(|declared| {
                let parts: Vec<_> = declared.split_whitespace().map(str::to_owned).collect();
                match <[String; 3]>::try_from(parts) {
                    Ok([version, kind, plural]) => Ok((version, kind, plural)),
                    Err(_) => Err(Error::Failed {
                        what: format!("scenario {}: kind {declared:?}", self.name),
                        output: "it must be of the form GROUP/VERSION Kind plural".to_owned(),
                    }),
                }
            })
            .collect()
    }
}

/// The first document of a YAML text.
pub(crate) fn yaml(place: &str, text: &str) -> Result<Value> {
    parse_json(text.as_bytes(), Flavour::Sigs, Limits::default()).map_err(|error| Error::Failed {
        what: format!("read the YAML of {place}"),
        output: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_with_the_namespace_filled_in() {
        let text = r"
covers: [KUS-001]
about: An example
steps:
- push: {files: {a.yaml: 'x: ${other}', b.yaml: null}}
- ready: Kustomization/app
- apply: |
    metadata: {namespace: ${namespace}}
- snapshot: applied
";
        let scenario = Scenario::parse("example", text).unwrap();
        assert_eq!(scenario.steps.len(), 4);
        let Step::Push(commit) = &scenario.steps[0] else {
            panic!("{:?}", scenario.steps[0]);
        };
        assert_eq!(commit.files["a.yaml"].as_deref(), Some("x: ${other}"));
        assert_eq!(commit.files["b.yaml"], None);
        let Step::Apply(documents) = &scenario.steps[2] else {
            panic!("{:?}", scenario.steps[2]);
        };
        assert_eq!(documents, "metadata: {namespace: example}\n");
    }

    #[test]
    fn unknown_fields_and_steps_are_errors() {
        for text in [
            "covers: []\nabout: x\nsteps: []\nextra: 1\n",
            "covers: []\nabout: x\nsteps: [{dance: 1}]\n",
            "covers: []\nabout: x\nsteps: [{await: {objct: x}}]\n",
        ] {
            assert!(Scenario::parse("x", text).is_err(), "{text}");
        }
    }
}
