//! Nodes and mappings as values to work with.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;
use sluice_goyaml::{
    Flavour, Limits, Mapping, Node, Resolved, Style, json_from_node, node_from_json, parse_document,
    write_sigs_node,
};

fn read(text: &str) -> Node {
    parse_document(text.as_bytes(), Flavour::Kyaml, Limits::default())
        .unwrap()
        .unwrap()
}

/// K02, K19: what reads as another type keeps its quotes.
#[test]
fn strings_that_look_like_other_types_stay_strings() {
    let node = read("a: \"0123\"\nb: '1e3'\nc: \"true\"\n\"6443\": x\nd: 0123\n");
    assert_eq!(node.get("a").and_then(Node::as_str), Some("0123"));
    assert_eq!(node.get("a").map(|node| node.style), Some(Style::DoubleQuoted));
    assert_eq!(node.get("d").and_then(Node::as_i64), Some(83));
    assert_eq!(
        write_sigs_node(&node, Flavour::Kyaml).unwrap(),
        "\"6443\": x\na: \"0123\"\nb: \"1e3\"\nc: \"true\"\nd: 83\n"
    );
    for text in ["yes", "on", "1", "null", "~", "", "0x1F", "1.5", "2024-01-02"] {
        assert_eq!(Node::string(text).as_str(), Some(text), "{text}");
        assert_eq!(
            Node::string(text).resolve_as(Flavour::Sigs),
            Some(Resolved::String(text)),
            "{text}"
        );
    }
}

#[test]
fn paths_reach_through_mappings_and_lists_and_make_mappings() {
    let mut node = read("spec:\n  list:\n  - name: a\n  - name: b\nmetadata:\n");
    assert_eq!(node.str_at(["spec", "list", "1", "name"]), Some("b"));
    assert_eq!(node.get_path(["spec", "none"]), None);
    let labels = node.mapping_at_mut(["metadata", "labels"]).unwrap();
    labels.set("app", "x".into());
    assert_eq!(node.str_at(["metadata", "labels", "app"]), Some("x"));
    assert!(node.mapping_at_mut(["spec", "list"]).is_none());
}

#[test]
fn values_are_the_same_whatever_their_order_and_spelling() {
    assert!(read("{a: 0x10, b: [x]}").same_value(&read("b:\n- 'x'\na: 16\n")));
    assert!(!read("a: 1").same_value(&read("a: '1'")));
    assert_ne!(read("a: 'x'"), read("a: x"));
}

/// H11: the end of a block scalar before another document.
#[test]
fn block_scalars_keep_their_blank_lines() {
    let documents = sluice_goyaml::parse_documents(
        b"data:\n  k: |\n    a\n\n    b\n---\ndata:\n  k: |+\n    c\n\n",
        Flavour::Sigs,
        Limits::default(),
    )
    .unwrap();
    assert_eq!(documents[0].str_at(["data", "k"]), Some("a\n\nb\n"));
    assert_eq!(documents[1].str_at(["data", "k"]), Some("c\n\n"));
}

#[test]
fn merge_keys_follow_the_flavour() {
    let text = b"b: &b {x: 1, y: 2}\nd:\n  y: 4\n  <<: *b\n";
    let merged = |flavour| {
        let node = parse_document(text, flavour, Limits::default()).unwrap().unwrap();
        json_from_node(node.get("d").unwrap(), flavour).unwrap()
    };
    assert_eq!(merged(Flavour::Kyaml), json!({"x": 1, "y": 4}));
    // `y` is the boolean true in YAML 1.1, even as a key.
    assert_eq!(merged(Flavour::Sigs), json!({"x": 1, "true": 2}));
}

#[test]
fn json_becomes_nodes_and_comes_back() {
    let value = json!({"a": [1, -2, 1.5, "x", "01", null, true, {"b": {}}], "n": 1e21, "big": u64::MAX});
    assert_eq!(
        json_from_node(&node_from_json(&value), Flavour::Kyaml).unwrap(),
        value
    );
}

/// A step on a mapping.
#[derive(Clone, Debug)]
enum Step {
    Set(u8, i64),
    Insert(u8, usize),
    Remove(u8),
    Rename(u8, u8),
}

proptest! {
    /// Small and indexed mappings answer like a plain list of pairs, whatever is done to them.
    #[test]
    fn mappings_answer_like_lists_of_pairs(steps in prop::collection::vec(
        prop_oneof![
            4 => (0u8..60, any::<i64>()).prop_map(|(key, value)| Step::Set(key, value)),
            1 => (0u8..60, 0usize..60).prop_map(|(key, place)| Step::Insert(key, place)),
            1 => (0u8..60).prop_map(Step::Remove),
            1 => (0u8..60, 0u8..60).prop_map(|(from, to)| Step::Rename(from, to)),
        ],
        0..150,
    )) {
        let name = |key: u8| format!("k{key}");
        let mut mapping = Mapping::new();
        let mut pairs: Vec<(String, i64)> = Vec::new();
        for step in steps {
            match step {
                Step::Set(key, value) => {
                    mapping.set(&name(key), Node::integer(value));
                    match pairs.iter_mut().find(|pair| pair.0 == name(key)) {
                        Some(pair) => pair.1 = value,
                        None => pairs.push((name(key), value)),
                    }
                }
                Step::Insert(key, place) => {
                    if !mapping.contains_key(&name(key)) {
                        mapping.insert_at(place, Node::string(name(key)), Node::integer(7));
                        pairs.insert(place.min(pairs.len()), (name(key), 7));
                    }
                }
                Step::Remove(key) => {
                    let removed = mapping.remove(&name(key)).and_then(|node| node.as_i64());
                    let place = pairs.iter().position(|pair| pair.0 == name(key));
                    prop_assert_eq!(removed, place.map(|place| pairs.remove(place).1));
                }
                Step::Rename(from, to) => {
                    let renamed = mapping.rename(&name(from), &name(to));
                    let taken = pairs.iter().any(|pair| pair.0 == name(to));
                    let found = pairs.iter_mut().find(|pair| pair.0 == name(from));
                    prop_assert_eq!(renamed, !taken && found.is_some());
                    if let (false, Some(pair)) = (taken, found) {
                        pair.0 = name(to);
                    }
                }
            }
            let ours: Vec<_> = mapping.iter().map(|(key, value)| (key.to_owned(), value.as_i64().unwrap())).collect();
            prop_assert_eq!(&ours, &pairs);
            for key in 0..60 {
                let expected = pairs.iter().position(|pair| pair.0 == name(key));
                prop_assert_eq!(mapping.position(&name(key)), expected);
            }
        }
    }
}
