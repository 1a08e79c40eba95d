//! Names of releases.

use std::sync::LazyLock;

use regex::Regex;
use sluice_gotemplate::{Run, TemplateSet, Value, functions};

const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// The most characters of a name.
pub const MAX_RELEASE_NAME: usize = 53;

/// A text cannot be the name of a release. The texts are Helm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("release name check failed: release name {}: {problem}", crate::text::quoted(.name))]
pub struct ReleaseNameError {
    name: String,
    problem: String,
}

/// Checks the name of a release.
///
/// # Errors
/// If it is empty, too long, or no name of DNS in lower case.
pub fn check_release_name(name: &str) -> Result<(), ReleaseNameError> {
    static VALID: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PATTERN).ok());
    let failed = |problem: String| {
        Err(ReleaseNameError {
            name: name.to_owned(),
            problem,
        })
    };
    if name.is_empty() {
        return failed("no name provided".to_owned());
    }
    let is_valid = VALID.as_ref().is_some_and(|pattern| pattern.is_match(name));
    if name.len() > MAX_RELEASE_NAME || !is_valid {
        return failed(format!(
            "invalid release name, must match regex {PATTERN} and the length must not be longer than \
             {MAX_RELEASE_NAME}"
        ));
    }
    Ok(())
}

/// The name that a template gives (`helm template --name-template`).
///
/// # Errors
/// The text of Go's error.
pub fn name_from_template(template: &str) -> Result<String, String> {
    let mut set = TemplateSet::new("name-template");
    set.add_functions(&functions());
    set.parse("name-template", template.as_bytes())
        .map_err(|error| error.to_string())?;
    let text = set
        .execute_to_text(&mut Run::default(), "name-template", &Value::Nil)
        .map_err(|error| error.to_string())?;
    Ok(text.to_text().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_helm() {
        assert!(check_release_name("a-1.b").is_ok());
        assert!(check_release_name(&"a".repeat(54)).is_err());
        assert_eq!(
            check_release_name("A").unwrap_err().to_string(),
            "release name check failed: release name \"A\": invalid release name, must match regex \
             ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be \
             longer than 53"
        );
        assert_eq!(name_from_template("{{ upper \"a\" | lower }}-x").unwrap(), "a-x");
    }
}
