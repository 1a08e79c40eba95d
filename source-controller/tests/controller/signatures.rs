//! Signed commits and tags, and what the status says of them.

use serde_json::{Value, json};
use sluice_api::meta::Condition;
use sluice_api::source::GitRepository;
use sluice_testbed::git::{GitServer, Repository};
use sluice_testbed::signing::{GpgKey, SshKey, sign_with};

use crate::failures::failing;
use crate::support::{Bench, artifact, condition};

fn verify(mode: &str, secret: &str) -> Value {
    json!({"verify": {"mode": mode, "secretRef": {"name": secret}}})
}

fn mode(object: &GitRepository) -> Option<String> {
    let mode = object.status.as_ref()?.source_verification_mode.as_ref()?;
    Some(mode.as_str().to_owned())
}

fn verified(object: &GitRepository) -> &Condition {
    condition(object, "SourceVerified").unwrap()
}

/// Waits until an object fails to be verified, and checks that Ready says the same.
async fn refused(bench: &Bench, name: &str, reason: &str) -> String {
    let object = bench
        .until(name, "it is refused", |object| {
            failing(object, "SourceVerified")
                && condition(object, "SourceVerified").is_some_and(|found| found.reason == reason)
        })
        .await;
    let found = verified(&object);
    assert!(found.is_false());
    let ready = condition(&object, "Ready").unwrap();
    assert_eq!((&ready.reason, &ready.message), (&found.reason, &found.message));
    assert!(condition(&object, "FetchFailed").is_none());
    let event = bench.event(name, reason).await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.message.as_ref(), Some(&found.message));
    found.message.clone()
}

fn signed_by(server: &GitServer, name: &str, settings: &sluice_testbed::signing::Settings) -> Repository {
    let mut repository = server.create_repository(name).unwrap();
    sign_with(repository.work_tree(), settings).unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    repository.tag("v1.0.0", Some("One")).unwrap();
    repository
}

#[tokio::test]
async fn commits_signed_with_openpgp_are_verified_and_those_of_others_refused() {
    // SRC-024, SRC-090
    let Some(bench) = Bench::start(&["--concurrent=4"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let (key, other) = (
        GpgKey::generate("ed25519").unwrap(),
        GpgKey::generate("ed25519").unwrap(),
    );
    let ssh = SshKey::generate("ed25519", "").unwrap();
    let mut repository = signed_by(&server, "app", &key.settings());
    let commit = repository.head("main").unwrap();
    bench
        .create_secret("keys", &[("author.asc", &key.public_key().unwrap())])
        .await;
    bench
        .create_secret("wrong", &[("author.asc", &other.public_key().unwrap())])
        .await;
    bench
        .create_secret("ssh", &[("author.sshpub", &ssh.public_key().unwrap())])
        .await;
    for (name, secret) in [
        ("good", "keys"),
        ("bad", "wrong"),
        ("kind", "ssh"),
        ("none", "none"),
    ] {
        bench.create(name, repository.url(), verify("HEAD", secret)).await;
    }

    let object = bench.ready("good").await;
    let id = key.id().unwrap();
    let message = format!("verified signature of\n\t- commit '{commit}' with key '{id}'");
    let found = verified(&object);
    assert!(found.is_true());
    assert_eq!((found.reason.as_str(), &found.message), ("Succeeded", &message));
    assert_eq!(mode(&object).as_deref(), Some("HEAD"));
    let event = bench.event("good", "Succeeded").await;
    assert_eq!(
        (event.type_.as_deref(), event.message.as_deref()),
        (Some("Normal"), Some(message.as_str()))
    );

    let failed = format!("signature verification of commit '{commit}' failed: ");
    assert_eq!(
        refused(&bench, "bad", "InvalidCommitSignature").await,
        format!(
            "{failed}unable to verify Git commit: unable to verify payload with any of the given key rings: no matching key"
        )
    );
    assert_eq!(
        refused(&bench, "kind", "InvalidCommitSignature").await,
        format!(
            "{failed}PGP signature detected but no PGP public keys found in secret (keys with .asc suffix)"
        )
    );
    assert_eq!(
        refused(&bench, "none", "VerificationError").await,
        "public keys secret error: secrets \"none\" not found"
    );
    for name in ["bad", "kind", "none"] {
        assert!(bench.stored(name).is_empty(), "{name} was stored");
    }

    // A commit that nobody signed: the artifact of the last good one stays.
    repository.git(["config", "commit.gpgsign", "false"]).unwrap();
    let before = artifact(&object);
    let unsigned = repository.commit_files("Second", &[("a.yaml", "2")]).unwrap();
    bench.request("good").await;
    assert_eq!(
        refused(&bench, "good", "InvalidCommitSignature").await,
        format!("signature verification of commit '{unsigned}' failed: unsupported signature type: empty")
    );
    let object = bench.api.get("good").await.unwrap();
    assert_eq!(artifact(&object), before);

    // Without verification what it said is gone.
    bench.patch_spec("good", json!({"verify": null})).await;
    let object = bench.ready("good").await;
    assert!(condition(&object, "SourceVerified").is_none());
    assert_eq!(mode(&object), None);
    assert!(artifact(&object).revision.contains(&unsigned));
}

#[tokio::test]
async fn commits_and_tags_signed_over_ssh_are_verified_as_the_mode_says() {
    // SRC-025, SRC-090
    let Some(bench) = Bench::start(&["--concurrent=4"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let key = SshKey::generate("ed25519", "").unwrap();
    let repository = signed_by(&server, "app", &key.settings());
    repository.git(["config", "tag.gpgsign", "false"]).unwrap();
    repository.tag("v0.9.0", None).unwrap();
    repository.tag("v0.8.0", Some("Unsigned")).unwrap();
    let commit = repository.head("main").unwrap();
    let tag = repository.git(["rev-parse", "refs/tags/v1.0.0"]).unwrap();
    let unsigned = repository.git(["rev-parse", "refs/tags/v0.8.0"]).unwrap();
    let fingerprint = key.fingerprint().unwrap();
    bench
        .create_secret("keys", &[("author.sshpub", &key.public_key().unwrap())])
        .await;
    let reference = |mut spec: Value, reference: Value| {
        spec["ref"] = reference;
        spec
    };
    let url = repository.url();
    let tagged = json!({"tag": "v1.0.0"});
    bench
        .create("app", url, reference(verify("head", "keys"), tagged.clone()))
        .await;
    bench
        .create(
            "semver",
            url,
            reference(verify("TagAndHEAD", "keys"), json!({"semver": ">=1"})),
        )
        .await;
    bench
        .create(
            "lightweight",
            url,
            reference(verify("Tag", "keys"), json!({"tag": "v0.9.0"})),
        )
        .await;
    bench
        .create(
            "unsigned",
            url,
            reference(verify("Tag", "keys"), json!({"name": "refs/tags/v0.8.0"})),
        )
        .await;

    let object = bench.ready("app").await;
    let head = format!("\n\t- commit '{commit}' with key '{fingerprint}'");
    let one = format!("\n\t- tag 'v1.0.0@{tag}' with key '{fingerprint}'");
    assert_eq!(verified(&object).message, format!("verified signature of{head}"));
    assert_eq!(mode(&object).as_deref(), Some("HEAD"));
    let object = bench.ready("semver").await;
    assert_eq!(
        verified(&object).message,
        format!("verified signature of{one}{head}")
    );
    assert_eq!(mode(&object).as_deref(), Some("TagAndHEAD"));
    assert_eq!(
        refused(&bench, "lightweight", "InvalidGitObject").await,
        "cannot verify signature of tag 'v0.9.0' since it is not signed"
    );
    assert_eq!(
        refused(&bench, "unsigned", "InvalidGitObject").await,
        format!("cannot verify signature of tag 'v0.8.0@{unsigned}' since it is not signed")
    );

    // Another mode is verified at once, although the revision is the same.
    bench.patch_spec("app", json!({"verify": {"mode": "Tag"}})).await;
    let object = bench
        .until("app", "the tag is verified", |object| {
            mode(object).as_deref() == Some("Tag")
        })
        .await;
    assert_eq!(verified(&object).message, format!("verified signature of{one}"));
}
