//! Collects the files of `config/` so that the command line carries the manifests it installs, and says how it is
//! linked.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let manifest = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let config = manifest
        .parent()
        .ok_or("the crate stands in the workspace")?
        .join("config");
    let mut files = Vec::new();
    if config.is_dir() {
        collect(&config, &mut files)?;
    }
    files.sort();
    let mut source = String::from(
        "/// The files of `config/`, by path below it.\npub(super) const FILES: &[(&str, &str)] = &[\n",
    );
    for file in files {
        let name = file.strip_prefix(&config)?.to_string_lossy().into_owned();
        writeln!(
            source,
            "    ({name:?}, include_str!({:?})),",
            file.to_string_lossy()
        )?;
    }
    source.push_str("];\n");
    fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("config.rs"), source)?;
    println!("cargo::rerun-if-changed={}", config.display());
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // At a fixed address: a program of this size has more than 100,000 addresses in its tables, and writing
        // each at every start takes longer than building a small kustomization.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    Ok(())
}
