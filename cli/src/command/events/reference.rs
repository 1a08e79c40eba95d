//! The objects whose events concern another one as well.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::command::reconcile::fetch;
use crate::error::{CommandError, Result};
use crate::kind::Kind;

/// What events are asked for: a kind, or one object of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) kind: &'static Kind,
    pub(super) name: Option<String>,
}

/// An object that another one refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Referred {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: String,
}

impl Subject {
    /// Reads `KIND` or `KIND/NAME`.
    ///
    /// # Errors
    /// A kind that is none of the toolkit.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) => (kind, Some(name.to_owned()).filter(|name| !name.is_empty())),
            None => (text, None),
        };
        if kind.is_empty() {
            return Err(
                CommandError::new("--for selector must be of format <kind>[/<name>]")
                    .with_hint("for example: --for Kustomization/apps"),
            );
        }
        let kind = Kind::by_name(kind)
            .filter(|kind| kind.kind != "ExternalArtifact")
            .ok_or_else(|| {
                CommandError::new(format!("'{kind}' is not a recognized Flux kind"))
                    .with_hint("for example: Kustomization, GitRepository, HelmRelease")
            })?;
        Ok(Self { kind, name })
    }
}

/// The source, provider, repository or chart of the object, if its kind has one.
///
/// # Errors
/// The object is not there.
pub(super) async fn references(cluster: &Cluster, subject: &Subject) -> Result<Vec<Referred>> {
    let Some(name) = &subject.name else {
        return Ok(Vec::new());
    };
    let (pointer, fixed_kind, crosses_namespaces) = match subject.kind.kind {
        "Kustomization" | "HelmChart" => ("/spec/sourceRef", None, true),
        "HelmRelease" => ("/spec/chart/spec/sourceRef", None, true),
        "ImagePolicy" => ("/spec/imageRepositoryRef", Some("ImageRepository"), true),
        "Alert" => ("/spec/providerRef", Some("Provider"), false),
        _ => return Ok(Vec::new()),
    };
    let object = fetch(cluster, subject.kind, name).await?;
    let is_release = subject.kind.kind == "HelmRelease";
    let reference = match object.pointer(pointer) {
        Some(reference) => reference,
        // A release may name the artifact of its chart instead of a chart.
        None if is_release && object["spec"]["chartRef"].is_object() => &object["spec"]["chartRef"],
        None => return Ok(Vec::new()),
    };
    let text = |key: &str| reference[key].as_str().filter(|text| !text.is_empty());
    let namespace = text("namespace").filter(|_| crosses_namespaces);
    let namespace = namespace.unwrap_or(&cluster.namespace).to_owned();
    let Some((kind, referred)) = fixed_kind.or_else(|| text("kind")).zip(text("name")) else {
        return Ok(Vec::new());
    };
    let mut found = vec![Referred {
        kind: kind.to_owned(),
        name: referred.to_owned(),
        namespace: namespace.clone(),
    }];
    if is_release && object["spec"]["chart"] != Value::Null {
        found.push(Referred {
            kind: "HelmChart".to_owned(),
            name: format!("{}-{name}", cluster.namespace),
            namespace,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_a_kind_in_any_case_and_perhaps_a_name() {
        let apps = Subject::parse("kustomization/apps").unwrap();
        assert_eq!(
            (apps.kind.kind, apps.name.as_deref()),
            ("Kustomization", Some("apps"))
        );
        assert_eq!(Subject::parse("HelmRelease").unwrap().name, None);
        assert_eq!(
            Subject::parse("Pod/x").unwrap_err().to_string(),
            "'Pod' is not a recognized Flux kind"
        );
        assert!(Subject::parse("/x").is_err());
    }
}
