//! What is different in every render.

use rand::Rng;
use rand::seq::SliceRandom;

use super::encoding::encode_base64;
use super::{INT, Outcome, Registry, TEXT};
use crate::function::Scope;
use crate::text::{push_rune, runes};
use crate::value::Value;

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";

pub(super) fn register(registry: &mut Registry) {
    let both = [LETTERS, DIGITS].concat();
    let printable: Vec<u8> = (b' '..0x7F).collect();
    for (name, alphabet) in [
        ("randAlphaNum", both),
        ("randAlpha", LETTERS.to_vec()),
        ("randNumeric", DIGITS.to_vec()),
        ("randAscii", printable),
    ] {
        registry.fixed(name, &[INT], TEXT, move |scope, arguments| {
            letters(scope, arguments.integer(0), &alphabet)
        });
    }
    registry.fixed("randBytes", &[INT], TEXT, |scope, arguments| {
        let Ok(count) = usize::try_from(arguments.integer(0)) else {
            return Err("runtime error: makeslice: len out of range".into());
        };
        scope.run().produce(count.saturating_mul(2))?;
        let mut bytes = vec![0; count];
        scope.run().random()?.fill(&mut bytes[..]);
        Ok(Value::string(encode_base64(&bytes)))
    });
    registry.fixed("randInt", &[INT, INT], INT, |scope, arguments| {
        let (least, end) = (arguments.integer(0), arguments.integer(1));
        if end.wrapping_sub(least) <= 0 {
            return Err("invalid argument to Intn".into());
        }
        Ok(Value::int(scope.run().random()?.random_range(least..end)))
    });
    registry.fixed("shuffle", &[TEXT], TEXT, |scope, arguments| {
        let mut characters: Vec<char> = runes(&arguments.text(0)).map(|(_, rune)| rune).collect();
        characters.shuffle(scope.run().random()?);
        let mut out = Vec::new();
        characters.into_iter().for_each(|rune| push_rune(&mut out, rune));
        Ok(Value::string(out))
    });
    registry.fixed("uuidv4", &[], TEXT, |scope, _| {
        let number = scope.run().random()?.random::<u128>();
        // Version 4, variant 1.
        let number = number & !(0xF << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
        let digits = format!("{number:032x}");
        let parts = [
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        ];
        Ok(Value::from(parts.join("-")))
    });
}

fn letters(scope: &mut Scope<'_>, count: i64, alphabet: &[u8]) -> Outcome {
    let count = usize::try_from(count).unwrap_or(0);
    scope.run().produce(count)?;
    let random = scope.run().random()?;
    let letter = |_| alphabet[random.random_range(0..alphabet.len())];
    Ok(Value::string((0..count).map(letter).collect::<Vec<u8>>()))
}
