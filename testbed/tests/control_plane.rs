//! The control plane itself: it starts, works as a cluster does, and leaves nothing behind.

#![expect(clippy::unwrap_used, reason = "a test fails this way")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;
use sluice_testbed::control_plane::{ControlPlane, State};
use sluice_testbed::tools::{require_or_skip, tool};
use sluice_testbed::{process, wait};

const LIMIT: Duration = Duration::from_secs(120);

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": "value"}})).unwrap()
}

/// A process that is gone or waits to be reaped by whoever inherited it.
fn is_over(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

fn assert_over_soon(state: &State) {
    let began = Instant::now();
    let pids = || state.processes.iter().map(|each| each.pid).chain([state.pid]);
    while pids().any(|pid| !is_over(pid)) {
        let left: Vec<_> = pids().filter(|pid| !is_over(*pid)).collect();
        assert!(began.elapsed() < LIMIT, "still running: {left:?} of {state:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_become_available_and_namespaces_are_emptied() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let namespace = plane.namespace("workload").await.unwrap();
    let client = plane.client().await.unwrap();
    let deployments = Api::<Deployment>::namespaced(client.clone(), namespace.name());
    let deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
            },
        },
    }))
    .unwrap();
    deployments
        .create(&PostParams::default(), &deployment)
        .await
        .unwrap();
    let available = wait::until(
        &deployments,
        "web",
        LIMIT,
        "condition Available=True",
        |deployment| wait::has_condition(deployment, "Available", "True"),
    );
    assert_eq!(available.await.unwrap().status.unwrap().ready_replicas, Some(2));

    let name = namespace.name().to_owned();
    namespace.delete(LIMIT).await.unwrap();
    let namespaces = Api::<Namespace>::all(client);
    assert!(namespaces.get_opt(&name).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_namespace_goes_away() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let namespace = plane.namespace("dropped").await.unwrap();
    let name = namespace.name().to_owned();
    drop(namespace);
    let namespaces = Api::<Namespace>::all(plane.client().await.unwrap());
    wait::until_gone(&namespaces, &name, LIMIT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_in_vain_tells_the_last_state() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let namespace = plane.namespace("vain").await.unwrap();
    let api = Api::<ConfigMap>::namespaced(plane.client().await.unwrap(), namespace.name());
    let short = Duration::from_millis(500);
    let error = wait::until(&api, "absent", short, "anything", |_| true)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("no such object"), "{error}");
    api.create(&PostParams::default(), &config_map("present"))
        .await
        .unwrap();
    let error = wait::until(&api, "present", short, "data to vanish", |map| map.data.is_none())
        .await
        .unwrap_err();
    assert!(error.to_string().contains(r#""key":"value""#), "{error}");
    let all = wait::until_all(&api, LIMIT, "one of that name", |maps| {
        maps.iter()
            .any(|map| map.metadata.name.as_deref() == Some("present"))
    });
    assert!(!all.await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_log_counts_every_request_once() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let namespace = plane.namespace("audit").await.unwrap();
    let agent = format!("audit-test-{}", std::process::id());
    let client = plane.client_with_user_agent(&agent).await.unwrap();
    let api = Api::<ConfigMap>::namespaced(client, namespace.name());
    api.create(&PostParams::default(), &config_map("before"))
        .await
        .unwrap();

    let log = plane.audit_log().await.unwrap();
    let mark = log.mark().await.unwrap();
    for index in 0..5 {
        api.create(&PostParams::default(), &config_map(&format!("counted-{index}")))
            .await
            .unwrap();
    }
    api.list(&ListParams::default()).await.unwrap();
    assert!(api.get_opt("absent").await.unwrap().is_none());
    let apply = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}});
    let params = PatchParams::apply("test").force();
    api.patch("applied", &params, &Patch::Apply(&apply))
        .await
        .unwrap();
    api.patch("applied", &params.clone().dry_run(), &Patch::Apply(&apply))
        .await
        .unwrap();
    api.delete("applied", &DeleteParams::default()).await.unwrap();
    {
        use futures::StreamExt as _;
        let mut events = Box::pin(api.watch(&WatchParams::default(), "0").await.unwrap());
        assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    }
    let requests = log.since(mark).await.unwrap().by_user_agent(&agent);

    let expected: BTreeMap<String, usize> = [
        ("create configmaps", 5),
        ("delete configmaps", 1),
        ("get configmaps", 1),
        ("list configmaps", 1),
        ("patch configmaps", 1),
        ("patch configmaps (dry run)", 1),
        ("watch configmaps", 1),
    ]
    .map(|(label, count)| (label.to_owned(), count))
    .into();
    assert_eq!(requests.table(), expected);
    assert_eq!(requests.in_namespace(namespace.name()).count(), requests.count());
    assert_eq!(requests.writes().count(), 7);
    assert_eq!(requests.iter().filter(|request| request.is_apply()).count(), 2);
    assert_eq!(requests.of_verb("get").iter().next().unwrap().code, 404);
    assert!(requests.iter().all(|request| request.user == "admin"));
    let later = log.mark().await.unwrap();
    assert!(later > mark);
    assert_eq!(log.since(later).await.unwrap().by_user_agent(&agent).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stand_side_by_side_and_stop_without_a_trace() {
    let Some(first) = require_or_skip(ControlPlane::start()) else {
        return;
    };
    let second = ControlPlane::start().unwrap();
    let (first_state, second_state) = (first.state().clone(), second.state().clone());
    assert_ne!(first_state.server, second_state.server);

    let attached = ControlPlane::attach(&first_state.dir).unwrap();
    let maps = Api::<ConfigMap>::default_namespaced(attached.client().await.unwrap());
    maps.create(&PostParams::default(), &config_map("only-in-the-first"))
        .await
        .unwrap();
    drop(attached);
    let maps = Api::<ConfigMap>::default_namespaced(second.client().await.unwrap());
    assert!(maps.get_opt("only-in-the-first").await.unwrap().is_none());

    assert!(
        !is_over(first_state.pid),
        "attaching and dropping must not end it"
    );
    first.stop().unwrap();
    for pid in first_state
        .processes
        .iter()
        .map(|each| each.pid)
        .chain([first_state.pid])
    {
        assert!(!process::exists(pid), "{pid} of {first_state:?}");
    }
    assert!(!first_state.dir.exists());
    assert!(
        second.client().await.unwrap().apiserver_version().await.is_ok(),
        "the other goes on"
    );
    second.stop().unwrap();
    assert!(!second_state.dir.exists());
}

/// Starts `control-plane up` by hand, as a script would, and returns it with its state.
fn start_by_hand(directory: &std::path::Path) -> (std::process::Child, State) {
    let mut child = Command::new(tool("control-plane").unwrap())
        .args(["up", "--no-kwok", "--remove", "--dir"])
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

#[test]
fn killed_supervisor_takes_everything_with_it() {
    let Some(_) = require_or_skip(tool("control-plane")) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (mut child, state) = start_by_hand(&directory.path().join("plane"));
    assert_eq!(state.processes.len(), 4);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_over_soon(&state);
}

#[test]
fn lost_component_ends_the_rest_and_is_named() {
    let Some(_) = require_or_skip(tool("control-plane")) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (mut child, state) = start_by_hand(&directory.path().join("plane"));
    // Or waiting would close it and thereby ask for the end.
    let input = child.stdin.take();
    let etcd = state.processes.iter().find(|each| each.name == "etcd").unwrap();
    assert!(
        Command::new("kill")
            .args(["-9", &etcd.pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(1));
    drop(input);
    assert_over_soon(&state);
    assert!(!state.dir.exists());
}

#[test]
fn helper_runs_a_command_and_passes_its_exit_code_on() {
    let Some(_) = require_or_skip(tool("control-plane")) else {
        return;
    };
    let script =
        r#"test -f "$SLUICE_TESTBED/state.json" && test -f "$KUBECONFIG" && echo "$SLUICE_TESTBED"; exit 7"#;
    let output = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .args(["run", "--", "sh", "-c", script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(7),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.trim().starts_with('/'), "{said}");
    assert!(
        !std::path::Path::new(said.trim()).exists(),
        "the control plane's directory is gone"
    );
}

#[test]
fn killed_helper_leaves_neither_command_nor_control_plane_nor_files() {
    let Some(_) = require_or_skip(tool("control-plane")) else {
        return;
    };
    let script = r#"cat "$SLUICE_TESTBED/state.json" | tr -d '\n'; echo; echo $$; exec sleep 1000"#;
    let mut helper = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .args(["run", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(helper.stdout.take().unwrap()).lines();
    let state: State = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let command: u32 = lines.next().unwrap().unwrap().parse().unwrap();
    assert!(!is_over(command) && !is_over(state.pid) && state.dir.exists());
    helper.kill().unwrap();
    helper.wait().unwrap();
    assert_over_soon(&state);
    let began = Instant::now();
    while !is_over(command) || state.dir.exists() {
        assert!(
            began.elapsed() < LIMIT,
            "{command} or {} is left",
            state.dir.display()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
