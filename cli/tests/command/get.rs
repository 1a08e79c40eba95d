//! `sluice get`: the tables, the other formats, and what is said when there is nothing. CLI-011

use serde_json::{Value, json};
use sluice_testbed::wait;

use crate::objects::{GIT, KUSTOMIZATION, api, create, create_all};
use crate::support::{PATIENCE, Sluice, shared};

/// The tables of all kinds: CLI-011, SRC-044 and SRC-053 as far as the command line shows them.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_has_its_table() {
    let Some(plane) = shared().await else { return };
    let namespace = plane.namespace("get").await.unwrap();
    let client = plane.client().await.unwrap();
    create_all(&client, namespace.name()).await;
    let sluice = Sluice::within(plane, namespace.name());

    insta::assert_snapshot!("all", tabs(&sluice.result(&["get", "all"])));
    let tables = [
        "sources git",
        "sources oci",
        "sources helm",
        "sources chart",
        "sources bucket",
        "sources external",
        "kustomizations",
        "helmreleases",
        "images repository",
        "images policy",
        "images update",
        "receivers",
        "alerts",
        "alert-providers",
        "artifacts generators",
    ];
    let mut each = String::new();
    for words in tables {
        let arguments: Vec<&str> = std::iter::once("get").chain(words.split(' ')).collect();
        each += &format!("# {words}\n{}", tabs(&sluice.result(&arguments)));
    }
    insta::assert_snapshot!("each", each);
    // Families are what `all` shows of them.
    let all = sluice.result(&["get", "all"]);
    for family in ["sources", "images"] {
        let tables = sluice.result(&["get", family, "all"]);
        assert!(all.contains(&tables), "{tables}\nis not in\n{all}");
    }

    select_objects(&sluice);
    print_as_kubectl_does(plane, namespace.name(), &sluice);
    tell_what_is_missing(plane, &sluice).await;
}

fn select_objects(sluice: &Sluice) {
    let names = |arguments: &[&str]| -> Vec<String> {
        let output = sluice.result(&[&["get", "sources", "git", "--no-header"], arguments].concat());
        let first = |line: &str| line.split('\t').next().unwrap().trim_end().to_owned();
        output.lines().map(first).collect()
    };
    assert_eq!(names(&[]), ["fleet-a", "fleet-b", "fresh"]);
    assert_eq!(names(&["fleet-b"]), ["fleet-b"]);
    assert_eq!(names(&["fleet-b", "fresh"]), ["fleet-b", "fresh"]);
    assert_eq!(names(&["-l", "team=b"]), ["fleet-b"]);
    assert_eq!(names(&["--status-selector", "ready=false"]), ["fleet-b"]);
    assert_eq!(names(&["--status-selector", "Ready!=True"]), ["fleet-b", "fresh"]);
    assert_eq!(names(&["-A", "-l", "team=b"]), ["NS"]);
    // The header stays when nothing is left, as flux leaves it.
    let nothing = sluice.result(&["get", "ks", "--status-selector", "stalled=true"]);
    assert_eq!(tabs(&nothing), "NAME|REVISION|SUSPENDED|READY|MESSAGE\n");

    let sources = sluice.result(&["get", "ks", "--show-source", "--no-header"]);
    let sources: Vec<&str> = sources
        .lines()
        .map(|line| line.split('\t').nth(1).unwrap().trim_end())
        .collect();
    assert_eq!(
        sources,
        ["GitRepository/NS/fleet-a", "GitRepository/other/fleet-a"]
    );
    // Other tests have objects too.
    let everywhere = sluice.result(&[
        "get",
        "ks",
        "-A",
        "apps-a",
        "-l",
        "team=a",
        "--status-selector=ready=true",
    ]);
    let header = everywhere.lines().next().unwrap().replace(' ', "");
    assert_eq!(header, "NAMESPACE\tNAME\tREVISION\tSUSPENDED\tREADY\tMESSAGE");
    assert!(
        everywhere.contains("NS\tapps-a\tmain@sha1:01234567\tFalse"),
        "{everywhere}"
    );
}

/// One object and lists are what kubectl prints of them.
fn print_as_kubectl_does(
    plane: &sluice_testbed::control_plane::ControlPlane,
    namespace: &str,
    sluice: &Sluice,
) {
    let kubectl = |arguments: &[&str]| {
        let arguments = [&["-n", namespace, "get"], arguments].concat();
        plane.kubectl(&arguments).unwrap().replace(namespace, "NS")
    };
    assert_eq!(
        sluice.result(&["get", "ks", "apps-a", "-o", "yaml"]),
        kubectl(&[
            "kustomizations.kustomize.toolkit.fluxcd.io",
            "apps-a",
            "-o",
            "yaml"
        ])
    );
    let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    assert_eq!(
        parse(sluice.result(&["get", "sources", "git", "fleet-a", "-o", "json"])),
        parse(kubectl(&[
            "gitrepositories.source.toolkit.fluxcd.io",
            "fleet-a",
            "-o",
            "json"
        ]))
    );
    let list = parse(sluice.result(&["get", "sources", "git", "-o", "json"]));
    let expected = parse(kubectl(&[
        "gitrepositories.source.toolkit.fluxcd.io",
        "-o",
        "json",
    ]));
    assert_eq!(list["items"], expected["items"]);
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&expected["kind"], &expected["apiVersion"])
    );
    let all = parse(sluice.result(&["get", "all", "-o", "json"]));
    assert_eq!(all["items"].as_array().unwrap().len(), 17);
    let narrowed = parse(sluice.result(&["get", "all", "-o", "json", "--status-selector", "ready=false"]));
    assert_eq!(narrowed["items"].as_array().unwrap().len(), 2);
}

async fn tell_what_is_missing(plane: &sluice_testbed::control_plane::ControlPlane, sluice: &Sluice) {
    let empty = plane.namespace("empty").await.unwrap();
    let nothing = Sluice::within(plane, empty.name());
    insta::assert_snapshot!(nothing.failure(&["get", "kustomizations"]), @r#"
    ✗ no Kustomization objects found in "NS" namespace
      look in all namespaces with -A
    "#);
    insta::assert_snapshot!(nothing.failure(&["get", "sources", "git", "fleet-a"]), @r#"
    ✗ GitRepository object 'fleet-a' not found in "NS" namespace
      look in all namespaces with -A
    "#);
    insta::assert_snapshot!(nothing.failure(&["get", "ks", "-A", "no-such-object"]), @"✗ Kustomization object 'no-such-object' not found in any namespace
    ");
    insta::assert_snapshot!(nothing.failure(&["get", "all", "no-such-object"]), @r#"
    ✗ no object 'no-such-object' found in "NS" namespace
      look in all namespaces with -A
    "#);
    // Asked for everything or by a program, nothing is an answer.
    assert_eq!(nothing.result(&["get", "all"]), "");
    assert_eq!(nothing.result(&["get", "sources", "all"]), "");
    let list: Value = serde_json::from_str(&nothing.result(&["get", "ks", "-o", "json"])).unwrap();
    assert_eq!(list, json!({"apiVersion": "v1", "kind": "List", "items": []}));

    insta::assert_snapshot!(sluice.failure(&["get", "pods"]), @r"
    ✗ 'pods' is no kind of the toolkit
      known kinds: source oci, source bucket, source git, source helm, source chart, source external, image repository, image policy, image update, helmreleases, kustomizations, receivers, alert-providers, alerts, artifact generator, all, source all, image all
    ");
    insta::assert_snapshot!(sluice.failure(&["get", "image"]), @r"
    ✗ 'image' needs a kind behind it
      one of: image repository, image policy, image update
    ");
    insta::assert_snapshot!(sluice.failure(&["get", "ks", "--status-selector", "ready"]), @r"
    ✗ expected status selector in type=status or type!=status format, but found: ready
      for example: --status-selector ready=false
    ");
    insta::assert_snapshot!(sluice.failure(&["get", "all", "-w"]), @r"
    ✗ expected a single resource type, but found all
      watch one kind at a time, for example: sluice get kustomizations -w
    ");
    // The last one of repeated flags counts.
    let told = sluice.failure(&["-n", "elsewhere", "get", "ks"]);
    assert!(told.contains("in \"elsewhere\" namespace"), "{told}");
}

/// Who may not look is told who refused, and what to do.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_api_server_are_told_with_the_next_step() {
    let Some(plane) = shared().await else { return };
    let namespace = plane.namespace("refused").await.unwrap();
    let sluice = Sluice::within(plane, namespace.name());
    insta::assert_snapshot!(sluice.failure(&["get", "ks", "--as", "nobody"]), @r#"
    ✗ the API server refused: kustomizations.kustomize.toolkit.fluxcd.io is forbidden: User "nobody" cannot list resource "kustomizations" in API group "kustomize.toolkit.fluxcd.io" in the namespace "NS"
      ask for the right to do this, or act as somebody else with --as
    "#);
    insta::assert_snapshot!(sluice.failure(&["get", "ks", "--token", "wrong"]), @r"
    ✗ the API server does not know you: Unauthorized
      check the user of the kubeconfig, --user and --token
    ");
    insta::assert_snapshot!(sluice.failure(&["get", "ks", "--context", "elsewhere"]), @r"
    ✗ the kubeconfig can't be used: failed to load current context: elsewhere
      name one with --kubeconfig or KUBECONFIG, or a context that it has with --context
    ");
    let told = sluice.failure(&["suspend", "ks", "--all", "--as=nobody", "--as-group=nobodies"]);
    assert!(told.starts_with("✗ the API server refused: "), "{told}");
}

/// Changes are printed as they come, under one header.
#[tokio::test(flavor = "multi_thread")]
async fn changes_are_followed() {
    let Some(plane) = shared().await else { return };
    let namespace = plane.namespace("follow").await.unwrap();
    let client = plane.client().await.unwrap();
    let kustomizations = api(&client, namespace.name(), KUSTOMIZATION);
    let spec =
        json!({"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
    create(
        &kustomizations,
        KUSTOMIZATION,
        "apps-a",
        spec.clone(),
        Value::Null,
    )
    .await;
    create(&kustomizations, KUSTOMIZATION, "apps-b", spec, Value::Null).await;
    let directory = tempfile::tempdir().unwrap();
    let sluice = Sluice::within(plane, namespace.name());
    let running = sluice.start(&["get", "ks", "-w", "apps-a"], directory.path());
    let lines = |count: usize| {
        let running = &running;
        wait::until_some(PATIENCE, "a line of output", move || async move {
            let output = running.read("stdout");
            (output.lines().count() >= count && output.ends_with('\n')).then_some(output)
        })
    };
    lines(2).await.unwrap();
    let suspend = kube::api::Patch::Merge(json!({"spec": {"suspend": true}}));
    for name in ["apps-b", "apps-a"] {
        kustomizations
            .patch(name, &Default::default(), &suspend)
            .await
            .unwrap();
    }
    insta::assert_snapshot!(tabs(&lines(3).await.unwrap()), @r"
    NAME|REVISION|SUSPENDED|READY|MESSAGE
    apps-a||False|False|waiting to be reconciled
    apps-a||True|False|waiting to be reconciled
    ");
}

/// KUBECONFIG may list several files, and the namespace may come from the environment or the context.
#[tokio::test(flavor = "multi_thread")]
async fn cluster_and_namespace_come_from_where_kubectl_and_flux_take_them() {
    let Some(plane) = shared().await else { return };
    let namespace = plane.namespace("place").await.unwrap();
    let client = plane.client().await.unwrap();
    let spec = json!({"url": "https://git.example.com/fleet", "interval": "1m"});
    create(
        &api(&client, namespace.name(), GIT),
        GIT,
        "here",
        spec,
        Value::Null,
    )
    .await;
    let directory = tempfile::tempdir().unwrap();
    let context = directory.path().join("context");
    let kubeconfig = kube::config::Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let there = kubeconfig.contexts[0].context.clone().unwrap();
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: mine\ncontexts:\n- name: mine\n  context: {{cluster: {}, user: {}, namespace: {}}}\n",
        there.cluster,
        there.user.unwrap(),
        namespace.name()
    );
    std::fs::write(&context, text).unwrap();
    let mut list = context.into_os_string();
    list.push(":");
    list.push(plane.kubeconfig());
    let list = std::path::PathBuf::from(list);
    let get = ["get", "sources", "git", "--no-header"];
    let sluice = Sluice::alone().with("KUBECONFIG", &list);
    assert!(
        sluice
            .failure(&get)
            .contains("found in \"flux-system\" namespace")
    );
    let follow = [get.as_slice(), &["--ns-follows-kube-context"]].concat();
    assert!(sluice.result(&follow).starts_with("here\t"));
    // An explicit namespace is stronger.
    let explicit = [follow.as_slice(), &["-n", "flux-system"]].concat();
    assert!(sluice.failure(&explicit).contains("flux-system"));
    let sluice = sluice.with("FLUX_SYSTEM_NAMESPACE", std::path::Path::new(namespace.name()));
    assert!(sluice.result(&get).starts_with("here\t"));
}

/// A table with its columns visible: padding gone, tabs as bars.
fn tabs(table: &str) -> String {
    let line = |line: &str| line.split('\t').map(str::trim_end).collect::<Vec<_>>().join("|") + "\n";
    table.lines().map(line).collect()
}
