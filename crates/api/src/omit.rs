//! What counts as absent when an object is read and written.

use serde::{Deserialize, Deserializer};

/// True for the value that optional booleans have when they are absent.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}

/// True for the value that optional counters have when they are absent.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) fn is_zero(value: &i64) -> bool {
    *value == 0
}

/// Reads an optional text in which `""` and `null` mean the same as no field at all.
///
/// # Errors
/// When the value is neither a text nor null.
pub(crate) fn empty_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: From<String>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(T::from))
}

/// Reads a list or map in which `null` means the same as no field at all.
///
/// # Errors
/// When the value is neither null nor of the type that is wanted.
pub(crate) fn null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
