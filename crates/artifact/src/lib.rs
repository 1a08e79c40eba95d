//! Artifacts: what sources produce and appliers consume, a gzip-compressed tar with a digest.
//!
//! - [`digest`]: the digests that name an artifact's bytes;
//! - [`tarball`]: writing one, byte for byte the tar that Flux writes of the same tree;
//! - [`ignore`]: which files of a source go into it;
//! - [`storage`]: the directory that a source controller keeps them in, with garbage collection;
//! - [`server`]: serving that directory over HTTP;
//! - [`archive`]: reading one as a file system, without unpacking it to names on a disk;
//! - [`fetch`]: downloading one by URL and digest, once for all who want it.

pub mod archive;
pub mod digest;
pub mod fetch;
mod glob;
pub mod ignore;
pub mod server;
mod spool;
pub mod storage;
pub mod tarball;

pub use archive::{Archive, ArchiveError, ArchiveLimits};
pub use digest::{Algorithm, Digest, DigestError};
pub use fetch::{FetchError, Fetcher, FetcherOptions};
pub use ignore::{IgnoreRules, Pattern};
pub use storage::{ArtifactPath, Storage, StorageError, StorageOptions, Written};
pub use tarball::{TarWriter, write_gzip};
