//! `sluice tree`, `trace`, `events` and `stats` on objects whose status is known.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::objects::{GIT, HELM_REPOSITORY, KUSTOMIZATION, api, create};
use crate::support::{Sluice, shared};

const RELEASE: (&str, &str, &str) = ("helm.toolkit.fluxcd.io/v2", "HelmRelease", "helmreleases");
const CHART: (&str, &str, &str) = ("source.toolkit.fluxcd.io/v1", "HelmChart", "helmcharts");
const SECRET: (&str, &str, &str) = ("v1", "Secret", "secrets");
const CONFIG_MAP: (&str, &str, &str) = ("v1", "ConfigMap", "configmaps");
const EVENT: (&str, &str, &str) = ("v1", "Event", "events");

fn ready(message: &str) -> Value {
    json!([{"type": "Ready", "status": "True", "reason": "Succeeded", "message": message,
        "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1}])
}

/// A record as Helm keeps it: JSON, compressed, as base64.
fn record(manifest: &str) -> String {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder
        .write_all(
            json!({"name": "app", "manifest": manifest})
                .to_string()
                .as_bytes(),
        )
        .unwrap();
    BASE64.encode(encoder.finish().unwrap())
}

/// CLI-018, CLI-019
#[tokio::test(flavor = "multi_thread")]
async fn trees_and_traces_go_through_kustomizations_and_releases() {
    let Some(plane) = shared().await else { return };
    let namespace = plane.namespace("reading").await.unwrap();
    let own = namespace.name();
    let client = plane.client().await.unwrap();
    let inventory = |ids: &[String]| {
        let entries: Vec<Value> = ids.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
        json!({"inventory": {"entries": entries}, "lastAppliedRevision": "main@sha1:0", "conditions": ready("Applied")})
    };
    let spec = json!({"interval": "1m", "prune": true, "path": "./clusters",
        "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
    let kustomizations = api(&client, own, KUSTOMIZATION);
    let root = [
        format!("_{own}__Namespace"),
        format!("{own}_root_kustomize.toolkit.fluxcd.io_Kustomization"),
        format!("{own}_child_kustomize.toolkit.fluxcd.io_Kustomization"),
        format!("{own}_gone_kustomize.toolkit.fluxcd.io_Kustomization"),
        format!("{own}_fleet_source.toolkit.fluxcd.io_GitRepository"),
        "_system__view_rbac.authorization.k8s.io_ClusterRole".to_owned(),
    ];
    create(
        &kustomizations,
        KUSTOMIZATION,
        "root",
        spec.clone(),
        inventory(&root),
    )
    .await;
    let child = [
        format!("{own}_app_helm.toolkit.fluxcd.io_HelmRelease"),
        // The child applies its own parent: the tree ends there.
        format!("{own}_root_kustomize.toolkit.fluxcd.io_Kustomization"),
        format!("{own}_settings__ConfigMap"),
    ];
    create(&kustomizations, KUSTOMIZATION, "child", spec, inventory(&child)).await;
    create_release(&client, own).await;

    let sluice = Sluice::within(plane, own);
    let ended = sluice.run(&["tree", "kustomization", "root"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            0,
            "⚠ Kustomization/NS/gone is in the inventory but not in the cluster\n"
        )
    );
    insta::assert_snapshot!(ended.stdout, @r"
    Kustomization/NS/root
    ├── Namespace/NS
    ├── Kustomization/NS/child
    │   ├── HelmRelease/NS/app
    │   │   ├── Service/NS/web
    │   │   ├── ClusterRole/reader
    │   │   └── ConfigMap/elsewhere/placed
    │   ├── Kustomization/NS/root
    │   └── ConfigMap/NS/settings
    ├── Kustomization/NS/gone
    ├── GitRepository/NS/fleet
    └── ClusterRole/system:view
    ");
    let compact = sluice.run(&["tree", "ks", "child", "--compact", "-o", "yaml"]);
    insta::assert_snapshot!(compact.stdout, @r"
    resource:
      GroupKind:
        Group: kustomize.toolkit.fluxcd.io
        Kind: Kustomization
      Name: child
      Namespace: NS
    resources:
    - resource:
        GroupKind:
          Group: helm.toolkit.fluxcd.io
          Kind: HelmRelease
        Name: app
        Namespace: NS
    - resource:
        GroupKind:
          Group: kustomize.toolkit.fluxcd.io
          Kind: Kustomization
        Name: root
        Namespace: NS
      resources:
      - resource:
          GroupKind:
            Group: kustomize.toolkit.fluxcd.io
            Kind: Kustomization
          Name: child
          Namespace: NS
      - resource:
          GroupKind:
            Group: kustomize.toolkit.fluxcd.io
            Kind: Kustomization
          Name: gone
          Namespace: NS
      - resource:
          GroupKind:
            Group: source.toolkit.fluxcd.io
            Kind: GitRepository
          Name: fleet
          Namespace: NS
    ");
    let told = sluice.failure(&["tree", "ks", "absent"]);
    assert!(
        told.starts_with("✗ Kustomization object 'absent' not found"),
        "{told}"
    );
    trace(&client, own, &sluice).await;
}

async fn create_release(client: &kube::Client, own: &str) {
    let spec = json!({"interval": "1m", "chart": {"spec": {"chart": "app",
        "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}});
    let status = json!({"storageNamespace": own, "lastAttemptedRevision": "1.2.3", "helmChart": format!("{own}/{own}-app"),
        "history": [{"name": "app", "namespace": own, "version": 3, "chartName": "app", "chartVersion": "1.2.3",
            "configDigest": "sha256:0", "digest": "sha256:0", "status": "deployed",
            "firstDeployed": "2026-01-02T03:04:05Z", "lastDeployed": "2026-01-02T03:04:05Z"}],
        "conditions": ready("Helm install succeeded")});
    create(&api(client, own, RELEASE), RELEASE, "app", spec, status).await;
    let manifest = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\n# nothing\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: placed, namespace: elsewhere}\n";
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sh.helm.release.v1.app.v3"},
        "type": "helm.sh/release.v1", "stringData": {"release": record(manifest)}});
    let secret = serde_json::from_value(secret).unwrap();
    api(client, own, SECRET)
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    let spec = json!({"chart": "app", "version": "1.x", "interval": "1m",
        "sourceRef": {"kind": "HelmRepository", "name": "charts"}});
    let artifact = json!({"revision": "1.2.3", "path": "p", "url": "http://source/p", "size": 2048,
        "digest": format!("sha256:{}", "0".repeat(64)), "lastUpdateTime": "2026-01-02T03:04:05Z"});
    let status = json!({"artifact": artifact, "conditions": ready("pulled")});
    create(
        &api(client, own, CHART),
        CHART,
        &format!("{own}-app"),
        spec,
        status,
    )
    .await;
    let spec = json!({"url": "https://charts.example.com", "interval": "1m"});
    let status = json!({"conditions": ready("stored")});
    create(
        &api(client, own, HELM_REPOSITORY),
        HELM_REPOSITORY,
        "charts",
        spec,
        status,
    )
    .await;
}

async fn trace(client: &kube::Client, own: &str, sluice: &Sluice) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "labels": {
        "helm.toolkit.fluxcd.io/name": "app", "helm.toolkit.fluxcd.io/namespace": own}}});
    let map = serde_json::from_value(map).unwrap();
    api(client, own, CONFIG_MAP)
        .create(&PostParams::default(), &map)
        .await
        .unwrap();
    insta::assert_snapshot!(sluice.result(&["trace", "cm/settings"]), @r"

    Object:          ConfigMap/settings
    Namespace:       NS
    Status:          Managed by Flux
    ---
    HelmRelease:     app
    Namespace:       NS
    Revision:        1.2.3
    Status:          Last reconciled at 2026-01-02 03:04:05 +0000 UTC
    Message:         Helm install succeeded
    ---
    HelmChart:       NS-app
    Namespace:       NS
    Chart:           app
    Version:         1.x
    Revision:        1.2.3
    Status:          Last reconciled at 2026-01-02 03:04:05 +0000 UTC
    Message:         pulled
    ---
    HelmRepository:  charts
    Namespace:       NS
    URL:             https://charts.example.com
    Status:          Last reconciled at 2026-01-02 03:04:05 +0000 UTC
    Message:         stored
    ");
    let data: Value =
        serde_json::from_str(&sluice.result(&["trace", "configmaps", "settings", "-o", "json"])).unwrap();
    assert_eq!(data["HelmRelease"]["revision"], "1.2.3", "{data}");
    // Those that can be traced are, and the command fails for the others.
    let ended = sluice.run(&["trace", "cm/settings", "hr/app"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(
        ended.stdout.contains("Object:          ConfigMap/settings\n"),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains("HelmRelease/app in namespace NS: object not managed by Flux"),
        "{ended:?}"
    );
    let told = sluice.failure(&["trace", "nonsense/x"]);
    assert!(
        told.starts_with("✗ the server doesn't have a resource type \"nonsense\"\n"),
        "{told}"
    );
    let told = sluice.failure(&["trace", "deployments.apps/x"]);
    assert!(
        told.starts_with("✗ failed to find object: Deployment 'x' not found"),
        "{told}"
    );
    let told = sluice.failure(&["trace", "deploy"]);
    assert!(
        told.contains("`<resource>/<name>` or `<resource> <name>` is required"),
        "{told}"
    );
}

/// CLI-015, CLI-017
#[tokio::test(flavor = "multi_thread")]
async fn events_and_numbers_are_those_of_the_toolkit() {
    let Some(plane) = shared().await else { return };
    let (first, second) = (
        plane.namespace("events").await.unwrap(),
        plane.namespace("events").await.unwrap(),
    );
    let client = plane.client().await.unwrap();
    let (own, other) = (first.name(), second.name());
    let spec = json!({"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "fleet",
        "namespace": other}});
    let failing = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "m",
        "lastTransitionTime": "2026-01-02T03:04:05Z"}]});
    create(
        &api(&client, own, KUSTOMIZATION),
        KUSTOMIZATION,
        "apps",
        spec,
        failing,
    )
    .await;
    let spec = json!({"url": "https://example.com/x", "interval": "1m", "suspend": true});
    create(&api(&client, own, GIT), GIT, "unused", spec, Value::Null).await;
    for (namespace, kind, name, event_type, reason, minutes) in [
        (own, "Kustomization", "apps", "Warning", "BuildFailed", 2),
        (own, "Kustomization", "other", "Normal", "Progressing", 1),
        (own, "Pod", "apps", "Normal", "Started", 1),
        (own, "GitRepository", "unused", "Normal", "NewArtifact", 4),
        (other, "GitRepository", "fleet", "Normal", "NewArtifact", 3),
    ] {
        create_event(&client, namespace, kind, name, event_type, reason, minutes).await;
    }
    let sluice = Sluice::within(plane, own);
    let shown = |arguments: &[&str]| {
        let table = sluice
            .result(&[&["events"], arguments].concat())
            .replace(other, "OTHER");
        let lines = table.lines().map(|line| {
            let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
            let seen = cells
                .iter()
                .position(|cell| *cell == "LAST SEEN" || cell.contains(" (x"));
            let cells = cells
                .iter()
                .enumerate()
                .filter(|(number, _)| Some(*number) != seen);
            cells.map(|(_, cell)| *cell).collect::<Vec<_>>().join("|")
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(shown(&[]), @r"
    TYPE|REASON|OBJECT|MESSAGE
    Normal|NewArtifact|GitRepository/unused|told of unused
    Warning|BuildFailed|Kustomization/apps|told of apps
    Normal|Progressing|Kustomization/other|told of other
    ");
    // The source lies elsewhere, so that namespaces are shown.
    insta::assert_snapshot!(shown(&["--for", "Kustomization/apps"]), @r"
    NAMESPACE|TYPE|REASON|OBJECT|MESSAGE
    OTHER|Normal|NewArtifact|GitRepository/fleet|told of fleet
    NS|Warning|BuildFailed|Kustomization/apps|told of apps
    ");
    insta::assert_snapshot!(shown(&["--for", "Kustomization", "--types=normal"]), @r"
    TYPE|REASON|OBJECT|MESSAGE
    Normal|Progressing|Kustomization/other|told of other
    ");
    let list: Value =
        serde_json::from_str(&sluice.result(&["events", "--for=GitRepository", "-o=json"])).unwrap();
    assert_eq!(list["items"][0]["involvedObject"]["name"], "unused", "{list}");
    insta::assert_snapshot!(sluice.failure(&["events", "--for", "Pod/x"]), @r"
    ✗ 'Pod' is not a recognized Flux kind
      for example: Kustomization, GitRepository, HelmRelease
    ");
    follow_events(&sluice, &client, own).await;

    let stats = sluice.result(&["stats"]);
    let row = |kind: &str| {
        stats
            .lines()
            .find(|line| line.starts_with(kind))
            .unwrap()
            .replace(' ', "")
    };
    assert_eq!(
        row("RECONCILERS"),
        "RECONCILERS\tRUNNING\tFAILING\tSUSPENDED\tSTORAGE"
    );
    assert_eq!(row("GitRepository"), "GitRepository\t0\t0\t1\t-");
    assert_eq!(row("Kustomization"), "Kustomization\t1\t1\t0\t-");
    assert_eq!(stats.lines().count(), 14);
    let counts: Value = serde_json::from_str(&sluice.result(&["stats", "-A", "-o", "json"])).unwrap();
    assert!(counts[0]["suspended"].as_u64().unwrap() >= 1, "{counts}");
}

async fn follow_events(sluice: &Sluice, client: &kube::Client, own: &str) {
    let directory = tempfile::tempdir().unwrap();
    let running = sluice.start(
        &["events", "--for=Kustomization/new", "-w", "--types=Normal"],
        directory.path(),
    );
    let told = tokio::time::timeout(crate::support::PATIENCE, async {
        // The object need not be there, and is no reference to anything then.
        loop {
            let text = running.read("stdout") + &running.read("stderr");
            if text.contains("not found") {
                return text;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    assert!(
        told.await
            .unwrap()
            .contains("Kustomization object 'new' not found")
    );
    let running = sluice.start(&["events", "--for=Alert", "-w"], directory.path());
    create_event(client, own, "Alert", "on-call", "Normal", "Told", 1).await;
    let seen = tokio::time::timeout(crate::support::PATIENCE, async {
        while !running.read("stdout").contains("Alert/on-call") {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    seen.await.unwrap();
    assert!(running.read("stdout").starts_with("LAST SEEN"));
}

async fn create_event(
    client: &kube::Client,
    namespace: &str,
    kind: &str,
    name: &str,
    event_type: &str,
    reason: &str,
    minutes_ago: i64,
) {
    let now = jiff::Timestamp::now();
    let time = |minutes: i64| {
        let time = now - jiff::SignedDuration::from_mins(minutes);
        time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    };
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "event-"},
        "involvedObject": {"kind": kind, "name": name, "namespace": namespace}, "type": event_type, "reason": reason,
        "message": format!("told of {name}"), "count": 2, "firstTimestamp": time(10), "lastTimestamp": time(minutes_ago),
        "source": {"component": "test"}});
    let event = serde_json::from_value(event).unwrap();
    api(client, namespace, EVENT)
        .create(&PostParams::default(), &event)
        .await
        .unwrap();
}
