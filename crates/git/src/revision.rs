//! How Flux writes down which commit it saw.

use std::fmt;

use crate::ObjectId;

/// A revision: a name, if the selection had one, and a commit.
///
/// Prints as `main@sha1:<hash>`, `v1.2.0@sha1:<hash>`, `refs/pull/7/head@sha1:<hash>` or `sha1:<hash>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Revision {
    name: Option<String>,
    commit: ObjectId,
}

impl Revision {
    /// A revision of `commit` under `name`: a branch, a tag, or a full reference name.
    pub fn new(name: Option<String>, commit: ObjectId) -> Self {
        Self { name, commit }
    }

    /// The branch, tag or full reference name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The commit.
    pub fn commit(&self) -> ObjectId {
        self.commit
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(formatter, "{name}@{}", digest_of(&self.commit)),
            None => formatter.write_str(&digest_of(&self.commit)),
        }
    }
}

/// The hash with its algorithm: `sha1:<hex>` or, in a repository of that object format, `sha256:<hex>`.
pub fn digest_of(id: &ObjectId) -> String {
    let algorithm = match id {
        ObjectId::Sha1(_) => "sha1",
        _ => "sha256",
    };
    format!("{algorithm}:{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // SRC-004
    #[test]
    fn revisions_print_as_flux_prints_them() {
        let hash = "b8ad1f5f19b1ed24b9b2bf0ed7e0bbd0ae9ea5b6";
        let commit = ObjectId::from_hex(hash.as_bytes()).unwrap();
        assert_eq!(
            Revision::new(Some("main".into()), commit).to_string(),
            format!("main@sha1:{hash}")
        );
        assert_eq!(Revision::new(None, commit).to_string(), format!("sha1:{hash}"));
        let long = ObjectId::from_hex("ab".repeat(32).as_bytes()).unwrap();
        assert_eq!(
            Revision::new(None, long).to_string(),
            format!("sha256:{}", "ab".repeat(32))
        );
    }
}
