//! Random templates, most of them correct.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "tests fail this way")]

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// The data of all random templates: every kind that JSON has, with edge cases of each.
pub(crate) fn data() -> serde_json::Value {
    json!({
        "Values": {
            "name": "web", "replicas": 3, "big": 1_000_000, "huge": 12_345_678_901_234_567_890u64, "f": 1.5,
            "small": 0.000_012_34, "neg": -2, "zero": 0, "enabled": true, "off": false, "empty": "", "nul": null,
            "list": ["a", "b", "c"], "nums": [1, 2.5, -3], "emptyList": [], "emptyMap": {}, "mixed": [1, "x", null, true, [2], {"k": 1}],
            "map": {"z": "1", "a": "2", "m": "3"}, "nested": {"x": {"y": "deep", "list": [{"name": "n1"}, {"name": "n2", "v": null}]}},
            "html": "<a href='x'>&\"</a>\u{0}", "uni": "héllo 世界\u{7f}\u{2028}", "multi": "l1\nl2\ttab\\", "num": "42", "fmt": "%d|%s"
        },
        "Release": {"Name": "rel", "Revision": 1},
        "é": "accent"
    })
}

fn path() -> impl Strategy<Value = String> + use<> {
    select(vec![
        ".",
        "$",
        ".Values",
        ".Values.name",
        ".Values.replicas",
        ".Values.big",
        ".Values.huge",
        ".Values.f",
        ".Values.small",
        ".Values.neg",
        ".Values.zero",
        ".Values.enabled",
        ".Values.off",
        ".Values.empty",
        ".Values.nul",
        ".Values.list",
        ".Values.nums",
        ".Values.emptyList",
        ".Values.emptyMap",
        ".Values.mixed",
        ".Values.map",
        ".Values.nested",
        ".Values.nested.x",
        ".Values.nested.x.y",
        ".Values.nested.x.list",
        ".Values.html",
        ".Values.uni",
        ".Values.multi",
        ".Values.num",
        ".Values.fmt",
        "$.Release",
        "$.Release.Name",
        ".Release.Revision",
        ".Values.nope",
        ".Values.nope.x",
        ".Values.nul.x",
        ".Values.name.x",
        ".Values.list.x",
        ".Nope",
        ".Nope.x.y",
        ".é",
        "$.Values.map.z",
        "$.Values.mixed",
        "$.Values.name",
        ".name",
        ".v",
        ".x",
        "$x",
        "$y",
        "$x.name",
        "$y.x",
    ])
    .prop_map(str::to_owned)
}

fn literal() -> impl Strategy<Value = String> + use<> {
    prop_oneof![
        4 => select(vec![
            "0", "1", "2", "-1", "3", "10", "255", "1.0", "1.5", "-0.0", "1e3", "1e21", "1e-7", "123456789.0", "0x10", "0b11", "0o17",
            "017", "1_000", "'a'", "'\\n'", "'é'", "9223372036854775807", "9223372036854775808", "1i", "1+2i", "0x1p4", "1e400", "0x", "089", "-0", "+5", ".5", "5.",
        ]).prop_map(str::to_owned),
        4 => select(vec![
            "\"\"", "\"a\"", "\"web\"", "\"x\"", "\"a b\"", "\"é\\n\\t\\\"\"", "\"\\x41\\u00e9\\101\"", "\"}}\"", "`raw\\n`", "\"%v\"", "\"name\"",
            "\"\\xff\"", "\"\\q\"", "\"z\"", "\"y\"", "\"k\"",
        ]).prop_map(str::to_owned),
        2 => select(vec!["true", "false", "nil"]).prop_map(str::to_owned),
    ]
}

fn format() -> impl Strategy<Value = String> + use<> {
    let verb = select(
        "v v v v d s q x X t T f F e E g G b o O c U w z % i"
            .split(' ')
            .map(str::to_owned)
            .collect::<Vec<_>>(),
    );
    let piece = (
        proptest::string::string_regex("[ +#0-]{0,3}").unwrap(),
        select(vec![
            "", "", "", "1", "5", "12", "*", "[1]", "[2]", "[3]", "[x]", "[1]*", "[2]5",
        ]),
        select(vec![
            "", "", "", ".", ".0", ".1", ".2", ".7", ".20", ".*", ".[2]*", ".[1]3",
        ]),
        select(vec!["", "", "", "", "[1]", "[2]", "[9]", "["]),
        verb,
    )
        .prop_map(|(flags, width, precision, index, verb)| {
            format!("%{flags}{width}{precision}{index}{verb}")
        });
    prop::collection::vec(
        prop_oneof![4 => piece, 1 => Just("x".to_owned()), 1 => Just("é|".to_owned())],
        1..4,
    )
    .prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// An operand: something that can be an argument.
fn operand(calls: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    prop_oneof![
        6 => path(),
        6 => literal(),
        3 => calls.clone().prop_map(|call| format!("({call})")),
        1 => (calls, select(vec![".x", ".name", ".x.y", ".k", ".a"])).prop_map(|(call, field)| format!("({call}){field}")),
    ]
}

const FUNCTIONS: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "len", "index", "index", "index", "slice",
    "slice", "print", "println", "html", "js", "urlquery", "call", "upper", "add", "int", "dict", "set",
    "include", "tpl", "fail", "nosuch",
];

fn call(inner: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    let arguments = |least: usize, most: usize| {
        prop::collection::vec(operand(inner.clone()), least..=most).prop_map(|arguments| arguments.join(" "))
    };
    let function = prop_oneof![
        5 => (select(FUNCTIONS), arguments(0, 3)).prop_map(|(name, arguments)| format!("{name} {arguments}")),
        5 => (select(&["eq", "ne", "lt", "le", "gt", "ge", "and", "or", "index"][..]), arguments(2, 2))
            .prop_map(|(name, arguments)| format!("{name} {arguments}")),
        4 => (format(), arguments(0, 3)).prop_map(|(format, arguments)| format!("printf {format} {arguments}")),
        1 => (operand(inner.clone()), arguments(1, 1)).prop_map(|(first, second)| format!("{first} {second}")),
        2 => (select(&["\"t\"", "\"u\"", "\"nope\""][..]), operand(inner.clone())).prop_map(|(name, dot)| format!("include {name} {dot}")),
        1 => (select(vec!["\"{{ . }}\"", "`{{ define \"q\" }}Q{{ . }}{{ end }}{{ include \"q\" 1 }}`", "`{{ .x.y }}`", "`{{ bad`", "\"\"", "`{{ include \"t\" . }}`", "`{{ template \"u\" $ }}`"]), operand(inner.clone()))
            .prop_map(|(text, dot)| format!("tpl {text} {dot}")),
        2 => (select(&["\"k\"", "\"name\"", "\"x\""][..]), operand(inner.clone())).prop_map(|(key, value)| format!("dict {key} {value}")),
    ];
    prop_oneof![
        3 => operand(inner.clone()),
        5 => function.clone(),
        2 => (operand(inner.clone()), function.clone()).prop_map(|(first, second)| format!("{first} | {second}")),
        1 => (function.clone(), function).prop_map(|(first, second)| format!("{first} | {second}")),
    ]
    .boxed()
}

/// A pipeline.
pub(crate) fn pipeline() -> BoxedStrategy<String> {
    let simple = prop_oneof![path(), literal()].boxed();
    call(&call(&simple))
}

/// An action in delimiters that trim or not.
fn action(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (
        select(vec!["{{", "{{ ", "{{- ", "{{"]),
        text,
        select(vec!["}}", " }}", " -}}", "}}"]),
    )
        .prop_map(|(left, text, right)| format!("{left}{text}{right}"))
}

fn declaration() -> impl Strategy<Value = String> {
    (
        select(vec!["$x :=", "$y :=", "$x =", "$y =", "$x:=", "$x , $y :=", "$x"]),
        pipeline(),
    )
        .prop_map(|(variable, pipeline)| format!("{variable} {pipeline}"))
}

fn nodes(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let range = (
        select(vec!["", "$x := ", "$x, $y := ", "$x = ", "$x, $y = ", "$x,$y := "]),
        prop_oneof![
            3 => select(vec![
                ".Values.list", ".Values.map", ".Values.mixed", "$.Values.nested", "3", "$.Values.emptyList", "$.Values.nums", "$.Values", "(int 2)", "0",
            ]).prop_map(str::to_owned),
            1 => pipeline(),
        ],
    )
        .prop_map(|(variables, pipeline)| format!("range {variables}{pipeline}"));
    prop_oneof![
        4 => action(pipeline()),
        2 => action(declaration()),
        2 => select(vec!["text", " \n ", "\n", "  x  ", "é", "{", "}"]).prop_map(str::to_owned),
        1 => Just("{{/* c\n */}}".to_owned()),
        1 => action(select(vec!["break", "continue", "end", "else", "template \"t\" .", "template \"u\" $.Values", "template \"nope\"", "template \"t\""]).prop_map(str::to_owned)),
        2 => (action(pipeline().prop_map(|p| format!("if {p}"))), inner.clone(), action(Just("end".to_owned())))
            .prop_map(|(head, body, end)| format!("{head}{body}{end}")),
        2 => (pipeline(), inner.clone(), pipeline(), inner.clone(), inner.clone()).prop_map(|(a, x, b, y, z)| {
            format!("{{{{if {a}}}}}{x}{{{{else if {b}}}}}{y}{{{{else}}}}{z}{{{{end}}}}")
        }),
        2 => (prop_oneof![pipeline(), declaration()], inner.clone(), pipeline(), inner.clone()).prop_map(|(a, x, b, y)| {
            format!("{{{{with {a}}}}}{x}{{{{else with {b}}}}}{y}{{{{end}}}}")
        }),
        4 => (action(range), inner.clone(), select(vec!["", "{{break}}", "{{continue}}", "{{if .}}{{break}}{{end}}"]), inner.clone(), inner.clone())
            .prop_map(|(head, body, word, rest, other)| format!("{head}{body}{word}{rest}{{{{else}}}}{other}{{{{end}}}}")),
        1 => (pipeline(), inner).prop_map(|(pipeline, body)| format!("{{{{block \"b\" {pipeline}}}}}{body}{{{{end}}}}")),
    ]
    .boxed()
}

fn some(node: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop::collection::vec(node, 0..3)
        .prop_map(|nodes| nodes.concat())
        .boxed()
}

/// A whole template, sometimes with a mistake.
pub(crate) fn template() -> BoxedStrategy<String> {
    let leaf = prop_oneof![action(pipeline()), Just("t".to_owned())].boxed();
    let body = some(nodes(some(nodes(some(leaf.clone())))));
    let small = some(nodes(some(leaf)));
    let whole = (
        select(vec![
            "",
            "{{$x := .Values}}{{$y := 1}}",
            "{{$x := 0}}{{$y := \"\"}}",
        ]),
        small.clone(),
        small,
        body,
    )
        .prop_map(|(variables, t, u, body)| {
            format!("{{{{define \"t\"}}}}{t}{{{{end}}}}{{{{define \"u\"}}}}[{u}]{{{{end}}}}{variables}{body}")
        });
    let mistake = (
        0usize..1000,
        select(vec![
            "", "}}", "{{", "(", ")", " ", ".", "\"", "|", "-", "\n", "$", "=", ",", "^", "é", "'", "`", ":",
            "end", "{{end}}", "{{- /*",
        ]),
    );
    (whole, prop::option::weighted(0.25, mistake))
        .prop_map(|(text, mistake)| match mistake {
            None => text,
            Some((place, inserted)) => {
                let characters: Vec<char> = text.chars().collect();
                let place = place % (characters.len() + 1);
                let skipped = usize::from(inserted.is_empty());
                let tail = characters.iter().skip(place + skipped);
                characters[..place].iter().collect::<String>() + inserted + &tail.collect::<String>()
            }
        })
        .boxed()
}

/// A single pipeline in an action.
pub(crate) fn expression() -> BoxedStrategy<String> {
    pipeline()
        .prop_map(|pipeline| format!("{{{{{pipeline}}}}}"))
        .boxed()
}
