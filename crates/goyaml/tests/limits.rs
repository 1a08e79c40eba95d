//! Whatever comes in: no panic, no more than the limits, and errors that say where.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use sluice_goyaml::{
    Content, ErrorKind, Flavour, Limits, Node, json_from_node, parse_document, parse_documents,
    parse_for_editing, parse_json, write_kyaml, write_sigs, write_v3_node,
};

const FLAVOURS: [Flavour; 3] = [Flavour::Sigs, Flavour::SigsStrict, Flavour::Kyaml];

const SMALL: Limits = Limits {
    bytes: 4096,
    depth: 12,
    nodes: 200,
    text: 2000,
};

/// Nodes, bytes of text and depth of a tree.
fn measure(node: &Node) -> (usize, usize, usize) {
    let mut total = (1, node.text().map_or(0, str::len), 0);
    let mut add = |child: &Node| {
        let (nodes, text, depth) = measure(child);
        total.0 += nodes;
        total.1 += text;
        total.2 = total.2.max(depth + 1);
    };
    match &node.content {
        Content::Sequence(items) => items.iter().for_each(add),
        Content::Mapping(mapping) => {
            for entry in mapping.entries() {
                add(&entry.key);
                add(&entry.value);
            }
        }
        _ => {}
    }
    total
}

fn check(bytes: &[u8]) {
    for flavour in FLAVOURS {
        if let Ok(documents) = parse_documents(bytes, flavour, SMALL) {
            for node in &documents {
                let (nodes, text, depth) = measure(node);
                assert!(nodes <= SMALL.nodes && text <= SMALL.text + 64 && depth <= SMALL.depth);
                if let Ok(value) = json_from_node(node, flavour)
                    && let Ok(written) = write_sigs(&value)
                {
                    let again = parse_json(written.as_bytes(), Flavour::Sigs, Limits::default());
                    assert_eq!(again.as_ref(), Ok(&value), "{written}");
                }
                let _ = write_v3_node(node, false);
            }
        }
    }
    if let Ok(documents) = parse_for_editing(bytes, SMALL) {
        let _ = write_kyaml(&documents);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn any_signs_are_read_without_panic(text in "[-:?,{}\\[\\]&*!|>'\"%@`# \t\r\na-c0-9\\\\~<.=+\u{85}\u{2028}é\u{feff}]{0,60}") {
        check(text.as_bytes());
    }

    #[test]
    fn any_utf_16_is_read_without_panic(units in prop::collection::vec(any::<u16>(), 0..60), little in any::<bool>()) {
        let mut bytes = if little { vec![0xFF, 0xFE] } else { vec![0xFE, 0xFF] };
        for unit in units {
            bytes.extend(if little { unit.to_le_bytes() } else { unit.to_be_bytes() });
        }
        check(&bytes);
    }
}

#[test]
fn aliases_that_grow_exponentially_are_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    for flavour in FLAVOURS {
        let error = parse_document(text.as_bytes(), flavour, Limits::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.go_message(), "yaml: document contains excessive aliasing");
    }
}

#[test]
fn long_texts_cannot_be_multiplied_by_aliases() {
    let text = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1 << 20),
        vec!["*a"; 1000].join(", ")
    );
    let error = parse_document(text.as_bytes(), Flavour::Kyaml, Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn depth_is_limited_in_blocks_flows_and_through_aliases() {
    let flow = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let dashes = "- ".repeat(5000);
    let keys: String = (0..300)
        .map(|level| format!("{}a:\n", " ".repeat(level)))
        .collect();
    let mut aliases = String::from("a0: &a0 [[[[[x]]]]]\n");
    for level in 1..100 {
        aliases.push_str(&format!("a{level}: &a{level} [[[[[*a{}]]]]]\n", level - 1));
    }
    for text in [flow, dashes, keys, aliases] {
        for flavour in FLAVOURS {
            let error = parse_document(text.as_bytes(), flavour, Limits::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        }
    }
}

#[test]
fn large_documents_are_read_and_written_in_linear_time() {
    let entry = "- name: a\n  value: \"text with some words\"\n  list: [1, 2, three]\n  map:\n    key: value # note\n";
    let mut text = String::with_capacity(10 << 20);
    while text.len() < 3 << 20 {
        text.push_str(entry);
    }
    let node = parse_document(text.as_bytes(), Flavour::Kyaml, Limits::default())
        .unwrap()
        .unwrap();
    let written = write_sigs(&json_from_node(&node, Flavour::Kyaml).unwrap()).unwrap();
    assert!(written.len() > 1 << 20);
    let wide: String = (0..100_000)
        .map(|number| format!("key-{number}: {number}\n"))
        .collect();
    for flavour in FLAVOURS {
        let node = parse_document(wide.as_bytes(), flavour, Limits::default())
            .unwrap()
            .unwrap();
        assert_eq!(node.as_mapping().unwrap().len(), 100_000);
        assert_eq!(node.get("key-99999").and_then(Node::as_i64), Some(99_999));
    }
}

#[test]
fn errors_name_file_line_and_remedy() {
    let show = |text: &str, flavour| {
        parse_document(text.as_bytes(), flavour, Limits::default())
            .unwrap_err()
            .in_file("app/deploy.yaml")
            .to_string()
    };
    insta::assert_snapshot!(
        [
            show("a: 1\nb:\n\tc: 2\n", Flavour::Kyaml),
            show("a: 1\nb: 2\na: 3\n", Flavour::Kyaml),
            show("a: @x\n", Flavour::Sigs),
            show("a: b: c\n", Flavour::Sigs),
            show("a: {{ .Values.x }}\n", Flavour::Sigs),
            show("a: *gone\n", Flavour::Kyaml),
            show("a: !!int x\n", Flavour::Kyaml),
            show("null: x\n", Flavour::Sigs),
            show("a:\n  <<: 5\n", Flavour::Sigs),
            show("a: \u{1}\n", Flavour::Sigs),
        ]
        .join("\n"),
        @r#"
    app/deploy.yaml:3:1: found character that cannot start any token; put the text into quotes, and indent with spaces only
    app/deploy.yaml:3:1: the key "a" is already set in line 1; keep one of them
    app/deploy.yaml:1:4: found character that cannot start any token; put the text into quotes, and indent with spaces only
    app/deploy.yaml:1:5: mapping values are not allowed in this context; put a text that holds ': ' into quotes, or check the indent
    app/deploy.yaml:1:5: the key is a sequence or mapping; use a text as key; a template's {{ }} must be in quotes
    app/deploy.yaml:1:4: unknown anchor 'gone' referenced; define the anchor earlier in the same document
    app/deploy.yaml:1:4: the tag !!int does not fit `x`, which reads as !!str; correct the value or remove the tag
    app/deploy.yaml:1:1: the key "null" is null, which JSON does not allow; put the key into double quotes
    app/deploy.yaml:2:7: map merge requires map or sequence of maps as the value; give << an alias of a mapping, a mapping, or a list of these
    app/deploy.yaml:1:4: control characters are not allowed (U+0001); remove the character, or write it as an escape in double quotes
    "#
    );
}
