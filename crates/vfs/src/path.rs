//! Paths below a root that cannot leave it.

use std::fmt;

/// A normalised path below a virtual root: slash separated, no leading slash, no `.` and no `..`.
///
/// The root itself is the empty path and prints as `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct VirtualPath(String);

/// A path text that is no path below the root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `..` would leave the root.
    #[error("path '{0}' leads outside the root")]
    OutsideRoot(String),
    /// The text holds a NUL byte.
    #[error("path '{0}' holds a NUL byte")]
    Nul(String),
}

impl VirtualPath {
    /// The root.
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses `text` as a path relative to the root; a leading slash is the root itself.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::root().join(text)
    }

    /// Resolves `text` against this directory. `.` and `..` are folded; an absolute text starts at the root.
    ///
    /// # Errors
    /// [`PathError::OutsideRoot`] if `..` would leave the root.
    pub fn join(&self, text: &str) -> Result<Self, PathError> {
        if text.contains('\0') {
            return Err(PathError::Nul(text.replace('\0', "\\0")));
        }
        let mut parts: Vec<&str> = if text.starts_with('/') {
            Vec::new()
        } else {
            self.components().collect()
        };
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts
                        .pop()
                        .ok_or_else(|| PathError::OutsideRoot(text.to_owned()))?;
                }
                name => parts.push(name),
            }
        }
        Ok(Self(parts.join("/")))
    }

    /// The entry called `name` in this directory. For names that come from a listing: the name is taken as
    /// one component, so it must hold no slash and be neither `.` nor `..` (such a name gives this
    /// directory itself, never a path outside).
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return self.clone();
        }
        if self.is_root() {
            Self(name.to_owned())
        } else {
            Self(format!("{}/{name}", self.0))
        }
    }

    /// The directory that holds this path, or `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(
            self.0
                .rsplit_once('/')
                .map_or_else(Self::root, |(directory, _)| Self(directory.to_owned())),
        )
    }

    /// The last component, or the empty text for the root.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The components from the root down.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// Whether this path is `directory` or lies below it.
    pub fn starts_with(&self, directory: &VirtualPath) -> bool {
        directory.is_root()
            || self.0 == directory.0
            || self
                .0
                .strip_prefix(directory.0.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
    }

    /// The text, empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<[u8]> for VirtualPath {
    /// The bytes of the text, none for the root.
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for VirtualPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_folds_dots_and_refuses_to_leave_the_root() {
        let base = VirtualPath::parse("apps/web").unwrap();
        assert_eq!(base.join("../base/./x").unwrap().as_str(), "apps/base/x");
        assert_eq!(base.join("/etc").unwrap().as_str(), "etc");
        assert!(base.join("../../..").is_err());
        assert_eq!(base.join("../..").unwrap(), VirtualPath::root());
    }

    #[test]
    fn parent_and_name_split_the_last_component() {
        let path = VirtualPath::parse("a/b/c").unwrap();
        assert_eq!(path.file_name(), "c");
        assert_eq!(path.parent().unwrap().as_str(), "a/b");
        assert_eq!(VirtualPath::root().parent(), None);
        assert_eq!(VirtualPath::root().to_string(), ".");
    }

    #[test]
    fn starts_with_compares_whole_components() {
        let path = VirtualPath::parse("ab/c").unwrap();
        assert!(path.starts_with(&VirtualPath::parse("ab").unwrap()));
        assert!(!path.starts_with(&VirtualPath::parse("a").unwrap()));
    }
}
