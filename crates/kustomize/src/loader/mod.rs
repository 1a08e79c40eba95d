//! Finding files and directories by the rules of kustomize.

mod address;

pub use address::GitAddress;
pub(crate) use address::{is_remote_base, is_remote_file, redact};

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use bytes::Bytes;
use sluice_vfs::{EntryKind, FileSystem, FileSystemError, PathError, VirtualPath};

use crate::error::{Error, ErrorKind, Result};
use crate::kustomization::FILE_NAMES;
use crate::options::{BuildOptions, Limits, LoadRestrictions};

/// What all loaders of one build share.
pub(crate) struct Session<'a> {
    pub(crate) options: &'a BuildOptions<'a>,
    bytes: Cell<u64>,
    /// Whether something was fetched from elsewhere.
    pub(crate) remote: Cell<bool>,
    pub(crate) warnings: RefCell<Vec<String>>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(options: &'a BuildOptions<'a>) -> Self {
        Self {
            options,
            bytes: Cell::new(0),
            remote: Cell::new(false),
            warnings: RefCell::default(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    pub(crate) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Fails if the deadline has passed.
    pub(crate) fn check_deadline(&self) -> Result<()> {
        match self.limits().deadline {
            Some(deadline) if std::time::Instant::now() >= deadline => {
                Err(Error::new(ErrorKind::Limit, "the build took too long").remedy("raise the timeout"))
            }
            _ => Ok(()),
        }
    }

    fn count(&self, bytes: usize) -> Result<()> {
        let total = self.bytes.get().saturating_add(bytes as u64);
        self.bytes.set(total);
        if total > self.limits().bytes {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("the build reads more than {} bytes", self.limits().bytes),
            )
            .remedy("build fewer or smaller files"));
        }
        self.check_deadline()
    }
}

#[derive(Clone)]
enum Files<'a> {
    Given(&'a dyn FileSystem),
    Fetched(Arc<dyn FileSystem>),
}

impl Files<'_> {
    fn get(&self) -> &dyn FileSystem {
        match self {
            Self::Given(files) => *files,
            Self::Fetched(files) => files.as_ref(),
        }
    }
}

/// A root that is being built, in one of the file systems.
#[derive(Clone)]
struct Visited {
    /// The address of the fetched file system, as it was given; None for the given one.
    repository: Option<Arc<str>>,
    root: VirtualPath,
}

/// Reads files for one kustomization.
#[derive(Clone)]
pub(crate) struct Loader<'a> {
    pub(crate) session: &'a Session<'a>,
    files: Files<'a>,
    root: VirtualPath,
    restrictions: LoadRestrictions,
    /// This root and those that led here, innermost last.
    visited: Vec<Visited>,
}

/// The contents of a file with the name for messages.
pub(crate) struct Loaded {
    pub(crate) contents: Bytes,
    pub(crate) name: String,
}

impl<'a> Loader<'a> {
    /// A loader for the root of a build.
    pub(crate) fn new(
        session: &'a Session<'a>,
        files: &'a dyn FileSystem,
        root: &VirtualPath,
    ) -> Result<Self> {
        let loader = Self {
            session,
            files: Files::Given(files),
            root: root.clone(),
            restrictions: session.options.load_restrictions,
            visited: vec![Visited {
                repository: None,
                root: root.clone(),
            }],
        };
        loader.check_directory(root)?;
        Ok(loader)
    }

    /// A loader for a build whose root is the directory of an address.
    pub(crate) fn at_address(session: &'a Session<'a>, address: &GitAddress) -> Result<Self> {
        let files = open(session, address)?;
        Self {
            session,
            files: Files::Fetched(Arc::clone(&files)),
            root: VirtualPath::root(),
            restrictions: LoadRestrictions::RootOnly,
            visited: Vec::new(),
        }
        .enter(address, files)
    }

    /// The directory.
    pub(crate) fn root(&self) -> &VirtualPath {
        &self.root
    }

    /// A path below the root for messages.
    pub(crate) fn display(&self, path: &str) -> String {
        let path = match self.root.join(path) {
            Ok(joined) => joined.as_str().to_owned(),
            Err(_) => path.to_owned(),
        };
        match self
            .visited
            .last()
            .and_then(|visited| visited.repository.as_ref())
        {
            Some(repository) => format!("{}: {path}", redact(repository)),
            None => path,
        }
    }

    fn join(&self, path: &str) -> Result<VirtualPath> {
        self.root.join(path).map_err(|error| match error {
            PathError::OutsideRoot(_) => Error::new(
                ErrorKind::Restricted,
                format!(
                    "{path:?}, seen from {:?}, leads outside the root of the file system",
                    self.root.to_string()
                ),
            )
            .remedy("refer only to files of the same repository"),
            PathError::Nul(_) => Error::new(ErrorKind::File, format!("the path {path:?} holds a NUL byte")),
        })
    }

    fn check_directory(&self, path: &VirtualPath) -> Result<()> {
        match self.files.get().kind(path).map_err(|error| file_error(&error))? {
            Some(EntryKind::Directory) => Ok(()),
            Some(EntryKind::File) => Err(Error::new(
                ErrorKind::File,
                format!("{path} is a file, not a directory"),
            )),
            None => Err(
                Error::new(ErrorKind::File, format!("{path}: no such file or directory"))
                    .remedy("check the path, or add the file"),
            ),
        }
    }

    /// Reads a file: a path seen from the root, or an address.
    pub(crate) fn load(&self, path: &str) -> Result<Loaded> {
        if is_remote_file(path) {
            return self.load_remote(path);
        }
        let full = self.join(path)?;
        let files = self.files.get();
        if self.restrictions == LoadRestrictions::RootOnly {
            match files.kind(&full).map_err(|error| file_error(&error))? {
                Some(EntryKind::File) => self.check_restrictions(&full)?,
                Some(EntryKind::Directory) => {
                    return Err(Error::new(
                        ErrorKind::File,
                        format!("{full} is a directory, not a file"),
                    ));
                }
                _ => {}
            }
        }
        let contents = files.read(&full).map_err(|error| file_error(&error))?;
        self.session.count(contents.len())?;
        Ok(Loaded {
            contents,
            name: self.display(path),
        })
    }

    /// What counts is where a file really lies: a symbolic link lifts no restriction.
    fn check_restrictions(&self, file: &VirtualPath) -> Result<()> {
        let real = self
            .files
            .get()
            .real_path(file)
            .map_err(|error| file_error(&error))?;
        if real.starts_with(&self.root) {
            return Ok(());
        }
        let file = if real == *file {
            file.to_string()
        } else {
            format!("{file}, a link to {real},")
        };
        let message = format!("{file} is not in or below {}", self.root);
        Err(Error::new(ErrorKind::Restricted, message)
            .remedy("move the file into the kustomization, or lift the load restrictions"))
    }

    fn load_remote(&self, address: &str) -> Result<Loaded> {
        let Some(remote) = self.session.options.remote else {
            return Err(forbidden(address));
        };
        self.session.remote.set(true);
        let contents = remote
            .read_file(address)
            .map_err(|reason| Error::new(ErrorKind::Remote, format!("{}: {reason}", redact(address))))?;
        self.session.count(contents.len())?;
        Ok(Loaded {
            contents,
            name: redact(address),
        })
    }

    /// A loader for a directory or a remote base.
    pub(crate) fn descend(&self, path: &str) -> Result<Self> {
        if path.is_empty() {
            return Err(Error::new(ErrorKind::Kustomization, "a path is empty"));
        }
        if self.visited.len() > self.session.limits().depth {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "kustomizations are nested more than {} deep",
                    self.session.limits().depth
                ),
            ));
        }
        if let Some(address) = GitAddress::parse(path) {
            return self.fetch(&address);
        }
        if path.starts_with('/') {
            return Err(Error::new(
                ErrorKind::Restricted,
                format!("the directory {path:?} is an absolute path"),
            )
            .remedy("give the path relative to the kustomization file"));
        }
        let named = self.join(path)?;
        self.check_directory(&named)?;
        let root = self
            .files
            .get()
            .real_path(&named)
            .map_err(|error| file_error(&error))?;
        let repository = self.visited.last().and_then(|visited| visited.repository.clone());
        for visited in self
            .visited
            .iter()
            .filter(|visited| visited.repository == repository)
        {
            if visited.root.starts_with(&root) {
                return Err(Error::new(
                    ErrorKind::Cycle,
                    format!(
                        "the directory {root} contains {}, which is being built",
                        visited.root
                    ),
                )
                .remedy("remove the reference, or move the base beside what uses it"));
            }
        }
        let mut loader = self.clone();
        loader.root = root.clone();
        loader.visited.push(Visited { repository, root });
        Ok(loader)
    }

    fn fetch(&self, address: &GitAddress) -> Result<Self> {
        let is_visited = |visited: &Visited| {
            let repository = visited.repository.as_ref();
            repository.is_some_and(|repository| repository.starts_with(address.raw()))
        };
        if self.visited.iter().any(is_visited) {
            let problem = format!("the remote base {address} refers to itself");
            return Err(Error::new(ErrorKind::Cycle, problem).remedy("remove the reference"));
        }
        let files = open(self.session, address)?;
        self.clone().enter(address, files)
    }

    /// Goes to the directory of an address whose repository is there.
    fn enter(mut self, address: &GitAddress, files: Arc<dyn FileSystem>) -> Result<Self> {
        self.files = Files::Fetched(files);
        self.root = VirtualPath::root();
        // What comes from elsewhere may never read more than its own directory.
        self.restrictions = LoadRestrictions::RootOnly;
        self.visited.push(Visited {
            repository: Some(address.raw().into()),
            root: VirtualPath::root(),
        });
        let named = self.join(address.directory())?;
        let in_address = |error: Error| error.in_file(address.to_string());
        self.check_directory(&named).map_err(in_address)?;
        let real = self.files.get().real_path(&named);
        self.root = real.map_err(|error| in_address(file_error(&error)))?;
        if let Some(visited) = self.visited.last_mut() {
            visited.root = self.root.clone();
        }
        Ok(self)
    }

    /// Reads the kustomization file of the root.
    pub(crate) fn load_kustomization(&self) -> Result<(Loaded, &'static str)> {
        let mut found = None;
        for name in FILE_NAMES {
            let path = self.join(name)?;
            if !self
                .files
                .get()
                .is_file(&path)
                .map_err(|error| file_error(&error))?
            {
                continue;
            }
            if let Some((_, other)) = found {
                return Err(Error::new(
                    ErrorKind::Kustomization,
                    format!("{} has both {other} and {name}", self.display(".")),
                )
                .remedy("keep one of them"));
            }
            found = Some((self.load(name)?, name));
        }
        found.ok_or_else(|| {
            let directory = self.display("");
            Error::new(ErrorKind::Kustomization, "there is no kustomization file")
                .in_file(if directory.is_empty() { "." } else { &directory })
                .remedy(format!("add one of {}", FILE_NAMES.join(", ")))
        })
    }
}

/// The files of the repository of an address.
fn open(session: &Session<'_>, address: &GitAddress) -> Result<Arc<dyn FileSystem>> {
    if address.is_forced() {
        session.warn(format!(
            "{address}: the prefix git:: means nothing and will be an error in a later version of kustomize; remove it"
        ));
    }
    let Some(remote) = session.options.remote else {
        return Err(forbidden(address.raw()));
    };
    session.remote.set(true);
    session.check_deadline()?;
    remote
        .open_base(address)
        .map_err(|reason| Error::new(ErrorKind::Remote, format!("{address}: {reason}")))
}

fn forbidden(address: &str) -> Error {
    let problem = format!(
        "fs-security-constraint: {} is not in or below the root, and remote bases are not allowed",
        redact(address)
    );
    Error::new(ErrorKind::Remote, problem).remedy("copy what it holds into the repository")
}

fn file_error(error: &FileSystemError) -> Error {
    let kind = match error {
        FileSystemError::Escapes(_) => ErrorKind::Restricted,
        FileSystemError::TooLarge { .. } => ErrorKind::Limit,
        _ => ErrorKind::File,
    };
    Error::new(kind, error.to_string())
}
