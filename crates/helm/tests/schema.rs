//! Covers HEL-068 (as far as the engine goes).
//!
//! Values that do not fit a schema: the words must be those of the real helm. Their order is not compared,
//! for Helm's is that of a Go map.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail this way")]

mod support;

use support::{Files, run_ours, run_real, tool, write};

/// Schemas, each with values that are held against it.
const CASES: &[(&str, &[&str])] = &[
    (
        r#"{"properties": {"n": {"maximum": 1000000}, "f": {"minimum": 1234567.5}, "s": {"minLength": 12345},
        "e": {"enum": ["a", 1, null, true]}, "t": {"type": ["object", "null", "integer", "string"]}, "p": {"multipleOf": 3},
        "i": {"minItems": 1}, "k": {"const": "x"}, "l": {"enum": [[1]]}, "m": {"const": {"a": 1}}}}"#,
        &[
            r#"{"n": 1234567, "f": 1e21, "s": "x", "e": "zz", "t": 1.5, "p": 10, "i": [], "k": 2, "l": 1, "m": 1}"#,
            r#"{"n": 1000000, "f": 1234567.5, "e": 1, "t": 5, "p": 9, "i": [1], "k": "x", "l": [1], "m": {"a": 1.0}}"#,
            r#"{"n": 12345678901, "f": -0.00001, "e": null, "t": true, "p": 0.5}"#,
        ],
    ),
    (
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["a", "b"],
        "additionalProperties": false, "properties": {"a": {"type": "string", "pattern": "^x+$"},
        "b": {"type": "object", "required": ["c"], "properties": {"c": {"type": "integer", "minimum": 1, "maximum": 5}}},
        "it's": {"type": "null"}, "x/y~z": {"type": "boolean"}, "d": {"items": [{"type": "string"}], "additionalItems": false}}}"#,
        &[
            "{}",
            r#"{"a": "y", "b": {}, "extra": 1}"#,
            r#"{"a": "xx", "b": {"c": 9}, "it's": 1, "x/y~z": 2}"#,
            r#"{"a": "x'y\"z", "b": {"c": 1.5}, "d": ["a", "b", "c"]}"#,
            r#"{"a": "x", "b": {"c": 2.0}, "d": [1]}"#,
        ],
    ),
    (
        r##"{"$ref": "#/$defs/top", "$defs": {"top": {"properties": {"port": {"$ref": "#/$defs/port"}, "many": {"type": "array",
        "items": {"$ref": "#/$defs/port"}, "uniqueItems": true, "maxItems": 3, "contains": {"const": 80}}, "next": {"$ref": "#"}}},
        "port": {"type": "integer", "minimum": 1, "multipleOf": 10, "maximum": 65535}}}"##,
        &[
            r#"{"port": 0}"#,
            r#"{"port": -3}"#,
            r#"{"port": "x", "many": [80, "y", 80]}"#,
            r#"{"many": [1, 2, 3, 4]}"#,
            r#"{"next": {"next": {"port": "deep"}}}"#,
        ],
    ),
    (
        r#"{"properties": {"all": {"allOf": [{"type": "string"}, {"minLength": 3}]}, "any": {"anyOf": [{"type": "string"},
        {"type": "integer", "minimum": 5}]}, "one": {"oneOf": [{"type": "number"}, {"minimum": 3}, {"type": "string"}]},
        "not": {"not": {"type": "string"}}, "if": {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c", "d"]}},
        "names": {"propertyNames": {"maxLength": 2}}, "deps": {"dependentRequired": {"a": ["b", "c"]}, "dependentSchemas": {"x": {"required": ["y"]}}},
        "size": {"minProperties": 1, "maxProperties": 2}, "pat": {"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": {"type": "string"}},
        "never": false, "pre": {"prefixItems": [{"type": "string"}], "items": {"type": "number"}}, "few": {"contains": {"type": "string"}, "minContains": 2, "maxContains": 3}}}"#,
        &[
            r#"{"all": 1}"#,
            r#"{"all": "x"}"#,
            r#"{"any": 3}"#,
            r#"{"any": {}, "one": 5}"#,
            r#"{"one": null}"#,
            r#"{"one": {}}"#,
            r#"{"not": "x", "never": 1}"#,
            r#"{"if": {"a": 1}}"#,
            r#"{"if": {}}"#,
            r#"{"names": {"long": 1}}"#,
            r#"{"deps": {"a": 1, "x": 2}}"#,
            r#"{"size": {}}"#,
            r#"{"size": {"a": 1, "b": 2, "c": 3}}"#,
            r#"{"pat": {"n1": "x", "other": 2}}"#,
            r#"{"pre": [1, "x"]}"#,
            r#"{"few": [1, "a"]}"#,
            r#"{"few": ["a", "b", "c", "d"]}"#,
            r#"{"all": "xyz", "any": "x", "one": 1, "not": 1, "if": {"c": 1, "d": 1}, "names": {"ab": 1}, "few": ["a", "b"]}"#,
        ],
    ),
    (
        r#"{"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"x": {"minimum": 3, "exclusiveMinimum": true},
        "y": {"maximum": 3}}, "dependencies": {"x": ["y"]}}"#,
        &[r#"{"x": 3}"#, r#"{"x": 4, "y": 4}"#],
    ),
    (
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"u": {"format": "uri"}, "r": {"format": "uri-reference"},
        "d": {"format": "date"}, "t": {"format": "time"}, "dt": {"format": "date-time"}, "e": {"format": "email"}, "h": {"format": "hostname"},
        "4": {"format": "ipv4"}, "6": {"format": "ipv6"}, "id": {"format": "uuid"}, "l": {"format": "duration"}, "p": {"format": "period"},
        "j": {"format": "json-pointer"}, "rj": {"format": "relative-json-pointer"}, "v": {"format": "semver"}, "n": {"format": "nothing"},
        "ut": {"format": "uri-template"}}}"#,
        &[
            r#"{"u": "https://a.b/c?d#e", "r": "../x", "d": "2024-02-29", "t": "23:59:60Z", "dt": "2024-01-02T03:04:05.6+07:00",
            "e": "a.b+c@d.example", "h": "a-1.b.", "4": "1.2.3.4", "6": "::1", "id": "00000000-0000-0000-0000-00000000000a",
            "l": "P1Y2DT3H", "p": "P1D/2024-01-02T03:04:05Z", "j": "/a~0/b", "rj": "1/a", "v": "1.2.3-a.1+b", "n": "x", "ut": "/a/{b}"}"#,
            r#"{"u": 1, "d": null, "4": [], "6": {}}"#,
            r#"{"u": "/a", "r": "a\b", "d": "2024-02-30", "t": "1:2:3", "dt": "2024-01-02 03:04:05Z", "e": "a", "h": "-a", "4": "1.2.3",
            "6": "1", "id": "x", "l": "1D", "p": "x", "j": "a", "rj": "x", "v": "1.2", "ut": "/a/{b"}"#,
            r#"{"u": "http://[::1", "r": "http://a b", "d": "x", "t": "25:00:00Z", "dt": "x", "e": "a..b@c", "h": "a_b", "4": "01.2.3.4",
            "id": "0000000g-0000-0000-0000-000000000000", "l": "P", "p": "P/x", "j": "/~2", "rj": "01", "v": "01.2.3"}"#,
            r#"{"u": "", "d": "2024-1-1", "t": "12:00:00+1:00", "dt": "2024-13-02T03:04:05Z", "e": "a@-b", "h": "a..b", "4": "1.2.3.x",
            "6": "fe80::1%eth0", "id": "0-0-0-0-0", "l": "P1", "p": "2024-01-02T03:04:05Z/P1Q", "rj": "0#", "v": "1.2.3-01"}"#,
            r#"{"u": "a:%zz", "t": "12:00:60Z", "e": ""a"b"@c", "h": "é", "4": "1.2.3.256", "l": "P1D2Y", "v": "1.2.3+"}"#,
            r#"{"e": "a@[1.2.3]", "l": "PT", "t": "12:00:00.Z", "id": "0000000-00000-0000-0000-000000000000", "v": "1.2.x", "4": "1.2.3.99999999999999999999"}"#,
            r#"{"e": "a b@c", "l": "PT1D", "t": "12:00:00*01:00", "v": "1.2.3-é", "u": "ab:c"}"#,
            r#"{"e": "a@[IPv6:::1]", "l": "P1W", "t": "12:00:00-24:00", "v": "1..3"}"#,
        ],
    ),
    (r#"{"properties": {"u": {"format": "uri"}}}"#, &[r#"{"u": "/a"}"#]),
    (
        r##"{"properties": {"o": {"properties": {"a": true}, "allOf": [{"properties": {"b": {"type": "integer"}}}, {"$ref": "#/$defs/c"}],
        "anyOf": [{"required": ["d"], "properties": {"d": true}}, {"properties": {"e": true}}], "if": {"required": ["f"], "properties": {"f": true}},
        "then": {"properties": {"g": true}}, "unevaluatedProperties": false}, "s": {"patternProperties": {"^x": true},
        "unevaluatedProperties": {"type": "string"}}, "l": {"prefixItems": [true], "contains": {"type": "string"}, "unevaluatedItems": {"type": "number"}},
        "m": {"allOf": [{"prefixItems": [true, true]}], "unevaluatedItems": false}, "n": {"allOf": [{"additionalProperties": true}], "unevaluatedProperties": false},
        "dep": {"dependentSchemas": {"a": {"properties": {"a": true, "b": true}}}, "unevaluatedProperties": false},
        "inner": {"properties": {"x": {"properties": {"y": true}}}, "unevaluatedProperties": false}},
        "$defs": {"c": {"properties": {"c": true}}}}"##,
        &[
            r#"{"o": {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7}}"#,
            r#"{"o": {"a": 1, "g": 7}}"#,
            r#"{"o": {"e": 1, "z": 7}}"#,
            r#"{"o": {"b": "x"}}"#,
            r#"{"s": {"x1": 1, "y": 1}, "l": [true, "a", 1, true], "m": [1, 2, 3], "n": {"q": 1}}"#,
            r#"{"dep": {"a": 1, "b": 2}}"#,
            r#"{"dep": {"b": 2}}"#,
            r#"{"inner": {"x": {"z": 1}}}"#,
        ],
    ),
    (
        r#"{"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"l": {"items": [true], "contains": {"type": "string"},
        "unevaluatedItems": false}, "m": {"allOf": [{"items": [true], "additionalItems": true}], "unevaluatedItems": false}}}"#,
        &[r#"{"l": [1, "a"], "m": [1, 2]}"#, r#"{"l": ["a"]}"#],
    ),
    (r##"{"properties": {"a": {"$ref": "#/nope"}}}"##, &[r#"{"b": 1}"#]),
    ("false", &["{}"]),
    ("true", &["{}"]),
    (r#"{"properties": {"a": {"$ref": "urn:x:y"}}}"#, &[r#"{"a": 1}"#]),
    (
        r##"{"$id": "https://example.com/root.json", "properties": {"a": {"$ref": "item.json#/$defs/n"}, "b": {"$ref": "#named"}},
        "$defs": {"item": {"$id": "item.json", "$defs": {"n": {"type": "number"}}}, "x": {"$anchor": "named", "type": "string"}}}"##,
        &[r#"{"a": "x"}"#, r#"{"b": 1}"#],
    ),
];

fn lines(outcome: &Result<String, String>) -> Result<&String, Vec<&str>> {
    outcome.as_ref().map_err(|error| {
        let mut lines: Vec<&str> = error.trim_end().lines().collect();
        lines.sort_unstable();
        lines
    })
}

#[test]
fn words_for_what_does_not_fit_are_those_of_helm() {
    let Some(helm) = tool("helm") else {
        return;
    };
    let mut problems = Vec::new();
    for (schema, values) in CASES {
        let files: Files = vec![
            (
                "chart/Chart.yaml".to_owned(),
                "apiVersion: v2\nname: chart\nversion: 0.1.0\n".to_owned(),
            ),
            ("chart/values.schema.json".to_owned(), (*schema).to_owned()),
            (
                "chart/templates/a.yaml".to_owned(),
                "a: {{ .Values | toJson }}\n".to_owned(),
            ),
        ];
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &files);
        for values in *values {
            let arguments = ["--set-json".to_owned(), (*values).to_owned()];
            let (real, ours) = (
                run_real(&helm, directory.path(), &arguments),
                run_ours(&files, &arguments),
            );
            if lines(&real) != lines(&ours) {
                problems.push(format!("=== {schema}\n{values}\nhelm: {real:?}\nours: {ours:?}"));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} differ\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn charts_inside_are_checked_and_checks_can_be_left_out() {
    let Some(helm) = tool("helm") else {
        return;
    };
    let schema = |kind: &str| format!(r#"{{"properties": {{"a": {{"type": "{kind}"}}}}}}"#);
    let about = |name: &str| format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n");
    let files: Files = vec![
        ("chart/Chart.yaml".to_owned(), about("chart")),
        ("chart/values.schema.json".to_owned(), schema("string")),
        ("chart/charts/sub/Chart.yaml".to_owned(), about("sub")),
        (
            "chart/charts/sub/values.schema.json".to_owned(),
            schema("boolean"),
        ),
        (
            "chart/charts/sub/charts/deep/Chart.yaml".to_owned(),
            about("deep"),
        ),
        (
            "chart/charts/sub/charts/deep/values.schema.json".to_owned(),
            schema("null"),
        ),
        (
            "chart/charts/sub/charts/deep/templates/a.yaml".to_owned(),
            "a: {{ .Values.a }}\n".to_owned(),
        ),
    ];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &files);
    for arguments in [
        &["--set", "a=1,sub.a=2,sub.deep.a=3"][..],
        &["--set", "a=x,sub.a=2"],
        &["--set", "a=1,sub.a=2,sub.deep.a=3", "--skip-schema-validation"],
        &["--set", "a=x,sub.a=true"],
    ] {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let real = run_real(&helm, directory.path(), &arguments);
        let ours = run_ours(&files, &arguments).map_err(|error| error.trim_end().to_owned());
        assert_eq!(ours, real, "{arguments:?}");
    }
}
