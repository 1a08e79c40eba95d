//! `index`, `slice` and `len`.

use crate::execute::prepare;
use crate::text::Text;
use crate::value::{Operand, Shape, Type, Value};

type Outcome = Result<Operand, String>;

/// A position from 0 to `limit`.
fn position(index: &Value, limit: usize) -> Result<usize, String> {
    let number = match index.plain() {
        Value::Signed(_, number) => number,
        Value::Unsigned(_, number) => number.cast_signed(),
        Value::Nil => return Err("cannot index slice/array with nil".to_owned()),
        _ => {
            let kind = index.type_of();
            return Err(format!("cannot index slice/array with type {kind}"));
        }
    };
    match usize::try_from(number) {
        Ok(position) if position <= limit => Ok(position),
        _ => Err(format!("index out of range: {number}")),
    }
}

/// Whether the value is an interface or a pointer that leads nowhere.
fn is_nil_pointer(operand: &Operand) -> bool {
    match &operand.value {
        Value::Nil => operand.boxed,
        Value::Object(object) => matches!(object.shape(), Shape::NilPointer),
        _ => false,
    }
}

pub(super) fn index(operands: Vec<Operand>) -> Outcome {
    let mut operands = operands.into_iter();
    let mut item = operands.next().unwrap_or_default().unboxed();
    if !item.is_valid() {
        return Err("index of untyped nil".to_owned());
    }
    for index in operands {
        if is_nil_pointer(&item) {
            return Err("index of nil pointer".to_owned());
        }
        item = match item.value.plain() {
            Value::List(list) => {
                let position = position(&index.value, list.len())?;
                list.operand(position)
                    .ok_or("reflect: slice index out of range")?
            }
            Value::String(text) => {
                let position = position(&index.value, text.len())?;
                let byte = text.get(position).ok_or("reflect: string index out of range")?;
                Value::byte(*byte).into()
            }
            Value::Map(map) => {
                let key = prepare(index, &Type::String)?.value.plain();
                let element = map.element_type();
                let value = match &key {
                    Value::String(key) => map.get(key),
                    _ => None,
                };
                Operand::of_element(value.unwrap_or_else(|| Value::zero(element)), element)
            }
            _ => {
                let kind = item.value.type_of();
                return Err(format!("can't index item of type {kind}"));
            }
        };
    }
    Ok(item)
}

pub(super) fn slice(operands: Vec<Operand>) -> Outcome {
    let mut operands = operands.into_iter();
    let item = operands.next().unwrap_or_default().unboxed();
    if !item.is_valid() {
        return Err("slice of untyped nil".to_owned());
    }
    if is_nil_pointer(&item) {
        return Err("slice of nil pointer".to_owned());
    }
    let indexes: Vec<Operand> = operands.collect();
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()));
    }
    let plain = item.value.plain();
    let (length, capacity) = match &plain {
        Value::String(_) if indexes.len() == 3 => {
            return Err("cannot 3-index slice a string".to_owned());
        }
        Value::String(text) => (text.len(), text.len()),
        Value::List(list) => (list.len(), list.capacity()),
        _ => {
            let kind = item.value.type_of();
            return Err(format!("can't slice item of type {kind}"));
        }
    };
    let mut bounds = [0, length, capacity];
    for (bound, index) in bounds.iter_mut().zip(&indexes) {
        // Go looks into interfaces for `index`, but not here.
        if index.boxed {
            return Err("cannot index slice/array with type interface {}".to_owned());
        }
        *bound = position(&index.value, capacity)?;
    }
    let [from, to, limit] = bounds;
    if from > to {
        return Err(format!("invalid slice index: {from} > {to}"));
    }
    if indexes.len() == 3 && to > limit {
        return Err(format!("invalid slice index: {to} > {limit}"));
    }
    match plain {
        Value::String(text) => Ok(Value::String(Text::from(&text[from..to])).into()),
        Value::List(list) => {
            let window = list.window(from, to, limit);
            let window = window.ok_or("reflect.Value.Slice: slice index out of bounds")?;
            Ok(Value::List(window).into())
        }
        other => Ok(other.into()),
    }
}

pub(super) fn length(item: &Operand) -> Outcome {
    if is_nil_pointer(item) {
        return Err("len of nil pointer".to_owned());
    }
    let length = match item.value.plain() {
        Value::String(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::Nil => return Err("reflect: call of reflect.Value.Type on zero Value".to_owned()),
        _ => return Err(format!("len of type {}", dereferenced(&item.value))),
    };
    Ok(Value::int(i64::try_from(length).unwrap_or(i64::MAX)).into())
}

/// The type of a value behind a pointer.
fn dereferenced(value: &Value) -> String {
    value.type_of().to_string().trim_start_matches('*').to_owned()
}
