use libyaml_safer::{EventData, MappingStyle, Parser, ScalarStyle, SequenceStyle};

use crate::event::{Event, EventKind};
use crate::{Error, ErrorKind, Position, Style};

pub(crate) struct Reader<'a> {
    parser: Parser<&'a mut &'a [u8]>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a mut &'a [u8]) -> Self {
        let mut parser = Parser::new();
        parser.set_input(text);
        Self { parser }
    }

    pub(crate) fn next(&mut self) -> Result<Event, Error> {
        loop {
            let event = self.parser.parse().map_err(|error| {
                Error::new(
                    ErrorKind::Syntax,
                    error.problem_mark().map(|mark| position(&mark)),
                    error.problem(),
                    "correct the YAML at this place",
                )
            })?;
            let at = position(&event.start_mark);
            let plain = |kind| Event {
                kind,
                position: at,
                anchor: None,
                tag: None,
            };
            return Ok(match event.data {
                EventData::StreamStart { .. } => continue,
                EventData::StreamEnd => plain(EventKind::StreamEnd),
                EventData::DocumentStart { .. } => plain(EventKind::DocumentStart),
                EventData::DocumentEnd { .. } => plain(EventKind::DocumentEnd),
                EventData::Alias { anchor } => plain(EventKind::Alias(anchor)),
                EventData::Scalar {
                    anchor,
                    tag,
                    value,
                    style,
                    ..
                } => Event {
                    kind: EventKind::Scalar {
                        text: value,
                        style: match style {
                            ScalarStyle::SingleQuoted => Style::SingleQuoted,
                            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
                            ScalarStyle::Literal => Style::Literal,
                            ScalarStyle::Folded => Style::Folded,
                            _ => Style::Plain,
                        },
                    },
                    position: at,
                    anchor,
                    tag,
                },
                EventData::SequenceStart {
                    anchor, tag, style, ..
                } => Event {
                    kind: EventKind::SequenceStart {
                        flow: style == SequenceStyle::Flow,
                    },
                    position: at,
                    anchor,
                    tag,
                },
                EventData::SequenceEnd => plain(EventKind::SequenceEnd),
                EventData::MappingStart {
                    anchor, tag, style, ..
                } => Event {
                    kind: EventKind::MappingStart {
                        flow: style == MappingStyle::Flow,
                    },
                    position: at,
                    anchor,
                    tag,
                },
                EventData::MappingEnd => plain(EventKind::MappingEnd),
            });
        }
    }
}

#[expect(clippy::cast_possible_truncation)]
fn position(mark: &libyaml_safer::Mark) -> Position {
    Position {
        line: mark.line as u32 + 1,
        column: mark.column as u32 + 1,
    }
}
