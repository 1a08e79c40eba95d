//! The table of the built-in schema. Most builds need a few lines of it, so a line is taken apart when it is
//! asked for.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::{Definition, Field, Shape, Strategy};

const TABLE: &str = include_str!("built_in.txt");

/// A kind of the table under one of its versions.
struct Kind {
    group: &'static str,
    version: &'static str,
    /// Whether it has namespaces, where that is known.
    namespaced: Option<bool>,
    shape: Shape,
}

/// The table with what has been read of it.
pub(super) struct BuiltIn {
    kinds: HashMap<&'static str, Vec<Kind>>,
    definitions: LazyLock<Definitions>,
}

/// The definitions, which only patches and custom schemas ask for.
struct Definitions {
    lines: Vec<&'static str>,
    read: Vec<OnceLock<Definition>>,
}

impl Definitions {
    fn new() -> Self {
        let lines: Vec<&'static str> = TABLE.lines().skip_while(|line| *line != "#").skip(1).collect();
        let read = lines.iter().map(|_| OnceLock::new()).collect();
        Self { lines, read }
    }
}

impl BuiltIn {
    /// The one table of the program.
    pub(super) fn get() -> &'static Self {
        static BUILT_IN: LazyLock<BuiltIn> = LazyLock::new(BuiltIn::new);
        &BUILT_IN
    }

    fn new() -> Self {
        let mut kinds: HashMap<&'static str, Vec<Kind>> = HashMap::with_capacity(256);
        for line in TABLE.lines().take_while(|line| *line != "#") {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap_or_default();
            let (scope, api_version, kind) = (word(), word(), word());
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            kinds.entry(kind).or_default().push(Kind {
                group,
                version,
                namespaced: (scope != "?").then_some(scope == "n"),
                shape: Shape::Object(word().parse().unwrap_or(usize::MAX)),
            });
        }
        Self {
            kinds,
            definitions: LazyLock::new(Definitions::new),
        }
    }

    fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Kind> {
        let known = self.kinds.get(kind)?;
        known
            .iter()
            .find(|known| known.group == group && known.version == version)
    }

    /// Whether the kind has namespaces, if that is known.
    pub(super) fn is_namespaced(&self, group: &str, version: &str, kind: &str) -> Option<bool> {
        self.kind(group, version, kind)?.namespaced
    }

    /// The shape of objects of a kind.
    pub(super) fn shape(&self, api_version: &str, kind: &str) -> Option<&Shape> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Some(&self.kind(group, version, kind)?.shape)
    }

    /// How many definitions there are.
    pub(super) fn len(&self) -> usize {
        self.definitions.lines.len()
    }

    /// The definition of a number.
    pub(super) fn definition(&self, number: usize) -> Option<&Definition> {
        let line = self.definitions.lines.get(number)?;
        let read = self.definitions.read.get(number)?;
        Some(read.get_or_init(|| parse_definition(line)))
    }
}

fn parse_definition(line: &str) -> Definition {
    let mut definition = Definition::default();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let start = word.find(['>', '[', '{', '.']).unwrap_or(word.len());
        let (name, rest) = word.split_at(start);
        let (shape, strategy) = rest
            .split_once('!')
            .map_or((rest, None), |(shape, text)| (shape, Some(text)));
        let field = Field {
            shape: parse_shape(shape),
            strategy: strategy.map(parse_strategy),
        };
        if name == "*" {
            definition.values = Some(field);
        } else {
            definition.fields.insert(name.to_owned(), field);
        }
    }
    definition
}

fn parse_shape(text: &str) -> Shape {
    let mut characters = text.chars();
    match characters.next() {
        Some('>') => characters.as_str().parse().map_or(Shape::Any, Shape::Object),
        Some('[') => Shape::List(Box::new(parse_shape(characters.as_str()))),
        Some('{') => Shape::Map(Box::new(parse_shape(characters.as_str()))),
        Some('\'') => Shape::Scalar,
        _ => Shape::Any,
    }
}

fn parse_strategy(text: &str) -> Strategy {
    let (name, keys) = text.split_once(':').unwrap_or((text, ""));
    let keys = keys
        .split(',')
        .filter(|key| !key.is_empty())
        .map(str::to_owned)
        .collect();
    Strategy {
        name: name.to_owned(),
        keys,
    }
}
