//! Whether an object has drifted.

use serde_json::{Map, Value};

use crate::Object;
use crate::normalise::comparable;

/// Whether the dry run shows that applying would change `live`: its labels, annotations, or anything apart
/// from metadata and status. An object without a resource version does not exist yet and counts as drifted.
pub fn has_drifted(live: &Object, dry_run: &Object) -> bool {
    if dry_run.resource_version().is_empty() {
        return true;
    }
    let differs = |field: &str| entries(live, field) != entries(dry_run, field);
    differs("labels") || differs("annotations") || comparable(live) != comparable(dry_run)
}

/// A mapping of the metadata; absent is the same as empty.
fn entries<'a>(object: &'a Object, field: &str) -> Option<&'a Map<String, Value>> {
    object
        .field(&["metadata", field])
        .and_then(Value::as_object)
        .filter(|map| !map.is_empty())
}
