//! Writes the custom resource definitions and the kustomization that lists them into a directory:
//! `generate-crds config/crd`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use sluice_api::crd;

/// Head of the generated kustomization.
const KUSTOMIZATION: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n";

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let (Some(directory), None) = (arguments.next(), arguments.next()) else {
        let _ = writeln!(io::stderr(), "usage: generate-crds DIRECTORY");
        return ExitCode::from(2);
    };
    match generate(Path::new(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err((path, error)) => {
            let _ = writeln!(io::stderr(), "generate-crds: {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}

/// Writes all files, creating the directory if need be.
///
/// # Errors
/// The path that could not be written, and why.
fn generate(directory: &Path) -> Result<(), (PathBuf, io::Error)> {
    fs::create_dir_all(directory).map_err(|error| (directory.to_owned(), error))?;
    let mut kustomization = KUSTOMIZATION.to_owned();
    for definition in crd::definitions() {
        write(
            directory.join(&definition.file_name),
            &crd::to_yaml(&definition.object),
        )?;
        kustomization.push_str("- ");
        kustomization.push_str(&definition.file_name);
        kustomization.push('\n');
    }
    write(directory.join("kustomization.yaml"), &kustomization)
}

/// Writes one file.
fn write(path: PathBuf, text: &str) -> Result<(), (PathBuf, io::Error)> {
    fs::write(&path, text).map_err(|error| (path, error))
}
