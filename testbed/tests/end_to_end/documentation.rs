//! The examples in the documentation: every manifest is one that the API server takes.

use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::tools::{require_or_skip, workspace};

use crate::support::*;

/// The blocks of a language in a Markdown text.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    text.split(&opening)
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_in_the_documentation_are_accepted() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("documentation").await.unwrap();
    let mut tried = 0;
    for file in files_below(&workspace().join("docs")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for block in blocks(&text, "yaml") {
            let strict = [
                "-n",
                namespace.name(),
                "create",
                "--dry-run=server",
                "--validate=strict",
                "-f",
                "-",
            ];
            if let Err(error) = plane.kubectl_with_input(&strict, block) {
                panic!("{}: {error}\n{block}", file.display());
            }
            tried += 1;
        }
    }
    assert!(tried >= 8, "{tried} manifests were found");
}

#[test]
fn blocks_are_found_by_their_language() {
    let text = "a\n```yaml\na: 1\nb: 2\n```\n```sh\nls\n```\n```yaml\nc: 3\n```\n";
    assert_eq!(blocks(text, "yaml"), ["a: 1\nb: 2", "c: 3"]);
    assert_eq!(blocks(text, "sh"), ["ls"]);
}
