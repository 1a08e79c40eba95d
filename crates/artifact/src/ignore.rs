//! Which files of a source go into its artifact: gitignore patterns as Flux reads them.
//!
//! Flux's rules differ from git's in ways that users rely on, so they are kept: a file below an excluded
//! directory can be taken back in by a later `!` pattern, a pattern without a slash matches any component
//! of a path, and `[!a]` does not negate.

use sluice_vfs::{Entry, EntryKind, FileSystem, FileSystemError, VirtualPath};

use crate::glob;

/// The file that holds patterns for its directory and what is below it.
pub const IGNORE_FILE: &str = ".sourceignore";

/// What belongs to version control: excluded always.
const VERSION_CONTROL: [&str; 4] = [".git/", ".gitignore", ".gitmodules", ".gitattributes"];

/// Excluded only where the source brings no pattern of its own.
const DEFAULTS: [&str; 20] = [
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// A line of this many bytes or more ends the reading of a pattern file, as Go's line scanner does.
const LONGEST_LINE: usize = 64 * 1024;

/// How deep directories are searched for pattern files.
const DEEPEST_DIRECTORY: usize = 512;

/// What a pattern says of a path that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Exclude,
    Include,
}

/// One gitignore pattern, bound to the directory in which it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    domain: Vec<String>,
    parts: Vec<String>,
    includes: bool,
    directories_only: bool,
}

impl Pattern {
    /// Reads one pattern line that holds below `domain`.
    pub fn parse(line: &str, domain: &VirtualPath) -> Self {
        let (includes, line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let line = if line.ends_with("\\ ") {
            line
        } else {
            line.trim_end_matches(' ')
        };
        let (directories_only, line) = match line.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        Self {
            domain: domain.components().map(str::to_owned).collect(),
            parts: line.split('/').map(str::to_owned).collect(),
            includes,
            directories_only,
        }
    }

    fn verdict(&self, path: &[&str], is_directory: bool) -> Option<Verdict> {
        let below = path.len() > self.domain.len()
            && self
                .domain
                .iter()
                .zip(path)
                .all(|(expected, found)| expected == found);
        if !below {
            return None;
        }
        let path = &path[self.domain.len()..];
        let matched = match self.parts.as_slice() {
            [name] => self.matches_any_component(name, path, is_directory),
            _ => self.matches_path(path, is_directory),
        };
        let verdict = if self.includes {
            Verdict::Include
        } else {
            Verdict::Exclude
        };
        matched.then_some(verdict)
    }

    /// A pattern without a slash: any component may match; the last one counts only for a directory if the
    /// pattern wants one.
    fn matches_any_component(&self, pattern: &str, path: &[&str], is_directory: bool) -> bool {
        for (index, name) in path.iter().enumerate() {
            match glob::matches(pattern, name) {
                Err(glob::BadPattern) => return false,
                Ok(false) => {}
                Ok(true) => return !self.directories_only || is_directory || index + 1 < path.len(),
            }
        }
        false
    }

    /// A pattern with a slash is matched from its directory down, component by component; `**` between
    /// slashes stands for any number of directories.
    fn matches_path(&self, path: &[&str], is_directory: bool) -> bool {
        let mut path = path;
        let mut matched = false;
        let mut skipping = false;
        for (index, part) in self.parts.iter().enumerate() {
            if part.is_empty() {
                skipping = false;
                continue;
            }
            if part == "**" {
                if index + 1 == self.parts.len() {
                    break;
                }
                skipping = true;
                continue;
            }
            if part.contains("**") || path.is_empty() {
                return false;
            }
            if skipping {
                skipping = false;
                let Some((left, found)) = skip_to(part, path, matched) else {
                    return false;
                };
                path = left;
                matched = found;
            } else {
                if !glob::matches(part, path[0]).unwrap_or(false) {
                    return false;
                }
                matched = true;
                path = &path[1..];
            }
        }
        matched && !(self.directories_only && !is_directory && path.is_empty())
    }
}

/// Skips components until one matches; gives what is left and whether one did, or `None` for a malformed
/// pattern.
fn skip_to<'p, 'n>(part: &str, path: &'p [&'n str], before: bool) -> Option<(&'p [&'n str], bool)> {
    let mut path = path;
    let mut matched = before;
    while let Some((name, rest)) = path.split_first() {
        path = rest;
        if glob::matches(part, name).ok()? {
            return Some((path, true));
        }
        if path.is_empty() {
            matched = false;
        }
    }
    Some((path, matched))
}

/// The patterns of one source, weakest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    patterns: Vec<Pattern>,
}

impl IgnoreRules {
    /// The rules of Git and OCI sources: version control files always; then the source's own pattern files
    /// and `spec.ignore`; only if these hold no pattern at all, the extra defaults.
    pub fn for_source(file_patterns: Vec<Pattern>, spec_ignore: Option<&str>) -> Self {
        let root = VirtualPath::root();
        let mut own = file_patterns;
        own.extend(
            spec_ignore
                .map(|text| read_patterns(text.as_bytes(), &root))
                .unwrap_or_default(),
        );
        let mut patterns: Vec<Pattern> = VERSION_CONTROL
            .iter()
            .map(|line| Pattern::parse(line, &root))
            .collect();
        if own.is_empty() {
            patterns.extend(DEFAULTS.iter().map(|line| Pattern::parse(line, &root)));
        }
        patterns.extend(own);
        Self { patterns }
    }

    /// Just these patterns, weakest first: for buckets, which have no defaults.
    pub fn only(patterns: Vec<Pattern>) -> Self {
        Self { patterns }
    }

    /// Whether the path, relative and slash separated, is left out. The root never is. What is not UTF-8 in
    /// a path is matched by wildcards only.
    ///
    /// Entries below a directory that is left out must be asked for one by one: a later pattern may take
    /// one back in, and Flux then writes it without its directory.
    pub fn excludes(&self, path: impl AsRef<[u8]>, kind: EntryKind) -> bool {
        let path = String::from_utf8_lossy(path.as_ref());
        let components: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        self.patterns
            .iter()
            .rev()
            .find_map(|pattern| pattern.verdict(&components, kind == EntryKind::Directory))
            == Some(Verdict::Exclude)
    }
}

/// Reads the patterns of one file: a line that starts with `#` or is blank is none. Bytes that are not UTF-8
/// are read as replacement characters, which match nothing.
pub fn read_patterns(text: &[u8], domain: &VirtualPath) -> Vec<Pattern> {
    text.split(|byte| *byte == b'\n')
        .take_while(|line| line.len() < LONGEST_LINE)
        .map(|line| String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)))
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| Pattern::parse(&line, domain))
        .collect()
}

/// Collects the patterns of every [`IGNORE_FILE`] in a tree, a directory's own before those below it, the
/// directories in bytewise order; `.git` is not searched.
///
/// # Errors
/// A directory or a pattern file that cannot be read.
pub fn load_patterns<F: FileSystem + ?Sized>(tree: &F) -> Result<Vec<Pattern>, FileSystemError> {
    let mut patterns = Vec::new();
    let mut pending = vec![(VirtualPath::root(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        let entries = tree.list(&directory)?;
        if entries
            .iter()
            .any(|entry| entry.name == IGNORE_FILE && entry.kind == EntryKind::File)
        {
            patterns.extend(read_patterns(
                &tree.read(&directory.child(IGNORE_FILE))?,
                &directory,
            ));
        }
        if depth < DEEPEST_DIRECTORY {
            let searched = |entry: &&Entry| entry.kind == EntryKind::Directory && entry.name != ".git";
            let below = entries.iter().rev().filter(searched);
            pending.extend(below.map(|entry| (directory.child(&entry.name), depth + 1)));
        }
    }
    Ok(patterns)
}
