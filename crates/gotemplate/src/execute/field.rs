//! Fields, methods and keys.

use super::{Execution, Result};
use crate::node::NodeId;
use crate::quote::quoted;
use crate::template::MissingKey;
use crate::text::Text;
use crate::value::{Operand, Shape, Value};

/// What follows a field: the arguments, and what comes out of the pipeline before.
#[derive(Clone)]
pub(super) struct Given<'run> {
    pub(super) arguments: &'run [NodeId],
    pub(super) last: Option<Operand>,
}

impl Given<'_> {
    pub(super) const NOTHING: Self = Self {
        arguments: &[],
        last: None,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.arguments.is_empty() && self.last.is_none()
    }
}

impl<'run> Execution<'run> {
    /// `.x.y.z`, the last with arguments if it is a method.
    pub(super) fn field_chain(
        &mut self,
        dot: &Operand,
        mut receiver: Operand,
        node: NodeId,
        names: &'run [Text],
        given: Given<'run>,
    ) -> Result<Operand> {
        let Some((last, path)) = names.split_last() else {
            return Ok(receiver);
        };
        for name in path {
            receiver = self.field(dot, name, node, Given::NOTHING, &receiver)?;
        }
        self.field(dot, last, node, given, &receiver)
    }

    fn field(
        &mut self,
        dot: &Operand,
        name: &Text,
        node: NodeId,
        given: Given<'run>,
        receiver: &Operand,
    ) -> Result<Operand> {
        if !receiver.is_valid() {
            if self.set.missing_key() == MissingKey::Error {
                return self.fail(format!("nil data; no entry for key {}", quoted(name)));
            }
            return Ok(Operand::INVALID);
        }
        match &receiver.value {
            Value::Nil => self.fail(format!("nil pointer evaluating interface {{}}.{name}")),
            Value::Map(map) => self.key(map, name, &given),
            Value::Object(object) => {
                let text = name.to_text();
                if let Some(method) = std::rc::Rc::clone(object).method(&text) {
                    return self.call(dot, method.as_ref(), None, node, name, given);
                }
                match object.shape() {
                    Shape::Plain(Value::Map(map)) => return self.key(&map, name, &given),
                    Shape::Struct(_) | Shape::Pointer(_) => {
                        if let Some(operand) = object.field(&text) {
                            if !given.is_empty() {
                                return self
                                    .fail(format!("{name} has arguments but cannot be invoked as function"));
                            }
                            return Ok(operand);
                        }
                    }
                    Shape::NilPointer => {
                        let kind = receiver.type_of();
                        return self.fail(format!("nil pointer evaluating {kind}.{name}"));
                    }
                    _ => {}
                }
                self.no_field(name, receiver)
            }
            _ => self.no_field(name, receiver),
        }
    }

    fn no_field<T>(&self, name: &Text, receiver: &Operand) -> Result<T> {
        let kind = receiver.type_of();
        self.fail(format!("can't evaluate field {name} in type {kind}"))
    }

    fn key(&self, map: &crate::value::Map, name: &Text, given: &Given<'_>) -> Result<Operand> {
        if !given.is_empty() {
            return self.fail(format!("{name} is not a method but has arguments"));
        }
        let element = map.element_type();
        match map.get(name) {
            Some(value) => Ok(Operand::of_element(value, element)),
            None => match self.set.missing_key() {
                MissingKey::Invalid => Ok(Operand::INVALID),
                MissingKey::Zero => Ok(Operand::of_element(Value::zero(element), element)),
                MissingKey::Error => self.fail(format!("map has no entry for key {}", quoted(name))),
            },
        }
    }
}
