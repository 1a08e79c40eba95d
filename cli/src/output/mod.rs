//! Everything that reaches a person's terminal or another program's input.

mod console;
mod question;
mod table;

pub(crate) use console::{Colour, Console, Progress};
pub(crate) use question::confirm;
pub(crate) use table::Table;

use clap::ValueEnum;
use serde::Serialize;

use crate::error::{CommandError, Result};

/// A machine-readable output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON, indented.
    Json,
    /// YAML, as `kubectl` prints it.
    Yaml,
}

/// Renders `value` in `format`, ending with a newline.
///
/// # Errors
/// A value that has no such form.
pub(crate) fn render<T: Serialize>(value: &T, format: Format) -> Result<String> {
    let value = serde_json::to_value(value).map_err(|error| CommandError::new(error.to_string()))?;
    match format {
        Format::Json => {
            let text =
                serde_json::to_string_pretty(&value).map_err(|error| CommandError::new(error.to_string()))?;
            Ok(text + "\n")
        }
        Format::Yaml => yaml(&value),
    }
}

/// Renders one value as YAML.
///
/// # Errors
/// A value that YAML cannot hold.
pub(crate) fn yaml(value: &serde_json::Value) -> Result<String> {
    sluice_goyaml::write_sigs(value).map_err(|error| CommandError::new(error.to_string()))
}
