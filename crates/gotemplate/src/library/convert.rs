//! Conversions that most functions share.

use crate::error::Failure;
use crate::format;
use crate::number::{parse_float, parse_signed};
use crate::text::Text;
use crate::value::{List, Shape, Type, Value};

/// What Go's runtime says where a nil interface has no type.
pub(super) const NIL_DEREFERENCE: &str = "runtime error: invalid memory address or nil pointer dereference";

/// The text of a value: strings and bytes as they are, all else as `%v`.
pub(super) fn to_text(value: &Value) -> Text {
    match value {
        Value::String(text) => text.clone(),
        Value::List(list) if *list.element_type() == Type::BYTE => bytes_of(list).into(),
        Value::Object(object) => match object.text() {
            Some(text) => text,
            None => printed(value),
        },
        _ => printed(value),
    }
}

fn printed(value: &Value) -> Text {
    format::describe_bytes(value, 'v').into()
}

pub(super) fn bytes_of(list: &List) -> Vec<u8> {
    let byte = |value: &Value| match value {
        Value::Unsigned(_, number) => u8::try_from(*number).unwrap_or(0),
        _ => 0,
    };
    list.as_slice().iter().map(byte).collect()
}

/// `cast.ToInt64`: what is no number is 0, floats are cut, strings may have a base prefix.
pub(super) fn to_integer(value: &Value) -> i64 {
    match value {
        Value::Bool(flag) => i64::from(*flag),
        Value::Signed(_, number) => *number,
        Value::Unsigned(_, number) => number.cast_signed(),
        Value::Float(_, number) => float_to_integer(*number),
        Value::String(text) => parse_signed(trim_zero_decimal(&text.to_text())).unwrap_or(0),
        Value::Object(object) if object.type_name() == "json.Number" => match object.shape() {
            Shape::Plain(plain) => to_integer(&plain),
            _ => 0,
        },
        _ => 0,
    }
}

/// Go's conversion on amd64: beyond the range it gives the least integer.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn float_to_integer(number: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// Cuts a fraction of zeros only.
fn trim_zero_decimal(text: &str) -> &str {
    match text.find('.') {
        Some(point)
            if point > 0 && text[point + 1..].bytes().all(|byte| byte == b'0') && text.len() > point + 1 =>
        {
            &text[..point]
        }
        _ => text,
    }
}

/// `cast.ToFloat64`.
#[expect(clippy::cast_precision_loss, reason = "Go converts so as well")]
pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::Signed(_, number) => *number as f64,
        Value::Unsigned(_, number) => *number as f64,
        Value::Float(_, number) => *number,
        Value::String(text) => parse_float(&text.to_text()).unwrap_or(0.0),
        Value::Object(object) if object.type_name() == "json.Number" => match object.shape() {
            Shape::Plain(plain) => to_float(&plain),
            _ => 0.0,
        },
        _ => 0.0,
    }
}

/// `reflect.Kind` as text.
pub(super) fn kind_of(value: &Value) -> String {
    match value {
        Value::Nil => "invalid".to_owned(),
        Value::List(_) => "slice".to_owned(),
        Value::Map(_) => "map".to_owned(),
        Value::Function(_) => "func".to_owned(),
        Value::Object(object) => match object.shape() {
            Shape::Plain(plain) => kind_of(&plain),
            Shape::Struct(_) => "struct".to_owned(),
            Shape::Pointer(_) | Shape::NilPointer => "ptr".to_owned(),
            Shape::Sequence(_) | Shape::Pairs(_) => "func".to_owned(),
        },
        other => other.type_of().to_string(),
    }
}

/// The list that a value is, or why it is none, in the words of the function: `Cannot VERB type KIND`.
pub(super) fn to_list(value: &Value, refusal: &str) -> Result<List, Failure> {
    match value.plain() {
        Value::Nil => Err(NIL_DEREFERENCE.into()),
        Value::List(list) => Ok(list),
        other => Err(format!("{refusal} {}", kind_of(&other)).into()),
    }
}

/// A type assertion to `string` or a map that fails.
pub(super) fn bad_conversion(value: &Value, wanted: &str) -> Failure {
    let found = match value {
        Value::Nil => "nil".to_owned(),
        other => other.type_of().to_string(),
    };
    format!("interface conversion: interface {{}} is {found}, not {wanted}").into()
}

/// The texts of a list's elements, nil ones left out; of anything else its own text.
pub(super) fn to_texts(value: &Value) -> Vec<Text> {
    match value.plain() {
        Value::List(list) => {
            let elements = list.as_slice().iter();
            elements
                .filter(|element| !element.is_nil())
                .map(to_text)
                .collect()
        }
        Value::Nil => Vec::new(),
        _ => vec![to_text(value)],
    }
}
