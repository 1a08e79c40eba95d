//! Patches of an object's metadata: finalizers.

use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::object::{self, Object};
use crate::store::Store;

/// How often a patch is tried while others keep changing the object.
const ATTEMPTS: u32 = 6;

/// Writes the metadata of objects of one kind, and lays what came back over the store.
pub(crate) struct MetadataWriter<K: Object> {
    client: Client,
    store: Store<K>,
    field_manager: String,
}

impl<K: Object> MetadataWriter<K> {
    pub(crate) fn new(client: Client, store: Store<K>, field_manager: String) -> Self {
        Self {
            client,
            store,
            field_manager,
        }
    }

    /// Adds a finalizer, unless the object is being deleted or gone.
    pub(crate) async fn add_finalizer(&self, object: &Arc<K>, finalizer: &str) -> Result<(), kube::Error> {
        self.change(object, |object| {
            let present = object.finalizers().iter().any(|own| own == finalizer);
            (!present && !object::is_deleting(object)).then(|| {
                object
                    .finalizers()
                    .iter()
                    .cloned()
                    .chain([finalizer.to_owned()])
                    .collect()
            })
        })
        .await
    }

    /// Takes a finalizer off.
    pub(crate) async fn remove_finalizer(&self, object: &Arc<K>, finalizer: &str) -> Result<(), kube::Error> {
        self.change(object, |object| {
            let present = object.finalizers().iter().any(|own| own == finalizer);
            present.then(|| {
                object
                    .finalizers()
                    .iter()
                    .filter(|own| *own != finalizer)
                    .cloned()
                    .collect()
            })
        })
        .await
    }

    /// Writes the finalizers that `finalizers` makes of the newest object, if it makes any.
    async fn change(
        &self,
        object: &Arc<K>,
        finalizers: impl Fn(&K) -> Option<Vec<String>>,
    ) -> Result<(), kube::Error> {
        let api: Api<K> = Api::namespaced(self.client.clone(), &object.namespace().unwrap_or_default());
        let name = object.name_any();
        let parameters = PatchParams {
            field_manager: Some(self.field_manager.clone()),
            ..PatchParams::default()
        };
        let mut latest = Arc::clone(object);
        for attempt in 1.. {
            let Some(wanted) = finalizers(latest.as_ref()) else {
                break;
            };
            let patch = json!({ "metadata": {
                "finalizers": wanted,
                "resourceVersion": latest.resource_version(),
                "uid": latest.uid(),
            }});
            match api.patch(&name, &parameters, &Patch::Merge(&patch)).await {
                Ok(patched) => {
                    self.store.overlay(patched);
                    break;
                }
                Err(kube::Error::Api(status)) if status.code == 404 => break,
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {
                    let Some(newest) = api.get_opt(&name).await? else {
                        break;
                    };
                    latest = self.store.overlay(newest);
                    if latest.uid() != object.uid() {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
