//! `sluice uninstall`: takes the toolkit off a cluster; what it had applied stays.

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::cluster::Cluster;
use crate::command::check::PART_OF;
use crate::error::{Result, is_unknown_kind};
use crate::kind::KINDS;
use crate::output::{Console, confirm};

/// The toolkit's own objects in its namespace, in the order in which they go.
const NAMESPACED: [(&str, &str, &str); 5] = [
    ("apps/v1", "Deployment", "deployments"),
    ("v1", "Service", "services"),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    ("v1", "ResourceQuota", "resourcequotas"),
    ("v1", "ServiceAccount", "serviceaccounts"),
];

/// The toolkit's own objects without a namespace.
const CLUSTER_WIDE: [(&str, &str, &str); 2] = [
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
    ),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"),
];

const DEFINITIONS: (&str, &str, &str) = (
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);

/// Arguments of `sluice uninstall`.
#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {
    /// Keep the namespace
    #[arg(long)]
    keep_namespace: bool,
    /// Only print what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Don't ask
    #[arg(long, short = 's')]
    silent: bool,
}

impl Uninstall {
    /// Deletes the controllers first, so that nothing reconciles any more; then frees the objects of the toolkit
    /// from their finalizers, so that nothing that they applied is pruned; then the definitions.
    ///
    /// # Errors
    /// The API server refuses.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        self.confirm(cluster)?;
        console.action(&format!("deleting components in {} namespace", cluster.namespace));
        for kind in NAMESPACED {
            self.delete_all(cluster, kind, true, console).await?;
        }
        console.action("deleting toolkit.fluxcd.io finalizers in all namespaces");
        self.release_objects(cluster, console).await?;
        for kind in CLUSTER_WIDE {
            self.delete_all(cluster, kind, false, console).await?;
        }
        console.action("deleting toolkit.fluxcd.io custom resource definitions");
        self.delete_all(cluster, DEFINITIONS, false, console).await?;
        if !self.keep_namespace {
            self.delete_namespace(cluster, console).await?;
        }
        console.success("uninstall finished");
        Ok(())
    }

    fn confirm(&self, cluster: &Cluster) -> Result<()> {
        if self.silent || self.dry_run {
            return Ok(());
        }
        confirm(
            &format!(
                "Delete the toolkit and its objects in {} and everywhere?",
                cluster.namespace
            ),
            "add --silent to uninstall without a question",
        )
    }

    async fn delete_all(
        &self,
        cluster: &Cluster,
        (api_version, kind, plural): (&str, &str, &str),
        namespaced: bool,
        console: &Console,
    ) -> Result<()> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = if namespaced {
            Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &resource)
        } else {
            Api::all_with(cluster.client.clone(), &resource)
        };
        for object in api.list(&ListParams::default().labels(PART_OF)).await?.items {
            let name = object.name_any();
            if !self.dry_run {
                ignore_missing(api.delete(&name, &DeleteParams::background()).await.map(drop))?;
            }
            let place = if namespaced {
                format!("{}/", cluster.namespace)
            } else {
                String::new()
            };
            console.success(&format!("{kind}/{place}{name} deleted{}", self.suffix()));
        }
        Ok(())
    }

    async fn release_objects(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        for kind in &KINDS {
            let everywhere = cluster.objects_everywhere(kind);
            let list = match everywhere.list(&ListParams::default()).await {
                Ok(list) => list,
                Err(kube::Error::Api(status)) if is_unknown_kind(&status) => continue,
                Err(error) => return Err(error.into()),
            };
            for object in list
                .items
                .into_iter()
                .filter(|object| !object.finalizers().is_empty())
            {
                let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
                if !self.dry_run {
                    let api: Api<DynamicObject> =
                        Api::namespaced_with(cluster.client.clone(), &namespace, &kind.resource());
                    let patch = Patch::Merge(json!({"metadata": {"finalizers": []}}));
                    ignore_missing(api.patch(&name, &PatchParams::default(), &patch).await.map(drop))?;
                }
                console.success(&format!(
                    "{}/{namespace}/{name} finalizers deleted{}",
                    kind.kind,
                    self.suffix()
                ));
            }
        }
        Ok(())
    }

    async fn delete_namespace(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        if !self.dry_run {
            ignore_missing(
                namespaces
                    .delete(&cluster.namespace, &DeleteParams::background())
                    .await
                    .map(drop),
            )?;
        }
        console.success(&format!(
            "Namespace/{} deleted{}",
            cluster.namespace,
            self.suffix()
        ));
        Ok(())
    }

    fn suffix(&self) -> &'static str {
        if self.dry_run { " (dry run)" } else { "" }
    }
}

fn ignore_missing(result: Result<(), kube::Error>) -> Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other?),
    }
}
