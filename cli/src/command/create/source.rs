//! `sluice create source`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};
use sluice_git::RemoteUrl;

use super::secret::{Fields, GitCredentials, store};
use super::ssh::SshKey;
use super::{Common, Interval, await_ready, duration, print, set, upsert};
use crate::cluster::{Cluster, ClusterArguments, parse_duration};
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::{Console, confirm};
use crate::password::Password;

/// Arguments of `sluice create source`.
#[derive(Debug, clap::Args)]
pub(super) struct CreateSource {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Create or update a GitRepository
    Git(Box<CreateGit>),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice create source git fleet --url=https://git.example.com/org/fleet --branch=main\n  sluice create source git app --url=https://git.example.com/org/app --tag-semver='>=1.0.0 <2.0.0' --interval=10m\n  sluice create source git fleet --url=https://git.example.com/org/fleet --branch=main --username=git --password=TOKEN\n  sluice create source git fleet --url=ssh://git@git.example.com/org/fleet --branch=main --ssh-key-algorithm=ed25519"
)]
struct CreateGit {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    interval: Interval,
    /// Address of the repository
    #[arg(long)]
    url: String,
    /// Branch to follow
    #[arg(long)]
    branch: Option<String>,
    /// Tag to check out
    #[arg(long)]
    tag: Option<String>,
    /// Range of versions, of which the highest tag is checked out
    #[arg(long, value_name = "RANGE")]
    tag_semver: Option<String>,
    /// Reference to check out, for example refs/pull/1/head
    #[arg(long, value_name = "REFERENCE")]
    ref_name: Option<String>,
    /// Commit to check out
    #[arg(long)]
    commit: Option<String>,
    /// User name
    #[arg(long, short = 'u')]
    username: Option<String>,
    /// Password or token; for SSH the passphrase of the private key
    #[arg(long, short = 'p', env = "GIT_PASSWORD", hide_env_values = true)]
    password: Option<Password>,
    /// Secret with the credentials, which is there already
    #[arg(long, value_name = "SECRET")]
    secret_ref: Option<String>,
    /// Secret with address and credentials of a proxy
    #[arg(long, value_name = "SECRET")]
    proxy_secret_ref: Option<String>,
    /// Who the credentials come from
    #[arg(long, value_parser = ["generic", "aws", "azure", "github"])]
    provider: Option<String>,
    /// File with the certificate authority of the Git server
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Fetch submodules as well
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    recurse_submodules: bool,
    /// Leave out files that these patterns match, as .gitignore has them
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    ignore_paths: Vec<String>,
    /// Fetch only these directories
    #[arg(long, value_delimiter = ',', value_name = "DIRECTORY")]
    sparse_checkout_paths: Vec<String>,
    /// How long a fetch may take
    #[arg(long, value_parser = parse_duration)]
    fetch_timeout: Option<Duration>,
    #[command(flatten)]
    ssh: SshKey,
    /// Don't ask whether the deploy key has been added to the repository
    #[arg(long, short = 's')]
    silent: bool,
}

impl CreateSource {
    pub(super) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        let What::Git(git) = &self.what;
        git.run(arguments, console).await
    }
}

/// What messages call the object.
const NOUN: &str = "GitRepository source";

impl CreateGit {
    async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        self.common.check()?;
        let Some(kind) = Kind::by_name("GitRepository") else {
            return Ok(());
        };
        let url = super::secret::git_url(&self.url)?;
        let mut manifest = self
            .common
            .manifest(kind, &arguments.namespace()?, &self.spec(&url)?);
        if self.common.export {
            return print(&manifest, console);
        }
        let cluster = Cluster::connect(arguments).await?;
        console.generated(&format!("generating {NOUN}"));
        if self.secret_ref.is_none()
            && let Some(name) = self.store_credentials(&cluster, &url, console).await?
        {
            manifest["spec"]["secretRef"] = json!({"name": name});
        }
        console.action(&format!("applying {NOUN}"));
        upsert(&cluster, kind, &manifest, NOUN, console).await?;
        let ready = await_ready(&cluster, kind, &self.common.name, NOUN, console).await?;
        console.success(&format!("{NOUN} reconciliation completed"));
        let revision = kind.revision(&ready);
        if revision.is_empty() {
            return Err(CommandError::new(format!(
                "{NOUN} reconciliation completed but no artifact was found"
            )));
        }
        console.success(&format!("fetched revision: {revision}"));
        Ok(())
    }

    fn spec(&self, url: &RemoteUrl) -> Result<Value> {
        if self.ca_file.is_some() && url.scheme() == "ssh" {
            return Err(
                CommandError::new("specifying a CA file is not supported for Git over SSH")
                    .with_hint("leave --ca-file out"),
            );
        }
        let mut spec = json!({
            "url": self.url,
            "interval": duration(self.interval.interval),
            "ref": self.reference()?,
        });
        if self.recurse_submodules {
            spec["recurseSubmodules"] = true.into();
        }
        if !self.ignore_paths.is_empty() {
            spec["ignore"] = self.ignore_paths.join("\n").into();
        }
        if !self.sparse_checkout_paths.is_empty() {
            spec["sparseCheckout"] = json!(self.sparse_checkout_paths);
        }
        let named = |name: &Option<String>| name.as_ref().map(|name| json!({"name": name}));
        set(&mut spec, "timeout", self.fetch_timeout.map(duration));
        set(&mut spec, "secretRef", named(&self.secret_ref));
        set(&mut spec, "proxySecretRef", named(&self.proxy_secret_ref));
        set(&mut spec, "provider", self.provider.clone());
        Ok(spec)
    }

    /// What to check out, of several the most exact.
    fn reference(&self) -> Result<Value> {
        Ok(match self {
            Self {
                commit: Some(commit), ..
            } => {
                let mut reference = json!({"commit": commit});
                set(&mut reference, "branch", self.branch.clone());
                reference
            }
            Self {
                ref_name: Some(name), ..
            } => json!({"name": name}),
            Self {
                tag_semver: Some(range),
                ..
            } => json!({"semver": range}),
            Self { tag: Some(tag), .. } => json!({"tag": tag}),
            Self {
                branch: Some(branch), ..
            } => json!({"branch": branch}),
            _ => {
                return Err(CommandError::new(
                    "a Git ref is required, use one of the following: --branch, --tag, --commit, --ref-name or \
                     --tag-semver",
                ));
            }
        })
    }

    /// Stores credentials in a Secret of the same name, if there are any.
    async fn store_credentials(
        &self,
        cluster: &Cluster,
        url: &RemoteUrl,
        console: &Console,
    ) -> Result<Option<String>> {
        if url.scheme() == "ssh" {
            let fields = self.ssh_fields(url, console).await?;
            return self.store_fields(cluster, &fields, console).await.map(Some);
        }
        let credentials = GitCredentials {
            username: self.username.as_deref(),
            password: self.password.as_ref(),
            bearer_token: None,
            certificate_authority: self.ca_file.as_deref(),
        };
        if url.scheme() == "http" && credentials.has_password() {
            console.warning("insecure configuration: credentials configured for an HTTP URL");
        }
        let fields = credentials.fields()?;
        if fields.is_empty() {
            return Ok(None);
        }
        self.store_fields(cluster, &fields, console).await.map(Some)
    }

    /// Takes or makes a key, shows what the repository must let in, and asks whether it does.
    async fn ssh_fields(&self, url: &RemoteUrl, console: &Console) -> Result<Fields> {
        let identity = self.ssh.identity(url, self.password.as_ref()).await?;
        console.success(&format!(
            "collected public key from SSH server:\n{}",
            identity.known_hosts
        ));
        console.generated(&format!("deploy key: {}", identity.public_key()));
        if !self.silent {
            confirm(
                "Have you added the deploy key to your repository",
                "add the key that is shown to the repository, and give --silent; with --private-key-file the key is known beforehand",
            )?;
        }
        identity.fields()
    }

    /// Stores a Secret of the object's name.
    async fn store_fields(&self, cluster: &Cluster, fields: &Fields, console: &Console) -> Result<String> {
        console.action("applying secret with repository credentials");
        store(cluster, &self.common.name, fields, &[]).await?;
        console.success("authentication configured");
        Ok(self.common.name.clone())
    }
}
