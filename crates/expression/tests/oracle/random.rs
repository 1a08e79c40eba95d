//! Random expressions, in both modes.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::compare;

const CASES: usize = 4000;

/// Expressions without parts. Maps of more than one key are not walked through in order: theirs is one of
/// chance in the real library.
fn leaf() -> BoxedStrategy<String> {
    let words: &'static [&'static str] = &[
        "1",
        "0",
        "-1",
        "2u",
        "0u",
        "1.5",
        "-0.5",
        "true",
        "false",
        "null",
        "'a'",
        "''",
        "'12'",
        "b'a'",
        "[]",
        "[1, 2]",
        "['a', 'b']",
        "{'a': 1}",
        "{}",
        "x",
        "y",
        "nothing",
        "self",
        "dep",
        "self.metadata.name",
        "dep.status.conditions",
        "dep.metadata.generation",
        "self.spec.x",
        "spec.names",
        "spec.items",
        "status.phase",
        "spec.replicas",
        "spec.none",
        "spec.ratio",
        "int",
        "string",
        "optional.none()",
        "duration('90s')",
        "timestamp(5)",
        "9223372036854775807",
        "dep.?metadata",
        "self.?nothing",
        "'2023-01-02T03:04:05Z'",
        "'1h'",
        "'ü'",
    ];
    prop::sample::select(words).prop_map(str::to_owned).boxed()
}

fn expression() -> BoxedStrategy<String> {
    leaf()
        .prop_recursive(4, 24, 3, |inner| {
            let operators = prop::sample::select(
                &["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"][..],
            );
            let unary = prop::sample::select(
                &[
                    "size(#)", "#.size()", "type(#)", "dyn(#)", "int(#)", "uint(#)", "double(#)", "string(#)", "bool(#)",
                    "bytes(#)", "duration(#)", "timestamp(#)", "!#", "-#", "(#)", "[#]", "{'k': #}", "{#: 1}", "#.a", "#.?a",
                    "has(#.a)", "#[0]", "#[?0]", "#['a']", "#.first()", "#.last()", "optional.of(#)", "optional.ofNonZeroValue(#)",
                    "#.value()", "#.hasValue()", "#.trim()", "#.upperAscii()", "#.reverse()", "#.join()", "#.unwrapOpt()",
                    "strings.quote(#)", "base64.encode(#)", "base64.decode(#)", "#.getHours()", "#.getDayOfYear()", "'%s'.format([#])",
                    "'%d|%s'.format([#, #])", "[?#]", "{?'a': #}", "#.foo()",
                ][..],
            );
            let binary = prop::sample::select(
                &[
                    "#.contains(@)", "#.startsWith(@)", "#.matches(@)", "#.indexOf(@)", "#.lastIndexOf(@)", "#.split(@)", "#.charAt(@)",
                    "#.substring(@)", "#.join(@)", "#[@]", "#[?@]", "[#, @]", "{'a': #, 'b': @}", "#.orValue(@)", "#.or(@)",
                    "sets.contains(#, @)", "sets.intersects(#, @)", "sets.equivalent(#, @)", "[#].all(x, @)", "[#].exists(x, @)",
                    "[#].exists_one(x, @)", "[#].map(x, @)", "[#].filter(x, @)", "#.all(x, @)", "#.exists(y, @)", "[1, #].map(y, [x, y], @)",
                    "#.optMap(x, @)", "#.optFlatMap(x, @)", "#.format([@])", "#.replace('a', @)", "#.getHours(@)",
                ][..],
            );
            prop_oneof![
                4 => (inner.clone(), operators, inner.clone()).prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
                4 => (unary, inner.clone()).prop_map(|(form, part)| form.replace('#', &part)),
                4 => (binary, inner.clone(), inner.clone()).prop_map(|(form, first, second)| {
                    form.split('#').map(|piece| piece.replace('@', &second)).collect::<Vec<_>>().join(&first)
                }),
                1 => (inner.clone(), inner.clone(), inner).prop_map(|(condition, then, otherwise)| format!("({condition}) ? ({then}) : {otherwise}")),
            ]
        })
        .boxed()
}

/// Values, and the phase of failures, are those of the real library. `SLUICE_SEED` makes other cases.
#[test]
fn random_expressions_are_judged_as_by_the_real_library() {
    let mut seed = [7; 32];
    if let Some(text) = std::env::var("SLUICE_SEED")
        .ok()
        .and_then(|text| text.parse::<u64>().ok())
    {
        seed[..8].copy_from_slice(&text.to_le_bytes());
    }
    let generator = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), generator);
    let expressions = expression();
    let texts: Vec<String> = (0..CASES)
        .map(|_| expressions.new_tree(&mut runner).unwrap().current())
        .collect();
    compare(&texts, false);
}
