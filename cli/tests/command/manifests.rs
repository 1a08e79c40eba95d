//! Manifests that are made without a cluster: builds in dry runs, and exported objects.

use std::path::Path;

use crate::support::Sluice;

const KUSTOMIZATION: &str = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: other
  namespace: flux-system
spec:
  interval: 1m
  prune: true
  sourceRef: {kind: GitRepository, name: fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 1m
  prune: true
  path: ./apps
  namePrefix: my-
  targetNamespace: shop
  commonMetadata:
    labels: {team: a}
    annotations: {owner: a}
  images:
  - {name: web, newTag: v2}
  patches:
  - patch: '[{\"op\": \"add\", \"path\": \"/data/patched\", \"value\": \"yes\"}]'
    target: {kind: ConfigMap}
  postBuild:
    substitute: {region: north}
    substituteFrom: [{kind: ConfigMap, name: not-asked-for}]
  sourceRef: {kind: GitRepository, name: fleet}
";

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value}\n")
}

fn build(root: &Path, arguments: &[&str]) -> Vec<String> {
    let mut all = vec!["build".to_owned(), "kustomization".to_owned(), "apps".to_owned()];
    all.push(format!("--path={}", root.join("apps").display()));
    all.push(format!(
        "--kustomization-file={}",
        root.join("clusters/apps.yaml").display()
    ));
    all.push("--dry-run".to_owned());
    all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    all
}

fn as_arguments(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

/// CLI-021
#[test]
fn a_dry_run_builds_what_the_controller_would_apply_without_a_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "clusters/apps.yaml", KUSTOMIZATION);
    write(
        root,
        "apps/settings.yaml",
        &config_map("settings", "${region}-${missing:=none}"),
    );
    write(
        root,
        "apps/web/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: web, image: web}\n",
    );
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\ndata:\n  token: ENC[x]\nsops:\n  mac: ENC[y]\n";
    write(root, "apps/login.yaml", secret);
    write(root, "apps/.sourceignore", "ignored.yaml\n");
    write(root, "apps/ignored.yaml", "no manifest");
    let sluice = Sluice::alone();
    insta::assert_snapshot!(sluice.result(&as_arguments(&build(root, &[]))), @r#"
    apiVersion: v1
    data:
      token: KipTT1BTKio=
    kind: Secret
    metadata:
      annotations:
        owner: a
      labels:
        kustomize.toolkit.fluxcd.io/name: apps
        kustomize.toolkit.fluxcd.io/namespace: flux-system
        team: a
      name: my-login
      namespace: shop
    ---
    apiVersion: v1
    data:
      patched: "yes"
      value: north-none
    kind: ConfigMap
    metadata:
      annotations:
        owner: a
      labels:
        kustomize.toolkit.fluxcd.io/name: apps
        kustomize.toolkit.fluxcd.io/namespace: flux-system
        team: a
      name: my-settings
      namespace: shop
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      annotations:
        owner: a
      labels:
        kustomize.toolkit.fluxcd.io/name: apps
        kustomize.toolkit.fluxcd.io/namespace: flux-system
        team: a
      name: my-web
      namespace: shop
    spec:
      template:
        spec:
          containers:
          - image: web:v2
            name: web
    ---
    "#);
    let without = build(root, &["--ignore-paths=login.yaml,web/*"]);
    let built = sluice.result(&as_arguments(&without));
    assert_eq!(built.matches("\nkind: ").count(), 1, "{built}");

    write(root, "apps/strict.yaml", &config_map("strict", "${nowhere}"));
    assert!(
        sluice
            .result(&as_arguments(&build(root, &[])))
            .contains("value: null\n")
    );
    let strict = build(root, &["--strict-substitute"]);
    let told = sluice.failure(&as_arguments(&strict));
    assert!(
        told.contains("post build failed for 'ConfigMap.v1.[noGrp]/my-strict'"),
        "{told}"
    );
    assert!(told.contains("nowhere"), "{told}");
}

/// A directory with a kustomization file of its own, and the mistakes that can be made.
#[test]
fn mistakes_are_told_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "clusters/apps.yaml", KUSTOMIZATION);
    write(
        root,
        "apps/kustomization.yaml",
        "resources: [../base, left-out.yaml]\n",
    );
    write(root, "apps/left-out.yaml", &config_map("left-out", "x"));
    write(root, "base/kustomization.yaml", "resources: [settings.yaml]\n");
    write(root, "base/settings.yaml", &config_map("settings", "x"));
    let sluice = Sluice::alone();
    let built = sluice.result(&as_arguments(&build(root, &["--ignore-paths=left-out.yaml"])));
    assert!(
        built.contains("name: my-settings\n") && !built.contains("left-out"),
        "{built}"
    );
    assert_eq!(
        std::fs::read_to_string(root.join("apps/kustomization.yaml")).unwrap(),
        "resources: [../base, left-out.yaml]\n"
    );
    write(root, "base/settings.yaml", "a: [\n");
    let told = sluice.failure(&as_arguments(&build(root, &[])));
    let file = root.canonicalize().unwrap().join("base/settings.yaml");
    assert!(told.contains(file.to_str().unwrap()), "{told}");

    let path = format!("--path={}", root.join("apps").display());
    insta::assert_snapshot!(sluice.failure(&["build", "ks", "apps", &path, "--dry-run"]), @r"
    ✗ dry-run mode requires a kustomization file
      name it with --kustomization-file
    ");
    let file = format!(
        "--kustomization-file={}",
        root.join("clusters/apps.yaml").display()
    );
    let told = sluice.failure(&["-n", "shop", "build", "ks", "apps", &path, &file, "--dry-run"]);
    assert!(
        told.starts_with("✗ failed find kustomization with name 'apps' and namespace 'shop' in file '"),
        "{told}"
    );
    let told = sluice.failure(&["build", "ks", "apps", "--path=/nonexistent", &file, "--dry-run"]);
    assert!(
        told.starts_with("✗ invalid resource path \"/nonexistent\"\n"),
        "{told}"
    );
}

/// Kustomizations among the objects are built from the directories that stand for their sources.
#[test]
fn a_build_can_go_on_with_the_kustomizations_that_it_finds() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let apps = KUSTOMIZATION.replace("path: ./apps", "path: ./children");
    write(root, "clusters/apps.yaml", &apps);
    let child = KUSTOMIZATION
        .split("---\n")
        .next()
        .unwrap()
        .replace("prune: true", "prune: true\n  path: ./below");
    write(
        root,
        "apps/child.yaml",
        &child.replace("namespace: flux-system", "namespace: shop"),
    );
    write(root, "below/settings.yaml", &config_map("settings", "below"));
    let sluice = Sluice::alone();
    let local = format!("--local-sources=GitRepository/shop/fleet={}", root.display());
    let built = sluice.result(&as_arguments(&build(root, &["-r", &local])));
    assert!(
        built.contains("\n    kustomize.toolkit.fluxcd.io/name: my-other\n"),
        "{built}"
    );
    assert!(
        built.ends_with("---\n") && built.contains("value: below\n"),
        "{built}"
    );
    let told = sluice.failure(&as_arguments(&build(root, &["-r"])));
    assert!(
        told.contains("✗ cannot get local path for GitRepository/shop/fleet of kustomization my-other\n"),
        "{told}"
    );
}

/// CLI-012, as far as flags become manifests; CLI-014 for what is printed.
#[test]
fn exported_objects_are_what_the_flags_say() {
    let sluice = Sluice::alone();
    insta::assert_snapshot!(sluice.result(&[
        "create", "source", "git", "podinfo", "--url=https://git.example.com/org/podinfo", "--branch=master",
        "--ignore-paths=.cosign,non-existent-dir/", "--sparse-checkout-paths=.cosign,non-existent-dir/",
        "-n=default", "--export",
    ]), @r"
    ---
    apiVersion: source.toolkit.fluxcd.io/v1
    kind: GitRepository
    metadata:
      name: podinfo
      namespace: default
    spec:
      ignore: |-
        .cosign
        non-existent-dir/
      interval: 1m0s
      ref:
        branch: master
      sparseCheckout:
      - .cosign
      - non-existent-dir/
      url: https://git.example.com/org/podinfo
    ");
    let reference = |flags: &[&str]| {
        let arguments = [
            "create",
            "source",
            "git",
            "x",
            "--url=ssh://git@example.com/x",
            "--export",
        ];
        let text = sluice.result(&[&arguments[..], flags].concat());
        let (_, after) = text.split_once("  ref:\n").unwrap();
        after
            .lines()
            .take_while(|line| line.starts_with("    "))
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(reference(&["--branch=main", "--tag=v1"]), "tag: v1");
    assert_eq!(reference(&["--tag=v1", "--tag-semver=>1"]), "semver: '>1'");
    assert_eq!(
        reference(&["--tag=v1", "--ref-name=refs/heads/x"]),
        "name: refs/heads/x"
    );
    assert_eq!(
        reference(&["--branch=main", "--commit=abc"]),
        "branch: main commit: abc"
    );

    insta::assert_snapshot!(sluice.result(&[
        "create", "kustomization", "apps", "--source=OCIRepository/fleet.sources", "--path=apps/../shop/",
        "--prune=true", "--interval=90s", "--retry-interval=30s", "--wait", "--health-check-timeout=3m",
        "--depends-on=infra,other/policies", "--service-account=deployer", "--decryption-provider=sops",
        "--decryption-secret=keys", "--target-namespace=shop", "--kubeconfig-secret-ref=remote",
        "--label=team=a,tier=b", "--export",
    ]), @r"
    ---
    apiVersion: kustomize.toolkit.fluxcd.io/v1
    kind: Kustomization
    metadata:
      labels:
        team: a
        tier: b
      name: apps
      namespace: flux-system
    spec:
      decryption:
        provider: sops
        secretRef:
          name: keys
      dependsOn:
      - name: infra
      - name: policies
        namespace: other
      interval: 1m30s
      kubeConfig:
        secretRef:
          name: remote
      path: ./shop
      prune: true
      retryInterval: 30s
      serviceAccountName: deployer
      sourceRef:
        kind: OCIRepository
        name: fleet
        namespace: sources
      targetNamespace: shop
      timeout: 3m0s
      wait: true
    ");
    insta::assert_snapshot!(sluice.result(&[
        "create", "secret", "git", "auth", "--url=https://git.example.com/x", "--username=git", "--password=s3cret",
        "--label=team=a", "--export",
    ]), @r"
    ---
    apiVersion: v1
    kind: Secret
    metadata:
      labels:
        team: a
      name: auth
      namespace: flux-system
    stringData:
      password: s3cret
      username: git
    ");
}

#[test]
fn flags_that_make_no_object_are_refused() {
    let sluice = Sluice::alone();
    let source = [
        "create",
        "source",
        "git",
        "x",
        "--url=https://example.com/x",
        "--export",
    ];
    let kustomization = ["create", "ks", "x", "--export"];
    let secret = [
        "create",
        "secret",
        "git",
        "x",
        "--url=https://example.com/x",
        "--export",
    ];
    let cases: [(&[&str], &[&str], &str); 12] = [
        (
            &source,
            &[],
            "✗ a Git ref is required, use one of the following: --branch, --tag, --commit",
        ),
        (
            &source,
            &["--branch=b", "--label=a"],
            "invalid label format 'a', must be key=value",
        ),
        (
            &source,
            &["--branch=b", "--url=ftp://x"],
            "✗ git URL scheme 'ftp' not supported, can be: ssh, http and https",
        ),
        (
            &source,
            &["--branch=b", "--url=ssh://x/y", "--ca-file=f"],
            "✗ specifying a CA file is not supported",
        ),
        (&kustomization, &[], "--source"),
        (
            &kustomization,
            &["--source=HelmChart/x"],
            "✗ source kind 'HelmChart' is not supported",
        ),
        (&kustomization, &["--source=x", "--path="], "✗ path is required"),
        (
            &kustomization,
            &["--source=x", "--health-check=Pod/a.b"],
            "✗ invalid health check kind 'Pod'",
        ),
        (
            &["create", "ks", "A_b", "--export"],
            &["--source=x"],
            "✗ name 'A_b' is invalid",
        ),
        (
            &secret,
            &["--username=x"],
            "✗ for Git over HTTP/S the username and password, or a bearer token is required",
        ),
        (
            &secret,
            &["-u=x", "-p=y", "--bearer-token=z"],
            "✗ user credentials and bearer token cannot be used together",
        ),
        (
            &secret,
            &["--bearer-token=z", "--ca-crt-file=/nonexistent"],
            "✗ unable to read TLS CA file /nonexistent",
        ),
    ];
    for (arguments, flags, expected) in cases {
        let told = sluice.failure(&[arguments, flags].concat());
        assert!(told.contains(expected), "{arguments:?} {flags:?}: {told}");
    }
}
