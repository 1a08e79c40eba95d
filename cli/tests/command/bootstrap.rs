//! `sluice bootstrap git` over SSH, on a control plane of its own.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::GitServer;
use sluice_testbed::ssh::{KeyPair, SshServer, SshServerOptions};
use sluice_testbed::tools::require_or_skip;

use crate::objects::{GIT, api};
use crate::support::{Sluice, start_controller};

const SYSTEM: &str = "flux-system";
const PASSPHRASE: &str = "correct horse";

/// CLI-001, SRC-002
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_bootstrapped_over_ssh_with_a_private_key() {
    let Some(plane) = require_or_skip(ControlPlane::start()) else {
        return;
    };
    let options = SshServerOptions {
        host_keys: vec![vec!["-t", "ed25519"], vec!["-t", "ecdsa"]],
        ..SshServerOptions::default()
    };
    let Some(server) = require_or_skip(SshServer::start_with(&options)) else {
        return;
    };
    let git = GitServer::start().unwrap();
    let repository = git.create_repository("fleet").unwrap();
    let key = KeyPair::generate(&["-t", "ecdsa", "-b", "384"], PASSPHRASE).unwrap();
    server.authorize(&key.public).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, &key.private).unwrap();
    let sluice = Sluice::new(&plane);
    let url = server.url(repository.directory());
    let address = format!("--url={url}");
    let key_file = format!("--private-key-file={}", file.display());
    let bootstrap = [
        "bootstrap",
        "git",
        address.as_str(),
        "--path=clusters/one",
        "--timeout=3m",
    ];

    let told = sluice.failure(&bootstrap);
    assert!(told.contains("--private-key-file"), "{told}");
    let wrong = [&bootstrap[..], &[key_file.as_str(), "--password=wrong"]].concat();
    let told = sluice.failure(&wrong);
    assert!(told.contains("decryption password incorrect"), "{told}");

    plane
        .apply_crds(&sluice_testbed::tools::workspace().join("config/crd"))
        .await
        .unwrap();
    let storage = folder.path().join("storage");
    std::fs::create_dir(&storage).unwrap();
    let port = sluice_testbed::process::free_port().unwrap();
    let source = [
        format!("--storage-path={}", storage.display()),
        format!("--storage-addr=127.0.0.1:{port}"),
        format!("--storage-adv-addr=127.0.0.1:{port}"),
    ];
    let _source = start_controller("source-controller", &plane, SYSTEM, &source);
    let _kustomize = start_controller("kustomize-controller", &plane, SYSTEM, &[]);
    let password = format!("--password={PASSPHRASE}");
    let right = [&bootstrap[..], &[key_file.as_str(), &password, "--silent"]].concat();
    let told = sluice.told(&right);
    // Go's client, and so flux, asks for ECDSA first.
    assert!(
        told.contains("✔ host key of 127.0.0.1: ecdsa-sha2-nistp256 SHA256:"),
        "{told}"
    );
    assert!(
        !told.contains(PASSPHRASE) && !told.contains("PRIVATE KEY"),
        "{told}"
    );

    let client = plane.client().await.unwrap();
    let secret = Api::<Secret>::namespaced(client.clone(), SYSTEM)
        .get(SYSTEM)
        .await
        .unwrap();
    let field = |name: &str| {
        let bytes = &secret.data.as_ref().unwrap()[name];
        String::from_utf8(bytes.0.clone()).unwrap()
    };
    assert_eq!(field("identity"), key.private);
    assert_eq!(field("password"), PASSPHRASE);
    let public = key.public.rsplit_once(' ').unwrap().0;
    assert_eq!(field("identity.pub").trim_end(), public);
    let host_key = server.host_keys()[1].public.rsplit_once(' ').unwrap().0;
    assert_eq!(
        field("known_hosts"),
        format!("[127.0.0.1]:{} {host_key}", server.port())
    );
    let source = api(&client, SYSTEM, GIT).get(SYSTEM).await.unwrap();
    assert_eq!(source.data["spec"]["url"], url.as_str());
    assert_eq!(source.data["spec"]["secretRef"]["name"], SYSTEM);

    let head = repository.head("main").unwrap();
    sluice.told(&right);
    // The key that the cluster has opens the repository again.
    sluice.told(&[&bootstrap[..], &["--silent"]].concat());
    assert_eq!(repository.head("main").unwrap(), head);
}
