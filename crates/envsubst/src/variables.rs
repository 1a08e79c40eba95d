use std::borrow::Cow;

use crate::Error;

/// What Flux requires of variable names, as a regular expression.
pub const NAME_PATTERN: &str = "^[_[:alpha:]][_[:alpha:][:digit:]]*$";

/// Whether a name matches [`NAME_PATTERN`].
#[must_use]
pub fn is_valid_name(name: &str) -> bool {
    name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Checks the names of all variables, as Flux does before it substitutes.
///
/// # Errors
/// [`Error::InvalidName`] for the first name that does not match [`NAME_PATTERN`].
pub fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    match names.into_iter().find(|name| !is_valid_name(name)) {
        Some(name) => Err(Error::InvalidName {
            name: name.to_owned(),
        }),
        None => Ok(()),
    }
}

/// A value as Flux takes it from a spec, ConfigMap or Secret: without its line feeds.
#[must_use]
pub fn clean_value(value: &str) -> Cow<'_, str> {
    if value.contains('\n') {
        Cow::Owned(value.replace('\n', ""))
    } else {
        Cow::Borrowed(value)
    }
}
