//! The connection to a cluster.

mod arguments;
mod duration;

use std::time::Duration;

use kube::core::DynamicObject;
use kube::{Api, Client};

use crate::error::Result;
use crate::kind::Kind;

pub(crate) use arguments::{ClusterArguments, is_label};
pub(crate) use duration::parse_duration;

/// A connected cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// The client, with the identity that was asked for.
    pub(crate) client: Client,
    /// The namespace that commands work in.
    pub(crate) namespace: String,
    /// The bound of everything that waits.
    pub(crate) timeout: Duration,
}

impl Cluster {
    /// Connects as the arguments say; no request is made yet.
    ///
    /// # Errors
    /// No usable kubeconfig.
    pub(crate) async fn connect(arguments: &ClusterArguments) -> Result<Self> {
        let client = Client::try_from(arguments.configuration().await?)?;
        Ok(Self {
            client,
            namespace: arguments.namespace()?,
            timeout: arguments.timeout,
        })
    }

    /// The same cluster, to work in another namespace.
    pub(crate) fn within(&self, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            ..self.clone()
        }
    }

    /// The objects of `kind` in the command's namespace.
    pub(crate) fn objects(&self, kind: &Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &kind.resource())
    }

    /// The objects of `kind` in all namespaces.
    pub(crate) fn objects_everywhere(&self, kind: &Kind) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind.resource())
    }
}
