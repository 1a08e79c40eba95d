//! Deleting what is no longer wanted.

use crate::applier::Applier;
use crate::error::{Failure, PruneFailure};
use crate::{Action, Change, ChangeSet, Entry, MetadataSelector, Object, ObjectId, Resource, order};

/// How often an object is looked at anew because somebody has written to it before it could be deleted.
const ATTEMPTS: usize = 10;

/// Which live objects a prune may delete.
#[derive(Debug, Clone, Default)]
pub struct PruneOptions {
    /// Labels that the live object must carry, key and value: those of its owner.
    pub owner_labels: Vec<(String, String)>,
    /// Switches that keep the object.
    pub exclusions: MetadataSelector,
    /// Objects that are never deleted, such as the namespace the controllers themselves run in.
    pub protected: Vec<ObjectId>,
}

impl PruneOptions {
    fn owns(&self, object: &Object) -> bool {
        self.owner_labels
            .iter()
            .all(|(key, value)| object.label(key) == value)
    }
}

impl Applier {
    /// Deletes objects in reverse apply order with background propagation.
    ///
    /// An object that is gone, or whose kind the cluster does not serve any more in any version, counts as
    /// deleted; one that is not (any more) labelled as the owner's, or that
    /// a switch protects, is skipped. Each object costs a read and a delete. All are tried.
    ///
    /// # Errors
    /// [`PruneFailure`] if any could not be deleted, with what became of the others.
    pub async fn prune(
        &self,
        mut stale: Vec<Entry>,
        options: &PruneOptions,
    ) -> Result<ChangeSet, PruneFailure> {
        stale.sort_by(|left, right| order::compare(&right.id, &left.id));
        let mut changes = ChangeSet::new();
        let mut errors = Vec::new();
        for entry in stale {
            let action = match self.prune_one(&entry, options).await {
                Ok(action) => action,
                Err(text) => {
                    errors.push(format!("{text};"));
                    Action::Unknown
                }
            };
            changes.push(Change {
                id: entry.id,
                version: entry.version,
                action,
                current: false,
                mark: None,
            });
        }
        if errors.is_empty() {
            Ok(changes)
        } else {
            Err(PruneFailure { changes, errors })
        }
    }

    /// Deletes one object, or finds out why not. What is deleted is what was looked at: where somebody has written
    /// to the object in between, another owner perhaps, it is looked at anew.
    async fn prune_one(&self, entry: &Entry, options: &PruneOptions) -> Result<Action, String> {
        let subject = entry.id.subject();
        let query_failed = |failure: Failure| format!("{subject} query failed: {failure}");
        let delete_failed = |failure: Failure| format!("{subject} delete failed: {failure}");
        let mut known = None;
        for _ in 0..ATTEMPTS {
            let Some((resource, live)) = self.find_live(entry).await.map_err(query_failed)? else {
                return Ok(Action::Deleted);
            };
            if !options.owns(&live) || options.exclusions.matches(&live) {
                return Ok(Action::Skipped);
            }
            if options.protected.contains(&entry.id) {
                return Err(format!(
                    "{subject} delete refused: the controllers themselves run in it"
                ));
            }
            match self.requests().delete_unchanged(&resource, &live).await {
                Ok(()) => {
                    self.forget_definition(&live);
                    return Ok(Action::Deleted);
                }
                Err(failure) if !failure.is_conflict() => return Err(delete_failed(failure)),
                // The conflict is not about the state that was read.
                Err(failure) if known.as_deref() == Some(live.resource_version()) => {
                    return Err(delete_failed(failure));
                }
                Err(_) => known = Some(live.resource_version().to_owned()),
            }
        }
        Err(format!("{subject} delete failed: others keep writing to it"))
    }

    /// Forgets the kinds of a definition that was deleted.
    fn forget_definition(&self, live: &Object) {
        if order::is_custom_resource_definition(live) {
            let group = live
                .field(&["spec", "group"])
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default();
            self.discovery().forget(group);
        }
    }

    /// The live object of an entry, in whatever version it is served now; `None` if it is gone.
    async fn find_live(&self, entry: &Entry) -> Result<Option<(Resource, Object)>, Failure> {
        let Entry { id, version } = entry;
        for is_second in [false, true] {
            let Some(resource) = self.discovery().find(&id.group, version, &id.kind).await? else {
                return Ok(None);
            };
            match self.requests().read(&resource, &id.namespace, &id.name).await {
                Ok(live) => return Ok(Some((resource, live))),
                // What was known of the group is out of date.
                Err(failure) if failure.is_unknown_path() && !is_second => {
                    self.discovery().forget(&id.group);
                }
                Err(failure) if failure.is_not_found() => return Ok(None),
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// The objects of `deleted` that still exist, for a caller that waits for their end.
    ///
    /// # Errors
    /// The first read that failed.
    pub async fn surviving(&self, deleted: &[Entry]) -> Result<Vec<Entry>, Failure> {
        let mut surviving = Vec::new();
        for entry in deleted {
            if self.find_live(entry).await?.is_some() {
                surviving.push(entry.clone());
            }
        }
        Ok(surviving)
    }
}
