//! CEL as Flux uses it: expressions over Kubernetes objects, compiled once and evaluated within limits.
//!
//! The language, its functions and the texts of its errors are those of cel-go 0.26.1 in the environment of
//! `fluxcd/pkg/runtime/cel` v0.111.0: the standard library, the extensions for strings, sets and encoders, and
//! optional types; numbers of different types can be compared, times are in UTC, and in checked expressions
//! the elements of a literal have one type. Objects come in as [`serde_json::Value`] and are not copied.
//!
//! ```
//! use serde_json::json;
//! use sluice_expression::Expression;
//!
//! let ready = Expression::parse("status.replicas == spec.replicas")?;
//! let object = json!({"spec": {"replicas": 3}, "status": {"replicas": 3}});
//! assert!(ready.evaluate_fields(&object)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod declarations;
mod error;
mod evaluation;
mod functions;
mod health;
mod lexer;
mod limits;
mod macros;
mod numbers;
mod parser;
mod pattern;
mod prepare;
mod render;
mod syntax;
mod time;
mod types;
mod unescape;
mod unify;
mod value;

use serde_json::Value as Json;

pub use error::{CompileError, EvaluationError};
pub use health::{Health, HealthExpressionError, HealthExpressions, StatusEvaluator};
pub use limits::Limits;

use evaluation::{Data, Evaluation, Failure};
use syntax::Node;
use types::Type;
use value::Value;

/// What a checked expression must yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A truth value.
    Bool,
    /// A text.
    String,
    /// Anything.
    Any,
}

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    root: Node,
    limits: Limits,
}

impl Expression {
    /// Reads an expression whose variables are not known: every field of the object that it is evaluated on
    /// is one. Names and types are not checked before the evaluation.
    ///
    /// # Errors
    /// A text that is no expression, or a part that can never have a value.
    pub fn parse(text: &str) -> Result<Self, CompileError> {
        Self::build(text, |_| Ok(()))
    }

    /// Reads an expression over variables that hold objects, and checks names, types and what it yields.
    ///
    /// # Errors
    /// The same, undeclared names, functions that do not fit their arguments, another result than `output`.
    pub fn compile(text: &str, variables: &[&str], output: Output) -> Result<Self, CompileError> {
        Self::build(text, |root| {
            let found = check::check(root, variables).map_err(|problems| CompileError::Invalid {
                expression: text.to_owned(),
                report: error::report(text, problems),
            })?;
            let expected = match output {
                Output::Bool => Type::Bool,
                Output::String => Type::String,
                Output::Any => return Ok(true),
            };
            if found == expected {
                return Ok(true);
            }
            Err(CompileError::Output {
                expected: expected.declared_name(),
                actual: found.declared_name(),
            })
        })
    }

    fn build<T: Into<Checked>>(
        text: &str,
        check: impl FnOnce(&Node) -> Result<T, CompileError>,
    ) -> Result<Self, CompileError> {
        let mut root = parser::parse(text).map_err(|problems| CompileError::Invalid {
            expression: text.to_owned(),
            report: error::report(text, problems),
        })?;
        let Checked(checked) = check(&root)?.into();
        prepare::prepare(&mut root, checked).map_err(CompileError::Program)?;
        Ok(Self {
            text: text.to_owned(),
            root,
            limits: Limits::default(),
        })
    }

    /// The same expression with other limits of its evaluation.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates to a truth value, the fields of an object being the variables.
    ///
    /// # Errors
    /// An evaluation that fails or yields something else.
    pub fn evaluate_fields(&self, object: &Json) -> Result<bool, EvaluationError> {
        let empty = serde_json::Map::new();
        self.truth(Data::Fields(object.as_object().unwrap_or(&empty)))
    }

    /// Evaluates to a truth value with variables.
    ///
    /// # Errors
    /// An evaluation that fails or yields something else.
    pub fn evaluate(&self, variables: &[(&str, &Json)]) -> Result<bool, EvaluationError> {
        self.truth(Data::Variables(variables))
    }

    /// Evaluates to a text with variables.
    ///
    /// # Errors
    /// An evaluation that fails or yields something else.
    pub fn evaluate_string(&self, variables: &[(&str, &Json)]) -> Result<String, EvaluationError> {
        match self.value(Data::Variables(variables))? {
            Value::String(text) => Ok(text.to_string()),
            _ => Err(EvaluationError::NotString {
                expression: self.text.clone(),
            }),
        }
    }

    /// Evaluates on the fields of an object and writes the value with its type, for tests and tools: texts in
    /// quotes, `5u`, `double(1.5)`, `bytes(BASE64)`, `duration(NANOSECONDS)`, `timestamp(…)`, `type(…)`,
    /// `optional(…)`; maps are ordered by their written keys.
    ///
    /// # Errors
    /// An evaluation that fails.
    pub fn print_fields(&self, object: &Json) -> Result<String, EvaluationError> {
        let empty = serde_json::Map::new();
        let value = self.value(Data::Fields(object.as_object().unwrap_or(&empty)))?;
        Ok(render::print(&value))
    }

    fn truth(&self, data: Data<'_>) -> Result<bool, EvaluationError> {
        match self.value(data)? {
            Value::Bool(truth) => Ok(truth),
            _ => Err(EvaluationError::NotBoolean {
                expression: self.text.clone(),
            }),
        }
    }

    fn value<'a>(&'a self, data: Data<'a>) -> Result<Value<'a>, EvaluationError> {
        let mut evaluation = Evaluation::new(data, self.limits);
        evaluation
            .evaluate(&self.root)
            .map_err(|failure: Failure| EvaluationError::Failed {
                expression: self.text.clone(),
                problem: failure.text(),
            })
    }
}

/// Whether types were checked.
struct Checked(bool);

impl From<()> for Checked {
    fn from((): ()) -> Self {
        Self(false)
    }
}

impl From<bool> for Checked {
    fn from(checked: bool) -> Self {
        Self(checked)
    }
}
