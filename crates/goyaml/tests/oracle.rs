//! Random texts and values, read and written by the Go libraries and by us.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value};
use sluice_goyaml::{
    Flavour, Limits, json_from_node, parse_document, parse_for_editing, parse_json, write_kyaml, write_sigs,
    write_v3,
};

const CASES: usize = 400;

/// The real libraries' answers; None, with a note, where the oracle is not built.
fn ask_oracle(command: &str, cases: &Value) -> Option<Vec<Value>> {
    let tools = std::env::var_os("SLUICE_TOOLS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools")),
        PathBuf::from,
    );
    let oracle = tools.join("oracle");
    if !oracle.is_file() {
        assert!(
            std::env::var("SLUICE_REQUIRE").as_deref() != Ok("1"),
            "{} is absent",
            oracle.display()
        );
        eprintln!("SKIPPED: {} is absent", oracle.display());
        return None;
    }
    let mut child = Command::new(oracle)
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = serde_json::to_vec(cases).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn cases<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::new(Config::default());
    (0..count)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect()
}

fn count() -> usize {
    std::env::var("SLUICE_CASES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(CASES)
}

/// Errors whose text in Go prints values, types or depends on the order of a Go map.
fn shorten(error: &str) -> String {
    for prefix in [
        "yaml: invalid map key",
        "unsupported map key of type",
        "json: unsupported type",
    ] {
        if error.starts_with(prefix) {
            return prefix.to_owned();
        }
    }
    // Which of two faults of a merge comes first depends on the order of decoding.
    if error.ends_with("value contains itself") {
        return "yaml: map merge requires map or sequence of maps as the value".to_owned();
    }
    // Of several duplicates Go repeats those that an alias brings again.
    if let Some(lines) = error.strip_prefix("yaml: unmarshal errors:\n") {
        return lines.lines().next().unwrap_or_default().to_owned();
    }
    // A key with U+0085 breaks the line of JSON that is read as YAML.
    match error.find("did not find expected ',' or '}'") {
        Some(at) if error.starts_with("yaml: line") => format!("yaml: {}", &error[at..]),
        _ => error.to_owned(),
    }
}

/// Describes how our result differs from an oracle's; None if it does not.
fn difference(
    what: &str,
    text: &str,
    ours: &Result<String, String>,
    theirs: &Value,
    json: bool,
) -> Option<String> {
    let error = theirs["error"].as_str().unwrap();
    let out = theirs["out"].as_str().unwrap();
    let same = match ours {
        // Readers of Go's JSON make an integer of -0.
        Ok(ours) if error.is_empty() && json => {
            let theirs = out.replace(":-0}", ":0}").replace(":-0,", ":0,");
            serde_json::from_str::<Value>(ours).ok() == serde_json::from_str::<Value>(&theirs).ok()
        }
        Ok(ours) => error.is_empty() && ours == out,
        // Of two faults, decoders meet first what stands first in their order.
        Err(ours) if ours.contains("cannot decode") || ours.contains("map key") => {
            !error.is_empty() || text.contains("null")
        }
        Err(ours) => shorten(ours) == shorten(error),
    };
    (!same).then(|| format!("{what}: {text:?}\n  ours   {ours:?}\n  theirs {out:?} {error:?}"))
}

fn go_json(text: &str, flavour: Flavour) -> Result<String, String> {
    parse_json(text.as_bytes(), flavour, Limits::default())
        .map(|value| value.to_string())
        .map_err(|error| error.go_message().to_owned())
}

/// kyaml's `MarshalJSON`, where the text is one mapping.
fn kyaml_json(text: &str) -> Option<Result<String, String>> {
    match parse_document(text.as_bytes(), Flavour::Kyaml, Limits::default()) {
        Ok(Some(node)) if node.as_mapping().is_some() => Some(
            json_from_node(&node, Flavour::Kyaml)
                .map(|value| value.to_string())
                .map_err(|error| error.go_message().to_owned()),
        ),
        Ok(_) => None,
        Err(error) => Some(Err(error.go_message().to_owned())),
    }
}

fn kyaml_text(text: &str) -> Result<String, String> {
    parse_for_editing(text.as_bytes(), Limits::default())
        .map_err(|error| error.go_message().to_owned())
        .and_then(|documents| match documents.get(..1) {
            Some(first) => Ok(write_kyaml(first)),
            None => Err("EOF".to_owned()),
        })
}

/// Where kyaml's way to JSON, through text and a decoder into a Go map, is not followed: errors (it counts
/// lines of its own text and decodes in another order), comments below a kept line break, and merges whose
/// keys are numbers.
fn is_beyond_kyaml(text: &str, ours: &Result<String, String>, theirs: &Value, printed: &Value) -> bool {
    let both_fail = ours.is_err() && theirs["error"] != "";
    let kept = (text.contains("|+") || text.contains(">+")) && text.contains('#');
    let merged_numbers =
        text.contains("<<") && matches!(ours, Err(error) if error.starts_with("json: unsupported"));
    let merged_flow = text.contains("<<") && text.contains('{');
    let behind_null = text.contains("null") && ours.is_err();
    // Among comments and anchors, kyaml prints what it cannot read again.
    let unreadable = theirs["error"]
        .as_str()
        .is_some_and(|error| error.ends_with("could not find expected ':'"))
        && printed["error"] == "";
    unreadable || both_fail || kept || merged_numbers || merged_flow || behind_null
}

fn compare_reading(texts: &[String]) {
    let Some(answers) = ask_oracle("yaml-read", &Value::from(texts.to_vec())) else {
        return;
    };
    assert_eq!(answers.len(), texts.len());
    let mut differences = Vec::new();
    for (text, answer) in texts.iter().zip(&answers) {
        let sigs = go_json(text, Flavour::Sigs);
        differences.extend(difference("sigs", text, &sigs, &answer["sigs"], true));
        let strict = go_json(text, Flavour::SigsStrict);
        differences.extend(difference("strict", text, &strict, &answer["strict"], true));
        if let Some(kyaml) = kyaml_json(text)
            && !is_beyond_kyaml(text, &kyaml, &answer["kyaml"], &answer["text"])
        {
            differences.extend(difference("kyaml", text, &kyaml, &answer["kyaml"], true));
        }
        // kyaml reads one document only; what follows it is none of its business.
        let kyaml = kyaml_text(text);
        let several = text.contains("---") || text.contains("...");
        // After a comment before a dash, yaml.v3 passes over a first error and reports the next.
        let other_error = kyaml.is_err() && answer["text"]["error"] != "" && text.contains('#');
        let complex_key = text.contains("? ") && text.contains('#') || other_error;
        if !complex_key && !matches!(&kyaml, Err(error) if several || error.ends_with("<document start>")) {
            differences.extend(difference("text", text, &kyaml, &answer["text"], false));
        }
    }
    let total = differences.len();
    differences.sort_by_key(String::len);
    differences.truncate(40);
    assert!(
        differences.is_empty(),
        "{total} differences\n{}",
        differences.join("\n")
    );
}

fn scalars() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z]{1,4}",
        1 => prop::sample::select(vec![
            "yes", "no", "on", "off", "y", "n", "true", "False", "null", "~", "", "<<", "=", "0644", "08", "0x1F", "0o17",
            "1_000", "0b11", "1e3", ".5", "5.", "-0", "1:30", ".inf", ".nan", "2024-01-02", "2024-1-2T3:4:5Z",
            "2001-12-14 21:59:43.10", "9223372036854775808", "18446744073709551616", "1e400", "-1.50", "12e03", "+1",
        ]).prop_map(str::to_owned),
        1 => "[0-9.eE+_:xo-]{1,6}",
        1 => "[ -~]{0,6}",
        1 => "[a-z'\"\\\\ :#,?{}\\[\\]&*!|>%@`-]{0,6}",
        1 => "'[a-z ':#]{0,6}'",
        1 => "\"([a-z :#]|\\\\[nt\"\\\\x0-9u]){0,5}\"",
        1 => "[a-z]{1,3}( [a-z]{1,3}){1,2}",
        1 => "!!(str|int|float|bool|null|binary|timestamp|custom) [a-z0-9=]{1,5}",
        1 => "![a-z]{0,2} [a-z0-9]{1,3}",
        1 => "[éü\u{85}\u{2028}\u{a0}😀\t]{1,2}[a-z]{0,2}",
    ]
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-e]",
        1 => prop::sample::select(vec!["yes", "on", "1", "1.5", "null", "true", "0x10", "'q'", "\"d\"", "? a", "? [x]", "*x", "&k a"])
            .prop_map(str::to_owned),
    ]
}

/// Lines of documents, to be indented.
fn blocks() -> impl Strategy<Value = Vec<String>> {
    let leaf = prop_oneof![
        6 => scalars().prop_map(|text| vec![text]),
        1 => ("[|>][+-]?[1-3]?", prop::collection::vec("[ ]{0,2}[a-z#: ]{0,4}", 0..4))
            .prop_map(|(header, lines)| std::iter::once(header).chain(lines.into_iter().map(|line| format!("  {line}"))).collect()),
        1 => prop::sample::select(vec!["*x", "*y", "[a, b, {c: d}]", "{a: 1, b: [x], c: }", "[]", "{}", "{a: b: c}", "[a, b", "{a, b: c}", "[a: b, c]", "[? a : b]"])
            .prop_map(|text| vec![text.to_owned()]),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let comment = prop_oneof![4 => Just(String::new()), 1 => Just(" # c".to_owned())];
        let above = prop_oneof![6 => Just(None), 1 => Just(Some("# head".to_owned())), 1 => Just(Some(String::new()))];
        let anchor = prop_oneof![8 => Just(""), 1 => Just("&x "), 1 => Just("&y ")];
        let entry = (keys(), inner.clone(), comment.clone(), above.clone(), anchor, any::<bool>());
        let mapping = prop::collection::vec(entry, 1..4).prop_map(|entries| {
            let mut lines = Vec::new();
            for (key, value, comment, above, anchor, indent) in entries {
                lines.extend(above);
                let is_sequence = value[0].starts_with("- ");
                if value.len() == 1 && !is_sequence && !value[0].contains(": ") {
                    lines.push(format!("{key}: {anchor}{}{comment}", value[0]));
                } else if value[0].starts_with(['|', '>']) {
                    lines.push(format!("{key}: {anchor}{}{comment}", value[0]));
                    lines.extend(value[1..].iter().cloned());
                } else {
                    lines.push(format!("{key}: {anchor}{comment}"));
                    let pad = if is_sequence && !indent { "" } else { "  " };
                    lines.extend(value.iter().map(|line| format!("{pad}{line}")));
                }
            }
            lines
        }).boxed();
        let item = (inner, comment, above);
        let sequence = prop::collection::vec(item, 1..4).prop_map(|items| {
            let mut lines = Vec::new();
            for (value, comment, above) in items {
                lines.extend(above);
                lines.push(format!("- {}{comment}", value[0]));
                lines.extend(value[1..].iter().map(|line| format!("  {line}")));
            }
            lines
        });
        prop_oneof![2 => mapping.clone(), 1 => sequence, 1 => (mapping, "<<: (\\*x|\\*y|\\[\\*x, \\*y\\]|\\{m: 1\\})").prop_map(|(mut lines, merge)| {
            lines.push(merge);
            lines
        })]
    })
}

fn documents() -> impl Strategy<Value = String> {
    let noise = prop_oneof![
        8 => Just(""),
        1 => Just("\n"),
        1 => Just("\n# foot\n"),
        1 => Just("\n---\nb: 2\n"),
        1 => Just("\n...\n"),
        1 => Just("\n\t"),
    ];
    let start = prop_oneof![
        8 => Just(""),
        1 => Just("---\n"),
        1 => Just("# top\n\n"),
        1 => Just("%YAML 1.1\n---\n"),
        1 => Just("x: &x {p: 1, q: 2}\ny: &y {q: 3, r: 4}\n"),
        1 => Just("\u{feff}"),
    ];
    (start, blocks(), noise).prop_map(|(start, lines, noise)| format!("{start}{}{noise}", lines.join("\n")))
}

#[test]
fn random_documents_read_as_in_go() {
    compare_reading(&cases(&documents(), count()));
}

#[test]
fn random_scalars_read_as_in_go() {
    let texts: Vec<String> = cases(&scalars(), count())
        .into_iter()
        .map(|text| format!("a: {text}"))
        .collect();
    compare_reading(&texts);
}

#[test]
fn random_characters_read_as_in_go() {
    let strategy = prop_oneof![
        "[a-c:\\- \n#'\"\\[\\]{},?|>&*!%\t]{0,16}",
        "[a-b: \n-]{0,24}",
        "[{}\\[\\],:a \n]{0,12}",
        "[ -~\n]{0,16}",
    ];
    compare_reading(&cases(&strategy, count()));
}

/// Texts that once read differently.
#[test]
fn texts_that_read_differently_once_read_as_in_go() {
    let texts = [
        // The tag `!` makes text in yaml.v2 and counts for nothing in yaml.v3.
        "a: ! 7",
        "a: ! \"7\"",
        // Unknown anchors come before all other faults.
        "*b",
        "? [x]: w\n<<: [*x, *y]",
        // An empty value in a flow collection becomes '' on kyaml's way through text.
        "{a: 1, b: [x], c: }",
        "a: {b: , c}",
        // Folding anew adds a line break before indented lines.
        "d: >\n  ij\n    ##::\nb: 1",
        // A required key at the end of the text.
        "x: 1\n[a, b",
        // Tokens whose place has been taken already.
        "[]:a]:\na,} :",
        // An anchor that is defined again within its own content.
        "a: &x\n  c: 1\n  d: &x 5.\ne: *x\n",
        // An alias of a list is no list of mappings.
        "b: &x\n- {a: 1}\nc:\n  <<: *x",
        // Keys that are not strings.
        "0x10: a\n16: b",
        "yes: 1\ntrue: 2",
        "?\n?",
        "null: a\nb: c",
        "a:\n  1: b",
        "1.5: a\n1e3: b",
        // Base64 that is not UTF-8.
        "a: !!binary 878d",
        // Times.
        "a: 2024-1-2\nb: 2024-01-02 3:4:5.678\nc: 2024-01-02t03:04:05+02:30\nd: 2024-02-30\ne: 2024-01-02T03:04:05.120Z",
        // Comments in all places.
        "# top\n\n# head\na: 1 # line\n# foot\n\nb: # key\n  # inner\n  - 1 # one\n  # between\n  - 2\n  # end\n\n# last\n",
        "a:\n- # dash\n  b: 1\n- c: 2\n# tail\nd: {x: 1, y: 2} # flow\ne: | # block\n  t\n",
        "a: [1, # one\n  2] # two\n",
    ];
    compare_reading(&texts.map(str::to_owned));
}

fn strings() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => scalars(),
        1 => "\\PC{0,6}",
        1 => "[ -~]{0,10}",
        1 => "[a-z \n\t:#-]{0,12}",
        1 => "[ \n]{0,4}[a-z]{0,3}[ \n]{0,4}",
        1 => "([a-z]{1,12}[ ]{1,2}){6,16}",
        1 => "([a-z'\"]{1,12} ){8,12}[:#é\\\\]{1,3}([a-z]{1,9} ){1,12}",
        1 => "[a-z\u{1}\u{7f}\u{80}\u{85}\u{a0}\u{2028}\u{fffd}\u{feff}😀\r\n ]{0,6}",
        1 => "[a-z]{100,140}",
        1 => "([a-z ]{0,9}\n){1,5}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => strings().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<i32>().prop_map(|number| Value::from(f64::from(number))),
        1 => any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        1 => (-30i32..30, 1u32..99999).prop_map(|(exponent, digits)| Value::from(f64::from(digits) * 10f64.powi(exponent))),
        1 => any::<i64>().prop_map(|number| Value::from(number as f64)),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((prop_oneof![3 => "[a-zA-Z./_-]{1,5}[0-9]{0,3}", 1 => "[0-9]{1,4}", 1 => strings().prop_map(|text| text.replace(|letter: char| letter > '\u{300}', "é"))], inner), 0..6)
                .prop_map(|pairs| Value::from(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn compare_writing(values: &[Value]) {
    let Some(answers) = ask_oracle("yaml-write", &Value::from(values.to_vec())) else {
        return;
    };
    assert_eq!(answers.len(), values.len());
    let mut differences = Vec::new();
    for (value, answer) in values.iter().zip(&answers) {
        let text = value.to_string();
        let sigs = write_sigs(value).map_err(|error| error.go_message().to_owned());
        // Of several characters that cannot be written, Go reports the first it meets in its order.
        if sigs.is_ok() || answer["sigs"]["error"] == "" {
            differences.extend(difference("sigs", &text, &sigs, &answer["sigs"], false));
        }
        differences.extend(difference(
            "v3",
            &text,
            &Ok(write_v3(value, false)),
            &answer["v3"],
            false,
        ));
        differences.extend(difference(
            "kyaml",
            &text,
            &Ok(write_v3(value, true)),
            &answer["kyaml"],
            false,
        ));
    }
    let total = differences.len();
    differences.sort_by_key(String::len);
    differences.truncate(20);
    assert!(
        differences.is_empty(),
        "{total} differences\n{}",
        differences.join("\n")
    );
}

#[test]
fn random_values_are_written_as_in_go() {
    compare_writing(&cases(&values(), count()));
}

#[test]
fn random_strings_are_written_as_in_go() {
    compare_writing(&cases(
        &strings().prop_map(|text| serde_json::json!({ "a": text })),
        count(),
    ));
}
