//! `sluice kustomize build` against the real kustomize, on what users of this repository build.

use std::process::Command;

use sluice_testbed::tools;

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
        let built = Command::new(env!("CARGO_BIN_EXE_sluice"))
            .args(["kustomize", "build"])
            .arg(&path)
            .output()
            .expect("sluice runs");
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
