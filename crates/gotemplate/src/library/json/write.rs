use crate::error::{Failure, LimitError};
use crate::format::{format_general, format_json};
use crate::function::Scope;
use crate::library::convert::bytes_of;
use crate::library::encoding::encode_base64;
use crate::text::{REPLACEMENT, first_rune};
use crate::value::{Float, Shape, Type, Value};

/// How deep values may nest; what nests deeper may contain itself.
const MAX_DEPTH: usize = 10_000;

/// Which of encoding/json's forms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::library) enum Style {
    /// `Marshal`.
    Compact,
    /// `MarshalIndent` with two spaces.
    Pretty,
    /// Without escapes for HTML.
    Raw,
}

/// A value as JSON.
pub(in crate::library) fn write(
    scope: &mut Scope<'_>,
    value: &Value,
    style: Style,
) -> Result<Vec<u8>, Failure> {
    let mut writer = Writer {
        out: Vec::new(),
        style,
        limit: scope.run().producible(),
    };
    writer.value(value, 0)?;
    scope.run().produce(writer.out.len())?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    style: Style,
    limit: usize,
}

impl Writer {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Failure> {
        if depth > MAX_DEPTH {
            return Err(LimitError::Nesting(MAX_DEPTH).into());
        }
        if self.out.len() > self.limit {
            return Err(LimitError::Produced.into());
        }
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(flag) => self.out.extend(flag.to_string().bytes()),
            Value::Signed(_, number) => self.out.extend(number.to_string().bytes()),
            Value::Unsigned(_, number) => self.out.extend(number.to_string().bytes()),
            Value::Float(size, number) => self.float(*size, *number)?,
            Value::String(text) => self.string(text),
            Value::List(list) if list.is_nil() => self.out.extend_from_slice(b"null"),
            Value::List(list) if *list.element_type() == Type::BYTE => {
                self.out.push(b'"');
                self.out.extend(encode_base64(&bytes_of(list)));
                self.out.push(b'"');
            }
            Value::List(list) => {
                self.out.push(b'[');
                for (index, element) in list.as_slice().iter().enumerate() {
                    self.separate(index, depth + 1);
                    self.nested(element, depth + 1)?;
                }
                self.close(list.is_empty(), depth, b']');
            }
            Value::Map(map) if map.is_nil() => self.out.extend_from_slice(b"null"),
            Value::Map(map) => {
                let entries = map.entries();
                self.object(entries.iter().map(|(key, value)| (&**key, value)), depth)?;
            }
            Value::Object(object) => match object.shape() {
                Shape::Plain(Value::String(number)) if object.type_name() == "json.Number" => {
                    let number: &[u8] = if number.is_empty() { b"0" } else { &number };
                    self.out.extend_from_slice(number);
                }
                Shape::Plain(plain) => self.nested(&plain, depth)?,
                Shape::NilPointer => self.out.extend_from_slice(b"null"),
                Shape::Struct(fields) | Shape::Pointer(fields) => {
                    if let Some(text) = object.json() {
                        self.string(&text);
                    } else {
                        let fields = fields.iter();
                        self.object(fields.map(|(name, field)| (name.as_bytes(), &field.value)), depth)?;
                    }
                }
                Shape::Sequence(_) | Shape::Pairs(_) => return Err(unsupported(&value.type_of())),
            },
            Value::Complex(..) | Value::Function(_) => return Err(unsupported(&value.type_of())),
        }
        Ok(())
    }

    fn nested(&mut self, value: &Value, depth: usize) -> Result<(), Failure> {
        stacker::maybe_grow(32 << 10, 512 << 10, || self.value(value, depth))
    }

    fn object<'entries>(
        &mut self,
        entries: impl Iterator<Item = (&'entries [u8], &'entries Value)>,
        depth: usize,
    ) -> Result<(), Failure> {
        self.out.push(b'{');
        let mut count = 0;
        for (key, value) in entries {
            self.separate(count, depth + 1);
            count += 1;
            self.string(key);
            self.out.push(b':');
            if self.style == Style::Pretty {
                self.out.push(b' ');
            }
            self.nested(value, depth + 1)?;
        }
        self.close(count == 0, depth, b'}');
        Ok(())
    }

    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push(b',');
        }
        self.new_line(depth);
    }

    fn close(&mut self, empty: bool, depth: usize, bracket: u8) {
        if !empty {
            self.new_line(depth);
        }
        self.out.push(bracket);
    }

    fn new_line(&mut self, depth: usize) {
        if self.style == Style::Pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * depth, b' ');
        }
    }

    fn float(&mut self, size: Float, number: f64) -> Result<(), Failure> {
        if !number.is_finite() {
            return Err(format!("json: unsupported value: {}", format_general(number)).into());
        }
        let text = match size {
            Float::Float64 => format_json(number),
            #[expect(clippy::cast_possible_truncation, reason = "the value is a float32")]
            Float::Float32 => (number as f32).to_string(),
        };
        self.out.extend(text.bytes());
        Ok(())
    }

    fn string(&mut self, bytes: &[u8]) {
        let html = self.style != Style::Raw;
        self.out.push(b'"');
        let mut at = 0;
        while let Some((rune, width)) = first_rune(&bytes[at..]) {
            let encoded = &bytes[at..at + width];
            at += width;
            match rune {
                '"' => self.out.extend_from_slice(b"\\\""),
                '\\' => self.out.extend_from_slice(b"\\\\"),
                '\u{08}' => self.out.extend_from_slice(b"\\b"),
                '\u{0C}' => self.out.extend_from_slice(b"\\f"),
                '\n' => self.out.extend_from_slice(b"\\n"),
                '\r' => self.out.extend_from_slice(b"\\r"),
                '\t' => self.out.extend_from_slice(b"\\t"),
                '<' | '>' | '&' if html => self.escape(rune),
                '\u{0}'..='\u{1F}' | '\u{2028}' | '\u{2029}' => self.escape(rune),
                REPLACEMENT if width == 1 => self.out.extend_from_slice(b"\\ufffd"),
                _ => self.out.extend_from_slice(encoded),
            }
        }
        self.out.push(b'"');
    }

    fn escape(&mut self, rune: char) {
        self.out.extend(format!("\\u{:04x}", u32::from(rune)).bytes());
    }
}

fn unsupported(kind: &Type) -> Failure {
    format!("json: unsupported type: {kind}").into()
}
