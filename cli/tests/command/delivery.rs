//! From a repository to the cluster by the command line alone, and what it then shows of the way.

use std::path::PathBuf;

use serde_json::{Value, json};
use sluice_testbed::wait;

use crate::objects::{BUCKET, GIT, KUSTOMIZATION, api, create};
use crate::site::Site;
use crate::support::{Ended, PATIENCE, shared};

const CONFIG_MAP: (&str, &str, &str) = ("v1", "ConfigMap", "configmaps");

const SETTINGS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  region: ${region}
  tier: ${tier:-free}
  text: |
    one
    two
    three
";

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 0
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
        ports:
        - name: http
          containerPort: 8080
";

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata:
  name: login
stringData:
  token: the-old-token
";

const ACCOUNT: &str = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: worker\n";

/// CLI-012 to CLI-015, CLI-017 to CLI-022
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_delivered_previewed_and_explained() {
    let Some(plane) = shared().await else { return };
    let mut site = Site::empty(plane, "delivery").await;
    let revision = create_all(&mut site).await;
    explain(&site, &revision).await;
    build(&site).await;
    preview(&mut site).await;
    export_and_apply_again(&site).await;
    delete(&site).await;
}

/// The directory of the Kustomization in the work tree.
fn directory(site: &Site) -> PathBuf {
    site.repository.work_tree().join("shop")
}

async fn create_all(site: &mut Site) -> String {
    let files = [
        ("shop/settings.yaml", SETTINGS),
        ("shop/web.yaml", DEPLOYMENT),
        ("shop/login.yaml", SECRET),
        ("shop/worker.yaml", ACCOUNT),
    ];
    let commit = site.repository.commit_files("A shop", &files).unwrap();
    let revision = format!("main@sha1:{commit}");
    let variables = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "variables"},
        "data": {"region": "north", "odd": "a\nb"}});
    let variables = serde_json::from_value(variables).unwrap();
    site.api(CONFIG_MAP)
        .create(&Default::default(), &variables)
        .await
        .unwrap();

    let url = format!("--url={}", site.repository.url());
    let told = site.sluice.told(&[
        "create",
        "source",
        "git",
        "fleet",
        &url,
        "--branch=main",
        "--interval=1h",
    ]);
    insta::assert_snapshot!(told.replace(&revision, "REVISION"), @r"
    ✚ generating GitRepository source
    ► applying GitRepository source
    ✔ GitRepository source created
    ◎ waiting for GitRepository source reconciliation
    ✔ GitRepository source reconciliation completed
    ✔ fetched revision: REVISION
    ");
    let arguments = [
        "create",
        "kustomization",
        "shop",
        "--source=GitRepository/fleet",
        "--path=./shop/",
        "--prune=true",
        "--interval=1h",
    ];
    let target = format!("--target-namespace={}", site.namespace.name());
    let told = site.sluice.told(&[&arguments[..], &[&target]].concat());
    insta::assert_snapshot!(told.replace(&revision, "REVISION"), @r"
    ✚ generating Kustomization
    ► applying Kustomization
    ✔ Kustomization created
    ◎ waiting for Kustomization reconciliation
    ✔ Kustomization shop is ready
    ✔ applied revision REVISION
    ");
    // A second time it is an update, and what it says is waited for.
    let told = site
        .sluice
        .told(&[&arguments[..], &[&target, "--label=team=a"]].concat());
    assert!(told.contains("✔ Kustomization updated\n"), "{told}");
    // No flag asks for variables.
    let patch = json!({"spec": {"commonMetadata": {"annotations": {"example.com/owner": "shop"}}, "postBuild": {
        "substitute": {"tier": "paid\n"}, "substituteFrom": [{"kind": "ConfigMap", "name": "variables"}]}}});
    let patch = kube::api::Patch::Merge(patch);
    site.api(KUSTOMIZATION)
        .patch("shop", &Default::default(), &patch)
        .await
        .unwrap();
    site.sluice.told(&["reconcile", "ks", "shop"]);
    revision
}

async fn explain(site: &Site, revision: &str) {
    insta::assert_snapshot!(site.sluice.result(&["tree", "kustomization", "shop"]), @r"
    Kustomization/NS/shop
    ├── ServiceAccount/NS/worker
    ├── ConfigMap/NS/settings
    ├── Secret/NS/login
    └── Deployment/NS/web
    ");
    insta::assert_snapshot!(site.sluice.result(&["debug", "ks", "shop", "--show-vars"]), @r"
    odd=ab
    region=north
    tier=paid
    ");
    let history = site.sluice.result(&["debug", "ks", "shop", "--show-history"]);
    assert!(history.starts_with("# History documentation: "), "{history}");
    assert!(
        history.contains("lastReconciledStatus: ReconciliationSucceeded"),
        "{history}"
    );
    let status = site.sluice.result(&["debug", "ks", "shop", "--show-status"]);
    assert!(
        status.contains(&format!("\nlastAppliedRevision: {revision}\n")),
        "{status}"
    );
    let told = site.sluice.failure(&["debug", "ks", "shop"]);
    assert!(
        told.contains("--show-status|--show-vars|--show-history"),
        "{told}"
    );

    // A ReplicaSet is its Deployment's, which is the Kustomization's.
    let sets = api(
        &site.client,
        site.namespace.name(),
        ("apps/v1", "ReplicaSet", "replicasets"),
    );
    let set = wait::until_some(PATIENCE, "the ReplicaSet", || async {
        let listed = sets.list(&Default::default()).await.ok()?;
        listed.items.into_iter().find_map(|set| set.metadata.name)
    })
    .await
    .unwrap();
    let traced = site.sluice.result(&["trace", "deploy", "web"]);
    let url = site.repository.url();
    let shown = redact_times(&traced.replace(revision, "REVISION").replace(url, "URL"));
    insta::assert_snapshot!(shown, @r"

    Object:          Deployment/web
    Namespace:       NS
    Status:          Managed by Flux
    ---
    Kustomization:   shop
    Namespace:       NS
    Target:          NS
    Path:            ./shop
    Revision:        REVISION
    Status:          Last reconciled at TIME
    Message:         Applied revision: REVISION
    ---
    GitRepository:   fleet
    Namespace:       NS
    URL:             URL
    Branch:          main
    Revision:        REVISION
    Status:          Last reconciled at TIME
    Message:         stored artifact for revision 'REVISION'
    ");
    let of_set = site.sluice.result(&["trace", &format!("replicaset/{set}")]);
    assert_eq!(
        of_set.replace(&format!("ReplicaSet/{set}"), "Deployment/web"),
        traced
    );
    let static_kind = ["trace", "web", "--kind=Deployment", "--api-version=apps/v1"];
    assert_eq!(site.sluice.result(&static_kind), traced);
    insta::assert_snapshot!(site.sluice.failure(&["trace", "cm", "variables"]), @r"
    ✗ failed to trace ConfigMap/variables in namespace NS: object not managed by Flux
      it has no owner labels of a Kustomization or HelmRelease, and neither have its owners
    ");

    let events = site.sluice.result(&["events", "--for", "kustomization/shop"]);
    let told: Vec<[&str; 3]> = events
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
            [cells[1], cells[2], cells[3]]
        })
        .collect();
    assert!(
        told.contains(&["Normal", "ReconciliationSucceeded", "Kustomization/shop"]),
        "{events}"
    );
    assert!(
        told.contains(&["Normal", "NewArtifact", "GitRepository/fleet"]),
        "{events}"
    );
    let warnings = site
        .sluice
        .run(&["events", "--for", "kustomization/shop", "--types=warning"]);
    assert_eq!(
        (warnings.code, warnings.stderr.as_str()),
        (0, "✗ No events found in NS namespace.\n")
    );

    let stats = site.sluice.result(&["stats"]);
    let row = |kind: &str| {
        let line = stats.lines().find(|line| line.starts_with(kind)).unwrap();
        line.split('\t')
            .map(str::trim)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("Kustomization"), ["Kustomization", "1", "0", "0", "-"]);
    assert_eq!(row("GitRepository")[..4], ["GitRepository", "1", "0", "0"]);
    assert!(row("GitRepository")[4].ends_with('B'), "{stats}");
}

/// What the command line builds is what the controller has applied.
async fn build(site: &Site) {
    let directory = directory(site);
    let path = format!("--path={}", directory.display());
    let built = site.sluice.result(&["build", "kustomization", "shop", &path]);
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    kind: Secret
    metadata:
      annotations:
        example.com/owner: shop
      labels:
        kustomize.toolkit.fluxcd.io/name: shop
        kustomize.toolkit.fluxcd.io/namespace: NS
      name: login
      namespace: NS
    stringData:
      token: the-old-token
    ---
    apiVersion: v1
    data:
      region: north
      text: |
        one
        two
        three
      tier: paid
    kind: ConfigMap
    metadata:
      annotations:
        example.com/owner: shop
      labels:
        kustomize.toolkit.fluxcd.io/name: shop
        kustomize.toolkit.fluxcd.io/namespace: NS
      name: settings
      namespace: NS
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      annotations:
        example.com/owner: shop
      labels:
        kustomize.toolkit.fluxcd.io/name: shop
        kustomize.toolkit.fluxcd.io/namespace: NS
      name: web
      namespace: NS
    spec:
      replicas: 0
      selector:
        matchLabels:
          app: web
      template:
        metadata:
          labels:
            app: web
        spec:
          containers:
          - image: registry.example.com/web:1
            name: web
            ports:
            - containerPort: 8080
              name: http
    ---
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      annotations:
        example.com/owner: shop
      labels:
        kustomize.toolkit.fluxcd.io/name: shop
        kustomize.toolkit.fluxcd.io/namespace: NS
      name: worker
      namespace: NS
    ---
    ");
    // The server's answer to a dry run tells whether anything would change.
    let ended = site.sluice.run(&["diff", "kustomization", "shop", &path]);
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (0, "", ""),
        "nothing differs from what the controller applied"
    );
    // The directory stays as it was.
    let mut names: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["login.yaml", "settings.yaml", "web.yaml", "worker.yaml"]);
    insta::assert_snapshot!(site.sluice.failure(&["build", "ks", "absent", &path]), @r#"
    ✗ failed to get kustomization object: Kustomization 'absent' not found in "NS" namespace
      list them with: sluice get kustomizations -A; or give one with --kustomization-file
    "#);
}

async fn preview(site: &mut Site) {
    let directory = directory(site);
    let path = format!("--path={}", directory.display());
    let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
    write(
        "settings.yaml",
        &SETTINGS
            .replace("two", "2")
            .replace("${tier:-free}", "\"${tier}\""),
    );
    write("login.yaml", &SECRET.replace("the-old-token", "the-new-token"));
    let ports = "containerPort: 9090\n        - name: metrics\n          containerPort: 9100";
    write("web.yaml", &DEPLOYMENT.replace("containerPort: 8080", ports));
    std::fs::remove_file(directory.join("worker.yaml")).unwrap();
    write("new.yaml", &ACCOUNT.replace("worker", "new"));
    let Ended { code, stdout, stderr } = site.sluice.run(&["diff", "kustomization", "shop", &path]);
    assert!(!stdout.contains("token: "), "{stdout}");
    insta::assert_snapshot!(stdout, @r"
    ► Secret/NS/login drifted

    data.token
    ± value change
    - *** (before)
    + *** (after)

    ► ServiceAccount/NS/new created
    ► ConfigMap/NS/settings drifted

    data.text
    ± value change in multiline text (one insert, one deletion)
    - two
    + 2


    ► Deployment/NS/web drifted

    spec.template.spec.containers.web.ports
    + one list entry added:
      - containerPort: 9100
        name: metrics
        protocol: TCP

    spec.template.spec.containers.web.ports.http.containerPort
    ± value change
    - 8080
    + 9090

    ► ServiceAccount/NS/worker deleted
    ");
    assert_eq!(
        (code, stderr.as_str()),
        (
            1,
            "⚠ identified at least one change, exiting with non-zero exit code\n"
        )
    );
    // What cannot be applied cannot be compared.
    write("new.yaml", &ACCOUNT.replace("worker", "Not_A_Name"));
    let ended = site.sluice.run(&["diff", "kustomization", "shop", &path]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(
        ended
            .stderr
            .starts_with("✗ ServiceAccount/NS/Not_A_Name dry-run failed"),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("► Secret/NS/login drifted\n"), "{ended:?}");
    assert!(!ended.stdout.contains("deleted"), "{ended:?}");
    let ended = site.sluice.run(&["diff", "ks", "shop", "--path=/nonexistent"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(
        ended.stderr.contains("✗ invalid resource path \"/nonexistent\""),
        "{ended:?}"
    );

    // A Kustomization that is not there yet comes from its file, and brings all of its objects.
    let file = site.repository.work_tree().join("later.yaml");
    let later = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "later"}, "spec": {"interval": "1m", "prune": true,
        "targetNamespace": site.namespace.name(), "sourceRef": {"kind": "GitRepository", "name": "fleet"}}});
    std::fs::write(&file, later.to_string()).unwrap();
    let only = site.repository.work_tree().join("only");
    std::fs::create_dir(&only).unwrap();
    std::fs::write(only.join("account.yaml"), ACCOUNT.replace("worker", "later")).unwrap();
    let arguments = [
        "diff".to_owned(),
        "ks".to_owned(),
        "later".to_owned(),
        format!("--path={}", only.display()),
        format!("--kustomization-file={}", file.display()),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert_eq!(site.sluice.run(&arguments).code, 2);
    let ended = site
        .sluice
        .run(&[&arguments[..], &["--ignore-not-found"]].concat());
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (1, "► ServiceAccount/NS/later created\n")
    );
}

async fn export_and_apply_again(site: &Site) {
    let exported = site.sluice.result(&["export", "kustomization", "shop"]);
    insta::assert_snapshot!(redact_requests(&exported), @r"
    ---
    apiVersion: kustomize.toolkit.fluxcd.io/v1
    kind: Kustomization
    metadata:
      annotations:
        reconcile.fluxcd.io/requestedAt: TIME
      labels:
        team: a
      name: shop
      namespace: NS
    spec:
      commonMetadata:
        annotations:
          example.com/owner: shop
      force: false
      interval: 1h0m0s
      path: ./shop
      postBuild:
        substitute:
          tier: |
            paid
        substituteFrom:
        - kind: ConfigMap
          name: variables
          optional: false
      prune: true
      sourceRef:
        kind: GitRepository
        name: fleet
      targetNamespace: NS
    ");
    let all = site.sluice.result(&["export", "source", "git", "--all"]);
    assert!(
        all.starts_with("---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"),
        "{all}"
    );
    for (kind, name, text) in [(KUSTOMIZATION, "shop", exported), (GIT, "fleet", all)] {
        let spec = |object: kube::core::DynamicObject| object.data["spec"].clone();
        let before = site.api(kind).get(name).await.unwrap();
        let real = text.replace("NS", site.namespace.name());
        let manifest: Value = {
            let documents = sluice_yaml(&real);
            assert_eq!(documents.len(), 1);
            documents.into_iter().next().unwrap()
        };
        let patch = kube::api::Patch::Apply(manifest);
        let parameters = kube::api::PatchParams::apply("test").force();
        let after = site.api(kind).patch(name, &parameters, &patch).await.unwrap();
        assert_eq!(before.metadata.generation, after.metadata.generation);
        assert_eq!(spec(before), spec(after));
    }
    insta::assert_snapshot!(site.sluice.failure(&["export", "ks"]), @r"
    ✗ name is required
      give a name, or --all for all of the namespace
    ");
}

fn sluice_yaml(text: &str) -> Vec<Value> {
    use sluice_goyaml::{Flavour, Limits, json_from_node, parse_documents};
    parse_documents(text.as_bytes(), Flavour::Sigs, Limits::default())
        .unwrap()
        .iter()
        .map(|node| json_from_node(node, Flavour::Sigs).unwrap())
        .filter(|value| !value.is_null())
        .collect()
}

async fn delete(site: &Site) {
    insta::assert_snapshot!(site.sluice.failure(&["delete", "kustomization", "shop"]), @r"
    ✗ not confirmed
      add --silent to delete without a question
    ");
    insta::assert_snapshot!(site.sluice.told(&["delete", "kustomization", "shop", "--silent"]), @r"
    ► deleting kustomization shop in NS namespace
    ✔ kustomization deleted
    ");
    // It returns once the object is gone, and with it what it had applied.
    assert!(site.api(KUSTOMIZATION).get_opt("shop").await.unwrap().is_none());
    assert!(site.api(CONFIG_MAP).get_opt("settings").await.unwrap().is_none());
    insta::assert_snapshot!(site.sluice.told(&["delete", "source", "git", "fleet", "-s"]), @r"
    ► deleting source git fleet in NS namespace
    ✔ source git deleted
    ");
    assert!(site.api(GIT).get_opt("fleet").await.unwrap().is_none());
    insta::assert_snapshot!(site.sluice.failure(&["delete", "ks", "shop", "-s"]), @r#"
    ✗ Kustomization object 'shop' not found in "NS" namespace
      list them with: sluice get kustomizations -A
    "#);
    // Without its controller an object stays, and that is told.
    let spec = json!({"bucketName": "b", "endpoint": "s3.example.com", "interval": "1h"});
    let buckets = site.api(BUCKET);
    create(&buckets, BUCKET, "stuck", spec, Value::Null).await;
    let finalizers = kube::api::Patch::Merge(json!({"metadata": {"finalizers": ["finalizers.fluxcd.io"]}}));
    buckets
        .patch("stuck", &Default::default(), &finalizers)
        .await
        .unwrap();
    let told = site
        .sluice
        .failure(&["delete", "source", "bucket", "stuck", "-s", "--timeout=3s"]);
    assert!(
        told.contains("✗ timed out waiting for the end of Bucket stuck: finalizers finalizers.fluxcd.io\n"),
        "{told}"
    );
    let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": []}}));
    buckets.patch("stuck", &Default::default(), &free).await.unwrap();
}

/// Replaces the times of reconcile requests.
fn redact_requests(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_once("requestedAt: ") {
            Some((before, _)) => format!("{before}requestedAt: TIME\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

/// Replaces times as Go prints them.
fn redact_times(text: &str) -> String {
    text.lines()
        .map(|line| match line.split_once(" at 20") {
            Some((before, _)) => format!("{before} at TIME\n"),
            None => format!("{line}\n"),
        })
        .collect()
}
