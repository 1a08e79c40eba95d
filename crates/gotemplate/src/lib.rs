//! Go's text/template, as Go 1.26 has it: the same output and the same errors.
//!
//! Helm charts are templates of this language, and they lean on all of Go: kinds of numbers that cannot be
//! compared, maps that are shared and changed, methods of structures, the verbs of `printf`, the place that
//! an error names. This crate has them all, and in place of Go's endless stack it has limits.
//!
//! - [`TemplateSet`] parses and executes. It can be shared between threads.
//! - [`Value`] is what an `interface {}` holds; [`Object`] is for structures and types with methods. Values
//!   stay on one thread, where a render runs from beginning to end.
//! - [`FunctionMap`] registers functions with their Go types ([`Signature`]), so that wrong arguments give
//!   Go's messages. A function sees the render through [`Scope`]: `include` executes a template of
//!   [`Scope::templates`], `tpl` one of an extended copy.
//! - [`functions`] are those of sprig and Helm.
//! - [`Run`] is one render with its [`Budget`].
//! - [`Error`] prints as Go's error does.

mod budget;
mod builtins;
mod error;
mod execute;
mod format;
mod function;
mod lexer;
mod library;
mod node;
mod number;
mod parser;
mod quote;
mod template;
mod text;
mod unicode;
mod value;

pub use budget::{Budget, Run};
pub use error::{Error, ExecuteError, Failure, LimitError, ParseError};
pub use function::{Arguments, Callable, FunctionMap, Native, Scope, SharedFunction, Signature};
pub use library::functions;
pub use node::Tree;
pub use template::{MissingKey, TemplateSet};
pub use text::Text;
pub use value::{Float, List, Map, Object, Operand, Pairs, Shape, Signed, Type, Unsigned, Value};

/// Go's `fmt.Sprint`, `Sprintln` and `Sprintf` for functions of an engine.
pub mod print {
    use crate::error::LimitError;
    use crate::format;
    use crate::value::Value;

    /// `fmt.Sprint`, or an error if there would be more than `limit` bytes.
    ///
    /// # Errors
    /// If the result is larger than `limit`, or a value nests too deep.
    pub fn print(values: &[Value], limit: usize) -> Result<Vec<u8>, LimitError> {
        format::print(values, limit)
    }

    /// `fmt.Sprintf`, or an error if there would be more than `limit` bytes.
    ///
    /// # Errors
    /// If the result is larger than `limit`, or a value nests too deep.
    pub fn printf(format: &[u8], values: &[Value], limit: usize) -> Result<Vec<u8>, LimitError> {
        format::printf(format, values, limit)
    }

    /// `strconv.FormatFloat(value, 'g', -1, 64)`, the form of `%v`.
    pub fn float(value: f64) -> String {
        format::format_general(value)
    }

    /// A finite number as `encoding/json` writes it.
    pub fn json_number(value: f64) -> String {
        format::format_json(value)
    }
}

/// Go's readers of dates and addresses, for what else is held against them.
pub mod parse {
    use crate::text::lossy;

    pub use crate::library::Url;

    /// `time.Parse`.
    ///
    /// # Errors
    /// Go's words for what does not fit the layout.
    pub fn date(layout: &[u8], text: &[u8]) -> Result<(), String> {
        crate::library::read_date(layout, text)
    }

    /// `url.Parse`.
    ///
    /// # Errors
    /// Go's words for what is wrong.
    pub fn url(text: &[u8]) -> Result<Url, String> {
        crate::library::read_url(text)
    }

    /// A character in single quotes, as `%q` prints it.
    pub fn quoted_character(character: char) -> String {
        lossy(&crate::quote::quote_rune(character, false)).into_owned()
    }
}
