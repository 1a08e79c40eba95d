//! What needs no cluster: versions, completions, builds, wrong use.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Sluice;

/// CLI-002, for the command line itself.
#[test]
fn the_version_of_the_command_line_needs_no_cluster() {
    let sluice = Sluice::alone();
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        sluice.result(&["version", "--client"]),
        format!("sluice: {version}\n")
    );
    assert_eq!(
        sluice.result(&["version", "--client", "-o", "json"]),
        format!("{{\n  \"sluice\": \"{version}\"\n}}\n")
    );
    assert_eq!(
        sluice.result(&["--version"]),
        format!("sluice {}\n", &version[1..])
    );
}

#[test]
fn completions_exist_for_every_shell_and_bash_accepts_its_own() {
    let sluice = Sluice::alone();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = sluice.result(&["completion", shell]);
        assert!(script.contains("SLUICE_COMPLETE"), "{shell}: {script}");
    }
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let script = sluice.result(&["completion", "bash"]);
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
    assert!(
        sluice
            .failure(&["completion", "tcsh"])
            .contains("possible values: bash")
    );
}

/// Every failure exits with 1, and help is a result.
#[test]
fn wrong_use_exits_with_one_and_says_what_is_right() {
    let sluice = Sluice::alone();
    for (arguments, expected) in [
        (&["gte"][..], "unrecognized subcommand 'gte'"),
        (&["get"], "KIND"),
        (&["get", "ks", "--al"], "--all-namespaces"),
        (&["get", "ks", "-o", "toml"], "[possible values: json, yaml]"),
        (
            &["check", "--timeout", "5"],
            "'5' is no duration: write 30s, 5m or 1h30m",
        ),
        (
            &["-n", "A", "install", "--export"],
            "namespace must be a valid DNS label: \"A\"",
        ),
        (
            &["install", "--export", "--components-extra=source-watcher"],
            "component 'source-watcher' is not available",
        ),
    ] {
        let told = sluice.failure(arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    let help = sluice.result(&["get", "--help"]);
    assert!(
        help.contains("--status-selector") && help.contains("Examples:"),
        "{help}"
    );
}

#[test]
fn clusters_that_can_not_be_reached_are_told_with_the_next_step() {
    let sluice = Sluice::alone();
    let told = sluice.failure(&["get", "ks"]);
    assert!(told.starts_with("✗ no kubeconfig: "), "{told}");
    assert!(
        told.contains("\n  name one with --kubeconfig or KUBECONFIG"),
        "{told}"
    );
    let told = sluice.failure(&["get", "ks", "--kubeconfig=/nonexistent/config"]);
    assert!(told.starts_with("✗ the kubeconfig can't be read: "), "{told}");
    assert!(told.contains("/nonexistent/config"), "{told}");
    let told = sluice.failure(&["get", "ks", "--server=http://127.0.0.1:1"]);
    assert!(told.starts_with("✗ the API server can't be reached: "), "{told}");
    assert!(
        told.contains("check --kubeconfig, --context and the network"),
        "{told}"
    );
    // A server that never answers ends the command as well.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("--server=http://{}", silent.local_addr().unwrap());
    insta::assert_snapshot!(sluice.failure(&["get", "ks", &server, "--timeout=300ms"]), @r"
    ✗ no answer from the API server in 300ms
      check --context and the network, or wait longer with --timeout
    ");
}

/// What `install --export` prints follows its flags.
#[test]
fn the_exported_manifests_follow_the_flags() {
    let sluice = Sluice::alone();
    let export = |flags: &[&str]| sluice.result(&[&["install", "--export"], flags].concat());
    let plain = export(&[]);
    assert_eq!(plain.matches("\nkind: Deployment\n").count(), 2);
    assert_eq!(plain.matches("\nkind: NetworkPolicy\n").count(), 3);
    let changed = export(&[
        "-n=gitops",
        "--components=source-controller",
        "--network-policy=false",
        "--log-level=debug",
        "--watch-all-namespaces=false",
        "--cluster-domain=corp.example",
        "--image-pull-secret=registry",
        "--toleration-keys=dedicated",
    ]);
    assert_eq!(changed.matches("\nkind: Deployment\n").count(), 1);
    assert_eq!(changed.matches("\nkind: NetworkPolicy\n").count(), 0);
    for expected in [
        "- --log-level=debug",
        "- --watch-all-namespaces=false",
        "- --storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.corp.example.",
        "imagePullSecrets:\n      - name: registry\n",
        "- key: dedicated\n        operator: Exists\n",
        "namespace: gitops\n",
        "name: cluster-reconciler-gitops\n",
        "app.kubernetes.io/instance: gitops\n",
    ] {
        assert!(changed.contains(expected), "{expected}");
    }
    assert!(
        !changed.contains("flux-system"),
        "the namespace stands nowhere else"
    );
}

/// Failures of a build name the file, the line and what to do.
#[test]
fn builds_that_fail_say_where_and_why() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let write = |path: &str, text: &str| {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("empty/readme.txt", "no kustomization");
    write("broken/kustomization.yaml", "resources:\n- a.yaml\n");
    write(
        "broken/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n data: {\n",
    );
    write("missing/kustomization.yaml", "resources:\n- absent.yaml\n");
    write("typo/kustomization.yaml", "resorces:\n- a.yaml\n");
    write("cycle/kustomization.yaml", "resources:\n- ../cycle\n");
    write("outside/kustomization.yaml", "resources:\n- ../broken/a.yaml\n");
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    write("twice/kustomization.yaml", "resources:\n- a.yaml\n- b.yaml\n");
    write("twice/a.yaml", config_map);
    write("twice/b.yaml", config_map);
    write(
        "good/kustomization.yaml",
        "namePrefix: x-\nresources:\n- a.yaml\n",
    );
    write("good/a.yaml", config_map);

    let sluice = Sluice::alone();
    let build = |name: &str| {
        let path = root.join(name);
        let told = sluice.failure(&["kustomize", "build", path.to_str().unwrap()]);
        // The engine sees the disk from its root.
        let below_root = root.to_str().unwrap().trim_start_matches('/').to_owned();
        format!(
            "# {name}\n{}",
            told.replace(root.to_str().unwrap(), "ROOT")
                .replace(&below_root, "ROOT")
        )
    };
    let names = [
        "absent",
        "empty",
        "broken",
        "missing",
        "typo",
        "cycle",
        "outside",
        "twice",
        "good/a.yaml",
    ];
    let told: String = names.map(build).concat();
    insta::assert_snapshot!("builds", told);

    let good = root.join("good");
    let output = root.join("built.yaml");
    let built = sluice.result(&["kustomize", "build", path(&good)]);
    assert_eq!(built, config_map.replace("name: a", "name: x-a"));
    assert_eq!(
        sluice.result(&["kustomize", "build", path(&good), "-o", path(&output)]),
        ""
    );
    assert_eq!(std::fs::read_to_string(&output).unwrap(), built);
    let unwritable = root.join("no/such/directory");
    let told = sluice.failure(&["kustomize", "build", path(&good), "-o", path(&unwritable)]);
    assert!(told.contains("no/such/directory: "), "{told}");
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
