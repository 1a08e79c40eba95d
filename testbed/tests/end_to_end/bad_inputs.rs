//! What users get wrong, and what the status then says: COM-010, COM-016, KUS-018, KUS-019, KUS-020, KUS-021,
//! KUS-050, KUS-060.

use serde_json::{Value, json};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::{GitServer, GitServerOptions};
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;

/// One mistake and its answer.
struct Case {
    name: &'static str,
    /// Changes to the spec of an object that would be right.
    change: Value,
    reason: &'static str,
    /// What the message must name.
    message: Vec<String>,
}

fn case(name: &'static str, change: Value, reason: &'static str, message: &[&str]) -> Case {
    Case {
        name,
        change,
        reason,
        message: message.iter().map(|&text| text.to_owned()).collect(),
    }
}

fn merge(into: &mut Value, changes: &Value) {
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(into.as_object_mut().unwrap().remove(key)),
            value => into[key] = value.clone(),
        }
    }
}

/// Waits for the failure of an object and compares it with what the case says.
async fn assert_fails(api: &kube::Api<Object>, case: &Case) -> Object {
    let failed = wait::until(api, case.name, LIMIT, "Ready=False", wait::is_failed)
        .await
        .unwrap();
    let (reason, message) = (
        condition_text(&failed, "Ready", "reason"),
        condition_text(&failed, "Ready", "message"),
    );
    assert_eq!(reason, case.reason, "{}: {message}", case.name);
    for part in &case.message {
        assert!(
            message.contains(part),
            "{}: {part:?} is not in the message: {message}",
            case.name
        );
    }
    let observed = failed.data["status"]["observedGeneration"].as_i64().unwrap();
    assert!(
        observed < failed.metadata.generation.unwrap(),
        "{}: a failure is not observed",
        case.name
    );
    failed
}

const UNPRIVILEGED: &str = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: unprivileged\n";
const BROKEN: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [unclosed\n";
const INVALID: &str =
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n    - port: 99999\n";

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_kustomizations_are_named() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("mistakes").await.unwrap();
    let here = namespace.name();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("mistakes").unwrap();
    let map = config_map_yaml("twin", 1);
    let files = [
        ("good/map.yaml", config_map_yaml("good", 1)),
        ("broken/map.yaml", BROKEN.to_owned()),
        ("invalid/service.yaml", INVALID.to_owned()),
        ("twins/first.yaml", map.clone()),
        ("twins/second.yaml", map.clone()),
        ("forbidden/map.yaml", map.clone()),
        ("homeless/map.yaml", map),
        ("accounts/unprivileged.yaml", UNPRIVILEGED.to_owned()),
        ("unset/map.yaml", config_map_yaml("unset", "${nowhere}")),
    ];
    for (path, content) in &files {
        repository.write(path, content).unwrap();
    }
    let commit = repository.commit("Mistakes").unwrap();
    let settings = Settings::within(plane.kubeconfig(), here);
    let storage = tempfile::tempdir().unwrap();
    let _source = Controller::source(&settings, storage.path(), &[]);
    let _kustomize = Controller::kustomize(&settings, &[]);
    let sources = git_repositories(&client, here);
    let objects = kustomizations(&client, here);
    apply(&sources, &git_repository("mistakes", repository.url())).await;
    for name in ["accounts", "good"] {
        apply(&objects, &kustomization(name, "mistakes", name, here)).await;
        wait::until_ready(&objects, name, LIMIT).await.unwrap();
    }

    let account = format!("system:serviceaccount:{here}:unprivileged");
    let no_variables = json!({"postBuild": {"substitute": {"somewhere": "x"}}});
    let cases = [
        case(
            "missing",
            json!({"path": "not/there"}),
            "ArtifactFailed",
            &["kustomization path not found", "not/there"],
        ),
        case("broken", json!({}), "BuildFailed", &["map.yaml"]),
        case("twins", json!({}), "BuildFailed", &["twin", "ConfigMap"]),
        case(
            "unset",
            no_variables,
            "BuildFailed",
            &["variable not set (strict mode)", "nowhere"],
        ),
        case(
            "homeless",
            json!({"targetNamespace": null}),
            "ReconciliationFailed",
            &["namespace not specified", "ConfigMap/twin"],
        ),
        case(
            "invalid",
            json!({}),
            "ReconciliationFailed",
            &["dry-run failed (Invalid)", "Service/", "99999"],
        ),
        case(
            "forbidden",
            json!({"serviceAccountName": "unprivileged"}),
            "ReconciliationFailed",
            &["forbidden", &account],
        ),
        case(
            "sourceless",
            json!({"sourceRef": {"kind": "GitRepository", "name": "absent"}}),
            "ArtifactFailed",
            &["GitRepository", "\"absent\" not found"],
        ),
    ];
    for case in &cases {
        let mut object = kustomization(case.name, "mistakes", case.name, here);
        merge(&mut object["spec"], &case.change);
        apply(&objects, &object).await;
    }
    for case in &cases {
        let failed = assert_fails(&objects, case).await;
        assert!(
            inventory(&failed).is_empty(),
            "{}: nothing was applied",
            case.name
        );
    }
    let owned = owned_config_maps(&client, here, here).await;
    assert_eq!(names(&owned), ["good".to_owned()].into(), "at revision {commit}");

    // A mistake that is made good is gone: the path appears with the next commit.
    let next = repository
        .commit_files("Found", &[("not/there/map.yaml", &config_map_yaml("found", 1))])
        .unwrap();
    request(&sources, "mistakes").await;
    let next = revision(&next);
    wait::until(&objects, "missing", LIMIT, "Ready", |object| {
        has_applied(object, &next)
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_git_repositories_are_named() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("remotes").await.unwrap();
    let here = namespace.name();
    let client = plane.client().await.unwrap();
    let options = GitServerOptions {
        basic: Some(("git".into(), "right".into())),
        ..Default::default()
    };
    let git = GitServer::start_with(&options).unwrap();
    let mut repository = git.create_repository("closed").unwrap();
    let commit = repository
        .commit_files("One", &[("map.yaml", &config_map_yaml("one", 1))])
        .unwrap();
    let settings = Settings::within(plane.kubeconfig(), here);
    let storage = tempfile::tempdir().unwrap();
    let _source = Controller::source(&settings, storage.path(), &[]);
    let secrets = secrets(&client, here);
    for (name, password) in [("right", "right"), ("wrong", "a-wrong-password")] {
        let data = json!({"username": "git", "password": password});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        apply(&secrets, &secret).await;
    }

    let gone = format!("{}/gone.git", git.url());
    let url = repository.url();
    let right = json!({"name": "right"});
    let absent = format!("{here}/absent");
    let cases = [
        case(
            "credentials",
            json!({"secretRef": {"name": "wrong"}}),
            "GitOperationFailed",
            &["failed to checkout and determine revision", url],
        ),
        case("anonymous", json!({}), "GitOperationFailed", &[url]),
        case(
            "secretless",
            json!({"secretRef": {"name": "absent"}}),
            "AuthenticationFailed",
            &[&absent],
        ),
        case(
            "gone",
            json!({"url": gone, "secretRef": right}),
            "GitOperationFailed",
            &[&gone],
        ),
        case(
            "branch",
            json!({"ref": {"branch": "absent"}, "secretRef": right}),
            "GitOperationFailed",
            &["absent"],
        ),
        case(
            "nobody",
            json!({"url": "http://127.0.0.1:1/x.git"}),
            "GitOperationFailed",
            &["127.0.0.1:1"],
        ),
    ];
    let sources = git_repositories(&client, here);
    for case in &cases {
        let mut object = git_repository(case.name, url);
        merge(&mut object["spec"], &case.change);
        apply(&sources, &object).await;
    }
    for case in &cases {
        let failed = assert_fails(&sources, case).await;
        assert!(failed.data["status"]["artifact"].is_null(), "{}", case.name);
        assert_eq!(
            condition_text(&failed, "FetchFailed", "status"),
            "True",
            "{}",
            case.name
        );
        assert_eq!(
            condition_text(&failed, "Reconciling", "reason"),
            "ProgressingWithRetry",
            "{}",
            case.name
        );
        let text = serde_json::to_string(&failed).unwrap();
        assert!(!text.contains("a-wrong-password"), "a secret is told: {text}");
    }

    // Made good, it works: the secret is read anew.
    let data = json!({"username": "git", "password": "right"});
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wrong"}, "stringData": data});
    apply(&secrets, &secret).await;
    request(&sources, "credentials").await;
    let revision = revision(&commit);
    wait::until(&sources, "credentials", LIMIT, "fetched", |object| {
        has_fetched(object, &revision)
    })
    .await
    .unwrap();
}
