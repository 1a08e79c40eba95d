//! Which files of an object are garbage, and removing them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::{StorageError, is_temporary};

/// How many files of an object one collection looks at.
const FILE_LIMIT: usize = 1000;

/// How deep below the root an artifact's file lies.
const FILE_DEPTH: usize = 4;

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// The artifacts' files, without lock files.
    pub files: Vec<PathBuf>,
    /// The sum of their sizes.
    pub bytes: u64,
}

/// What may stay.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) ttl: Duration,
    pub(super) records: usize,
    pub(super) now: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    path: PathBuf,
    modified: SystemTime,
    bytes: u64,
}

/// Chooses the garbage among an object's files (`files` includes the current one): the expired first, then,
/// oldest first, those beyond the number of records. The current file is never chosen but counts.
fn choose(mut files: Vec<Candidate>, current: &Path, policy: &Policy) -> Vec<Candidate> {
    files.sort_by(|left, right| {
        left.modified
            .cmp(&right.modified)
            .then_with(|| left.path.cmp(&right.path))
    });
    let total = files.len();
    let expired = |file: &Candidate| {
        policy
            .now
            .duration_since(file.modified)
            .is_ok_and(|age| age > policy.ttl)
    };
    let (mut garbage, kept): (Vec<_>, Vec<_>) = files
        .into_iter()
        .filter(|file| file.path != current)
        .partition(expired);
    for file in kept {
        if total - garbage.len() > policy.records {
            garbage.push(file);
        }
    }
    garbage
}

/// Removes the garbage beside `current`.
pub(super) fn collect(current: &Path, policy: &Policy, deadline: Instant) -> Result<Removed, StorageError> {
    let Some(directory) = current.parent() else {
        return Ok(Removed::default());
    };
    let files = list(directory, deadline)?;
    let mut removed = Removed::default();
    let mut failure = None;
    for file in choose(files, current, policy) {
        if Instant::now() >= deadline {
            break;
        }
        match fs::remove_file(&file.path) {
            Ok(()) => {
                removed.bytes += file.bytes;
                remove_lock(&file.path, &mut failure);
                removed.files.push(file.path);
            }
            Err(source) => failure = Some(StorageError::io("remove", &file.path)(source)),
        }
    }
    failure.map_or(Ok(removed), Err)
}

fn remove_lock(path: &Path, failure: &mut Option<StorageError>) {
    let mut lock = path.to_owned().into_os_string();
    lock.push(".lock");
    let lock = PathBuf::from(lock);
    match fs::remove_file(&lock) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            *failure = Some(StorageError::io("remove", &lock)(source));
        }
        _ => {}
    }
}

/// The regular files of an object's directory that are no lock files.
fn list(directory: &Path, deadline: Instant) -> Result<Vec<Candidate>, StorageError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StorageError::io("open", directory)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        if files.len() >= FILE_LIMIT || Instant::now() >= deadline {
            break;
        }
        let entry = entry.map_err(StorageError::io("read", directory))?;
        let path = entry.path();
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(StorageError::io("stat", &path)(error)),
        };
        if metadata.is_file() && path.extension().is_none_or(|extension| extension != "lock") {
            let modified = metadata.modified().map_err(StorageError::io("stat", &path))?;
            files.push(Candidate {
                path,
                modified,
                bytes: metadata.len(),
            });
        }
    }
    Ok(files)
}

/// What removing a whole directory would remove.
pub(super) fn measure(directory: &Path) -> Result<Removed, StorageError> {
    let far_away = Instant::now() + Duration::from_secs(3600);
    let files = list(directory, far_away)?;
    let bytes = files.iter().map(|file| file.bytes).sum();
    Ok(Removed {
        files: files.into_iter().map(|file| file.path).collect(),
        bytes,
    })
}

/// Removes temporary files from all objects' directories.
pub(super) fn sweep(root: &Path) -> Result<Removed, StorageError> {
    let mut removed = Removed::default();
    let mut pending = vec![(root.to_owned(), 1)];
    while let Some((directory, depth)) = pending.pop() {
        for entry in fs::read_dir(&directory).map_err(StorageError::io("open", &directory))? {
            let entry = entry.map_err(StorageError::io("read", &directory))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(StorageError::io("stat", &path))?;
            if kind.is_dir() && depth < FILE_DEPTH {
                pending.push((path, depth + 1));
            } else if !kind.is_dir()
                && depth == FILE_DEPTH
                && entry.file_name().to_str().is_some_and(is_temporary)
            {
                let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                fs::remove_file(&path).map_err(StorageError::io("remove", &path))?;
                removed.bytes += bytes;
                removed.files.push(path);
            }
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(ages: &[u64], current: usize, ttl: u64, records: usize) -> Vec<usize> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let files: Vec<Candidate> = ages
            .iter()
            .enumerate()
            .map(|(index, age)| Candidate {
                path: PathBuf::from(format!("/{index:03}")),
                modified: now - Duration::from_secs(*age),
                bytes: 1,
            })
            .collect();
        let policy = Policy {
            ttl: Duration::from_secs(ttl),
            records,
            now,
        };
        let current = PathBuf::from(format!("/{current:03}"));
        let mut indexes: Vec<usize> = choose(files, &current, &policy)
            .iter()
            .map(|file| file.path.to_str().unwrap()[1..].parse().unwrap())
            .collect();
        indexes.sort_unstable();
        indexes
    }

    #[test]
    fn expired_files_and_those_beyond_the_records_are_garbage() {
        // SRC-017: (ages, current, ttl, records) -> garbage
        type Case<'a> = (&'a [u64], usize, u64, usize, &'a [usize]);
        let cases: [Case<'_>; 7] = [
            (&[100, 50, 40, 30, 0], 4, 60, 2, &[0, 1, 2]),
            (&[100, 90, 80], 2, 60, 2, &[0, 1]),
            (&[100, 90, 80], 0, 60, 2, &[1, 2]),
            (&[10, 5, 0], 2, 60, 5, &[]),
            (&[10, 5, 0], 2, 60, 2, &[0]),
            (&[10, 5, 0], 0, 60, 1, &[1, 2]),
            (&[0], 0, 0, 0, &[]),
        ];
        for (ages, current, ttl, records, expected) in cases {
            assert_eq!(
                chosen(ages, current, ttl, records),
                expected,
                "{ages:?} {current} {ttl} {records}"
            );
        }
    }

    #[test]
    fn files_of_one_instant_are_counted_apart() {
        assert_eq!(chosen(&[5, 5, 5, 5], 3, 60, 2), [0, 1]);
    }
}
