//! What the CEL expressions of a spec say: the rules for health, and whether a dependency is ready.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::kustomize::Kustomization;
use sluice_api::reasons::INVALID_CEL_EXPRESSION;
use sluice_expression::{EvaluationError, Expression, Output};
use sluice_health::{CustomRule, CustomRules, HealthExpressions};
use sluice_runtime::ReconcileError;

/// An expression that nothing but a new spec can heal. Alone among such errors it counts as observed.
fn invalid(problem: &str, place: &str) -> ReconcileError {
    let message = format!("Reconciliation failed terminally due to configuration error: {problem}");
    ReconcileError::stalled(INVALID_CEL_EXPRESSION, message)
        .with_place(place)
        .with_observed(true)
}

/// Compiles `spec.healthCheckExprs`.
///
/// # Errors
/// Stalled: the first one that cannot be used.
pub(super) fn health_rules(object: &Kustomization) -> Result<Arc<CustomRules>, ReconcileError> {
    let rules = object.spec.health_check_exprs.iter().map(|check| CustomRule {
        api_version: &check.api_version,
        kind: check.kind.as_deref().unwrap_or_default(),
        expressions: HealthExpressions {
            in_progress: check.in_progress.as_deref().unwrap_or_default(),
            failed: check.failed.as_deref().unwrap_or_default(),
            current: &check.current,
        },
    });
    CustomRules::compile(rules)
        .map(Arc::new)
        .map_err(|error| invalid(&error.to_string(), "spec.healthCheckExprs"))
}

/// Compiles the `readyExpr` for the dependency at a position of `spec.dependsOn`.
///
/// # Errors
/// Stalled: a text that is no expression over `self` and `dep` with a truth value.
pub(super) fn ready_expression(
    text: &str,
    dependency: &str,
    position: usize,
) -> Result<Expression, ReconcileError> {
    Expression::compile(text, &["self", "dep"], Output::Bool).map_err(|error| {
        let problem = format!("terminal error: failed to evaluate dependency {dependency}: {error}");
        invalid(&problem, &format!("spec.dependsOn[{position}].readyExpr"))
    })
}

/// Evaluates a `readyExpr`, on a thread that may take its time.
///
/// # Errors
/// An evaluation that fails, in words.
pub(super) async fn evaluate_readiness(
    expression: Expression,
    dependant: &Kustomization,
    dependency: &Kustomization,
) -> Result<bool, String> {
    let (dependant, dependency) = (as_variable(dependant), as_variable(dependency));
    let evaluated = tokio::task::spawn_blocking(move || {
        expression.evaluate(&[("self", &dependant), ("dep", &dependency)])
    });
    match evaluated.await {
        Ok(ready) => ready.map_err(|error: EvaluationError| error.to_string()),
        Err(error) => Err(format!("the evaluation was aborted: {error}")),
    }
}

/// The object as expressions see it: a status is always there.
fn as_variable(object: &Kustomization) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.entry("status").or_insert_with(|| json!({}));
    }
    value
}
