//! Bad inputs: what each one says, and how it ends.

use serde_json::{Value, json};
use sluice_api::meta::Condition;
use sluice_api::source::GitRepository;
use sluice_testbed::git::{GitServer, GitServerOptions, Operation};
use sluice_testbed::process::free_port;
use sluice_testbed::tls::Certificates;

use crate::support::{Bench, artifact, condition, conditions};

/// A failing object: further fields of its spec, and what its conditions say. `{url}` stands for the
/// repository's address and `{namespace}` for the namespace.
struct Case {
    name: &'static str,
    url: String,
    spec: Value,
    condition: &'static str,
    reason: &'static str,
    /// The beginning and the end of the message.
    message: (String, &'static str),
    stalled: bool,
}

/// Whether a reconcile has ended with the condition: between two tries the object is in progress again.
pub(crate) fn failing(object: &GitRepository, kind: &str) -> bool {
    let ended = condition(object, "Stalled").is_some()
        || condition(object, "Reconciling").is_some_and(|found| found.reason == "ProgressingWithRetry");
    ended && condition(object, "Ready").is_some_and(Condition::is_false) && condition(object, kind).is_some()
}

#[tokio::test]
async fn every_bad_input_is_named_by_condition_reason_and_message() {
    // SRC-003, SRC-026 (as far as supported), SRC-027, SRC-057, COM-010, COM-016
    let Some(bench) = Bench::start(&["--concurrent=8"]).await else {
        return;
    };
    let open = GitServer::start().unwrap();
    let mut repository = open.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    let empty = open.create_repository("empty").unwrap();
    let locked = GitServer::start_with(&GitServerOptions {
        basic: Some(("user".into(), "right".into())),
        ..GitServerOptions::default()
    })
    .unwrap();
    let mut secret = locked.create_repository("app").unwrap();
    secret.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench
        .create_secret("wrong", &[("username", "user"), ("password", "wrong")])
        .await;
    bench.create_secret("half", &[("password", "right")]).await;
    let app = [
        ("githubAppID", "1"),
        ("githubAppPrivateKey", "k"),
        ("githubAppInstallationID", "2"),
    ];
    bench.create_secret("app", &app).await;
    bench.create_secret("empty-proxy", &[("username", "u")]).await;
    let nobody = format!("http://127.0.0.1:{}", free_port().unwrap());
    bench.create_secret("dead-proxy", &[("address", &nobody)]).await;

    let checkout = "failed to checkout and determine revision: ";
    let url = repository.url().to_owned();
    let gone = format!("{}/gone.git", open.url());
    let case = |name, url: &str, spec, reason, message: (String, &'static str), stalled| Case {
        name,
        url: url.to_owned(),
        spec,
        condition: "FetchFailed",
        reason,
        message,
        stalled,
    };
    let namespace = bench.namespace();
    let secret_ref = |name: &str| json!({"secretRef": {"name": name}});
    let cases = [
        case(
            "gone",
            &gone,
            json!({}),
            "GitOperationFailed",
            (
                format!("{checkout}unable to clone '{gone}': "),
                "repository not found: ",
            ),
            false,
        ),
        case(
            "no-branch",
            &url,
            json!({"ref": {"branch": "none"}}),
            "GitOperationFailed",
            (format!("{checkout}unable to clone '{url}': "), ""),
            false,
        ),
        case(
            "no-tag",
            &url,
            json!({"ref": {"tag": "v9"}}),
            "GitOperationFailed",
            (format!("{checkout}unable to clone '{url}': "), ""),
            false,
        ),
        case(
            "no-version",
            &url,
            json!({"ref": {"semver": ">=9"}}),
            "GitOperationFailed",
            (format!("{checkout}no match found for semver: >=9"), ""),
            false,
        ),
        case(
            "empty",
            empty.url(),
            json!({}),
            "EmptyGitRepository",
            ("git repository is empty".into(), ""),
            false,
        ),
        case(
            "anonymous",
            secret.url(),
            json!({}),
            "GitOperationFailed",
            (
                format!(
                    "{checkout}unable to clone '{}': authentication required",
                    secret.url()
                ),
                "",
            ),
            false,
        ),
        case(
            "wrong-password",
            secret.url(),
            secret_ref("wrong"),
            "GitOperationFailed",
            (
                format!(
                    "{checkout}unable to clone '{}': authentication required",
                    secret.url()
                ),
                "",
            ),
            false,
        ),
        case(
            "no-secret",
            secret.url(),
            secret_ref("none"),
            "AuthenticationFailed",
            (
                format!("failed to get secret '{namespace}/none': failed to get secret '{namespace}/none': "),
                "secrets \"none\" not found",
            ),
            false,
        ),
        case(
            "half-secret",
            secret.url(),
            secret_ref("half"),
            "AuthenticationFailed",
            (
                "failed to configure authentication options: ".into(),
                "'password' requires 'username' to be set",
            ),
            false,
        ),
        case(
            "no-proxy-secret",
            &url,
            json!({"proxySecretRef": {"name": "none"}}),
            "AuthenticationFailed",
            (
                format!("failed to configure proxy options: secret '{namespace}/none' not found"),
                "",
            ),
            false,
        ),
        case(
            "no-proxy-address",
            &url,
            json!({"proxySecretRef": {"name": "empty-proxy"}}),
            "AuthenticationFailed",
            (
                format!(
                    "failed to configure proxy options: secret '{namespace}/empty-proxy': key 'address' not found"
                ),
                "",
            ),
            false,
        ),
        case(
            "dead-proxy",
            &url,
            json!({"proxySecretRef": {"name": "dead-proxy"}}),
            "GitOperationFailed",
            (format!("{checkout}unable to clone '{url}': "), ""),
            false,
        ),
        case(
            "app-without-provider",
            &url,
            secret_ref("app"),
            "InvalidProviderConfiguration",
            (
                format!("secretRef '{namespace}/app' has github app data but provider is not set to github"),
                "",
            ),
            false,
        ),
        case(
            "provider-without-app",
            &url,
            json!({"provider": "github"}),
            "InvalidProviderConfiguration",
            (
                "secretRef with github app data must be specified when provider is set to github".into(),
                "",
            ),
            true,
        ),
        case(
            "bad-url",
            "https://exa mple/r",
            json!({}),
            "URLInvalid",
            ("failed to parse url".into(), ""),
            true,
        ),
        case(
            "identity",
            &url,
            json!({"provider": "aws", "serviceAccountName": "robot"}),
            "FeatureGateDisabled",
            (
                "to use spec.serviceAccountName for provider authentication please enable".into(),
                "",
            ),
            true,
        ),
    ];
    for case in &cases {
        bench.create(case.name, &case.url, case.spec.clone()).await;
    }
    for case in &cases {
        let object = bench
            .until(case.name, case.condition, |object| {
                failing(object, case.condition)
            })
            .await;
        let found = condition(&object, case.condition).unwrap();
        let context = format!("{}: {:#?}", case.name, conditions(&object));
        assert!(found.is_true(), "{context}");
        assert_eq!(found.reason, case.reason, "{context}");
        assert!(
            found.message.starts_with(&case.message.0) && found.message.ends_with(case.message.1),
            "{context}"
        );
        let ready = condition(&object, "Ready").unwrap();
        assert_eq!(
            (&ready.reason, &ready.message),
            (&found.reason, &found.message),
            "{context}"
        );
        let status = object.status.as_ref().unwrap();
        assert_eq!(status.artifact, None, "{context}");
        assert!(
            !format!("{:?}", conditions(&object)).contains("right"),
            "{context}"
        );
        if case.stalled {
            assert!(condition(&object, "Stalled").unwrap().is_true(), "{context}");
            assert!(condition(&object, "Reconciling").is_none(), "{context}");
            assert_eq!(status.observed_generation, Some(1), "{context}");
        } else {
            assert_eq!(
                condition(&object, "Reconciling").unwrap().reason,
                "ProgressingWithRetry",
                "{context}"
            );
            assert!(condition(&object, "Stalled").is_none(), "{context}");
            assert_eq!(status.observed_generation, Some(-1), "{context}");
        }
        let event = bench.event(case.name, case.reason).await;
        assert_eq!(event.type_.as_deref(), Some("Warning"), "{context}");
    }
}

#[tokio::test]
async fn a_fetch_larger_than_the_limit_is_refused() {
    let Some(bench) = Bench::start(&["--git-max-transfer-size=20000"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(100_000)
    .collect();
    repository.write("noise.bin", noise).unwrap();
    repository.commit("Add noise").unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let object = bench
        .until("app", "FetchFailed", |object| failing(object, "FetchFailed"))
        .await;
    let failed = condition(&object, "FetchFailed").unwrap();
    assert_eq!(failed.reason, "GitOperationFailed");
    for part in ["more than the limit of 20000 bytes", "--git-max-transfer-size"] {
        assert!(failed.message.contains(part), "{}", failed.message);
    }
    let left = std::fs::read_dir(bench.scratch())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for directory in left {
        assert_eq!(
            std::fs::read_dir(directory).unwrap().count(),
            0,
            "a failed fetch leaves nothing"
        );
    }
}

#[tokio::test]
async fn credentials_and_authorities_of_secrets_are_used() {
    // SRC-003, COM-033
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let certificates = Certificates::new().unwrap();
    let server = GitServer::start_with(&GitServerOptions {
        basic: Some(("user".into(), "pass".into())),
        bearer: Some("token".into()),
        tls: Some(certificates.clone()),
        client_certificates: false,
    })
    .unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    let authority = certificates.authority.as_str();
    let secrets: [(&str, &[(&str, &str)]); 4] = [
        (
            "basic",
            &[("username", "user"), ("password", "pass"), ("ca.crt", authority)],
        ),
        ("bearer", &[("bearerToken", "token"), ("ca.crt", authority)]),
        (
            "legacy",
            &[("username", "user"), ("password", "pass"), ("caFile", authority)],
        ),
        ("untrusted", &[("username", "user"), ("password", "pass")]),
    ];
    for (name, data) in secrets {
        bench.create_secret(name, data).await;
        bench
            .create(name, repository.url(), json!({"secretRef": {"name": name}}))
            .await;
    }
    for (name, _) in &secrets[..3] {
        bench.ready(name).await;
    }
    let object = bench
        .until("untrusted", "FetchFailed", |object| {
            failing(object, "FetchFailed")
        })
        .await;
    let failed = condition(&object, "FetchFailed").unwrap();
    assert_eq!(failed.reason, "GitOperationFailed");
    assert!(failed.message.contains("certificate"), "{}", failed.message);
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let certificates = Certificates::new().unwrap();
    let server = GitServer::start_with(&GitServerOptions {
        tls: Some(certificates.clone()),
        client_certificates: true,
        ..GitServerOptions::default()
    })
    .unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    let data = [
        ("ca.crt", certificates.authority.as_str()),
        ("tls.crt", certificates.client_certificate.as_str()),
        ("tls.key", certificates.client_key.as_str()),
    ];
    bench.create_secret("with", &data).await;
    bench.create_secret("without", &data[..1]).await;
    for name in ["with", "without"] {
        bench
            .create(name, repository.url(), json!({"secretRef": {"name": name}}))
            .await;
    }
    bench.ready("with").await;
    bench
        .until("without", "FetchFailed", |object| failing(object, "FetchFailed"))
        .await;
}

#[tokio::test]
async fn a_failure_keeps_the_artifact_and_its_end_is_an_event() {
    // SRC-054, COM-010, COM-016
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let before = artifact(&bench.ready("app").await);

    bench.patch_spec("app", json!({"ref": {"branch": "none"}})).await;
    let object = bench
        .until("app", "FetchFailed", |object| failing(object, "FetchFailed"))
        .await;
    assert_eq!(artifact(&object), before);
    assert!(condition(&object, "ArtifactInStorage").unwrap().is_true());
    assert_eq!(
        condition(&object, "Reconciling").unwrap().reason,
        "ProgressingWithRetry"
    );
    assert_eq!(object.status.as_ref().unwrap().observed_generation, Some(1));

    bench.patch_spec("app", json!({"ref": {"branch": "main"}})).await;
    let object = bench.ready("app").await;
    assert_eq!(artifact(&object), before);
    assert_eq!(object.status.as_ref().unwrap().observed_generation, Some(3));
    assert!(condition(&object, "FetchFailed").is_none());
    let event = bench.event("app", "Succeeded").await;
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    assert_eq!(bench.count_events("app", "NewArtifact").await, 1);
}

#[tokio::test]
async fn a_stalled_object_waits_for_a_change() {
    // SRC-057, COM-005
    let Some(bench) = Bench::start(&["--min-retry-delay=1ms", "--max-retry-delay=10ms"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench
        .create(
            "app",
            repository.url(),
            json!({"provider": "github", "interval": "1s"}),
        )
        .await;
    let stalled = bench
        .until("app", "Stalled", |object| failing(object, "FetchFailed"))
        .await;
    // A request is answered even so, and changes nothing but that.
    let answered = bench.reconcile("app").await;
    assert_eq!(conditions(&answered), conditions(&stalled));
    assert_eq!(server.requests(&repository, Operation::Refs).unwrap(), 0);
    // Another object is ready in the meantime: nothing hinders the first but its own state.
    bench.create("other", repository.url(), json!({})).await;
    bench.ready("other").await;
    let log = bench.log();
    let stalls = log
        .lines()
        .filter(|line| line.contains("\"name\":\"app\"") && line.contains("error"))
        .count();
    assert!(
        stalls <= 4,
        "a stalled object is not tried again by itself:\n{log}"
    );

    bench.patch_spec("app", json!({"provider": "generic"})).await;
    let object = bench.ready("app").await;
    assert!(condition(&object, "Stalled").is_none() && condition(&object, "FetchFailed").is_none());
}
