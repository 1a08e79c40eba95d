//! Switches that users set on objects.

use crate::Object;

/// Key and value pairs looked up in an object's labels and annotations; one match is enough.
///
/// Values are compared without regard to case, as Flux does for `kustomize.toolkit.fluxcd.io/ssa: Merge`
/// and its like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataSelector(Vec<(String, String)>);

impl MetadataSelector {
    /// A selector of the given pairs; without pairs it matches nothing.
    pub fn new<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    /// Whether a label or annotation of `object` matches.
    pub fn matches(&self, object: &Object) -> bool {
        self.0.iter().any(|(key, wanted)| {
            [object.label(key), object.annotation(key)]
                .iter()
                .any(|actual| !actual.is_empty() && actual.to_lowercase() == wanted.to_lowercase())
        })
    }
}
