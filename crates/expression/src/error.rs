//! What can be wrong with an expression or with its evaluation.

use thiserror::Error;

/// An expression that cannot be used. The texts begin as Flux's do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompileError {
    /// The text is no expression, or does not fit the declared variables. `report` shows each place as
    /// `ERROR: <input>:LINE:COLUMN: problem` with the line and a mark below it.
    #[error("failed to parse the CEL expression '{expression}': {report}")]
    Invalid {
        /// The text.
        expression: String,
        /// The problems with their places.
        report: String,
    },
    /// The expression yields another type than its user needs.
    #[error("CEL expression output type mismatch: expected {expected}, got {actual}")]
    Output {
        /// What is needed.
        expected: String,
        /// What the expression yields.
        actual: String,
    },
    /// A part whose value is known beforehand has none, such as `timestamp('x')` or an unknown function.
    #[error("failed to create CEL program: {0}")]
    Program(String),
}

/// Why an evaluation has no result. The texts begin as Flux's do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluationError {
    /// The evaluation failed: an absent key, no such overload, a limit.
    #[error("failed to evaluate the CEL expression '{expression}': {problem}")]
    Failed {
        /// The text.
        expression: String,
        /// What went wrong.
        problem: String,
    },
    /// The result is no truth value.
    #[error("failed to evaluate CEL expression as boolean: '{expression}'")]
    NotBoolean {
        /// The text.
        expression: String,
    },
    /// The result is no string.
    #[error("failed to evaluate CEL expression as string: '{expression}'")]
    NotString {
        /// The text.
        expression: String,
    },
}

/// A problem at a place in the text.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// The offset of a character; `None`: the whole text.
    pub(crate) at: Option<usize>,
    pub(crate) message: String,
}

/// How many problems are reported.
const MOST_PROBLEMS: usize = 100;
/// Lines that are longer are not shown with their problem.
const LONGEST_LINE: usize = 16_384;

/// Shows the problems in the order of their places, each with its line and a mark.
pub(crate) fn report(text: &str, mut problems: Vec<Problem>) -> String {
    problems.sort_by_key(|problem| problem.at.map_or(0, |at| at + 1));
    let more = problems.len().saturating_sub(MOST_PROBLEMS);
    let mut lines: Vec<String> = problems
        .iter()
        .take(MOST_PROBLEMS)
        .map(|problem| show(text, problem))
        .collect();
    if more > 0 {
        lines.push(format!("{more} more errors were truncated"));
    }
    lines.join("\n")
}

fn show(text: &str, problem: &Problem) -> String {
    let Some(at) = problem.at else {
        return format!("ERROR: <input>:-1:0: {}", problem.message);
    };
    if text.is_empty() {
        return format!("ERROR: <input>:1:0: {}", problem.message);
    }
    let mut start = 0;
    let mut number = 1;
    for (offset, character) in text.chars().enumerate().take(at) {
        if character == '\n' {
            start = offset + 1;
            number += 1;
        }
    }
    let column = at - start;
    let mut shown = format!("ERROR: <input>:{number}:{}: {}", column + 1, problem.message);
    let line: String = text
        .chars()
        .skip(start)
        .take_while(|character| *character != '\n')
        .collect();
    if line.len() > LONGEST_LINE {
        return shown;
    }
    let line = line.replace('\t', " ");
    let wide = |character: char| character.len_utf8() > 1;
    let dots: String = line
        .chars()
        .take(column)
        .map(|character| if wide(character) { '\u{ff0e}' } else { '.' })
        .collect();
    let marked = line.chars().nth(column);
    let mark = if marked.is_some_and(wide) { '\u{ff3e}' } else { '^' };
    shown.push_str(&format!("\n | {line}\n | {dots}{mark}"));
    shown
}
