use crate::{Comments, Position, Style};

/// One step of a document as the parser meets it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) position: Position,
    /// The name after `&`.
    pub(crate) anchor: Option<String>,
    /// The explicit tag in full, such as `tag:yaml.org,2002:str`.
    pub(crate) tag: Option<String>,
    /// Comments, if they are looked for.
    pub(crate) comments: Comments,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EventKind {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(String),
    Scalar { text: String, style: Style },
    SequenceStart { flow: bool },
    SequenceEnd,
    MappingStart { flow: bool },
    MappingEnd,
}
