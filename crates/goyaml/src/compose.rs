use crate::event::{Event, EventKind};
use crate::reader::Reader;
use crate::{Content, Entry, Error, ErrorKind, Limits, Mapping, Node, Style};

/// The prefix of YAML's own tags in full.
const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// Makes trees of events; aliases stay aliases.
pub(crate) struct Composer<'a> {
    reader: Reader<'a>,
    limits: Limits,
    nodes: usize,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(reader: Reader<'a>, limits: Limits) -> Self {
        Self {
            reader,
            limits,
            nodes: 0,
        }
    }

    /// The next document; None at the end of the stream.
    pub(crate) fn next_document(&mut self) -> Result<Option<Node>, Error> {
        loop {
            let event = self.reader.next()?;
            match event.kind {
                EventKind::StreamEnd => return Ok(None),
                EventKind::DocumentStart => {
                    let event = self.reader.next()?;
                    let node = self.node(event, 0)?;
                    // Reads the document's end, so that an error between documents is found.
                    self.reader.next()?;
                    return Ok(Some(node));
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event, depth: usize) -> Result<Node, Error> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(limit(&event, format!("more than {} nodes", self.limits.nodes)));
        }
        if depth > self.limits.depth {
            return Err(limit(
                &event,
                format!("nested deeper than {} levels", self.limits.depth),
            ));
        }
        let Event {
            kind,
            position,
            anchor,
            tag,
        } = event;
        let mut style = Style::Plain;
        let content = match kind {
            EventKind::Alias(name) => Content::Alias(name),
            EventKind::Scalar { text, style: written } => {
                style = written;
                Content::Scalar(text)
            }
            EventKind::SequenceStart { flow } => {
                if flow {
                    style = Style::Flow;
                }
                Content::Sequence(self.items(depth)?)
            }
            EventKind::MappingStart { flow } => {
                if flow {
                    style = Style::Flow;
                }
                Content::Mapping(self.entries(depth)?)
            }
            EventKind::StreamEnd
            | EventKind::DocumentStart
            | EventKind::DocumentEnd
            | EventKind::SequenceEnd
            | EventKind::MappingEnd => {
                return Err(Error::new(
                    ErrorKind::Syntax,
                    Some(position),
                    "did not find expected node content",
                    "correct the YAML at this place",
                ));
            }
        };
        let mut node = Node {
            content,
            style,
            tag: tag.filter(|tag| !tag.is_empty() && tag != "!").map(short_tag),
            position,
            presentation: None,
        };
        if anchor.is_some() {
            node.presentation_mut().anchor = anchor;
        }
        Ok(node)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        loop {
            let event = self.reader.next()?;
            if event.kind == EventKind::SequenceEnd {
                return Ok(items);
            }
            items.push(self.node(event, depth + 1)?);
        }
    }

    fn entries(&mut self, depth: usize) -> Result<Mapping, Error> {
        let mut entries = Vec::new();
        loop {
            let event = self.reader.next()?;
            if event.kind == EventKind::MappingEnd {
                return Ok(Mapping::from_entries(entries));
            }
            let key = self.node(event, depth + 1)?;
            let event = self.reader.next()?;
            let value = self.node(event, depth + 1)?;
            entries.push(Entry { key, value });
        }
    }
}

fn limit(event: &Event, problem: String) -> Error {
    Error::new(
        ErrorKind::Limit,
        Some(event.position),
        format!("the document is {problem}"),
        "split it into smaller documents",
    )
}

fn short_tag(tag: String) -> Box<str> {
    match tag.strip_prefix(TAG_PREFIX) {
        Some(name) => format!("!!{name}").into(),
        None => tag.into(),
    }
}
