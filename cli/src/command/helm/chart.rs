//! Charts on the disk.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use sluice_helm::{Chart, Loader};
use sluice_vfs::VirtualPath;

use crate::disk::DiskFileSystem;
use crate::error::{CommandError, Result};

/// Larger archives are refused: unpacked, a chart holds at most 100 MiB.
const LARGEST_ARCHIVE: u64 = 100 << 20;

/// Loads the chart in a directory or an archive, and checks that it can be installed.
pub(super) fn load(name: &str) -> Result<Chart> {
    let failed = |error: &dyn std::error::Error| CommandError::new(error.to_string());
    let chart = load_any(name)?;
    chart.check_installable().map_err(|error| failed(&error))?;
    chart.check_dependencies().map_err(|error| {
        CommandError::new(format!(
            "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' \
             to fetch missing dependencies: {error}"
        ))
    })?;
    Ok(chart)
}

/// Loads the chart in a directory or an archive, whatever it is for.
pub(super) fn load_any(name: &str) -> Result<Chart> {
    let path = Path::new(name);
    let Ok(found) = path.canonicalize() else {
        return Err(CommandError::new(format!("path {name:?} not found")).with_hint(
            "name the directory or the .tgz of a chart; charts of repositories are not fetched yet",
        ));
    };
    let failed = |error: &dyn std::error::Error| CommandError::new(error.to_string());
    let loader = Loader::default();
    let chart = if found.is_dir() {
        if !found.join("Chart.yaml").is_file() {
            let file = found.join("Chart.yaml");
            return Err(CommandError::new(format!(
                "unable to detect chart at {0}: open {0}: no such file or directory",
                file.display()
            )));
        }
        // Links may lead anywhere on the disk, as in helm.
        let disk = DiskFileSystem::new(Path::new("/")).map_err(|error| failed(&error))?;
        let directory = VirtualPath::parse(&found.to_string_lossy()).map_err(|error| failed(&error))?;
        loader.load_directory(&disk, &directory)
    } else {
        let mut archive = Vec::new();
        fs::File::open(&found)
            .and_then(|file| file.take(LARGEST_ARCHIVE).read_to_end(&mut archive))
            .map_err(|error| CommandError::new(format!("{}: {error}", found.display())))?;
        loader.load_archive(&archive)
    };
    chart.map_err(|error| failed(&error))
}
