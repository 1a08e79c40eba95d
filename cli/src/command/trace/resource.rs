//! The kinds of a cluster by the words that people use for them.

use futures::future::try_join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList};
use kube::core::ApiResource;

use crate::cluster::Cluster;
use crate::error::{CommandError, Result};

/// A kind that the cluster serves.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// How to ask for it.
    pub(super) resource: ApiResource,
    /// Whether its objects lie in namespaces.
    pub(super) namespaced: bool,
    /// Singular and short names, in lower case.
    words: Vec<String>,
}

/// All kinds, the preferred version of each group only, in the order of the API server.
#[derive(Debug)]
pub(super) struct Catalogue(Vec<Found>);

impl Catalogue {
    /// Asks the API server. A group that does not answer is left out: it has nothing to do with the others.
    ///
    /// # Errors
    /// The API server can't be reached or refuses.
    pub(super) async fn read(cluster: &Cluster) -> Result<Self> {
        let client = &cluster.client;
        let core = client.list_core_api_resources("v1").await?;
        let groups = client.list_api_groups().await?;
        let versions: Vec<String> = groups
            .groups
            .into_iter()
            .filter_map(|group| {
                let preferred = group
                    .preferred_version
                    .or_else(|| group.versions.into_iter().next());
                preferred.map(|version| version.group_version)
            })
            .collect();
        let lists = versions.iter().map(|version| async move {
            Ok::<_, CommandError>(client.list_api_group_resources(version).await.ok())
        });
        let lists = try_join_all(lists).await?;
        let found =
            std::iter::once(core)
                .chain(lists.into_iter().flatten())
                .flat_map(|list: APIResourceList| {
                    let api_version = list.group_version;
                    list.resources
                        .into_iter()
                        .filter(|resource| !resource.name.contains('/'))
                        .map(move |resource| Found::new(resource, &api_version))
                });
        Ok(Self(found.collect()))
    }

    /// The kind that a word means: its plural, singular, kind or short name, perhaps with the group behind it.
    ///
    /// # Errors
    /// No kind is called so.
    pub(super) fn by_word(&self, word: &str) -> Result<&Found> {
        let word = word.to_lowercase();
        let (name, group) = word
            .split_once('.')
            .map_or((word.as_str(), None), |(name, group)| (name, Some(group)));
        let found = self.0.iter().find(|found| {
            let in_group = group.is_none_or(|group| {
                let own = &found.resource.group;
                group == own || group == format!("{}.{own}", found.resource.version)
            });
            in_group && (found.resource.plural == name || found.words.iter().any(|known| known == name))
        });
        found.ok_or_else(|| {
            CommandError::new(format!("the server doesn't have a resource type \"{word}\""))
                .with_hint("list the types with: kubectl api-resources")
        })
    }

    /// The kind of an API version. Another version than the preferred one serves the same objects.
    ///
    /// # Errors
    /// The cluster has no such kind.
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Result<Found> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let found = self
            .0
            .iter()
            .find(|found| found.resource.group == group && found.resource.kind.eq_ignore_ascii_case(kind));
        let Some(found) = found else {
            return Err(CommandError::new(format!(
                "no matches for kind \"{kind}\" in version \"{api_version}\""
            ))
            .with_hint("list the kinds with: kubectl api-resources"));
        };
        let mut found = found.clone();
        version.clone_into(&mut found.resource.version);
        api_version.clone_into(&mut found.resource.api_version);
        Ok(found)
    }
}

impl Found {
    fn new(resource: APIResource, api_version: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let mut words = vec![resource.singular_name, resource.kind.to_lowercase()];
        words.extend(resource.short_names.unwrap_or_default());
        Self {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: api_version.to_owned(),
                kind: resource.kind,
                plural: resource.name,
            },
            namespaced: resource.namespaced,
            words,
        }
    }
}
