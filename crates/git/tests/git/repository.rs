//! Repositories made with the real git, and what it says about them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A bare repository `repo.git` in a directory to serve, with a work tree elsewhere.
pub(crate) struct Repository {
    root: TempDir,
    work: TempDir,
}

/// One row of `git ls-tree`: mode, object and path.
pub(crate) type Row = (String, String, String);

impl Repository {
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    pub(crate) fn with_format(format: &str) -> Self {
        let repository = Self {
            root: tempfile::tempdir().unwrap(),
            work: tempfile::tempdir().unwrap(),
        };
        let directory = repository.directory();
        let status = Command::new("git")
            .args([
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=master",
                "--object-format",
                format,
            ])
            .arg(&directory)
            .envs(environment())
            .status()
            .unwrap();
        assert!(status.success());
        repository.git(&["config", "http.receivepack", "true"]);
        repository.git(&["config", "uploadpack.allowFilter", "true"]);
        repository
    }

    /// The directory that a server exports.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.root.path().join("repo.git")
    }

    pub(crate) fn work(&self) -> &Path {
        self.work.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .arg("--git-dir")
            .arg(self.directory())
            .arg("--work-tree")
            .arg(self.work.path());
        command
            .args(arguments)
            .current_dir(self.work.path())
            .envs(environment());
        command
    }

    /// Runs git and returns what it printed, without the final line end.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_at(arguments, 1_700_000_000)
    }

    /// As [`Repository::git`], at a given time.
    pub(crate) fn git_at(&self, arguments: &[&str], seconds: i64) -> String {
        let date = format!("{seconds} +0000");
        let output = self
            .command(arguments)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn git_with_input(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn write(&self, path: &str, contents: &str) {
        let file = self.work.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, contents).unwrap();
    }

    /// Commits all files of the work tree and returns the hash.
    pub(crate) fn commit(&self, message: &str, seconds: i64) -> String {
        self.git(&["add", "--all"]);
        self.git_at(
            &["commit", "--quiet", "--allow-empty", "--message", message],
            seconds,
        );
        self.git(&["rev-parse", "HEAD"])
    }

    /// The entries of a commit below the root, directories included, by path.
    pub(crate) fn rows(&self, commit: &str) -> Vec<Row> {
        let listed = self.git(&["ls-tree", "-r", "-t", "-z", "--full-tree", commit]);
        listed
            .split('\0')
            .filter(|row| !row.is_empty())
            .map(|row| {
                let (meta, path) = row.split_once('\t').unwrap();
                let mut fields = meta.split_whitespace();
                let mode = fields.next().unwrap().to_owned();
                (mode, fields.nth(1).unwrap().to_owned(), path.to_owned())
            })
            .collect()
    }

    /// The regular files of a commit with their contents, out of `git archive`.
    pub(crate) fn archive(&self, commit: &str) -> BTreeMap<String, Vec<u8>> {
        let output = self
            .command(&["archive", "--format=tar", commit])
            .output()
            .unwrap();
        assert!(output.status.success());
        let mut archive = tar::Archive::new(output.stdout.as_slice());
        let mut files = BTreeMap::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.header().entry_type().is_file() {
                let mut contents = Vec::new();
                std::io::copy(&mut entry, &mut contents).unwrap();
                files.insert(entry.path().unwrap().to_str().unwrap().to_owned(), contents);
            }
        }
        files
    }
}

/// Text that hardly compresses, the same for the same seed.
pub(crate) fn incompressible(length: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state >> 32) as u8 % 95)
    };
    std::iter::repeat_with(letter).take(length).collect()
}

/// Keeps the user's and the system's configuration out.
pub(crate) fn environment() -> [(&'static str, &'static str); 7] {
    [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Author"),
        ("GIT_AUTHOR_EMAIL", "author@example.com"),
        ("GIT_COMMITTER_NAME", "Committer"),
        ("GIT_COMMITTER_EMAIL", "committer@example.com"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ]
}
