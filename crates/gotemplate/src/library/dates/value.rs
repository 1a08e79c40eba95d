//! `time.Time` and its kin as values with methods.

use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;

use super::calendar::{MONTHS, WEEKDAYS, Zone, days_of};
use super::{DAY, TIME, Time, duration, layout};
use crate::error::Failure;
use crate::function::{Arguments, Callable, Native, Signature};
use crate::text::Text;
use crate::value::{Object, Operand, Shape, Type, Value};

const DURATION: Type = Type::Named(Cow::Borrowed("time.Duration"), Some(&Type::INT64));

/// `time.Time`.
pub(super) struct TimeValue(pub(super) Time);

/// The time in a value.
pub(super) fn time_of(value: &Value) -> Option<Time> {
    let Value::Object(object) = value else {
        return None;
    };
    let time = object.as_any()?.downcast_ref::<TimeValue>()?;
    Some(time.0.clone())
}

/// A number with a name for each value: a month, a day of the week, a duration.
struct Named {
    type_name: &'static str,
    value: Value,
    text: String,
}

impl Object for Named {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.type_name)
    }

    fn shape(&self) -> Shape {
        Shape::Plain(self.value.clone())
    }

    fn text(&self) -> Option<Text> {
        Some(Text::from(self.text.as_str()))
    }

    fn method(self: Rc<Self>, name: &str) -> Option<Rc<dyn Callable>> {
        if name == "String" {
            return Some(getter(Type::String, Value::from(self.text.as_str())));
        }
        let Value::Signed(_, number) = self.value else {
            return None;
        };
        if self.type_name != "time.Duration" {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "Go converts so as well")]
        let in_unit = |unit: i64| (number / unit) as f64 + (number % unit) as f64 / unit as f64;
        let second = 1_000_000_000;
        Some(match name {
            "Hours" => getter(Type::FLOAT64, Value::float64(in_unit(3_600 * second))),
            "Minutes" => getter(Type::FLOAT64, Value::float64(in_unit(60 * second))),
            "Seconds" => getter(Type::FLOAT64, Value::float64(in_unit(second))),
            "Milliseconds" => getter(Type::INT64, Value::int64(number / 1_000_000)),
            "Microseconds" => getter(Type::INT64, Value::int64(number / 1_000)),
            "Nanoseconds" => getter(Type::INT64, Value::int64(number)),
            _ => return None,
        })
    }
}

fn named(type_name: &'static str, value: Value, text: impl Into<String>) -> Value {
    let text = text.into();
    Value::Object(Rc::new(Named {
        type_name,
        value,
        text,
    }))
}

fn duration_value(nanoseconds: i64) -> Value {
    named(
        "time.Duration",
        Value::int64(nanoseconds),
        duration::print(nanoseconds),
    )
}

/// A method without arguments.
fn getter(result: Type, value: Value) -> Rc<dyn Callable> {
    let signature = Signature::fixed(&[], result);
    Rc::new(Native::new(signature, move |_, _| {
        Ok(Operand::concrete(value.clone()))
    }))
}

impl Object for TimeValue {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("time.Time")
    }

    fn shape(&self) -> Shape {
        Shape::Struct(Vec::new())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn text(&self) -> Option<Text> {
        Some(layout::format(&self.0, b"2006-01-02 15:04:05.999999999 -0700 MST").into())
    }

    fn json(&self) -> Option<Text> {
        Some(layout::format(&self.0, b"2006-01-02T15:04:05.999999999Z07:00").into())
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.text() == other.text())
    }

    fn method(self: Rc<Self>, name: &str) -> Option<Rc<dyn Callable>> {
        let time = &self.0;
        let parts = time.parts();
        let int = |number: i64| getter(Type::INT, Value::int(number));
        let int64 = |number: i128| {
            getter(
                Type::INT64,
                Value::int64(i64::try_from(number).unwrap_or(i64::MAX)),
            )
        };
        let in_zone = |zone: Zone| getter(TIME, Time { zone, ..time.clone() }.into_value());
        let label = |names: &[&'static str], index: i64| {
            let index = usize::try_from(index).unwrap_or(0);
            names.get(index).copied().unwrap_or_default()
        };
        Some(match name {
            "Year" => int(parts.year),
            "Day" => int(parts.day),
            "Hour" => int(parts.hour),
            "Minute" => int(parts.minute),
            "Second" => int(parts.second),
            "Nanosecond" => int(i64::from(time.nanoseconds)),
            "YearDay" => int(parts.year_day),
            "Month" => {
                let text = label(&MONTHS, parts.month - 1);
                let month = named("time.Month", Value::int(parts.month), text);
                getter(month.type_of(), month)
            }
            "Weekday" => {
                let text = label(&WEEKDAYS, parts.weekday);
                let weekday = named("time.Weekday", Value::int(parts.weekday), text);
                getter(weekday.type_of(), weekday)
            }
            "Unix" => int64(i128::from(time.seconds)),
            "UnixMilli" => int64(time.nanoseconds().div_euclid(1_000_000)),
            "UnixMicro" => int64(time.nanoseconds().div_euclid(1_000)),
            "UnixNano" => int64(time.nanoseconds()),
            "IsZero" => getter(
                Type::Bool,
                Value::Bool(time.nanoseconds() == Time::ZERO.nanoseconds()),
            ),
            "UTC" | "Local" => in_zone(Zone::Utc),
            "String" => getter(Type::String, Value::String(self.text()?)),
            _ => return with_arguments(time, name),
        })
    }
}

/// Methods that take something.
fn with_arguments(time: &Time, name: &str) -> Option<Rc<dyn Callable>> {
    let time = time.clone();
    let judge = |holds: fn(&Time, &Time) -> bool| -> Rc<dyn Callable> {
        let time = time.clone();
        let signature = Signature::fixed(&[TIME], Type::Bool);
        Rc::new(Native::new(signature, move |_, arguments: Arguments| {
            let other = time_of(&arguments.value(0)).unwrap_or(Time::ZERO);
            Ok::<_, Failure>(Value::Bool(holds(&time, &other)))
        }))
    };
    Some(match name {
        "Before" => judge(|left, right| left.nanoseconds() < right.nanoseconds()),
        "After" => judge(|left, right| left.nanoseconds() > right.nanoseconds()),
        "Equal" => judge(|left, right| left.nanoseconds() == right.nanoseconds()),
        "Format" => Rc::new(Native::new(
            Signature::fixed(&[Type::String], Type::String),
            move |_, arguments: Arguments| {
                Ok::<_, Failure>(Value::string(layout::format(&time, &arguments.text(0))))
            },
        )),
        "Add" => Rc::new(Native::new(
            Signature::fixed(&[DURATION], TIME),
            move |_, arguments: Arguments| {
                let Value::Signed(_, nanoseconds) = arguments.value(0).plain() else {
                    return Ok::<_, Failure>(time.clone().into_value());
                };
                Ok(time.plus(i128::from(nanoseconds)).into_value())
            },
        )),
        "Sub" => Rc::new(Native::new(
            Signature::fixed(&[TIME], DURATION),
            move |_, arguments: Arguments| {
                let other = time_of(&arguments.value(0)).unwrap_or(Time::ZERO);
                Ok::<_, Failure>(duration_value(time.minus(&other)))
            },
        )),
        "AddDate" => Rc::new(Native::new(
            Signature::fixed(&[Type::INT, Type::INT, Type::INT], TIME),
            move |_, arguments: Arguments| {
                let limit = |index| arguments.integer(index).clamp(-1_000_000, 1_000_000);
                let parts = time.parts();
                let (year, month) = (parts.year + limit(0), parts.month + limit(1));
                let before = days_of(parts.year, parts.month, parts.day);
                let after = days_of(year, month, 1) + parts.day - 1 + limit(2);
                let moved = i128::from(after - before) * i128::from(DAY) * 1_000_000_000;
                Ok::<_, Failure>(time.plus(moved).into_value())
            },
        )),
        _ => return None,
    })
}
