//! Signatures of the real gpg and ssh-keygen on commits and tags of the real git.

use std::time::Duration;

use gix::hash::Kind;
use sluice_git::{Checkout, Reference, VerificationError, VerificationKeys};
use sluice_testbed::signing::{GpgKey, Settings, SshKey, sign_with};

use crate::Bench;
use crate::repository::Repository;
use crate::server::Behaviour;

const NO_KEY_RING: &str =
    "unable to verify Git commit: unable to verify payload with any of the given key rings: no matching key";
const NO_SSH_KEY: &str = "unable to verify Git commit SSH signature: unable to verify payload with any of the given authorized keys: no matching key";

fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

fn after(days: u64) -> jiff::Timestamp {
    now() + Duration::from_secs(days * 86_400)
}

fn keys(entries: &[(&str, &str)]) -> VerificationKeys {
    VerificationKeys::from_entries(entries.iter().map(|(name, text)| (*name, text.as_bytes())))
}

/// A repository with one signed commit and a signed tag `v1` on it.
fn signed(repository: Repository, settings: &Settings) -> Bench {
    sign_with(&repository.directory(), settings).unwrap();
    repository.write("a.yaml", "a: 1\n");
    repository.commit("Signed\n\nWith a body.", 1_700_000_000);
    repository.git(&["tag", "--annotate", "--message", "One", "v1"]);
    Bench::with(repository, Behaviour::default())
}

fn fetch_tag(bench: &Bench) -> Checkout {
    bench.fetch(&Reference::tag("v1")).unwrap()
}

fn reason(checkout: &Checkout, keys: &VerificationKeys) -> String {
    checkout.commit.verify(keys, now()).unwrap_err().to_string()
}

/// The same commit with another message, under the signature of the first.
fn altered(bench: &Bench) -> Checkout {
    let commit = bench.repository.git(&["cat-file", "commit", "HEAD"]);
    let altered = commit.replace("With a body.", "With another.");
    assert_ne!(commit, altered);
    let id = bench.repository.git_with_input(
        &["hash-object", "-t", "commit", "-w", "--stdin"],
        format!("{altered}\n").as_bytes(),
    );
    bench.repository.git(&["update-ref", "refs/heads/altered", &id]);
    bench.fetch(&Reference::branch("altered")).unwrap()
}

// SRC-024
#[test]
fn commits_and_tags_signed_by_gpg_name_the_primary_key() {
    for algorithm in ["ed25519", "rsa2048", "nistp256", "nistp384", "nistp521"] {
        let key = GpgKey::generate(algorithm).unwrap();
        let bench = signed(Repository::new(), &key.settings());
        let ring = key.public_key().unwrap();
        let checkout = fetch_tag(&bench);
        let trusted = keys(&[("a.asc", &ring)]);
        let id = key.id().unwrap();
        assert_eq!(
            checkout.commit.verify(&trusted, now()).unwrap(),
            id,
            "{algorithm}"
        );
        let tag = checkout.tag.as_ref().unwrap();
        assert_eq!(tag.verify(&trusted, now()).unwrap(), id, "{algorithm}");
        assert_eq!(reason(&altered(&bench), &trusted), NO_KEY_RING, "{algorithm}");
    }
}

// SRC-024
#[test]
fn only_keys_of_the_ring_are_trusted() {
    let (key, other) = (
        GpgKey::generate("ed25519").unwrap(),
        GpgKey::generate("ed25519").unwrap(),
    );
    let bench = signed(Repository::new(), &key.settings());
    let checkout = fetch_tag(&bench);
    let (ring, wrong) = (key.public_key().unwrap(), other.public_key().unwrap());
    let id = key.id().unwrap();
    assert_eq!(reason(&checkout, &keys(&[("a.asc", &wrong)])), NO_KEY_RING);
    let tag = checkout.tag.as_ref().unwrap();
    assert_eq!(
        tag.verify(&keys(&[("a.asc", &wrong)]), now())
            .unwrap_err()
            .to_string(),
        "unable to verify Git tag: unable to verify payload with any of the given key rings: no matching key"
    );
    // The second ring, a ring under any name, several keys in one ring, and one that is not armored at all.
    let both = format!("{wrong}\n{ring}");
    for entries in [
        &[("a.asc", wrong.as_str()), ("b.asc", ring.as_str())][..],
        &[("author", ring.as_str())],
        &[("a.asc", "nothing"), ("b.asc", ring.as_str())],
    ] {
        assert_eq!(checkout.commit.verify(&keys(entries), now()).unwrap(), id);
    }
    // As in Flux only the first block of a text is read.
    assert_eq!(reason(&checkout, &keys(&[("a.asc", &both)])), NO_KEY_RING);
    assert_eq!(
        reason(&checkout, &keys(&[("a.asc", "nothing")])),
        "unable to verify Git commit: unable to read armored key ring: openpgp: invalid argument: no armored data found"
    );
    assert_eq!(
        reason(&checkout, &keys(&[("a.asc", "nothing"), ("b.asc", &wrong)])),
        NO_KEY_RING
    );
    let ssh = keys(&[("a.sshpub", "ssh-ed25519 AAAA")]);
    assert_eq!(
        checkout.commit.verify(&ssh, now()),
        Err(VerificationError::NoKeyRings)
    );
}

#[test]
fn a_subkey_signs_for_its_primary_key() {
    let key = GpgKey::generate_with("ed25519", "cert", "never").unwrap();
    key.add_subkey("ed25519", "1d").unwrap();
    let bench = signed(Repository::new(), &key.settings());
    let checkout = fetch_tag(&bench);
    let trusted = keys(&[("a.asc", &key.public_key().unwrap())]);
    assert_eq!(
        checkout.commit.verify(&trusted, now()).unwrap(),
        key.id().unwrap()
    );
    let late = checkout.commit.verify(&trusted, after(2));
    assert_eq!(
        late.unwrap_err().to_string(),
        NO_KEY_RING,
        "the subkey has expired"
    );
}

#[test]
fn expired_and_revoked_keys_and_signatures_of_the_future_are_not_trusted() {
    let key = GpgKey::generate_with("ed25519", "sign,cert", "1d").unwrap();
    let bench = signed(Repository::new(), &key.settings());
    let checkout = fetch_tag(&bench);
    let trusted = keys(&[("a.asc", &key.public_key().unwrap())]);
    let at = |time| {
        checkout
            .commit
            .verify(&trusted, time)
            .map_err(|error| error.to_string())
    };
    assert_eq!(at(now()).unwrap(), key.id().unwrap());
    assert_eq!(at(after(2)).unwrap_err(), NO_KEY_RING);
    assert_eq!(at(now() - Duration::from_secs(86_400)).unwrap_err(), NO_KEY_RING);
    key.revoke().unwrap();
    let revoked = keys(&[("a.asc", &key.public_key().unwrap())]);
    assert_eq!(reason(&checkout, &revoked), NO_KEY_RING);
}

// SRC-025
#[test]
fn commits_and_tags_signed_over_ssh_name_the_fingerprint() {
    for (kind, bits) in [
        ("ed25519", ""),
        ("ecdsa", "256"),
        ("ecdsa", "384"),
        ("ecdsa", "521"),
        ("rsa", "2048"),
        ("rsa", "5120"),
    ] {
        let key = SshKey::generate(kind, bits).unwrap();
        let bench = signed(Repository::new(), &key.settings());
        let checkout = fetch_tag(&bench);
        let lines = format!("# ours\n{}", key.public_key().unwrap());
        let trusted = keys(&[("a.sshpub", &lines)]);
        let fingerprint = key.fingerprint().unwrap();
        let context = format!("{kind} {bits}");
        assert_eq!(
            checkout.commit.verify(&trusted, now()).unwrap(),
            fingerprint,
            "{context}"
        );
        let tag = checkout.tag.as_ref().unwrap();
        assert_eq!(tag.verify(&trusted, now()).unwrap(), fingerprint, "{context}");
        let failed = if kind == "rsa" {
            "crypto/rsa: verification error"
        } else {
            "ssh: signature did not verify"
        };
        assert_eq!(
            reason(&altered(&bench), &trusted),
            format!("{NO_SSH_KEY}\n{failed}"),
            "{context}"
        );
    }
}

// SRC-025, SRC-090
#[test]
fn only_authorized_keys_of_the_namespace_git_are_trusted() {
    let (key, other) = (
        SshKey::generate("ed25519", "").unwrap(),
        SshKey::generate("ed25519", "").unwrap(),
    );
    let bench = signed(Repository::new(), &key.settings());
    let checkout = fetch_tag(&bench);
    let (line, wrong) = (key.public_key().unwrap(), other.public_key().unwrap());
    let fingerprint = key.fingerprint().unwrap();
    let mismatch = format!("{NO_SSH_KEY}\npublic key does not match");
    assert_eq!(reason(&checkout, &keys(&[("a.sshpub", &wrong)])), mismatch);
    let both = format!("{wrong}{line}");
    let broken = format!("{line}garbage\n");
    for entries in [
        &[("a.sshpub", both.as_str())][..],
        &[("a.sshpub", broken.as_str()), ("b.sshpub", line.as_str())],
    ] {
        assert_eq!(
            checkout.commit.verify(&keys(entries), now()).unwrap(),
            fingerprint
        );
    }
    assert_eq!(
        reason(&checkout, &keys(&[("a.sshpub", &broken)])),
        "unable to verify Git commit SSH signature: unable to parse authorized keys: unable to parse authorized key: ssh: no key found"
    );
    assert_eq!(
        reason(&checkout, &keys(&[("a.asc", &line)])),
        "SSH signature detected but no SSH public keys found in secret (keys with .sshpub suffix)"
    );
    // A signature of the same bytes and the same key, made for files.
    let payload = &checkout.commit.signed_payload;
    let armor = key.sign("file", payload).unwrap();
    let header = format!("gpgsig {}", armor.trim_end().replace('\n', "\n "));
    let text = String::from_utf8(payload.to_vec()).unwrap();
    let forged = text.replacen("\n\n", &format!("\n{header}\n\n"), 1);
    let id = bench.repository.git_with_input(
        &["hash-object", "-t", "commit", "-w", "--stdin"],
        forged.as_bytes(),
    );
    bench.repository.git(&["update-ref", "refs/heads/forged", &id]);
    let forged = bench.fetch(&Reference::branch("forged")).unwrap();
    assert_eq!(&forged.commit.signed_payload, payload);
    assert_eq!(
        reason(&forged, &keys(&[("a.sshpub", &line)])),
        format!("{NO_SSH_KEY}\nnamespace does not match")
    );
}

#[test]
fn repositories_of_sha256_are_verified_by_their_own_header() {
    let key = SshKey::generate("ed25519", "").unwrap();
    let bench = signed(Repository::with_format("sha256"), &key.settings());
    let checkout = fetch_tag(&bench);
    assert_eq!(checkout.commit.id.kind(), Kind::Sha256);
    let trusted = keys(&[("a.sshpub", &key.public_key().unwrap())]);
    let fingerprint = key.fingerprint().unwrap();
    assert_eq!(checkout.commit.verify(&trusted, now()).unwrap(), fingerprint);
    assert_eq!(
        checkout.tag.as_ref().unwrap().verify(&trusted, now()).unwrap(),
        fingerprint
    );
}

// SRC-090
#[test]
fn an_unsigned_commit_has_no_kind_of_signature() {
    let bench = Bench::new();
    bench.repository.write("a.yaml", "a: 1\n");
    bench.repository.commit("Unsigned", 1_700_000_000);
    let checkout = bench.fetch(&Reference::branch("master")).unwrap();
    let trusted = keys(&[("a.asc", "x"), ("b.sshpub", "x")]);
    assert_eq!(reason(&checkout, &trusted), "unsupported signature type: empty");
}
