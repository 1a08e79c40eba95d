//! What is made for Secrets: known hosts and key pairs.

use sluice_git::{KeyPair, KeyPairKind, SshCredentials, load_key_pair, scan_host_keys};
use sluice_testbed::ssh::SshServerOptions;

use crate::{Bench, budget};

#[test]
fn scan_finds_the_key_by_which_the_host_is_then_known() {
    let Some(bench) = Bench::start(&SshServerOptions {
        host_keys: vec![
            vec!["-t", "ed25519"],
            vec!["-t", "ecdsa"],
            vec!["-t", "rsa", "-b", "2048"],
        ],
        ..SshServerOptions::default()
    }) else {
        return;
    };
    bench.repository.commit("first", 1_700_000_000);
    let port = bench.server.port();
    for (algorithms, kind) in [
        (vec![], "ecdsa-sha2-nistp256"),
        (vec!["ssh-ed25519".to_owned()], "ssh-ed25519"),
        (
            vec!["rsa-sha2-512".to_owned(), "ssh-ed25519".to_owned()],
            "ssh-rsa",
        ),
    ] {
        let (line, key) = scan_host_keys("127.0.0.1", port, &algorithms, &budget()).unwrap();
        assert_eq!(key.kind(), kind);
        assert!(
            line.starts_with(&format!("[127.0.0.1]:{port} {kind} AAAA")),
            "{line}"
        );
        let known = SshCredentials {
            known_hosts: line.into_bytes(),
            ..bench.credentials()
        };
        bench.fetch(&bench.remote_with(known)).unwrap();
    }
    let error =
        scan_host_keys("127.0.0.1", port, &["ecdsa-sha2-nistp521".to_owned()], &budget()).unwrap_err();
    let expected = format!("SSH key scan for host 127.0.0.1:{port} failed, error: ssh: handshake failed: ");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn generated_pairs_open_the_door() {
    let Some(bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    bench.repository.commit("first", 1_700_000_000);
    for kind in [
        KeyPairKind::default(),
        KeyPairKind::EcdsaP256,
        KeyPairKind::EcdsaP521,
        KeyPairKind::Ed25519,
        KeyPairKind::Rsa(2048),
    ] {
        let pair = KeyPair::generate(kind).unwrap();
        bench.server.authorize(&pair.public_key).unwrap();
        let credentials = SshCredentials {
            identity: pair.private_key.clone(),
            ..bench.credentials()
        };
        bench.fetch(&bench.remote_with(credentials)).unwrap();
        assert_ne!(KeyPair::generate(KeyPairKind::Ed25519).unwrap(), pair);
    }
    assert!(KeyPair::generate(KeyPairKind::Rsa(512)).is_err());
    assert!(KeyPair::generate(KeyPairKind::Rsa(1 << 20)).is_err());
    assert!(!format!("{:?}", KeyPair::generate(KeyPairKind::Ed25519)).contains("BEGIN"));
}

#[test]
fn given_keys_are_kept_as_they_are() {
    let plain = sluice_testbed::ssh::KeyPair::generate(&["-t", "ed25519"], "").unwrap();
    let pair = load_key_pair(plain.private.as_bytes(), None).unwrap();
    let public = plain.public.rsplit_once(' ').unwrap().0;
    assert_eq!(pair.public_key, format!("{public}\n"));
    let error = load_key_pair(plain.private.as_bytes(), Some(b"x")).unwrap_err();
    assert!(error.to_string().contains("not an encrypted key"), "{error}");
    let locked = sluice_testbed::ssh::KeyPair::generate(&["-t", "ed25519"], "hunter2").unwrap();
    assert!(load_key_pair(locked.private.as_bytes(), Some(b"hunter3")).is_err());
    assert!(load_key_pair(locked.private.as_bytes(), Some(b"hunter2")).is_ok());
}
