//! Chart archives: `.tgz` files with one top directory.

use std::io::{self, Read};
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use regex::Regex;
use tar::EntryType;

use super::File;

/// Why an archive is no chart. The texts are Helm's where it has one.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is no gzip.
    #[error("gzip: invalid header")]
    NoGzip,
    /// It is damaged.
    #[error("the archive is damaged: {0}")]
    Damaged(#[from] io::Error),
    /// A name is absolute.
    #[error("chart illegally contains absolute paths")]
    Absolute,
    /// A file stands beside the top directory.
    #[error("chart illegally contains content outside the base directory: {}", crate::text::quoted(.0))]
    Outside(String),
    /// A name climbs out with `..`.
    #[error("chart illegally references parent directory")]
    Parent,
    /// A name is that of a Windows drive.
    #[error("chart contains illegally named files")]
    Drive,
    /// There is no top directory.
    #[error("chart yaml not in base directory")]
    NoBase,
    /// The contents take more than [`Archive::total_bytes`].
    #[error("decompressed chart is larger than the maximum size {0}")]
    TooLarge(u64),
    /// A file takes more than [`Archive::file_bytes`].
    #[error("decompressed chart file {} is larger than the maximum file size {limit}", crate::text::quoted(.name))]
    FileTooLarge {
        /// Which.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// There are more files than [`Archive::files`].
    #[error("the chart holds more than {0} files")]
    TooMany(usize),
    /// There is nothing in it.
    #[error("no files in chart archive")]
    Empty,
}

/// Reads archives within limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// How many bytes all files may hold: 100 MiB, as in Helm.
    pub total_bytes: u64,
    /// How many bytes one file may hold: 5 MiB, as in Helm.
    pub file_bytes: u64,
    /// How many files there may be: 50,000.
    pub files: usize,
}

impl Default for Archive {
    fn default() -> Self {
        Self {
            total_bytes: 100 << 20,
            file_bytes: 5 << 20,
            files: 50_000,
        }
    }
}

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Archive {
    /// The files in a `.tgz`, their names below the top directory.
    ///
    /// # Errors
    /// See [`ArchiveError`].
    pub fn read(&self, archive: &[u8]) -> Result<Vec<File>, ArchiveError> {
        if !archive.starts_with(b"\x1F\x8B\x08") {
            return Err(ArchiveError::NoGzip);
        }
        // Headers and padding come on top of the files' own bytes.
        let headers = 2048 * (self.files as u64 + 2);
        let unpacked = MultiGzDecoder::new(archive).take(self.total_bytes.saturating_add(headers));
        let mut tar = tar::Archive::new(unpacked);
        let mut files = Vec::new();
        let mut remaining = self.total_bytes;
        for entry in tar.entries()? {
            let mut entry = entry?;
            let kind = entry.header().entry_type();
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if kind == EntryType::Directory || kind == EntryType::XGlobalHeader || name.ends_with('/') {
                continue;
            }
            let path = path_in_chart(&name)?;
            if files.len() >= self.files {
                return Err(ArchiveError::TooMany(self.files));
            }
            if entry.size() > remaining {
                return Err(ArchiveError::TooLarge(self.total_bytes));
            }
            if entry.size() > self.file_bytes {
                return Err(ArchiveError::FileTooLarge {
                    name,
                    limit: self.file_bytes,
                });
            }
            let mut data = Vec::new();
            if kind.is_file() || kind.is_contiguous() {
                entry.read_to_end(&mut data)?;
            }
            remaining -= (data.len() as u64).min(remaining);
            if remaining == 0 {
                return Err(ArchiveError::TooLarge(self.total_bytes));
            }
            let modified = entry
                .header()
                .mtime()
                .ok()
                .and_then(|time| i64::try_from(time).ok());
            files.push(File {
                name: path,
                data: without_mark(Bytes::from(data)),
                modified,
            });
        }
        if files.is_empty() {
            return Err(ArchiveError::Empty);
        }
        Ok(files)
    }
}

/// The contents without a byte order mark.
pub(super) fn without_mark(data: Bytes) -> Bytes {
    if data.starts_with(BYTE_ORDER_MARK) {
        data.slice(BYTE_ORDER_MARK.len()..)
    } else {
        data
    }
}

/// The path of an entry below the top directory.
fn path_in_chart(name: &str) -> Result<String, ArchiveError> {
    static DRIVE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[a-zA-Z]:/").ok());
    // Some archives were made on Windows.
    let delimiter = if name.contains('\\') { '\\' } else { '/' };
    let (top, below) = name.split_once(delimiter).unwrap_or((name, ""));
    let below = below.replace(delimiter, "/");
    if below.starts_with('/') {
        return Err(ArchiveError::Absolute);
    }
    let path = crate::text::clean_path(&below);
    if path == "." {
        return Err(ArchiveError::Outside(name.to_owned()));
    }
    if path.starts_with("..") {
        return Err(ArchiveError::Parent);
    }
    if DRIVE.as_ref().is_some_and(|pattern| pattern.is_match(&path)) {
        return Err(ArchiveError::Drive);
    }
    if top == "Chart.yaml" {
        return Err(ArchiveError::NoBase);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_chart_are_refused() {
        let error = |name: &str| path_in_chart(name).unwrap_err().to_string();
        assert_eq!(
            error("chart/../../x"),
            "chart illegally references parent directory"
        );
        assert_eq!(error("chart//etc/x"), "chart illegally contains absolute paths");
        assert_eq!(
            error("x"),
            "chart illegally contains content outside the base directory: \"x\""
        );
        assert_eq!(error("chart/c:/x"), "chart contains illegally named files");
        assert_eq!(
            error("chart\\..\\x"),
            "chart illegally references parent directory"
        );
        assert_eq!(path_in_chart("chart\\templates\\x").unwrap(), "templates/x");
    }
}
