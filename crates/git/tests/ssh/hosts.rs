//! Which hosts are trusted.

use sluice_git::{ErrorKind, SshAlgorithms, SshCredentials};
use sluice_testbed::ssh::{KeyPair, SshServerOptions};

use crate::Bench;

fn options(host_keys: &[&'static [&'static str]]) -> SshServerOptions {
    SshServerOptions {
        host_keys: host_keys.iter().map(|arguments| arguments.to_vec()).collect(),
        ..SshServerOptions::default()
    }
}

const ALL: [&[&str]; 5] = [
    &["-t", "ed25519"],
    &["-t", "ecdsa", "-b", "256"],
    &["-t", "ecdsa", "-b", "384"],
    &["-t", "ecdsa", "-b", "521"],
    &["-t", "rsa", "-b", "2048"],
];

fn with_lines(bench: &Bench, lines: &str) -> SshCredentials {
    SshCredentials {
        known_hosts: lines.as_bytes().to_vec(),
        ..bench.credentials()
    }
}

// SRC-002
#[test]
fn one_known_key_of_any_kind_is_enough_though_the_server_has_others() {
    let Some(bench) = Bench::start(&options(&ALL)) else {
        return;
    };
    bench.repository.commit("first", 1_700_000_000);
    let lines = bench.server.known_hosts();
    for line in lines.lines() {
        let elsewhere = KeyPair::generate(&["-t", "ecdsa", "-b", "256"], "").unwrap();
        // Keys of other hosts have no say in what is offered to this one.
        let known = format!("other.example {}{line}\n", elsewhere.public);
        bench
            .fetch(&bench.remote_with(with_lines(&bench, &known)))
            .unwrap();
    }
    assert_eq!(lines.lines().count(), ALL.len());
}

#[test]
fn hashed_and_wild_lines_are_known() {
    let Some(bench) = Bench::start(&options(&ALL[..1])) else {
        return;
    };
    bench.repository.commit("first", 1_700_000_000);
    let lines = bench.server.known_hosts();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("known_hosts");
    std::fs::write(&file, &lines).unwrap();
    let hashed = std::process::Command::new("ssh-keygen")
        .arg("-H")
        .arg("-f")
        .arg(&file)
        .output();
    assert!(hashed.unwrap().status.success());
    let hashed = std::fs::read_to_string(&file).unwrap();
    assert!(hashed.starts_with("|1|"), "{hashed}");
    bench
        .fetch(&bench.remote_with(with_lines(&bench, &hashed)))
        .unwrap();
    let port = bench.server.port();
    let wild = lines.replace("[127.0.0.1]", "[10.*]:22,[127.0.?.*]");
    bench
        .fetch(&bench.remote_with(with_lines(&bench, &wild)))
        .unwrap();
    let negated = lines.replace("[127.0.0.1]", &format!("![127.0.0.1]:{port},[127.0.?.*]"));
    let error = bench.fails(with_lines(&bench, &negated));
    assert!(
        error.to_string().contains("knownhosts: key is unknown"),
        "{error}"
    );
}

// SRC-002
#[test]
fn keys_that_are_not_known_are_named_with_their_fingerprint() {
    let Some(bench) = Bench::start(&options(&ALL[..1])) else {
        return;
    };
    let lines = bench.server.known_hosts();
    let own = &bench.server.host_keys()[0].public;
    let other = KeyPair::generate(&["-t", "ed25519"], "").unwrap().public;
    let rsa = KeyPair::generate(&["-t", "rsa", "-b", "2048"], "")
        .unwrap()
        .public;
    let host = format!("[127.0.0.1]:{}", bench.server.port());
    let cases = [
        (format!("other.example {own}"), "knownhosts: key is unknown"),
        (format!("{host} {other}"), "knownhosts: key mismatch"),
        (format!("{lines}@revoked * {own}"), "knownhosts: key is revoked"),
        (format!("{host} {rsa}"), "no common algorithm for host key"),
        (format!("{host} {other}{lines}"), "knownhosts: key mismatch"),
    ];
    let shown = fingerprint(own);
    for (known, problem) in cases {
        let error = bench.fails(with_lines(&bench, &known));
        assert_eq!(error.kind(), ErrorKind::Authentication);
        let text = error.to_string();
        let names_key = text.contains(&format!("{host} showed the host key ssh-ed25519 {shown}"));
        assert!(
            text.contains("ssh: handshake failed: ")
                && text.contains(problem)
                && (names_key || problem.contains("algorithm")),
            "{text}"
        );
        assert_eq!(
            text.contains(&fingerprint(&other)),
            known.contains(&other),
            "{text}"
        );
    }
}

fn fingerprint(public: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key.pub");
    std::fs::write(&file, public).unwrap();
    let output = std::process::Command::new("ssh-keygen")
        .arg("-lf")
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn lines_that_cannot_be_read_are_named_by_number() {
    let Some(bench) = Bench::start(&options(&ALL[..1])) else {
        return;
    };
    let known = format!("# comment\n\n{}broken\n", bench.server.known_hosts());
    let error = bench.fails(with_lines(&bench, &known));
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(
        error.to_string(),
        "unable to construct auth method with options: knownhosts: knownhosts: missing host pattern (line 4 of known_hosts)"
    );
}

#[test]
fn certificates_count_where_only_their_authority_is_known() {
    for keys in [&ALL[..1], &ALL[4..]] {
        let Some(bench) = Bench::start(&SshServerOptions {
            certified: true,
            ..options(keys)
        }) else {
            return;
        };
        bench.repository.commit("first", 1_700_000_000);
        let authority = bench.server.authority_line().unwrap();
        bench
            .fetch(&bench.remote_with(with_lines(&bench, &authority)))
            .unwrap();
        // With a key of its own the host shows that.
        let both = authority.clone() + &bench.server.known_hosts();
        if keys.len() > 1 || !bench.server.known_hosts().contains("ssh-ed25519") {
            bench
                .fetch(&bench.remote_with(with_lines(&bench, &both)))
                .unwrap();
        }
        let other = KeyPair::generate(&["-t", "ed25519"], "").unwrap().public;
        let port = bench.server.port();
        let wrong = format!("@cert-authority [127.0.0.1]:{port} {other}");
        let text = bench.fails(with_lines(&bench, &wrong)).to_string();
        assert!(text.contains("ssh: no authorities for hostname"), "{text}");
        let revoked = authority.clone()
            + "@revoked * "
            + authority.split_once(' ').unwrap().1.split_once(' ').unwrap().1;
        let text = bench.fails(with_lines(&bench, &revoked)).to_string();
        assert!(text.contains("knownhosts: key is revoked"), "{text}");
    }
}

#[test]
fn given_algorithms_are_the_ones_that_are_offered() {
    let Some(bench) = Bench::start(&options(&ALL)) else {
        return;
    };
    bench.repository.commit("first", 1_700_000_000);
    let algorithms = |key_exchange: &[&str], host_key: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        SshCredentials {
            algorithms: SshAlgorithms {
                key_exchange: owned(key_exchange),
                host_key: owned(host_key),
            },
            ..bench.credentials()
        }
    };
    for exchange in [
        "mlkem768x25519-sha256",
        "curve25519-sha256",
        "ecdh-sha2-nistp256",
        "ecdh-sha2-nistp384",
        "ecdh-sha2-nistp521",
        "diffie-hellman-group14-sha256",
        "diffie-hellman-group-exchange-sha256",
    ] {
        let outcome = bench.fetch(&bench.remote_with(algorithms(&[exchange], &[])));
        match outcome {
            Ok(_) => {}
            // This server may be too old for it.
            Err(error) => assert!(
                exchange.starts_with("mlkem")
                    && error.to_string().contains("no common algorithm for key exchange"),
                "{exchange}: {error}"
            ),
        }
    }
    for host_key in [
        "rsa-sha2-512",
        "rsa-sha2-256",
        "ecdsa-sha2-nistp521",
        "ssh-ed25519",
    ] {
        bench
            .fetch(&bench.remote_with(algorithms(&[], &[host_key])))
            .unwrap();
    }
    let error = bench.fails(algorithms(&["none"], &[]));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = bench.fails(algorithms(&["diffie-hellman-group1-sha1"], &[]));
    assert!(
        error.to_string().contains("no common algorithm for key exchange"),
        "{error}"
    );
}
