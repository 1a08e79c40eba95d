//! The repository that a cluster is bootstrapped from.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sluice_git::{
    Authentication, Budget, Change, Checkout, EditError, ErrorKind, NewCommit, ObjectId, Person, PushError,
    Reference, Remote, RemoteUrl, Secret,
};
use sluice_kustomize::{BuildOptions, LoadRestrictions};
use sluice_vfs::{FileSystem as _, VirtualPath};

use super::ssh::SshAccess;
use crate::error::{CommandError, Result};
use crate::manifests::KUSTOMIZATION_FILE;
use crate::output::Console;

/// How often a push is tried anew when somebody else pushes at the same time.
const PUSH_ATTEMPTS: usize = 5;

/// What authenticates against the Git server; kept in the cluster as a Secret too.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) username: String,
    pub(crate) password: Option<String>,
    pub(crate) bearer: bool,
    pub(crate) certificate_authority: Option<Vec<u8>>,
    /// Over ssh this takes the place of all others.
    pub(crate) ssh: Option<SshAccess>,
}

impl Credentials {
    /// Whether the cluster needs a Secret.
    pub(crate) fn is_needed(&self) -> bool {
        self.password.is_some() || self.certificate_authority.is_some() || self.ssh.is_some()
    }

    /// The Secret's fields by Flux's conventions.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        if let Some(ssh) = &self.ssh {
            return ssh.fields();
        }
        let mut fields = Map::new();
        match &self.password {
            Some(token) if self.bearer => {
                fields.insert("bearerToken".into(), json!(token));
            }
            Some(password) => {
                fields.insert("username".into(), json!(self.username));
                fields.insert("password".into(), json!(password));
            }
            None => {}
        }
        if let Some(authority) = &self.certificate_authority {
            fields.insert("ca.crt".into(), json!(String::from_utf8_lossy(authority)));
        }
        fields
    }

    fn authentication(&self) -> Authentication {
        match &self.password {
            Some(token) if self.bearer => Authentication::Bearer(Secret::new(token.as_bytes())),
            Some(password) => Authentication::Basic {
                username: self.username.clone(),
                password: Secret::new(password.as_bytes()),
            },
            None => Authentication::None,
        }
    }
}

/// The author of commits made now, to be named.
pub(crate) fn now() -> Person {
    Person {
        name: String::new(),
        email: String::new(),
        time: jiff::Timestamp::now(),
    }
}

/// Joins a cluster's path and a directory below it.
pub(crate) fn join(path: &str, directory: &str) -> String {
    match path.trim_start_matches("./").trim_matches('/') {
        "" | "." => directory.to_owned(),
        path => format!("{path}/{directory}"),
    }
}

/// Reads `--url`.
///
/// # Errors
/// It is no address of a repository.
pub(crate) fn parse_url(url: &str) -> Result<RemoteUrl> {
    RemoteUrl::parse(url).map_err(|error| {
        CommandError::new(format!("--url: {error}")).with_hint(
            "write it as https://host/organisation/repository or ssh://git@host/organisation/repository",
        )
    })
}

/// One branch of a remote repository.
#[derive(Clone)]
pub(crate) struct Repository {
    remote: Remote,
    branch: String,
    author: Person,
    timeout: Duration,
    /// How to authenticate.
    pub(crate) credentials: Credentials,
}

impl Repository {
    /// Describes the repository; nothing is contacted yet.
    ///
    /// # Errors
    /// An address that is none.
    pub(crate) fn new(
        url: &str,
        branch: &str,
        credentials: Credentials,
        author: Person,
        timeout: Duration,
    ) -> Result<Self> {
        let mut remote = Remote::new(parse_url(url)?);
        if let Some(ssh) = &credentials.ssh {
            remote.authentication = Authentication::None;
            remote.ssh = Some(ssh.credentials());
        } else if credentials.password.is_some() {
            remote.authentication = credentials.authentication();
        } else if remote.authentication != Authentication::None {
            return Err(CommandError::new(
                "the --url holds credentials, which would end up in shell histories",
            )
            .with_hint("give them with --username and --password, or in the environment as GIT_PASSWORD"));
        }
        remote
            .tls
            .certificate_authorities
            .clone_from(&credentials.certificate_authority);
        Ok(Self {
            remote,
            branch: branch.to_owned(),
            author,
            timeout,
            credentials,
        })
    }

    /// The address without credentials.
    pub(crate) fn url(&self) -> String {
        self.remote.url.as_str().to_owned()
    }

    /// Brings `files` (path and text) into the branch and returns its head. Nothing is committed when they stand
    /// there already, so a second bootstrap leaves no trace.
    ///
    /// # Errors
    /// The remote can't be read or written.
    pub(crate) async fn commit(
        &self,
        files: &[(String, String)],
        message: &str,
        console: &Console,
    ) -> Result<ObjectId> {
        let mut changes = BTreeMap::new();
        for (path, text) in files {
            let path = VirtualPath::parse(path).map_err(|error| CommandError::new(error.to_string()))?;
            changes.insert(path, Change::Write(text.clone().into()));
        }
        console.action(&format!(
            "cloning branch {} from {}",
            self.branch, self.remote.url
        ));
        let job = self.clone();
        let commit = NewCommit {
            changes,
            author: self.author.clone(),
            committer: self.author.clone(),
            message: message.to_owned(),
        };
        let outcome = blocking(move || job.commit_blocking(&commit)).await?;
        match outcome {
            (head, true) => {
                console.success(&format!("committed and pushed {head} to {}", self.branch));
                Ok(head)
            }
            (head, false) => {
                console.success(&format!("{} is up to date at {head}", self.branch));
                Ok(head)
            }
        }
    }

    /// Whether a file stands in the branch.
    ///
    /// # Errors
    /// The remote can't be read.
    pub(crate) async fn exists(&self, path: &str) -> Result<bool> {
        let (job, path) = (self.clone(), parse_path(path)?);
        blocking(move || match job.fetch()?.checkout {
            Some(checkout) => checkout
                .tree()
                .is_file(&path)
                .map_err(|error| CommandError::new(error.to_string())),
            None => Ok(false),
        })
        .await
    }

    /// The objects of `directory`: those of its kustomization if it has one, else those of `file`.
    ///
    /// # Errors
    /// The remote can't be read, or the directory does not build.
    pub(crate) async fn objects(&self, directory: &str, file: &str) -> Result<Vec<Value>> {
        let (job, directory, file) = (self.clone(), directory.to_owned(), file.to_owned());
        blocking(move || {
            let fetched = job.fetch()?;
            let checkout = fetched
                .checkout
                .ok_or_else(|| CommandError::new("the branch is gone"))?;
            let kustomization = parse_path(&format!("{directory}/{KUSTOMIZATION_FILE}"))?;
            let tree = checkout.tree();
            let found = tree
                .is_file(&kustomization)
                .map_err(|error| CommandError::new(error.to_string()))?;
            if found {
                return build(tree, &parse_path(&directory)?);
            }
            let path = parse_path(&format!("{directory}/{file}"))?;
            let text = sluice_vfs::FileSystem::read(tree, &path)
                .map_err(|error| CommandError::new(error.to_string()))?;
            documents(&text)
        })
        .await
    }

    fn commit_blocking(&self, commit: &NewCommit) -> Result<(ObjectId, bool)> {
        for _ in 0..PUSH_ATTEMPTS {
            let budget = Budget::new(self.timeout);
            let fetched = self.fetch()?;
            let parent = fetched.checkout.as_ref();
            let prepared = match commit.prepare(parent) {
                Ok(prepared) => prepared,
                Err(EditError::NoChanges) => {
                    let head = parent.map(|checkout| checkout.commit.id);
                    return head
                        .map(|id| (id, false))
                        .ok_or_else(|| CommandError::new("there is nothing to commit"));
                }
                Err(error) => return Err(CommandError::new(error.to_string())),
            };
            match sluice_git::push(&self.remote, &self.branch, &prepared, &budget) {
                Ok(()) => return Ok((prepared.id(), true)),
                Err(PushError::NonFastForward { .. }) => {}
                Err(error) => {
                    return Err(CommandError::new(error.to_string()).with_hint(
                        "check that the credentials may write and that the branch is not protected",
                    ));
                }
            }
        }
        Err(
            CommandError::new(format!("somebody else keeps pushing to {}", self.branch))
                .with_hint("run it again"),
        )
    }

    fn fetch(&self) -> Result<Fetched> {
        let scratch = tempfile::tempdir()
            .map_err(|error| CommandError::new(format!("no temporary directory: {error}")))?;
        let budget = Budget::new(self.timeout);
        let fetched = sluice_git::fetch(
            &self.remote,
            &Reference::branch(&self.branch),
            scratch.path(),
            &budget,
        );
        let checkout = match fetched {
            Ok(checkout) => Some(checkout),
            Err(error) if matches!(error.kind(), ErrorKind::Empty | ErrorKind::ReferenceNotFound) => None,
            Err(error) => {
                let hint = match error.kind() {
                    ErrorKind::Authentication if self.credentials.ssh.is_some() => {
                        "check that the key has access to the repository"
                    }
                    ErrorKind::Authentication => "check --username and --password",
                    ErrorKind::NotFound => "check --url; the repository must exist",
                    _ => "check --url and the network",
                };
                return Err(CommandError::new(error.to_string()).with_hint(hint));
            }
        };
        Ok(Fetched {
            checkout,
            _scratch: scratch,
        })
    }
}

/// A fetched branch, or none yet, with the directory that its objects lie in.
struct Fetched {
    checkout: Option<Checkout>,
    _scratch: tempfile::TempDir,
}

fn parse_path(path: &str) -> Result<VirtualPath> {
    VirtualPath::parse(path).map_err(|error| CommandError::new(error.to_string()))
}

fn build(tree: &sluice_git::Tree, directory: &VirtualPath) -> Result<Vec<Value>> {
    let broken = |reason: String| CommandError::new(format!("{directory} does not build: {reason}"));
    let options = BuildOptions {
        load_restrictions: LoadRestrictions::None,
        ..BuildOptions::default()
    };
    let built =
        sluice_kustomize::build(tree, directory, &options).map_err(|error| broken(error.to_string()))?;
    built
        .resources
        .iter()
        .map(|resource| resource.to_json().map_err(|error| broken(error.to_string())))
        .collect()
}

fn documents(text: &[u8]) -> Result<Vec<Value>> {
    let wrong = |error: sluice_goyaml::Error| CommandError::new(error.to_string());
    let flavour = sluice_goyaml::Flavour::Sigs;
    let nodes =
        sluice_goyaml::parse_documents(text, flavour, sluice_goyaml::Limits::default()).map_err(wrong)?;
    let values = nodes
        .iter()
        .map(|node| sluice_goyaml::json_from_node(node, flavour).map_err(wrong));
    values.filter(|value| !matches!(value, Ok(Value::Null))).collect()
}

/// Runs work that blocks.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| CommandError::new(format!("the work was interrupted: {error}")))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_without_doubled_or_leading_slashes() {
        assert_eq!(join("", "flux-system"), "flux-system");
        assert_eq!(
            join("./clusters/staging/", "flux-system"),
            "clusters/staging/flux-system"
        );
    }

    #[test]
    fn the_secret_follows_the_conventions() {
        let mut credentials = Credentials {
            username: "git".into(),
            password: Some("token".into()),
            bearer: false,
            certificate_authority: Some(b"PEM".to_vec()),
            ssh: None,
        };
        assert_eq!(
            Value::Object(credentials.fields()),
            json!({"username": "git", "password": "token", "ca.crt": "PEM"})
        );
        credentials.bearer = true;
        credentials.certificate_authority = None;
        assert_eq!(
            Value::Object(credentials.fields()),
            json!({"bearerToken": "token"})
        );
    }
}
