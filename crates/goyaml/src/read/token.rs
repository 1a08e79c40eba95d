use crate::Style;
use crate::read::cursor::Mark;

/// A token of YAML with its extent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u32, minor: u32 },
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: String, style: Style },
}

/// Comments found between tokens, and the token they belong to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Where the search that found them started.
    pub(crate) scan: Mark,
    /// Where the token starts that they belong to.
    pub(crate) token: Mark,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
    pub(crate) head: String,
    pub(crate) line: String,
    pub(crate) foot: String,
}
