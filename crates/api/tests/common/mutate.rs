//! Changes to a valid object, one for each way in which its schema limits it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Whether a changed object must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// It breaks the schema.
    Refused,
    /// Nothing is known beforehand: both sides must agree.
    Agreement,
}

/// A changed object.
#[derive(Clone, Debug)]
pub(crate) struct Mutation {
    /// What was changed, and how.
    pub what: String,
    /// What must come of it.
    pub expectation: Expectation,
    /// The whole object.
    pub object: Value,
}

/// Collects changes while walking an object and its schema side by side.
pub(crate) struct Mutator<'object> {
    object: &'object Value,
    /// The changes so far.
    pub mutations: Vec<Mutation>,
    /// Limits of the schema that some change tests, as `<path of field>: <keyword>`.
    pub covered: BTreeSet<String>,
}

impl<'object> Mutator<'object> {
    pub(crate) fn new(object: &'object Value) -> Self {
        Self {
            object,
            mutations: Vec::new(),
            covered: BTreeSet::new(),
        }
    }

    /// Walks the value at the pointer. `path` names the field without indexes and keys of maps.
    pub(crate) fn walk(&mut self, schema: &Value, pointer: &str, path: &str) {
        let Some(value) = self.object.pointer(pointer).cloned() else {
            return;
        };
        self.covered.insert(format!("{path}: present"));
        self.wrong_type(schema, pointer, path);
        self.push(pointer, path, "null", Expectation::Agreement, Value::Null);
        self.limits(schema, &value, pointer, path);
        match &value {
            Value::Object(fields) => {
                for name in schema["required"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                {
                    self.remove(pointer, path, name);
                }
                self.unknown_field(pointer, path);
                for name in fields.keys() {
                    let (inner, at) = match schema["properties"].get(name) {
                        Some(inner) => (inner, format!("{path}.{name}")),
                        None => (&schema["additionalProperties"], format!("{path}{{}}")),
                    };
                    if inner.is_object() {
                        self.walk(inner, &format!("{pointer}/{}", escape(name)), &at);
                    }
                }
            }
            Value::Array(elements) => {
                for index in 0..elements.len() {
                    self.walk(
                        &schema["items"],
                        &format!("{pointer}/{index}"),
                        &format!("{path}[]"),
                    );
                }
            }
            _ => {}
        }
    }

    /// Changes for enumerations, patterns, lengths, counts, bounds, formats and keyed lists.
    fn limits(&mut self, schema: &Value, value: &Value, pointer: &str, path: &str) {
        use Expectation::Agreement;
        for one in schema["enum"].as_array().into_iter().flatten() {
            self.push(pointer, path, "enum value", Agreement, one.clone());
        }
        if schema.get("enum").is_some() {
            self.limit(pointer, path, "enum", json!("NoSuchValue"));
        }
        if schema.get("pattern").is_some() {
            self.limit(pointer, path, "pattern", json!("!!"));
            self.push(pointer, path, "empty", Agreement, json!(""));
        }
        if schema["minLength"].as_u64() == Some(1) {
            self.limit(pointer, path, "minLength", json!(""));
        }
        if let Some(length) = schema["maxLength"]
            .as_u64()
            .and_then(|length| usize::try_from(length).ok())
        {
            self.limit(pointer, path, "maxLength", json!("a".repeat(length + 1)));
            self.push(pointer, path, "longest", Agreement, json!("a".repeat(length)));
        }
        if let Some(minimum) = schema["minimum"].as_i64() {
            self.limit(pointer, path, "minimum", json!(minimum - 1));
        }
        if schema["minItems"].as_u64() == Some(1) {
            self.limit(pointer, path, "minItems", json!([]));
        }
        if let Some(count) = schema["maxItems"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
        {
            self.limit(
                pointer,
                path,
                "maxItems",
                json!(vec![value[0].clone(); count + 1]),
            );
        }
        if let Some(format) = schema["format"].as_str() {
            let wrong = if format == "date-time" {
                json!("yesterday")
            } else {
                json!(1.5)
            };
            self.limit(pointer, path, "format", wrong);
        }
        if schema["x-kubernetes-list-type"] == "map" {
            self.limit(
                pointer,
                path,
                "x-kubernetes-list-type",
                json!([value[0], value[0]]),
            );
        }
        if schema.get("default").is_some() {
            self.covered.insert(format!("{path}: default"));
            let removed = |object: &mut Value| remove_at(object, pointer);
            self.change(format!("{path} left out"), Agreement, removed);
        }
        if schema["type"] == "array" {
            self.push(pointer, path, "empty list", Agreement, json!([]));
        }
    }

    /// A change that must be refused, for the keyword of the schema.
    fn limit(&mut self, pointer: &str, path: &str, keyword: &str, value: Value) {
        self.covered.insert(format!("{path}: {keyword}"));
        self.push(pointer, path, keyword, Expectation::Refused, value);
    }

    fn wrong_type(&mut self, schema: &Value, pointer: &str, path: &str) {
        let wrong = match schema["type"].as_str() {
            Some("string" | "boolean") => json!(5),
            Some("integer") => json!("five"),
            Some("object") => json!([]),
            Some("array") => json!({}),
            _ => return,
        };
        self.limit(pointer, path, "type", wrong);
    }

    fn unknown_field(&mut self, pointer: &str, path: &str) {
        let pointer = format!("{pointer}/notInTheSchema");
        self.push(
            &pointer,
            path,
            "unknown field",
            Expectation::Agreement,
            json!("x"),
        );
    }

    fn remove(&mut self, pointer: &str, path: &str, name: &str) {
        self.covered.insert(format!("{path}: required {name}"));
        let pointer = format!("{pointer}/{name}");
        self.change(
            format!("{path}: without {name}"),
            Expectation::Agreement,
            |object| {
                remove_at(object, &pointer);
            },
        );
    }

    fn push(&mut self, pointer: &str, path: &str, what: &str, expectation: Expectation, value: Value) {
        self.change(format!("{path}: {what}"), expectation, |object| {
            set_at(object, pointer, value);
        });
    }

    fn change(&mut self, what: String, expectation: Expectation, change: impl FnOnce(&mut Value)) {
        let mut object = self.object.clone();
        change(&mut object);
        self.mutations.push(Mutation {
            what,
            expectation,
            object,
        });
    }
}

/// The limits that a schema has, in the words of [`Mutator::covered`].
pub(crate) fn limits(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    const KEYWORDS: [&str; 11] = [
        "default",
        "enum",
        "format",
        "maxItems",
        "maxLength",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "type",
        "x-kubernetes-list-type",
    ];
    found.insert(format!("{path}: present"));
    for keyword in KEYWORDS.iter().filter(|keyword| schema.get(**keyword).is_some()) {
        // An atomic list limits nothing but how it is merged.
        if schema[keyword] != "atomic" {
            found.insert(format!("{path}: {keyword}"));
        }
    }
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        found.insert(format!("{path}: required {name}"));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        limits(inner, &format!("{path}.{name}"), found);
    }
    if schema["items"].is_object() {
        limits(&schema["items"], &format!("{path}[]"), found);
    }
    if schema["additionalProperties"].is_object() {
        limits(&schema["additionalProperties"], &format!("{path}{{}}"), found);
    }
}

/// A key as part of a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Splits a pointer into that of the parent and the last key.
fn split(pointer: &str) -> (&str, String) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer below the root");
    (parent, key.replace("~1", "/").replace("~0", "~"))
}

/// Puts a value at a pointer whose parent exists.
pub(crate) fn set_at(object: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = split(pointer);
    match object.pointer_mut(parent).expect("the parent exists") {
        Value::Array(elements) => elements[key.parse::<usize>().expect("an index")] = value,
        parent => parent[key] = value,
    }
}

/// Takes the value at a pointer out of the object that holds it.
pub(crate) fn remove_at(object: &mut Value, pointer: &str) {
    let (parent, key) = split(pointer);
    if let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        fields.remove(&key);
    }
}
