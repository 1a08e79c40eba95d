//! Kubeconfigs that are made instead of read.

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext};

/// A kubeconfig of one cluster, one user and one context, all called `name`; the context is the current one.
pub fn single_context(name: &str, cluster: Cluster, user: AuthInfo) -> Kubeconfig {
    let context = Context {
        cluster: name.to_owned(),
        user: Some(name.to_owned()),
        ..Context::default()
    };
    Kubeconfig {
        clusters: vec![NamedCluster {
            name: name.to_owned(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.to_owned(),
            auth_info: Some(user),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: name.to_owned(),
            context: Some(context),
            ..NamedContext::default()
        }],
        current_context: Some(name.to_owned()),
        ..Kubeconfig::default()
    }
}
