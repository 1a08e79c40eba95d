//! `sluice kustomize build`: what `kustomize build` prints, without a cluster.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use sluice_kustomize::{BuildOptions, LoadRestrictions, Reorder};
use sluice_vfs::VirtualPath;

use crate::disk::DiskFileSystem;
use crate::error::{CommandError, Result};
use crate::output::Console;

/// Arguments of `sluice kustomize`.
#[derive(Debug, clap::Args)]
pub(crate) struct Kustomize {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Build a kustomization and print its manifests
    Build(Build),
}

#[derive(Debug, clap::Args)]
struct Build {
    /// Directory with a kustomization file
    #[arg(default_value = ".")]
    path: PathBuf,
    /// The order of the objects
    #[arg(long, value_enum, default_value = "legacy")]
    reorder: Order,
    /// Which files a kustomization may read
    #[arg(long, value_enum, default_value = "LoadRestrictionsRootOnly")]
    load_restrictor: Restrictor,
    /// Add the label app.kubernetes.io/managed-by
    #[arg(long)]
    enable_managedby_label: bool,
    /// Write to this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    /// By kind, namespaces first
    Legacy,
    /// As read
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Restrictor {
    /// Only files in or below the kustomization
    #[value(name = "LoadRestrictionsRootOnly")]
    RootOnly,
    /// Any file
    #[value(name = "LoadRestrictionsNone")]
    None,
}

impl Kustomize {
    /// Runs the action.
    ///
    /// # Errors
    /// A kustomization that does not build, naming file, line and field.
    pub(crate) fn run(&self, console: &Console) -> Result<()> {
        let Action::Build(build) = &self.action;
        let manifests = build.run(console)?;
        match &build.output {
            Some(file) => std::fs::write(file, manifests)
                .map_err(|error| CommandError::new(format!("{}: {error}", file.display()))),
            None => {
                console.result(&manifests);
                Ok(())
            }
        }
    }
}

impl Build {
    fn run(&self, console: &Console) -> Result<String> {
        let wrong = |error: std::io::Error| {
            CommandError::new(format!("{}: {error}", self.path.display())).with_hint("name a directory")
        };
        let directory = self.path.canonicalize().map_err(wrong)?;
        // Bases may lie anywhere on the disk, so the root is that of the disk.
        let files = DiskFileSystem::new(Path::new("/")).map_err(wrong)?;
        let path = VirtualPath::parse(&directory.to_string_lossy())
            .map_err(|error| CommandError::new(error.to_string()))?;
        let options = BuildOptions {
            reorder: match self.reorder {
                Order::Legacy => Reorder::Legacy,
                Order::None => Reorder::None,
            },
            load_restrictions: match self.load_restrictor {
                Restrictor::RootOnly => LoadRestrictions::RootOnly,
                Restrictor::None => LoadRestrictions::None,
            },
            managed_by_label: self.enable_managedby_label,
            ..BuildOptions::default()
        };
        let built = sluice_kustomize::build(&files, &path, &options)
            .map_err(|error| CommandError::new(error.to_string()))?;
        built.warnings.iter().for_each(|warning| console.warning(warning));
        built
            .to_yaml()
            .map_err(|error| CommandError::new(error.to_string()))
    }
}
