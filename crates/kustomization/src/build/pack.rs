//! Objects as few bytes.
//!
//! The form lives in memory only, so it may change at will. It is not JSON because reading back must give the
//! very same numbers: a decimal fraction that is printed and parsed can come back as its neighbour.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde_json::{Map, Number, Value};
use sluice_apply::Object;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const UNSIGNED: u8 = 3;
const SIGNED: u8 = 4;
const FLOAT: u8 = 5;
const TEXT: u8 = 6;
const LIST: u8 = 7;
const MAPPING: u8 = 8;

/// Objects in compressed form. They may hold Secrets, so nothing prints them.
pub(super) struct Packed(Box<[u8]>);

impl Packed {
    /// Packs objects; `None` if one of them holds a number that is none of JSON's.
    pub(super) fn new(objects: &[Object]) -> Option<Self> {
        let mut writer = DeflateEncoder::new(Vec::new(), Compression::fast());
        let mut buffer = Vec::new();
        write_length(objects.len(), &mut buffer);
        for object in objects {
            write_mapping(object.content(), &mut buffer)?;
            writer.write_all(&buffer).ok()?;
            buffer.clear();
        }
        writer.write_all(&buffer).ok()?;
        Some(Self(writer.finish().ok()?.into_boxed_slice()))
    }

    /// The objects; `None` if the bytes are not what [`Packed::new`] made.
    pub(super) fn unpack(&self) -> Option<Vec<Object>> {
        let mut bytes = Vec::new();
        DeflateDecoder::new(&*self.0).read_to_end(&mut bytes).ok()?;
        let mut reader = Reader(&bytes);
        let count = reader.length()?;
        (0..count)
            .map(|_| Object::from_value(Value::Object(reader.mapping()?)).ok())
            .collect()
    }

    /// How many bytes it takes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

fn write_value(value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => {
            out.push(TEXT);
            write_text(text, out);
        }
        Value::Array(items) => {
            out.push(LIST);
            write_length(items.len(), out);
            items.iter().try_for_each(|item| write_value(item, out))?;
        }
        Value::Object(fields) => {
            out.push(MAPPING);
            write_mapping(fields, out)?;
        }
    }
    Some(())
}

fn write_mapping(fields: &Map<String, Value>, out: &mut Vec<u8>) -> Option<()> {
    write_length(fields.len(), out);
    fields.iter().try_for_each(|(name, value)| {
        write_text(name, out);
        write_value(value, out)
    })
}

fn write_number(number: &Number, out: &mut Vec<u8>) -> Option<()> {
    if let Some(number) = number.as_u64() {
        out.push(UNSIGNED);
        out.extend(number.to_le_bytes());
    } else if let Some(number) = number.as_i64() {
        out.push(SIGNED);
        out.extend(number.to_le_bytes());
    } else {
        out.push(FLOAT);
        out.extend(number.as_f64()?.to_le_bytes());
    }
    Some(())
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_length(text.len(), out);
    out.extend(text.as_bytes());
}

/// Seven bits a byte, the lowest first.
fn write_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8 & 0x7f);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        let (bytes, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn length(&mut self) -> Option<usize> {
        let mut length = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            length |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(length);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(bytes.to_vec()).ok()
    }

    fn mapping(&mut self) -> Option<Map<String, Value>> {
        let count = self.length()?;
        (0..count).map(|_| Some((self.text()?, self.value()?))).collect()
    }

    fn value(&mut self) -> Option<Value> {
        Some(match self.byte()? {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            UNSIGNED => u64::from_le_bytes(self.eight()?).into(),
            SIGNED => i64::from_le_bytes(self.eight()?).into(),
            FLOAT => Number::from_f64(f64::from_le_bytes(self.eight()?))?.into(),
            TEXT => self.text()?.into(),
            LIST => {
                let count = self.length()?;
                (0..count).map(|_| self.value()).collect::<Option<_>>()?
            }
            MAPPING => Value::Object(self.mapping()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_come_back_as_they_were() {
        let long = "x".repeat(300);
        let values = [
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"long": long}}),
            json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "b"}, "spec": {
                "numbers": [0, -1, u64::MAX, i64::MIN, 0.1, 2.3e-308, 1.797_693_134_862_315_7e308, 4.35, 7.0],
                "others": [null, true, false, "", "ünï", [], {}, {"": [{}]}],
            }}),
        ];
        let objects: Vec<Object> = values
            .iter()
            .map(|value| Object::from_value(value.clone()).unwrap())
            .collect();
        let packed = Packed::new(&objects).unwrap();
        let back: Vec<Value> = packed
            .unpack()
            .unwrap()
            .into_iter()
            .map(Object::into_value)
            .collect();
        assert_eq!(back, values);
        assert!(packed.len() < 400, "{}", packed.len());
        assert!(Packed::new(&[]).unwrap().unpack().unwrap().is_empty());
    }

    #[test]
    fn bytes_that_are_cut_give_nothing() {
        let bytes = [MAPPING, 1, 3, b'a'];
        assert!(Reader(&bytes).value().is_none());
        assert!(Reader(&[0xff; 16]).length().is_none());
        assert!(Packed(Box::from([1, 2, 3])).unpack().is_none());
    }
}
