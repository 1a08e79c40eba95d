//! The connection to a cluster, as kubectl's flags describe it.

use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::DynamicObject;
use kube::{Api, Client, Config};

use crate::error::{CommandError, Result};
use crate::kind::Kind;

/// How to reach the cluster and who to be there.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClusterArguments {
    /// Path of the kubeconfig file
    #[arg(
        long,
        global = true,
        env = "KUBECONFIG",
        value_name = "FILE",
        help_heading = "Cluster"
    )]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The kubeconfig context to use
    #[arg(long, global = true, value_name = "NAME", help_heading = "Cluster")]
    pub(crate) context: Option<String>,
    /// The kubeconfig cluster to use
    #[arg(long, global = true, value_name = "NAME", help_heading = "Cluster")]
    pub(crate) cluster: Option<String>,
    /// The kubeconfig user to use
    #[arg(long, global = true, value_name = "NAME", help_heading = "Cluster")]
    pub(crate) user: Option<String>,
    /// Address of the API server, instead of the kubeconfig's
    #[arg(long, global = true, value_name = "URL", help_heading = "Cluster")]
    pub(crate) server: Option<String>,
    /// Act as this user
    #[arg(long = "as", global = true, value_name = "USER", help_heading = "Cluster")]
    pub(crate) impersonate: Option<String>,
    /// Act with this group as well
    #[arg(
        long = "as-group",
        global = true,
        value_name = "GROUP",
        help_heading = "Cluster"
    )]
    pub(crate) impersonate_groups: Vec<String>,
    /// Namespace of the objects
    #[arg(
        long,
        short = 'n',
        global = true,
        env = "FLUX_SYSTEM_NAMESPACE",
        default_value = "flux-system"
    )]
    pub(crate) namespace: String,
    /// How long to wait for anything, for example 90s or 5m
    #[arg(long, global = true, default_value = "5m", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

/// Reads a duration as Go writes it: `300ms`, `1m30s`, `2h`.
///
/// # Errors
/// A text that is no such duration.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no duration: write 30s, 5m or 1h30m");
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .ok_or_else(wrong)?;
        let value: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit_end = rest[digits..]
            .find(|character: char| character.is_ascii_digit())
            .map_or(rest.len(), |length| digits + length);
        seconds += value
            * match &rest[digits..unit_end] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return Err(wrong()),
            };
        rest = &rest[unit_end..];
    }
    if text.is_empty() {
        Err(wrong())
    } else {
        Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
    }
}

/// A connected cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// The client, with the identity that was asked for.
    pub(crate) client: Client,
    /// The namespace that commands work in.
    pub(crate) namespace: String,
    /// The bound of everything that waits.
    pub(crate) timeout: Duration,
}

impl Cluster {
    /// Connects as the arguments say; no request is made yet.
    ///
    /// # Errors
    /// No usable kubeconfig.
    pub(crate) async fn connect(arguments: &ClusterArguments) -> Result<Self> {
        let mut config = configuration(arguments).await?;
        if let Some(server) = &arguments.server {
            config.cluster_url = server
                .parse()
                .map_err(|_| CommandError::new(format!("--server '{server}' is no URL")))?;
        }
        config.auth_info.impersonate.clone_from(&arguments.impersonate);
        if !arguments.impersonate_groups.is_empty() {
            config.auth_info.impersonate_groups = Some(arguments.impersonate_groups.clone());
        }
        let client = Client::try_from(config)?;
        Ok(Self {
            client,
            namespace: arguments.namespace.clone(),
            timeout: arguments.timeout,
        })
    }

    /// The objects of `kind` in the command's namespace.
    pub(crate) fn objects(&self, kind: &Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &kind.resource())
    }

    /// The objects of `kind` in all namespaces.
    pub(crate) fn objects_everywhere(&self, kind: &Kind) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind.resource())
    }
}

async fn configuration(arguments: &ClusterArguments) -> Result<Config> {
    let hint = "name one with --kubeconfig or KUBECONFIG";
    let options = KubeConfigOptions {
        context: arguments.context.clone(),
        cluster: arguments.cluster.clone(),
        user: arguments.user.clone(),
    };
    let read = match &arguments.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    match read {
        Ok(kubeconfig) => Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| {
                CommandError::new(format!("the kubeconfig can't be used: {error}")).with_hint(hint)
            }),
        Err(error) if arguments.kubeconfig.is_none() => Config::incluster()
            .map_err(|_| CommandError::new(format!("no kubeconfig: {error}")).with_hint(hint)),
        Err(error) => {
            Err(CommandError::new(format!("the kubeconfig can't be read: {error}")).with_hint(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        assert_eq!(parse_duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "5", "m", "1x", "-1s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
