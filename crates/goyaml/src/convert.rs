use serde_json::{Map, Number, Value};

use crate::number::{format_general_32, format_json};
use crate::{
    Content, Entry, Error, ErrorKind, Flavour, Limits, Mapping, Node, Resolved, Style, parse_document,
    write_v3_node,
};

/// The JSON that Go makes of a node: what `sigs.k8s.io/yaml` `YAMLToJSON` prints for [`Flavour::Sigs`], what
/// kyaml's `RNode.MarshalJSON` prints for [`Flavour::Kyaml`].
///
/// Numbers are as a reader of Go's JSON text finds them: `1.0` becomes the integer 1, an integer above
/// [`u64::MAX`] a float. Binary data becomes text, with U+FFFD for what is not UTF-8. Times stay text in the
/// `Sigs` flavours and become RFC 3339 in `Kyaml`.
///
/// # Errors
/// Infinite numbers and not-a-number ([`ErrorKind::NoJson`]), tags that do not fit ([`ErrorKind::Tag`]), and
/// keys that are not scalars or, in `Kyaml` below the top level, not strings ([`ErrorKind::InvalidKey`]).
pub fn json_from_node(node: &Node, flavour: Flavour) -> Result<Value, Error> {
    convert(
        node,
        flavour,
        Level {
            top: true,
            flow: false,
        },
    )
}

/// Where in a document a node is.
#[derive(Clone, Copy)]
struct Level {
    top: bool,
    /// Within `[]` or `{}`.
    flow: bool,
}

fn convert(node: &Node, flavour: Flavour, level: Level) -> Result<Value, Error> {
    let below = Level {
        top: false,
        flow: level.flow || node.style == Style::Flow,
    };
    match &node.content {
        // kyaml goes through text, where an empty scalar is written as '' in flow collections.
        Content::Scalar(text) if text.is_empty() && level.flow && !flavour.is_sigs() && is_untagged(node) => {
            Ok(Value::String(String::new()))
        }
        // Folding the text anew may add line breaks before indented lines.
        Content::Scalar(text) if node.style == Style::Folded && !level.flow && !flavour.is_sigs() => {
            Ok(Value::String(refold(text)?))
        }
        Content::Scalar(_) => scalar(node, flavour),
        Content::Sequence(items) => items
            .iter()
            .map(|item| convert(item, flavour, below))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Content::Mapping(mapping) => object(mapping, flavour, level.top, below),
        Content::Alias(name) => Err(Error::new(
            ErrorKind::Alias,
            Some(node.position),
            format!("the alias *{name} has not been replaced by what it stands for"),
            "read the document with parse_documents",
        )),
    }
}

fn object(mapping: &Mapping, flavour: Flavour, top: bool, below: Level) -> Result<Value, Error> {
    let mut object = Map::new();
    for entry in mapping.entries() {
        let key = if flavour.is_sigs() {
            key_as_sigs(&entry.key, flavour)?
        } else if top && entry.key.is_null() && entry.key.text() != Some("") {
            // The decoder into a map of strings passes over the key null.
            continue;
        } else {
            key_as_kyaml(&entry.key, top)?
        };
        object.insert(key, convert(&entry.value, flavour, below)?);
    }
    Ok(Value::Object(object))
}

/// A folded text after kyaml has written it and read it again.
fn refold(text: &str) -> Result<String, Error> {
    let mut node = Node::plain(text);
    node.style = Style::Folded;
    let mapping = Mapping::from_entries(vec![Entry {
        key: Node::plain("a"),
        value: node,
    }]);
    let written = write_v3_node(&Node::mapping(mapping), true);
    let read = parse_document(written.as_bytes(), Flavour::Kyaml, Limits::default())?;
    let text = read.as_ref().and_then(|node| node.get("a")).and_then(Node::text);
    Ok(text.unwrap_or_default().to_owned())
}

/// The JSON key that sigs.k8s.io/yaml makes: numbers and booleans are printed.
pub(crate) fn key_as_sigs(key: &Node, flavour: Flavour) -> Result<String, Error> {
    let found = match key.resolve_as(flavour) {
        Some(Resolved::String(text) | Resolved::Timestamp(_, text)) => return Ok(text.to_owned()),
        Some(Resolved::Int(value)) => return Ok(value.to_string()),
        Some(Resolved::Bool(value)) => return Ok(value.to_string()),
        Some(Resolved::Float(value)) => {
            return Ok(match format_general_32(value).as_str() {
                "+Inf" => ".inf".to_owned(),
                "-Inf" => "-.inf".to_owned(),
                "NaN" => ".nan".to_owned(),
                text => text.to_owned(),
            });
        }
        Some(Resolved::Binary(bytes)) => return Ok(text_from_bytes(&bytes)),
        Some(Resolved::Null) => "null",
        Some(Resolved::UInt(_)) => "an integer above 9223372036854775807",
        Some(mismatch @ Resolved::Mismatch { .. }) => return Err(tag_error(key, &mismatch)),
        None => "a sequence or mapping",
    };
    Err(invalid_key(key, found).with_go_message(match found {
        "null" => "unsupported map key of type: %!s(<nil>), key: <nil>".to_owned(),
        "a sequence or mapping" => "yaml: invalid map key".to_owned(),
        _ => format!(
            "unsupported map key of type: uint64, key: {}",
            key.text().unwrap_or_default()
        ),
    }))
}

fn key_as_kyaml(key: &Node, top: bool) -> Result<String, Error> {
    match key.resolve() {
        Some(Resolved::String(text)) => Ok(text.to_owned()),
        // Written as '' by kyaml before it is read again.
        Some(Resolved::Null) if key.text() == Some("") && is_untagged(key) => Ok(String::new()),
        // The top level is decoded into a map of strings, where every scalar is good.
        Some(_) if top => Ok(key.text().unwrap_or_default().to_owned()),
        found => Err(invalid_key(
            key,
            match found {
                None => "a sequence or mapping",
                Some(Resolved::Null) => "null",
                Some(Resolved::Bool(_)) => "a boolean",
                Some(Resolved::Timestamp(..)) => "a time",
                Some(_) => "a number",
            },
        )
        .with_go_message("json: unsupported type: map[interface {}]interface {}")),
    }
}

fn invalid_key(key: &Node, found: &str) -> Error {
    let shown = key.text().map(|text| format!(" {text:?}")).unwrap_or_default();
    Error::new(
        ErrorKind::InvalidKey,
        Some(key.position),
        format!("the key{shown} is {found}, which JSON does not allow"),
        "put the key into double quotes",
    )
}

fn scalar(node: &Node, flavour: Flavour) -> Result<Value, Error> {
    let Some(resolved) = node.resolve_as(flavour) else {
        return Ok(Value::Null);
    };
    Ok(match resolved {
        Resolved::Null => Value::Null,
        Resolved::Bool(value) => Value::Bool(value),
        Resolved::Int(value) => Value::from(value),
        Resolved::UInt(value) => Value::from(value),
        Resolved::Float(value) => return float(node, value),
        Resolved::String(text) => Value::from(text),
        Resolved::Timestamp(_, text) if flavour.is_sigs() => Value::from(text),
        Resolved::Timestamp(timestamp, text) => match timestamp.to_rfc3339() {
            Some(text) => Value::from(text),
            None => {
                return Err(no_json(
                    node,
                    text,
                    "give the zone's offset as less than 24 hours",
                ));
            }
        },
        Resolved::Binary(bytes) => Value::from(text_from_bytes(&bytes)),
        mismatch @ Resolved::Mismatch { .. } => return Err(tag_error(node, &mismatch)),
    })
}

/// Bytes as text, with one U+FFFD for each byte that is not UTF-8, as Go's JSON writes them.
fn text_from_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
    }
    text
}

fn float(node: &Node, value: f64) -> Result<Value, Error> {
    if !value.is_finite() {
        let go = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        return Err(no_json(
            node,
            node.text().unwrap_or_default(),
            "write a finite number, or put it into quotes",
        )
        .with_go_message(format!("json: unsupported value: {go}")));
    }
    Ok(number_from_float(value))
}

/// The number that a reader of Go's JSON text of a float finds: an integer where the text is one.
pub(crate) fn number_from_float(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e21 {
        let text = format_json(value);
        if let Ok(integer) = text.parse::<i64>() {
            return Value::from(integer);
        }
        if let Ok(integer) = text.parse::<u64>() {
            return Value::from(integer);
        }
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn no_json(node: &Node, text: &str, remedy: &'static str) -> Error {
    Error::new(
        ErrorKind::NoJson,
        Some(node.position),
        format!("the value {text} cannot be expressed in JSON"),
        remedy,
    )
}

fn is_untagged(node: &Node) -> bool {
    node.tag.as_deref().is_none_or(str::is_empty)
}

/// The complaint about an explicit tag that does not fit the text.
pub(crate) fn tag_error(node: &Node, resolved: &Resolved<'_>) -> Error {
    let text = node.text().unwrap_or_default();
    match resolved {
        Resolved::Mismatch { found, wanted } if !found.is_empty() => Error::new(
            ErrorKind::Tag,
            Some(node.position),
            format!("the tag {wanted} does not fit `{text}`, which reads as {found}"),
            "correct the value or remove the tag",
        )
        .with_go_message(format!("yaml: cannot decode {found} `{text}` as a {wanted}")),
        _ => Error::new(
            ErrorKind::Tag,
            Some(node.position),
            "the value tagged !!binary is not base64",
            "encode it with standard base64 and padding",
        )
        .with_go_message("yaml: !!binary value contains invalid base64 data"),
    }
}

/// A node in block form for a JSON value, keys in the value's order.
#[must_use]
pub fn node_from_json(value: &Value) -> Node {
    match value {
        Value::Null => Node::null(),
        Value::Bool(value) => Node::boolean(*value),
        Value::Number(number) => Node::plain(match number.as_f64() {
            Some(float) if number.is_f64() => format_json(float),
            _ => number.to_string(),
        }),
        Value::String(text) => Node::string(text.as_str()),
        Value::Array(items) => Node::sequence(items.iter().map(node_from_json).collect()),
        Value::Object(object) => {
            let mut mapping = Mapping::new();
            for (key, value) in object {
                mapping.push(Node::string(key.as_str()), node_from_json(value));
            }
            Node::mapping(mapping)
        }
    }
}
