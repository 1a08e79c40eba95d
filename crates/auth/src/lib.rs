//! Credentials: Flux's conventions for Secrets as typed values, and HTTP clients that use them.
//!
//! A Kubernetes Secret becomes a [`SecretData`], and that is asked for what it holds: a [`Tls`], a
//! [`BasicAuth`], a [`Proxy`], an [`SshIdentity`], a [`GitHubApp`]. Values that must stay secret are
//! [`SecretBytes`]: they cannot be printed, are compared in constant time and wiped when dropped.
//!
//! [`GitCredentials`] joins a repository's URL and its Secret as Flux does; [`ClientOptions`] makes HTTP
//! clients with custom certificate authorities, client certificates and proxies.

mod data;
mod error;
mod git;
mod http;
mod secret;
mod tls;

pub use data::{BasicAuth, GitHubApp, GitHubInstallation, Proxy, SecretData, SshIdentity, keys};
pub use error::{AuthError, SecretName};
pub use git::{GitCredentials, HttpCredentials};
pub use http::{ClientError, ClientOptions, Roots};
pub use secret::SecretBytes;
pub use tls::{ClientCertificate, Tls};
