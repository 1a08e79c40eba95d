//! Checks names and types before an expression is evaluated.

use crate::declarations;
use crate::error::Problem;
use crate::functions::format::{Clause, Part, Parts};
use crate::limits::with_stack;
use crate::syntax::{Access, Call, Element, Entry, Kind, Literal, Macro, MacroKind, Node};
use crate::types::Type;
use crate::unify::{Substitution, instantiate, is_less_specific};

/// Checks an expression against variables that hold objects.
///
/// # Errors
/// What is not declared, and what does not fit.
pub(crate) fn check(root: &Node, variables: &[&str]) -> Result<Type, Vec<Problem>> {
    let object = Type::map(Type::String, Type::Dyn);
    let mut checker = Checker {
        scopes: variables
            .iter()
            .map(|name| ((*name).to_owned(), object.clone()))
            .collect(),
        substitution: Substitution::default(),
        problems: Vec::new(),
        literals: Vec::new(),
    };
    let found = checker.visit(root);
    if checker.problems.is_empty() {
        checker.check_literals();
    }
    let result = checker.substitution.apply(&found, true);
    if checker.substitution.overflowed {
        return Err(vec![Problem {
            at: None,
            message: "the types of the expression get too large".to_owned(),
        }]);
    }
    if checker.problems.is_empty() {
        Ok(result)
    } else {
        Err(checker.problems)
    }
}

struct Checker<'a> {
    scopes: Vec<(String, Type)>,
    substitution: Substitution,
    problems: Vec<Problem>,
    /// Literals whose parts must agree in the end.
    literals: Vec<Aggregate<'a>>,
}

/// A list or map literal, or the call of `format`, to be looked at when all types are known.
enum Aggregate<'a> {
    /// Places and types that must be equal.
    Alike(Vec<(usize, Type)>, bool),
    Format {
        at: usize,
        format: &'a str,
        arguments: Vec<(&'a Node, Type)>,
    },
}

impl<'a> Checker<'a> {
    fn report(&mut self, at: usize, message: String) -> Type {
        self.problems.push(Problem {
            at: Some(at),
            message,
        });
        Type::Error
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        self.report(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn mismatch(&mut self, at: usize, expected: &Type, found: &Type) -> Type {
        self.report(at, format!("expected type '{expected}' but found '{found}'"))
    }

    fn name(&self, name: &str) -> Option<Type> {
        if let Some((_, found)) = self.scopes.iter().rev().find(|(scope, _)| scope == name) {
            return Some(found.clone());
        }
        let named = match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "int" => Type::Int,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "optional_type" => Type::optional(Type::Dyn),
            "string" => Type::String,
            "type" => return Some(Type::Meta(Some(Box::new(Type::Meta(None))))),
            "uint" => Type::Uint,
            _ => return None,
        };
        Some(Type::Meta(Some(Box::new(named))))
    }

    fn visit(&mut self, node: &'a Node) -> Type {
        if self.substitution.overflowed {
            return Type::Error;
        }
        with_stack(|| self.visit_node(node))
    }

    fn visit_node(&mut self, node: &'a Node) -> Type {
        match &node.kind {
            Kind::Literal(literal) => type_of(literal),
            Kind::Name(name) => self.name(name).unwrap_or_else(|| self.undeclared(node.at, name)),
            Kind::Select(operand, _) => {
                if let Some(found) = node.qualified_name().and_then(|name| self.name(&name)) {
                    return found;
                }
                let found = self.select(node.at, operand, false);
                self.substitution.apply(&found, false)
            }
            Kind::Has(operand, _) => {
                self.select(node.at, operand, false);
                Type::Bool
            }
            Kind::Index {
                operand,
                access: Access::OptionalField,
                ..
            } => {
                let found = self.select(node.at, operand, true);
                self.substitution.apply(&found, false)
            }
            Kind::Index { operand, key, access } => {
                let name = if *access == Access::Strict {
                    "_[_]"
                } else {
                    "_[?_]"
                };
                let arguments = vec![self.visit(operand), self.visit(key)];
                self.resolve(node.at, name, false, &arguments)
            }
            Kind::Not(operand) => {
                let argument = self.visit(operand);
                self.resolve(node.at, "!_", false, &[argument])
            }
            Kind::Negate(operand) => {
                let argument = self.visit(operand);
                self.resolve(node.at, "-_", false, &[argument])
            }
            Kind::And(terms) | Kind::Or(terms) => {
                let mut result = Type::Bool;
                for term in terms {
                    let found = self.visit(term);
                    if !self.substitution.assign(&found, &Type::Bool) {
                        result = self.mismatch(term.at, &Type::Bool, &found);
                    }
                }
                result
            }
            Kind::Conditional(parts) => {
                let arguments: Vec<Type> = parts.iter().map(|part| self.visit(part)).collect();
                self.resolve(node.at, "_?_:_", false, &arguments)
            }
            Kind::Call(call) => self.call(node.at, call),
            Kind::List(elements) => self.list(elements),
            Kind::Map(entries) => self.map(entries),
            Kind::Message(name) => self.undeclared(node.at, name),
            Kind::Macro(expansion) => self.expand(node.at, expansion),
        }
    }

    /// The type of a field.
    fn select(&mut self, at: usize, operand: &'a Node, optional: bool) -> Type {
        let found = self.visit(operand);
        let found = self.substitution.apply(&found, false);
        let (target, optional) = match found {
            Type::Optional(inner) => (*inner, true),
            other => (other, optional),
        };
        let result = match target {
            Type::Map(pair) => pair.1,
            Type::Variable(_) => {
                self.substitution.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.report(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if optional { Type::optional(result) } else { result }
    }

    fn call(&mut self, at: usize, call: &'a Call) -> Type {
        if !call.member {
            let arguments: Vec<Type> = call
                .arguments
                .iter()
                .map(|argument| self.visit(argument))
                .collect();
            return self.resolve(at, &call.name, false, &arguments);
        }
        let Some((target, rest)) = call.arguments.split_first() else {
            return self.undeclared(at, &call.name);
        };
        let mut arguments: Vec<Type> = rest.iter().map(|argument| self.visit(argument)).collect();
        if let Some(prefix) = target.qualified_name() {
            let name = format!("{prefix}.{}", call.name);
            if declarations::find(&name).is_some() {
                return self.resolve(at, &name, false, &arguments);
            }
        }
        arguments.insert(0, self.visit(target));
        if &*call.name == "format" {
            self.note_format(at, target, rest);
        }
        self.resolve(at, &call.name, true, &arguments)
    }

    /// Finds the overloads that fit.
    fn resolve(&mut self, at: usize, name: &str, member: bool, arguments: &[Type]) -> Type {
        let Some(function) = declarations::find(name) else {
            return self.undeclared(at, name);
        };
        let mut result: Option<Type> = None;
        for overload in &function.overloads {
            if overload.member != member || overload.arguments.len() != arguments.len() {
                continue;
            }
            let fresh = [self.substitution.fresh(), self.substitution.fresh()];
            let wanted: Vec<Type> = overload
                .arguments
                .iter()
                .map(|argument| instantiate(argument, &fresh))
                .collect();
            if !self.substitution.assign_all(arguments, &wanted) {
                continue;
            }
            let given = instantiate(&overload.result, &fresh);
            let given = self.substitution.apply(&given, false);
            result = Some(match result {
                None => given,
                Some(first) if first == Type::Dyn || first == given => first,
                Some(_) => Type::Dyn,
            });
        }
        result.unwrap_or_else(|| {
            let mut shown = arguments
                .iter()
                .map(|argument| self.substitution.apply(argument, true));
            let mut signature = String::new();
            if member && let Some(target) = shown.next() {
                signature = format!("{target}.");
            }
            let rest: Vec<String> = shown.map(|argument| argument.to_string()).collect();
            signature.push_str(&format!("({})", rest.join(", ")));
            self.report(
                at,
                format!("found no matching overload for '{name}' applied to '{signature}'"),
            )
        })
    }

    /// The common type of two, if there is one.
    fn join(&mut self, known: Option<Type>, found: Type) -> Type {
        let Some(known) = known else { return found };
        if !self.substitution.assign(&known, &found) {
            return Type::Dyn;
        }
        if is_less_specific(&known, &found) {
            known
        } else {
            found
        }
    }

    /// The type within an optional element.
    fn unwrap(&mut self, at: usize, found: Type, optional: bool) -> Type {
        match found {
            Type::Optional(inner) if optional => *inner,
            other if optional && other != Type::Dyn => {
                let expected = Type::optional(other.clone());
                self.mismatch(at, &expected, &other);
                other
            }
            other => other,
        }
    }

    fn list(&mut self, elements: &'a [Element]) -> Type {
        let position = self.literals.len();
        self.literals.push(Aggregate::Alike(Vec::new(), true));
        let mut joined = None;
        let mut parts = Vec::new();
        for element in elements {
            let found = self.visit(&element.value);
            let found = self.unwrap(element.value.at, found, element.optional);
            parts.push((element.value.at, found.clone()));
            joined = Some(self.join(joined, found));
        }
        self.literals[position] = Aggregate::Alike(parts, true);
        Type::list(joined.unwrap_or_else(|| self.substitution.fresh()))
    }

    fn map(&mut self, entries: &'a [Entry]) -> Type {
        let position = self.literals.len();
        self.literals.push(Aggregate::Alike(Vec::new(), false));
        self.literals.push(Aggregate::Alike(Vec::new(), false));
        let (mut keys, mut values) = (None, None);
        let (mut key_parts, mut value_parts) = (Vec::new(), Vec::new());
        for entry in entries {
            let key = self.visit(&entry.key);
            key_parts.push((entry.key.at, key.clone()));
            keys = Some(self.join(keys, key));
            let value = self.visit(&entry.value);
            let value = self.unwrap(entry.value.at, value, entry.optional);
            value_parts.push((entry.value.at, value.clone()));
            values = Some(self.join(values, value));
        }
        self.literals[position] = Aggregate::Alike(key_parts, false);
        self.literals[position + 1] = Aggregate::Alike(value_parts, false);
        let key = keys.unwrap_or_else(|| self.substitution.fresh());
        let value = values.unwrap_or_else(|| self.substitution.fresh());
        Type::map(key, value)
    }

    fn with(&mut self, name: &str, given: Type, node: &'a Node) -> Type {
        self.scopes.push((name.to_owned(), given));
        let found = self.visit(node);
        self.scopes.pop();
        found
    }

    fn expand(&mut self, at: usize, expansion: &'a Macro) -> Type {
        let range = self.visit(&expansion.range);
        if let MacroKind::OptionalMap | MacroKind::OptionalFlatMap = expansion.kind {
            return self.expand_optional(at, expansion, range);
        }
        let range = self.substitution.apply(&range, false);
        let element = match range {
            Type::List(inner) => *inner,
            Type::Map(pair) => pair.0,
            Type::Dyn | Type::Error | Type::Variable(_) => {
                self.substitution.assign(&Type::Dyn, &range);
                Type::Dyn
            }
            other => self.report(
                expansion.range.at,
                format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                ),
            ),
        };
        let made = self.substitution.fresh();
        let condition = expansion.condition.as_ref();
        let condition = condition.map(|node| self.with(&expansion.variable, element.clone(), node));
        let body = self.with(&expansion.variable, element.clone(), &expansion.body);
        match expansion.kind {
            MacroKind::All | MacroKind::Exists => {
                if !self.substitution.assign(&body, &Type::Bool) {
                    self.mismatch(expansion.body.at, &Type::Bool, &body);
                }
                Type::Bool
            }
            MacroKind::ExistsOne => {
                self.resolve(at, "_?_:_", false, &[body, Type::Int, Type::Int]);
                Type::Bool
            }
            MacroKind::Filter => {
                self.substitution
                    .assign(&Type::list(made.clone()), &Type::list(element));
                let list = self.substitution.apply(&Type::list(made), false);
                self.resolve(at, "_?_:_", false, &[body, list.clone(), list.clone()]);
                list
            }
            _ => {
                self.substitution
                    .assign(&Type::list(made.clone()), &Type::list(body));
                let list = self.substitution.apply(&Type::list(made), false);
                if let Some(condition) = condition {
                    self.resolve(at, "_?_:_", false, &[condition, list.clone(), list.clone()]);
                }
                list
            }
        }
    }

    fn expand_optional(&mut self, at: usize, expansion: &'a Macro, range: Type) -> Type {
        self.resolve(at, "hasValue", true, std::slice::from_ref(&range));
        let value = self.resolve(at, "value", true, &[range]);
        let body = self.with(&expansion.variable, value, &expansion.body);
        let mapped = if expansion.kind == MacroKind::OptionalMap {
            Type::optional(body)
        } else {
            body
        };
        let none = Type::optional(self.substitution.fresh());
        self.resolve(at, "_?_:_", false, &[Type::Bool, mapped, none])
    }

    /// Remembers the call of `format` on a literal with a literal list.
    fn note_format(&mut self, at: usize, target: &'a Node, rest: &'a [Node]) {
        let Kind::Literal(Literal::String(format)) = &target.kind else {
            return;
        };
        let [
            Node {
                kind: Kind::List(elements),
                ..
            },
        ] = rest
        else {
            return;
        };
        // The literals of the arguments may mix types; the last ones noted are those of this call.
        let first = rest.first().map_or(0, |node| node.at);
        for aggregate in &mut self.literals {
            if let Aggregate::Alike(parts, _) = aggregate
                && parts.first().is_some_and(|(at, _)| *at >= first)
            {
                parts.clear();
            }
        }
        // Their types are found again without being reported again.
        let reported = self.problems.len();
        let noted = self.literals.len();
        let arguments = elements
            .iter()
            .map(|element| (&element.value, self.visit(&element.value)))
            .collect();
        self.problems.truncate(reported);
        self.literals.truncate(noted);
        self.literals.push(Aggregate::Format {
            at,
            format,
            arguments,
        });
    }

    /// What only the final types can tell.
    fn check_literals(&mut self) {
        for aggregate in std::mem::take(&mut self.literals) {
            match aggregate {
                Aggregate::Alike(parts, once) => self.check_alike(&parts, once),
                Aggregate::Format {
                    at,
                    format,
                    arguments,
                } => self.check_format(at, format, &arguments),
            }
        }
    }

    fn check_alike(&mut self, parts: &[(usize, Type)], once: bool) {
        let Some((_, first)) = parts.first() else { return };
        let first = self.substitution.apply(first, true);
        for (at, found) in &parts[1..] {
            let found = self.substitution.apply(found, true);
            if found != first {
                self.mismatch(*at, &first, &found);
                if once {
                    return;
                }
            }
        }
    }

    fn check_format(&mut self, at: usize, format: &str, arguments: &[(&Node, Type)]) {
        let mut parts = Parts::new(format);
        let mut index = 0;
        loop {
            let needed = parts.needs_argument();
            let part = match parts.next() {
                None => break,
                Some(Err(problem)) if problem.starts_with("unexpected end") => {
                    self.report(at, problem);
                    return;
                }
                Some(_) if needed && index >= arguments.len() => {
                    self.report(at, format!("index {index} out of range"));
                    return;
                }
                Some(Err(problem)) => {
                    self.report(at, problem);
                    return;
                }
                Some(Ok(part)) => part,
            };
            let Part::Clause(clause) = part else { continue };
            let (node, found) = &arguments[index];
            let found = self.substitution.apply(found, true);
            if !fits(clause, &found) {
                self.report(node.at, clause.refuse(&found.name()));
                return;
            }
            index += 1;
        }
        if arguments.len() > index {
            let given = arguments.len();
            self.report(
                at,
                format!("too many arguments supplied to string.format (expected {index}, got {given})"),
            );
        }
    }
}

/// Whether a clause can write values of a type.
fn fits(clause: Clause, found: &Type) -> bool {
    let number = matches!(found, Type::Int | Type::Uint | Type::Double);
    let whole = matches!(found, Type::Int | Type::Uint);
    *found == Type::Dyn
        || match clause {
            Clause::Text => !matches!(found, Type::Optional(_) | Type::Error),
            Clause::Decimal | Clause::Fixed(_) | Clause::Scientific(_) => number,
            Clause::Binary => whole || *found == Type::Bool,
            Clause::Hexadecimal { .. } => whole || matches!(found, Type::String | Type::Bytes),
            Clause::Octal => whole,
        }
}

fn type_of(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
