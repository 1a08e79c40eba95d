//! `sluice bootstrap`: the toolkit installs itself from a repository and manages itself from there.

mod repository;
mod ssh;

use std::io::IsTerminal as _;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use sluice_auth::SecretBytes;

use crate::cluster::{Cluster, ClusterArguments, parse_duration};
use crate::command::apply::{MANAGER, apply, wait_for_deployments};
use crate::command::create::SshKey;
use crate::command::wait::{Verdict, wait_for};
use crate::error::{CommandError, Result};
use crate::kind::{Kind, condition, readiness};
use crate::manifests::components::ComponentArguments;
use crate::manifests::sync::{Sync, kustomization_file};
use crate::manifests::{COMPONENTS_FILE, DIRECTORY, KUSTOMIZATION_FILE, SYNC_FILE};
use crate::output::{Console, confirm};
pub(crate) use repository::blocking;
use repository::{Credentials, Repository};
use ssh::{SshAccess, SshAccessKey};

/// Arguments of `sluice bootstrap`.
#[derive(Debug, clap::Args)]
pub(crate) struct Bootstrap {
    #[command(subcommand)]
    provider: Provider,
}

#[derive(Debug, clap::Subcommand)]
enum Provider {
    /// From any Git repository
    Git(Box<Git>),
}

/// Arguments of `sluice bootstrap git`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice bootstrap git --url=https://git.example.com/org/fleet --path=clusters/staging --username=git --password=TOKEN\n  sluice bootstrap git --url=ssh://git@git.example.com/org/fleet --path=clusters/staging --private-key-file=id_ecdsa"
)]
struct Git {
    /// Address of the repository
    #[arg(long)]
    url: String,
    /// Directory of this cluster in the repository
    #[arg(long, default_value = "")]
    path: String,
    /// Branch that the cluster follows
    #[arg(long, default_value = "main")]
    branch: String,
    /// User name
    #[arg(long, short = 'u', default_value = "git")]
    username: String,
    /// Password or token; over ssh the passphrase of the private key
    #[arg(long, short = 'p', env = "GIT_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Send the password as a bearer token
    #[arg(long)]
    with_bearer_token: bool,
    /// File with the certificate authority of the Git server
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    ssh: SshKey,
    /// Host (and port) by which the cluster reaches the Git server over ssh, if not that of the URL
    #[arg(long, value_name = "HOST")]
    ssh_hostname: Option<String>,
    /// Host key algorithms to offer to the Git server over ssh, most preferred first
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    ssh_hostkey_algos: Vec<String>,
    /// Allow credentials over plain http
    #[arg(long)]
    allow_insecure_http: bool,
    /// How often the cluster looks at the repository
    #[arg(long, default_value = "1m", value_parser = go_duration)]
    interval: String,
    /// Secret that holds the credentials
    #[arg(long, default_value = "flux-system")]
    secret_name: String,
    /// Author of the commits
    #[arg(long, default_value = "Flux")]
    author_name: String,
    /// Address of the author
    #[arg(long, default_value = "")]
    author_email: String,
    /// Text added to the commit messages, for example [ci skip]
    #[arg(long, default_value = "")]
    commit_message_appendix: String,
    /// Don't ask
    #[arg(long, short = 's')]
    silent: bool,
    #[command(flatten)]
    components: ComponentArguments,
}

/// Checks a duration and writes it as Go does, which is how it stands in the manifests.
fn go_duration(text: &str) -> Result<String, String> {
    let seconds = parse_duration(text)?.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    Ok(match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    })
}

impl Bootstrap {
    /// Runs the provider's bootstrap.
    ///
    /// # Errors
    /// Whatever stops it, with the next step; it can be run again and goes on where it was.
    pub(crate) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        let Provider::Git(git) = &self.provider;
        git.run(&Cluster::connect(arguments).await?, console).await
    }
}

impl Git {
    async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let repository = self.repository(cluster, console).await?;
        let sync = self.sync(cluster, &repository)?;
        self.refuse_other_path(cluster, &sync).await?;
        let directory = repository::join(&self.path, DIRECTORY);

        let manifest = self.components.manifest(&cluster.namespace)?;
        console.generated("generating component manifests");
        let message = self.message(&format!(
            "Add Flux {} component manifests",
            self.components.version
        ));
        let components = [(format!("{directory}/{COMPONENTS_FILE}"), manifest)];
        repository.commit(&components, &message, console).await?;

        console.action(&format!(
            "installing components in {} namespace",
            cluster.namespace
        ));
        let objects = repository.objects(&directory, COMPONENTS_FILE).await?;
        apply(cluster, objects.clone(), console).await?;
        wait_for_deployments(cluster, &objects, console).await?;
        console.success("installed components");

        self.store_credentials(cluster, &repository.credentials, console)
            .await?;

        console.generated("generating sync manifests");
        let mut files = vec![(format!("{directory}/{SYNC_FILE}"), sync.manifest()?)];
        let kustomization = format!("{directory}/{KUSTOMIZATION_FILE}");
        // A kustomization that stands there may carry the owner's patches.
        if !repository.exists(&kustomization).await? {
            files.push((kustomization, kustomization_file()));
        }
        let head = repository
            .commit(&files, &self.message("Add Flux sync manifests"), console)
            .await?;

        console.action("applying sync manifests");
        apply(
            cluster,
            vec![sync.git_repository(), sync.kustomization()],
            console,
        )
        .await?;
        self.wait_for_sync(cluster, &sync, &format!("{}@sha1:{head}", self.branch), console)
            .await?;
        wait_for_deployments(cluster, &objects, console).await?;
        console.success("all components are healthy");
        Ok(())
    }

    async fn repository(&self, cluster: &Cluster, console: &Console) -> Result<Repository> {
        let read_authority = |path: &PathBuf| {
            std::fs::read(path)
                .map_err(|error| CommandError::new(format!("--ca-file {}: {error}", path.display())))
        };
        let certificate_authority = self.ca_file.as_ref().map(read_authority).transpose()?;
        let credentials = Credentials {
            username: self.username.clone(),
            password: self.password.clone(),
            bearer: self.with_bearer_token,
            certificate_authority,
            ssh: self.ssh_access(cluster, console).await?,
        };
        if self.url.starts_with("http://") && self.password.is_some() && !self.allow_insecure_http {
            return Err(
                CommandError::new("the password would travel in clear text over http")
                    .with_hint("use https, or add --allow-insecure-http"),
            );
        }
        let author = sluice_git::Person {
            name: self.author_name.clone(),
            email: self.author_email.clone(),
            ..repository::now()
        };
        Repository::new(&self.url, &self.branch, credentials, author, cluster.timeout)
    }

    /// The key for a repository that is reached over ssh, and its host.
    async fn ssh_access(&self, cluster: &Cluster, console: &Console) -> Result<Option<SshAccess>> {
        if !self.url.starts_with("ssh://") {
            return Ok(None);
        }
        let url = |hostname| repository::parse_url(&ssh::address(&self.url, &self.username, hostname)?);
        let (url, followed) = (url(None)?, url(self.ssh_hostname.as_deref())?);
        let key = self.ssh_key(cluster, console).await?;
        SshAccess::gather(&url, &followed, &key, &self.ssh_hostkey_algos, console)
            .await
            .map(Some)
    }

    /// The key from the file, else the one that the cluster has from an earlier bootstrap, else a new one, if
    /// somebody is there to give it the right to write.
    async fn ssh_key(&self, cluster: &Cluster, console: &Console) -> Result<SshAccessKey> {
        let password = self.password.as_deref().filter(|text| !text.is_empty());
        if self.ssh.private_key_file.is_some() {
            let pair = self.ssh.pair(password).await?;
            let passphrase = password.map(SecretBytes::from);
            return Ok(SshAccessKey { pair, passphrase });
        }
        let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        if let Some(secret) = secrets.get_opt(&self.secret_name).await?
            && let Some(key) = SshAccessKey::stored(&secret.into())?
        {
            return Ok(key);
        }
        if self.silent || !std::io::stdin().is_terminal() {
            return Err(CommandError::new(
                "bootstrap over ssh needs a private key that may write to the repository",
            )
            .with_hint("give its file with --private-key-file, and its passphrase with --password"));
        }
        let pair = self.ssh.pair(None).await?;
        console.generated(&format!("deploy key: {}", pair.public_key.trim_end()));
        confirm(
            "Please give the key access to your repository, with the right to write. Does it have it?",
            "give a key that has access with --private-key-file",
        )?;
        Ok(SshAccessKey {
            pair,
            passphrase: None,
        })
    }

    /// The address that the cluster follows.
    fn followed_url(&self, repository: &Repository) -> Result<String> {
        match repository.credentials.ssh {
            Some(_) => ssh::address(&self.url, &self.username, self.ssh_hostname.as_deref()),
            None => Ok(repository.url()),
        }
    }

    fn sync(&self, cluster: &Cluster, repository: &Repository) -> Result<Sync> {
        Ok(Sync {
            name: cluster.namespace.clone(),
            namespace: cluster.namespace.clone(),
            url: self.followed_url(repository)?,
            branch: self.branch.clone(),
            secret: repository
                .credentials
                .is_needed()
                .then(|| self.secret_name.clone()),
            path: self.path.clone(),
            interval: self.interval.clone(),
        })
    }

    fn message(&self, text: &str) -> String {
        match self.commit_message_appendix.as_str() {
            "" => text.to_owned(),
            appendix => format!("{text}\n\n{appendix}"),
        }
    }

    /// A cluster that follows another directory must not be moved by accident: the old one would be pruned.
    async fn refuse_other_path(&self, cluster: &Cluster, sync: &Sync) -> Result<()> {
        let kind = Kind::by_name("Kustomization").ok_or_else(|| CommandError::new("no such kind"))?;
        let existing = match cluster.objects(kind).get_opt(&sync.name).await {
            Ok(existing) => existing,
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => return Err(error.into()),
        };
        let wanted = sync.kustomization();
        let path = existing
            .as_ref()
            .and_then(|object| object.data["spec"]["path"].as_str());
        match path {
            Some(path) if wanted["spec"]["path"] != path => Err(CommandError::new(format!(
                "the cluster follows the path {path}, not {}",
                wanted["spec"]["path"]
            ))
            .with_hint("bootstrap with the same --path, or uninstall first")),
            _ => Ok(()),
        }
    }

    async fn store_credentials(
        &self,
        cluster: &Cluster,
        credentials: &Credentials,
        console: &Console,
    ) -> Result<()> {
        if !credentials.is_needed() {
            return Ok(());
        }
        let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.secret_name, "namespace": cluster.namespace},
            "stringData": credentials.fields(),
        });
        let parameters = PatchParams::apply(MANAGER).force();
        secrets
            .patch(&self.secret_name, &parameters, &Patch::Apply(&secret))
            .await?;
        console.success(&format!("source secret {} is in place", self.secret_name));
        Ok(())
    }

    async fn wait_for_sync(
        &self,
        cluster: &Cluster,
        sync: &Sync,
        revision: &str,
        console: &Console,
    ) -> Result<()> {
        let kinds = ["GitRepository", "Kustomization"].map(Kind::by_name);
        for kind in kinds.into_iter().flatten() {
            let object = wait_for(cluster, kind, &sync.name, console, |object| {
                judge_sync(kind, object, revision)
            })
            .await?;
            console.success(&format!(
                "{} {} is ready at {}",
                kind.kind,
                sync.name,
                kind.revision(&object)
            ));
        }
        Ok(())
    }
}

/// Ready counts at the revision that was pushed; Ready=False at that revision ends the wait at once. What was
/// said of an earlier generation says nothing.
fn judge_sync(kind: &Kind, object: &Value, revision: &str) -> Verdict {
    if object["spec"]["suspend"] == true {
        return Verdict::Failed(format!("{} is suspended: resume it first", kind.kind));
    }
    let attempted = match kind.kind {
        "Kustomization" => object["status"]["lastAttemptedRevision"].as_str(),
        _ => object["status"]["artifact"]["revision"].as_str(),
    };
    let generation = &object["metadata"]["generation"];
    let (ready, message) = readiness(object);
    let current = object["status"]["observedGeneration"] == *generation;
    let observed = condition(object, "Ready").map_or(&Value::Null, |ready| &ready["observedGeneration"]);
    let stale = !observed.is_null() && observed != generation;
    match ready.as_str() {
        "True" if attempted == Some(revision) && current => Verdict::Done,
        "False" if !stale && (kind.kind != "Kustomization" || attempted == Some(revision)) => {
            Verdict::Failed(format!("{} reconciliation failed: {message}", kind.kind))
        }
        _ => Verdict::Wait(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_stand_in_manifests_as_go_writes_them() {
        assert_eq!(go_duration("1m").as_deref(), Ok("1m0s"));
        assert_eq!(go_duration("90s").as_deref(), Ok("1m30s"));
        assert_eq!(go_duration("2h").as_deref(), Ok("2h0m0s"));
        assert_eq!(go_duration("45s").as_deref(), Ok("45s"));
    }

    #[test]
    fn the_sync_counts_only_at_the_pushed_revision() {
        let kind = Kind::by_name("Kustomization").unwrap();
        let object = |ready: &str, attempted: &str| {
            json!({"metadata": {"generation": 1}, "status": {"observedGeneration": 1, "lastAttemptedRevision": attempted,
                "conditions": [{"type": "Ready", "status": ready, "message": "m"}]}})
        };
        assert_eq!(
            judge_sync(kind, &object("True", "old"), "new"),
            Verdict::Wait("m".into())
        );
        assert_eq!(judge_sync(kind, &object("True", "new"), "new"), Verdict::Done);
        assert!(matches!(
            judge_sync(kind, &object("False", "new"), "new"),
            Verdict::Failed(_)
        ));
        assert_eq!(
            judge_sync(kind, &object("False", "old"), "new"),
            Verdict::Wait("m".into())
        );
        let source = Kind::by_name("GitRepository").unwrap();
        let mut failed = object("False", "");
        failed["status"]["conditions"][0]["observedGeneration"] = json!(1);
        assert!(matches!(judge_sync(source, &failed, "new"), Verdict::Failed(_)));
        failed["metadata"]["generation"] = json!(2);
        assert_eq!(judge_sync(source, &failed, "new"), Verdict::Wait("m".into()));
        failed["spec"]["suspend"] = json!(true);
        assert!(matches!(judge_sync(source, &failed, "new"), Verdict::Failed(_)));
    }
}
