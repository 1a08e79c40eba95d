//! A fetched artifact as a file system: an index over the bytes of its tar.
//!
//! Nothing is unpacked to names on a disk, so there is no path to escape by and nothing to clean up. The
//! bytes are held in memory up to a limit, above it in one unlinked temporary file read by position.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use sluice_vfs::{Entry, EntryKind, FileSystem, FileSystemError, VirtualPath};
use tar::EntryType;

use crate::spool::{Spool, Store, StoreReader};

/// What an archive may hold. Whatever is beyond is refused, not cut.
#[derive(Debug, Clone)]
pub struct ArchiveLimits {
    /// The bytes of the unpacked tar, headers included.
    pub bytes: u64,
    /// The number of files and directories.
    pub entries: usize,
    /// The number of components in a path.
    pub depth: usize,
    /// How many unpacked bytes stay in memory; an archive with more goes to a temporary file as a whole.
    pub memory: usize,
}

impl Default for ArchiveLimits {
    /// 2 GiB unpacked, 500,000 entries, 256 levels, 32 MiB in memory.
    fn default() -> Self {
        Self {
            bytes: 2 << 30,
            entries: 500_000,
            depth: 256,
            memory: 32 << 20,
        }
    }
}

/// Why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is no gzip, or damaged.
    #[error("requires gzip-compressed body: {0}")]
    Gzip(io::Error),
    /// It is no tar, or damaged.
    #[error("tar error: {0}")]
    Tar(io::Error),
    /// A name that is absolute, climbs with `..` or holds a backslash.
    #[error("tar contained invalid name error {0:?}")]
    Name(String),
    /// A device, a pipe or another thing that is neither file nor directory.
    #[error("tar file entry {name} contained unsupported file type {kind:?}")]
    Kind {
        /// The entry's name.
        name: String,
        /// Its type.
        kind: EntryType,
    },
    /// A symbolic link, where links are not skipped.
    #[error("tar file entry {0} is a symlink, which is not allowed in this context")]
    Link(String),
    /// A hard link to something that is not in the archive before it.
    #[error("tar file entry {name} is a link to {target:?}, which the archive does not hold")]
    DanglingLink {
        /// The entry's name.
        name: String,
        /// What it points to.
        target: String,
    },
    /// More unpacked bytes than allowed.
    #[error("archive is bigger than max archive size of {0} bytes")]
    TooLarge(u64),
    /// More files and directories than allowed.
    #[error("archive holds more than {0} files and directories")]
    TooMany(usize),
    /// A path with more components than allowed.
    #[error("tar file entry {name} lies deeper than {limit} directories")]
    TooDeep {
        /// The entry's name.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// The temporary file failed.
    #[error("failed to keep the archive: {0}")]
    Store(io::Error),
}

/// What to do about symbolic links in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    /// Leave them out, as every consumer of artifacts does.
    #[default]
    Skip,
    /// Fail.
    Refuse,
}

#[derive(Debug, Clone, Copy)]
struct FileNode {
    offset: u64,
    size: u64,
    executable: bool,
}

/// An artifact that can be read as a [`FileSystem`], shared between threads without locks. Entries whose names
/// are not UTF-8 are not in it.
#[derive(Debug)]
pub struct Archive {
    store: Store,
    files: BTreeMap<VirtualPath, FileNode>,
    directories: BTreeMap<VirtualPath, BTreeMap<Box<str>, EntryKind>>,
}

impl Archive {
    /// Reads a gzip-compressed tar to its end.
    ///
    /// # Errors
    /// See [`ArchiveError`].
    pub fn read_gzip(
        reader: &mut dyn Read,
        limits: &ArchiveLimits,
        links: Links,
    ) -> Result<Self, ArchiveError> {
        let mut builder = ArchiveBuilder::new(limits.clone(), links);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = reader.read(&mut buffer).map_err(ArchiveError::Gzip)?;
            if count == 0 {
                return builder.finish();
            }
            builder.push(&buffer[..count])?;
        }
    }

    /// The unpacked bytes, in memory or not.
    pub fn bytes(&self) -> u64 {
        self.store.length()
    }

    /// About how many bytes of memory the archive takes: contents held there and the index.
    pub fn memory(&self) -> u64 {
        let names: usize = self.files.keys().map(|path| 2 * path.as_str().len() + 128).sum();
        self.store.memory() + names as u64
    }

    /// How many files it holds.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Whether a file is executable; `None` if no file stands there.
    pub fn is_executable(&self, path: &VirtualPath) -> Option<bool> {
        self.files.get(path).map(|file| file.executable)
    }

    /// The size of a file in bytes; `None` if no file stands there.
    pub fn size(&self, path: &VirtualPath) -> Option<u64> {
        self.files.get(path).map(|file| file.size)
    }

    /// The contents of a file as a stream, which takes little memory whatever their size is.
    ///
    /// # Errors
    /// No file stands there.
    pub fn open(&self, path: &VirtualPath) -> Result<FileReader<'_>, FileSystemError> {
        match self.files.get(path) {
            Some(file) => Ok(FileReader {
                contents: self.store.reader(file.offset).take(file.size),
                size: file.size,
            }),
            None if self.is_directory(path)? => Err(FileSystemError::IsDirectory(path.clone())),
            None => Err(FileSystemError::NotFound(path.clone())),
        }
    }

    fn add_directory(&mut self, path: &VirtualPath) {
        if self.directories.contains_key(path) {
            return;
        }
        let mut directory = VirtualPath::root();
        for name in path.components() {
            let child = directory.child(name);
            self.files.remove(&child);
            self.directories
                .entry(directory)
                .or_default()
                .insert(name.into(), EntryKind::Directory);
            self.directories.entry(child.clone()).or_default();
            directory = child;
        }
    }

    fn add_file(&mut self, path: VirtualPath, node: FileNode) {
        let Some(parent) = path.parent() else { return };
        self.add_directory(&parent);
        self.directories
            .entry(parent)
            .or_default()
            .insert(path.file_name().into(), EntryKind::File);
        self.files.insert(path, node);
    }

    fn index(&mut self, limits: &ArchiveLimits, links: Links) -> Result<(), ArchiveError> {
        let store = std::mem::replace(
            &mut self.store,
            Spool::new(0).finish().map_err(ArchiveError::Store)?,
        );
        let indexed = self.index_entries(&store, limits, links);
        self.store = store;
        indexed
    }

    fn index_entries(
        &mut self,
        store: &Store,
        limits: &ArchiveLimits,
        links: Links,
    ) -> Result<(), ArchiveError> {
        let mut tar = tar::Archive::new(store.reader(0));
        for (count, entry) in tar.entries_with_seek().map_err(ArchiveError::Tar)?.enumerate() {
            let entry = entry.map_err(ArchiveError::Tar)?;
            if count >= limits.entries {
                return Err(ArchiveError::TooMany(limits.entries));
            }
            let kind = entry.header().entry_type();
            if kind == EntryType::XGlobalHeader {
                continue;
            }
            let Some((name, path)) = check_name(&entry.path_bytes())? else {
                continue;
            };
            if path.components().count() > limits.depth {
                return Err(ArchiveError::TooDeep {
                    name,
                    limit: limits.depth,
                });
            }
            match kind {
                EntryType::Directory => self.add_directory(&path),
                EntryType::Regular | EntryType::Continuous => {
                    self.check_place(&name, &path)?;
                    let mode = entry.header().mode().map_err(ArchiveError::Tar)?;
                    let node = FileNode {
                        offset: entry.raw_file_position(),
                        size: entry.size(),
                        executable: mode & 0o111 != 0,
                    };
                    self.add_file(path, node);
                }
                EntryType::Link => {
                    let target = entry.link_name_bytes().unwrap_or_default();
                    let Some((target, target_path)) = check_name(&target)? else {
                        continue;
                    };
                    self.check_place(&name, &path)?;
                    let node = *self
                        .files
                        .get(&target_path)
                        .ok_or(ArchiveError::DanglingLink { name, target })?;
                    self.add_file(path, node);
                }
                EntryType::Symlink if links == Links::Skip => {}
                EntryType::Symlink => return Err(ArchiveError::Link(name)),
                kind => return Err(ArchiveError::Kind { name, kind }),
            }
        }
        Ok(())
    }

    /// A file cannot take the place of a directory, the root included.
    fn check_place(&self, name: &str, path: &VirtualPath) -> Result<(), ArchiveError> {
        if path.is_root() || self.directories.contains_key(path) {
            return Err(ArchiveError::Name(name.to_owned()));
        }
        Ok(())
    }
}

/// Refuses names that could lead out of the root; gives `None` for a name that is not UTF-8, which no reader
/// of the archive could ask for.
fn check_name(bytes: &[u8]) -> Result<Option<(String, VirtualPath)>, ArchiveError> {
    let name = String::from_utf8_lossy(bytes);
    let invalid = || ArchiveError::Name(name.clone().into_owned());
    let climbs = name.split('/').any(|part| part == "..");
    if name.is_empty() || name.starts_with('/') || name.contains('\\') || climbs {
        return Err(invalid());
    }
    if std::str::from_utf8(bytes).is_err() {
        return Ok(None);
    }
    let path = VirtualPath::parse(&name).map_err(|_| invalid())?;
    Ok(Some((name.into_owned(), path)))
}

/// Reads one file of an [`Archive`].
#[derive(Debug)]
pub struct FileReader<'a> {
    contents: io::Take<StoreReader<'a>>,
    size: u64,
}

impl FileReader<'_> {
    /// How many bytes there are from begin to end.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.contents.read(buffer)
    }
}

impl FileSystem for Archive {
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError> {
        match self.files.get(path) {
            Some(file) => self
                .store
                .read(file.offset, file.size)
                .map_err(|error| FileSystemError::Io {
                    path: path.clone(),
                    reason: error.to_string(),
                }),
            None if self.is_directory(path)? => Err(FileSystemError::IsDirectory(path.clone())),
            None => Err(FileSystemError::NotFound(path.clone())),
        }
    }

    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        if self.files.contains_key(path) {
            return Ok(Some(EntryKind::File));
        }
        let known = path.is_root() || self.directories.contains_key(path);
        Ok(known.then_some(EntryKind::Directory))
    }

    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        match self.directories.get(path) {
            Some(children) => Ok(children
                .iter()
                .map(|(name, kind)| Entry {
                    name: name.to_string(),
                    kind: *kind,
                })
                .collect()),
            None if path.is_root() => Ok(Vec::new()),
            None if self.files.contains_key(path) => Err(FileSystemError::NotDirectory(path.clone())),
            None => Err(FileSystemError::NotFound(path.clone())),
        }
    }
}

/// Takes a compressed artifact piece by piece, as it comes from the network.
#[derive(Debug)]
pub struct ArchiveBuilder {
    decoder: MultiGzDecoder<Bounded>,
    limits: ArchiveLimits,
    links: Links,
}

impl ArchiveBuilder {
    /// Starts with nothing taken.
    pub fn new(limits: ArchiveLimits, links: Links) -> Self {
        let bounded = Bounded {
            spool: Spool::new(limits.memory),
            left: limits.bytes,
            exceeded: false,
        };
        Self {
            decoder: MultiGzDecoder::new(bounded),
            limits,
            links,
        }
    }

    /// Takes the next compressed bytes.
    ///
    /// # Errors
    /// They are damaged, or unpack to more than the limit.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let result = self.decoder.write_all(bytes);
        result.map_err(|error| self.explain(error))
    }

    /// Ends: unpacks the rest and builds the index.
    ///
    /// # Errors
    /// See [`ArchiveError`].
    pub fn finish(mut self) -> Result<Archive, ArchiveError> {
        let finished = self.decoder.try_finish();
        finished.map_err(|error| self.explain(error))?;
        let bounded = self.decoder.finish().map_err(ArchiveError::Gzip)?;
        let store = bounded.spool.finish().map_err(ArchiveError::Store)?;
        let mut archive = Archive {
            store,
            files: BTreeMap::new(),
            directories: BTreeMap::new(),
        };
        archive.index(&self.limits, self.links)?;
        Ok(archive)
    }

    fn explain(&self, error: io::Error) -> ArchiveError {
        if self.decoder.get_ref().exceeded {
            ArchiveError::TooLarge(self.limits.bytes)
        } else {
            ArchiveError::Gzip(error)
        }
    }
}

/// Refuses to take more than a number of bytes.
#[derive(Debug)]
struct Bounded {
    spool: Spool,
    left: u64,
    exceeded: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.exceeded = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let count = self.spool.write(bytes)?;
        self.left -= count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
