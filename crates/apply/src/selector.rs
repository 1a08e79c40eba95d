//! Label selectors in the text form that kubectl takes.

/// One requirement of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

/// A parsed label selector: all requirements must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

impl LabelSelector {
    /// Parses `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    ///
    /// # Errors
    /// The requirement that could not be read.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        split(text)
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(parse_requirement)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether the labels that `value` looks up satisfy the selector.
    pub(crate) fn matches<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => {
                value(key).is_some_and(|value| values.iter().any(|one| one == value))
            }
            Requirement::NotIn(key, values) => {
                value(key).is_none_or(|value| values.iter().all(|one| one != value))
            }
            Requirement::Exists(key) => value(key).is_some(),
            Requirement::Absent(key) => value(key).is_none(),
        })
    }
}

/// Splits at the commas that are not between parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}

fn parse_requirement(text: &str) -> Result<Requirement, String> {
    let bad = || format!("unable to parse requirement: '{text}'");
    let set = |separator: &str| {
        let (key, rest) = text.split_once(separator)?;
        let values = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some((
            key.trim().to_owned(),
            values.split(',').map(|value| value.trim().to_owned()).collect(),
        ))
    };
    if let Some((key, values)) = set(" notin ") {
        return valid(key, bad).map(|key| Requirement::NotIn(key, values));
    }
    if let Some((key, values)) = set(" in ") {
        return valid(key, bad).map(|key| Requirement::In(key, values));
    }
    if let Some(key) = text.strip_prefix('!') {
        return valid(key.trim().to_owned(), bad).map(Requirement::Absent);
    }
    for (separator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, value)) = text.split_once(separator) {
            let values = vec![value.trim().to_owned()];
            let key = valid(key.trim().to_owned(), bad)?;
            return Ok(if equal {
                Requirement::In(key, values)
            } else {
                Requirement::NotIn(key, values)
            });
        }
    }
    valid(text.to_owned(), bad).map(Requirement::Exists)
}

fn valid(key: String, error: impl Fn() -> String) -> Result<String, String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    if key.is_empty() || !key.chars().all(allowed) {
        Err(error())
    } else {
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        LabelSelector::parse(selector).unwrap().matches(|key| {
            labels
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
        })
    }

    #[test]
    fn requirements_are_all_needed() {
        let labels = [("app", "web"), ("tier", "front")];
        assert!(matches(
            "app=web,tier in (front, back),!gone,env!=prod,app",
            &labels
        ));
        assert!(matches("env notin (prod)", &labels));
        assert!(!matches("app==web,tier notin (front)", &labels));
        assert!(!matches("env", &labels));
    }

    #[test]
    fn a_bad_requirement_is_named() {
        assert_eq!(
            LabelSelector::parse("a b").unwrap_err(),
            "unable to parse requirement: 'a b'"
        );
    }
}
