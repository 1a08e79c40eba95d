//! YAML as Go reads and writes it.
//!
//! Kubernetes tools written in Go use two YAML libraries whose results differ, and users notice every
//! difference: whether `yes` is a boolean, which of two equal keys wins, where a list is indented, when a
//! line is folded. This crate has both readers (see [`Flavour`]) and the writers, equal to the Go ones
//! byte for byte:
//!
//! | Go | here |
//! |---|---|
//! | `sigs.k8s.io/yaml` `YAMLToJSON`, `Unmarshal` | [`parse_json`] with [`Flavour::Sigs`] |
//! | `go.yaml.in/yaml/v3`, kustomize's kyaml: reading | [`parse_documents`] with [`Flavour::Kyaml`] |
//! | `sigs.k8s.io/yaml` `Marshal`, `JSONToYAML`; kustomize's output | [`write_sigs`], [`write_sigs_node`] |
//! | `go.yaml.in/yaml/v3` `Encoder` | [`write_v3`], [`write_v3_node`] |
//! | kyaml `Parse`, `RNode.String` | [`parse_for_editing`], [`write_kyaml`] |
//!
//! Documents become [`Node`] trees that keep text, style and position, so that a quoted `"0123"` stays a
//! string; [`Node::resolve`] says which type a scalar has. All input is bounded by [`Limits`], and every
//! [`Error`] says what is wrong, where, and what to do.

mod convert;
mod error;
mod flavour;
mod mapping;
mod node;
mod number;
mod read;
mod resolve;
mod timestamp;
mod write;

pub use convert::{json_from_node, node_from_json};
pub use error::{Error, ErrorKind};
pub use flavour::{Flavour, Limits};
pub use mapping::{Entry, Mapping};
pub use node::{Comments, Content, Document, Node, Position, Presentation, Style};
pub use read::{parse_document, parse_documents, parse_for_editing, parse_json};
pub use resolve::{Resolved, resolve_scalar};
pub use timestamp::Timestamp;
pub use write::{write_kyaml, write_sigs, write_sigs_node, write_v3, write_v3_node};
