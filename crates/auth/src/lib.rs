//! Credentials: Flux's conventions for Secrets as typed values, and HTTP clients that use them.
//!
//! A Kubernetes Secret becomes a [`SecretData`], and that is asked for what it holds: a [`Tls`], a
//! [`BasicAuth`], a [`Proxy`], an [`SshIdentity`], a [`GitHubApp`]. Values that must stay secret are
//! [`SecretBytes`]: they cannot be printed, are compared in constant time and wiped when dropped.
//!
//! [`GitCredentials`] joins a repository's URL and its Secret as Flux does; [`ClientOptions`] makes HTTP
//! clients with custom certificate authorities, client certificates and proxies.
//!
//! Clouds give tokens that end: [`WorkloadIdentity`] gets them for an object, by the identity of the controller
//! or of a ServiceAccount, from a [`Provider`] ([`aws::Aws`], [`azure::Azure`]); [`GitHubAppClient`] gets those of
//! GitHub Apps. All keep them in one [`TokenCache`].

pub mod aws;
pub mod azure;
mod data;
mod environment;
mod error;
mod git;
mod github_app;
mod http;
mod provider;
mod secret;
mod service_account;
mod signing;
mod tls;
mod token_cache;
mod token_http;
mod workload_identity;

pub use data::{BasicAuth, GitHubApp, GitHubInstallation, Proxy, SecretData, SshIdentity, keys};
pub use environment::Environment;
pub use error::{AuthError, SecretName};
pub use git::{GitCredentials, HttpCredentials};
pub use github_app::{GitHubAppClient, GitHubAppError, GitHubAppToken};
pub use http::{ClientError, ClientOptions, Roots};
pub use provider::{Exchange, GitLogin, GitProvider, Provider, ProviderError, TokenOptions};
pub use secret::SecretBytes;
pub use service_account::{Account, AccountError, AccountName};
pub use tls::{ClientCertificate, Tls};
pub use token_cache::{Clock, InvolvedObject, LONGEST_DURATION, Token, TokenCache, operations};
pub use token_http::{TokenClients, TokenRequestError};
pub use workload_identity::{IdentityError, Requester, WorkloadIdentity, WorkloadIdentityOptions};
