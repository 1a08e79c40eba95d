//! Semantic versions and version ranges, by the rules that Flux and Helm apply.
//!
//! Both use the Go library Masterminds/semver 3, whose ranges differ from those of Cargo and npm in many
//! pairs. This crate answers as that library does, in two flavours that differ in how a range treats
//! pre-releases ([`Rules`]): Helm follows 3.5, Flux's source selection is pinned to 3.3.
//!
//! ```
//! use sluice_semver::{Constraints, Rules, Version};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let range = Constraints::parse(">=1.0 <2.0 || ~3.1", Rules::Flux)?;
//! assert!(range.matches(&Version::parse("v1.4")?));
//! # Ok(()) }
//! ```

mod comparator;
mod constraints;
mod scan;
mod version;

pub use constraints::{ConstraintError, Constraints, MAX_CONSTRAINT_BYTES, MAX_CONSTRAINT_GROUPS};
pub use version::{MAX_VERSION_BYTES, Version, VersionError};

/// Which release of the reference library decides about pre-releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Version 3.3: a comparator admits a pre-release only if its own version is one. Flux's controllers
    /// pin this release, so that `>=1.0.0-0 <2.0.0` does not select pre-releases by its upper bound alone.
    Flux,
    /// Version 3.5: one pre-release among the comparators of an "and" group admits them for the whole
    /// group. Helm and the template function `semverCompare` behave so.
    Helm,
}
