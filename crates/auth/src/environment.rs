//! The variables by which cloud SDKs are configured.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where environment variables are looked up: in the process's own environment, or in a given set.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

impl Environment {
    /// The environment of the process.
    pub fn of_process() -> Self {
        Self(Arc::new(|name| std::env::var(name).ok()))
    }

    /// A given set of variables, and no others.
    pub fn of_variables<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables: HashMap<String, String> = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self(Arc::new(move |name| variables.get(name).cloned()))
    }

    /// A variable's value; `None` if it is not set or empty.
    pub fn get(&self, name: &str) -> Option<String> {
        self.lookup(name).filter(|value| !value.is_empty())
    }

    /// A variable's value, which may be empty; `None` if it is not set.
    pub fn lookup(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::of_process()
    }
}

/// Variables hold keys and passwords: none is printed.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Environment")
    }
}
