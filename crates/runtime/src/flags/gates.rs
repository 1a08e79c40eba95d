//! Feature gates.

use std::collections::BTreeMap;

/// A `--feature-gates` value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// There is no such gate in this controller.
    #[error("feature-gate '{name}' not supported; this controller knows {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// All names, separated by commas.
        known: String,
    },
    /// A pair is not of the form `Name=true` or `Name=false`.
    #[error("feature-gate '{0}' is not of the form Name=true or Name=false")]
    Malformed(String),
}

/// The gates of a controller and their states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates(BTreeMap<&'static str, bool>);

impl FeatureGates {
    /// Gates with their defaults.
    pub fn new(defaults: &[(&'static str, bool)]) -> Self {
        Self(defaults.iter().copied().collect())
    }

    /// Sets gates from a flag's value, such as `A=true,B=false`.
    ///
    /// # Errors
    /// [`GateError`] for unknown names (the process is expected to exit with 1) and malformed pairs.
    pub fn apply(mut self, flag: &str) -> Result<Self, GateError> {
        for pair in flag.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| GateError::Malformed(pair.to_owned()))?;
            let enabled =
                super::parse_bool(value.trim()).map_err(|_| GateError::Malformed(pair.to_owned()))?;
            let Some(state) = self.0.get_mut(name.trim()) else {
                let known = self.0.keys().copied().collect::<Vec<_>>().join(", ");
                return Err(GateError::Unknown {
                    name: name.to_owned(),
                    known,
                });
            };
            *state = enabled;
        }
        Ok(self)
    }

    /// Whether a gate is open; unknown gates are closed.
    pub fn is_enabled(&self, name: &str) -> bool {
        self.0.get(name).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates() -> FeatureGates {
        FeatureGates::new(&[("Strict", true), ("External", false)])
    }

    #[test]
    fn gates_have_defaults_and_can_be_set() {
        let set = gates().apply("External=true, Strict=false").unwrap();
        assert!(set.is_enabled("External") && !set.is_enabled("Strict"));
        assert_eq!(gates().apply(""), Ok(gates()));
    }

    #[test]
    fn unknown_gates_are_refused_by_name() {
        // COM-025
        let error = gates().apply("Foo=true").unwrap_err();
        assert_eq!(
            error.to_string(),
            "feature-gate 'Foo' not supported; this controller knows External, Strict"
        );
        assert_eq!(
            gates().apply("Strict"),
            Err(GateError::Malformed("Strict".to_owned()))
        );
        assert_eq!(
            gates().apply("Strict=maybe"),
            Err(GateError::Malformed("Strict=maybe".to_owned()))
        );
    }
}
