use crate::read::cursor::Mark;
use crate::read::event::{Event, EventKind};
use crate::read::scanner::{Scanner, syntax_error};
use crate::read::token::{Token, TokenKind};
use crate::{Comments, Error, Style};

/// What the parser expects next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Makes events of tokens.
pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    marks: Vec<Mark>,
    tags: Vec<(String, String)>,
    comments: Comments,
    /// The comment before an entry whose value is a collection: it belongs to the collection.
    stem: Option<String>,
    started: bool,
}

impl<'a> Parser<'a> {
    /// A parser; `v3` for yaml.v3's comments and order of errors.
    pub(crate) fn new(text: &'a str, v3: bool) -> Self {
        Self {
            scanner: Scanner::new(text, v3),
            state: State::ImplicitDocumentStart,
            states: Vec::new(),
            marks: Vec::new(),
            tags: Vec::new(),
            comments: Comments::default(),
            stem: None,
            started: false,
        }
    }

    pub(crate) fn next(&mut self) -> Result<Event, Error> {
        if !self.started {
            self.started = true;
            self.peek()?;
            self.take();
        }
        match self.state {
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockSequenceFirstEntry => self.block_sequence_entry(true),
            State::BlockSequenceEntry => self.block_sequence_entry(false),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirstKey => self.block_mapping_key(true),
            State::BlockMappingKey => self.block_mapping_key(false),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry => self.flow_sequence_entry(true),
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_entry_mapping_key(),
            State::FlowSequenceEntryMappingValue => self.flow_sequence_entry_mapping_value(),
            State::FlowSequenceEntryMappingEnd => self.flow_sequence_entry_mapping_end(),
            State::FlowMappingFirstKey => self.flow_mapping_key(true),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(false),
            State::FlowMappingEmptyValue => self.flow_mapping_value(true),
            State::End => {
                let mark = self.peek()?.start;
                Ok(event(EventKind::StreamEnd, mark))
            }
        }
    }

    /// The next token; collects the comments that belong before it.
    fn peek(&mut self) -> Result<&Token, Error> {
        self.scanner.peek()?;
        self.unfold_comments();
        self.scanner.peek()
    }

    fn peek_kind(&mut self) -> Result<&TokenKind, Error> {
        Ok(&self.peek()?.kind)
    }

    fn take(&mut self) -> Option<Token> {
        self.scanner.take()
    }

    fn unfold_comments(&mut self) {
        if self.scanner.found.is_empty() {
            return;
        }
        let Ok(token) = self.scanner.peek() else { return };
        let (index, block_end) = (token.start.index, token.kind == TokenKind::BlockEnd);
        while let Some(found) = self.scanner.found.front() {
            if index < found.token.index || (block_end && !found.head.is_empty()) {
                break;
            }
            let Some(found) = self.scanner.found.pop_front() else {
                break;
            };
            append_lines(&mut self.comments.head, &found.head);
            append_lines(&mut self.comments.foot, &found.foot);
            append_lines(&mut self.comments.line, &found.line);
        }
    }

    /// An event with the comments gathered so far.
    fn event_with_comments(&mut self, kind: EventKind, mark: Mark) -> Event {
        self.stem = None;
        Event {
            comments: std::mem::take(&mut self.comments),
            ..event(kind, mark)
        }
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn error(&self, context: Option<Mark>, problem: &str, at: Mark) -> Error {
        syntax_error(self.scanner.v3, false, context, problem, at)
    }

    fn collection_error(&mut self, problem: &str) -> Result<Event, Error> {
        let at = self.peek()?.start;
        let context = self.marks.pop();
        Err(self.error(context, problem, at))
    }

    fn empty_scalar(&mut self, mark: Mark) -> Event {
        let kind = EventKind::Scalar {
            text: String::new(),
            style: Style::Plain,
        };
        event(kind, mark)
    }

    fn document_start(&mut self, implicit: bool) -> Result<Event, Error> {
        if !implicit {
            while *self.peek_kind()? == TokenKind::DocumentEnd {
                self.take();
            }
        }
        let start = self.peek()?.start;
        let explicit = matches!(
            self.peek_kind()?,
            TokenKind::VersionDirective { .. } | TokenKind::TagDirective { .. } | TokenKind::DocumentStart
        );
        if *self.peek_kind()? == TokenKind::StreamEnd {
            self.state = State::End;
            return Ok(event(EventKind::StreamEnd, start));
        }
        if implicit && !explicit {
            self.directives()?;
            self.states.push(State::DocumentEnd);
            self.state = State::BlockNode;
            let head = split_document_head(&mut self.comments.head);
            let mut event = event(EventKind::DocumentStart, start);
            event.comments.head = head;
            return Ok(event);
        }
        self.directives()?;
        let token = self.peek()?;
        if token.kind != TokenKind::DocumentStart {
            let at = token.start;
            return Err(self.error(None, "did not find expected <document start>", at));
        }
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        self.take();
        Ok(event(EventKind::DocumentStart, start))
    }

    /// Reads `%YAML` and `%TAG` and sets the tag handles of the document.
    fn directives(&mut self) -> Result<(), Error> {
        let mut version = false;
        loop {
            let at = self.peek()?.start;
            match self.peek_kind()?.clone() {
                TokenKind::VersionDirective { major, minor } => {
                    if version {
                        return Err(self.error(None, "found duplicate %YAML directive", at));
                    }
                    if (major, minor) != (1, 1) {
                        return Err(self.error(None, "found incompatible YAML document", at));
                    }
                    version = true;
                }
                TokenKind::TagDirective { handle, prefix } => {
                    if self.tags.iter().any(|(known, _)| *known == handle) {
                        return Err(self.error(None, "found duplicate %TAG directive", at));
                    }
                    self.tags.push((handle, prefix));
                }
                _ => break,
            }
            self.take();
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.tags.iter().any(|(known, _)| known == handle) {
                self.tags.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    fn document_content(&mut self) -> Result<Event, Error> {
        let start = self.peek()?.start;
        match self.peek_kind()? {
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                self.pop_state();
                Ok(self.empty_scalar(start))
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Result<Event, Error> {
        let start = self.peek()?.start;
        if *self.peek_kind()? == TokenKind::DocumentEnd {
            self.take();
        }
        self.tags.clear();
        self.state = State::DocumentStart;
        let mut event = self.event_with_comments(EventKind::DocumentEnd, start);
        if event.comments.foot.is_empty() {
            event.comments.foot = std::mem::take(&mut event.comments.head);
        }
        Ok(event)
    }

    /// Anchor and tag in either order; the start of the first.
    #[expect(clippy::type_complexity)]
    fn properties(&mut self) -> Result<(Option<Mark>, Option<String>, Option<String>), Error> {
        let mut start = None;
        let mut anchor = None;
        let mut tag = None;
        loop {
            let token = self.peek()?;
            let at = token.start;
            match &token.kind {
                TokenKind::Anchor(name) if anchor.is_none() => anchor = Some(name.clone()),
                TokenKind::Tag { handle, suffix } if tag.is_none() => {
                    tag = Some((handle.clone(), suffix.clone(), at));
                }
                _ => break,
            }
            start = start.or(Some(at));
            self.take();
        }
        let tag = match tag {
            None => None,
            Some((handle, suffix, _)) if handle.is_empty() => Some(suffix),
            Some((handle, suffix, at)) => match self.tags.iter().find(|(known, _)| *known == handle) {
                Some((_, prefix)) => Some(format!("{prefix}{suffix}")),
                None => return Err(self.error(start, "found undefined tag handle", at)),
            },
        };
        Ok((start, anchor, tag))
    }

    fn node(&mut self, block: bool, indentless: bool) -> Result<Event, Error> {
        if let TokenKind::Alias(name) = self.peek_kind()? {
            let kind = EventKind::Alias(name.clone());
            let at = self.peek()?.start;
            self.pop_state();
            let event = self.event_with_comments(kind, at);
            self.take();
            return Ok(event);
        }
        let (start, anchor, tag) = self.properties()?;
        let token_start = self.peek()?.start;
        let start = start.unwrap_or(token_start);
        let with_properties = |event: Event| Event { anchor, tag, ..event };
        match self.peek_kind()? {
            TokenKind::BlockEntry if indentless => {
                self.state = State::IndentlessSequenceEntry;
                let kind = EventKind::SequenceStart { flow: false };
                Ok(with_properties(event(kind, start)))
            }
            TokenKind::Scalar { .. } => {
                self.pop_state();
                let comments = std::mem::take(&mut self.comments);
                self.stem = None;
                let Some(TokenKind::Scalar { text, style }) = self.take().map(|token| token.kind) else {
                    return Err(self.error(None, "did not find expected node content", token_start));
                };
                let event = event(EventKind::Scalar { text, style }, start);
                Ok(with_properties(Event { comments, ..event }))
            }
            TokenKind::FlowSequenceStart => {
                self.state = State::FlowSequenceFirstEntry;
                let event = self.event_with_comments(EventKind::SequenceStart { flow: true }, start);
                Ok(with_properties(event))
            }
            TokenKind::FlowMappingStart => {
                self.state = State::FlowMappingFirstKey;
                let event = self.event_with_comments(EventKind::MappingStart { flow: true }, start);
                Ok(with_properties(event))
            }
            TokenKind::BlockSequenceStart if block => {
                self.state = State::BlockSequenceFirstEntry;
                let mut event = event(EventKind::SequenceStart { flow: false }, start);
                event.comments.head = self.stem.take().unwrap_or_default();
                Ok(with_properties(event))
            }
            TokenKind::BlockMappingStart if block => {
                self.state = State::BlockMappingFirstKey;
                let mut event = event(EventKind::MappingStart { flow: false }, start);
                event.comments.head = self.stem.take().unwrap_or_default();
                Ok(with_properties(event))
            }
            _ => {
                let event = with_properties(self.empty_scalar(start));
                if event.anchor.is_some() || event.tag.as_ref().is_some_and(|tag| !tag.is_empty()) {
                    self.pop_state();
                    return Ok(event);
                }
                Err(self.error(Some(start), "did not find expected node content", token_start))
            }
        }
    }

    /// Passes the token that starts a collection and remembers where it is.
    fn enter(&mut self) -> Result<(), Error> {
        let mark = self.peek()?.start;
        self.marks.push(mark);
        self.take();
        Ok(())
    }

    /// Passes the token that ends a collection.
    fn leave(&mut self, kind: EventKind, comments: bool) -> Result<Event, Error> {
        let mark = self.peek()?.start;
        self.pop_state();
        self.marks.pop();
        let event = if comments {
            self.event_with_comments(kind, mark)
        } else {
            event(kind, mark)
        };
        self.take();
        Ok(event)
    }

    /// Passes a dash; the comment before it belongs to the collection that follows, if one does.
    fn pass_dash(&mut self) -> Result<Mark, Error> {
        let mark = self.peek()?.end;
        let stem = self.comments.head.len();
        self.take();
        if stem > 0 {
            let kind = self.peek_kind()?;
            if matches!(kind, TokenKind::BlockSequenceStart | TokenKind::BlockMappingStart) {
                let rest = self.comments.head.split_off(stem);
                let head = rest.strip_prefix('\n').unwrap_or_default().to_owned();
                self.stem = Some(std::mem::replace(&mut self.comments.head, head));
            }
        }
        Ok(mark)
    }

    fn block_sequence_entry(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.enter()?;
        }
        match self.peek_kind()? {
            TokenKind::BlockEntry => {
                let mark = self.pass_dash()?;
                if matches!(self.peek_kind()?, TokenKind::BlockEntry | TokenKind::BlockEnd) {
                    self.state = State::BlockSequenceEntry;
                    return Ok(self.empty_scalar(mark));
                }
                self.states.push(State::BlockSequenceEntry);
                self.node(true, false)
            }
            TokenKind::BlockEnd => self.leave(EventKind::SequenceEnd, false),
            _ => self.collection_error("did not find expected '-' indicator"),
        }
    }

    fn indentless_sequence_entry(&mut self) -> Result<Event, Error> {
        if *self.peek_kind()? != TokenKind::BlockEntry {
            let mark = self.peek()?.start;
            self.pop_state();
            return Ok(event(EventKind::SequenceEnd, mark));
        }
        let mark = self.pass_dash()?;
        if matches!(
            self.peek_kind()?,
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd
        ) {
            self.state = State::IndentlessSequenceEntry;
            return Ok(self.empty_scalar(mark));
        }
        self.states.push(State::IndentlessSequenceEntry);
        self.node(true, false)
    }

    fn block_mapping_key(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.enter()?;
        }
        match self.peek_kind()? {
            TokenKind::Key => self.block_mapping_node(State::BlockMappingValue),
            TokenKind::BlockEnd => self.leave(EventKind::MappingEnd, true),
            _ => self.collection_error("did not find expected key"),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Event, Error> {
        if *self.peek_kind()? == TokenKind::Value {
            return self.block_mapping_node(State::BlockMappingKey);
        }
        let mark = self.peek()?.start;
        self.state = State::BlockMappingKey;
        Ok(self.empty_scalar(mark))
    }

    /// Passes `?` or `:` and reads the node behind it.
    fn block_mapping_node(&mut self, next: State) -> Result<Event, Error> {
        let mark = self.peek()?.end;
        self.take();
        if matches!(
            self.peek_kind()?,
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd
        ) {
            self.state = next;
            return Ok(self.empty_scalar(mark));
        }
        self.states.push(next);
        self.node(true, true)
    }

    fn flow_sequence_entry(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.enter()?;
        }
        if *self.peek_kind()? != TokenKind::FlowSequenceEnd {
            if !first {
                if *self.peek_kind()? != TokenKind::FlowEntry {
                    return self.collection_error("did not find expected ',' or ']'");
                }
                self.take();
            }
            match self.peek_kind()? {
                TokenKind::Key => {
                    let mark = self.peek()?.start;
                    self.state = State::FlowSequenceEntryMappingKey;
                    self.take();
                    return Ok(event(EventKind::MappingStart { flow: true }, mark));
                }
                TokenKind::FlowSequenceEnd => {}
                _ => {
                    self.states.push(State::FlowSequenceEntry);
                    return self.node(false, false);
                }
            }
        }
        self.leave(EventKind::SequenceEnd, true)
    }

    fn flow_sequence_entry_mapping_key(&mut self) -> Result<Event, Error> {
        match self.peek_kind()? {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                // As in libyaml, the token is passed, although it is not part of the key.
                let mark = self.peek()?.end;
                self.take();
                self.state = State::FlowSequenceEntryMappingValue;
                Ok(self.empty_scalar(mark))
            }
            _ => {
                self.states.push(State::FlowSequenceEntryMappingValue);
                self.node(false, false)
            }
        }
    }

    fn flow_sequence_entry_mapping_value(&mut self) -> Result<Event, Error> {
        let mut mark = self.peek()?.start;
        if *self.peek_kind()? == TokenKind::Value {
            self.take();
            if !matches!(
                self.peek_kind()?,
                TokenKind::FlowEntry | TokenKind::FlowSequenceEnd
            ) {
                self.states.push(State::FlowSequenceEntryMappingEnd);
                return self.node(false, false);
            }
            mark = self.peek()?.start;
        }
        self.state = State::FlowSequenceEntryMappingEnd;
        Ok(self.empty_scalar(mark))
    }

    fn flow_sequence_entry_mapping_end(&mut self) -> Result<Event, Error> {
        let mark = self.peek()?.start;
        self.state = State::FlowSequenceEntry;
        Ok(event(EventKind::MappingEnd, mark))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Event, Error> {
        if first {
            self.enter()?;
        }
        if *self.peek_kind()? != TokenKind::FlowMappingEnd {
            if !first {
                if *self.peek_kind()? != TokenKind::FlowEntry {
                    return self.collection_error("did not find expected ',' or '}'");
                }
                self.take();
            }
            match self.peek_kind()? {
                TokenKind::Key => {
                    self.take();
                    return self.flow_mapping_node(State::FlowMappingValue);
                }
                TokenKind::FlowMappingEnd => {}
                _ => {
                    self.states.push(State::FlowMappingEmptyValue);
                    return self.node(false, false);
                }
            }
        }
        self.leave(EventKind::MappingEnd, true)
    }

    fn flow_mapping_node(&mut self, next: State) -> Result<Event, Error> {
        let mark = self.peek()?.start;
        if matches!(
            self.peek_kind()?,
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd
        ) {
            self.state = next;
            return Ok(self.empty_scalar(mark));
        }
        self.states.push(next);
        self.node(false, false)
    }

    fn flow_mapping_value(&mut self, empty: bool) -> Result<Event, Error> {
        if !empty && *self.peek_kind()? == TokenKind::Value {
            self.take();
            if !matches!(
                self.peek_kind()?,
                TokenKind::FlowEntry | TokenKind::FlowMappingEnd
            ) {
                self.states.push(State::FlowMappingKey);
                return self.node(false, false);
            }
        }
        let mark = self.peek()?.start;
        self.state = State::FlowMappingKey;
        Ok(self.empty_scalar(mark))
    }
}

fn event(kind: EventKind, mark: Mark) -> Event {
    Event {
        kind,
        position: mark.position(),
        anchor: None,
        tag: None,
        comments: Comments::default(),
    }
}

fn append_lines(to: &mut String, lines: &str) {
    if !lines.is_empty() {
        if !to.is_empty() {
            to.push('\n');
        }
        to.push_str(lines);
    }
}

/// Takes from the comments before a document's first node those that an empty line sets off.
fn split_document_head(head: &mut String) -> String {
    let bytes = head.as_bytes();
    for at in (1..bytes.len()).rev() {
        if bytes[at] != b'\n' {
            continue;
        }
        let end = if at == bytes.len() - 1 {
            at
        } else if bytes[at - 1] == b'\n' {
            at - 1
        } else {
            continue;
        };
        let rest = head.split_off(at + 1);
        let mut document = std::mem::replace(head, rest);
        document.truncate(end);
        return document;
    }
    String::new()
}
