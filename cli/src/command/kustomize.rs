//! `sluice kustomize build`: what `kustomize build` prints, without a cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use clap::{Subcommand, ValueEnum};
use sluice_kustomize::{BuildOptions, GitAddress, LoadRestrictions, RemoteResolver, Reorder};
use sluice_remote_bases::{Limits, RemoteBases};
use sluice_vfs::{FileSystem, VirtualPath};

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
    /// Directory with a kustomization file, or the address of one in a Git repository
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
        let remote = Remote(RemoteBases::new(std::env::temp_dir(), Limits::default()));
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
            remote: Some(&remote),
            ..BuildOptions::default()
        };
        let failed = |error: sluice_kustomize::Error| CommandError::new(error.to_string());
        let built = match self.path.to_str().and_then(GitAddress::parse) {
            Some(address) => sluice_kustomize::build_address(&address, &options).map_err(failed)?,
            None => self.build_directory(&options)?,
        };
        built.warnings.iter().for_each(|warning| console.warning(warning));
        built.to_yaml().map_err(failed)
    }

    fn build_directory(&self, options: &BuildOptions<'_>) -> Result<sluice_kustomize::Build> {
        let wrong = |error: std::io::Error| {
            CommandError::new(format!("{}: {error}", self.path.display())).with_hint("name a directory")
        };
        let directory = self.path.canonicalize().map_err(wrong)?;
        // Bases may lie anywhere on the disk, so the root is that of the disk.
        let files = DiskFileSystem::new(Path::new("/")).map_err(wrong)?;
        let path = VirtualPath::parse(&directory.to_string_lossy())
            .map_err(|error| CommandError::new(error.to_string()))?;
        sluice_kustomize::build(&files, &path, options).map_err(|error| CommandError::new(error.to_string()))
    }
}

/// Fetches remote bases, and sets up TLS when the first is asked for.
struct Remote(RemoteBases);

impl Remote {
    fn online(&self) -> &RemoteBases {
        // An error means that a provider stands already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        &self.0
    }
}

impl RemoteResolver for Remote {
    fn read_file(&self, address: &str) -> std::result::Result<Bytes, String> {
        self.online().read_file(address)
    }

    fn open_base(&self, address: &GitAddress) -> std::result::Result<Arc<dyn FileSystem>, String> {
        self.online().open_base(address)
    }
}
