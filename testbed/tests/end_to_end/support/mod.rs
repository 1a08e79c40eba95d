//! What the end-to-end tests share.

mod controller;
mod gate;
mod objects;
mod random;
mod sluice;

use std::path::Path;
use std::time::Duration;

use kube::Client;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::{tools, wait};

pub(crate) use controller::{Controller, Settings, program};
pub(crate) use gate::Gate;
pub(crate) use objects::*;
pub(crate) use random::Random;
pub(crate) use sluice::{Ended, Sluice};

/// The bound of every single wait, on a machine that is busy compiling.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Installs the custom resource definitions that the repository holds.
pub(crate) async fn install_definitions(plane: &ControlPlane) {
    let directory = tools::workspace().join("config/crd");
    let directory = directory.to_string_lossy();
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=testbed",
        "-k",
        &*directory,
    ];
    plane.kubectl(&apply).unwrap();
    let client = plane.client().await.unwrap();
    wait_for_definitions(&client).await;
}

/// Waits until the API server serves the kinds that the controllers work on.
pub(crate) async fn wait_for_definitions(client: &Client) {
    for name in [
        "gitrepositories.source.toolkit.fluxcd.io",
        "kustomizations.kustomize.toolkit.fluxcd.io",
    ] {
        let established = |object: &Object| wait::has_condition(object, "Established", "True");
        wait::until(&definitions(client), name, LIMIT, "Established", established)
            .await
            .unwrap();
    }
}

/// The repository's example.
pub(crate) fn example_fleet() -> std::path::PathBuf {
    tools::workspace().join("examples/fleet")
}

/// All regular files below a directory.
pub(crate) fn files_below(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        // A directory may vanish while it is listed.
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(_) => files.push(entry.path()),
                Err(_) => {}
            }
        }
    }
    files
}
