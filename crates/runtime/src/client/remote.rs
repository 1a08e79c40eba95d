//! Clients of other clusters: from kubeconfigs in Secrets, and from ConfigMaps that name an identity.
//!
//! What a tenant writes into a kubeconfig must not reach the controller's own machine: of a kubeconfig only
//! addresses, inline certificates, keys and credentials count, as in Flux's `runtime/client`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use sha2::{Digest as _, Sha256};
use sluice_api::meta::{KubeConfigReference, SecretKeyReference};
use tokio::time::Instant;
use url::Url;

use super::kubeconfig::single_context;
use super::token::{TokenError, TokenSource, with_token};
use super::{Availability, ClientOptions, connect_with};
use crate::object::ObjectKey;
use crate::telemetry::Metrics;

/// How many clusters are kept connected.
const CLUSTERS: usize = 64;

/// What kubeconfigs may ask for.
#[derive(Clone, Debug, Default)]
pub struct RemotePolicy {
    /// Programs that give credentials may be run (`--insecure-kubeconfig-exec`).
    pub allow_exec: bool,
    /// Certificates may go unchecked (`--insecure-kubeconfig-tls`).
    pub allow_insecure_tls: bool,
    /// ConfigMaps may name service accounts (feature gate ObjectLevelWorkloadIdentity).
    pub allow_object_identities: bool,
    /// The service account where a ConfigMap names none (`--default-kubeconfig-service-account`).
    pub default_service_account: Option<String>,
}

/// Why there is no client for a remote cluster.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The Secret cannot be read.
    #[error("unable to read KubeConfig secret '{0}' error: {1}")]
    Secret(ObjectKey, String),
    /// The Secret holds no kubeconfig.
    #[error("KubeConfig secret '{0}' does not contain a '{1}' key with a kubeconfig")]
    Key(ObjectKey, String),
    /// The kubeconfig is none, or asks for what it may not.
    #[error("{0}")]
    Kubeconfig(String),
    /// The ConfigMap cannot be read.
    #[error("failed to get configmap {0}: {1}")]
    ConfigMap(ObjectKey, String),
    /// The ConfigMap names a provider that is not there.
    #[error("provider '{0}' not implemented")]
    Provider(String),
    /// The ConfigMap has no usable address.
    #[error("{0}")]
    Address(String),
    /// There is no token for the cluster.
    #[error("failed to get access token for cluster: {0}")]
    Token(#[from] TokenError),
}

/// The remote clusters of a process. Clusters that are used again keep their connections, and with them what
/// the caller attaches to each, such as what is known of its kinds.
pub struct RemoteClusters<T> {
    /// The controller's own client.
    client: Client,
    options: ClientOptions,
    metrics: Metrics,
    policy: RemotePolicy,
    attach: fn(Client) -> T,
    known: Mutex<HashMap<[u8; 32], Known<T>>>,
}

struct Known<T> {
    client: Client,
    attached: T,
    used: Instant,
}

impl<T> fmt::Debug for RemoteClusters<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteClusters")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl<T: Clone> RemoteClusters<T> {
    /// Clusters that are reached with the options of `client`, which reads the Secrets and ConfigMaps.
    pub fn new(
        client: Client,
        options: ClientOptions,
        metrics: Metrics,
        policy: RemotePolicy,
        attach: fn(Client) -> T,
    ) -> Self {
        // That another cluster is out of reach says nothing about the own one.
        let options = ClientOptions {
            availability: Availability::default(),
            ..options
        };
        Self {
            client,
            options,
            metrics,
            policy,
            attach,
            known: Mutex::default(),
        }
    }

    /// The cluster that an object of the namespace refers to: a client with the rights that the reference
    /// gives, and what belongs to the cluster.
    ///
    /// # Errors
    /// [`RemoteError`]. Whether the cluster answers is not tried.
    pub async fn open(
        &self,
        namespace: &str,
        reference: &KubeConfigReference,
    ) -> Result<(Client, T), RemoteError> {
        match (&reference.secret_ref, &reference.config_map_ref) {
            (Some(secret), _) => self.open_secret(namespace, secret).await,
            (None, Some(name)) => self.open_config_map(namespace, &name.name).await,
            (None, None) => Err(RemoteError::Kubeconfig(
                "invalid .spec.kubeConfig, neither .spec.kubeConfig.provider nor .spec.kubeConfig.secretRef is set"
                    .to_owned(),
            )),
        }
    }

    async fn open_secret(
        &self,
        namespace: &str,
        reference: &SecretKeyReference,
    ) -> Result<(Client, T), RemoteError> {
        let key = ObjectKey::new(namespace, reference.name.clone());
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api
            .get(&reference.name)
            .await
            .map_err(|error| RemoteError::Secret(key.clone(), text_of(error)))?;
        let data = secret.data.unwrap_or_default();
        let found = match &reference.key {
            Some(name) => data.get(name),
            None => data.get("value").or_else(|| data.get("value.yaml")),
        };
        let missing = || reference.key.clone().unwrap_or_else(|| "value".to_owned());
        let bytes = &found.ok_or_else(|| RemoteError::Key(key, missing()))?.0;
        let identity = Sha256::new()
            .chain_update("secret")
            .chain_update(bytes)
            .finalize();
        if let Some(known) = self.recall(identity.into()) {
            return Ok(known);
        }
        let invalid = |error: kube::config::KubeconfigError| RemoteError::Kubeconfig(error.to_string());
        let kubeconfig = Kubeconfig::from_yaml(&String::from_utf8_lossy(bytes)).map_err(invalid)?;
        let client = self.connect(sanitise(kubeconfig, &self.policy)?).await?;
        Ok(self.remember(identity.into(), client))
    }

    async fn open_config_map(&self, namespace: &str, name: &str) -> Result<(Client, T), RemoteError> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let found = api
            .get(name)
            .await
            .map_err(|error| RemoteError::ConfigMap(ObjectKey::new(namespace, name), text_of(error)))?;
        let data = found.data.unwrap_or_default();
        let text = |key: &str| data.get(key).cloned().unwrap_or_default();
        let provider = text("provider");
        if provider != "generic" {
            return Err(RemoteError::Provider(provider));
        }
        let given = text("address");
        let address = canonical_address(&given)?;
        let mut audiences: Vec<String> = text("audiences")
            .lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        if audiences.is_empty() {
            audiences.push(given);
        }
        let account = Some(text("serviceAccountName"))
            .filter(|account| !account.is_empty())
            .or_else(|| self.policy.default_service_account.clone());
        if account.is_some() && !self.policy.allow_object_identities {
            return Err(TokenError::GateClosed.into());
        }
        let identity = [
            "config map",
            namespace,
            account.as_deref().unwrap_or_default(),
            &address,
            &text("ca.crt"),
            &audiences.join("\n"),
        ]
        .iter()
        .fold(Sha256::new(), |digest, part| {
            digest
                .chain_update((part.len() as u64).to_be_bytes())
                .chain_update(part)
        })
        .finalize();
        if let Some(known) = self.recall(identity.into()) {
            return Ok(known);
        }
        let source = TokenSource::new(self.client.clone(), namespace, account, audiences);
        // Whatever is wrong with the identity is found out now and not at the first request.
        source.header().await?;
        let plain = self.connect(described(&address, &text("ca.crt"))).await?;
        let client = with_token(plain, Arc::new(source));
        Ok(self.remember(identity.into(), client))
    }

    async fn connect(&self, kubeconfig: Kubeconfig) -> Result<Client, RemoteError> {
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| RemoteError::Kubeconfig(error.to_string()))?;
        connect_with(&config, &self.options, &self.metrics)
            .map_err(|error| RemoteError::Kubeconfig(error.to_string()))
    }

    fn recall(&self, identity: [u8; 32]) -> Option<(Client, T)> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get_mut(&identity)?;
        found.used = Instant::now();
        Some((found.client.clone(), found.attached.clone()))
    }

    fn remember(&self, identity: [u8; 32], client: Client) -> (Client, T) {
        let attached = (self.attach)(client.clone());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CLUSTERS {
            let oldest = known.iter().min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(identity, _)| *identity) {
                known.remove(&oldest);
            }
        }
        let entry = Known {
            client: client.clone(),
            attached: attached.clone(),
            used: Instant::now(),
        };
        known.insert(identity, entry);
        (client, attached)
    }
}

fn text_of(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    }
}

/// The kubeconfig without what it may not ask for: no files, no programs, no identities but its own.
fn sanitise(mut kubeconfig: Kubeconfig, policy: &RemotePolicy) -> Result<Kubeconfig, RemoteError> {
    for named in &mut kubeconfig.clusters {
        if let Some(cluster) = &mut named.cluster {
            *cluster = Cluster {
                server: cluster.server.take(),
                certificate_authority_data: cluster.certificate_authority_data.take(),
                tls_server_name: cluster.tls_server_name.take(),
                proxy_url: cluster.proxy_url.take(),
                disable_compression: cluster.disable_compression,
                insecure_skip_tls_verify: cluster
                    .insecure_skip_tls_verify
                    .filter(|_| policy.allow_insecure_tls),
                ..Cluster::default()
            };
        }
    }
    let current = kubeconfig.current_context.clone().unwrap_or_default();
    let contexts = kubeconfig.contexts.iter();
    let user = contexts
        .filter(|context| context.name == current)
        .find_map(|context| context.context.as_ref()?.user.clone());
    for named in &mut kubeconfig.auth_infos {
        let Some(info) = &mut named.auth_info else {
            continue;
        };
        let kept = AuthInfo {
            username: info.username.take(),
            password: info.password.take(),
            token: info.token.take(),
            client_certificate_data: info.client_certificate_data.take(),
            client_key_data: info.client_key_data.take(),
            exec: info.exec.take_if(|_| policy.allow_exec),
            ..AuthInfo::default()
        };
        let has_credentials = kept.username.is_some()
            || kept.token.is_some()
            || kept.client_certificate_data.is_some()
            || kept.exec.is_some();
        if !has_credentials && Some(&named.name) == user.as_ref() {
            if info.exec.is_some() {
                return Err(RemoteError::Kubeconfig(format!(
                    "user '{}' of the kubeconfig gets its credentials from a program, which only runs with the flag \
                     --insecure-kubeconfig-exec",
                    named.name
                )));
            }
            if info.token_file.is_some() || info.client_certificate.is_some() {
                return Err(RemoteError::Kubeconfig(format!(
                    "user '{}' of the kubeconfig gets its credentials from files, which are not read: embed them with \
                     `kubectl config view --flatten`",
                    named.name
                )));
            }
        }
        *info = kept;
    }
    Ok(kubeconfig)
}

/// A kubeconfig of a cluster without credentials.
fn described(address: &str, certificates: &str) -> Kubeconfig {
    let cluster = Cluster {
        server: Some(address.to_owned()),
        certificate_authority_data: (!certificates.is_empty()).then(|| STANDARD.encode(certificates)),
        ..Cluster::default()
    };
    single_context("remote", cluster, AuthInfo::default())
}

/// `https://<lower case host>:<port>`, as Flux writes addresses.
fn canonical_address(address: &str) -> Result<String, RemoteError> {
    let failed = |problem: String| RemoteError::Address(problem);
    if address.is_empty() {
        return Err(failed(
            "cluster address is required to create a REST config".to_owned(),
        ));
    }
    let whole = if address.starts_with("http") {
        address.to_owned()
    } else {
        format!("https://{address}")
    };
    let context = format!("failed to parse cluster address {address}");
    let url = Url::parse(&whole).map_err(|error| {
        failed(format!(
            "{context}: failed to parse Kubernetes API server address '{whole}': {error}"
        ))
    })?;
    if url.scheme() != "https" {
        return Err(failed(format!(
            "{context}: the Kubernetes API server address '{whole}' must use https scheme"
        )));
    }
    let host = url.host_str().unwrap_or_default();
    Ok(format!("https://{host}:{}", url.port().unwrap_or(443)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KUS-059
    #[test]
    fn addresses_have_one_form() {
        for (given, expected) in [
            ("Example.com", "https://example.com:443"),
            ("https://EXAMPLE.com:6443/path", "https://example.com:6443"),
            ("https://[::1]:6443", "https://[::1]:6443"),
        ] {
            assert_eq!(canonical_address(given).unwrap(), expected);
        }
        assert_eq!(
            canonical_address("http://example.com").unwrap_err().to_string(),
            "failed to parse cluster address http://example.com: the Kubernetes API server address \
             'http://example.com' must use https scheme"
        );
        assert!(canonical_address("").is_err());
    }

    fn kubeconfig(user: &str) -> Kubeconfig {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- {{name: c, context: {{cluster: c, user: u}}}}\n\
             clusters:\n- name: c\n  cluster: {{server: 'https://x', insecure-skip-tls-verify: true, certificate-authority: /etc/passwd}}\n\
             users:\n- name: u\n  user: {user}\n"
        );
        Kubeconfig::from_yaml(&text).unwrap()
    }

    /// KUS-059: nothing of a kubeconfig reaches for the controller's machine.
    #[test]
    fn a_kubeconfig_loses_files_programs_and_identities() {
        let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true, interactiveMode: Never}";
        let both = format!("{exec}, token: t, tokenFile: /etc/passwd, as: admin}}");
        let strict = RemotePolicy::default();
        let kept = sanitise(kubeconfig(&both), &strict).unwrap();
        let (cluster, user) = (
            kept.clusters[0].cluster.clone().unwrap(),
            kept.auth_infos[0].auth_info.clone().unwrap(),
        );
        assert!(cluster.insecure_skip_tls_verify.is_none() && cluster.certificate_authority.is_none());
        assert!(user.exec.is_none() && user.token_file.is_none() && user.impersonate.is_none());
        assert!(user.token.is_some());
        let refused = |user: &str| sanitise(kubeconfig(user), &strict).unwrap_err().to_string();
        assert!(refused(&format!("{exec}}}")).contains("--insecure-kubeconfig-exec"));
        assert!(refused("{tokenFile: /etc/passwd}").contains("--flatten"));
        let loose = RemotePolicy {
            allow_exec: true,
            allow_insecure_tls: true,
            ..RemotePolicy::default()
        };
        let kept = sanitise(kubeconfig(&format!("{exec}}}")), &loose).unwrap();
        assert!(kept.auth_infos[0].auth_info.as_ref().unwrap().exec.is_some());
        let cluster = kept.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.insecure_skip_tls_verify, Some(true));
    }
}
