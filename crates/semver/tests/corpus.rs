//! The recorded verdicts of Masterminds/semver 3.5.0 on every pair of the corpus.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it skips"
)]

use std::path::PathBuf;

use sluice_semver::{Constraints, Rules, Version};

fn corpus() -> Option<serde_json::Value> {
    let folder = std::env::var_os("SLUICE_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let file = folder.join("semver/semver.json");
    match std::fs::read(&file) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Err(error) => {
            assert!(
                std::env::var("SLUICE_REQUIRE").as_deref() != Ok("1"),
                "{}: {error}",
                file.display()
            );
            eprintln!("SKIPPED: {}: {error}", file.display());
            None
        }
    }
}

#[test]
fn versions_parse_and_print_as_recorded() {
    let Some(corpus) = corpus() else { return };
    let versions = corpus["v"].as_object().unwrap();
    assert!(versions.len() > 20);
    for (text, recorded) in versions {
        let mut answer =
            Version::parse(text).map_or_else(|_| "ERR".to_owned(), |version| version.to_string());
        if Version::parse_strict(text).is_err() {
            answer.push_str(" strictERR");
        }
        assert_eq!(answer, recorded.as_str().unwrap(), "{text}");
    }
}

#[test]
fn constraints_match_as_recorded() {
    let Some(corpus) = corpus() else { return };
    let (mut pairs, mut wrong) = (0, Vec::new());
    for (text, verdicts) in corpus["m"].as_object().unwrap() {
        let constraints = Constraints::parse(text, Rules::Helm);
        let Some(verdicts) = verdicts.as_object() else {
            assert!(constraints.is_err(), "'{text}' must be refused");
            continue;
        };
        let constraints = constraints.unwrap();
        for (version, expected) in verdicts {
            pairs += 1;
            let answer = constraints.matches(&Version::parse(version).unwrap());
            if answer != expected.as_bool().unwrap() {
                wrong.push(format!("'{text}' with {version}: {answer}"));
            }
        }
    }
    assert!(pairs > 1000, "only {pairs} pairs");
    assert!(wrong.is_empty(), "{} of {pairs} differ: {wrong:#?}", wrong.len());
}
