use std::borrow::Cow;

use crate::number::{Number, parse_number};
use crate::timestamp::{Timestamp, parse_timestamp};
use crate::{Flavour, Style};

/// What a scalar means.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolved<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer that fits into 64 bits with sign.
    Int(i64),
    /// A positive integer above [`i64::MAX`].
    UInt(u64),
    /// A number with fraction or exponent, or an integer above [`u64::MAX`]; may be infinite or not a number.
    Float(f64),
    /// A text.
    String(&'a str),
    /// A text that reads as a date or time. yaml.v2 and so `sigs.k8s.io/yaml` keep the text; yaml.v3 makes
    /// it a time, which JSON shows as RFC 3339 ([`Timestamp::to_rfc3339`]).
    Timestamp(Timestamp, &'a str),
    /// Decoded `!!binary` data.
    Binary(Vec<u8>),
    /// The explicit tag does not fit: what the text reads as, such as `!!str`, and the tag.
    Mismatch {
        /// Short tag of what the text reads as; empty if the data under `!!binary` is not base64.
        found: &'static str,
        /// The explicit short tag.
        wanted: Cow<'a, str>,
    },
}

impl Resolved<'_> {
    /// The short tag of the type: `!!int`, `!!str`.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) | Self::UInt(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::String(_) => "!!str",
            Self::Timestamp(..) => "!!timestamp",
            Self::Binary(_) => "!!binary",
            Self::Mismatch { found, .. } => found,
        }
    }
}

/// Says what a scalar with the given text, style and explicit tag (short form) means.
///
/// Only plain scalars without a tag are interpreted by their spelling, as in yaml.v2 and yaml.v3: `0644` is
/// octal, `0x1F`, `0b11`, `0o17` and `1_000` are integers, `08` is 8, base 60 is text. Unknown tags make
/// text.
#[must_use]
pub fn resolve_scalar<'a>(
    text: &'a str,
    style: Style,
    tag: Option<&'a str>,
    flavour: Flavour,
) -> Resolved<'a> {
    let wanted = match tag.filter(|tag| !tag.is_empty()) {
        None if style != Style::Plain => return Resolved::String(text),
        None => None,
        Some("!!str") => return Resolved::String(text),
        Some("!!binary") => {
            return decode_base64(text).map_or(
                Resolved::Mismatch {
                    found: "",
                    wanted: Cow::Borrowed("!!binary"),
                },
                Resolved::Binary,
            );
        }
        Some(tag @ ("!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp")) => Some(tag),
        Some(_) => return Resolved::String(text),
    };
    let found = resolve_plain(text, wanted, flavour);
    match wanted {
        None => found,
        Some(wanted) if found.tag() == wanted => found,
        Some("!!float") => match found {
            Resolved::Int(value) => Resolved::Float(value as f64),
            _ => Resolved::Mismatch {
                found: found.tag(),
                wanted: Cow::Borrowed("!!float"),
            },
        },
        Some(wanted) => Resolved::Mismatch {
            found: found.tag(),
            wanted: Cow::Borrowed(wanted),
        },
    }
}

fn resolve_plain<'a>(text: &'a str, wanted: Option<&str>, flavour: Flavour) -> Resolved<'a> {
    if let Some(word) = resolve_word(text, flavour) {
        return word;
    }
    match text.as_bytes().first() {
        Some(b'.') => match parse_number(text, flavour) {
            Some(Number::Float(value)) => Resolved::Float(value),
            _ => Resolved::String(text),
        },
        Some(b'0'..=b'9' | b'+' | b'-') => {
            if matches!(wanted, None | Some("!!timestamp"))
                && let Some(timestamp) = parse_timestamp(text)
            {
                return Resolved::Timestamp(timestamp, text);
            }
            match parse_number(text, flavour) {
                Some(Number::Int(value)) => Resolved::Int(value),
                Some(Number::UInt(value)) => Resolved::UInt(value),
                Some(Number::Float(value)) => Resolved::Float(value),
                None => Resolved::String(text),
            }
        }
        _ => Resolved::String(text),
    }
}

fn resolve_word<'a>(text: &'a str, flavour: Flavour) -> Option<Resolved<'a>> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if flavour.is_sigs() => Resolved::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if flavour.is_sigs() => Resolved::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Resolved::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// Standard base64 with padding; line breaks are ignored, as Go's decoder does.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0u32;
    let mut digits = 0;
    let mut padding = 0;
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if digits >= 2 => {
                padding += 1;
                digits += 1;
                if digits == 4 {
                    digits = 0;
                } else if digits > 4 || padding > 2 {
                    return None;
                }
                if padding == 1 {
                    flush(&mut out, group, if digits == 0 { 3 } else { 2 });
                }
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        group = group << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            flush(&mut out, group, 4);
            group = 0;
            digits = 0;
        }
    }
    (digits == 0).then_some(out)
}

fn flush(out: &mut Vec<u8>, group: u32, digits: u32) {
    let bits = group << (24 - 6 * digits);
    let bytes = bits.to_be_bytes();
    out.extend_from_slice(&bytes[1..digits as usize]);
}
