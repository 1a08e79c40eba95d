use std::sync::Arc;

use bytes::Bytes;
use sluice_vfs::FileSystem;

use crate::loader::GitAddress;

/// In which order the objects come out, unless the root kustomization has `sortOptions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reorder {
    /// As they were read (`--reorder none`).
    None,
    /// By kind, as kustomize does without the flag: namespaces first, webhook configurations last.
    #[default]
    Legacy,
}

/// Which files a kustomization may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LoadRestrictions {
    /// Only files in or below the directory of the kustomization file (`LoadRestrictionsRootOnly`).
    #[default]
    RootOnly,
    /// Any file of the file system (`LoadRestrictionsNone`), which is what Flux uses.
    None,
}

/// Bounds on one build. Exceeding one is an [`Error`](crate::Error) of kind
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most objects that a build may hold at any time.
    pub objects: usize,
    /// Deepest nesting of kustomizations.
    pub depth: usize,
    /// Most bytes read from files together; a file counts each time it is read.
    pub bytes: u64,
    /// Bounds on each YAML text.
    pub yaml: sluice_goyaml::Limits,
    /// When to give up. Checked between steps.
    pub deadline: Option<std::time::Instant>,
}

impl Default for Limits {
    /// 100,000 objects, 64 levels, 512 MiB read, no deadline.
    fn default() -> Self {
        Self {
            objects: 100_000,
            depth: 64,
            bytes: 512 << 20,
            yaml: sluice_goyaml::Limits::default(),
            deadline: None,
        }
    }
}

/// Fetches what a kustomization names by address. Called from the thread of the build.
pub trait RemoteResolver {
    /// Reads a file by its `http` or `https` address.
    ///
    /// # Errors
    /// Why the file could not be had, in words for the user.
    fn read_file(&self, address: &str) -> std::result::Result<Bytes, String>;

    /// Fetches the repository of an address: what it holds at the reference, from its root.
    ///
    /// # Errors
    /// Why the repository could not be had, in words for the user.
    fn open_base(&self, address: &GitAddress) -> std::result::Result<Arc<dyn FileSystem>, String>;
}

/// How to build.
#[derive(Clone, Copy)]
pub struct BuildOptions<'a> {
    /// The order of the objects.
    pub reorder: Reorder,
    /// Which files may be read.
    pub load_restrictions: LoadRestrictions,
    /// Adds the label `app.kubernetes.io/managed-by: kustomize-v5.8.1` (`--enable-managedby-label`).
    pub managed_by_label: bool,
    /// The bounds.
    pub limits: Limits,
    /// Fetches remote files and bases; without one they are refused.
    pub remote: Option<&'a dyn RemoteResolver>,
}

impl Default for BuildOptions<'_> {
    /// What `kustomize build` does without flags, remote bases refused.
    fn default() -> Self {
        Self {
            reorder: Reorder::default(),
            load_restrictions: LoadRestrictions::default(),
            managed_by_label: false,
            limits: Limits::default(),
            remote: None,
        }
    }
}
