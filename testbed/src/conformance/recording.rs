//! What was seen, as data that can be kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Result, tools};

/// Everything that was seen while a scenario was played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The pictures, in their order.
    pub snapshots: Vec<Snapshot>,
}

/// What could be seen at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The name that the scenario gives it.
    pub name: String,
    /// The custom resources of the controllers by `Kind/name`: metadata, spec with its defaults, status.
    pub toolkit: BTreeMap<String, Value>,
    /// All other objects of the namespace, and the objects elsewhere that belong to a Kustomization of it, by
    /// `Kind/name` or `Kind/namespace/name`. Their status is left out.
    pub objects: BTreeMap<String, Value>,
    /// The events that are new since the last picture, each as one line, in alphabetical order.
    pub events: Vec<String>,
    /// The requests since the last picture that concern the namespace, by controller and
    /// [label](crate::audit::Request::label).
    pub requests: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Recording {
    /// Where the recordings of Flux's controllers are kept.
    pub fn directory() -> PathBuf {
        tools::workspace().join("testbed/conformance/recordings")
    }

    /// Reads the recording of a scenario. None if there is none.
    pub fn read(directory: &Path, scenario: &str) -> Result<Option<Self>> {
        let file = directory.join(format!("{scenario}.json"));
        match std::fs::read(&file) {
            Ok(content) => serde_json::from_slice(&content)
                .map(Some)
                .map_err(Error::json(file.display().to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(format!("read {}", file.display()))(error)),
        }
    }

    /// Keeps the recording of a scenario.
    pub fn write(&self, directory: &Path, scenario: &str) -> Result<()> {
        let file = directory.join(format!("{scenario}.json"));
        let mut content = serde_json::to_vec_pretty(&sorted(
            serde_json::to_value(self).map_err(Error::json("a recording"))?,
        ))
        .map_err(Error::json("a recording"))?;
        content.push(b'\n');
        std::fs::write(&file, content).map_err(Error::io(format!("write {}", file.display())))
    }
}

/// The value with the keys of all objects in alphabetical order, whatever order the JSON library keeps.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(ordered.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
