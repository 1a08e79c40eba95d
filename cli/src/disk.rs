//! The real file system as the engine's virtual one, for use on a laptop.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sluice_vfs::{Entry, EntryKind, FileSystem, FileSystemError, VirtualPath};

/// Larger files are refused instead of filling the memory: no manifest comes near.
const LARGEST_FILE: u64 = 256 << 20;

/// Everything below a directory of the disk. Symbolic links are followed as long as they stay below it.
#[derive(Debug, Clone)]
pub(crate) struct DiskFileSystem {
    root: PathBuf,
    /// Whether a listing shows a link to a directory as a directory.
    follows_in_listings: bool,
}

impl DiskFileSystem {
    /// The tree below `root`.
    ///
    /// # Errors
    /// `root` does not exist.
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        Ok(Self {
            root: root.canonicalize()?,
            follows_in_listings: true,
        })
    }

    /// Shows links to directories as files in listings, so that whoever walks the tree does not enter them: they
    /// might lead in a circle.
    pub(crate) fn without_linked_directories(mut self) -> Self {
        self.follows_in_listings = false;
        self
    }

    fn resolve(&self, path: &VirtualPath) -> Result<Option<PathBuf>, FileSystemError> {
        match self.root.join(path.as_str()).canonicalize() {
            Ok(real) if real.starts_with(&self.root) => Ok(Some(real)),
            Ok(_) => Err(FileSystemError::Escapes(path.clone())),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(failed(path, &error)),
        }
    }

    fn existing(&self, path: &VirtualPath) -> Result<PathBuf, FileSystemError> {
        self.resolve(path)?
            .ok_or_else(|| FileSystemError::NotFound(path.clone()))
    }
}

fn failed(path: &VirtualPath, error: &io::Error) -> FileSystemError {
    FileSystemError::Io {
        path: path.clone(),
        reason: error.to_string(),
    }
}

impl FileSystem for DiskFileSystem {
    fn real_path(&self, path: &VirtualPath) -> Result<VirtualPath, FileSystemError> {
        let Some(real) = self.resolve(path)? else {
            return Ok(path.clone());
        };
        let below = real.strip_prefix(&self.root).unwrap_or(&real);
        let text = below.to_str().ok_or_else(|| FileSystemError::Io {
            path: path.clone(),
            reason: format!("leads to {}, which is not UTF-8", real.display()),
        })?;
        VirtualPath::parse(text).map_err(|_| FileSystemError::Escapes(path.clone()))
    }

    fn read(&self, path: &VirtualPath) -> Result<bytes::Bytes, FileSystemError> {
        let real = self.existing(path)?;
        let file = fs::File::open(&real).map_err(|error| failed(path, &error))?;
        let metadata = file.metadata().map_err(|error| failed(path, &error))?;
        if metadata.is_dir() {
            return Err(FileSystemError::IsDirectory(path.clone()));
        }
        let mut contents = Vec::new();
        file.take(LARGEST_FILE + 1)
            .read_to_end(&mut contents)
            .map_err(|error| failed(path, &error))?;
        let size = contents.len() as u64;
        if size > LARGEST_FILE {
            return Err(FileSystemError::TooLarge {
                path: path.clone(),
                size: metadata.len(),
                limit: LARGEST_FILE,
            });
        }
        Ok(contents.into())
    }

    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        let Some(real) = self.resolve(path)? else {
            return Ok(None);
        };
        let metadata = fs::metadata(real).map_err(|error| failed(path, &error))?;
        Ok(Some(if metadata.is_dir() {
            EntryKind::Directory
        } else {
            EntryKind::File
        }))
    }

    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        let real = self.existing(path)?;
        if !real.is_dir() {
            return Err(FileSystemError::NotDirectory(path.clone()));
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(real).map_err(|error| failed(path, &error))? {
            let entry = entry.map_err(|error| failed(path, &error))?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let is_directory = if self.follows_in_listings {
                fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_dir())
            } else {
                entry.file_type().is_ok_and(|kind| kind.is_dir())
            };
            let kind = if is_directory {
                EntryKind::Directory
            } else {
                EntryKind::File
            };
            entries.push(Entry { name, kind });
        }
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_inside_the_root_only() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("a")).unwrap();
        fs::write(root.join("a/x"), "inside").unwrap();
        fs::write(directory.path().join("secret"), "outside").unwrap();
        std::os::unix::fs::symlink("a/x", root.join("good")).unwrap();
        std::os::unix::fs::symlink("../secret", root.join("bad")).unwrap();
        let disk = DiskFileSystem::new(&root).unwrap();
        let path = |text: &str| VirtualPath::parse(text).unwrap();
        assert_eq!(disk.read(&path("good")).unwrap().as_ref(), b"inside");
        assert_eq!(
            disk.read(&path("bad")),
            Err(FileSystemError::Escapes(path("bad")))
        );
        assert_eq!(disk.real_path(&path("good")), Ok(path("a/x")));
        assert_eq!(disk.real_path(&path("none/../a/none")), Ok(path("a/none")));
        assert_eq!(disk.kind(&path("a/none")), Ok(None));
        assert_eq!(
            disk.read(&path("a")),
            Err(FileSystemError::IsDirectory(path("a")))
        );
        let names: Vec<String> = disk
            .list(&path(""))
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        assert_eq!(names, ["a", "bad", "good"]);
    }
}
