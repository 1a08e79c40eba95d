//! What the engine has to say beside its result.

/// Warnings, in the order in which they arose. Helm prints them on standard error and goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    warnings: Vec<String>,
}

/// More warnings than this are not kept.
const MAX_WARNINGS: usize = 1_000;

impl Log {
    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning.into());
        }
    }

    /// The warnings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
