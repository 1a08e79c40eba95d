//! `sluice create kustomization`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Common, Interval, await_ready, duration, print, set, upsert};
use crate::cluster::{Cluster, ClusterArguments, parse_duration};
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::Console;

/// The kinds of sources that a Kustomization can read.
const SOURCES: [&str; 4] = ["GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"];

/// The kinds that `--health-check` knows.
const WORKLOADS: [&str; 4] = ["Deployment", "DaemonSet", "StatefulSet", "HelmRelease"];

/// Arguments of `sluice create kustomization`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice create kustomization apps --source=GitRepository/fleet --path=./apps --prune=true --interval=10m --wait\n  sluice create kustomization policies --depends-on=apps --source=fleet.flux-system --path=./policies --export"
)]
pub(super) struct CreateKustomization {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    interval: Interval,
    /// The source: a GitRepository unless another kind is named
    #[arg(long, value_name = "[KIND/]NAME[.NAMESPACE]")]
    source: String,
    /// Directory in the source
    #[arg(long, default_value = "./")]
    path: String,
    /// Delete objects that are no longer in the source
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    prune: bool,
    /// Count as ready only once all applied objects are healthy
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    wait: bool,
    /// Workloads that must be healthy
    #[arg(long, value_delimiter = ',', value_name = "KIND/NAME.NAMESPACE")]
    health_check: Vec<String>,
    /// How long objects may take to become healthy
    #[arg(long, default_value = "2m", value_parser = parse_duration)]
    health_check_timeout: Duration,
    /// Kustomizations that must be ready before
    #[arg(long, value_delimiter = ',', value_name = "[NAMESPACE/]NAME")]
    depends_on: Vec<String>,
    /// Account that the objects are applied as
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// How encrypted Secrets are decrypted
    #[arg(long, value_parser = ["sops"])]
    decryption_provider: Option<String>,
    /// Secret with the keys for that
    #[arg(long, value_name = "SECRET", requires = "decryption_provider")]
    decryption_secret: Option<String>,
    /// Namespace for all objects, instead of their own
    #[arg(long, value_name = "NAMESPACE")]
    target_namespace: Option<String>,
    /// Secret with the kubeconfig of another cluster to apply to
    #[arg(long, value_name = "SECRET")]
    kubeconfig_secret_ref: Option<String>,
    /// How long to wait after a failure
    #[arg(long, value_parser = parse_duration)]
    retry_interval: Option<Duration>,
    /// Accepted for scripts written for flux: the API server validates
    #[arg(long, hide = true)]
    validation: Option<String>,
}

impl CreateKustomization {
    pub(super) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        self.common.check()?;
        let Some(kind) = Kind::by_name("Kustomization") else {
            return Ok(());
        };
        let manifest = self.common.manifest(kind, &arguments.namespace()?, &self.spec()?);
        if self.common.export {
            return print(&manifest, console);
        }
        let cluster = Cluster::connect(arguments).await?;
        console.generated("generating Kustomization");
        console.action("applying Kustomization");
        upsert(&cluster, kind, &manifest, "Kustomization", console).await?;
        let name = &self.common.name;
        let ready = await_ready(&cluster, kind, name, "Kustomization", console).await?;
        console.success(&format!("Kustomization {name} is ready"));
        console.success(&kind.achievement(&ready));
        Ok(())
    }

    fn spec(&self) -> Result<Value> {
        let mut spec = json!({
            "interval": duration(self.interval.interval),
            "path": self.path()?,
            "prune": self.prune,
            "sourceRef": source_reference(&self.source)?,
        });
        set(&mut spec, "targetNamespace", self.target_namespace.clone());
        set(&mut spec, "serviceAccountName", self.service_account.clone());
        set(&mut spec, "retryInterval", self.retry_interval.map(duration));
        if !self.depends_on.is_empty() {
            spec["dependsOn"] = self.depends_on.iter().map(|text| dependency(text)).collect();
        }
        if let Some(secret) = &self.kubeconfig_secret_ref {
            spec["kubeConfig"] = json!({"secretRef": {"name": secret}});
        }
        if self.wait {
            spec["wait"] = true.into();
        } else if !self.health_check.is_empty() {
            let checks = self.health_check.iter().map(|text| health_check(text));
            spec["healthChecks"] = checks.collect::<Result<_>>()?;
        }
        if self.wait || !self.health_check.is_empty() {
            spec["timeout"] = duration(self.health_check_timeout);
        }
        if let Some(provider) = &self.decryption_provider {
            spec["decryption"] = json!({"provider": provider});
            let secret = self.decryption_secret.as_ref().map(|name| json!({"name": name}));
            set(&mut spec["decryption"], "secretRef", secret);
        }
        Ok(spec)
    }

    /// The path in its shortest form, which cannot lead out of the source.
    fn path(&self) -> Result<String> {
        if self.path.trim().is_empty() {
            return Err(CommandError::new("path is required").with_hint("for example: --path=./apps"));
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in self.path.trim().split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                name => parts.push(name),
            }
        }
        Ok(format!("./{}", parts.join("/")))
    }
}

/// Splits `[KIND/]NAME[.NAMESPACE]`.
fn split(text: &str) -> (&str, &str, &str) {
    let (kind, rest) = text.split_once('/').unwrap_or(("", text));
    let (name, namespace) = rest.rsplit_once('.').unwrap_or((rest, ""));
    (kind, name, namespace)
}

fn source_reference(text: &str) -> Result<Value> {
    let (kind, name, namespace) = split(text.trim());
    if name.is_empty() {
        return Err(
            CommandError::new("source is required").with_hint("for example: --source=GitRepository/fleet")
        );
    }
    let kind = if kind.is_empty() { SOURCES[0] } else { kind };
    let known = SOURCES.into_iter().find(|known| known.eq_ignore_ascii_case(kind));
    let kind = known.ok_or_else(|| {
        CommandError::new(format!(
            "source kind '{kind}' is not supported, must be one of: {}",
            SOURCES.join(", ")
        ))
    })?;
    let mut reference = json!({"kind": kind, "name": name});
    set(
        &mut reference,
        "namespace",
        Some(namespace).filter(|namespace| !namespace.is_empty()),
    );
    Ok(reference)
}

fn dependency(text: &str) -> Value {
    match text.split_once('/') {
        Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": text}),
    }
}

fn health_check(text: &str) -> Result<Value> {
    let (kind, name, namespace) = split(text);
    if [kind, name, namespace].contains(&"") {
        return Err(CommandError::new(format!(
            "invalid health check '{text}' must be in the format 'kind/name.namespace'"
        )));
    }
    if !WORKLOADS.contains(&kind) {
        return Err(CommandError::new(format!(
            "invalid health check kind '{kind}' can be HelmRelease, Deployment, DaemonSet or StatefulSet"
        )));
    }
    let mut check = json!({"kind": kind, "name": name, "namespace": namespace});
    let release = Kind::by_name(kind).map(|kind| kind.resource().api_version);
    set(&mut check, "apiVersion", release);
    Ok(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_git_repositories_unless_another_kind_is_named() {
        assert_eq!(
            source_reference("fleet").unwrap(),
            json!({"kind": "GitRepository", "name": "fleet"})
        );
        assert_eq!(
            source_reference("ocirepository/a.b.shop").unwrap(),
            json!({"kind": "OCIRepository", "name": "a.b", "namespace": "shop"})
        );
        assert!(
            source_reference("HelmChart/x")
                .unwrap_err()
                .to_string()
                .contains("not supported")
        );
        assert!(source_reference("GitRepository/").is_err());
    }

    #[test]
    fn health_checks_name_kind_name_and_namespace() {
        assert_eq!(
            health_check("HelmRelease/app.shop").unwrap()["apiVersion"],
            "helm.toolkit.fluxcd.io/v2"
        );
        assert!(
            health_check("Deployment/app.shop")
                .unwrap()
                .get("apiVersion")
                .is_none()
        );
        for wrong in ["Deployment/app", "app.shop", "Pod/app.shop"] {
            assert!(health_check(wrong).is_err(), "{wrong}");
        }
    }
}
