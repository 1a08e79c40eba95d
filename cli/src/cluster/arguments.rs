//! The flags that say which cluster, as kubectl has them.

use clap_complete::ArgValueCompleter;
use std::path::PathBuf;
use std::time::Duration;

use kube::Config;
use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig};
use sluice_runtime::client::single_context;

use crate::cluster::parse_duration;
use crate::completion;
use crate::error::{CommandError, Result, describe};

/// The namespace of the toolkit where nothing names another.
const DEFAULT_NAMESPACE: &str = "flux-system";

/// Names the namespace of the toolkit.
const NAMESPACE_VARIABLE: &str = "FLUX_SYSTEM_NAMESPACE";

/// The name of the entries that flags fill where there is no kubeconfig.
const FLAGS: &str = "flags";

/// How to reach the cluster and who to be there.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArguments {
    /// Path of the kubeconfig file, instead of those that KUBECONFIG lists
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig context to use
    #[arg(long, global = true, value_name = "NAME", add = ArgValueCompleter::new(completion::contexts))]
    context: Option<String>,
    /// The kubeconfig cluster to use
    #[arg(long, global = true, value_name = "NAME")]
    cluster: Option<String>,
    /// The kubeconfig user to use
    #[arg(long, global = true, value_name = "NAME")]
    user: Option<String>,
    /// Address of the API server, instead of the kubeconfig's
    #[arg(long, global = true, value_name = "URL")]
    server: Option<String>,
    /// The name that the API server's certificate must bear, instead of its address
    #[arg(long, global = true, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// File with the certificate authorities of the API server
    #[arg(long, global = true, value_name = "FILE")]
    certificate_authority: Option<String>,
    /// Do not check the API server's certificate: the connection is not safe
    #[arg(long, global = true)]
    insecure_skip_tls_verify: bool,
    /// File with the client certificate to log in with
    #[arg(long, global = true, value_name = "FILE")]
    client_certificate: Option<String>,
    /// File with the key of the client certificate
    #[arg(long, global = true, value_name = "FILE")]
    client_key: Option<String>,
    /// Bearer token to log in with
    #[arg(long, global = true)]
    token: Option<String>,
    /// Act as this user
    #[arg(long = "as", global = true, value_name = "USER")]
    impersonate: Option<String>,
    /// Act with this group as well
    #[arg(long = "as-group", global = true, value_name = "GROUP")]
    impersonate_groups: Vec<String>,
    /// Act with this user's unique identifier as well
    #[arg(long = "as-uid", global = true, value_name = "UID")]
    impersonate_uid: Option<String>,
    /// Namespace of the objects [default: flux-system, or FLUX_SYSTEM_NAMESPACE]
    #[arg(long, short = 'n', global = true, add = ArgValueCompleter::new(completion::namespaces))]
    namespace: Option<String>,
    /// Without --namespace, work in the kubeconfig context's namespace
    #[arg(long, global = true, env = "FLUX_NS_FOLLOWS_KUBE_CONTEXT", hide_env = true)]
    ns_follows_kube_context: bool,
    /// How long to wait for anything, for example 90s or 5m
    #[arg(long, global = true, default_value = "5m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Accepted for scripts written for flux: requests are few and not throttled
    #[arg(long, global = true, hide = true)]
    kube_api_qps: Option<f32>,
    /// Accepted for scripts written for flux: requests are few and not throttled
    #[arg(long, global = true, hide = true)]
    kube_api_burst: Option<u32>,
}

impl ClusterArguments {
    /// The namespace to work in: the flag's, or the context's if that is wished, or the environment's.
    ///
    /// # Errors
    /// A name that no namespace can have.
    pub(crate) fn namespace(&self) -> Result<String> {
        let namespace = self
            .namespace
            .clone()
            .or_else(|| self.context_namespace())
            .or_else(|| {
                std::env::var(NAMESPACE_VARIABLE)
                    .ok()
                    .filter(|name| is_label(name))
            })
            .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        if is_label(&namespace) {
            return Ok(namespace);
        }
        Err(
            CommandError::new(format!("namespace must be a valid DNS label: \"{namespace}\""))
                .with_hint("at most 63 lower case letters, digits and dashes, no dash at the ends"),
        )
    }

    /// The namespace of a release, as `helm` chooses it: the flag's, HELM_NAMESPACE, the context's, `default`.
    ///
    /// # Errors
    /// A name that no namespace can have.
    pub(crate) fn release_namespace(&self) -> Result<String> {
        let named = self.namespace.clone().filter(|name| !name.is_empty());
        let namespace = named
            .or_else(|| {
                std::env::var("HELM_NAMESPACE")
                    .ok()
                    .filter(|name| !name.is_empty())
            })
            .or_else(|| self.current_namespace())
            .unwrap_or_else(|| "default".to_owned());
        if is_label(&namespace) {
            return Ok(namespace);
        }
        Err(CommandError::new(format!(
            "namespace must be a valid DNS label: \"{namespace}\""
        )))
    }

    /// The names of the kubeconfig's contexts; none where it can't be read.
    pub(crate) fn contexts(&self) -> Vec<String> {
        let kubeconfig = self.read().unwrap_or_default();
        kubeconfig.contexts.into_iter().map(|named| named.name).collect()
    }

    fn context_namespace(&self) -> Option<String> {
        if !self.ns_follows_kube_context {
            return None;
        }
        self.current_namespace()
    }

    /// The namespace of the kubeconfig's context.
    fn current_namespace(&self) -> Option<String> {
        let kubeconfig = self.read().ok()?;
        let current = self.context.as_ref().or(kubeconfig.current_context.as_ref())?;
        let named = kubeconfig.contexts.iter().find(|named| named.name == *current)?;
        named
            .context
            .as_ref()?
            .namespace
            .clone()
            .filter(|name| !name.is_empty())
    }

    /// The client's configuration: the kubeconfig, or what a pod finds in itself, or flags alone; and flags above
    /// either.
    ///
    /// # Errors
    /// No usable kubeconfig.
    pub(crate) async fn configuration(&self) -> Result<Config> {
        let hint = "name one with --kubeconfig or KUBECONFIG, or a context that it has with --context";
        let mut kubeconfig = match self.read() {
            Ok(kubeconfig) if !kubeconfig.contexts.is_empty() || self.server.is_none() => kubeconfig,
            Ok(_) => single_context(FLAGS, Cluster::default(), AuthInfo::default()),
            Err(_) if self.kubeconfig.is_none() && self.server.is_some() => {
                single_context(FLAGS, Cluster::default(), AuthInfo::default())
            }
            Err(error) if self.kubeconfig.is_none() => {
                return Config::incluster().map_err(|_| {
                    CommandError::new(format!("no kubeconfig: {}", describe(&error))).with_hint(hint)
                });
            }
            Err(error) => {
                let text = format!("the kubeconfig can't be read: {}", describe(&error));
                return Err(CommandError::new(text).with_hint(hint));
            }
        };
        self.override_clusters(&mut kubeconfig)?;
        self.override_users(&mut kubeconfig);
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
        };
        Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| {
                let text = format!("the kubeconfig can't be used: {}", describe(&error));
                CommandError::new(text).with_hint(hint)
            })
    }

    fn read(&self) -> std::result::Result<Kubeconfig, kube::config::KubeconfigError> {
        match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        }
    }

    /// Every entry is changed: only one of them will be used.
    fn override_clusters(&self, kubeconfig: &mut Kubeconfig) -> Result<()> {
        if let Some(server) = &self.server {
            server.parse::<http::Uri>().map_err(|error| {
                CommandError::new(format!("--server '{server}' is no URL: {error}"))
                    .with_hint("for example: --server https://cluster.example.com:6443")
            })?;
        }
        for cluster in kubeconfig
            .clusters
            .iter_mut()
            .filter_map(|named| named.cluster.as_mut())
        {
            if let Some(server) = &self.server {
                cluster.server = Some(server.clone());
            }
            if let Some(name) = &self.tls_server_name {
                cluster.tls_server_name = Some(name.clone());
            }
            if let Some(file) = &self.certificate_authority {
                cluster.certificate_authority = Some(file.clone());
                cluster.certificate_authority_data = None;
            }
            if self.insecure_skip_tls_verify {
                cluster.insecure_skip_tls_verify = Some(true);
                cluster.certificate_authority = None;
                cluster.certificate_authority_data = None;
            }
        }
        Ok(())
    }

    fn override_users(&self, kubeconfig: &mut Kubeconfig) {
        let credentials = self.token.is_some() || self.client_certificate.is_some();
        for user in kubeconfig
            .auth_infos
            .iter_mut()
            .filter_map(|named| named.auth_info.as_mut())
        {
            if credentials {
                *user = AuthInfo {
                    token: self.token.clone().map(Into::into),
                    client_certificate: self.client_certificate.clone(),
                    client_key: self.client_key.clone(),
                    impersonate: user.impersonate.take(),
                    impersonate_groups: user.impersonate_groups.take(),
                    ..AuthInfo::default()
                };
            }
            if self.impersonate.is_some() {
                user.impersonate.clone_from(&self.impersonate);
            }
            if !self.impersonate_groups.is_empty() {
                user.impersonate_groups = Some(self.impersonate_groups.clone());
            }
            if self.impersonate_uid.is_some() {
                user.impersonate_uid.clone_from(&self.impersonate_uid);
            }
        }
    }
}

/// Whether `name` is a DNS label, as the names of namespaces are.
pub(crate) fn is_label(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        cluster: ClusterArguments,
    }

    fn arguments(flags: &[&str]) -> ClusterArguments {
        Line::parse_from(std::iter::once(&"sluice").chain(flags)).cluster
    }

    #[test]
    fn namespaces_are_dns_labels() {
        assert_eq!(arguments(&["-n", "apps"]).namespace().unwrap(), "apps");
        let long = "a".repeat(64);
        for wrong in ["", "Apps", "a_b", "-a", "a-", "a.b", &long] {
            assert!(
                arguments(&[&format!("--namespace={wrong}")]).namespace().is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn flags_stand_above_the_kubeconfig() {
        let mut kubeconfig = Kubeconfig::from_yaml(
            "clusters: [{name: c, cluster: {server: 'https://old', certificate-authority-data: AA==}}]\n\
             users: [{name: u, user: {username: somebody, as: deployer}}]",
        )
        .unwrap();
        let given = arguments(&[
            "--server=https://new",
            "--insecure-skip-tls-verify",
            "--token=secret",
            "--as-group=admins",
        ]);
        given.override_clusters(&mut kubeconfig).unwrap();
        given.override_users(&mut kubeconfig);
        let cluster = kubeconfig.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://new"));
        assert_eq!(cluster.certificate_authority_data, None);
        let user = kubeconfig.auth_infos[0].auth_info.as_ref().unwrap();
        assert!(user.token.is_some() && user.username.is_none());
        assert_eq!(user.impersonate.as_deref(), Some("deployer"));
        assert_eq!(user.impersonate_groups, Some(vec!["admins".to_owned()]));
        assert!(
            arguments(&["--server=not a url"])
                .override_clusters(&mut kubeconfig)
                .is_err()
        );
    }
}
