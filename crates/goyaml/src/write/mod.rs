//! The writers: what to write comes from `value` (JSON) or `tree` (nodes), how it looks from `emitter`.

mod analysis;
mod emitter;
mod sort;
mod tree;
mod value;

pub use tree::{write_kyaml, write_v3_node};
pub use value::{write_sigs, write_sigs_node, write_v3};

use crate::{Flavour, Resolved, Style, resolve_scalar};

/// The style in which Go writes a string: literal if it has several lines, double-quoted if it would read
/// as something else.
fn style_of_string(text: &str, v3: bool) -> Style {
    let flavour = if v3 { Flavour::Kyaml } else { Flavour::Sigs };
    if text.contains('\n') {
        return Style::Literal;
    }
    let plain = matches!(
        resolve_scalar(text, Style::Plain, None, flavour),
        Resolved::String(_)
    );
    if plain && !is_base_60(text) && !(v3 && is_old_bool(text)) {
        Style::Plain
    } else {
        Style::DoubleQuoted
    }
}

/// Whether YAML 1.1 reads the text as a number with base 60: `1:30`, `190:20:30.15`.
fn is_base_60(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !body.starts_with(|first: char| first.is_ascii_digit()) {
        return false;
    }
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
        return false;
    }
    let mut groups = whole.split(':');
    let head = groups.next().unwrap_or_default();
    let mut count = 0;
    let sixties = groups.all(|group| {
        count += 1;
        match group.as_bytes() {
            [units] => units.is_ascii_digit(),
            [tens, units] => (b'0'..=b'5').contains(tens) && units.is_ascii_digit(),
            _ => false,
        }
    });
    sixties && count > 0 && head.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// Whether YAML 1.1 reads the text as a boolean that YAML 1.2 does not know.
fn is_old_bool(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    )
}
