//! The work that the controllers get: a repository and the objects that refer to it.

use rand::RngCore as _;
use serde_json::{Value, json};
use sluice_testbed::git::Repository;

use crate::error::Result;

/// The namespace of all objects.
pub(crate) const NAMESPACE: &str = "bench";

/// The name of the GitRepository.
pub(crate) const SOURCE: &str = "fleet";

/// The size of each of the four files of a large artifact, in bytes.
const LARGE_FILE: usize = 100_000_000;

/// The number of files of an artifact of many files.
const MANY_FILES: usize = 100_000;

/// A Deployment that the cluster does not roll out.
const NEVER_HEALTHY: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: waiting
spec:
  paused: true
  selector:
    matchLabels: {app: waiting}
  template:
    metadata:
      labels: {app: waiting}
    spec:
      containers:
      - {name: app, image: registry.example.com/app}
";

/// A kind of work and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// No objects at all.
    Idle,
    /// One GitRepository, and Kustomizations of one ConfigMap and one ServiceAccount each on its artifact.
    Kustomizations {
        /// How many Kustomizations.
        count: usize,
        /// What each of them uses.
        features: Features,
    },
    /// Kustomizations whose health check cannot succeed, and others that become Ready before and beside them.
    Waiting {
        /// How many wait.
        count: usize,
    },
    /// One Kustomization on a large artifact.
    Artifact(Shape),
}

/// What makes an artifact large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// 400 MB that do not compress, in four files.
    Bytes,
    /// 100,000 small files.
    Files,
}

/// What a Kustomization uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// `wait`.
    pub(crate) wait: bool,
    /// `prune`.
    pub(crate) prune: bool,
    /// `postBuild.substitute`.
    pub(crate) substitution: bool,
}

impl Scenario {
    /// What it is, for people.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Idle => "idle, no objects".to_owned(),
            Self::Kustomizations { count, features } => {
                let used = [
                    (features.substitution, "substitution"),
                    (features.wait, "wait"),
                    (features.prune, "prune"),
                ];
                let used = used
                    .iter()
                    .filter(|(used, _)| *used)
                    .map(|(_, name)| *name)
                    .collect::<Vec<_>>();
                let used = if used.is_empty() {
                    "no options".to_owned()
                } else {
                    used.join(", ")
                };
                format!("{count} Kustomizations of two objects each on one artifact ({used})")
            }
            Self::Waiting { count } => {
                format!(
                    "one Kustomization after another, alone and beside {count} that wait in vain for health"
                )
            }
            Self::Artifact(Shape::Bytes) => "one Kustomization on an artifact of 400 MB".to_owned(),
            Self::Artifact(Shape::Files) => "one Kustomization on an artifact of 100,000 files".to_owned(),
        }
    }

    /// A short name for files.
    pub(crate) fn slug(&self) -> String {
        match self {
            Self::Idle => "idle".to_owned(),
            Self::Kustomizations { count, .. } => format!("kustomizations-{count}"),
            Self::Waiting { count } => format!("waiting-{count}"),
            Self::Artifact(Shape::Bytes) => "artifact-bytes".to_owned(),
            Self::Artifact(Shape::Files) => "artifact-files".to_owned(),
        }
    }
}

/// The name of the Kustomization of that index, of its directory, and of its objects.
pub(crate) fn name(index: usize) -> String {
    format!("app-{index:04}")
}

/// Fills a repository with one directory for each Kustomization.
pub(crate) fn fill(repository: &mut Repository, count: usize) -> Result<()> {
    for index in 0..count {
        for (file, content) in directory(index) {
            repository.write(&format!("apps/{}/{file}", name(index)), content)?;
        }
    }
    repository.commit("Describe the applications")?;
    Ok(())
}

/// Fills a repository with directories for Kustomizations that become Ready, and the directory `waiting` for
/// those that do not.
pub(crate) fn fill_waiting(repository: &mut Repository, count: usize) -> Result<()> {
    repository.write("waiting/deployment.yaml", NEVER_HEALTHY)?;
    fill(repository, count)
}

/// Fills a repository with what makes its artifact large, and one directory for a Kustomization.
pub(crate) fn fill_large(repository: &mut Repository, shape: Shape) -> Result<()> {
    match shape {
        Shape::Bytes => {
            let mut content = vec![0; LARGE_FILE];
            for file in 0..4 {
                rand::rng().fill_bytes(&mut content);
                repository.write(&format!("large/{file}.bin"), &content)?;
            }
        }
        Shape::Files => {
            for file in 0..MANY_FILES {
                let path = format!("many/{:03}/{file:06}.txt", file / 500);
                repository.write(&path, format!("the content of file {file}\n"))?;
            }
        }
    }
    fill(repository, 1)
}

/// The files of one directory.
fn directory(index: usize) -> [(&'static str, String); 3] {
    let name = name(index);
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\n\
        kind: Kustomization\n\
        resources:\n\
        - config-map.yaml\n\
        - service-account.yaml\n";
    let config_map = format!(
        "apiVersion: v1\n\
         kind: ConfigMap\n\
         metadata:\n\
         \x20 name: {name}\n\
         \x20 namespace: {NAMESPACE}\n\
         data:\n\
         \x20 application: {name}\n\
         \x20 stage: \"${{stage}}\"\n\
         \x20 settings.toml: |\n\
         \x20   [server]\n\
         \x20   address = \"0.0.0.0:8080\"\n\
         \x20   domain = \"{name}.${{stage}}.example.com\"\n\
         \x20   [limits]\n\
         \x20   requests = 250\n"
    );
    let service_account = format!(
        "apiVersion: v1\n\
         kind: ServiceAccount\n\
         metadata:\n\
         \x20 name: {name}\n\
         \x20 namespace: {NAMESPACE}\n"
    );
    [
        ("kustomization.yaml", kustomization.to_owned()),
        ("config-map.yaml", config_map),
        ("service-account.yaml", service_account),
    ]
}

/// The GitRepository.
pub(crate) fn source(url: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": SOURCE, "namespace": NAMESPACE},
        "spec": {"interval": "1h", "timeout": "10m", "url": url, "ref": {"branch": "main"}},
    })
}

/// The Kustomization of that index. Its interval is longer than any run.
pub(crate) fn kustomization(index: usize, features: Features) -> Value {
    let name = name(index);
    let mut object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "interval": "1h",
            "timeout": "5m",
            "path": format!("./apps/{name}"),
            "prune": features.prune,
            "wait": features.wait,
            "sourceRef": {"kind": "GitRepository", "name": SOURCE},
        },
    });
    if features.substitution {
        object["spec"]["postBuild"] = json!({"substitute": {"stage": "production"}});
    }
    object
}

/// A Kustomization whose health check goes on for ten minutes. Each has a Deployment of its own.
pub(crate) fn waiting(index: usize) -> Value {
    let name = format!("waiting-{index:04}");
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "interval": "1h",
            "timeout": "10m",
            "path": "./waiting",
            "prune": true,
            "wait": true,
            "targetNamespace": NAMESPACE,
            "nameSuffix": format!("-{index:04}"),
            "sourceRef": {"kind": "GitRepository", "name": SOURCE},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Features = Features {
        wait: true,
        prune: true,
        substitution: true,
    };
    const NONE: Features = Features {
        wait: false,
        prune: false,
        substitution: false,
    };

    #[test]
    fn title_says_what_is_used() {
        assert_eq!(Scenario::Idle.title(), "idle, no objects");
        let title = |features| Scenario::Kustomizations { count: 100, features }.title();
        assert_eq!(
            title(ALL),
            "100 Kustomizations of two objects each on one artifact (substitution, wait, prune)"
        );
        assert_eq!(
            title(NONE),
            "100 Kustomizations of two objects each on one artifact (no options)"
        );
    }

    #[test]
    fn every_kustomization_points_to_its_own_directory_and_objects() {
        insta::assert_snapshot!(directory(7)[1].1, @r#"
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: app-0007
          namespace: bench
        data:
          application: app-0007
          stage: "${stage}"
          settings.toml: |
            [server]
            address = "0.0.0.0:8080"
            domain = "app-0007.${stage}.example.com"
            [limits]
            requests = 250
        "#);
        assert_eq!(kustomization(7, ALL)["spec"]["path"], "./apps/app-0007");
    }

    #[test]
    fn features_stand_in_the_spec() {
        let spec = kustomization(0, ALL)["spec"].clone();
        assert_eq!((&spec["wait"], &spec["prune"]), (&json!(true), &json!(true)));
        assert_eq!(spec["postBuild"]["substitute"]["stage"], "production");
        let spec = kustomization(0, NONE)["spec"].clone();
        assert_eq!((&spec["wait"], &spec["prune"]), (&json!(false), &json!(false)));
        assert!(spec.get("postBuild").is_none());
    }
}
