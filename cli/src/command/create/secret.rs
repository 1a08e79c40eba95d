//! `sluice create secret`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use sluice_git::RemoteUrl;

use super::Common;
use super::ssh::SshKey;
use crate::cluster::{Cluster, ClusterArguments};
use crate::command::apply::MANAGER;
use crate::command::export::document;
use crate::error::{CommandError, Result};
use crate::output::Console;
use crate::password::Password;

/// Arguments of `sluice create secret`.
#[derive(Debug, clap::Args)]
pub(super) struct CreateSecret {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Create or update a Secret with the credentials of a Git repository
    Git(Box<CreateGit>),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice create secret git fleet-auth --url=https://git.example.com/org/fleet --username=git --password=TOKEN\n  sluice create secret git fleet-auth --url=https://git.example.com/org/fleet --bearer-token=TOKEN --ca-crt-file=ca.crt --export\n  sluice create secret git fleet-auth --url=ssh://git@git.example.com/org/fleet --ssh-key-algorithm=ed25519\n  sluice create secret git fleet-auth --url=ssh://git@git.example.com/org/fleet --private-key-file=id_ecdsa --password=PASSPHRASE"
)]
struct CreateGit {
    #[command(flatten)]
    common: Common,
    /// Address of the repository
    #[arg(long)]
    url: String,
    /// User name
    #[arg(long, short = 'u')]
    username: Option<String>,
    /// Password or token; for SSH the passphrase of the private key
    #[arg(long, short = 'p', env = "GIT_PASSWORD", hide_env_values = true)]
    password: Option<Password>,
    /// Token that is sent as it is, instead of user name and password
    #[arg(long)]
    bearer_token: Option<Password>,
    /// File with the certificate authority of the Git server
    #[arg(long, value_name = "FILE")]
    ca_crt_file: Option<PathBuf>,
    #[command(flatten)]
    ssh: SshKey,
}

impl CreateSecret {
    pub(super) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        let What::Git(git) = &self.what;
        git.run(arguments, console).await
    }
}

impl CreateGit {
    async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        self.common.check()?;
        let url = git_url(&self.url)?;
        let fields = self.fields(&url, console).await?;
        let (name, namespace) = (&self.common.name, arguments.namespace()?);
        if self.common.export {
            let mut manifest = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": namespace},
                "stringData": fields.iter().map(|(key, value)| (*key, value.expose())).collect::<BTreeMap<_, _>>(),
            });
            if !self.common.labels.is_empty() {
                manifest["metadata"]["labels"] = json!(self.common.labels());
            }
            console.result(&document(&manifest)?);
            return Ok(());
        }
        let cluster = Cluster::connect(arguments).await?;
        store(&cluster, name, &fields, &self.common.labels).await?;
        console.action(&format!("git secret '{name}' created in '{namespace}' namespace"));
        Ok(())
    }
}

impl CreateGit {
    async fn fields(&self, url: &RemoteUrl, console: &Console) -> Result<Fields> {
        if url.scheme() == "ssh" {
            let identity = self.ssh.identity(url, self.password.as_ref()).await?;
            if !self.common.export {
                console.generated(&format!("deploy key: {}", identity.public_key()));
            }
            return identity.fields();
        }
        let credentials = GitCredentials {
            username: self.username.as_deref(),
            password: self.password.as_ref(),
            bearer_token: self.bearer_token.as_ref(),
            certificate_authority: self.ca_crt_file.as_deref(),
        };
        credentials.require()?;
        credentials.fields()
    }
}

/// What a Git server wants to be told over HTTP.
pub(super) struct GitCredentials<'flags> {
    pub(super) username: Option<&'flags str>,
    pub(super) password: Option<&'flags Password>,
    pub(super) bearer_token: Option<&'flags Password>,
    pub(super) certificate_authority: Option<&'flags Path>,
}

/// The fields of a Secret.
pub(super) type Fields = BTreeMap<&'static str, Password>;

impl GitCredentials<'_> {
    /// Whether there are user name and password.
    pub(super) fn has_password(&self) -> bool {
        self.username.is_some() && self.password.is_some()
    }

    /// Checks that there are credentials, and of one sort.
    fn require(&self) -> Result<()> {
        match (self.has_password(), self.bearer_token.is_some()) {
            (true, true) => Err(CommandError::new(
                "user credentials and bearer token cannot be used together",
            )),
            (false, false) => Err(CommandError::new(
                "for Git over HTTP/S the username and password, or a bearer token is required",
            )
            .with_hint("add --username and --password, or --bearer-token")),
            _ => Ok(()),
        }
    }

    /// The fields as source-controller reads them.
    ///
    /// # Errors
    /// A file that can't be read.
    pub(super) fn fields(&self) -> Result<Fields> {
        let mut fields = Fields::new();
        if let (Some(username), Some(password)) = (self.username, self.password) {
            fields.insert("username", Password::new(username));
            fields.insert("password", password.clone());
        }
        if let Some(token) = self.bearer_token {
            fields.insert("bearerToken", token.clone());
        }
        if let Some(file) = self.certificate_authority {
            let text = std::fs::read_to_string(file).map_err(|error| {
                CommandError::new(format!("unable to read TLS CA file {}: {error}", file.display()))
            })?;
            fields.insert("ca.crt", Password::new(&text));
        }
        Ok(fields)
    }
}

/// Parses the address of a repository.
///
/// # Errors
/// What no controller could fetch from.
pub(super) fn git_url(text: &str) -> Result<RemoteUrl> {
    RemoteUrl::parse(text).map_err(|error| match error {
        sluice_git::UrlError::Scheme(scheme) => CommandError::new(format!(
            "git URL scheme '{scheme}' not supported, can be: ssh, http and https"
        )),
        other => CommandError::new(format!("git URL parse failed: {other}"))
            .with_hint("for example: --url=https://git.example.com/org/fleet"),
    })
}

/// Creates a Secret, or sets the fields and labels of the one that is there; its other fields stay.
///
/// # Errors
/// The API server refuses.
pub(super) async fn store(
    cluster: &Cluster,
    name: &str,
    fields: &Fields,
    labels: &[(String, String)],
) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let texts: BTreeMap<&str, &str> = fields.iter().map(|(key, value)| (*key, value.expose())).collect();
    let mut manifest = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": texts,
    });
    if !labels.is_empty() {
        let labels: BTreeMap<&String, &String> = labels.iter().map(|(key, value)| (key, value)).collect();
        manifest["metadata"]["labels"] = json!(labels);
    }
    if secrets.get_metadata_opt(name).await?.is_some() {
        let parameters = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        secrets
            .patch(name, &parameters, &Patch::<Value>::Merge(manifest))
            .await?;
        return Ok(());
    }
    let secret: Secret =
        serde_json::from_value(manifest).map_err(|error| CommandError::new(error.to_string()))?;
    let parameters = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    secrets.create(&parameters, &secret).await?;
    Ok(())
}
