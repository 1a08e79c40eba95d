//! The work that the controllers get: a repository and the objects that refer to it.

use serde_json::{Value, json};
use sluice_testbed::git::Repository;

use crate::error::Result;

/// The namespace of all objects.
pub(crate) const NAMESPACE: &str = "bench";

/// The name of the GitRepository.
pub(crate) const SOURCE: &str = "fleet";

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
        }
    }

    /// A short name for files.
    pub(crate) fn slug(&self) -> String {
        match self {
            Self::Idle => "idle".to_owned(),
            Self::Kustomizations { count, .. } => format!("kustomizations-{count}"),
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
        "spec": {"interval": "1h", "url": url, "ref": {"branch": "main"}},
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
