//! Addresses of remote bases are read as kustomize 5.8.1 reads them: random ones are given to both, and what
//! the real one does not tell is held to a table.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sluice_kustomize::GitAddress;

/// Random addresses of one run.
const CASES: usize = 20_000;

/// Repository, directory and reference of each text, as the real library reads it; None for a path.
fn ask_oracle(cases: &[String]) -> Option<Vec<Value>> {
    let oracle = support::tool("oracle")?;
    let mut child = Command::new(oracle)
        .arg("git-address")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(json!(cases).to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn ours(text: &str) -> Value {
    match GitAddress::parse(text) {
        Some(address) => json!({
            "repository": address.repository(),
            "directory": cleaned(address.directory()),
            "reference": address.reference(),
        }),
        None => Value::Null,
    }
}

/// The form in which the real library shows a directory.
fn cleaned(directory: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    if parts.is_empty() {
        "notCloned".to_owned()
    } else {
        parts.join("/")
    }
}

fn one_of(choices: &[&'static str]) -> prop::sample::Select<&'static str> {
    prop::sample::select(choices.to_vec())
}

/// Mostly what looks like an address, with marks in odd places.
fn address() -> impl Strategy<Value = String> {
    let head = (
        one_of(&["", "", "", "git::", "GIT::"]),
        one_of(&[
            "", "", "https://", "https://", "http://", "ssh://", "file://", "HTTPS://", "ftp://",
        ]),
        one_of(&["", "", "git@", "user@", "o-1@", "1a@", "u:p@", "a_b@", "@"]),
        one_of(&[
            "github.com",
            "GitHub.com",
            "gitlab.com",
            "host",
            "127.0.0.1:80",
            "",
            "github.com.evil",
        ]),
        one_of(&["/", "/", "/", ":", "//", ""]),
    );
    let piece = one_of(&[
        "/",
        "/",
        "//",
        ":",
        "owner",
        "repo",
        ".git",
        "repo.git",
        "_git/",
        "_git",
        "..",
        "../..",
        ".",
        "a",
        "b/c",
        "x.yaml",
        "%20",
        "@",
        "#",
        "~",
        "=",
        "&",
        "owner/repo",
        "owner/repo/",
    ]);
    let parameter = one_of(&[
        "",
        "",
        "?ref=v1",
        "?version=v2",
        "?ref=v3&version=v4",
        "?version=v5&ref=",
        "?ref=a%2fb",
        "?ref=a+b",
        "?ref=%zz",
        "?ref=a;b",
        "?timeout=3&ref=x",
        "?ref=x=y",
        "?ref=a&ref=b",
        "?&&ref=c",
        "?ref",
        "??ref=d",
        "?ref=e?f",
        "?%72ef=g",
    ]);
    (head, prop::collection::vec(piece, 0..6), parameter).prop_map(|(head, pieces, parameter)| {
        let (forced, scheme, user, host, separator) = head;
        format!(
            "{forced}{scheme}{user}{host}{separator}{}{parameter}",
            pieces.concat()
        )
    })
}

#[test]
fn random_addresses_are_read_as_kustomize_reads_them() {
    let mut runner = TestRunner::default();
    let cases: Vec<String> = (0..CASES)
        .map(|_| address().new_tree(&mut runner).unwrap().current())
        .collect();
    let Some(answers) = ask_oracle(&cases) else {
        return;
    };
    assert_eq!(answers.len(), cases.len());
    let addresses = answers.iter().filter(|answer| !answer.is_null()).count();
    assert!(
        addresses * 10 > CASES,
        "only {addresses} of {CASES} texts are addresses"
    );
    let mut wrong = Vec::new();
    for (case, answer) in cases.iter().zip(&answers) {
        // The real one lets these leave the clone first, and refuses them afterwards.
        if GitAddress::parse(case).is_some_and(|address| address.directory().starts_with('/')) {
            continue;
        }
        if *answer != ours(case) {
            wrong.push(format!("{case}: {answer}, ours {}", ours(case)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

/// Repository, directory and reference.
const FORMS: [(&str, [&str; 3]); 26] = [
    ("https://host/owner/repo", ["https://host/owner/repo", "", ""]),
    (
        "https://host/owner/repo/a/b?ref=v1",
        ["https://host/owner/repo", "a/b", "v1"],
    ),
    (
        "https://host/owner/repo//a/b?ref=v1",
        ["https://host/owner/repo", "a/b", "v1"],
    ),
    (
        "https://host/o/r/s//a?version=v1",
        ["https://host/o/r/s", "a", "v1"],
    ),
    (
        "https://host/o/r?version=v1&ref=v2",
        ["https://host/o/r", "", "v2"],
    ),
    (
        "https://host/deep/er/repo.git/a",
        ["https://host/deep/er/repo.git", "a", ""],
    ),
    (
        "https://host/repo.git?ref=a%2Fb",
        ["https://host/repo.git", "", "a/b"],
    ),
    (
        "https://host/o/p/_git/repo/a/b",
        ["https://host/o/p/_git/repo", "a/b", ""],
    ),
    (
        "https://user@host/o/p/_git/repo",
        ["https://user@host/o/p/_git/repo", "", ""],
    ),
    ("https://u:secret@host/o/r", ["https://u:secret@host/o/r", "", ""]),
    ("HTTPS://host/o/r", ["https://host/o/r", "", ""]),
    (
        "http://127.0.0.1:81/r.git//a",
        ["http://127.0.0.1:81/r.git", "a", ""],
    ),
    ("git::https://host/o/r//a", ["https://host/o/r", "a", ""]),
    ("git::git@host:o/r", ["git@host:o/r", "", ""]),
    ("github.com/o/r/a", ["https://github.com/o/r", "a", ""]),
    ("GitHub.com:o/r", ["https://github.com/o/r", "", ""]),
    ("http://github.com/o/r", ["https://github.com/o/r", "", ""]),
    ("https://user@github.com/o/r", ["user@github.com:o/r", "", ""]),
    ("git@github.com:o/r.git//a", ["git@github.com:o/r.git", "a", ""]),
    ("ssh://github.com/o/r", ["github.com:o/r", "", ""]),
    (
        "ssh://git@host:2222/o/r.git",
        ["ssh://git@host:2222/o/r.git", "", ""],
    ),
    ("git@host:o/r/a", ["git@host:o/r", "a", ""]),
    ("git@host/o/r/a", ["git@host/o/r", "a", ""]),
    ("org-1@host:r.git", ["org-1@host:r.git", "", ""]),
    ("file:///srv/r", ["file:///srv/r", "", ""]),
    ("file:///srv/r.git/a?ref=main", ["file:///srv/r.git", "a", "main"]),
];

#[test]
fn each_form_of_an_address_has_its_repository_directory_and_reference() {
    for (text, wanted) in FORMS {
        let address = GitAddress::parse(text).unwrap_or_else(|| panic!("{text} is an address"));
        let found = [address.repository(), address.directory(), address.reference()];
        assert_eq!(found, wanted, "{text}");
    }
    for path in [
        "",
        "a",
        "../base",
        "/abs/base",
        "a/b/c",
        "host.com/o/r",
        "https://host/one",
        "https://host",
        "ftp://h/o/r",
        "1a@host:o/r",
        "https://host/o/r//../x",
        "https://host/o/r.git/../../x",
        "https:///o/r",
        "file://",
        "github.com",
    ] {
        // The host may be empty where a slash ends it.
        let wanted = path == "https:///o/r";
        assert_eq!(GitAddress::parse(path).is_some(), wanted, "{path}");
    }
}

#[test]
fn timeouts_and_submodules_follow_the_parameters() {
    let default = Duration::from_secs(27);
    for (query, timeout) in [
        ("", default),
        ("?timeout=61", Duration::from_secs(61)),
        ("?timeout=%2B61", Duration::from_secs(61)),
        ("?timeout=1m30s", Duration::from_secs(90)),
        ("?timeout=1.5h", Duration::from_secs(5400)),
        ("?timeout=.5s", Duration::from_millis(500)),
        ("?timeout=250ms", Duration::from_millis(250)),
        ("?timeout=0", default),
        ("?timeout=-5", default),
        ("?timeout=-5s", default),
        ("?timeout=5x", default),
        ("?timeout=s", default),
        ("?timeout=1.2.3s", default),
        ("?timeout=", default),
        ("?timeout=3&timeout=4", Duration::from_secs(3)),
        ("?timeout=3&a=%zz", default),
    ] {
        let address = GitAddress::parse(&format!("https://host/o/r{query}")).unwrap();
        assert_eq!(address.timeout(), timeout, "{query}");
    }
    for (query, wanted) in [
        ("", true),
        ("?submodules=false", false),
        ("?submodules=0", false),
        ("?submodules=F", false),
        ("?submodules=no", true),
        ("?submodules=true", true),
    ] {
        let address = GitAddress::parse(&format!("https://host/o/r{query}")).unwrap();
        assert_eq!(address.submodules(), wanted, "{query}");
    }
}

#[test]
fn addresses_print_without_what_may_be_secret() {
    for (text, wanted) in [
        (
            "https://u:secret@host/o/r//a?ref=v1",
            "https://host/o/r//a?ref=v1",
        ),
        (
            "https://secret@host/o/r?ref=v1&token=secret&timeout=3",
            "https://host/o/r?ref=v1&token=***&timeout=3",
        ),
        ("git@host:o/r?ref=v1", "git@host:o/r?ref=v1"),
        ("ssh://git@host/o/r", "ssh://git@host/o/r"),
    ] {
        let address = GitAddress::parse(text).unwrap();
        assert_eq!(address.to_string(), wanted);
        assert!(!format!("{address:?}").contains("secret"));
    }
}
