//! Applying a schema, keyword by keyword in the order in which Helm's library does.

use std::collections::{HashMap, HashSet};

use regex::Regex;
use serde_json::{Map, Value as Json};

use super::failure::{Failure, Kind, all_quoted, count, number, quoted, shown, value_number};
use super::format;
use super::reference::{Found, Index, ROOT, base_of};
use super::unevaluated::Unevaluated;
use super::{MAX_DEPTH, MAX_STEPS};

/// The drafts that differ here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Nineteen,
    Twenty,
}

/// What stands under a keyword.
enum Holds {
    /// A schema, or a list of schemas.
    One,
    /// Schemas by name.
    Named,
}

/// The keywords that hold schemas.
const SUBSCHEMAS: [(&str, Holds); 19] = [
    ("additionalItems", Holds::One),
    ("additionalProperties", Holds::One),
    ("allOf", Holds::One),
    ("anyOf", Holds::One),
    ("contains", Holds::One),
    ("dependencies", Holds::Named),
    ("dependentSchemas", Holds::Named),
    ("else", Holds::One),
    ("if", Holds::One),
    ("items", Holds::One),
    ("not", Holds::One),
    ("oneOf", Holds::One),
    ("patternProperties", Holds::Named),
    ("prefixItems", Holds::One),
    ("properties", Holds::Named),
    ("propertyNames", Holds::One),
    ("then", Holds::One),
    ("unevaluatedItems", Holds::One),
    ("unevaluatedProperties", Holds::One),
];

/// What a check gives: an error if the schema itself is of no use.
type Outcome = Result<Option<Failure>, String>;

/// One check of values.
pub(super) struct Evaluator<'schema> {
    root: &'schema Json,
    index: Index<'schema>,
    draft: Draft,
    patterns: HashMap<&'schema str, Regex>,
    path: Vec<String>,
    left: Unevaluated,
    depth: usize,
    steps: usize,
}

impl<'schema> Evaluator<'schema> {
    /// # Errors
    /// If the schema is neither an object nor a boolean, or of a draft that nobody knows.
    pub(super) fn new(root: &'schema Json) -> Result<Self, String> {
        if !root.is_object() && !root.is_boolean() {
            return Err("the schema is neither an object nor a boolean".to_owned());
        }
        let draft = match root.get("$schema").and_then(Json::as_str) {
            None => Draft::Twenty,
            Some(address) => draft_of(address)?,
        };
        Ok(Self {
            root,
            index: Index::new(root),
            draft,
            patterns: HashMap::new(),
            path: Vec::new(),
            left: Unevaluated::default(),
            depth: 0,
            steps: 0,
        })
    }

    /// Checks a value against the whole schema.
    pub(super) fn check(&mut self, value: &Json) -> Outcome {
        self.verify(self.root, ROOT, &mut HashSet::new())?;
        self.apply(self.root, ROOT, value)
    }

    /// Finds out whether all references that the schema can come to lead somewhere.
    fn verify(&self, schema: &'schema Json, base: &str, seen: &mut HashSet<usize>) -> Result<(), String> {
        let Json::Object(keywords) = schema else {
            return Ok(());
        };
        if seen.len() >= MAX_STEPS || !seen.insert(std::ptr::from_ref(schema).addr()) {
            return Ok(());
        }
        let base = base_of(schema, base);
        for keyword in ["$ref", "$recursiveRef", "$dynamicRef"] {
            if let Some(Json::String(reference)) = keywords.get(keyword)
                && let Found::Schema(schema, base) = self.index.find(reference, &base)?
            {
                self.verify(schema, &base, seen)?;
            }
        }
        for (keyword, value) in keywords {
            match (SUBSCHEMAS.iter().find(|(name, _)| name == keyword), value) {
                (Some((_, Holds::Named)), Json::Object(schemas)) => {
                    schemas
                        .values()
                        .try_for_each(|schema| self.verify(schema, &base, seen))?;
                }
                (Some((_, Holds::One)), Json::Array(schemas)) => {
                    schemas
                        .iter()
                        .try_for_each(|schema| self.verify(schema, &base, seen))?;
                }
                (Some((_, Holds::One)), schema) => self.verify(schema, &base, seen)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn failure(&self, kind: Kind, causes: Vec<Failure>) -> Failure {
        Failure {
            kind,
            path: self.path.clone(),
            causes,
        }
    }

    fn message(&self, message: impl Into<String>) -> Failure {
        self.failure(Kind::Message(message.into()), Vec::new())
    }

    fn apply(&mut self, schema: &'schema Json, base: &str, value: &Json) -> Outcome {
        self.steps += 1;
        if self.depth >= MAX_DEPTH || self.steps > MAX_STEPS {
            return Err("the schema refers to itself without end".to_owned());
        }
        self.depth += 1;
        let left = Unevaluated::before(self.draft, schema, value, !self.left.is_empty());
        let mut outer = std::mem::replace(&mut self.left, left);
        let outcome = self.apply_keywords(schema, base, value);
        if matches!(outcome, Ok(None)) {
            outer.keep_only(&self.left);
        }
        self.left = outer;
        self.depth -= 1;
        outcome
    }

    /// Applies a schema to a part of the current value.
    fn apply_below(&mut self, schema: &'schema Json, base: &str, value: &Json, name: &str) -> Outcome {
        self.path.push(name.to_owned());
        let left = std::mem::take(&mut self.left);
        let outcome = self.apply(schema, base, value);
        self.left = left;
        self.path.pop();
        outcome
    }

    fn apply_keywords(&mut self, schema: &'schema Json, base: &str, value: &Json) -> Outcome {
        let keywords = match schema {
            Json::Bool(true) => return Ok(None),
            Json::Bool(false) => return Ok(Some(self.message("false schema"))),
            Json::Object(keywords) => keywords,
            _ => return Err("a schema is neither an object nor a boolean".to_owned()),
        };
        let base = base_of(schema, base);
        let reference = keywords.get("$ref").and_then(Json::as_str);
        if self.draft < Draft::Nineteen
            && let Some(reference) = reference
        {
            return self.follow(reference, &base, value);
        }
        if let Some(problem) = self.simple(keywords, value) {
            return Ok(Some(self.message(problem)));
        }
        let mut failures = Vec::new();
        if let Some(reference) = reference {
            failures.extend(self.follow(reference, &base, value)?);
        }
        match value {
            Json::Object(map) => self.object(keywords, &base, map, &mut failures)?,
            Json::Array(items) => self.array(keywords, &base, items, &mut failures)?,
            Json::String(text) => self.text(keywords, text, &mut failures)?,
            Json::Number(_) => self.number(keywords, value, &mut failures),
            Json::Null | Json::Bool(_) => {}
        }
        if self.draft >= Draft::Nineteen {
            for keyword in ["$recursiveRef", "$dynamicRef"] {
                if let Some(Json::String(reference)) = keywords.get(keyword) {
                    failures.extend(self.follow(reference, &base, value)?);
                }
            }
        }
        self.combined(keywords, &base, value, &mut failures)?;
        self.unevaluated(keywords, &base, value, &mut failures)?;
        Ok(match failures.len() {
            0 => None,
            1 => failures.pop(),
            _ => Some(self.failure(Kind::Group, failures)),
        })
    }

    fn follow(&mut self, reference: &str, base: &str, value: &Json) -> Outcome {
        let (schema, base) = match self.index.find(reference, base)? {
            Found::Schema(schema, base) => (schema, base),
            Found::Anything => return Ok(None),
        };
        let failure = self.apply(schema, &base, value)?;
        Ok(failure.map(|failure| {
            let causes = if failure.kind == Kind::Group {
                failure.causes
            } else {
                vec![failure]
            };
            self.failure(Kind::Reference, causes)
        }))
    }

    /// The keywords of which the first that fails is all that is said.
    fn simple(&self, keywords: &Map<String, Json>, value: &Json) -> Option<String> {
        if let Some(types) = keywords.get("type") {
            let wanted: Vec<&str> = match types {
                Json::String(name) => vec![name.as_str()],
                Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
                _ => Vec::new(),
            };
            let found = type_of(value);
            let fits = wanted.contains(&found) || wanted.contains(&"integer") && is_integer(value);
            if !wanted.is_empty() && !fits {
                const ORDER: [&str; 7] = [
                    "null", "boolean", "number", "integer", "string", "array", "object",
                ];
                let ordered: Vec<&str> = ORDER.into_iter().filter(|name| wanted.contains(name)).collect();
                return Some(format!("got {found}, want {}", ordered.join(" or ")));
            }
        }
        let is_plain = |value: &Json| !value.is_array() && !value.is_object();
        if self.draft >= Draft::Six
            && let Some(wanted) = keywords.get("const").filter(|wanted| !equals(wanted, value))
        {
            return Some(if is_plain(wanted) {
                format!("value must be {}", shown(wanted))
            } else {
                "'const' failed".to_owned()
            });
        }
        if let Some(Json::Array(allowed)) = keywords.get("enum")
            && !allowed.iter().any(|wanted| equals(wanted, value))
        {
            let all: Vec<String> = allowed.iter().map(shown).collect();
            return Some(match all.as_slice() {
                _ if !allowed.iter().all(is_plain) => "'enum' failed".to_owned(),
                [one] => format!("value must be {one}"),
                many => format!("value must be one of {}", many.join(", ")),
            });
        }
        // Later drafts take formats for notes.
        if self.draft < Draft::Nineteen
            && let (Some(Json::String(name)), Json::String(text)) = (keywords.get("format"), value)
            && let Err(problem) = format::check(name, text)
        {
            return Some(format!("{} is not valid {name}: {problem}", quoted(text)));
        }
        None
    }

    fn object(
        &mut self,
        keywords: &'schema Map<String, Json>,
        base: &str,
        map: &Map<String, Json>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let size = map.len();
        if let Some(least) = limit(keywords, "minProperties").filter(|least| size < *least) {
            failures.push(self.message(format!(
                "minProperties: got {}, want {}",
                count(size),
                count(least)
            )));
        }
        if let Some(most) = limit(keywords, "maxProperties").filter(|most| size > *most) {
            failures.push(self.message(format!(
                "maxProperties: got {}, want {}",
                count(size),
                count(most)
            )));
        }
        let missing = missing(keywords.get("required"), map);
        match missing.as_slice() {
            [] => {}
            [one] => failures.push(self.message(format!("missing property {}", quoted(one)))),
            many => failures.push(self.message(format!("missing properties {}", all_quoted(many)))),
        }
        self.dependencies(keywords, "dependencies", base, map, failures)?;
        self.properties(keywords, base, map, failures)?;
        if self.draft >= Draft::Six
            && let Some(schema) = keywords.get("propertyNames")
        {
            for name in map.keys() {
                let outer = std::mem::take(&mut self.path);
                let failure = self.apply(schema, base, &Json::String(name.clone()))?;
                if let Some(failure) = failure {
                    let causes = if failure.kind == Kind::Group {
                        failure.causes
                    } else {
                        vec![failure]
                    };
                    failures.push(self.failure(
                        Kind::Message(format!("invalid propertyName {}", quoted(name))),
                        causes,
                    ));
                }
                self.path = outer;
            }
        }
        if self.draft >= Draft::Seven {
            self.dependencies(keywords, "dependentSchemas", base, map, failures)?;
            self.dependencies(keywords, "dependentRequired", base, map, failures)?;
        }
        Ok(())
    }

    fn dependencies(
        &mut self,
        keywords: &'schema Map<String, Json>,
        keyword: &str,
        base: &str,
        map: &Map<String, Json>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let Some(Json::Object(dependencies)) = keywords.get(keyword) else {
            return Ok(());
        };
        for (name, dependency) in dependencies.iter().filter(|(name, _)| map.contains_key(*name)) {
            if dependency.is_array() {
                let missing = missing(Some(dependency), map);
                if !missing.is_empty() {
                    failures.push(self.message(format!(
                        "properties {} required, if {} exists",
                        all_quoted(&missing),
                        quoted(name)
                    )));
                }
            } else {
                failures.extend(self.apply(dependency, base, &Json::Object(map.clone()))?);
            }
        }
        Ok(())
    }

    fn properties(
        &mut self,
        keywords: &'schema Map<String, Json>,
        base: &str,
        map: &Map<String, Json>,
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let properties = keywords.get("properties").and_then(Json::as_object);
        let patterns = keywords.get("patternProperties").and_then(Json::as_object);
        let additional = keywords.get("additionalProperties");
        let mut not_allowed = Vec::new();
        for (name, value) in map {
            let mut is_known = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                is_known = true;
                failures.extend(self.apply_below(schema, base, value, name)?);
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                if self.pattern(pattern)?.is_match(name) {
                    is_known = true;
                    failures.extend(self.apply_below(schema, base, value, name)?);
                }
            }
            match additional {
                Some(Json::Bool(false)) if !is_known => not_allowed.push(name.as_str()),
                Some(schema) if !is_known => failures.extend(self.apply_below(schema, base, value, name)?),
                _ => {}
            }
            if is_known || additional.is_some() {
                self.left.names.remove(name);
            }
        }
        if !not_allowed.is_empty() {
            let names = all_quoted(&not_allowed);
            failures.push(self.message(format!("additional properties {names} not allowed")));
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &'schema str) -> Result<&Regex, String> {
        if !self.patterns.contains_key(pattern) {
            let regex = Regex::new(pattern).map_err(|_| format!("{} is not valid regex", quoted(pattern)))?;
            self.patterns.insert(pattern, regex);
        }
        self.patterns.get(pattern).ok_or_else(String::new)
    }

    fn array(
        &mut self,
        keywords: &'schema Map<String, Json>,
        base: &str,
        items: &[Json],
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let size = items.len();
        if let Some(least) = limit(keywords, "minItems").filter(|least| size < *least) {
            failures.push(self.message(format!("minItems: got {}, want {}", count(size), count(least))));
        }
        if let Some(most) = limit(keywords, "maxItems").filter(|most| size > *most) {
            failures.push(self.message(format!("maxItems: got {}, want {}", count(size), count(most))));
        }
        if keywords.get("uniqueItems") == Some(&Json::Bool(true))
            && let Some((first, second)) = duplicates(items)
        {
            let (first, second) = (count(first), count(second));
            failures.push(self.message(format!("items at {first} and {second} are equal")));
        }
        self.items(keywords, base, items, failures)?;
        if self.draft >= Draft::Six
            && let Some(schema) = keywords.get("contains")
        {
            self.contains(keywords, schema, base, items, failures)?;
        }
        Ok(())
    }

    fn items(
        &mut self,
        keywords: &'schema Map<String, Json>,
        base: &str,
        items: &[Json],
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let (first, rest) = if self.draft >= Draft::Twenty {
            (keywords.get("prefixItems"), keywords.get("items"))
        } else {
            match keywords.get("items") {
                Some(list @ Json::Array(_)) => (Some(list), keywords.get("additionalItems")),
                other => (None, other),
            }
        };
        let first = first.and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        for (index, (schema, item)) in first.iter().zip(items).enumerate() {
            failures.extend(self.apply_below(schema, base, item, &index.to_string())?);
        }
        let left = items.get(first.len()..).unwrap_or_default();
        match rest {
            Some(Json::Bool(false))
                if self.draft < Draft::Twenty && !first.is_empty() && !left.is_empty() =>
            {
                let left = count(left.len());
                failures.push(self.message(format!("last {left} additionalItem(s) not allowed")));
            }
            // Indexes count from the first of these items, as Helm's library has them.
            Some(schema) => {
                for (index, item) in left.iter().enumerate() {
                    failures.extend(self.apply_below(schema, base, item, &index.to_string())?);
                }
            }
            None => {}
        }
        Ok(())
    }

    fn contains(
        &mut self,
        keywords: &Map<String, Json>,
        schema: &'schema Json,
        base: &str,
        items: &[Json],
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let (mut matched, mut causes) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            match self.apply_below(schema, base, item, &index.to_string())? {
                None => {
                    matched.push(index.to_string());
                    if self.draft >= Draft::Twenty {
                        self.left.items.remove(&index);
                    }
                }
                Some(failure) => causes.push(failure),
            }
        }
        let bounds = |keyword| limit(keywords, keyword).filter(|_| self.draft >= Draft::Nineteen);
        let (least, most) = (bounds("minContains"), bounds("maxContains"));
        let places = matched.join(" ");
        let found = matched.len();
        match least {
            None if found == 0 => {
                let kind = Kind::Message("no items match contains schema".to_owned());
                failures.push(self.failure(kind, causes));
            }
            Some(least) if found == 0 && least > 0 => {
                let text = format!("min {least} items required to match contains schema, but none matched");
                failures.push(self.failure(Kind::Message(text), causes));
            }
            Some(least) if found < least => {
                let text = format!(
                    "min {least} items required to match contains schema, but matched {found} items at {places}"
                );
                failures.push(self.failure(Kind::Message(text), causes));
            }
            _ => {}
        }
        if let Some(most) = most.filter(|most| found > *most) {
            failures.push(self.message(format!(
                "max {most} items required to match contains schema, but matched {found} items at {places}"
            )));
        }
        Ok(())
    }

    fn text(
        &mut self,
        keywords: &'schema Map<String, Json>,
        text: &str,
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        let length = text.chars().count();
        if let Some(least) = limit(keywords, "minLength").filter(|least| length < *least) {
            failures.push(self.message(format!("minLength: got {}, want {}", count(length), count(least))));
        }
        if let Some(most) = limit(keywords, "maxLength").filter(|most| length > *most) {
            failures.push(self.message(format!("maxLength: got {}, want {}", count(length), count(most))));
        }
        if let Some(Json::String(pattern)) = keywords.get("pattern")
            && !self.pattern(pattern)?.is_match(text)
        {
            failures.push(self.message(format!(
                "{} does not match pattern {}",
                quoted(text),
                quoted(pattern)
            )));
        }
        Ok(())
    }

    fn number(&self, keywords: &Map<String, Json>, value: &Json, failures: &mut Vec<Failure>) {
        let found = value_number(value).parse().unwrap_or(f64::NAN);
        let bound = |keyword: &str| keywords.get(keyword).and_then(Json::as_f64);
        let is_exclusive = |keyword: &str| keywords.get(keyword) == Some(&Json::Bool(true));
        for (keyword, exclusive, is_least) in [
            ("minimum", "exclusiveMinimum", true),
            ("maximum", "exclusiveMaximum", false),
        ] {
            let beyond = |bound: f64| if is_least { found < bound } else { found > bound };
            let mut say = |name: &str, bound: f64| {
                failures.push(self.message(format!("{name}: got {}, want {}", number(found), number(bound))));
            };
            // In draft 4 the exclusive bound is a switch.
            let (inclusive, exclusive_bound) = if is_exclusive(exclusive) {
                (None, bound(keyword))
            } else {
                (bound(keyword), bound(exclusive))
            };
            if let Some(bound) = inclusive.filter(|&bound| beyond(bound)) {
                say(keyword, bound);
            }
            #[allow(clippy::float_cmp, reason = "an exclusive bound excludes itself")]
            if let Some(bound) = exclusive_bound.filter(|&bound| beyond(bound) || found == bound) {
                say(exclusive, bound);
            }
        }
        if let Some(step) = bound("multipleOf").filter(|step| *step != 0.0)
            && (found / step).fract() != 0.0
        {
            failures.push(self.message(format!(
                "multipleOf: got {}, want {}",
                number(found),
                number(step)
            )));
        }
    }

    fn combined(
        &mut self,
        keywords: &'schema Map<String, Json>,
        base: &str,
        value: &Json,
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        if let Some(schema) = keywords.get("not")
            && self.apply(schema, base, value)?.is_none()
        {
            failures.push(self.message("'not' failed"));
        }
        let all_of = self.each(keywords.get("allOf"), base, value)?;
        let failed: Vec<Failure> = all_of.into_iter().flatten().collect();
        if !failed.is_empty() {
            failures.push(self.failure(Kind::Message("'allOf' failed".to_owned()), failed));
        }
        let any_of = self.each(keywords.get("anyOf"), base, value)?;
        if !any_of.is_empty() && any_of.iter().all(Option::is_some) {
            let causes = any_of.into_iter().flatten().collect();
            failures.push(self.failure(Kind::Message("'anyOf' failed".to_owned()), causes));
        }
        let one_of = self.each(keywords.get("oneOf"), base, value)?;
        let matched: Vec<usize> = (0..one_of.len())
            .filter(|&index| one_of[index].is_none())
            .collect();
        match matched.as_slice() {
            [] if !one_of.is_empty() => {
                let causes = one_of.into_iter().flatten().collect();
                let text = "'oneOf' failed, none matched".to_owned();
                failures.push(self.failure(Kind::Message(text), causes));
            }
            [first, second, ..] => {
                failures.push(self.message(format!("'oneOf' failed, subschemas {first}, {second} matched")));
            }
            _ => {}
        }
        if self.draft >= Draft::Seven
            && let Some(condition) = keywords.get("if")
        {
            let branch = match self.apply(condition, base, value)? {
                None => "then",
                Some(_) => "else",
            };
            if let Some(schema) = keywords.get(branch) {
                failures.extend(self.apply(schema, base, value)?);
            }
        }
        Ok(())
    }

    /// What no other keyword has looked at.
    fn unevaluated(
        &mut self,
        keywords: &'schema Map<String, Json>,
        base: &str,
        value: &Json,
        failures: &mut Vec<Failure>,
    ) -> Result<(), String> {
        if self.draft < Draft::Nineteen {
            return Ok(());
        }
        match value {
            Json::Object(map) => {
                let Some(schema) = keywords.get("unevaluatedProperties") else {
                    return Ok(());
                };
                for name in std::mem::take(&mut self.left.names) {
                    if let Some(value) = map.get(&name) {
                        failures.extend(self.apply_below(schema, base, value, &name)?);
                    }
                }
            }
            Json::Array(items) => {
                let Some(schema) = keywords.get("unevaluatedItems") else {
                    return Ok(());
                };
                for index in std::mem::take(&mut self.left.items) {
                    if let Some(item) = items.get(index) {
                        failures.extend(self.apply_below(schema, base, item, &index.to_string())?);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn each(
        &mut self,
        schemas: Option<&'schema Json>,
        base: &str,
        value: &Json,
    ) -> Result<Vec<Option<Failure>>, String> {
        let schemas = schemas.and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        schemas
            .iter()
            .map(|schema| self.apply(schema, base, value))
            .collect()
    }
}

fn draft_of(address: &str) -> Result<Draft, String> {
    let address = address.trim_end_matches('#');
    let path = address
        .strip_prefix("http://")
        .or_else(|| address.strip_prefix("https://"));
    Ok(match path.map(|path| path.trim_end_matches('/')) {
        Some("json-schema.org/draft-04/schema") => Draft::Four,
        Some("json-schema.org/draft-06/schema") => Draft::Six,
        Some("json-schema.org/draft-07/schema") => Draft::Seven,
        Some("json-schema.org/draft/2019-09/schema") => Draft::Nineteen,
        Some("json-schema.org/draft/2020-12/schema" | "json-schema.org/schema") => Draft::Twenty,
        _ => return Err(format!("the draft {} of $schema is not known", quoted(address))),
    })
}

fn limit(keywords: &Map<String, Json>, keyword: &str) -> Option<usize> {
    let value = keywords.get(keyword)?;
    let number = value.as_u64().or_else(|| {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and positive"
        )]
        value
            .as_f64()
            .filter(|number| *number >= 0.0 && number.fract() == 0.0)
            .map(|number| number as u64)
    });
    number.and_then(|number| usize::try_from(number).ok())
}

fn missing<'schema>(wanted: Option<&'schema Json>, map: &Map<String, Json>) -> Vec<&'schema str> {
    let names = wanted.and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    names
        .iter()
        .filter_map(Json::as_str)
        .filter(|name| !map.contains_key(*name))
        .collect()
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn is_integer(value: &Json) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn equals(first: &Json, second: &Json) -> bool {
    match (first, second) {
        (Json::Number(first), Json::Number(second)) => match (first.as_i64(), second.as_i64()) {
            (Some(first), Some(second)) => first == second,
            _ => first.as_f64() == second.as_f64(),
        },
        (Json::Array(first), Json::Array(second)) => {
            first.len() == second.len()
                && first
                    .iter()
                    .zip(second)
                    .all(|(first, second)| equals(first, second))
        }
        (Json::Object(first), Json::Object(second)) => {
            first.len() == second.len()
                && first
                    .iter()
                    .all(|(key, value)| second.get(key).is_some_and(|other| equals(value, other)))
        }
        _ => first == second,
    }
}

/// The first two equal items.
fn duplicates(items: &[Json]) -> Option<(usize, usize)> {
    (0..items.len()).find_map(|first| {
        let second = (first + 1..items.len()).find(|&second| equals(&items[first], &items[second]))?;
        Some((first, second))
    })
}
