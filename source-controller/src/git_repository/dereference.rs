//! Step one: read what the spec refers to.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use sluice_api::meta::Artifact;
use sluice_api::source::{GitRepository, GitRepositorySpec};
use sluice_auth::{AuthError, Proxy, SecretData};
use sluice_runtime::{ObjectKey, Store};

/// The Secrets of a GitRepository.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Credentials, from `spec.secretRef`.
    pub credentials: Option<SecretData>,
    /// The proxy, from `spec.proxySecretRef`.
    pub proxy: Option<Proxy>,
}

/// Why a Secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DereferenceError {
    /// The Secret with credentials cannot be read.
    #[error("failed to get secret '{key}': failed to get secret '{key}': {reason}")]
    Secret {
        /// The Secret.
        key: ObjectKey,
        /// What the API server said.
        reason: String,
    },
    /// The Secret with the proxy does not exist.
    #[error("failed to configure proxy options: secret '{0}' not found")]
    ProxyNotFound(ObjectKey),
    /// The Secret with the proxy cannot be read.
    #[error("failed to configure proxy options: failed to get secret '{key}': {reason}")]
    ProxySecret {
        /// The Secret.
        key: ObjectKey,
        /// What the API server said.
        reason: String,
    },
    /// The Secret with the proxy holds no usable one.
    #[error("failed to configure proxy options: {0}")]
    Proxy(#[source] AuthError),
}

/// Why an artifact to include is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncludeError {
    /// There is no such GitRepository.
    #[error(
        "could not get resource for include '{name}': GitRepository.source.toolkit.fluxcd.io \"{name}\" not found"
    )]
    NotFound {
        /// Its name.
        name: String,
    },
    /// It has no artifact yet.
    #[error("no artifact available for include '{name}'")]
    NoArtifact {
        /// Its name.
        name: String,
    },
}

/// Reads the Secrets that a spec names, from the object's own namespace.
///
/// # Errors
/// One of them is missing, or not what it should be.
pub async fn read_secrets(
    client: &Client,
    namespace: &str,
    spec: &GitRepositorySpec,
) -> Result<Secrets, DereferenceError> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let mut secrets = Secrets::default();
    if let Some(reference) = &spec.proxy_secret_ref {
        let key = ObjectKey::new(namespace, &reference.name);
        let secret = match api.get(&reference.name).await {
            Ok(secret) => SecretData::from(secret),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return Err(DereferenceError::ProxyNotFound(key));
            }
            Err(error) => {
                return Err(DereferenceError::ProxySecret {
                    key,
                    reason: describe(&error),
                });
            }
        };
        secrets.proxy = Some(secret.proxy().map_err(DereferenceError::Proxy)?);
    }
    if let Some(reference) = &spec.secret_ref {
        let secret = api
            .get(&reference.name)
            .await
            .map_err(|error| DereferenceError::Secret {
                key: ObjectKey::new(namespace, &reference.name),
                reason: describe(&error),
            })?;
        secrets.credentials = Some(secret.into());
    }
    Ok(secrets)
}

/// Finds the artifacts to include, in the order of the spec, among the repositories of the same namespace.
///
/// # Errors
/// A repository does not exist or has no artifact.
pub fn find_includes(
    repositories: &Store<GitRepository>,
    namespace: &str,
    spec: &GitRepositorySpec,
) -> Result<Vec<Artifact>, IncludeError> {
    let find = |name: &str| {
        let repository = repositories
            .get(&ObjectKey::new(namespace, name))
            .ok_or_else(|| IncludeError::NotFound {
                name: name.to_owned(),
            })?;
        let artifact = repository
            .status
            .as_ref()
            .and_then(|status| status.artifact.clone());
        artifact.ok_or_else(|| IncludeError::NoArtifact {
            name: name.to_owned(),
        })
    };
    spec.include
        .iter()
        .map(|include| find(&include.repository.name))
        .collect()
}

/// The API server's own words where there are some.
pub(super) fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
