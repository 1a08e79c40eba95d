//! The messages that Helm makes of Go's errors in templates.

use sluice_gotemplate::{Error, ExecuteError, Failure, ParseError};

/// What stands before a text for the user within a Go error.
pub(super) const WARNING_START: &str = "HELM_ERR_START";
/// What stands after it.
pub(super) const WARNING_END: &str = "HELM_ERR_END";

/// The message for a template that cannot be parsed: place and last part of Go's.
pub(super) fn parse_message(path: &str, error: &ParseError) -> String {
    let text = error.to_string();
    let parts: Vec<&str> = text.split(": ").collect();
    match parts.as_slice() {
        [_, location, .., last] => format!("parse error at ({location}): {last}"),
        [_, location] => format!("parse error at ({location}): {location}"),
        _ => format!("parse error in ({path}): {text}"),
    }
}

/// The message for a template that failed.
pub(super) fn execute_message(path: &str, error: &Error) -> String {
    let text = error.to_string();
    let Error::Execute(execution) = error else {
        return text;
    };
    let parts: Vec<&str> = text.splitn(3, ": ").collect();
    let &[_, location, rest] = parts.as_slice() else {
        return format!("execution error in ({path}): {text}");
    };
    if let Some(warning) = warning_in(rest) {
        return format!("execution error at ({location}): {warning}");
    }
    let mut trace: Vec<Traced> = Vec::new();
    for text in chain(execution) {
        let Some(traced) = Traced::parse(&text) else {
            return error.to_string();
        };
        if trace.last() != Some(&traced) {
            trace.push(traced);
        }
    }
    let message: String = trace.iter().map(Traced::to_lines).collect();
    message.trim_matches(crate::text::is_space).to_owned()
}

fn warning_in(text: &str) -> Option<&str> {
    let start = text.find(WARNING_START)? + WARNING_START.len();
    let end = text.rfind(WARNING_END).filter(|&end| end >= start)?;
    text.get(start..end)
}

/// The texts of an error and of all that it wraps, from the outermost inwards.
fn chain(execution: &ExecuteError) -> Vec<String> {
    let mut texts = Vec::new();
    let mut execution = Some(execution);
    while let Some(current) = execution.take() {
        texts.push(current.to_string());
        let Some(failure) = current.failure() else {
            break;
        };
        texts.push(failure.to_string());
        execution = inner(failure, &mut texts);
    }
    texts
}

/// Goes on into what a function's failure wraps.
fn inner<'error>(failure: &'error Failure, texts: &mut Vec<String>) -> Option<&'error ExecuteError> {
    match failure.cause()? {
        Error::Execute(execution) => Some(execution),
        other => {
            texts.push(other.to_string());
            None
        }
    }
}

/// One error of a chain in its parts.
#[derive(PartialEq, Eq)]
struct Traced {
    location: String,
    message: String,
    executed: String,
}

impl Traced {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("template: ")?;
        if rest.starts_with("no template ") {
            return Some(Self {
                location: String::new(),
                message: text.to_owned(),
                executed: String::new(),
            });
        }
        Self::parse_executing(rest).or_else(|| Self::parse_simple(rest))
    }

    fn parse_executing(rest: &str) -> Option<Self> {
        let (location, after) = rest.split_once(": executing ")?;
        let (function, after) = after.strip_prefix('"')?.split_once('"')?;
        let (place, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
        Some(Self {
            location: location.to_owned(),
            message: up_to_next(message).to_owned(),
            executed: format!("executing \"{function}\" at <{place}>:"),
        })
    }

    fn parse_simple(rest: &str) -> Option<Self> {
        let (location, message) = rest.rsplit_once(": ")?;
        Some(Self {
            location: location.to_owned(),
            message: up_to_next(message).to_owned(),
            executed: String::new(),
        })
    }

    fn to_lines(&self) -> String {
        let mut lines = String::new();
        for (part, end) in [
            (&self.location, "\n  "),
            (&self.executed, "\n    "),
            (&self.message, "\n"),
        ] {
            if !part.is_empty() {
                lines.push_str(part);
                lines.push_str(end);
            }
        }
        lines
    }
}

/// The message before that of the next error in the chain.
fn up_to_next(message: &str) -> &str {
    message.find(" template:").map_or(message, |at| &message[..at])
}
