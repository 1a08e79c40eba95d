//! What an apply would do to one object, without doing it.

use serde_json::{Map, Value};

use crate::applier::{must_force, skip};
use crate::error::ApplyError;
use crate::{Action, Applier, ApplyOptions, Change, Object, has_drifted};

/// What takes the place of a value in a Secret.
const MASK: &str = "***";
/// The mask of a live value that would be changed.
const MASK_BEFORE: &str = "*** (before)";
/// The mask of the value that it would be changed to.
const MASK_AFTER: &str = "*** (after)";

/// What applying an object would come to.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What would be done to it.
    pub change: Change,
    /// The two sides, where the object exists and would be changed.
    pub difference: Option<Difference>,
}

/// An object as it is and as it would be: without managed fields and fields that are ignored, and in Secrets
/// with masks in place of the values.
#[derive(Debug, Clone)]
pub struct Difference {
    /// As it is.
    pub live: Object,
    /// As it would be.
    pub merged: Object,
}

impl Applier {
    /// Compares the live object with what an apply of `object` would make of it, by a server-side dry run. The
    /// object has to be normalised. Nothing is written.
    ///
    /// # Errors
    /// The API server refuses the dry run, or knows no such kind.
    pub async fn compare(&self, object: &Object, options: &ApplyOptions) -> Result<Comparison, ApplyError> {
        let failed = |failure| ApplyError::DryRun {
            object: object.id(),
            failure,
        };
        let resource = self
            .discovery()
            .resolve(object.group(), object.version(), object.kind())
            .await
            .map_err(failed)?;
        // A live object that cannot be read is treated as absent: the dry run will tell.
        let read = self
            .requests()
            .get(&resource, object.namespace(), object.name())
            .await;
        let known_absent = matches!(read, Ok(None));
        let live = read.ok().flatten();
        let unchanged = |change| Comparison {
            change,
            difference: None,
        };
        if let Some(change) = skip(object, live.as_ref(), options) {
            return Ok(unchanged(change));
        }
        let dry_run = match self
            .requests()
            .apply(&resource, object, &options.manager, true)
            .await
        {
            Ok(dry_run) => dry_run,
            Err(failure) if !known_absent && must_force(object, live.as_ref(), options, &failure) => {
                return Ok(unchanged(Change::new(object, Action::Created)));
            }
            Err(failure) => return Err(failed(failure)),
        };
        let live = match live {
            Some(live) if !dry_run.resource_version().is_empty() => live,
            _ => return Ok(unchanged(Change::new(&dry_run, Action::Created))),
        };
        let (live, dry_run) = options.ignore.strip(&live, &dry_run);
        if !has_drifted(&live, &dry_run) {
            return Ok(unchanged(Change::new(&dry_run, Action::Unchanged)));
        }
        Ok(Comparison {
            change: Change::new(&dry_run, Action::Configured),
            difference: Some(Difference::between(live, dry_run)),
        })
    }
}

impl Difference {
    fn between(mut live: Object, mut merged: Object) -> Self {
        for object in [&mut live, &mut merged] {
            if let Some(metadata) = object.metadata_mut() {
                metadata.remove("managedFields");
            }
        }
        if merged.kind() == "Secret" && merged.api_version() == "v1" {
            mask(&mut live, &mut merged);
        }
        Self { live, merged }
    }
}

/// Hides the values of two Secrets, so that only which of them differ can be seen.
fn mask(live: &mut Object, merged: &mut Object) {
    let data = |object: &Object| -> Map<String, Value> {
        let data = object.field(&["data"]).and_then(Value::as_object);
        data.cloned().unwrap_or_default()
    };
    let (before, after) = (data(live), data(merged));
    let masks = |own: &Map<String, Value>, other: &Map<String, Value>, changed: &str| -> Map<String, Value> {
        let masked = |(key, value): (&String, &Value)| {
            let differs = other.get(key).is_some_and(|other| other != value);
            let text = if differs { changed } else { MASK };
            (key.clone(), text.into())
        };
        own.iter().map(masked).collect()
    };
    for (object, masked) in [
        (live, masks(&before, &after, MASK_BEFORE)),
        (merged, masks(&after, &before, MASK_AFTER)),
    ] {
        if object.field(&["data"]).is_some() {
            object.content_mut().insert("data".to_owned(), masked.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_secrets_are_masked_so_that_only_changes_show() {
        let secret = |data: Value| {
            Object::from_value(json!({"apiVersion": "v1", "kind": "Secret", "data": data,
                "metadata": {"name": "s", "managedFields": []}}))
            .unwrap()
        };
        let Difference { live, merged } = Difference::between(
            secret(json!({"same": "QQ==", "changed": "Qg==", "gone": "Qw=="})),
            secret(json!({"same": "QQ==", "changed": "RA==", "new": "RQ=="})),
        );
        assert_eq!(
            live.to_value(),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
                "data": {"same": "***", "changed": "*** (before)", "gone": "***"}})
        );
        assert_eq!(
            merged.to_value()["data"],
            json!({"same": "***", "changed": "*** (after)", "new": "***"})
        );
    }
}
