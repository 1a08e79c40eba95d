//! `sluice reconcile`: asks a controller to look now, and waits for the answer.

use clap_complete::ArgValueCompleter;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};
use sluice_api::annotations;

use crate::cluster::Cluster;
use crate::command::wait::{Verdict, judge_settled, wait_quietly};
use crate::completion::words;
use crate::error::{CommandError, Result};
use crate::kind::{Actions, Kind, readiness};
use crate::output::Console;

/// Arguments of `sluice reconcile`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice reconcile kustomization apps --with-source\n  sluice reconcile source git flux-system"
)]
pub(crate) struct Reconcile {
    /// The kind and the name, for example: kustomization apps, source git flux-system
    #[arg(required = true, add = ArgValueCompleter::new(words), value_name = "KIND NAME")]
    words: Vec<String>,
    /// Reconcile the source first (Kustomizations and HelmReleases)
    #[arg(long)]
    with_source: bool,
    /// Do it once even if nothing changed (HelmReleases)
    #[arg(long)]
    force: bool,
    /// Forget earlier failures (HelmReleases)
    #[arg(long)]
    reset: bool,
}

impl Reconcile {
    /// Annotates the object and waits until the controller has handled it.
    ///
    /// # Errors
    /// Unknown object, suspended object, a reconcile that fails, the deadline.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kind, name) = self.named()?;
        let object = fetch(cluster, kind, name).await?;
        refuse_suspended(cluster, kind, name, &object)?;
        if self.with_source {
            let ((source, source_name), place) = source_of(&object, kind, cluster)?;
            let object = fetch(&place, source, &source_name).await?;
            reconcile_one(&place, source, &source_name, &object, &[], console).await?;
        }
        let mut extra = Vec::new();
        if self.force {
            extra.push(annotations::RECONCILE_FORCE_AT);
        }
        if self.reset {
            extra.push(annotations::RECONCILE_RESET_AT);
        }
        reconcile_one(cluster, kind, name, &object, &extra, console).await
    }

    /// Finds the kind and the name, and refuses flags that the kind has no use for.
    fn named(&self) -> Result<(&'static Kind, &str)> {
        let (kind, name) = named(&self.words)?;
        if (self.force || self.reset) && kind.kind != "HelmRelease" {
            return Err(CommandError::new("--force and --reset are for HelmReleases only")
                .with_hint(format!("leave them out for a {}", kind.kind)));
        }
        Ok((kind, name))
    }
}

/// Splits `KIND… NAME` and finds the kind, which must be one that a controller reconciles.
fn named(words: &[String]) -> Result<(&'static Kind, &str)> {
    let (kinds, names) = Kind::split(words)?;
    let [kind] = kinds.as_slice() else {
        return Err(CommandError::new("exactly one kind is needed here")
            .with_hint("for example: sluice reconcile source git flux-system"));
    };
    if kind.actions != Actions::Reconcile {
        return Err(CommandError::new(format!(
            "{} is not reconciled: it takes effect at once",
            kind.kind
        )));
    }
    match names {
        [name] => Ok((kind, name)),
        [] => Err(CommandError::new(format!("{} name is required", kind.kind))
            .with_hint(format!("list them with: sluice get {} -A", kind.command_words()))),
        _ => Err(CommandError::new("one object at a time can be reconciled")),
    }
}

/// Reads one object.
pub(crate) async fn fetch(cluster: &Cluster, kind: &Kind, name: &str) -> Result<Value> {
    let object = cluster
        .objects(kind)
        .get_opt(name)
        .await?
        .ok_or_else(|| not_found(kind, name, &cluster.namespace))?;
    Ok(kind.value(object))
}

/// There is no such object, and how to find the right one.
pub(crate) fn not_found(kind: &Kind, name: &str, namespace: &str) -> CommandError {
    CommandError::new(format!(
        "{} object '{name}' not found in \"{namespace}\" namespace",
        kind.kind
    ))
    .with_hint(format!("list them with: sluice get {} -A", kind.command_words()))
}

fn refuse_suspended(cluster: &Cluster, kind: &Kind, name: &str, object: &Value) -> Result<()> {
    if object["spec"]["suspend"] != true {
        return Ok(());
    }
    Err(
        CommandError::new(format!("{} {name} is suspended", kind.kind)).with_hint(format!(
            "resume it with: sluice -n {} resume {} {name}",
            cluster.namespace,
            kind.command_words()
        )),
    )
}

fn source_of(object: &Value, kind: &Kind, cluster: &Cluster) -> Result<((&'static Kind, String), Cluster)> {
    let spec = &object["spec"];
    let reference = match kind.kind {
        "Kustomization" => &spec["sourceRef"],
        "HelmRelease" if spec["chartRef"].is_object() => &spec["chartRef"],
        "HelmRelease" => &spec["chart"]["spec"]["sourceRef"],
        _ => {
            return Err(CommandError::new(format!("a {} has no source", kind.kind))
                .with_hint("leave --with-source out"));
        }
    };
    let text = |key: &str| reference[key].as_str().unwrap_or_default();
    let source = Kind::by_name(text("kind")).filter(|source| source.actions == Actions::Reconcile);
    let source = source.ok_or_else(|| {
        CommandError::new(format!("cannot reconcile source of kind {}", text("kind")))
            .with_hint("leave --with-source out")
    })?;
    let mut place = cluster.clone();
    if !text("namespace").is_empty() {
        text("namespace").clone_into(&mut place.namespace);
    }
    Ok(((source, text("name").to_owned()), place))
}

async fn reconcile_one(
    cluster: &Cluster,
    kind: &'static Kind,
    name: &str,
    before: &Value,
    extra: &[&str],
    console: &Console,
) -> Result<()> {
    if kind.is_static(before) {
        console.success("reconciliation not supported by the object");
        return Ok(());
    }
    refuse_suspended(cluster, kind, name, before)?;
    let token = jiff::Timestamp::now().to_string();
    let mut annotations = serde_json::Map::new();
    for key in extra.iter().chain(&[annotations::RECONCILE_REQUESTED_AT]) {
        annotations.insert((*key).to_owned(), json!(token));
    }
    console.action(&format!(
        "annotating {} {name} in {} namespace",
        kind.kind, cluster.namespace
    ));
    let objects: Api<DynamicObject> = cluster.objects(kind);
    let patch = json!({"metadata": {"annotations": annotations}});
    objects
        .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
        .await?;
    console.success(&format!("{} annotated", kind.kind));
    let progress = console.progress(&format!("waiting for {} reconciliation", kind.kind));
    let object = wait_quietly(cluster, kind, name, &progress, |object| {
        judge_handled(kind, object, &token)
    })
    .await?;
    drop(progress);
    console.success(&kind.achievement(&object));
    Ok(())
}

/// The controller has handled the request when its token is in the status; only then readiness counts.
fn judge_handled(kind: &Kind, object: &Value, token: &str) -> Verdict {
    if object["status"]["lastHandledReconcileAt"] != token {
        return Verdict::Wait(format!(
            "the controller has not answered yet; last: {}",
            readiness(object).1
        ));
    }
    match judge_settled(object) {
        Verdict::Failed(message) => {
            Verdict::Failed(format!("{} reconciliation failed: {message}", kind.kind))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn kind_and_name_are_split() {
        let list = words("source git flux-system");
        let (kind, name) = named(&list).unwrap();
        assert_eq!((kind.kind, name), ("GitRepository", "flux-system"));
        assert!(
            named(&words("alert x"))
                .unwrap_err()
                .to_string()
                .contains("not reconciled")
        );
        assert!(named(&words("source all x")).is_err());
        let missing = words("source git");
        assert_eq!(
            named(&missing).unwrap_err().to_string(),
            "GitRepository name is required"
        );
        assert!(named(&words("ks a b")).is_err());
    }

    #[test]
    fn a_result_counts_only_after_the_token_was_handled() {
        let kind = Kind::by_name("Kustomization").unwrap();
        let mut object = json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1,
            "lastHandledReconcileAt": "old", "conditions": [{"type": "Ready", "status": "True", "message": "m"}]}});
        assert!(matches!(judge_handled(kind, &object, "new"), Verdict::Wait(_)));
        object["status"]["lastHandledReconcileAt"] = json!("new");
        assert_eq!(judge_handled(kind, &object, "new"), Verdict::Done);
        object["status"]["conditions"][0]["status"] = json!("False");
        assert_eq!(
            judge_handled(kind, &object, "new"),
            Verdict::Failed("Kustomization reconciliation failed: m".into())
        );
    }

    #[test]
    fn the_source_of_a_kustomization_may_stand_in_another_namespace() {
        let kind = Kind::by_name("Kustomization").unwrap();
        let object =
            json!({"spec": {"sourceRef": {"kind": "GitRepository", "name": "repo", "namespace": "other"}}});
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let _entered = runtime.enter();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let cluster = Cluster {
            client: kube::Client::try_from(config).unwrap(),
            namespace: "flux-system".into(),
            timeout: std::time::Duration::from_secs(1),
        };
        let ((source, name), place) = source_of(&object, kind, &cluster).unwrap();
        assert_eq!(
            (source.kind, name.as_str(), place.namespace.as_str()),
            ("GitRepository", "repo", "other")
        );
    }
}
