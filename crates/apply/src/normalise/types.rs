//! The table of Go types, read on demand.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Lines `= apiVersion Kind number`, then lines `number field;field;…`.
const TABLE: &str = include_str!("types.txt");

/// The table split into lines; fields are parsed only for the types that are walked.
struct Table {
    kinds: HashMap<(&'static str, &'static str), usize>,
    types: Vec<&'static str>,
}

/// When a field is left out of the written object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// Always written.
    Always,
    /// Left out when empty (`omitempty`).
    UnlessEmpty,
    /// Left out when zero (`omitzero`).
    UnlessZero,
}

/// One field of a struct.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) presence: Presence,
    /// The code of its type, as the oracle documents it.
    pub(super) code: &'static str,
}

/// The number of the type of a kind, if it is built in.
pub(super) fn find(api_version: &str, kind: &str) -> Option<usize> {
    table().kinds.get(&(api_version, kind)).copied()
}

/// The fields of a struct type.
pub(super) fn fields(number: usize) -> impl Iterator<Item = Field> {
    let line = table().types.get(number).copied().unwrap_or_default();
    line.split(';').filter_map(parse_field)
}

fn parse_field(text: &'static str) -> Option<Field> {
    // The mark is the first character that cannot stand in a Go field's JSON name.
    let at = text.find(['?', '!', '^'])?;
    let presence = match text.as_bytes()[at] {
        b'?' => Presence::UnlessEmpty,
        b'^' => Presence::UnlessZero,
        _ => Presence::Always,
    };
    Some(Field {
        name: &text[..at],
        presence,
        code: &text[at + 1..],
    })
}

fn table() -> &'static Table {
    static PARSED: OnceLock<Table> = OnceLock::new();
    PARSED.get_or_init(|| {
        let mut table = Table {
            kinds: HashMap::new(),
            types: Vec::new(),
        };
        for line in TABLE.lines() {
            if let Some(root) = line.strip_prefix("= ") {
                let mut parts = root.split(' ');
                if let (Some(version), Some(kind), Some(Ok(number))) =
                    (parts.next(), parts.next(), parts.next().map(str::parse))
                {
                    table.kinds.insert((version, kind), number);
                }
            } else {
                table
                    .types
                    .push(line.split_once(' ').map_or("", |(_, fields)| fields));
            }
        }
        table
    })
}
