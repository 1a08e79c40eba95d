//! Temporary directories for fetched objects.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Error;

const PREFIX: &str = "git-";

/// A directory of one operation, removed when dropped. Objects lie in unlinked files beside it.
#[derive(Debug)]
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// Makes a fresh directory below `parent`, readable by the owner alone.
    pub(crate) fn new(parent: &Path) -> Result<Self, Error> {
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(parent)
            .map_err(|error| Error::storage("unable to make a scratch directory", error))?;
        Ok(Self(directory))
    }

    pub(crate) fn shallow_file(&self) -> PathBuf {
        self.0.path().join("shallow")
    }
}

/// Removes what operations of an earlier process left below `parent`, and tells how many directories those
/// were. Call it at start, before the first operation: directories in use are removed as well.
///
/// # Errors
/// The directory cannot be listed, or an entry cannot be removed.
pub fn sweep(parent: &Path) -> std::io::Result<usize> {
    let mut removed = 0;
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeping_removes_leftovers_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("git-notes"), "a file").unwrap();
        std::fs::create_dir(parent.path().join("other")).unwrap();
        let kept = Scratch::new(parent.path()).unwrap();
        let leftover = kept.0.keep();
        std::fs::write(leftover.join("shallow"), "an object").unwrap();
        assert_eq!(sweep(parent.path()).unwrap(), 1);
        assert!(!leftover.exists());
        drop(Scratch::new(parent.path()).unwrap());
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 2);
    }
}
