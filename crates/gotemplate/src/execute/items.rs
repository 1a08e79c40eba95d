//! What a range goes through.

use crate::text::Text;
use crate::value::{List, Operand, Pairs, Shape, Signed, Type, Unsigned, Value};

/// The items of a range, one after another, each with its index or key.
pub(super) enum Items {
    Signed(Signed, std::ops::Range<i64>),
    Unsigned(Unsigned, std::ops::Range<u64>),
    List(List, usize),
    Map(std::vec::IntoIter<(Text, Value)>, &'static Type),
    Sequence(Box<dyn Iterator<Item = Operand>>),
    Pairs(Pairs, bool),
}

/// Why a value cannot be gone through.
pub(super) enum Refusal {
    /// It gives one variable only.
    OneVariable(&'static str),
    /// It cannot be ranged over at all.
    NoRange,
}

impl Items {
    /// The items of a value for so many variables; none for nil.
    pub(super) fn of(value: &Value, variables: usize) -> Result<Option<Self>, Refusal> {
        let single = |items| {
            if variables > 1 {
                return Err(Refusal::OneVariable("to iterate"));
            }
            Ok(Some(items))
        };
        match value {
            Value::Nil => Ok(None),
            Value::Signed(kind, number) => single(Self::Signed(*kind, 0..*number)),
            Value::Unsigned(kind, number) => single(Self::Unsigned(*kind, 0..*number)),
            Value::List(list) => Ok(Some(Self::List(list.clone(), 0))),
            Value::Map(map) => {
                let entries = map.entries().into_iter();
                Ok(Some(Self::Map(entries, map.element_type())))
            }
            Value::Object(object) => match object.shape() {
                Shape::Plain(
                    plain @ (Value::Signed(..) | Value::Unsigned(..) | Value::List(_) | Value::Map(_)),
                ) => Self::of(&plain, variables),
                Shape::Sequence(_) if variables > 1 => Err(Refusal::OneVariable("iterate")),
                Shape::Sequence(items) => Ok(Some(Self::Sequence(items))),
                Shape::Pairs(items) => Ok(Some(Self::Pairs(items, variables > 1))),
                _ => Err(Refusal::NoRange),
            },
            _ => Err(Refusal::NoRange),
        }
    }
}

impl Iterator for Items {
    type Item = (Operand, Operand);

    fn next(&mut self) -> Option<Self::Item> {
        // Without an index, the first variable takes the element.
        let alone = |element: Operand| (Operand::INVALID, element);
        match self {
            Self::Signed(kind, numbers) => {
                let number = numbers.next()?;
                Some(alone(Value::Signed(*kind, number).into()))
            }
            Self::Unsigned(kind, numbers) => {
                let number = numbers.next()?;
                Some(alone(Value::Unsigned(*kind, number).into()))
            }
            Self::List(list, next) => {
                let element = list.operand(*next)?;
                let index = i64::try_from(*next).unwrap_or(i64::MAX);
                *next += 1;
                Some((Value::int(index).into(), element))
            }
            Self::Map(entries, element) => {
                let (key, value) = entries.next()?;
                Some((Value::String(key).into(), Operand::of_element(value, element)))
            }
            Self::Sequence(items) => items.next().map(alone),
            Self::Pairs(items, true) => items.next(),
            Self::Pairs(items, false) => items.next().map(|(first, _)| alone(first)),
        }
    }
}
