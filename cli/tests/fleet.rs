//! `sluice kustomize build` against the real kustomize, on what users of this repository build.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use sluice_testbed::tools;

fn sluice_build(path: &Path, arguments: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(["kustomize", "build"])
        .arg(path)
        .args(arguments)
        .output()
}

#[test]
fn the_example_fleet_and_the_installation_build_as_kustomize_builds_them() {
    for directory in [
        "config/default",
        "examples/fleet/apps/base",
        "examples/fleet/apps/production",
        "examples/fleet/apps/staging",
        "examples/fleet/infrastructure/production",
        "examples/fleet/infrastructure/staging",
    ] {
        let path = tools::workspace().join(directory);
        let Some(expected) = tools::require_or_skip(tools::kustomize_build(&path, &[])) else {
            return;
        };
        let built = sluice_build(&path, &[]).expect("sluice runs");
        assert!(
            built.status.success(),
            "{directory}: {}",
            String::from_utf8_lossy(&built.stderr)
        );
        assert_eq!(
            String::from_utf8_lossy(&built.stdout),
            String::from_utf8_lossy(&expected),
            "{directory}"
        );
    }
}

/// A symbolic link lifts no restriction, and lends its target's place to what it names.
#[test]
fn options_and_links_mean_what_they_mean_to_kustomize() {
    if tools::require_or_skip(tools::tool("kustomize")).is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let config_map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
    let write = |path: &str, text: &str| {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("shared/map.yaml", &config_map("shared"));
    write("order/kustomization.yaml", "resources: [all.yaml]\n");
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: last\n";
    write("order/all.yaml", &(config_map("first") + namespace));
    write("linked/kustomization.yaml", "resources: [map.yaml]\n");
    symlink("../shared/map.yaml", root.join("linked/map.yaml")).unwrap();
    write("inner/kustomization.yaml", "resources: [map.yaml]\n");
    write("inner/deep/map.yaml", &config_map("deep"));
    symlink("deep/map.yaml", root.join("inner/map.yaml")).unwrap();
    write("plain/kustomization.yaml", "resources: [../shared/map.yaml]\n");
    write(
        "elsewhere/deep/base/kustomization.yaml",
        "resources: [../beside]\n",
    );
    write(
        "elsewhere/deep/beside/kustomization.yaml",
        "resources: [map.yaml]\n",
    );
    write("elsewhere/deep/beside/map.yaml", &config_map("beside"));
    write("upper/kustomization.yaml", "resources: [base]\n");
    symlink("../elsewhere/deep/base", root.join("upper/base")).unwrap();
    write("loop/kustomization.yaml", "resources: [again]\n");
    symlink(".", root.join("loop/again")).unwrap();

    let anything = ["--load-restrictor", "LoadRestrictionsNone"];
    let unordered = ["--reorder", "none"];
    let cases: [(&str, &[&str], bool); 11] = [
        ("order", &[], true),
        ("order", &unordered, true),
        ("order", &["--enable-managedby-label"], true),
        ("linked", &[], false),
        ("linked", &anything, true),
        ("inner", &[], true),
        ("plain", &[], false),
        ("plain", &anything, true),
        ("upper", &[], true),
        ("loop", &[], false),
        ("loop", &anything, false),
    ];
    for (name, arguments, builds) in cases {
        let path = root.join(name);
        let expected = tools::kustomize_build(&path, arguments);
        let built = sluice_build(&path, arguments).expect("sluice runs");
        assert_eq!(expected.is_ok(), builds, "{name} {arguments:?}: {expected:?}");
        assert_eq!(built.status.success(), builds, "{name} {arguments:?}: {built:?}");
        assert_eq!(
            String::from_utf8_lossy(&built.stdout),
            String::from_utf8_lossy(&expected.unwrap_or_default()),
            "{name} {arguments:?}"
        );
    }
}
