//! The values of a user from files and assignments.

use super::assign::{Mode, assign};
use super::{Values, merge_maps, read_documents};

/// Why values cannot be computed. The texts are Helm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    /// A file is no YAML, or no map.
    #[error("failed to parse {file}: {problem}")]
    File {
        /// Its name as the user gave it.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// An argument of `--set-json` is no JSON object.
    #[error("failed parsing --set-json data JSON: {0}")]
    JsonObject(String),
    /// An argument of `--set-json` has a mistake.
    #[error("failed parsing --set-json data {0}")]
    Json(String),
    /// An argument of another flag has a mistake.
    #[error("failed parsing {flag} data: {problem}")]
    Assignment {
        /// Which flag.
        flag: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// Collects values; call the methods in Helm's order: files, JSON, assignments, strings, files' contents,
/// literals.
#[derive(Debug, Clone, Default)]
pub struct ValuesBuilder {
    values: Values,
}

impl ValuesBuilder {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The values of a file, over what there is (`--values`).
    ///
    /// # Errors
    /// If it is no YAML, or no map.
    pub fn file(&mut self, name: &str, text: &[u8]) -> Result<(), ValuesError> {
        let read = read_documents(text).map_err(|problem| ValuesError::File {
            file: name.to_owned(),
            problem,
        })?;
        merge_maps(&mut self.values, read);
        Ok(())
    }

    /// `--set-json`: an object, or assignments of JSON.
    ///
    /// # Errors
    /// If the argument has a mistake.
    pub fn json(&mut self, argument: &str) -> Result<(), ValuesError> {
        let trimmed = argument.trim_matches(crate::text::is_space);
        if trimmed.starts_with('{') {
            let read =
                serde_json::from_str(trimmed).map_err(|_| ValuesError::JsonObject(argument.to_owned()))?;
            merge_maps(&mut self.values, super::with_go_numbers(read));
            return Ok(());
        }
        assign(argument, Mode::Json, &mut self.values).map_err(|_| ValuesError::Json(argument.to_owned()))
    }

    /// `--set`.
    ///
    /// # Errors
    /// If the argument has a mistake.
    pub fn set(&mut self, argument: &str) -> Result<(), ValuesError> {
        self.assign("--set", argument, Mode::Typed)
    }

    /// `--set-string`.
    ///
    /// # Errors
    /// If the argument has a mistake.
    pub fn set_string(&mut self, argument: &str) -> Result<(), ValuesError> {
        self.assign("--set-string", argument, Mode::Text)
    }

    /// `--set-file`; `read` gives the contents of a file.
    ///
    /// # Errors
    /// If the argument has a mistake, or `read` fails.
    pub fn set_file(
        &mut self,
        argument: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), ValuesError> {
        self.assign("--set-file", argument, Mode::File(read))
    }

    /// `--set-literal`.
    ///
    /// # Errors
    /// If the argument has a mistake.
    pub fn set_literal(&mut self, argument: &str) -> Result<(), ValuesError> {
        self.assign("--set-literal", argument, Mode::Literal)
    }

    fn assign(&mut self, flag: &'static str, argument: &str, mode: Mode<'_>) -> Result<(), ValuesError> {
        assign(argument, mode, &mut self.values).map_err(|problem| ValuesError::Assignment { flag, problem })
    }

    /// The values.
    pub fn build(self) -> Values {
        self.values
    }
}
