//! Secrets and sources for repositories over SSH, with the real `sshd` and `ssh-keygen`.

use std::process::Command;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::ssh::{KeyPair, SshServer, SshServerOptions};
use sluice_testbed::tools::{require_or_skip, system};

use crate::objects::GIT;
use crate::site::Site;
use crate::support::Sluice;

fn start() -> Option<SshServer> {
    let options = SshServerOptions {
        host_keys: vec![vec!["-t", "ed25519"], vec!["-t", "ecdsa"]],
        ..SshServerOptions::default()
    };
    require_or_skip(SshServer::start_with(&options))
}

/// What Go's client, and so flux, finds: ECDSA first.
fn known_hosts(server: &SshServer) -> String {
    let key = server.host_keys()[1]
        .public
        .rsplit_once(' ')
        .unwrap()
        .0
        .to_owned();
    format!("[127.0.0.1]:{} {key}", server.port())
}

/// The public half of a private key, as ssh-keygen sees it.
fn public_half(private: &str, passphrase: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, private).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let output = Command::new(system("ssh-keygen").unwrap())
        .args(["-y", "-P", passphrase, "-f"])
        .arg(&file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

fn field(manifest: &str, name: &str) -> Option<String> {
    use sluice_goyaml::{Flavour, Limits, json_from_node, parse_documents};
    let documents = parse_documents(manifest.as_bytes(), Flavour::Sigs, Limits::default()).unwrap();
    let values = documents
        .iter()
        .map(|node| json_from_node(node, Flavour::Sigs).unwrap());
    let value = values.into_iter().find(|value| !value.is_null()).unwrap();
    let secret: Secret = serde_json::from_value(value).unwrap();
    secret.string_data.unwrap().remove(name)
}

/// CLI-012
#[test]
fn secrets_hold_a_new_key_of_the_wanted_kind_and_the_key_of_the_host() {
    let Some(server) = start() else { return };
    let url = format!("--url=ssh://git@127.0.0.1:{}/org/fleet", server.port());
    let export = |flags: &[&str]| {
        let arguments = ["create", "secret", "git", "fleet-auth", url.as_str(), "--export"];
        Sluice::alone().result(&[&arguments[..], flags].concat())
    };
    let kinds: [(&[&str], &str); 6] = [
        (&[], "ecdsa-sha2-nistp384 "),
        (&["--ssh-ecdsa-curve=p256"], "ecdsa-sha2-nistp256 "),
        (&["--ssh-ecdsa-curve=p521"], "ecdsa-sha2-nistp521 "),
        (&["--ssh-key-algorithm=ed25519"], "ssh-ed25519 "),
        (&["--ssh-key-algorithm=rsa", "--ssh-rsa-bits=1024"], "ssh-rsa "),
        (&["--password=ignored"], "ecdsa-sha2-nistp384 "),
    ];
    for (flags, kind) in kinds {
        let manifest = export(flags);
        let public = field(&manifest, "identity.pub").unwrap();
        assert!(public.starts_with(kind), "{flags:?}: {public}");
        let private = field(&manifest, "identity").unwrap();
        let half = if kind == "ssh-ed25519 " {
            // Not every ssh-keygen reads such keys in PKCS 8, where flux writes them.
            let pair = sluice_git::load_key_pair(private.as_bytes(), None).unwrap();
            pair.public_key.trim_end().to_owned()
        } else {
            public_half(&private, "")
        };
        assert_eq!(half, public.trim_end(), "{flags:?}");
        assert_eq!(field(&manifest, "known_hosts").unwrap(), known_hosts(&server));
        assert_eq!(field(&manifest, "password"), None, "a new key has no passphrase");
    }
    assert_ne!(
        field(&export(&[]), "identity"),
        field(&export(&[]), "identity"),
        "each is a new one"
    );
    let refusals = [
        ("--ssh-rsa-bits=1000", "RSA key bit size must be at least 1024"),
        (
            "--ssh-key-algorithm=dsa",
            "[possible values: rsa, ecdsa, ed25519]",
        ),
        (
            "--private-key-file=/nonexistent",
            "--private-key-file /nonexistent: ",
        ),
    ];
    for (flag, text) in refusals {
        let ended = Sluice::alone().run(&["create", "secret", "git", "x", &url, flag, "--export"]);
        assert!(ended.code != 0 && ended.stderr.contains(text), "{ended:?}");
    }
}

/// CLI-012
#[test]
fn secrets_hold_a_key_from_a_file_with_its_passphrase() {
    let Some(server) = start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate(&["-t", "ed25519"], "correct horse").unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, &key.private).unwrap();
    let url = format!("--url=ssh://git@127.0.0.1:{}/org/fleet", server.port());
    let file = format!("--private-key-file={}", file.display());
    let arguments = ["create", "secret", "git", "x", &url, &file, "--export"];
    let manifest = Sluice::alone().result(&[&arguments[..], &["--password=correct horse"]].concat());
    assert_eq!(field(&manifest, "identity").unwrap(), key.private);
    assert_eq!(field(&manifest, "password").unwrap(), "correct horse");
    assert_eq!(
        field(&manifest, "identity.pub").unwrap().trim_end(),
        key.public.rsplit_once(' ').unwrap().0
    );
    for flags in [&[][..], &["--password=wrong"]] {
        let ended = Sluice::alone().run(&[&arguments[..], flags].concat());
        assert!(
            ended.code != 0 && ended.stderr.contains("leave it out if it has none"),
            "{ended:?}"
        );
    }
}

/// CLI-012, SRC-002
#[tokio::test(flavor = "multi_thread")]
async fn a_source_over_ssh_gets_its_secret_and_is_fetched() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let Some(server) = start() else { return };
    let definitions = sluice_testbed::tools::workspace().join("config/crd");
    plane.apply_crds(&definitions).await.unwrap();
    let mut site = Site::empty(plane, "ssh").await;
    let revision = site.commit("one");
    let folder = tempfile::tempdir().unwrap();
    let key = KeyPair::generate(&["-t", "ecdsa", "-b", "384"], "").unwrap();
    server.authorize(&key.public).unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, &key.private).unwrap();
    let url = format!("--url={}", server.url(site.repository.directory()));
    let file = format!("--private-key-file={}", file.display());
    let arguments = [
        "create",
        "source",
        "git",
        "fleet",
        url.as_str(),
        "--branch=main",
        &file,
    ];
    let told = site.sluice.failure(&arguments);
    assert!(told.contains("not confirmed"), "{told}");
    let told = site.sluice.told(&[&arguments[..], &["--silent"]].concat());
    let public = key.public.rsplit_once(' ').unwrap().0;
    for line in [
        format!(
            "✔ collected public key from SSH server:\n{}",
            known_hosts(&server)
        ),
        format!("✚ deploy key: {public}"),
        "✔ authentication configured".to_owned(),
        format!("✔ fetched revision: {revision}"),
    ] {
        assert!(told.contains(&line), "{line}\n{told}");
    }
    assert!(!told.contains("PRIVATE KEY"), "{told}");
    let secret = Api::<Secret>::namespaced(site.client.clone(), site.namespace.name())
        .get("fleet")
        .await
        .unwrap();
    let names: Vec<&String> = secret.data.as_ref().unwrap().keys().collect();
    assert_eq!(names, ["identity", "identity.pub", "known_hosts"]);
    let source = site.api(GIT).get("fleet").await.unwrap();
    assert_eq!(source.data["spec"]["secretRef"]["name"], "fleet");
}
