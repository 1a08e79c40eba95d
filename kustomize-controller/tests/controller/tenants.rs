//! Attempts of a tenant to get out of its namespace, against a controller that is locked down as Flux's guide
//! to multi-tenancy has it: each is denied for the documented reason, and nothing elsewhere has changed.

use std::fmt::Write as _;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use sluice_api::meta::ConditionStatus;
use sluice_testbed::control_plane::Namespace;

use crate::harness::{Cluster, condition, config_map, message};

const LOCKDOWN: [&str; 3] = [
    "--no-cross-namespace-refs",
    "--no-remote-bases",
    "--default-service-account=default",
];

/// One attempt: what the tenant pushes and asks for, and the answer.
struct Attempt {
    name: String,
    files: Vec<(String, String)>,
    spec: Value,
    reason: &'static str,
    /// Texts that the message must contain.
    says: Vec<String>,
}

fn attempt(name: &str, files: &[(&str, &str)], spec: Value, reason: &'static str, says: &[&str]) -> Attempt {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    Attempt {
        name: name.to_owned(),
        files: files.iter().map(owned).collect(),
        spec,
        reason,
        says: says.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// The tenant's namespace and account, and what the tenant is after.
struct Tenancy {
    cluster: Cluster,
    victim: Namespace,
}

impl Tenancy {
    async fn new() -> Option<Self> {
        let cluster = Cluster::with_flags("tenant", &LOCKDOWN).await?;
        let victim = cluster.plane.namespace("victim").await.unwrap();
        cluster.kubectl(&["create", "serviceaccount", "deployer"]);
        let account = format!("--serviceaccount={}:deployer", cluster.namespace());
        cluster.kubectl(&[
            "create",
            "rolebinding",
            "deployer",
            "--clusterrole=admin",
            &account,
        ]);
        let prize = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "prize"}, "stringData": {"password": "swordfish"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "prize"}, "data": {"key": "untouched"}},
        ]});
        let arguments = ["-n", victim.name(), "apply", "-f", "-"];
        cluster
            .plane
            .kubectl_with_input(&arguments, &prize.to_string())
            .unwrap();
        Some(Self { cluster, victim })
    }

    /// Everything in the victim's namespace that a Kustomization could reach, with its version.
    async fn loot(&self) -> String {
        let (client, namespace) = (&self.cluster.client, self.victim.name());
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let mut all = String::new();
        for secret in secrets.list(&ListParams::default()).await.unwrap() {
            writeln!(
                all,
                "Secret/{} {:?}",
                secret.name_any(),
                secret.resource_version()
            )
            .unwrap();
        }
        for map in maps.list(&ListParams::default()).await.unwrap() {
            writeln!(all, "ConfigMap/{} {:?}", map.name_any(), map.resource_version()).unwrap();
        }
        all
    }

    async fn make(&self, attempt: &Attempt, at: usize) -> String {
        let name = format!("attempt{at}");
        let files: Vec<(&str, &str)> = attempt
            .files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        self.cluster.push(&name, "main@sha1:1", &files).await;
        let mut spec = json!({
            "sourceRef": {"kind": "GitRepository", "name": name},
            "serviceAccountName": "deployer",
            "timeout": "3s",
        });
        let wanted = attempt.spec.as_object().cloned().unwrap();
        spec.as_object_mut().unwrap().extend(wanted);
        self.cluster.create(&name, spec).await;
        name
    }

    /// A kubeconfig of this very cluster, as a Secret of the tenant.
    fn kubeconfig(&self, name: &str, user: &Value) {
        let view = ["config", "view", "--raw", "--flatten", "--minify", "-o", "json"];
        let admin: Value = serde_json::from_str(&self.cluster.kubectl(&view)).unwrap();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": admin["clusters"][0]["cluster"]}],
            "users": [{"name": "u", "user": user}],
        });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {"value": config.to_string()},
        });
        self.cluster
            .kubectl_with(&["apply", "-f", "-"], &secret.to_string());
    }
}

/// What the account is not allowed to write.
fn writes(own: &str, victim: &str) -> Vec<Attempt> {
    let good = config_map("a", "1");
    let elsewhere =
        config_map("prize", "stolen").replace("name: prize", &format!("name: prize\n  namespace: {victim}"));
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: tenant-is-admin}\n\
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n\
        subjects: [{kind: User, name: tenant}]\n";
    let escalation = binding.replace("ClusterRoleBinding", "RoleBinding").replace(
        "name: tenant-is-admin",
        &format!("name: escalation, namespace: {own}"),
    );
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: tenant-made-this}\n";
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: tenant-made-this}\n\
        rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n";
    let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: tenant-made-this}\nvalue: 1000000\n";
    let webhook = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
        metadata: {name: tenant-made-this}\n";
    let denied = |user: &str| format!("User \"system:serviceaccount:{own}:{user}\" cannot");
    let (deployer, nobody) = (denied("deployer"), denied("default"));
    let failed = "ReconciliationFailed";
    let forbidden = |name: &str, file: &str, spec: Value, user: &str| {
        attempt(name, &[("a.yaml", file)], spec, failed, &["(Forbidden)", user])
    };
    let kustomized = format!("namespace: {victim}\nresources: [a.yaml]\n");
    vec![
        forbidden("namespace in the manifest", &elsewhere, json!({}), &deployer),
        forbidden(
            "target namespace",
            &good,
            json!({"targetNamespace": victim}),
            &deployer,
        ),
        attempt(
            "namespace in the kustomization",
            &[("a.yaml", &good), ("kustomization.yaml", &kustomized)],
            json!({}),
            failed,
            &["(Forbidden)", &deployer],
        ),
        forbidden("binding for the cluster", binding, json!({}), &deployer),
        attempt(
            "binding to more than the own rights",
            &[("a.yaml", &escalation)],
            json!({}),
            failed,
            &[
                "(Forbidden)",
                "is attempting to grant RBAC permissions not currently held",
            ],
        ),
        forbidden("namespace of its own", namespace, json!({}), &deployer),
        forbidden("role for the cluster", role, json!({}), &deployer),
        forbidden("class for the cluster", class, json!({}), &deployer),
        forbidden("webhook for the cluster", webhook, json!({}), &deployer),
        forbidden(
            "no account named",
            &good,
            json!({"targetNamespace": own, "serviceAccountName": null}),
            &nobody,
        ),
        forbidden(
            "account of another namespace",
            &good,
            json!({"targetNamespace": own, "serviceAccountName": "kube-system:admin"}),
            &denied("kube-system:admin"),
        ),
        forbidden(
            "account by a path",
            &good,
            json!({"targetNamespace": own, "serviceAccountName": "../kube-system"}),
            &denied("../kube-system"),
        ),
    ]
}

/// What may not be referred to, and what is not read for a tenant.
fn references(own: &str, victim: &str) -> Vec<Attempt> {
    let good = config_map("a", "1");
    let files: &[(&str, &str)] = &[("a.yaml", &good)];
    let substitution = |kind: &str, name: &str| json!({"targetNamespace": own, "postBuild": {"substituteFrom": [{"kind": kind, "name": name}]}});
    let check = |version: &str, kind: &str| {
        json!({"targetNamespace": own, "healthChecks": [
            {"apiVersion": version, "kind": kind, "name": "prize", "namespace": victim},
        ]})
    };
    vec![
        attempt(
            "source of another namespace",
            files,
            json!({"sourceRef": {"kind": "GitRepository", "name": "source", "namespace": victim}}),
            "AccessDenied",
            &["cross-namespace references have been blocked"],
        ),
        attempt(
            "bucket of another namespace",
            files,
            json!({"sourceRef": {"kind": "Bucket", "name": "source", "namespace": victim}}),
            "AccessDenied",
            &["cross-namespace references have been blocked"],
        ),
        attempt(
            "artifact that anybody may write",
            files,
            json!({"sourceRef": {"kind": "ExternalArtifact", "name": "source"}}),
            "AccessDenied",
            &["ExternalArtifact feature gate is disabled"],
        ),
        attempt(
            "variables from a Secret of another namespace",
            files,
            substitution("Secret", &format!("{victim}/prize")),
            "BuildFailed",
            &["substitute from 'Secret/"],
        ),
        attempt(
            "variables from a Secret by a path",
            files,
            substitution("Secret", &format!("../../{victim}/secrets/prize")),
            "BuildFailed",
            &["substitute from 'Secret/"],
        ),
        attempt(
            "variables from a ConfigMap by a path",
            files,
            substitution("ConfigMap", &format!("../../{victim}/configmaps/prize")),
            "BuildFailed",
            &["substitute from 'ConfigMap/"],
        ),
        attempt(
            "health of a foreign Secret",
            files,
            check("v1", "Secret"),
            "HealthCheckFailed",
            &["prize"],
        ),
        attempt(
            "health of a foreign Deployment",
            files,
            check("apps/v1", "Deployment"),
            "HealthCheckFailed",
            &["prize"],
        ),
    ]
}

/// Files outside the artifact, and programs.
fn builds() -> Vec<Attempt> {
    let good = config_map("a", "1");
    let build = |name: &str, text: &str, says: &[&str]| {
        let files = [("a.yaml", good.as_str()), ("kustomization.yaml", text)];
        attempt(name, &files, json!({}), "BuildFailed", says)
    };
    let remote = |name: &str, base: &str| build(name, &format!("resources: ['{base}']\n"), &[base]);
    let mut attempts = vec![
        remote("remote base", "https://git.example.com/tenant/base?ref=main"),
        remote("remote base over SSH", "ssh://git@git.example.com/tenant/base"),
        remote("remote base on this machine", "file:///tmp/base"),
        remote("remote file", "http://127.0.0.1:1/latest/meta-data.yaml"),
        build(
            "remote component",
            "components: ['https://git.example.com/tenant/component']\n",
            &["git.example.com"],
        ),
        build(
            "file above",
            "resources: [../../../../../etc/passwd]\n",
            &["etc/passwd"],
        ),
        build("absolute file", "resources: [/etc/passwd]\n", &["etc/passwd"]),
        build(
            "token of the controller",
            "configMapGenerator: [{name: t, files: [/var/run/secrets/kubernetes.io/serviceaccount/token]}]\n",
            &["serviceaccount/token"],
        ),
        build(
            "environment of the controller",
            "secretGenerator: [{name: t, files: [../../../../proc/self/environ]}]\n",
            &["proc/self/environ"],
        ),
        build(
            "variables of the controller",
            "configMapGenerator: [{name: t, envs: [/proc/self/environ]}]\n",
            &["proc/self/environ"],
        ),
        build(
            "patch above",
            "resources: [a.yaml]\npatches: [{path: ../../etc/patch.yaml}]\n",
            &["etc/patch.yaml"],
        ),
        build(
            "schema above",
            "resources: [a.yaml]\nopenapi: {path: ../../etc/schema.json}\n",
            &["etc/schema.json"],
        ),
        build(
            "replacement above",
            "resources: [a.yaml]\nreplacements: [{path: /etc/replacement.yaml}]\n",
            &["etc/replacement.yaml"],
        ),
        build(
            "settings above",
            "resources: [a.yaml]\nconfigurations: [/etc/settings.yaml]\n",
            &["etc/settings.yaml"],
        ),
        build(
            "charts",
            "helmCharts: [{name: c, repo: 'https://charts.example.com'}]\n",
            &["helm"],
        ),
        build(
            "program as a transformer",
            "resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: v1\n  kind: Program\n  metadata:\n    name: p\n    \
                annotations:\n      config.kubernetes.io/function: |\n        exec: {path: /bin/sh}\n",
            &["Program"],
        ),
    ];
    for (name, path) in [
        ("path above", "../../../../../etc"),
        ("path in the middle", "./apps/../../../etc"),
        ("absolute path", "/etc"),
    ] {
        let files = [("a.yaml", good.as_str())];
        let says = ["kustomization path not found"];
        attempts.push(attempt(
            name,
            &files,
            json!({"path": path}),
            "ArtifactFailed",
            &says,
        ));
    }
    attempts
}

/// Kubeconfigs that ask for something of the controller.
fn kubeconfigs(tenancy: &Tenancy) -> Vec<Attempt> {
    let token = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    let program = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "cat", "args": [token], "interactiveMode": "Never",
    });
    let good = config_map("a", "1");
    let mut attempts = Vec::new();
    for (name, user, says) in [
        ("exec", json!({"exec": program}), "exec"),
        ("token-file", json!({"tokenFile": token}), "file"),
        (
            "key-file",
            json!({"client-certificate": "/etc/tls.crt", "client-key": "/etc/tls.key"}),
            "file",
        ),
        // Nothing of the controller's own credentials goes along.
        ("anonymous", json!({}), "anonymous"),
        (
            "impersonating",
            json!({"as": "system:admin", "as-groups": ["system:masters"]}),
            "anonymous",
        ),
    ] {
        tenancy.kubeconfig(name, &user);
        let spec = json!({
            "targetNamespace": tenancy.victim.name(), "kubeConfig": {"secretRef": {"name": name}}, "serviceAccountName": null,
        });
        let files = [("a.yaml", good.as_str())];
        attempts.push(attempt(name, &files, spec, "ReconciliationFailed", &[says]));
    }
    let foreign = format!("../../{}/secrets/prize", tenancy.victim.name());
    let spec = json!({"kubeConfig": {"secretRef": {"name": foreign}}});
    let files = [("a.yaml", good.as_str())];
    attempts.push(attempt(
        "foreign kubeconfig",
        &files,
        spec,
        "ReconciliationFailed",
        &["prize"],
    ));
    attempts
}

/// KUS-029, KUS-030, KUS-060, KUS-061, COM-032: more than thirty ways out, all closed.
#[tokio::test]
async fn a_tenant_stays_in_its_namespace() {
    let Some(tenancy) = Tenancy::new().await else {
        return;
    };
    let (own, victim) = (tenancy.cluster.namespace(), tenancy.victim.name());
    let before = tenancy.loot().await;
    let mut attempts = writes(own, victim);
    attempts.extend(references(own, victim));
    attempts.extend(builds());
    attempts.extend(kubeconfigs(&tenancy));
    assert!(attempts.len() > 30, "{}", attempts.len());
    let mut names = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        names.push(tenancy.make(attempt, at).await);
    }
    let mut wrong = String::new();
    for (attempt, name) in attempts.iter().zip(&names) {
        let object = tenancy
            .cluster
            .until(name, &attempt.name, |object| {
                condition(object, "Ready").is_some_and(|ready| ready.status != ConditionStatus::Unknown)
            })
            .await;
        let ready = condition(&object, "Ready").unwrap();
        let silent = attempt
            .says
            .iter()
            .any(|text| !message(&object).contains(text.as_str()));
        if ready.is_true()
            || ready.reason != attempt.reason
            || silent
            || message(&object).contains("swordfish")
        {
            writeln!(wrong, "{}: {} {}", attempt.name, ready.reason, ready.message).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(tenancy.loot().await, before);
    let bindings: Api<ClusterRoleBinding> = Api::all(tenancy.cluster.client.clone());
    assert!(bindings.get_opt("tenant-is-admin").await.unwrap().is_none());
}

/// KUS-013, KUS-016: an inventory that the tenant has written leads to nothing that is not its own.
#[tokio::test]
async fn a_forged_inventory_deletes_nothing() {
    let Some(tenancy) = Tenancy::new().await else {
        return;
    };
    let cluster = &tenancy.cluster;
    let before = tenancy.loot().await;
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let spec = json!({"targetNamespace": cluster.namespace(), "serviceAccountName": "deployer"});
    cluster.create("apps", spec).await;
    cluster.ready("apps").await;
    let own = format!("{}_a__ConfigMap", cluster.namespace());
    let entry = |kind: &str| json!({"id": format!("{}_prize__{kind}", tenancy.victim.name()), "v": "v1"});
    let own = json!([{"id": own, "v": "v1"}]);
    let forged = json!([own[0], entry("Secret"), entry("ConfigMap")]);
    let kustomizations = cluster.kustomizations();
    let list = async |entries: &Value| {
        let status = json!({"status": {"inventory": {"entries": entries}}});
        kustomizations
            .patch_status("apps", &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
    };
    list(&forged).await;
    let object = cluster.reconcile("apps").await;
    assert_eq!(condition(&object, "Ready").unwrap().reason, "PruneFailed");
    let denied = format!(
        "User \"system:serviceaccount:{}:deployer\" cannot",
        cluster.namespace()
    );
    assert!(message(&object).contains(&denied), "{}", message(&object));
    assert_eq!(tenancy.loot().await, before, "after a reconcile");

    // A deletion stays until somebody has put the inventory right.
    list(&forged).await;
    kustomizations
        .delete("apps", &DeleteParams::default())
        .await
        .unwrap();
    cluster.event("apps", &denied).await;
    assert_eq!(tenancy.loot().await, before, "after the deletion");
    list(&own).await;
    cluster.delete("apps").await;
    assert_eq!(cluster.data("a", "key").await, None, "its own went with it");
    assert_eq!(tenancy.loot().await, before, "after the end");
}
