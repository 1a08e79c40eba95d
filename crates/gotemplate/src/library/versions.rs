//! Semantic versions.

use std::borrow::Cow;
use std::rc::Rc;

use sluice_semver::{ConstraintError, Constraints, Rules, Version};

use super::{Outcome, Registry, TEXT};
use crate::error::Failure;
use crate::function::{Callable, Native, Signature};
use crate::text::Text;
use crate::value::{Object, Operand, Shape, Type, Value};

const VERSION: Type = Type::Named(Cow::Borrowed("*semver.Version"), None);

pub(super) fn register(registry: &mut Registry) {
    registry.fixed("semver", &[TEXT], VERSION, |_, arguments| {
        let version = parse(&arguments.text(0))?;
        Ok(Value::Object(Rc::new(Semver(version))))
    });
    registry.fixed(
        "semverCompare",
        &[TEXT, TEXT],
        Type::Bool,
        |_, arguments| -> Outcome {
            let constraints = parse_constraints(&arguments.text(0))?;
            let version = parse(&arguments.text(1))?;
            Ok(Value::Bool(constraints.matches(&version)))
        },
    );
}

fn parse_constraints(text: &Text) -> Result<Constraints, Failure> {
    Constraints::parse(&text.to_text(), Rules::Helm).map_err(|error| {
        Failure::new(match error {
            // Quoted there as Rust quotes.
            ConstraintError::Improper(quoted) => format!("improper constraint: {}", go_quoting(&quoted)),
            other => other.to_string(),
        })
    })
}

/// Turns the escapes that Rust writes for unprintable characters into Go's.
fn go_quoting(quoted: &str) -> String {
    let mut out = String::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some(at) = rest.find("\\u{") {
        out.push_str(&rest[..at]);
        let Some((digits, after)) = rest[at + 3..].split_once('}') else {
            break;
        };
        let code = u32::from_str_radix(digits, 16).unwrap_or(0);
        let character = char::from_u32(code).unwrap_or('\u{FFFD}');
        let escaped = crate::quote::quoted(character.encode_utf8(&mut [0; 4]).as_bytes());
        out.push_str(escaped.trim_matches('"'));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn parse(text: &Text) -> Result<Version, Failure> {
    Version::parse(&text.to_text()).map_err(|error| Failure::new(error.to_string()))
}

/// `*semver.Version`.
struct Semver(Version);

impl Object for Semver {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("*semver.Version")
    }

    fn shape(&self) -> Shape {
        Shape::Pointer(Vec::new())
    }

    fn text(&self) -> Option<Text> {
        Some(Text::from(self.0.to_string()))
    }

    fn method(self: Rc<Self>, name: &str) -> Option<Rc<dyn Callable>> {
        let number = |number: u64| Value::Unsigned(crate::value::Unsigned::Uint64, number);
        let value = match name {
            "Major" => number(self.0.major()),
            "Minor" => number(self.0.minor()),
            "Patch" => number(self.0.patch()),
            "Prerelease" => Value::from(self.0.pre_release()),
            "Metadata" => Value::from(self.0.metadata()),
            "Original" => Value::from(self.0.original()),
            "String" => Value::from(self.0.to_string()),
            _ => return comparison(&self, name),
        };
        let signature = Signature::fixed(&[], value.type_of());
        Some(Rc::new(Native::new(signature, move |_, _| {
            Ok(Operand::concrete(value.clone()))
        })))
    }
}

fn comparison(version: &Rc<Semver>, name: &str) -> Option<Rc<dyn Callable>> {
    let judge: fn(&Version, &Version) -> Value = match name {
        "Compare" => |left, right| Value::int(i64::from(left.cmp(right) as i8)),
        "Equal" => |left, right| Value::Bool(left == right),
        "LessThan" => |left, right| Value::Bool(left < right),
        "LessThanEqual" => |left, right| Value::Bool(left <= right),
        "GreaterThan" => |left, right| Value::Bool(left > right),
        "GreaterThanEqual" => |left, right| Value::Bool(left >= right),
        _ => return None,
    };
    let result = if name == "Compare" { Type::INT } else { Type::Bool };
    let version = Rc::clone(version);
    Some(Rc::new(Native::new(
        Signature::fixed(&[VERSION], result),
        move |_, arguments: crate::function::Arguments| {
            let Value::Object(other) = arguments.value(0) else {
                return Err(Failure::new(super::convert::NIL_DEREFERENCE));
            };
            let text = other.text().unwrap_or_default();
            Ok(judge(&version.0, &parse(&text)?))
        },
    )))
}
