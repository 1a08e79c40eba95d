//! Which kinds the cluster serves, and under which paths.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::Client;
use kube::core::{ApiResource, GroupVersion};
use tokio::time::Instant;

use crate::error::Failure;
use crate::requests::failure_of;

/// How a kind is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The API group, empty for the core group.
    pub group: String,
    /// The API version without the group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The name in paths, for example `deployments`.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// `deployments.apps`, or `pods` in the core group.
    pub(crate) fn qualified_plural(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    pub(crate) fn api_resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.clone(),
            version: self.version.clone(),
            api_version: self.api_version(),
            kind: self.kind.clone(),
            plural: self.plural.clone(),
        }
    }
}

/// The kinds of a cluster, asked for one group and version at a time when they are first needed.
///
/// A kind that is not known is looked up anew, so that definitions that were just applied are found. One
/// instance serves all reconciles against a cluster: discovery is open to every identity.
pub struct Discovery {
    client: Client,
    groups: RwLock<HashMap<String, Arc<Vec<Resource>>>>,
}

impl Discovery {
    /// Discovery that asks with `client`.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            groups: RwLock::default(),
        }
    }

    /// How the kind is served.
    ///
    /// # Errors
    /// [`Failure::UnknownKind`] if the cluster does not serve it, or a failed request.
    pub async fn resolve(&self, group: &str, version: &str, kind: &str) -> Result<Resource, Failure> {
        let api_version = api_version(group, version);
        let find = |resources: &[Resource]| resources.iter().find(|resource| resource.kind == kind).cloned();
        let known = self
            .groups
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&api_version)
            .cloned();
        if let Some(resource) = known.and_then(|resources| find(&resources)) {
            return Ok(resource);
        }
        let resources = self.fetch(&api_version).await?;
        find(&resources).ok_or(Failure::UnknownKind {
            kind: kind.to_owned(),
            api_version,
        })
    }

    /// How the kind is served, in this version or, if that is gone, in any other; `None` if the cluster does
    /// not serve it at all, so that there can be no object of it.
    ///
    /// # Errors
    /// A failed request.
    pub async fn find(&self, group: &str, version: &str, kind: &str) -> Result<Option<Resource>, Failure> {
        match self.resolve(group, version, kind).await {
            Ok(resource) => return Ok(Some(resource)),
            Err(Failure::UnknownKind { .. }) => {}
            Err(failure) => return Err(failure),
        }
        for other in self.versions(group).await? {
            if other == version {
                continue;
            }
            match self.resolve(group, &other, kind).await {
                Ok(resource) => return Ok(Some(resource)),
                Err(Failure::UnknownKind { .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// The versions that the cluster serves of a group, the preferred one first.
    async fn versions(&self, group: &str) -> Result<Vec<String>, Failure> {
        if group.is_empty() {
            return Ok(vec!["v1".to_owned()]);
        }
        let path = format!("/apis/{group}");
        let request = http::Request::get(&path)
            .body(Vec::new())
            .map_err(|error| Failure::Transport(error.to_string()))?;
        let answer = self.client.request::<APIGroup>(request).await;
        match answer.map_err(|error| failure_of(error, &format!("(get {path})"))) {
            Ok(found) => Ok(found
                .versions
                .into_iter()
                .map(|version| version.version)
                .collect()),
            Err(failure) if failure.is_not_found() => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }

    /// Waits until the cluster serves the kind; gives up after `limit`.
    ///
    /// # Errors
    /// As for [`Discovery::resolve`], of the last attempt.
    pub async fn wait_for(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        limit: Duration,
    ) -> Result<Resource, Failure> {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_millis(25);
        loop {
            match self.resolve(group, version, kind).await {
                Err(Failure::UnknownKind { .. }) if Instant::now() + pause < deadline => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
                answer => return answer,
            }
        }
    }

    /// Forgets what is known of a group, for example because a definition in it was deleted.
    pub fn forget(&self, group: &str) {
        let mut groups = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|api_version, _| api_version.split_once('/').map_or("", |(known, _)| known) != group);
    }

    /// Asks the cluster for a group and version; one it does not serve holds no kinds.
    async fn fetch(&self, api_version: &str) -> Result<Arc<Vec<Resource>>, Failure> {
        let answer = if api_version.contains('/') {
            self.client.list_api_group_resources(api_version).await
        } else {
            self.client.list_core_api_resources(api_version).await
        };
        let resources = match answer.map_err(|error| failure_of(error, &format!("(get {api_version})"))) {
            Ok(list) => read(api_version, list.resources),
            Err(failure) if failure.is_not_found() => Vec::new(),
            Err(failure) => return Err(failure),
        };
        let resources = Arc::new(resources);
        let mut groups = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        groups.insert(api_version.to_owned(), Arc::clone(&resources));
        Ok(resources)
    }
}

/// The kinds of a list, without subresources.
fn read(
    api_version: &str,
    resources: Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource>,
) -> Vec<Resource> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    resources
        .into_iter()
        .filter(|resource| !resource.name.contains('/'))
        .map(|resource| Resource {
            group: resource
                .group
                .filter(|group| !group.is_empty())
                .unwrap_or_else(|| group.to_owned()),
            version: resource
                .version
                .filter(|version| !version.is_empty())
                .unwrap_or_else(|| version.to_owned()),
            kind: resource.kind,
            plural: resource.name,
            namespaced: resource.namespaced,
        })
        .collect()
}

fn api_version(group: &str, version: &str) -> String {
    let group_version = GroupVersion::gv(group, version);
    group_version.api_version()
}
