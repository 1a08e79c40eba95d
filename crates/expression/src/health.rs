//! The health of an object by the expressions of its kind.

use serde_json::Value as Json;
use thiserror::Error;

use crate::{CompileError, EvaluationError, Expression};

/// The expressions for the objects of one kind; empty ones are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HealthExpressions<'a> {
    /// True while the object is on its way; tried first.
    pub in_progress: &'a str,
    /// True when the object has failed; tried second.
    pub failed: &'a str,
    /// True when the object is as it should be; tried last, and required.
    pub current: &'a str,
}

/// What the expressions say of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// On its way, which is also the answer if no expression is true.
    InProgress,
    /// Failed.
    Failed,
    /// As it should be.
    Current,
}

/// Expressions that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HealthExpressionError {
    /// There is no expression for the good end.
    #[error("expression Current not specified")]
    NoCurrent,
    /// One of them is none.
    #[error("failed to parse the expression {which}: {error}")]
    Invalid {
        /// `Current`, `Failed` or `InProgress`.
        which: &'static str,
        /// What is wrong.
        error: CompileError,
    },
}

/// The compiled expressions for the objects of one kind.
#[derive(Debug, Clone)]
pub struct StatusEvaluator {
    /// In the order in which they are tried.
    expressions: Vec<(Health, Expression)>,
}

impl StatusEvaluator {
    /// Compiles the expressions, the last one tried first, as Flux does.
    ///
    /// # Errors
    /// A missing or invalid expression.
    pub fn new(expressions: HealthExpressions<'_>) -> Result<Self, HealthExpressionError> {
        if expressions.current.is_empty() {
            return Err(HealthExpressionError::NoCurrent);
        }
        let named = [
            ("Current", Health::Current, expressions.current),
            ("Failed", Health::Failed, expressions.failed),
            ("InProgress", Health::InProgress, expressions.in_progress),
        ];
        let mut compiled = Vec::new();
        for (which, health, text) in named {
            if text.is_empty() {
                continue;
            }
            let expression =
                Expression::parse(text).map_err(|error| HealthExpressionError::Invalid { which, error })?;
            compiled.insert(0, (health, expression));
        }
        Ok(Self {
            expressions: compiled,
        })
    }

    /// Judges an object: while its status is of another generation it is in progress; then the first
    /// expression counts that is true.
    ///
    /// # Errors
    /// An expression that fails or yields no truth value.
    pub fn evaluate(&self, object: &Json) -> Result<Health, EvaluationError> {
        let integer = |path| object.pointer(path).and_then(Json::as_i64);
        if let (Some(observed), Some(generation)) = (
            integer("/status/observedGeneration"),
            integer("/metadata/generation"),
        ) && observed != generation
        {
            return Ok(Health::InProgress);
        }
        for (health, expression) in &self.expressions {
            if expression.evaluate_fields(object)? {
                return Ok(*health);
            }
        }
        Ok(Health::InProgress)
    }
}
