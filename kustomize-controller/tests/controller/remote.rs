//! Clusters that a Kustomization reaches by `spec.kubeConfig`.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::{Value, json};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::tools;

use crate::harness::{Cluster, config_map, inventory, message};

/// The kubeconfig of a control plane as JSON, with everything embedded.
fn kubeconfig(plane: &ControlPlane) -> Value {
    let view = ["config", "view", "--raw", "--flatten", "--minify", "-o", "json"];
    serde_json::from_str(&plane.kubectl(&view).unwrap()).unwrap()
}

fn create_secret(cluster: &Cluster, name: &str, key: &str, content: &Value) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: content.to_string()},
    });
    cluster.kubectl_with(&["apply", "-f", "-"], &secret.to_string());
}

/// KUS-059: objects land in the cluster of the kubeconfig, are watched over there, and go from there.
#[tokio::test]
async fn kus_059_a_kubeconfig_leads_to_another_cluster() {
    let Some(cluster) = Cluster::new("remote").await else {
        return;
    };
    let Some(remote) = tools::require_or_skip(ControlPlane::start()) else {
        return;
    };
    let config = kubeconfig(&remote);
    create_secret(&cluster, "whole", "value.yaml", &config);
    create_secret(&cluster, "keyed", "other", &config);
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let spec = |secret: Value| json!({"targetNamespace": "default", "wait": true, "kubeConfig": {"secretRef": secret}});
    cluster.create("apps", spec(json!({"name": "whole"}))).await;
    let object = cluster.applied("apps", "main@sha1:1").await;
    assert_eq!(inventory(&object), ["default_a__ConfigMap"]);
    let there: Api<ConfigMap> = Api::namespaced(remote.client().await.unwrap(), "default");
    let here: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "default");
    let applied = there.get("a").await.unwrap();
    assert_eq!(
        applied.metadata.labels.unwrap()["kustomize.toolkit.fluxcd.io/name"],
        "apps"
    );
    assert!(here.get_opt("a").await.unwrap().is_none());

    // Impersonation takes place over there, where nobody has given the account any rights.
    let mut limited = spec(json!({"name": "keyed", "key": "other"}));
    limited["serviceAccountName"] = "deployer".into();
    cluster.create("limited", limited).await;
    let object = cluster.failed("limited", "ReconciliationFailed").await;
    let user = format!("system:serviceaccount:{}:deployer", cluster.namespace());
    assert!(message(&object).contains(&user), "{}", message(&object));

    cluster.delete("apps").await;
    assert!(there.get_opt("a").await.unwrap().is_none());
    cluster.delete("limited").await;
    remote.stop().unwrap();
}

/// KUS-059: what is wrong with a kubeconfig is said, and programs that it names are not run.
#[tokio::test]
async fn kus_059_a_kubeconfig_is_refused_for_what_it_asks() {
    let Some(cluster) = Cluster::new("kubeconfig").await else {
        return;
    };
    let witness = tempfile::tempdir().unwrap();
    let file = witness.path().join("ran");
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [file], "interactiveMode": "Never",
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"exec": exec}}],
    });
    create_secret(&cluster, "program", "value", &config);
    create_secret(&cluster, "empty", "nothing", &json!({}));
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let namespace = cluster.namespace();
    for (secret, problem) in [
        (
            "program",
            "which only runs with the flag --insecure-kubeconfig-exec".to_owned(),
        ),
        (
            "empty",
            format!("KubeConfig secret '{namespace}/empty' does not contain a 'value' key with a kubeconfig"),
        ),
        (
            "missing",
            format!(
                "unable to read KubeConfig secret '{namespace}/missing' error: secrets \"missing\" not found"
            ),
        ),
    ] {
        let reference = json!({"secretRef": {"name": secret}});
        cluster
            .create(
                secret,
                json!({"targetNamespace": namespace, "kubeConfig": reference}),
            )
            .await;
        let object = cluster.failed(secret, "ReconciliationFailed").await;
        assert!(message(&object).contains(&problem), "{}", message(&object));
        assert!(inventory(&object).is_empty());
    }
    cluster.event("missing", "failed to build kube client: ").await;
    assert!(!file.exists(), "the program was run");
}

/// KUS-059: a ConfigMap names the cluster, and the identity is that of a service account.
#[tokio::test]
async fn kus_059_a_config_map_gives_the_rights_of_a_service_account() {
    let flags = ["--feature-gates=ObjectLevelWorkloadIdentity=true"];
    let Some(cluster) = Cluster::with_flags("generic", &flags).await else {
        return;
    };
    let Some(closed) = Cluster::new("generic").await else {
        return;
    };
    let config = kubeconfig(ControlPlane::shared().unwrap());
    let server = &config["clusters"][0]["cluster"];
    let certificate = server["certificate-authority-data"].as_str().unwrap();
    let certificate = base64_text(certificate);
    for one in [&cluster, &closed] {
        let description = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster"},
            "data": {
                "provider": "generic", "address": server["server"], "ca.crt": certificate,
                "audiences": "https://kubernetes.default.svc\n", "serviceAccountName": "deployer",
            },
        });
        one.kubectl_with(&["apply", "-f", "-"], &description.to_string());
        one.push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
            .await;
        let reference = json!({"configMapRef": {"name": "cluster"}});
        one.create(
            "apps",
            json!({"targetNamespace": one.namespace(), "kubeConfig": reference}),
        )
        .await;
    }
    let object = closed.failed("apps", "ReconciliationFailed").await;
    assert_eq!(
        message(&object),
        "failed to get access token for cluster: ObjectLevelWorkloadIdentity feature gate is not enabled"
    );
    let namespace = cluster.namespace();
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    assert_eq!(
        message(&object),
        format!(
            "failed to get access token for cluster: failed to get service account '{namespace}/deployer': \
             serviceaccounts \"deployer\" not found"
        )
    );
    cluster.kubectl(&["create", "serviceaccount", "deployer"]);
    cluster.reconcile("apps").await;
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    let user = format!("User \"system:serviceaccount:{namespace}:deployer\" cannot patch");
    assert!(message(&object).contains(&user), "{}", message(&object));
    cluster.kubectl(&["create", "role", "deployer", "--verb=*", "--resource=configmaps"]);
    let account = format!("--serviceaccount={namespace}:deployer");
    cluster.kubectl(&["create", "rolebinding", "deployer", "--role=deployer", &account]);
    cluster.reconcile("apps").await;
    cluster.ready("apps").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("1"));
}

fn base64_text(text: &str) -> String {
    use base64::Engine as _;
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
}
