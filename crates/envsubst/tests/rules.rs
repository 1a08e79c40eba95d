//! The table of expressions, the rules around variables and the limits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluice_envsubst::{Error, Limits, Options, check_names, clean_value, is_valid_name, substitute};

fn variables() -> BTreeMap<String, String> {
    [
        ("v", "foobar"),
        ("path", "/usr/lib/x.tar.gz"),
        ("empty", ""),
        ("n", "3"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn strictly(text: &str) -> Result<String, Error> {
    substitute(text, &variables(), &Options::default())
}

#[test]
fn kus_031_expressions_give_the_documented_results() {
    for (text, expected) in [
        ("${v}", "foobar"),
        ("${v:-d}", "foobar"),
        ("${x:-d}", "d"),
        ("${x:=d}", "d"),
        ("${x=d}", "d"),
        ("${empty:-d}", "d"),
        ("${x:?d}", "d"),
        ("${v:?d}", "foobar"),
        ("${v:+d}", "foobar"),
        ("${x:+d}", "d"),
        ("${x:-${n}}", "3"),
        ("${v^^}", "FOOBAR"),
        ("${v^}", "Foobar"),
        ("${v,,}", "foobar"),
        ("${v:0:3}", "foo"),
        ("${v:3}", "bar"),
        ("${v:0:99}", "foobar"),
        ("${v/o/0}", "f0obar"),
        ("${v//o/0}", "f00bar"),
        ("${v/#foo/X}", "Xbar"),
        ("${v/%bar/X}", "fooX"),
        ("${#v}", "6"),
        ("${v%bar}", "foo"),
        ("${v#foo}", "bar"),
        ("${path##*/}", "x.tar.gz"),
        ("${path#*/}", "usr/lib/x.tar.gz"),
        ("${path%.*}", "/usr/lib/x.tar"),
        ("${path%%.*}", "/usr/lib/x"),
    ] {
        assert_eq!(strictly(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn kus_032_dollars_are_escaped_by_doubling() {
    for (text, expected) in [
        ("$${v}", "${v}"),
        ("$v", "$v"),
        ("$(v)", "$(v)"),
        ("$", "$"),
        ("$$", "$"),
        ("a $$ b", "a $ b"),
    ] {
        assert_eq!(strictly(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn kus_033_missing_variables_fail_only_in_strict_mode() {
    let error = strictly("a\nb: ${missing}").unwrap_err();
    assert_eq!(error.to_string(), "variable not set (strict mode): \"missing\"");
    assert_eq!(error.line(), Some(2));
    let lenient = Options {
        strict: false,
        ..Options::default()
    };
    assert_eq!(
        substitute("[${missing}]", &variables(), &lenient).as_deref(),
        Ok("[]")
    );
}

#[test]
fn malformed_expressions_are_named_with_their_line() {
    for (text, message) in [
        ("${v-d}", "missing closing brace"),
        ("${a.b}", "missing closing brace"),
        ("${v", "missing closing brace"),
        ("${}", "unable to parse variable name"),
        ("${v#}", "unable to parse substitution within function"),
        ("${v/a}", "bad substitution"),
    ] {
        let error = strictly(&format!("\n\n{text}")).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
        assert_eq!(error.line(), Some(3), "{text}");
    }
}

#[test]
fn kus_036_names_are_checked_and_newlines_stripped() {
    for name in ["a", "_", "A1_", "__x9"] {
        assert!(is_valid_name(name), "{name}");
    }
    for name in ["", "1a", "a-b", "a.b", "é", "a\n"] {
        assert!(!is_valid_name(name), "{name:?}");
    }
    assert_eq!(
        check_names(["ok", "1a"]).unwrap_err().to_string(),
        "'1a' var name is invalid, must match '^[_[:alpha:]][_[:alpha:][:digit:]]*$'"
    );
    assert_eq!(clean_value("a\nb\n"), "ab");
    assert_eq!(clean_value("ab\r"), "ab\r");
}

#[test]
fn output_depth_and_steps_are_limited() {
    let with = |limits| Options {
        strict: false,
        limits,
    };
    let small = Limits {
        output: 100,
        depth: 4,
        steps: 10_000,
    };
    let mut many = variables();
    many.insert("long".into(), "ab".repeat(40));
    assert_eq!(
        substitute("${long}${long}", &many, &with(small)),
        Err(Error::TooLarge { limit: 100 })
    );
    assert_eq!(
        substitute("${long//b/bbbbbbbb}", &many, &with(small)),
        Err(Error::TooLarge { limit: 100 })
    );
    let deep = format!("{}{}", "${x:-".repeat(5), "}".repeat(5));
    assert_eq!(
        substitute(&deep, &many, &with(small)),
        Err(Error::TooDeep { limit: 4, line: 1 })
    );
    many.insert("huge".into(), "é".repeat(3000));
    let roomy = Limits {
        output: 10_000,
        ..small
    };
    let costly = substitute("${huge##*?z}", &many, &with(roomy));
    assert!(matches!(costly, Err(Error::TooComplex { .. })), "{costly:?}");
}

#[test]
fn patterns_of_stars_take_linear_time_on_long_values() {
    let mut many = variables();
    many.insert("huge".into(), format!("{}/end", "a".repeat(1 << 20)));
    let options = Options::default();
    assert_eq!(substitute("${huge##*/}", &many, &options).as_deref(), Ok("end"));
    assert_eq!(
        substitute("${huge##*a*a*/}", &many, &options).as_deref(),
        Ok("end")
    );
    assert_eq!(substitute("${huge%/*}", &many, &options).unwrap().len(), 1 << 20);
}

proptest! {
    #[test]
    fn any_text_is_answered_without_panic(text in "\\PC*|[${}:#%/^,*?\\[\\]a-c\\\\=+-]{0,40}", value in "\\PC{0,20}") {
        let variables = BTreeMap::from([("a".to_owned(), value)]);
        for strict in [true, false] {
            let options = Options { strict, ..Options::default() };
            let _ = substitute(&text, &variables, &options);
        }
    }

    #[test]
    fn text_without_dollars_is_left_alone(text in "[^$\u{0}]*") {
        prop_assert_eq!(strictly(&text), Ok(text));
    }
}
