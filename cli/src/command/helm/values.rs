//! The flags that give values.

use std::io::Read as _;

use sluice_helm::{Values, ValuesBuilder};

use crate::error::{CommandError, Result};

/// Values from files and from the command line. The order is that of helm: files, JSON, assignments, strings,
/// contents of files, literals; among flags of one kind the last wins.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Values")]
pub(super) struct ValuesArguments {
    /// File with values; `-` is standard input
    #[arg(long = "values", short = 'f', value_name = "FILE", value_delimiter = ',')]
    files: Vec<String>,
    /// Assignments, for example a.b=1,c[0]=x
    #[arg(long = "set", value_name = "ASSIGNMENTS", allow_hyphen_values = true)]
    assignments: Vec<String>,
    /// Assignments of texts
    #[arg(long = "set-string", value_name = "ASSIGNMENTS", allow_hyphen_values = true)]
    texts: Vec<String>,
    /// Assignments of the contents of files
    #[arg(long = "set-file", value_name = "ASSIGNMENTS")]
    contents: Vec<String>,
    /// Assignments of JSON, or a JSON object
    #[arg(long = "set-json", value_name = "ASSIGNMENTS", allow_hyphen_values = true)]
    json: Vec<String>,
    /// Assignment of a text as it stands, without escapes
    #[arg(long = "set-literal", value_name = "ASSIGNMENT", allow_hyphen_values = true)]
    literals: Vec<String>,
}

impl ValuesArguments {
    /// The values.
    ///
    /// # Errors
    /// A file that cannot be read, or an assignment with a mistake.
    pub(super) fn values(&self) -> Result<Values> {
        let wrong = |error: sluice_helm::ValuesError| CommandError::new(error.to_string());
        let mut values = ValuesBuilder::new();
        for file in &self.files {
            let text = read(file).map_err(CommandError::new)?;
            values.file(file, &text).map_err(wrong)?;
        }
        for argument in &self.json {
            values.json(argument).map_err(wrong)?;
        }
        for argument in &self.assignments {
            values.set(argument).map_err(wrong)?;
        }
        for argument in &self.texts {
            values.set_string(argument).map_err(wrong)?;
        }
        for argument in &self.contents {
            let contents = |name: &str| read(name).map(|text| String::from_utf8_lossy(&text).into_owned());
            values.set_file(argument, &contents).map_err(wrong)?;
        }
        for argument in &self.literals {
            values.set_literal(argument).map_err(wrong)?;
        }
        Ok(values.build())
    }
}

/// The contents of a file, or of standard input; the error is in Go's words.
fn read(name: &str) -> Result<Vec<u8>, String> {
    if name.trim() == "-" {
        let mut text = Vec::new();
        return match std::io::stdin().lock().read_to_end(&mut text) {
            Ok(_) => Ok(text),
            Err(error) => Err(format!("standard input: {error}")),
        };
    }
    std::fs::read(name).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("open {name}: no such file or directory"),
        std::io::ErrorKind::PermissionDenied => format!("open {name}: permission denied"),
        _ => format!("read {name}: {error}"),
    })
}
