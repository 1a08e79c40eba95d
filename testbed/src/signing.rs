//! Keys of the real `gpg` and `ssh-keygen`, with which the real git signs.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{Error, Result, tools};

/// What makes git sign commits and tags: names and values for `git config`.
pub type Settings = Vec<(&'static str, String)>;

/// A GnuPG home with one key. Its agent ends with the value.
#[derive(Debug)]
pub struct GpgKey {
    home: TempDir,
    fingerprint: String,
}

impl GpgKey {
    /// Makes a key that signs, of an algorithm that `gpg --quick-generate-key` knows, such as `ed25519`,
    /// `rsa2048` or `nistp256`.
    ///
    /// # Errors
    /// There is no gpg, or it failed.
    pub fn generate(algorithm: &str) -> Result<Self> {
        Self::generate_with(algorithm, "sign,cert", "never")
    }

    /// As [`GpgKey::generate`], for given usages (`sign`, `cert`) and with a time of expiry, such as `1d`.
    ///
    /// # Errors
    /// There is no gpg, or it failed.
    pub fn generate_with(algorithm: &str, usage: &str, expiry: &str) -> Result<Self> {
        let mut key = Self {
            home: tempfile::tempdir().map_err(Error::io("create a GnuPG home"))?,
            fingerprint: String::new(),
        };
        key.gpg(&[
            "--quick-generate-key",
            "Test <test@example.com>",
            algorithm,
            usage,
            expiry,
        ])?;
        key.fingerprint = key.field("fpr", 9)?;
        let wrapper = format!(
            "#!/bin/sh\nexec gpg --homedir '{}' --batch \"$@\"\n",
            key.home.path().display()
        );
        let file = key.wrapper();
        std::fs::write(&file, wrapper).map_err(Error::io(format!("write {}", file.display())))?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700))
            .map_err(Error::io(format!("write {}", file.display())))?;
        Ok(key)
    }

    /// Adds a subkey that signs; from then on it is the one that does.
    ///
    /// # Errors
    /// gpg failed.
    pub fn add_subkey(&self, algorithm: &str, expiry: &str) -> Result<()> {
        self.gpg(&["--quick-add-key", &self.fingerprint, algorithm, "sign", expiry])
            .map(drop)
    }

    /// Revokes the key with the certificate that was made with it.
    ///
    /// # Errors
    /// gpg failed.
    pub fn revoke(&self) -> Result<()> {
        let file = self
            .home
            .path()
            .join(format!("openpgp-revocs.d/{}.rev", self.fingerprint));
        let text = std::fs::read_to_string(&file).map_err(Error::io(format!("read {}", file.display())))?;
        // A colon stands in the way of importing it by mistake.
        let text = text.replace("\n:-----BEGIN", "\n-----BEGIN");
        let mut command = self.command();
        tools::pipe(command.arg("--import"), text.into_bytes()).map(drop)
    }

    /// The armored public key with its subkeys.
    ///
    /// # Errors
    /// gpg failed.
    pub fn public_key(&self) -> Result<String> {
        self.gpg(&["--armor", "--export", &self.fingerprint])
    }

    /// The primary key's id: 16 hexadecimal digits.
    ///
    /// # Errors
    /// gpg failed.
    pub fn id(&self) -> Result<String> {
        self.field("pub", 4)
    }

    /// What makes git sign with this key.
    pub fn settings(&self) -> Settings {
        vec![
            ("gpg.format", "openpgp".to_owned()),
            ("gpg.program", self.wrapper().to_string_lossy().into_owned()),
            ("user.signingkey", self.fingerprint.clone()),
        ]
    }

    fn wrapper(&self) -> PathBuf {
        self.home.path().join("gpg")
    }

    fn field(&self, record: &str, position: usize) -> Result<String> {
        let listed = self.gpg(&["--with-colons", "--list-keys"])?;
        let found = listed
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.first() == Some(&record))
            .and_then(|fields| fields.get(position).map(|field| (*field).to_owned()));
        found.ok_or_else(|| Error::Answer {
            what: format!("gpg --list-keys: field {position} of {record}"),
            answer: listed,
        })
    }

    fn gpg(&self, arguments: &[&str]) -> Result<String> {
        run(self.command().args(arguments))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(self.home.path()).args([
            "--batch",
            "--quiet",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            "",
        ]);
        command
    }
}

impl Drop for GpgKey {
    fn drop(&mut self) {
        let mut command = Command::new("gpgconf");
        command
            .arg("--homedir")
            .arg(self.home.path())
            .args(["--kill", "gpg-agent"]);
        let _ = command.output();
    }
}

/// An SSH key pair in a directory of its own.
#[derive(Debug)]
pub struct SshKey {
    directory: TempDir,
}

impl SshKey {
    /// Makes a key of a type that `ssh-keygen -t` knows; `bits` may be empty.
    ///
    /// # Errors
    /// There is no ssh-keygen, or it failed.
    pub fn generate(kind: &str, bits: &str) -> Result<Self> {
        let directory = tempfile::tempdir().map_err(Error::io("create a directory for an SSH key"))?;
        let key = Self { directory };
        let mut command = Command::new(tools::system("ssh-keygen")?);
        command.args(["-q", "-N", "", "-C", "test@example.com", "-t", kind]);
        if !bits.is_empty() {
            command.args(["-b", bits]);
        }
        run(command.arg("-f").arg(key.private_key()))?;
        Ok(key)
    }

    /// The line for `authorized_keys`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn public_key(&self) -> Result<String> {
        let file = self.private_key().with_extension("pub");
        std::fs::read_to_string(&file).map_err(Error::io(format!("read {}", file.display())))
    }

    /// The fingerprint, such as `SHA256:...`.
    ///
    /// # Errors
    /// ssh-keygen failed.
    pub fn fingerprint(&self) -> Result<String> {
        let listed = run(Command::new("ssh-keygen").arg("-lf").arg(self.private_key()))?;
        Ok(listed.split(' ').nth(1).unwrap_or_default().to_owned())
    }

    /// Signs bytes for a namespace; Git's is `git`.
    ///
    /// # Errors
    /// ssh-keygen failed.
    pub fn sign(&self, namespace: &str, payload: &[u8]) -> Result<String> {
        let mut command = Command::new("ssh-keygen");
        command
            .args(["-q", "-Y", "sign", "-n", namespace, "-f"])
            .arg(self.private_key());
        let output = tools::pipe(&mut command, payload.to_vec())?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// What makes git sign with this key.
    pub fn settings(&self) -> Settings {
        vec![
            ("gpg.format", "ssh".to_owned()),
            (
                "user.signingkey",
                self.private_key().to_string_lossy().into_owned(),
            ),
        ]
    }

    /// The file with the private key.
    pub fn private_key(&self) -> PathBuf {
        self.directory.path().join("key")
    }
}

/// Lets git sign every commit and every annotated tag from now on.
///
/// # Errors
/// git failed.
pub fn sign_with(directory: &Path, settings: &Settings) -> Result<()> {
    let git = tools::system("git")?;
    let always = [
        ("commit.gpgsign", "true".to_owned()),
        ("tag.gpgsign", "true".to_owned()),
    ];
    for (name, value) in settings.iter().chain(&always) {
        let arguments: [&OsStr; 3] = ["config".as_ref(), name.as_ref(), value.as_ref()];
        run(Command::new(&git).current_dir(directory).args(arguments))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<String> {
    let output = tools::pipe(command, Vec::new())?;
    Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
}
