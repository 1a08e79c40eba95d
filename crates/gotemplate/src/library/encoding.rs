//! Base 64 and base 32.

use super::{Registry, TEXT};
use crate::value::Value;

const BASE_64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE_32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

pub(super) fn register(registry: &mut Registry) {
    registry.text("b64enc", encode_base64);
    registry.text("b32enc", |bytes| encode(bytes, BASE_32, 5));
    for (name, decode) in [
        ("b64dec", decode_base64 as fn(&[u8]) -> Result<Vec<u8>, String>),
        ("b32dec", decode_base32),
    ] {
        registry.fixed(name, &[TEXT], TEXT, move |_, arguments| {
            // A mistake is the result, not an error.
            Ok(match decode(&arguments.text(0)) {
                Ok(bytes) => Value::string(bytes),
                Err(message) => Value::from(message),
            })
        });
    }
}

pub(super) fn encode_base64(bytes: &[u8]) -> Vec<u8> {
    encode(bytes, BASE_64, 6)
}

/// Encodes so many bits to a letter, and fills up the last group.
fn encode(bytes: &[u8], alphabet: &[u8], bits: usize) -> Vec<u8> {
    let (group, letters) = if bits == 6 { (3, 4) } else { (5, 8) };
    let mut out = Vec::with_capacity(bytes.len().div_ceil(group) * letters);
    for chunk in bytes.chunks(group) {
        let mut value = 0u64;
        for index in 0..group {
            value = value << 8 | u64::from(chunk.get(index).copied().unwrap_or(0));
        }
        let used = (chunk.len() * 8).div_ceil(bits);
        for letter in 0..letters {
            if letter < used {
                let shift = bits * (letters - 1 - letter);
                let index = (value >> shift) as usize & (alphabet.len() - 1);
                out.push(alphabet[index]);
            } else {
                out.push(b'=');
            }
        }
    }
    out
}

fn value_of(alphabet: &[u8], letter: u8) -> Option<u64> {
    alphabet
        .iter()
        .position(|&other| other == letter)
        .map(|index| index as u64)
}

fn skip_newlines(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Go's `base64.StdEncoding.DecodeString`; the message names the same byte.
pub(super) fn decode_base64(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    let mut at = 0;
    loop {
        let mut group = [0u64; 4];
        let mut count = 0;
        while count < 4 {
            at = skip_newlines(bytes, at);
            let Some(&letter) = bytes.get(at) else {
                return match count {
                    0 => Ok(out),
                    _ => corrupt(at - count),
                };
            };
            at += 1;
            if let Some(value) = value_of(BASE_64, letter) {
                group[count] = value;
                count += 1;
                continue;
            }
            if letter != b'=' || count < 2 {
                return corrupt(at - 1);
            }
            if count == 2 {
                at = skip_newlines(bytes, at);
                match bytes.get(at) {
                    None => return corrupt(bytes.len()),
                    Some(b'=') => at += 1,
                    Some(_) => return corrupt(at - 1),
                }
            }
            at = skip_newlines(bytes, at);
            if at < bytes.len() {
                return corrupt(at);
            }
            break;
        }
        let value = group.iter().fold(0, |value, &letter| value << 6 | letter);
        let decoded = [(value >> 16) as u8, (value >> 8) as u8, value as u8];
        out.extend_from_slice(&decoded[..count - 1]);
        if count < 4 {
            return Ok(out);
        }
    }
}

/// Go's `base32.StdEncoding.DecodeString`.
fn decode_base32(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let bytes: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let corrupt = |at: usize| Err(format!("illegal base32 data at input byte {at}"));
    let mut out = Vec::with_capacity(bytes.len() / 8 * 5);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let start = bytes.len() - rest.len();
        let mut group = [0u64; 8];
        let mut count = 0;
        let mut ends = false;
        while count < 8 {
            let at = start + count;
            let Some(&letter) = bytes.get(at) else {
                return corrupt(start);
            };
            if letter == b'=' && count >= 2 && bytes.len() - at - 1 < 8 {
                let missing = 8 - count - 1;
                if bytes.len() - at - 1 < missing {
                    return corrupt(bytes.len());
                }
                if let Some(wrong) = (0..missing).find(|&index| bytes[at + 1 + index] != b'=') {
                    return corrupt(at + wrong);
                }
                ends = true;
                if matches!(count, 1 | 3 | 6) {
                    return corrupt(at);
                }
                break;
            }
            match value_of(BASE_32, letter) {
                Some(value) => group[count] = value,
                None => return corrupt(at),
            }
            count += 1;
        }
        let value = group.iter().fold(0, |value, &letter| value << 5 | letter);
        let decoded = value.to_be_bytes();
        out.extend_from_slice(&decoded[3..3 + count * 5 / 8]);
        if ends {
            break;
        }
        rest = &rest[8..];
    }
    Ok(out)
}
