//! Numbers: integers with Go's overflow, decimal fractions, rounding, sequences.

use num_bigint::{BigInt, Sign};

use super::convert::{to_float, to_integer};
use super::{ANY, INT, Outcome, Registry, TEXT};
use crate::error::Failure;
use crate::format;
use crate::function::Scope;
use crate::number::parse_based;
use crate::value::{List, Type, Value};

const INT64: Type = Type::INT64;
const FLOAT: Type = Type::FLOAT64;
const INTS: Type = Type::List(&Type::INT);

pub(super) fn register(registry: &mut Registry) {
    registry.fixed("int", &[ANY], INT, |_, arguments| {
        Ok(Value::int(to_integer(&arguments.value(0))))
    });
    registry.fixed("int64", &[ANY], INT64, |_, arguments| {
        Ok(Value::int64(to_integer(&arguments.value(0))))
    });
    registry.fixed("float64", &[ANY], FLOAT, |_, arguments| {
        Ok(Value::float64(to_float(&arguments.value(0))))
    });
    registry.fixed("toDecimal", &[ANY], INT64, |scope, arguments| {
        // "Decimal" of an octal text.
        let text = format::print(&[arguments.value(0)], scope.run().producible())?;
        let number = std::str::from_utf8(&text)
            .ok()
            .and_then(|text| parse_based(text, 8));
        Ok(Value::int64(number.unwrap_or(0)))
    });
    register_integers(registry);
    register_fractions(registry);
    register_sequences(registry);
}

fn register_integers(registry: &mut Registry) {
    registry.fixed("add1", &[ANY], INT64, |_, arguments| {
        Ok(Value::int64(to_integer(&arguments.value(0)).wrapping_add(1)))
    });
    registry.variadic("add", &[ANY], INT64, |_, arguments| {
        let numbers = arguments.rest(0);
        let sum = numbers.iter().map(to_integer).fold(0, i64::wrapping_add);
        Ok(Value::int64(sum))
    });
    registry.variadic("mul", &[ANY, ANY], INT64, |_, arguments| {
        let numbers = arguments.rest(0);
        let product = numbers.iter().map(to_integer).fold(1, i64::wrapping_mul);
        Ok(Value::int64(product))
    });
    registry.fixed("sub", &[ANY, ANY], INT64, |_, arguments| {
        let (left, right) = (to_integer(&arguments.value(0)), to_integer(&arguments.value(1)));
        Ok(Value::int64(left.wrapping_sub(right)))
    });
    for (name, divide) in [
        ("div", i64::wrapping_div as fn(i64, i64) -> i64),
        ("mod", i64::wrapping_rem),
    ] {
        registry.fixed(name, &[ANY, ANY], INT64, move |_, arguments| {
            match (to_integer(&arguments.value(0)), to_integer(&arguments.value(1))) {
                (_, 0) => Err("runtime error: integer divide by zero".into()),
                (left, right) => Ok(Value::int64(divide(left, right))),
            }
        });
    }
    for (name, choose) in [
        ("max", i64::max as fn(i64, i64) -> i64),
        ("biggest", i64::max),
        ("min", i64::min),
    ] {
        registry.variadic(name, &[ANY, ANY], INT64, move |_, arguments| {
            let numbers = arguments.rest(0);
            let chosen = numbers.iter().map(to_integer).reduce(choose);
            Ok(Value::int64(chosen.unwrap_or(0)))
        });
    }
}

fn register_fractions(registry: &mut Registry) {
    registry.fixed("add1f", &[ANY], FLOAT, |_, arguments| {
        calculate(&[arguments.value(0), Value::int(1)], Decimal::add)
    });
    registry.variadic("addf", &[ANY], FLOAT, |_, arguments| {
        let mut numbers = arguments.rest(0);
        numbers.insert(0, Value::float64(0.0));
        calculate(&numbers, Decimal::add)
    });
    for (name, operation) in [
        ("subf", Decimal::subtract as Operation),
        ("mulf", Decimal::multiply),
        ("divf", Decimal::divide),
    ] {
        registry.variadic(name, &[ANY, ANY], FLOAT, move |_, arguments| {
            calculate(&arguments.rest(0), operation)
        });
    }
    for (name, choose) in [("maxf", greater as fn(f64, f64) -> f64), ("minf", lesser)] {
        registry.variadic(name, &[ANY, ANY], FLOAT, move |_, arguments| {
            let numbers = arguments.rest(0);
            let chosen = numbers.iter().map(to_float).reduce(choose);
            Ok(Value::float64(chosen.unwrap_or(0.0)))
        });
    }
    registry.fixed("floor", &[ANY], FLOAT, |_, arguments| {
        Ok(Value::float64(to_float(&arguments.value(0)).floor()))
    });
    registry.fixed("ceil", &[ANY], FLOAT, |_, arguments| {
        Ok(Value::float64(to_float(&arguments.value(0)).ceil()))
    });
    registry.variadic("round", &[ANY, INT, FLOAT], FLOAT, |_, arguments| {
        let border = if arguments.len() > 2 {
            arguments.float(2)
        } else {
            0.5
        };
        Ok(Value::float64(round(
            to_float(&arguments.value(0)),
            arguments.integer(1),
            border,
        )))
    });
}

/// Go's `math.Max`: what is no number wins, and a positive zero.
fn greater(left: f64, right: f64) -> f64 {
    if left.is_nan() || right.is_nan() {
        return f64::NAN;
    }
    if left == 0.0 && right == 0.0 {
        return if left.is_sign_negative() { right } else { left };
    }
    left.max(right)
}

/// Go's `math.Min`.
fn lesser(left: f64, right: f64) -> f64 {
    if left.is_nan() || right.is_nan() {
        return f64::NAN;
    }
    if left == 0.0 && right == 0.0 {
        return if left.is_sign_negative() { left } else { right };
    }
    left.min(right)
}

fn round(value: f64, places: i64, border: f64) -> f64 {
    let power = power_of_ten(places);
    let digit = power * value;
    let fraction = if digit.is_infinite() {
        f64::NAN
    } else {
        digit.fract()
    };
    let rounded = if fraction >= border {
        digit.ceil()
    } else {
        digit.floor()
    };
    rounded / power
}

/// `math.Pow(10, n)`, exact where a float64 can be.
fn power_of_ten(exponent: i64) -> f64 {
    let clamped = exponent.clamp(-400, 400);
    format!("1e{clamped}").parse().unwrap_or(f64::NAN)
}

/// A decimal number of any size, as shopspring/decimal has it.
#[derive(Clone)]
struct Decimal {
    digits: BigInt,
    exponent: i64,
}

type Operation = fn(&Decimal, &Decimal) -> Result<Decimal, Failure>;

/// Digits behind the point of a quotient.
const PRECISION: i64 = 16;

fn calculate(numbers: &[Value], operation: Operation) -> Outcome {
    let mut decimals = numbers.iter().map(|number| Decimal::from_float(to_float(number)));
    let mut result = decimals.next().unwrap_or_else(|| Decimal::from_float(0.0))?;
    for decimal in decimals {
        result = operation(&result, &decimal?)?;
    }
    Ok(Value::float64(result.to_float()))
}

impl Decimal {
    fn from_float(value: f64) -> Result<Self, Failure> {
        if !value.is_finite() {
            let value = format::format_general(value);
            return Err(format!("Cannot create a Decimal from {value}").into());
        }
        let shortest = format::format_shortest(value);
        let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
        let digits: String = mantissa.chars().filter(|&c| c != '.').collect();
        let behind = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let exponent = exponent.parse::<i64>().unwrap_or(0) - i64::try_from(behind).unwrap_or(0);
        Ok(Self {
            digits: digits.parse().unwrap_or_default(),
            exponent,
        })
    }

    fn to_float(&self) -> f64 {
        format!("{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    /// The digits at a lower exponent.
    fn digits_at(&self, exponent: i64) -> BigInt {
        let shift = u32::try_from(self.exponent - exponent).unwrap_or(0);
        &self.digits * BigInt::from(10).pow(shift)
    }

    fn add(&self, other: &Self) -> Result<Self, Failure> {
        let exponent = self.exponent.min(other.exponent);
        Ok(Self {
            digits: self.digits_at(exponent) + other.digits_at(exponent),
            exponent,
        })
    }

    fn subtract(&self, other: &Self) -> Result<Self, Failure> {
        let exponent = self.exponent.min(other.exponent);
        Ok(Self {
            digits: self.digits_at(exponent) - other.digits_at(exponent),
            exponent,
        })
    }

    fn multiply(&self, other: &Self) -> Result<Self, Failure> {
        Ok(Self {
            digits: &self.digits * &other.digits,
            exponent: self.exponent + other.exponent,
        })
    }

    /// Rounded half away from zero.
    fn divide(&self, other: &Self) -> Result<Self, Failure> {
        if other.digits.sign() == Sign::NoSign {
            return Err("decimal division by 0".into());
        }
        let shift = self.exponent - other.exponent + PRECISION;
        let power = |exponent: i64| BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0));
        let dividend = &self.digits * power(shift.max(0));
        let divisor = &other.digits * power((-shift).max(0));
        let mut quotient = &dividend / &divisor;
        let remainder = &dividend - &quotient * &divisor;
        if remainder.magnitude() * 2u32 >= *divisor.magnitude() {
            let negative = self.digits.sign() != other.digits.sign();
            quotient += if negative && self.digits.sign() != Sign::NoSign {
                -1
            } else {
                1
            };
        }
        Ok(Self {
            digits: quotient,
            exponent: -PRECISION,
        })
    }
}

fn register_sequences(registry: &mut Registry) {
    registry.fixed("until", &[INT], INTS, |scope, arguments| {
        let count = arguments.integer(0);
        ints(scope, 0, count, if count < 0 { -1 } else { 1 })
    });
    registry.fixed("untilStep", &[INT, INT, INT], INTS, |scope, arguments| {
        ints(
            scope,
            arguments.integer(0),
            arguments.integer(1),
            arguments.integer(2),
        )
    });
    registry.variadic("seq", &[INT], TEXT, |scope, arguments| {
        let (start, step, end) = match arguments.len() {
            1 => (1, None, arguments.integer(0)),
            2 => (arguments.integer(0), None, arguments.integer(1)),
            3 => (
                arguments.integer(0),
                Some(arguments.integer(1)),
                arguments.integer(2),
            ),
            _ => return Ok(Value::from("")),
        };
        let direction = if end < start { -1 } else { 1 };
        let step = step.unwrap_or(direction);
        if direction < 0 && step > 0 {
            return Ok(Value::from(""));
        }
        let numbers = sequence(scope, start, end.wrapping_add(direction), step)?;
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        Ok(Value::from(texts.join(" ")))
    });
}

fn ints(scope: &mut Scope<'_>, start: i64, stop: i64, step: i64) -> Outcome {
    let numbers = sequence(scope, start, stop, step)?;
    let elements = numbers.into_iter().map(Value::int).collect();
    Ok(Value::List(List::typed(&Type::INT, elements)))
}

/// The numbers from `start` up or down to before `stop`; none if the step leads away.
fn sequence(scope: &mut Scope<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Failure> {
    let mut numbers = Vec::new();
    let rises = stop >= start;
    if (rises && step <= 0) || (!rises && step >= 0) {
        return Ok(numbers);
    }
    let mut number = start;
    while (rises && number < stop) || (!rises && number > stop) {
        scope.run().step()?;
        scope.run().produce(32)?;
        numbers.push(number);
        // Go would go on from the other end of the range, without end.
        let Some(next) = number.checked_add(step) else {
            break;
        };
        number = next;
    }
    Ok(numbers)
}
