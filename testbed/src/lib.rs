//! Real servers for tests: a Kubernetes control plane, Git over HTTP and SSH, a fault proxy, an event sink, and the
//! upstream tools whose answers count as right. For development only; nothing that ships depends on it.
//!
//! Everything listens on the loopback address on free ports, has its own directory, is ended by process id,
//! and ends with the test process even if that is killed. The programs are built by `testbed/build`; see
//! `testbed/README.md` for how scripts use them.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # use kube::{Api, api::PostParams};
//! # use sluice_testbed::{control_plane::ControlPlane, tools};
//! #[tokio::test]
//! async fn config_maps_can_be_created() {
//!     let Some(plane) = tools::require_or_skip(ControlPlane::shared()) else { return };
//!     let namespace = plane.namespace("config-maps").await.unwrap();
//!     let api = Api::<ConfigMap>::namespaced(plane.client().await.unwrap(), namespace.name());
//!     // ...
//! }
//! ```

pub mod audit;
pub mod conformance;
pub mod control_plane;
pub mod error;
pub mod files;
pub mod git;
pub mod https;
mod loopback;
pub mod process;
pub mod proxy;
mod server;
pub mod signing;
pub mod sink;
pub mod ssh;
pub mod tls;
pub mod tools;
pub mod wait;

pub use error::{Error, Result};
