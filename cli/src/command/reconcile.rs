//! `sluice reconcile`: asks a controller to look now, and waits for the answer.

use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::command::wait::{Verdict, judge_ready, wait_for};
use crate::error::{CommandError, Result};
use crate::kind::{Kind, readiness};
use crate::output::Console;

const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
const FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";
const RESET_AT: &str = "reconcile.fluxcd.io/resetAt";

/// Arguments of `sluice reconcile`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice reconcile kustomization apps --with-source\n  sluice reconcile source git flux-system"
)]
pub(crate) struct Reconcile {
    /// The kind and the name, for example: kustomization apps, source git flux-system
    #[arg(required = true, num_args = 2..=3, value_name = "KIND NAME")]
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
        let (kind, name) = named(&self.words)?;
        if self.with_source {
            let object = fetch(cluster, kind, name).await?;
            let (source, cluster) = source_of(&object, kind, cluster)?;
            reconcile_one(&cluster, source.0, &source.1, &[], console).await?;
        }
        let mut extra = Vec::new();
        if self.force {
            extra.push(FORCE_AT);
        }
        if self.reset {
            extra.push(RESET_AT);
        }
        reconcile_one(cluster, kind, name, &extra, console).await
    }
}

/// Splits `KIND… NAME` and finds the kind, which must be one that a controller reconciles.
///
/// # Errors
/// Unknown or static kinds.
pub(crate) fn named(words: &[String]) -> Result<(&'static Kind, &str)> {
    let (name, kind) = words
        .split_last()
        .ok_or_else(|| CommandError::new("a kind and a name are needed"))?;
    let kinds = Kind::find(kind)?;
    match kinds.as_slice() {
        [kind] if kind.reconciled => Ok((kind, name)),
        [kind] => Err(CommandError::new(format!(
            "{} is not reconciled: it takes effect at once",
            kind.kind
        ))),
        _ => Err(CommandError::new("exactly one kind is needed here")),
    }
}

/// Reads one object.
///
/// # Errors
/// It does not exist, or the cluster refuses.
pub(crate) async fn fetch(cluster: &Cluster, kind: &Kind, name: &str) -> Result<Value> {
    let object = cluster
        .objects(kind)
        .get_opt(name)
        .await?
        .ok_or_else(|| missing(cluster, kind, name))?;
    serde_json::to_value(object).map_err(|error| CommandError::new(error.to_string()))
}

fn missing(cluster: &Cluster, kind: &Kind, name: &str) -> CommandError {
    CommandError::new(format!(
        "no {} '{name}' in namespace {}",
        kind.kind, cluster.namespace
    ))
    .with_hint(format!("list them with: sluice get {} -A", kind.plural))
}

fn source_of(object: &Value, kind: &Kind, cluster: &Cluster) -> Result<((&'static Kind, String), Cluster)> {
    let reference = match kind.kind {
        "Kustomization" => &object["spec"]["sourceRef"],
        "HelmRelease" if object["spec"]["chartRef"].is_object() => &object["spec"]["chartRef"],
        "HelmRelease" => &object["spec"]["chart"]["spec"]["sourceRef"],
        _ => {
            return Err(CommandError::new(format!(
                "{} has no source; leave --with-source out",
                kind.kind
            )));
        }
    };
    let text = |key: &str| reference[key].as_str().unwrap_or_default();
    let source = Kind::by_name(text("kind"))
        .ok_or_else(|| CommandError::new(format!("the source kind '{}' is unknown", text("kind"))))?;
    let mut place = cluster.clone();
    if !text("namespace").is_empty() {
        place.namespace = text("namespace").to_owned();
    }
    Ok(((source, text("name").to_owned()), place))
}

async fn reconcile_one(
    cluster: &Cluster,
    kind: &'static Kind,
    name: &str,
    extra: &[&str],
    console: &Console,
) -> Result<()> {
    let before = fetch(cluster, kind, name).await?;
    if before["spec"]["suspend"] == true {
        return Err(CommandError::new(format!("{} {name} is suspended", kind.kind))
            .with_hint("resume it first: sluice resume"));
    }
    let token = jiff::Timestamp::now().to_string();
    let mut annotations = serde_json::Map::new();
    for key in extra.iter().chain(&[REQUESTED_AT]) {
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
    let object = wait_for(cluster, kind, name, console, |object| {
        judge_handled(object, &token)
    })
    .await?;
    let (ready, message) = readiness(&object);
    if ready != "True" {
        return Err(CommandError::new(message));
    }
    let verb = if kind.kind == "Kustomization" || kind.kind == "HelmRelease" {
        "applied"
    } else {
        "fetched"
    };
    console.success(&format!("{verb} revision {}", kind.revision(&object)));
    Ok(())
}

/// The controller has handled the request when its token is in the status; only then readiness counts.
fn judge_handled(object: &Value, token: &str) -> Verdict {
    if object["status"]["lastHandledReconcileAt"] == token {
        return judge_ready(object);
    }
    let (_, message) = readiness(object);
    Verdict::Wait(message)
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
    }

    #[test]
    fn a_result_counts_only_after_the_token_was_handled() {
        let mut object = json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1,
            "lastHandledReconcileAt": "old", "conditions": [{"type": "Ready", "status": "True", "message": "m"}]}});
        assert_eq!(judge_handled(&object, "new"), Verdict::Wait("m".into()));
        object["status"]["lastHandledReconcileAt"] = json!("new");
        assert_eq!(judge_handled(&object, "new"), Verdict::Done);
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
