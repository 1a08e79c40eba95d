//! Whatever stands in a text: substitution ends with a text or an error, never in a panic, and neither is larger
//! than the limits allow. `PROPTEST_CASES` sets how many cases each test tries.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail this way")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluice_envsubst::{Options, check_names, clean_value, substitute};

/// Most bytes that these inputs may become: each expression yields at most one value or its operand, and a pattern
/// that replaces everything at most one replacement for each byte.
const MOST: usize = 1 << 20;

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "${", "}", "$", "$$", "v", "empty", "unset", "wild", ":-", ":=", "=", ":?", ":+", "-", "#", "##", "%", "%%", "/",
            "//", "/#", "/%", "^", "^^", ",", ",,", ":", "0", "-1", "99999999999999999999", "*", "?", "[", "]", "[a-", "[!x]",
            "\\", "ü", "\u{1F600}", "\n", "'", "\"", " ", "{", "$(", ")",
        ]).prop_map(str::to_owned),
        1 => any::<String>().prop_map(|text| text.chars().take(8).collect()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::collection::vec(part(), 0..40).prop_map(|parts| parts.concat()),
        // Nested far deeper than anybody means.
        1 => (1_usize..3_000).prop_map(|depth| "${unset:-".repeat(depth) + &"}".repeat(depth)),
        1 => (1_usize..200).prop_map(|count| format!("${{wild##{}x}}", "*a".repeat(count))),
    ]
}

fn variables() -> BTreeMap<String, String> {
    BTreeMap::from([
        ("v".to_owned(), "value ü ${v} $$".to_owned()),
        ("empty".to_owned(), String::new()),
        ("wild".to_owned(), "ab".repeat(300)),
    ])
}

proptest! {
    #[test]
    fn substitution_ends(text in text(), strict in any::<bool>()) {
        let options = Options { strict, ..Options::default() };
        match substitute(&text, &variables(), &options) {
            Ok(result) => prop_assert!(result.len() <= MOST, "{} bytes of {text:?}", result.len()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn names_and_values_of_any_text_are_judged(name in any::<String>(), value in any::<String>()) {
        let cleaned = clean_value(&value).to_string();
        prop_assert!(!cleaned.contains('\n'));
        let _ = check_names([name.as_str()]);
    }
}
