//! GitRepositories over SSH, from the real `sshd`.

use serde_json::json;
use sluice_api::meta::Condition;
use sluice_testbed::git::{GitServer, Repository};
use sluice_testbed::ssh::{KeyPair, SshServer};
use sluice_testbed::tools;

use crate::failures::failing;
use crate::support::{Bench, artifact, condition, conditions};

struct Ssh {
    server: SshServer,
    key: KeyPair,
    repository: Repository,
    commit: String,
    // Holds the repository.
    _git: GitServer,
}

fn start(passphrase: &str) -> Option<Ssh> {
    let server = tools::require_or_skip(SshServer::start())?;
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("app").unwrap();
    let commit = repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    let key = KeyPair::generate(&["-t", "ecdsa", "-b", "384"], passphrase).unwrap();
    server.authorize(&key.public).unwrap();
    Some(Ssh {
        server,
        key,
        repository,
        commit,
        _git: git,
    })
}

impl Ssh {
    fn url(&self) -> String {
        self.server.url(self.repository.directory())
    }
}

#[tokio::test]
async fn repository_over_ssh_becomes_ready_and_follows_the_branch() {
    // SRC-002
    let Some(bench) = Bench::start(&["--ssh-kex-algos=ecdh-sha2-nistp384,curve25519-sha256"]).await else {
        return;
    };
    let Some(mut ssh) = start("hunter2") else { return };
    let known_hosts = ssh.server.known_hosts();
    let data = [
        ("identity", ssh.key.private.as_str()),
        ("known_hosts", &known_hosts),
        ("password", "hunter2"),
    ];
    bench.create_secret("ssh", &data).await;
    bench
        .create(
            "app",
            &ssh.url(),
            json!({"secretRef": {"name": "ssh"}, "interval": "1s"}),
        )
        .await;
    let ready = bench
        .until("app", "Ready", |object| {
            condition(object, "Ready").is_some_and(Condition::is_true)
        })
        .await;
    assert_eq!(artifact(&ready).revision, format!("main@sha1:{}", ssh.commit));
    let second = ssh.repository.commit_files("Second", &[("b.yaml", "2")]).unwrap();
    let revision = format!("main@sha1:{second}");
    bench.until_revision("app", &revision).await;
    assert!(!bench.log().contains("hunter2") && !bench.log().contains("PRIVATE KEY"));
}

#[tokio::test]
async fn what_is_wrong_with_ssh_credentials_is_named_as_in_flux() {
    // SRC-002, COM-010
    let Some(bench) = Bench::start(&["--concurrent=8"]).await else {
        return;
    };
    let Some(ssh) = start("hunter2") else { return };
    let known_hosts = ssh.server.known_hosts();
    let key = ssh.key.private.as_str();
    let other_host = KeyPair::generate(&["-t", "ed25519"], "").unwrap().public;
    let stranger = KeyPair::generate(&["-t", "ed25519"], "").unwrap().private;
    let port = ssh.server.port();
    let wrong_host = format!("[127.0.0.1]:{port} {other_host}");
    let elsewhere = format!("other.example {other_host}");
    let checkout = "failed to checkout and determine revision: ";
    let clone = format!(
        "{checkout}unable to clone '{}': ssh: handshake failed: ",
        ssh.url()
    );
    let construct = format!("{checkout}unable to construct auth method with options: ");
    let options = "failed to configure authentication options: invalid 'ssh' auth option: ";
    let shown = format!("[127.0.0.1]:{port} showed the host key ssh-ed25519 SHA256:");
    type Data<'a> = Vec<(&'a str, &'a str)>;
    let cases: [(&str, Data<'_>, &str, String, &str); 8] = [
        (
            "wrong-host",
            vec![
                ("identity", key),
                ("known_hosts", &wrong_host),
                ("password", "hunter2"),
            ],
            "GitOperationFailed",
            format!("{clone}knownhosts: key mismatch: {shown}"),
            "known_hosts has ssh-ed25519 SHA256:",
        ),
        (
            "unknown-host",
            vec![
                ("identity", key),
                ("known_hosts", &elsewhere),
                ("password", "hunter2"),
            ],
            "GitOperationFailed",
            format!("{clone}knownhosts: key is unknown: {shown}"),
            "",
        ),
        (
            "no-known-hosts",
            vec![("identity", key), ("password", "hunter2")],
            "AuthenticationFailed",
            format!("{options}'known_hosts' is required"),
            "",
        ),
        (
            "no-identity",
            vec![("known_hosts", &known_hosts)],
            "AuthenticationFailed",
            format!("{options}'identity' is required"),
            "",
        ),
        (
            "no-passphrase",
            vec![("identity", key), ("known_hosts", &known_hosts)],
            "AuthenticationFailed",
            format!(
                "SSH identity key is encrypted but no 'password' field was provided in the secret '{}/no-passphrase'",
                bench.namespace()
            ),
            "",
        ),
        (
            "wrong-passphrase",
            vec![
                ("identity", key),
                ("known_hosts", &known_hosts),
                ("password", "hunter3"),
            ],
            "GitOperationFailed",
            format!("{construct}x509: decryption password incorrect"),
            "",
        ),
        (
            "stranger",
            vec![("identity", &stranger), ("known_hosts", &known_hosts)],
            "GitOperationFailed",
            format!(
                "{clone}ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain"
            ),
            "ssh-ed25519 SHA256:",
        ),
        (
            "broken-known-hosts",
            vec![("identity", &stranger), ("known_hosts", "host ssh-ed25519 AAAA")],
            "GitOperationFailed",
            format!("{construct}knownhosts: "),
            "line 1 of known_hosts",
        ),
    ];
    for (name, data, ..) in &cases {
        bench.create_secret(name, data).await;
        bench
            .create(name, &ssh.url(), json!({"secretRef": {"name": name}}))
            .await;
    }
    for (name, _, reason, start, part) in &cases {
        let object = bench
            .until(name, "FetchFailed", |object| failing(object, "FetchFailed"))
            .await;
        let ready = condition(&object, "Ready").unwrap();
        let context = format!("{name}: {:#?}", conditions(&object));
        assert_eq!(&ready.reason, reason, "{context}");
        assert!(
            ready.message.starts_with(start) && ready.message.contains(part),
            "{context}"
        );
        assert!(condition(&object, "Stalled").is_none(), "{context}");
    }
    assert!(!bench.log().contains("hunter") && !bench.log().contains("PRIVATE KEY"));
}
