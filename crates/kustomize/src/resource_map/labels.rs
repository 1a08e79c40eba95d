//! Label selectors: `a=b,c!=d,e in (f,g),h,!i`.

use std::collections::BTreeMap;

use crate::tree::Outcome;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

/// A parsed label selector; all its requirements must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let tokens = tokenise(text)?;
        let mut parser = Parser {
            tokens: &tokens,
            at: 0,
            text,
        };
        let mut requirements = Vec::new();
        while parser.at < tokens.len() {
            requirements.push(parser.requirement()?);
            if parser.at < tokens.len() && !parser.accept(",") {
                return Err(parser.problem());
            }
        }
        Ok(Self(requirements))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let found = labels.get(&self.key);
        let compare = |wanted: fn(i64, i64) -> bool| {
            let number = |text: &str| text.parse::<i64>().ok();
            match (
                found.and_then(|text| number(text)),
                self.values.first().and_then(|text| number(text)),
            ) {
                (Some(found), Some(limit)) => wanted(found, limit),
                _ => false,
            }
        };
        match self.operator {
            Operator::In => found.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => found.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
            Operator::GreaterThan => compare(|found, limit| found > limit),
            Operator::LessThan => compare(|found, limit| found < limit),
        }
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ",", "(", ")", ">", "<"];

fn tokenise(text: &str) -> Outcome<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = rest[symbol.len()..].trim_start();
            continue;
        }
        let end = rest
            .find(|next: char| next.is_whitespace() || "=!,()<>".contains(next))
            .unwrap_or(rest.len());
        tokens.push(Token::Word(rest[..end].to_owned()));
        rest = rest[end..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    text: &'a str,
}

impl Parser<'_> {
    fn problem(&self) -> String {
        format!("the label selector {:?} cannot be understood", self.text)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Symbol(next)) if *next == symbol);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self) -> Option<String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => {
                self.at += 1;
                Some(word.clone())
            }
            _ => None,
        }
    }

    fn requirement(&mut self) -> Outcome<Requirement> {
        let absent = self.accept("!");
        let key = self.word().ok_or_else(|| self.problem())?;
        if absent {
            return Ok(Requirement {
                key,
                operator: Operator::DoesNotExist,
                values: Vec::new(),
            });
        }
        let at_end =
            self.at == self.tokens.len() || matches!(self.tokens.get(self.at), Some(Token::Symbol(",")));
        if at_end {
            return Ok(Requirement {
                key,
                operator: Operator::Exists,
                values: Vec::new(),
            });
        }
        if self.accept("=") || self.accept("==") {
            return Ok(Requirement {
                key,
                operator: Operator::In,
                values: vec![self.word().unwrap_or_default()],
            });
        }
        if self.accept("!=") {
            return Ok(Requirement {
                key,
                operator: Operator::NotIn,
                values: vec![self.word().unwrap_or_default()],
            });
        }
        for (symbol, operator) in [(">", Operator::GreaterThan), ("<", Operator::LessThan)] {
            if self.accept(symbol) {
                let limit = self
                    .word()
                    .filter(|word| word.parse::<i64>().is_ok())
                    .ok_or_else(|| self.problem())?;
                return Ok(Requirement {
                    key,
                    operator,
                    values: vec![limit],
                });
            }
        }
        let operator = match self.word().as_deref() {
            Some("in") => Operator::In,
            Some("notin") => Operator::NotIn,
            _ => return Err(self.problem()),
        };
        Ok(Requirement {
            key,
            operator,
            values: self.values()?,
        })
    }

    fn values(&mut self) -> Outcome<Vec<String>> {
        if !self.accept("(") {
            return Err(self.problem());
        }
        let mut values = Vec::new();
        loop {
            values.push(self.word().unwrap_or_default());
            if self.accept(")") {
                return Ok(values);
            }
            if !self.accept(",") {
                return Err(self.problem());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_like_kubectl() {
        let labels: BTreeMap<String, String> = [("a", "b"), ("n", "5")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let matches = |text: &str| LabelSelector::parse(text).unwrap().matches(&labels);
        for text in [
            "",
            "a",
            "a=b",
            "a==b",
            "a!=c",
            "x!=c",
            "!x",
            "a in (b,c)",
            "x notin (b)",
            "n>4,a=b",
            "n < 6",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in ["x", "a=c", "a!=b", "!a", "a notin (b)", "n>5", "a=b,x"] {
            assert!(!matches(text), "{text}");
        }
        for text in ["a b", "=", "a in b", "n>x", "a in (b"] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }
}
