//! Evaluates a tree.

use std::borrow::Cow;
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::Value as Json;

use crate::limits::{Limits, Meter, with_stack};
use crate::syntax::{Access, Call, Element, Entry, Kind, Macro, MacroKind, Node};
use crate::value::{Key, List, Map, Text, Value};

/// Why there is no value.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// An error within CEL, which `&&` and `||` may absorb.
    Problem(Cow<'static, str>),
    /// A limit, which ends the evaluation.
    Limit(String),
}

impl Failure {
    pub(crate) fn new(problem: impl Into<Cow<'static, str>>) -> Self {
        Self::Problem(problem.into())
    }

    pub(crate) fn text(self) -> String {
        match self {
            Self::Problem(text) => text.into_owned(),
            Self::Limit(text) => text,
        }
    }
}

/// A value or why there is none.
pub(crate) type Outcome<'a> = Result<Value<'a>, Failure>;

/// What names stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Data<'a> {
    /// Every field of an object is a variable.
    Fields(&'a serde_json::Map<String, Json>),
    /// Variables by name.
    Variables(&'a [(&'a str, &'a Json)]),
}

/// One evaluation.
pub(crate) struct Evaluation<'a> {
    data: Data<'a>,
    locals: Vec<(&'a str, Value<'a>)>,
    meter: Meter,
}

/// The names of types.
pub(crate) const TYPE_NAMES: [&str; 13] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

/// The bytes that an element of a list takes.
const ELEMENT: usize = size_of::<Value<'_>>();

pub(crate) fn no_overload() -> Failure {
    Failure::new("no such overload")
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(data: Data<'a>, limits: Limits) -> Self {
        Self {
            data,
            locals: Vec::new(),
            meter: Meter::new(limits),
        }
    }

    /// Counts steps.
    pub(crate) fn step(&mut self, count: usize) -> Result<(), Failure> {
        self.meter.step(count as u64).map_err(Failure::Limit)
    }

    /// Counts bytes that are about to be made.
    pub(crate) fn produce(&mut self, bytes: usize) -> Result<(), Failure> {
        self.meter.produce(bytes).map_err(Failure::Limit)
    }

    /// A text of which the bytes are counted.
    pub(crate) fn text(&mut self, text: String) -> Outcome<'a> {
        self.produce(text.len())?;
        Ok(Value::text(text))
    }

    /// A list of which the elements are counted.
    pub(crate) fn list(&mut self, items: Vec<Value<'a>>) -> Outcome<'a> {
        self.produce(items.len() * ELEMENT)?;
        Ok(Value::list(items))
    }

    pub(crate) fn evaluate(&mut self, node: &'a Node) -> Outcome<'a> {
        self.step(1)?;
        with_stack(|| self.evaluate_node(node))
    }

    fn evaluate_node(&mut self, node: &'a Node) -> Outcome<'a> {
        match &node.kind {
            Kind::Literal(literal) => Ok(Value::from_literal(literal)),
            Kind::Name(name) => self.resolve(node, name),
            Kind::Select(operand, field) => {
                if let Some(found) = self.resolve_whole(node) {
                    return found;
                }
                let operand = self.evaluate(operand)?;
                let key = Value::String(Text::Borrowed(field));
                self.qualify(operand, &key, false)
            }
            Kind::Has(operand, field) => {
                if let Some(found) = self.resolve_whole(node) {
                    return found;
                }
                let operand = self.evaluate(operand)?;
                let key = Value::String(Text::Borrowed(field));
                self.has(operand, &key)
            }
            Kind::Index { operand, key, access } => {
                if let Some(found) = self.resolve_whole(node) {
                    return found;
                }
                let operand = self.evaluate(operand)?;
                if let Value::Optional(None) = operand {
                    return Ok(operand);
                }
                let key = self.evaluate(key)?;
                self.qualify(operand, &key, *access != Access::Strict)
            }
            Kind::Not(operand) => match self.evaluate(operand)? {
                Value::Bool(truth) => Ok(Value::Bool(!truth)),
                _ => Err(no_overload()),
            },
            Kind::Negate(operand) => {
                let operand = self.evaluate(operand)?;
                crate::functions::operators::negate(self, "-_", &[operand])
            }
            Kind::And(terms) => self.connect(terms, false),
            Kind::Or(terms) => self.connect(terms, true),
            Kind::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                match self.evaluate(condition)? {
                    Value::Bool(true) => self.evaluate(then),
                    Value::Bool(false) => self.evaluate(otherwise),
                    _ => Err(no_overload()),
                }
            }
            Kind::Call(call) => self.call(call),
            Kind::List(elements) => self.make_list(elements),
            Kind::Map(entries) => self.make_map(entries),
            Kind::Message(name) => Err(Failure::new(format!("unknown type: {name}"))),
            Kind::Macro(expansion) => self.expand(expansion),
        }
    }

    fn variable(&self, name: &str) -> Option<Value<'a>> {
        let local = self.locals.iter().rev().find(|(local, _)| *local == name);
        if let Some((_, value)) = local {
            return Some(value.clone());
        }
        match self.data {
            Data::Fields(fields) => fields.get(name).map(Value::from_json),
            Data::Variables(variables) => variables
                .iter()
                .find(|(variable, _)| *variable == name)
                .map(|(_, json)| Value::from_json(json)),
        }
    }

    fn resolve(&self, node: &Node, name: &str) -> Outcome<'a> {
        if let Some(value) = self.variable(name) {
            return Ok(value);
        }
        self.resolve_whole(node)
            .unwrap_or_else(|| Err(Failure::new(format!("no such attribute(s): {name}"))))
    }

    /// What a chain of names stands for as a whole, if its first name is no variable: a type, or nothing.
    fn resolve_whole(&self, node: &Node) -> Option<Outcome<'a>> {
        let root = root_name(node)?;
        if self.variable(root).is_some() {
            return None;
        }
        let (mut name, plain) = (String::new(), node.qualified_name().is_some());
        write_name(node, &mut name);
        if plain && let Some(known) = TYPE_NAMES.iter().find(|known| **known == name) {
            return Some(Ok(Value::Type(known)));
        }
        Some(Err(Failure::new(format!("no such attribute(s): {name}"))))
    }

    /// A field, key or index of a value.
    fn qualify(&mut self, operand: Value<'a>, key: &Value<'a>, optional: bool) -> Outcome<'a> {
        let (operand, optional) = match operand {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => (Value::clone(&inner), true),
            other => (other, optional),
        };
        let found = find(&operand, key)?;
        match (found, optional) {
            (Some(value), true) => Ok(Value::some(value)),
            (Some(value), false) => Ok(value),
            (None, true) => Ok(Value::Optional(None)),
            (None, false) => Err(missing(&operand, key)),
        }
    }

    fn has(&mut self, operand: Value<'a>, key: &Value<'a>) -> Outcome<'a> {
        let operand = match operand {
            Value::Optional(None) => return Ok(Value::Bool(false)),
            Value::Optional(Some(inner)) => Value::clone(&inner),
            other => other,
        };
        Ok(Value::Bool(find(&operand, key)?.is_some()))
    }

    /// `||` if `decisive`, else `&&`: one decisive term decides, whatever else fails.
    fn connect(&mut self, terms: &'a [Node], decisive: bool) -> Outcome<'a> {
        let mut failure = None;
        for term in terms {
            match self.evaluate(term) {
                Ok(Value::Bool(truth)) if truth == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failure = failure.or_else(|| Some(no_overload())),
                Err(limit @ Failure::Limit(_)) => return Err(limit),
                Err(problem) => failure = failure.or(Some(problem)),
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn call(&mut self, call: &'a Call) -> Outcome<'a> {
        if let ("or" | "orValue", [first, second]) = (&*call.name, call.arguments.as_slice()) {
            return match self.evaluate(first)? {
                Value::Optional(None) => self.evaluate(second),
                Value::Optional(Some(value)) if &*call.name == "orValue" => Ok(Value::clone(&value)),
                other => Ok(other),
            };
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.evaluate(argument)?);
        }
        if let (Some(pattern), [Value::String(text), _]) = (&call.pattern, arguments.as_slice()) {
            return crate::functions::strings::match_compiled(self, pattern, text);
        }
        match call.function {
            Some(function) => (function.body)(self, function.name, &arguments),
            None => Err(unknown_function(&call.name, &arguments)),
        }
    }

    fn make_list(&mut self, elements: &'a [Element]) -> Outcome<'a> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            let value = self.evaluate(&element.value)?;
            match (element.optional, value) {
                (false, value) => items.push(value),
                (true, Value::Optional(None)) => {}
                (true, Value::Optional(Some(value))) => items.push(Value::clone(&value)),
                (true, other) => {
                    return Err(Failure::new(format!(
                        "cannot initialize optional list element from non-optional value {}",
                        show(&other)
                    )));
                }
            }
        }
        self.list(items)
    }

    fn make_map(&mut self, entries: &'a [Entry]) -> Outcome<'a> {
        let mut made = IndexMap::with_capacity(entries.len());
        for entry in entries {
            let key = self.evaluate(&entry.key)?;
            let value = self.evaluate(&entry.value)?;
            let Some(name) = Key::of(&key) else {
                return Err(Failure::new(format!("unsupported key type: {}", key.type_name())));
            };
            match (entry.optional, value) {
                (false, value) => {
                    made.insert(name, value);
                }
                (true, Value::Optional(None)) => {
                    made.shift_remove(&name);
                }
                (true, Value::Optional(Some(value))) => {
                    made.insert(name, Value::clone(&value));
                }
                (true, other) => {
                    return Err(Failure::new(format!(
                        "cannot initialize optional entry '{}' from non-optional value {}",
                        show(&key),
                        show(&other)
                    )));
                }
            }
        }
        self.produce(made.len() * 2 * ELEMENT)?;
        Ok(Value::Map(Map::Made(Rc::new(made))))
    }

    fn expand(&mut self, expansion: &'a Macro) -> Outcome<'a> {
        let range = self.evaluate(&expansion.range)?;
        if let MacroKind::OptionalMap | MacroKind::OptionalFlatMap = expansion.kind {
            return self.map_optional(expansion, range);
        }
        let items = match range {
            Value::List(list) => list,
            Value::Map(map) => {
                let keys = map.keys();
                self.produce(keys.len() * ELEMENT)?;
                List::Made(Rc::new(keys))
            }
            other => {
                return Err(Failure::new(format!(
                    "got '{}', expected iterable type",
                    other.representation()
                )));
            }
        };
        match expansion.kind {
            MacroKind::All => self.quantify(expansion, &items, false),
            MacroKind::Exists => self.quantify(expansion, &items, true),
            MacroKind::ExistsOne => self.count_one(expansion, &items),
            _ => self.collect(expansion, &items),
        }
    }

    /// Evaluates a node with a variable.
    fn with(&mut self, name: &'a str, value: Value<'a>, node: &'a Node) -> Outcome<'a> {
        self.locals.push((name, value));
        let outcome = self.evaluate(node);
        self.locals.pop();
        outcome
    }

    fn map_optional(&mut self, expansion: &'a Macro, range: Value<'a>) -> Outcome<'a> {
        let value = match range {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => Value::clone(&value),
            other => return Err(unfit("hasValue", &[other])),
        };
        let mapped = self.with(&expansion.variable, value, &expansion.body)?;
        Ok(match expansion.kind {
            MacroKind::OptionalMap => Value::some(mapped),
            _ => mapped,
        })
    }

    /// `exists` if `decisive`, else `all`.
    fn quantify(&mut self, expansion: &'a Macro, items: &List<'a>, decisive: bool) -> Outcome<'a> {
        let mut failure = None;
        for item in items.iter() {
            match self.with(&expansion.variable, item, &expansion.body) {
                Ok(Value::Bool(truth)) if truth == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failure = failure.or_else(|| Some(no_overload())),
                Err(limit @ Failure::Limit(_)) => return Err(limit),
                Err(problem) => failure = failure.or(Some(problem)),
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    /// The last error counts: it is not absorbed, and the loop goes on.
    fn count_one(&mut self, expansion: &'a Macro, items: &List<'a>) -> Outcome<'a> {
        let (mut count, mut failure) = (0, None);
        for item in items.iter() {
            match self.with(&expansion.variable, item, &expansion.body) {
                Ok(Value::Bool(truth)) => count += i32::from(truth),
                Ok(_) => failure = Some(no_overload()),
                Err(limit @ Failure::Limit(_)) => return Err(limit),
                Err(problem) => failure = Some(problem),
            }
        }
        failure.map_or(Ok(Value::Bool(count == 1)), Err)
    }

    /// `map` and `filter`.
    fn collect(&mut self, expansion: &'a Macro, items: &List<'a>) -> Outcome<'a> {
        let filter = match expansion.kind {
            MacroKind::Filter => Some(&expansion.body),
            _ => expansion.condition.as_ref(),
        };
        let mut made = Vec::new();
        let mut failure = None;
        for item in items.iter() {
            if let Some(filter) = filter {
                match self.with(&expansion.variable, item.clone(), filter) {
                    Ok(Value::Bool(true)) => {}
                    Ok(Value::Bool(false)) => continue,
                    Ok(_) => {
                        failure = Some(no_overload());
                        continue;
                    }
                    Err(limit @ Failure::Limit(_)) => return Err(limit),
                    Err(problem) => {
                        failure = Some(problem);
                        continue;
                    }
                }
            }
            let mapped = match expansion.kind {
                MacroKind::Filter => Ok(item),
                _ => self.with(&expansion.variable, item, &expansion.body),
            };
            match mapped {
                Ok(value) => {
                    self.produce(ELEMENT)?;
                    made.push(value);
                }
                Err(limit @ Failure::Limit(_)) => return Err(limit),
                Err(problem) => failure = failure.or(Some(problem)),
            }
        }
        failure.map_or_else(|| Ok(Value::list(made)), Err)
    }
}

/// The first name of a chain of fields and indices.
fn root_name(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Name(name) => Some(name),
        Kind::Select(operand, _) | Kind::Has(operand, _) => root_name(operand),
        Kind::Index { operand, .. } => root_name(operand),
        _ => None,
    }
}

/// Writes the names of a chain up to the first index that is no literal string; whether all were written.
fn write_name(node: &Node, name: &mut String) -> bool {
    let (operand, field) = match &node.kind {
        Kind::Name(root) => {
            name.push_str(root);
            return true;
        }
        Kind::Select(operand, field) | Kind::Has(operand, field) => (operand, Some(&**field)),
        Kind::Index { operand, key, .. } => match &key.kind {
            Kind::Literal(crate::syntax::Literal::String(field)) => (operand, Some(&**field)),
            _ => (operand, None),
        },
        _ => return false,
    };
    let whole = write_name(operand, name);
    match field {
        Some(field) if whole => {
            name.push('.');
            name.push_str(field);
            true
        }
        _ => false,
    }
}

/// The value of a key, if the value has it. Values without keys have none.
fn find<'a>(operand: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>, Failure> {
    let is_qualifier = matches!(
        key,
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Bool(_)
    );
    if !is_qualifier {
        return Err(Failure::new(format!(
            "invalid qualifier type: {}",
            key.representation()
        )));
    }
    match operand {
        Value::Map(map) => Ok(map.find(key)),
        Value::List(list) => {
            let index = match key {
                Value::Int(index) => Some(*index),
                Value::Uint(index) => i64::try_from(*index).ok(),
                Value::Double(index) => crate::value::lossless_int(*index),
                other => {
                    return Err(Failure::new(format!(
                        "unsupported index type '{}' in list",
                        other.type_name()
                    )));
                }
            };
            let Some(index) = index else {
                return Err(Failure::new(format!(
                    "unsupported index value {} in list",
                    show(key)
                )));
            };
            Ok(usize::try_from(index).ok().and_then(|index| list.get(index)))
        }
        _ => Ok(None),
    }
}

fn missing(operand: &Value<'_>, key: &Value<'_>) -> Failure {
    Failure::new(match operand {
        Value::List(_) => format!("index out of bounds: {}", show(key)),
        _ => format!("no such key: {}", show(key)),
    })
}

/// A value as messages show it.
pub(crate) fn show(value: &Value<'_>) -> String {
    match value {
        Value::Null => "0".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => crate::numbers::general(*number),
        Value::String(text) => text.chars().take(256).collect(),
        Value::Type(name) => (*name).to_owned(),
        other => other.type_name().to_owned(),
    }
}

/// The error of a function that has no overload for its arguments.
pub(crate) fn unfit(name: &str, arguments: &[Value<'_>]) -> Failure {
    let types: Vec<&str> = arguments.iter().map(Value::type_name).collect();
    Failure::new(format!("no such overload: {name}({})", types.join(", ")))
}

fn unknown_function(name: &str, arguments: &[Value<'_>]) -> Failure {
    match arguments.first() {
        // These look for methods of their own.
        Some(Value::String(_) | Value::Timestamp(_) | Value::Duration(_)) => no_overload(),
        _ => Failure::new(format!("no such overload: {name}")),
    }
}
