//! Git over smart HTTP: a server, and repositories in which tests commit.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::server::Server;
use crate::tls::Certificates;
use crate::{Error, Result, loopback, tools};

/// What a Git server asks of its clients. The default asks for nothing and speaks plain HTTP.
#[derive(Debug, Clone, Default)]
pub struct GitServerOptions {
    /// User and password for basic authentication.
    pub basic: Option<(String, String)>,
    /// A bearer token; may stand beside `basic`, then either is good.
    pub bearer: Option<String>,
    /// Speak HTTPS with these certificates.
    pub tls: Option<Certificates>,
    /// With `tls`: let in only clients that show a certificate of that authority.
    pub client_certificates: bool,
}

/// A running Git server. Dropping it ends it and removes its repositories.
#[derive(Debug)]
pub struct GitServer {
    server: Server,
    url: String,
    control: String,
    directory: tempfile::TempDir,
}

#[derive(Deserialize)]
struct Announced {
    url: String,
    control: String,
}

/// What a client asked of a Git server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The first request of any listing, fetch or push (`info/refs`).
    Refs,
    /// The list of refs in protocol 2.
    LsRefs,
    /// Objects: clone traffic.
    Fetch,
    /// A push.
    Push,
    /// A request with no or wrong credentials.
    Denied,
    /// Anything else.
    Other,
}

#[derive(Deserialize)]
struct Counted {
    repository: String,
    operation: Operation,
    count: usize,
}

impl GitServer {
    /// Starts a server that lets everyone in.
    pub fn start() -> Result<Self> {
        Self::start_with(&GitServerOptions::default())
    }

    /// Starts a server.
    pub fn start_with(options: &GitServerOptions) -> Result<Self> {
        tools::system("git")?;
        let directory = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
        let root = directory.path().join("repositories");
        std::fs::create_dir(&root).map_err(Error::io(format!("create {}", root.display())))?;
        let mut command = Command::new(tools::tool("control-plane")?);
        command.arg("git-server").arg("--root").arg(&root);
        if let Some((user, password)) = &options.basic {
            command.args(["--user", user, "--password", password]);
        }
        if let Some(bearer) = &options.bearer {
            command.args(["--bearer", bearer]);
        }
        if let Some(certificates) = &options.tls {
            let files = certificates.write(directory.path())?;
            command
                .arg("--tls-cert")
                .arg(files.server_certificate)
                .arg("--tls-key")
                .arg(files.server_key);
            if options.client_certificates {
                command.arg("--client-ca").arg(files.authority);
            }
        }
        let (server, announced) = Server::start::<Announced>(&mut command, Duration::from_secs(60))?;
        Ok(Self {
            server,
            url: announced.url,
            control: announced.control,
            directory,
        })
    }

    /// The server's address, such as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates a bare repository, such as `fleet` or `team/fleet`, whose first branch is `main`.
    pub fn create_repository(&self, name: &str) -> Result<Repository> {
        let bare = self
            .directory
            .path()
            .join("repositories")
            .join(format!("{name}.git"));
        let work = self.directory.path().join("work").join(name);
        std::fs::create_dir_all(&bare).map_err(Error::io(format!("create {}", bare.display())))?;
        std::fs::create_dir_all(&work).map_err(Error::io(format!("create {}", work.display())))?;
        let repository = Repository {
            url: format!("{}/{name}.git", self.url),
            name: format!("{name}.git"),
            bare,
            work,
            commits: 0,
        };
        run_git(
            &repository.bare,
            0,
            ["init", "--quiet", "--bare", "--initial-branch=main", "."],
        )?;
        repository.git(["init", "--quiet", "--initial-branch=main", "."])?;
        Ok(repository)
    }

    /// How often something was asked of a repository since the start or the last [reset](Self::reset_requests).
    pub fn requests(&self, repository: &Repository, operation: Operation) -> Result<usize> {
        let url = format!("{}/_requests", self.control);
        let (status, body) = loopback::request("GET", &url, b"", Duration::from_secs(30))?;
        if status != 200 {
            return Err(Error::Answer {
                what: url,
                answer: format!("status {status}"),
            });
        }
        let counted: Vec<Counted> = serde_json::from_slice(&body).map_err(Error::json(url))?;
        let matching = counted
            .iter()
            .filter(|each| each.repository == repository.name && each.operation == operation);
        Ok(matching.map(|each| each.count).sum())
    }

    /// Starts the counts anew.
    pub fn reset_requests(&self) -> Result<()> {
        let url = format!("{}/_requests", self.control);
        loopback::request("DELETE", &url, b"", Duration::from_secs(30)).map(drop)
    }

    /// Ends the server; its address then refuses connections. The repositories stay until the value is dropped.
    pub fn stop(&mut self) -> Result<()> {
        self.server.end().map(drop)
    }
}

/// A repository on a [`GitServer`], and a work tree of it to commit from. The work tree talks to the
/// repository through the file system, so it is neither counted nor asked for credentials.
#[derive(Debug)]
pub struct Repository {
    url: String,
    name: String,
    bare: PathBuf,
    work: PathBuf,
    commits: u64,
}

impl Repository {
    /// The address to clone from.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bare repository's directory.
    pub fn directory(&self) -> &Path {
        &self.bare
    }

    /// The work tree's directory.
    pub fn work_tree(&self) -> &Path {
        &self.work
    }

    /// Writes a file of the work tree, with the folders above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let file = self.work.join(path);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(format!("create {}", folder.display())))?;
        }
        std::fs::write(&file, content).map_err(Error::io(format!("write {}", file.display())))
    }

    /// Removes a file or a folder of the work tree.
    pub fn remove(&self, path: &str) -> Result<()> {
        let file = self.work.join(path);
        let removed = if file.is_dir() {
            std::fs::remove_dir_all(&file)
        } else {
            std::fs::remove_file(&file)
        };
        removed.map_err(Error::io(format!("remove {}", file.display())))
    }

    /// Copies a folder's files into the work tree, below the given path.
    pub fn copy_from(&self, folder: &Path, path: &str) -> Result<()> {
        let what = || Error::io(format!("read {}", folder.display()));
        for entry in std::fs::read_dir(folder).map_err(what())? {
            let entry = entry.map_err(what())?;
            let below = Path::new(path).join(entry.file_name());
            let below = below.to_string_lossy();
            if entry.path().is_dir() {
                self.copy_from(&entry.path(), &below)?;
            } else {
                let content = std::fs::read(entry.path())
                    .map_err(Error::io(format!("read {}", entry.path().display())))?;
                self.write(&below, content)?;
            }
        }
        Ok(())
    }

    /// Commits everything in the work tree, if need be as an empty commit, pushes the present branch, and
    /// returns the commit's id. Author, times and thus ids depend only on the content and on what was
    /// committed before.
    pub fn commit(&mut self, message: &str) -> Result<String> {
        self.commits += 1;
        self.git(["add", "--all"])?;
        self.git(["commit", "--quiet", "--allow-empty", "--message", message])?;
        self.push(&[])?;
        self.git(["rev-parse", "HEAD"])
    }

    /// Writes files and commits them: the whole work of most tests.
    pub fn commit_files(&mut self, message: &str, files: &[(&str, &str)]) -> Result<String> {
        for (path, content) in files {
            self.write(path, content)?;
        }
        self.commit(message)
    }

    /// Pushes the present branch; `options` such as `--force`.
    pub fn push(&self, options: &[&str]) -> Result<()> {
        let mut arguments = vec![OsStr::new("push"), OsStr::new("--quiet")];
        arguments.extend(options.iter().map(OsStr::new));
        arguments.extend([self.bare.as_os_str(), OsStr::new("HEAD")]);
        self.git(arguments).map(drop)
    }

    /// Switches the work tree to a branch, which is created at the present commit if there is none.
    pub fn switch(&self, branch: &str) -> Result<()> {
        let known = self
            .git([
                "rev-parse",
                "--quiet",
                "--verify",
                &format!("refs/heads/{branch}"),
            ])
            .is_ok();
        let create: &[&str] = if known {
            &["switch", "--quiet"]
        } else {
            &["switch", "--quiet", "--create"]
        };
        self.git(create.iter().copied().chain([branch])).map(drop)
    }

    /// Tags the present commit and pushes the tag: an annotated one if there is a message.
    pub fn tag(&self, name: &str, message: Option<&str>) -> Result<()> {
        match message {
            Some(message) => self.git(["tag", "--annotate", "--force", "--message", message, name])?,
            None => self.git(["tag", "--force", name])?,
        };
        let bare = self.bare.to_string_lossy();
        self.git(["push", "--quiet", "--force", &bare, &format!("refs/tags/{name}")])
            .map(drop)
    }

    /// Deletes a tag on the server.
    pub fn delete_tag(&self, name: &str) -> Result<()> {
        self.git(["tag", "--delete", name])?;
        run_git(
            &self.bare,
            self.commits,
            ["update-ref", "-d", &format!("refs/tags/{name}")],
        )
        .map(drop)
    }

    /// The commit at the head of a branch on the server.
    pub fn head(&self, branch: &str) -> Result<String> {
        run_git(
            &self.bare,
            self.commits,
            ["rev-parse", &format!("refs/heads/{branch}")],
        )
    }

    /// Runs git in the work tree, without the machine's and the user's configuration, and returns what it
    /// prints, trimmed.
    pub fn git<Argument: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = Argument>,
    ) -> Result<String> {
        run_git(&self.work, self.commits, arguments)
    }
}

fn run_git<Argument: AsRef<OsStr>>(
    directory: &Path,
    serial: u64,
    arguments: impl IntoIterator<Item = Argument>,
) -> Result<String> {
    // 2024-01-01T00:00:00Z, and a minute later with every commit.
    let date = format!("{} +0000", 1_704_067_200 + serial * 60);
    let mut command = Command::new(tools::system("git")?);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_AUTHOR_NAME", "Test")
        .env("GIT_AUTHOR_EMAIL", "test@example.com")
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_NAME", "Test")
        .env("GIT_COMMITTER_EMAIL", "test@example.com")
        .env("GIT_COMMITTER_DATE", &date)
        .args(arguments);
    let output = tools::pipe(&mut command, Vec::new())?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}
