//! Rules that users give for kinds of their own: CEL expressions by API group and kind.

use std::collections::HashMap;

use serde_json::Value;
use sluice_expression::{Health, HealthExpressionError, HealthExpressions, StatusEvaluator};
use thiserror::Error;

use crate::{Assessment, Status, fields};

/// The expressions for one kind, or for a whole API group if the kind is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomRule<'a> {
    /// `group/version`, of which the version does not count.
    pub api_version: &'a str,
    /// The kind, or empty.
    pub kind: &'a str,
    /// The expressions.
    pub expressions: HealthExpressions<'a>,
}

/// Rules that cannot be used; the texts are Flux's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CustomRuleError {
    /// Two rules for one kind.
    #[error("duplicate custom health check for GroupKind {kind} at healthchecks[{index}]")]
    Duplicate {
        /// `Kind.group`.
        kind: String,
        /// The position of the second one.
        index: usize,
    },
    /// An expression that is missing or none.
    #[error("failed to create custom status evaluator for healthchecks[{index}]: {error}")]
    Invalid {
        /// The position of the rule.
        index: usize,
        /// What is wrong.
        error: HealthExpressionError,
    },
}

/// The compiled rules.
#[derive(Debug, Clone, Default)]
pub struct CustomRules {
    /// By group and kind.
    evaluators: HashMap<(String, String), StatusEvaluator>,
}

impl CustomRules {
    /// Compiles rules.
    ///
    /// # Errors
    /// The first rule that cannot be used.
    pub fn compile<'a>(rules: impl IntoIterator<Item = CustomRule<'a>>) -> Result<Self, CustomRuleError> {
        let mut evaluators = HashMap::new();
        for (index, rule) in rules.into_iter().enumerate() {
            let group = rule.api_version.split_once('/').map_or("", |(group, _)| group);
            let key = (group.to_owned(), rule.kind.to_owned());
            if evaluators.contains_key(&key) {
                let kind = match group {
                    "" => rule.kind.to_owned(),
                    group => format!("{}.{group}", rule.kind),
                };
                return Err(CustomRuleError::Duplicate { kind, index });
            }
            let evaluator = StatusEvaluator::new(rule.expressions)
                .map_err(|error| CustomRuleError::Invalid { index, error })?;
            evaluators.insert(key, evaluator);
        }
        Ok(Self { evaluators })
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.evaluators.is_empty()
    }

    /// Whether a rule judges an object, so that no other does.
    pub fn judges(&self, object: &Value) -> bool {
        self.find(object).is_some()
    }

    /// Assesses an object if there is a rule for its kind or else for its group. Nothing but its expressions
    /// counts then, not even that the object is being deleted. A failing expression makes the object unknown.
    pub fn assess(&self, object: &Value) -> Option<Assessment> {
        let evaluator = self.find(object)?;
        let status = match evaluator.evaluate(object) {
            Ok(Health::Current) => Status::Current,
            Ok(Health::Failed) => Status::Failed,
            Ok(Health::InProgress) => Status::InProgress,
            Err(error) => return Some(Assessment::unknown(error.to_string())),
        };
        Some(Assessment {
            status,
            message: String::new(),
            reason: String::new(),
        })
    }

    fn find(&self, object: &Value) -> Option<&StatusEvaluator> {
        if self.evaluators.is_empty() {
            return None;
        }
        let group = fields::group(object).to_owned();
        let exact = (group, fields::kind(object).to_owned());
        let found = self.evaluators.get(&exact);
        found.or_else(|| self.evaluators.get(&(exact.0, String::new())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule<'a>(api_version: &'a str, kind: &'a str, current: &'a str) -> CustomRule<'a> {
        CustomRule {
            api_version,
            kind,
            expressions: HealthExpressions {
                current,
                ..HealthExpressions::default()
            },
        }
    }

    /// KUS-055: the rule of the kind comes before that of the group, whatever the version.
    #[test]
    fn the_rule_of_a_kind_comes_before_that_of_its_group() {
        let rules = CustomRules::compile([
            rule("example.com/v1", "", "false"),
            rule("example.com/v1", "Widget", "true"),
        ])
        .unwrap();
        let status = |api_version: &str, kind: &str| {
            let object = json!({"apiVersion": api_version, "kind": kind});
            rules.assess(&object).map(|assessment| assessment.status)
        };
        assert_eq!(status("example.com/v2", "Widget"), Some(Status::Current));
        assert_eq!(status("example.com/v2", "Gadget"), Some(Status::InProgress));
        assert_eq!(status("other.com/v1", "Widget"), None);
        assert_eq!(status("v1", "Widget"), None);
    }

    /// KUS-055
    #[test]
    fn rules_that_cannot_be_used_are_named() {
        let refused = |rules: [CustomRule<'_>; 2]| CustomRules::compile(rules).unwrap_err().to_string();
        assert_eq!(
            refused([rule("a/v1", "B", "true"), rule("a/v2", "B", "true")]),
            "duplicate custom health check for GroupKind B.a at healthchecks[1]"
        );
        assert_eq!(
            refused([rule("a/v1", "B", "true"), rule("a/v1", "C", "")]),
            "failed to create custom status evaluator for healthchecks[1]: expression Current not specified"
        );
        let text = refused([rule("a/v1", "B", "1 +"), rule("a/v1", "C", "true")]);
        assert!(text.starts_with(
            "failed to create custom status evaluator for healthchecks[0]: failed to parse the expression Current: failed to \
             parse the CEL expression '1 +': ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting "
        ), "{text}");
    }

    /// KUS-055: a failing expression leaves the object unknown, with the reason.
    #[test]
    fn a_failing_expression_makes_the_object_unknown() {
        let rules = CustomRules::compile([rule("v1", "Pod", "status.phase == 'Running'")]).unwrap();
        let assessment = rules.assess(&json!({"apiVersion": "v1", "kind": "Pod"})).unwrap();
        assert_eq!(assessment.status, Status::Unknown);
        assert_eq!(
            assessment.message,
            "failed to evaluate the CEL expression 'status.phase == 'Running'': no such attribute(s): status.phase"
        );
    }
}
