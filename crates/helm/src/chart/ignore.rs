//! `.helmignore`.

use crate::glob;

/// Why a `.helmignore` cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// A pattern has two stars in a row.
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// A pattern is malformed.
    #[error("syntax error in pattern")]
    Syntax,
}

/// Rules that leave files of a directory out of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    /// The pattern without `!`, the last and the first slash.
    text: String,
    /// Whether everything that does *not* match is ignored.
    negated: bool,
    /// Whether only directories match.
    directory: bool,
    /// Whether the whole path counts, and not only the name.
    whole: bool,
}

impl IgnoreRules {
    /// Reads a `.helmignore`. The rule that hidden files in `templates/` are left out comes on top.
    ///
    /// # Errors
    /// See [`IgnoreError`].
    pub fn parse(text: &str) -> Result<Self, IgnoreError> {
        let mut rules = Self::default();
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        for line in text.lines() {
            rules.add(line)?;
        }
        rules.add("templates/.?*")?;
        Ok(rules)
    }

    fn add(&mut self, line: &str) -> Result<(), IgnoreError> {
        let rule = line.trim_matches(crate::text::is_space);
        if rule.is_empty() || rule.starts_with('#') {
            return Ok(());
        }
        if rule.contains("**") {
            return Err(IgnoreError::DoubleStar);
        }
        glob::matches_path(rule, "abc").map_err(|_| IgnoreError::Syntax)?;
        let (rule, negated) = rule.strip_prefix('!').map_or((rule, false), |rest| (rest, true));
        let (rule, directory) = rule.strip_suffix('/').map_or((rule, false), |rest| (rest, true));
        let (text, whole) = match rule.strip_prefix('/') {
            Some(rest) => (rest, true),
            None => (rule, rule.contains('/')),
        };
        self.patterns.push(Pattern {
            text: text.to_owned(),
            negated,
            directory,
            whole,
        });
        Ok(())
    }

    /// Whether the path below the chart is left out. A directory that is takes everything in it along.
    pub fn ignores(&self, path: &str, is_directory: bool) -> bool {
        for pattern in &self.patterns {
            let subject = if pattern.whole {
                path
            } else {
                crate::text::base(path)
            };
            let matches = (!pattern.directory || is_directory)
                && glob::matches_path(&pattern.text, subject).unwrap_or(false);
            if matches != pattern.negated {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_apply_in_order_and_negation_ignores_the_rest() {
        let rules = IgnoreRules::parse("# c\n*.txt\n/top\nsub/\na/b*\n").unwrap();
        assert!(rules.ignores("x/y.txt", false));
        assert!(rules.ignores("top", false) && !rules.ignores("x/top", false));
        assert!(rules.ignores("x/sub", true) && !rules.ignores("x/sub", false));
        assert!(rules.ignores("a/bc", false) && !rules.ignores("a/b/c", false));
        assert!(rules.ignores("templates/.hidden", false) && !rules.ignores("templates/x", false));
        let only = IgnoreRules::parse("!*.yaml").unwrap();
        assert!(only.ignores("x.txt", false) && !only.ignores("x.yaml", false));
        assert_eq!(IgnoreRules::parse("a/**"), Err(IgnoreError::DoubleStar));
        assert_eq!(IgnoreRules::parse("a["), Err(IgnoreError::Syntax));
    }
}
