//! Git over HTTP(S) and SSH, without a git program and without a work tree.
//!
//! [`list_references`] and [`resolve`] ask a remote what it has, [`fetch`] and [`fetch_abbreviated`] bring one
//! commit into a temporary object store whose [`Tree`] is read directly, [`VerificationKeys`] say who may have signed it,
//! [`Checkout::with_submodules`] adds other repositories to it, and
//! [`NewCommit`] with [`push`] writes a commit back. What is selected, how revisions are written and what errors say follows Flux's `pkg/git`.
//!
//! All calls block: call them from a thread that may block. Each is bounded by a [`Budget`], down to single
//! socket reads. Credentials live in [`Secret`], are sent to the remote's own host only, and appear in no
//! message: every URL that is printed went through [`RemoteUrl`].

mod budget;
mod commit;
mod edit;
mod error;
mod fetch;
mod filesystem;
mod pack;
mod push;
mod reference;
mod references;
mod remote;
mod revision;
mod scratch;
mod secret;
mod signature;
mod ssh;
mod store;
mod submodule;
mod transport;
mod tree;
mod url;
mod verification;
mod waiter;

pub use budget::Budget;
pub use commit::{Commit, Person, Tag};
pub use edit::{Change, EditError, NewCommit, PreparedCommit};
pub use error::{Error, ErrorKind};
pub use fetch::{Checkout, fetch, fetch_abbreviated};
pub use push::{PushError, push};
pub use reference::{DEFAULT_BRANCH, Reference};
pub use references::{Head, RemoteReference, RemoteReferences, list_references, resolve};
pub use remote::{Authentication, ClientCertificate, Proxy, Remote, Tls};
pub use revision::{Revision, digest_of};
pub use scratch::sweep;
pub use secret::Secret;
pub use ssh::{
    HostKeyError, HostKeyProblem, KeyPair, KeyPairKind, KnownHosts, KnownHostsError, PrivateKey,
    PrivateKeyError, PublicKey, PublicKeyError, SshAlgorithms, SshCredentials, is_encrypted, load_key_pair,
    scan_host_keys,
};
pub use tree::{BlobReader, Tree, TreeEntry, TreeEntryKind, Walk};
pub use url::{RemoteUrl, UrlError};
pub use verification::{SignatureKind, VerificationError, VerificationKeys};

/// The name (hash) of a Git object, SHA-1 or SHA-256. Prints as lower case hexadecimal.
pub use gix::ObjectId;
