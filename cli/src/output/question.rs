//! Asking before something is done that can't be undone.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::error::{CommandError, Result};

/// Asks a question that is answered with yes or no.
///
/// # Errors
/// An answer other than yes, and nobody there to answer, with the hint that says how to do without.
pub(crate) fn confirm(question: &str, hint: &str) -> Result<()> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::new("not confirmed").with_hint(hint));
    }
    let mut errors = std::io::stderr().lock();
    let _ = errors.write_all(format!("{question} [y/N] ").as_bytes());
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(CommandError::new("aborted"))
}
