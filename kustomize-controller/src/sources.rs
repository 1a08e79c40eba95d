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

/// The watched sources. All kinds are watched whether or not their definitions stand yet: they may be installed
/// later, and a controller that has not seen them is not ready.
#[derive(Clone)]
pub(crate) struct Sources {
    client: Client,
    /// Read from the API server instead of the stores.
    direct: bool,
    pub(crate) git_repositories: Store<GitRepository>,
    pub(crate) oci_repositories: Store<OciRepository>,
    pub(crate) buckets: Store<Bucket>,
    /// Only with the feature gate.
    pub(crate) external_artifacts: Option<Store<ExternalArtifact>>,
}

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// It does not exist.
    #[error("{kind}.{GROUP} \"{name}\" not found")]
    NotFound { kind: String, name: String },
    /// No source of ours is of this kind.
    #[error("source `{name}` kind '{kind}' not supported")]
    UnknownKind { kind: String, name: String },
    /// The request failed.
    #[error("unable to get source '{key}': {cause}")]
    Request { key: ObjectKey, cause: kube::Error },
}

impl Sources {
    /// Watches the kinds of sources, `external` artifacts if asked to.
    pub(crate) fn watch(manager: &mut Manager, external: bool, direct: bool) -> Self {
        Self {
            client: manager.client().clone(),
            direct,
            git_repositories: manager.watch_referenced(),
            oci_repositories: manager.watch_referenced(),
            buckets: manager.watch_referenced(),
            external_artifacts: external.then(|| manager.watch_referenced()),
        }
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
            SourceKind::GitRepository => self.read(&self.git_repositories, key).await,
            SourceKind::OciRepository => self.read(&self.oci_repositories, key).await,
            SourceKind::Bucket => self.read(&self.buckets, key).await,
            SourceKind::ExternalArtifact => match &self.external_artifacts {
                Some(store) => self.read(store, key).await,
                None => Err(SourceError::UnknownKind {
                    kind: kind.to_string(),
                    name: key.name.clone(),
                }),
            },
            SourceKind::Other(kind) => Err(SourceError::UnknownKind {
                kind: kind.clone(),
                name: key.name.clone(),
            }),
        }
    }

    async fn read<K: SourceObject>(
        &self,
        store: &Store<K>,
        key: &ObjectKey,
    ) -> Result<Option<Artifact>, SourceError> {
        let kind = K::kind(&()).into_owned();
        let name = key.name.clone();
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
