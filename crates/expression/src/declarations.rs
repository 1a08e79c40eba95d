//! The functions that expressions may call: CEL's own, and those of the extensions that Flux switches on
//! (strings, sets, encoders, optional types).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::evaluation::{Evaluation, Outcome};
use crate::functions::{conversions, logic, operators, optionals, strings, times};
use crate::types::{self, Type};
use crate::value::Value;

/// What runs a function: its name, for messages, and its arguments, none of which is an error.
pub(crate) type Body = for<'a> fn(&mut Evaluation<'a>, &'static str, &[Value<'a>]) -> Outcome<'a>;

/// With how many arguments a function can be called at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// With one.
    Unary,
    /// With two.
    Binary,
    /// With any number, which the function looks at itself.
    Any,
}

/// A function.
pub(crate) struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) body: Body,
    pub(crate) overloads: Vec<Overload>,
}

impl std::fmt::Debug for Declaration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Types that a function takes and gives.
#[derive(Debug)]
pub(crate) struct Overload {
    /// Whether the first argument stands before a dot.
    pub(crate) member: bool,
    pub(crate) arguments: Vec<Type>,
    pub(crate) result: Type,
}

/// The function of a name.
pub(crate) fn find(name: &str) -> Option<&'static Declaration> {
    DECLARATIONS.get(name)
}

/// The names of all functions.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.0)
}

static DECLARATIONS: LazyLock<HashMap<&'static str, Declaration>> = LazyLock::new(|| {
    let declare = |(name, form, body, signatures): &Row| {
        let overloads = signatures.iter().flat_map(|text| read_overloads(text)).collect();
        let declaration = Declaration {
            name,
            form: *form,
            body: *body,
            overloads,
        };
        (*name, declaration)
    };
    TABLE.iter().map(declare).collect()
});

/// Reads `(types) result`, with a dot before it for a member, and with `*` before it for both.
fn read_overloads(text: &str) -> Vec<Overload> {
    let forms: &[bool] = match text.as_bytes().first() {
        Some(b'.') => &[true],
        Some(b'*') => &[false, true],
        _ => &[false],
    };
    let text = text.trim_start_matches(['.', '*']);
    let read = |member: bool| {
        let end = text.find(") ").unwrap_or(0);
        let arguments = types::split(text.get(1..end)?)
            .into_iter()
            .map(Type::read)
            .collect::<Option<Vec<_>>>()?;
        let result = Type::read(&text[end + 2..])?;
        Some(Overload {
            member,
            arguments,
            result,
        })
    };
    forms.iter().filter_map(|member| read(*member)).collect()
}

type Row = (&'static str, Form, Body, &'static [&'static str]);

const COMPARISONS: &[&str] = &[
    "(bool, bool) bool",
    "(int, int) bool",
    "(int, double) bool",
    "(int, uint) bool",
    "(uint, uint) bool",
    "(uint, double) bool",
    "(uint, int) bool",
    "(double, double) bool",
    "(double, int) bool",
    "(double, uint) bool",
    "(string, string) bool",
    "(bytes, bytes) bool",
    "(timestamp, timestamp) bool",
    "(duration, duration) bool",
];
const FROM_TIMESTAMP: &[&str] = &[".(timestamp) int", ".(timestamp, string) int"];
const FROM_TIME: &[&str] = &[".(timestamp) int", ".(timestamp, string) int", ".(duration) int"];

const TABLE: &[Row] = &[
    // Operators.
    ("_?_:_", Form::Any, logic::unreachable, &["(bool, A, A) A"]),
    ("_==_", Form::Binary, logic::equal, &["(A, A) bool"]),
    ("_!=_", Form::Binary, logic::not_equal, &["(A, A) bool"]),
    ("!_", Form::Unary, logic::not, &["(bool) bool"]),
    ("_<_", Form::Binary, logic::less, COMPARISONS),
    ("_<=_", Form::Binary, logic::less_or_equal, COMPARISONS),
    ("_>_", Form::Binary, logic::greater, COMPARISONS),
    ("_>=_", Form::Binary, logic::greater_or_equal, COMPARISONS),
    (
        "@in",
        Form::Binary,
        logic::within,
        &["(A, list(A)) bool", "(A, map(A, B)) bool"],
    ),
    (
        "_+_",
        Form::Binary,
        operators::add,
        &[
            "(bytes, bytes) bytes",
            "(double, double) double",
            "(duration, duration) duration",
            "(duration, timestamp) timestamp",
            "(timestamp, duration) timestamp",
            "(int, int) int",
            "(list(A), list(A)) list(A)",
            "(string, string) string",
            "(uint, uint) uint",
        ],
    ),
    (
        "_-_",
        Form::Binary,
        operators::subtract,
        &[
            "(double, double) double",
            "(duration, duration) duration",
            "(int, int) int",
            "(timestamp, duration) timestamp",
            "(timestamp, timestamp) duration",
            "(uint, uint) uint",
        ],
    ),
    (
        "_*_",
        Form::Binary,
        operators::multiply,
        &["(double, double) double", "(int, int) int", "(uint, uint) uint"],
    ),
    (
        "_/_",
        Form::Binary,
        operators::divide,
        &["(double, double) double", "(int, int) int", "(uint, uint) uint"],
    ),
    (
        "_%_",
        Form::Binary,
        operators::modulo,
        &["(int, int) int", "(uint, uint) uint"],
    ),
    (
        "-_",
        Form::Unary,
        operators::negate,
        &["(double) double", "(int) int"],
    ),
    (
        "_[_]",
        Form::Binary,
        logic::unreachable,
        &[
            "(list(A), int) A",
            "(map(A, B), A) B",
            "(optional(list(B)), int) optional(B)",
            "(optional(map(A, B)), A) optional(B)",
        ],
    ),
    (
        "_[?_]",
        Form::Binary,
        logic::unreachable,
        &[
            "(list(B), int) optional(B)",
            "(optional(list(B)), int) optional(B)",
            "(map(A, B), A) optional(B)",
            "(optional(map(A, B)), A) optional(B)",
        ],
    ),
    // Sizes, types, conversions.
    (
        "size",
        Form::Unary,
        logic::size,
        &[
            "*(bytes) int",
            "*(list(A)) int",
            "*(map(A, B)) int",
            "*(string) int",
        ],
    ),
    ("type", Form::Unary, conversions::type_of, &["(A) type(A)"]),
    ("dyn", Form::Unary, conversions::identity, &["(A) dyn"]),
    (
        "bool",
        Form::Any,
        conversions::to_bool,
        &["(bool) bool", "(string) bool"],
    ),
    (
        "bytes",
        Form::Any,
        conversions::to_bytes,
        &["(bytes) bytes", "(string) bytes"],
    ),
    (
        "double",
        Form::Any,
        conversions::to_double,
        &[
            "(double) double",
            "(int) double",
            "(string) double",
            "(uint) double",
        ],
    ),
    (
        "duration",
        Form::Any,
        conversions::to_duration,
        &["(duration) duration", "(int) duration", "(string) duration"],
    ),
    (
        "int",
        Form::Any,
        conversions::to_int,
        &[
            "(int) int",
            "(double) int",
            "(duration) int",
            "(string) int",
            "(timestamp) int",
            "(uint) int",
        ],
    ),
    (
        "string",
        Form::Any,
        conversions::to_string,
        &[
            "(string) string",
            "(bool) string",
            "(bytes) string",
            "(double) string",
            "(duration) string",
            "(int) string",
            "(timestamp) string",
            "(uint) string",
        ],
    ),
    (
        "timestamp",
        Form::Any,
        conversions::to_timestamp,
        &["(timestamp) timestamp", "(int) timestamp", "(string) timestamp"],
    ),
    (
        "uint",
        Form::Any,
        conversions::to_uint,
        &["(uint) uint", "(double) uint", "(int) uint", "(string) uint"],
    ),
    // Strings.
    (
        "contains",
        Form::Binary,
        strings::contains,
        &[".(string, string) bool"],
    ),
    (
        "endsWith",
        Form::Binary,
        strings::ends_with,
        &[".(string, string) bool"],
    ),
    (
        "startsWith",
        Form::Binary,
        strings::starts_with,
        &[".(string, string) bool"],
    ),
    (
        "matches",
        Form::Binary,
        strings::matches,
        &["*(string, string) bool"],
    ),
    (
        "charAt",
        Form::Binary,
        strings::character_at,
        &[".(string, int) string"],
    ),
    (
        "indexOf",
        Form::Any,
        strings::index_of,
        &[".(string, string) int", ".(string, string, int) int"],
    ),
    (
        "lastIndexOf",
        Form::Any,
        strings::last_index_of,
        &[".(string, string) int", ".(string, string, int) int"],
    ),
    ("lowerAscii", Form::Unary, strings::lower, &[".(string) string"]),
    ("upperAscii", Form::Unary, strings::upper, &[".(string) string"]),
    ("reverse", Form::Unary, strings::reverse, &[".(string) string"]),
    ("trim", Form::Unary, strings::trim, &[".(string) string"]),
    (
        "replace",
        Form::Any,
        strings::replace,
        &[
            ".(string, string, string) string",
            ".(string, string, string, int) string",
        ],
    ),
    (
        "split",
        Form::Any,
        strings::split,
        &[
            ".(string, string) list(string)",
            ".(string, string, int) list(string)",
        ],
    ),
    (
        "substring",
        Form::Any,
        strings::substring,
        &[".(string, int) string", ".(string, int, int) string"],
    ),
    (
        "join",
        Form::Any,
        strings::join,
        &[".(list(string)) string", ".(list(string), string) string"],
    ),
    (
        "format",
        Form::Any,
        strings::format,
        &[".(string, list(dyn)) string"],
    ),
    ("strings.quote", Form::Unary, strings::quote, &["(string) string"]),
    ("base64.decode", Form::Unary, strings::decode, &["(string) bytes"]),
    ("base64.encode", Form::Unary, strings::encode, &["(bytes) string"]),
    // Times.
    ("getFullYear", Form::Any, times::part, FROM_TIMESTAMP),
    ("getMonth", Form::Any, times::part, FROM_TIMESTAMP),
    ("getDayOfYear", Form::Any, times::part, FROM_TIMESTAMP),
    ("getDayOfMonth", Form::Any, times::part, FROM_TIMESTAMP),
    ("getDate", Form::Any, times::part, FROM_TIMESTAMP),
    ("getDayOfWeek", Form::Any, times::part, FROM_TIMESTAMP),
    ("getHours", Form::Any, times::part, FROM_TIME),
    ("getMinutes", Form::Any, times::part, FROM_TIME),
    ("getSeconds", Form::Any, times::part, FROM_TIME),
    ("getMilliseconds", Form::Any, times::part, FROM_TIME),
    // Sets.
    (
        "sets.contains",
        Form::Binary,
        logic::set_contains,
        &["(list(A), list(A)) bool"],
    ),
    (
        "sets.equivalent",
        Form::Binary,
        logic::set_equivalent,
        &["(list(A), list(A)) bool"],
    ),
    (
        "sets.intersects",
        Form::Binary,
        logic::set_intersects,
        &["(list(A), list(A)) bool"],
    ),
    // Optional values.
    ("optional.of", Form::Unary, optionals::of, &["(A) optional(A)"]),
    (
        "optional.ofNonZeroValue",
        Form::Unary,
        optionals::of_non_zero,
        &["(A) optional(A)"],
    ),
    ("optional.none", Form::Any, optionals::none, &["() optional(A)"]),
    (
        "optional.unwrap",
        Form::Unary,
        optionals::unwrap,
        &["(list(optional(A))) list(A)"],
    ),
    (
        "unwrapOpt",
        Form::Unary,
        optionals::unwrap,
        &[".(list(optional(A))) list(A)"],
    ),
    ("value", Form::Unary, optionals::value, &[".(optional(A)) A"]),
    (
        "hasValue",
        Form::Unary,
        optionals::has_value,
        &[".(optional(A)) bool"],
    ),
    (
        "or",
        Form::Any,
        logic::unreachable,
        &[".(optional(A), optional(A)) optional(A)"],
    ),
    ("orValue", Form::Any, logic::unreachable, &[".(optional(A), A) A"]),
    (
        "first",
        Form::Unary,
        optionals::first,
        &[".(list(A)) optional(A)"],
    ),
    ("last", Form::Unary, optionals::last, &[".(list(A)) optional(A)"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of the table can be read.
    #[test]
    fn the_table_is_well_formed() {
        for (name, _, _, signatures) in TABLE {
            let read: usize = signatures.iter().map(|text| read_overloads(text).len()).sum();
            let expected: usize = signatures
                .iter()
                .map(|text| if text.starts_with('*') { 2 } else { 1 })
                .sum();
            assert_eq!(read, expected, "{name}");
            assert!(find(name).is_some());
        }
        assert_eq!(names().count(), DECLARATIONS.len());
    }
}
