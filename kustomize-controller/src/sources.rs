//! The sources, of which only the artifact is kept in memory.

use std::borrow::Cow;

use kube::core::{NamespaceResourceScope, ObjectMeta};
use kube::{Api, Client};
use serde::Deserialize;
use sluice_api::kustomize::SourceKind;
use sluice_api::meta::Artifact;
use sluice_api::source::GROUP;
use sluice_runtime::object::Watched;
use sluice_runtime::{Manager, ObjectKey, Store};

/// The part of a source's status that consumers read.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SourceStatus {
    #[serde(default)]
    pub(crate) artifact: Option<Artifact>,
}

/// A kind of source.
pub(crate) trait SourceObject: Watched {
    /// What the source has produced.
    fn artifact(&self) -> Option<&Artifact>;
}

macro_rules! source_kind {
    ($name:ident, $kind:literal, $plural:literal) => {
        /// A source of this kind: its metadata and artifact.
        #[derive(Clone, Debug, Deserialize)]
        pub(crate) struct $name {
            #[serde(default)]
            metadata: ObjectMeta,
            #[serde(default)]
            status: SourceStatus,
        }

        impl kube::Resource for $name {
            type DynamicType = ();
            type Scope = NamespaceResourceScope;

            fn kind((): &()) -> Cow<'_, str> {
                $kind.into()
            }
            fn group((): &()) -> Cow<'_, str> {
                GROUP.into()
            }
            fn version((): &()) -> Cow<'_, str> {
                "v1".into()
            }
            fn plural((): &()) -> Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl SourceObject for $name {
            fn artifact(&self) -> Option<&Artifact> {
                self.status.artifact.as_ref()
            }
        }
    };
}

source_kind!(GitRepository, "GitRepository", "gitrepositories");
source_kind!(OciRepository, "OCIRepository", "ocirepositories");
source_kind!(Bucket, "Bucket", "buckets");
source_kind!(ExternalArtifact, "ExternalArtifact", "externalartifacts");

/// The watched sources; a kind whose definition is not installed has no store.
#[derive(Clone)]
pub(crate) struct Sources {
    client: Client,
    /// Read from the API server instead of the stores.
    direct: bool,
    pub(crate) git_repositories: Option<Store<GitRepository>>,
    pub(crate) oci_repositories: Option<Store<OciRepository>>,
    pub(crate) buckets: Option<Store<Bucket>>,
    pub(crate) external_artifacts: Option<Store<ExternalArtifact>>,
}

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// It does not exist.
    #[error("{kind}.{GROUP} \"{name}\" not found")]
    NotFound { kind: String, name: String },
    /// Its kind is not installed in the cluster.
    #[error(
        "source `{name}` kind '{kind}' not supported: its custom resource definition was not installed when the controller started"
    )]
    UnknownKind { kind: String, name: String },
    /// The request failed.
    #[error("unable to get source '{key}': {cause}")]
    Request { key: ObjectKey, cause: kube::Error },
}

impl Sources {
    /// Watches the kinds of sources that the cluster knows.
    ///
    /// # Errors
    /// If the API server cannot be asked.
    pub(crate) async fn watch(
        manager: &mut Manager,
        external: bool,
        direct: bool,
    ) -> Result<Self, kube::Error> {
        let installed = match manager
            .client()
            .list_api_group_resources(&format!("{GROUP}/v1"))
            .await
        {
            Ok(list) => list.resources.into_iter().map(|resource| resource.name).collect(),
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(error),
        };
        let has = |plural: &str| installed.iter().any(|name| name == plural);
        Ok(Self {
            client: manager.client().clone(),
            direct,
            git_repositories: has("gitrepositories").then(|| manager.watch_referenced()),
            oci_repositories: has("ocirepositories").then(|| manager.watch_referenced()),
            buckets: has("buckets").then(|| manager.watch_referenced()),
            external_artifacts: (external && has("externalartifacts")).then(|| manager.watch_referenced()),
        })
    }

    /// The artifact of a source, `None` if it has none yet.
    ///
    /// # Errors
    /// [`SourceError`].
    pub(crate) async fn artifact(
        &self,
        kind: &SourceKind,
        key: &ObjectKey,
    ) -> Result<Option<Artifact>, SourceError> {
        match kind {
            SourceKind::GitRepository => self.read(self.git_repositories.as_ref(), key).await,
            SourceKind::OciRepository => self.read(self.oci_repositories.as_ref(), key).await,
            SourceKind::Bucket => self.read(self.buckets.as_ref(), key).await,
            SourceKind::ExternalArtifact => self.read(self.external_artifacts.as_ref(), key).await,
            SourceKind::Other(kind) => Err(SourceError::UnknownKind {
                kind: kind.clone(),
                name: key.name.clone(),
            }),
        }
    }

    async fn read<K: SourceObject>(
        &self,
        store: Option<&Store<K>>,
        key: &ObjectKey,
    ) -> Result<Option<Artifact>, SourceError> {
        let kind = K::kind(&()).into_owned();
        let name = key.name.clone();
        let Some(store) = store else {
            return Err(SourceError::UnknownKind { kind, name });
        };
        if self.direct {
            let api: Api<K> = Api::namespaced(self.client.clone(), &key.namespace);
            return match api.get_opt(&key.name).await {
                Ok(Some(source)) => Ok(source.artifact().cloned()),
                Ok(None) => Err(SourceError::NotFound { kind, name }),
                Err(cause) => Err(SourceError::Request {
                    key: key.clone(),
                    cause,
                }),
            };
        }
        let source = store.get(key).ok_or(SourceError::NotFound { kind, name })?;
        Ok(source.artifact().cloned())
    }
}
