//! JSON as Go's `encoding/json` writes it, to the byte: digests of records depend on it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Writes without space, with escapes for HTML and with Go's numbers.
pub(super) fn to_vec(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, GoFormatter))?;
    Ok(out)
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(sluice_gotemplate::print::json_number(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let is_escaped = |character: char| matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
        let mut rest = text;
        while let Some(at) = rest.find(is_escaped) {
            writer.write_all(&rest.as_bytes()[..at])?;
            let mut after = rest[at..].chars();
            let code = after.next().map_or(0, u32::from);
            write!(writer, "\\u{code:04x}")?;
            rest = after.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_are_written_as_go_writes_them() {
        let value = serde_json::json!({
            "b": "<a & b>\u{2028}\u{2029} \u{7}\u{8}\u{c}\n\"\\ é\u{7f}",
            "a": [1.0, 1e21, 1e-7, 0.1, -0.0, 123_456_789.0, 1, 1e20, true, null],
        });
        let text = String::from_utf8(to_vec(&value).unwrap()).unwrap();
        assert_eq!(
            text,
            "{\"a\":[1,1e+21,1e-7,0.1,-0,123456789,1,100000000000000000000,true,null],\
             \"b\":\"\\u003ca \\u0026 b\\u003e\\u2028\\u2029 \\u0007\\b\\f\\n\\\"\\\\ é\u{7f}\"}"
        );
    }
}
