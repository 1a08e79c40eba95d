//! TOML as the Go library BurntSushi/toml writes it, and reading it.

use super::convert::kind_of;
use super::dates::{clock_value, time_text};
use super::json::into_map;
use super::{ANY, MAP, Outcome, Registry, TEXT};
use crate::error::{Failure, LimitError};
use crate::format::format_general;
use crate::text::{Text, push_rune, runes};
use crate::value::{List, Map, Shape, Type, Value};

/// How deep tables may nest.
const MAX_DEPTH: usize = 1_000;

pub(super) fn register(registry: &mut Registry) {
    for (name, must) in [("toToml", false), ("mustToToml", true)] {
        registry.fixed(name, &[ANY], TEXT, move |scope, arguments| -> Outcome {
            if arguments.value(0).is_nil() {
                return Err("reflect: call of reflect.Value.Type on zero Value".into());
            }
            let mut writer = Writer {
                out: Vec::new(),
                limit: scope.run().producible(),
            };
            match writer.encode(&[], &arguments.value(0)) {
                Ok(()) => {
                    scope.run().produce(writer.out.len())?;
                    Ok(Value::string(writer.out))
                }
                Err(failure) if must || failure.limit().is_some() => Err(failure),
                Err(failure) => Ok(Value::from(failure.to_string())),
            }
        });
    }
    registry.fixed("fromToml", &[TEXT], MAP, |_, arguments| {
        let text = arguments.text(0);
        let table = text.to_text().parse::<toml::Table>();
        Ok(into_map(match table {
            Ok(table) => Ok(Value::Map(read_table(table))),
            Err(error) => Err(format!("toml: {}", error.message())),
        }))
    });
}

/// What a value is in TOML; None for what is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Table,
    Tables,
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    }
}

fn kind(value: &Value, depth: usize) -> Result<Option<Kind>, Failure> {
    if depth > MAX_DEPTH {
        return Err(LimitError::Nesting(MAX_DEPTH).into());
    }
    if is_nil(value) {
        return Ok(None);
    }
    Ok(Some(match value {
        Value::Map(_) => Kind::Table,
        Value::List(list) if !list.is_empty() => {
            let mut all_tables = true;
            for element in list.as_slice() {
                match kind(element, depth + 1)? {
                    None => return Err("toml: cannot encode array with nil element".into()),
                    Some(kind) => all_tables &= kind == Kind::Table,
                }
            }
            if all_tables { Kind::Tables } else { Kind::Plain }
        }
        Value::Function(_) | Value::Complex(..) => {
            return Err(format!("unsupported type: {}", kind_of(value)).into());
        }
        _ => Kind::Plain,
    }))
}

struct Writer {
    out: Vec<u8>,
    limit: usize,
}

impl Writer {
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn new_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, path: &[Text]) {
        for _ in 1..path.len() {
            self.push("  ");
        }
    }

    fn encode(&mut self, path: &[Text], value: &Value) -> Result<(), Failure> {
        if path.len() > MAX_DEPTH {
            return Err(LimitError::Nesting(MAX_DEPTH).into());
        }
        if self.out.len() > self.limit {
            return Err(LimitError::Produced.into());
        }
        stacker::maybe_grow(64 << 10, 1 << 20, || self.encode_here(path, value))
    }

    fn encode_here(&mut self, path: &[Text], value: &Value) -> Result<(), Failure> {
        match value {
            Value::Nil => {}
            Value::List(_) if kind(value, 0)? == Some(Kind::Tables) => self.tables(path, value)?,
            Value::Map(map) if map.is_nil() => {}
            Value::Map(map) => {
                if path.len() == 1 {
                    self.new_line();
                }
                if !path.is_empty() {
                    self.indent(path);
                    self.header(path, "[", "]");
                }
                self.map(path, map, false, 0)?;
            }
            _ => self.key_value(path, value, false, 0)?,
        }
        Ok(())
    }

    fn header(&mut self, path: &[Text], open: &str, close: &str) {
        self.push(open);
        for (index, key) in path.iter().enumerate() {
            if index > 0 {
                self.push(".");
            }
            self.key(key);
        }
        self.push(close);
        self.new_line();
    }

    fn tables(&mut self, path: &[Text], value: &Value) -> Result<(), Failure> {
        let Value::List(list) = value else {
            return Ok(());
        };
        if path.is_empty() {
            return Err("toml: top-level values must be Go maps or structs".into());
        }
        for element in list.as_slice() {
            let Value::Map(map) = element else {
                continue;
            };
            self.new_line();
            self.indent(path);
            self.header(path, "[[", "]]");
            self.map(path, map, false, 0)?;
        }
        Ok(())
    }

    /// Plain values first, then tables.
    fn map(&mut self, path: &[Text], map: &Map, inline: bool, depth: usize) -> Result<(), Failure> {
        let mut direct = Vec::new();
        let mut nested = Vec::new();
        for (key, value) in map.entries() {
            match kind(&value, 0)? {
                Some(Kind::Table | Kind::Tables) => nested.push((key, value)),
                _ => direct.push((key, value)),
            }
        }
        if inline {
            self.push("{");
        }
        let more = !nested.is_empty();
        for (entries, trailing) in [(direct, more), (nested, false)] {
            let count = entries.len();
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if is_nil(&value) {
                    continue;
                }
                if inline {
                    self.key_value(&[key], &value, true, depth + 1)?;
                    if trailing || index + 1 != count {
                        self.push(", ");
                    }
                } else {
                    let path: Vec<Text> = path.iter().cloned().chain([key]).collect();
                    self.encode(&path, &value)?;
                }
            }
        }
        if inline {
            self.push("}");
        }
        Ok(())
    }

    fn key_value(&mut self, path: &[Text], value: &Value, inline: bool, depth: usize) -> Result<(), Failure> {
        if let Some(key) = path.last() {
            self.indent(path);
            self.key(key);
            self.push(" = ");
        }
        self.element(value, depth)?;
        if !path.is_empty() && !inline {
            self.new_line();
        }
        Ok(())
    }

    fn element(&mut self, value: &Value, depth: usize) -> Result<(), Failure> {
        if depth > MAX_DEPTH {
            return Err(LimitError::Nesting(MAX_DEPTH).into());
        }
        match value {
            Value::Bool(flag) => self.push(&flag.to_string()),
            Value::Signed(_, number) => self.push(&number.to_string()),
            Value::Unsigned(_, number) => self.push(&number.to_string()),
            Value::Float(_, number) => self.push(&float(*number)),
            Value::String(text) => self.quoted(text),
            Value::List(list) => {
                self.push("[");
                for (index, element) in list.as_slice().iter().enumerate() {
                    if index > 0 {
                        self.push(", ");
                    }
                    stacker::maybe_grow(64 << 10, 1 << 20, || self.element(element, depth + 1))?;
                }
                self.push("]");
            }
            Value::Map(map) => {
                stacker::maybe_grow(64 << 10, 1 << 20, || self.map(&[], map, true, depth + 1))?;
            }
            Value::Object(object) => match (time_text(value), object.shape()) {
                (Some(text), _) => self.out.extend_from_slice(&text),
                (None, Shape::Plain(Value::String(number))) if object.type_name() == "json.Number" => {
                    self.json_number(&number);
                }
                (None, Shape::Plain(plain)) => self.element(&plain, depth + 1)?,
                _ => self.quoted(&object.text().unwrap_or_default()),
            },
            other => return Err(format!("unexpected type: {}", other.type_of()).into()),
        }
        Ok(())
    }

    fn json_number(&mut self, number: &Text) {
        let text = number.to_text();
        match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => self.push(&number.to_string()),
            (_, Ok(number)) => self.push(&float(number)),
            _ => self.push("0"),
        }
    }

    fn key(&mut self, key: &Text) {
        let is_bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !key.is_empty() && key.iter().all(is_bare) {
            self.out.extend_from_slice(key);
        } else {
            self.quoted(key);
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        self.push("\"");
        let plain = std::str::from_utf8(text).is_err();
        for (at, rune) in runes(text) {
            match rune {
                '"' => self.push("\\\""),
                '\\' => self.push("\\\\"),
                '\u{8}' => self.push("\\b"),
                '\t' => self.push("\\t"),
                '\n' => self.push("\\n"),
                '\u{C}' => self.push("\\f"),
                '\r' => self.push("\\r"),
                '\0'..' ' | '\u{7F}' => self.push(&format!("\\u{:04x}", u32::from(rune))),
                // Bytes that are no UTF-8 stay as they are.
                _ if plain && rune == crate::text::REPLACEMENT => self.out.push(text[at]),
                _ => push_rune(&mut self.out, rune),
            }
        }
        self.push("\"");
    }
}

fn float(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_nan() {
        return format!("{sign}nan");
    }
    if number.is_infinite() {
        return format!("{sign}inf");
    }
    let text = format_general(number);
    if text.contains(['e', '.']) {
        text
    } else {
        text + ".0"
    }
}

fn read_table(table: toml::Table) -> Map {
    table
        .into_iter()
        .map(|(key, value)| (key, read_value(value)))
        .collect()
}

fn read_value(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::int64(number),
        toml::Value::Float(number) => Value::float64(number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(moment) => clock_value(&moment.to_string()),
        toml::Value::Array(elements) => {
            // The library makes a list of maps where all elements are tables.
            let tables = !elements.is_empty() && elements.iter().all(toml::Value::is_table);
            let kind = if tables { &Type::MAP } else { &Type::Any };
            Value::List(List::typed(kind, elements.into_iter().map(read_value).collect()))
        }
        toml::Value::Table(table) => Value::Map(read_table(table)),
    }
}
