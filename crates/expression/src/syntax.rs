//! The tree of a parsed expression.

use crate::declarations::Declaration;

/// One node with the place it is reported at: the offset of a character in the text.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: usize,
    /// How many nodes stand on the longest way down, this one included.
    pub(crate) depth: usize,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Literal(Literal),
    /// A name; a leading dot is dropped, it says that the name is complete, which every name here is.
    Name(Box<str>),
    Select(Box<Node>, Box<str>),
    /// `has(operand.field)`
    Has(Box<Node>, Box<str>),
    /// `operand[key]`, and `operand[?key]` or `operand.?key` when optional.
    Index {
        operand: Box<Node>,
        key: Box<Node>,
        access: Access,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    /// Two or more terms.
    And(Vec<Node>),
    /// Two or more terms.
    Or(Vec<Node>),
    /// Condition, then, else.
    Conditional(Box<[Node; 3]>),
    /// A call of a function by its name; `member` if it stood behind its first argument and a dot.
    Call(Call),
    List(Vec<Element>),
    Map(Vec<Entry>),
    /// `Name{field: value}`: nothing that expressions here see is a message.
    Message(Box<str>),
    Macro(Box<Macro>),
}

/// How an index reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// `[key]`: an error if absent.
    Strict,
    /// `[?key]`
    Optional,
    /// `.?key`, whose key is the name of a field.
    OptionalField,
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Box<str>),
    Bytes(Box<[u8]>),
}

/// A call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) name: Box<str>,
    /// The function of this name, found when the expression is prepared.
    pub(crate) function: Option<&'static Declaration>,
    /// The pattern of a call of `matches` whose pattern is a literal.
    pub(crate) pattern: Option<regex::bytes::Regex>,
    /// Whether the first argument stood before the dot.
    pub(crate) member: bool,
    pub(crate) arguments: Vec<Node>,
}

/// An element of a list literal.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

/// An entry of a map literal.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

/// The macros that bind a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    OptionalMap,
    OptionalFlatMap,
}

/// A macro over the elements of a list, the keys of a map or the value of an optional.
#[derive(Debug, Clone)]
pub(crate) struct Macro {
    pub(crate) kind: MacroKind,
    pub(crate) range: Node,
    pub(crate) variable: Box<str>,
    /// Which elements `map` takes, in its form with three arguments.
    pub(crate) condition: Option<Node>,
    pub(crate) body: Node,
}

impl Node {
    /// The names joined by dots, if the node is nothing but names and dots.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Name(name) => Some(name.to_string()),
            Kind::Select(operand, field) => {
                let mut name = operand.qualified_name()?;
                name.push('.');
                name.push_str(field);
                Some(name)
            }
            _ => None,
        }
    }

    /// The nodes below this one.
    pub(crate) fn children(&self) -> Vec<&Node> {
        match &self.kind {
            Kind::Literal(_) | Kind::Name(_) | Kind::Message(_) => Vec::new(),
            Kind::Select(operand, _) | Kind::Has(operand, _) | Kind::Not(operand) | Kind::Negate(operand) => {
                vec![operand]
            }
            Kind::Index { operand, key, .. } => vec![operand, key],
            Kind::And(terms) | Kind::Or(terms) => terms.iter().collect(),
            Kind::Conditional(parts) => parts.iter().collect(),
            Kind::Call(call) => call.arguments.iter().collect(),
            Kind::List(elements) => elements.iter().map(|element| &element.value).collect(),
            Kind::Map(entries) => entries
                .iter()
                .flat_map(|entry| [&entry.key, &entry.value])
                .collect(),
            Kind::Macro(expansion) => {
                let mut nodes = vec![&expansion.range];
                nodes.extend(&expansion.condition);
                nodes.push(&expansion.body);
                nodes
            }
        }
    }

    /// The same, to change them.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Node> {
        match &mut self.kind {
            Kind::Literal(_) | Kind::Name(_) | Kind::Message(_) => Vec::new(),
            Kind::Select(operand, _) | Kind::Has(operand, _) | Kind::Not(operand) | Kind::Negate(operand) => {
                vec![operand]
            }
            Kind::Index { operand, key, .. } => vec![operand, key],
            Kind::And(terms) | Kind::Or(terms) => terms.iter_mut().collect(),
            Kind::Conditional(parts) => parts.iter_mut().collect(),
            Kind::Call(call) => call.arguments.iter_mut().collect(),
            Kind::List(elements) => elements.iter_mut().map(|element| &mut element.value).collect(),
            Kind::Map(entries) => entries
                .iter_mut()
                .flat_map(|entry| [&mut entry.key, &mut entry.value])
                .collect(),
            Kind::Macro(expansion) => {
                let mut nodes = vec![&mut expansion.range];
                nodes.extend(&mut expansion.condition);
                nodes.push(&mut expansion.body);
                nodes
            }
        }
    }
}
