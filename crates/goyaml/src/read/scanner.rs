use std::collections::VecDeque;

use crate::read::cursor::{Cursor, Mark};
use crate::read::token::{Found, Token, TokenKind};
use crate::{Error, ErrorKind};

/// yaml.v2 and yaml.v3 stop at this nesting.
const DEEPEST: usize = 10_000;

/// A place where a key without `?` may have started.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// Nothing else than a key can stand there.
    required: bool,
    token_number: usize,
    mark: Mark,
}

/// Makes tokens of a text.
pub(crate) struct Scanner<'a> {
    pub(crate) cursor: Cursor<'a>,
    /// Whether comments are looked for and tokens read ahead as in yaml.v3.
    pub(crate) v3: bool,
    tokens: VecDeque<Token>,
    taken: usize,
    available: bool,
    started: bool,
    ended: bool,
    pub(crate) indent: isize,
    indents: Vec<isize>,
    pub(crate) flow_level: usize,
    pub(crate) simple_key_allowed: bool,
    simple_keys: Vec<SimpleKey>,
    /// Numbers of the tokens that may turn out to be keys, ascending, with the levels of their keys.
    simple_keys_by_token: VecDeque<(usize, usize)>,
    pub(crate) found: VecDeque<Found>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str, v3: bool) -> Self {
        Self {
            cursor: Cursor::new(text),
            v3,
            tokens: VecDeque::new(),
            taken: 0,
            available: false,
            started: false,
            ended: false,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::default()],
            simple_keys_by_token: VecDeque::new(),
            found: VecDeque::new(),
        }
    }

    /// The next token, left in place. The stream's end stays forever.
    pub(crate) fn peek(&mut self) -> Result<&Token, Error> {
        if !self.available {
            self.fetch_more()?;
        }
        match self.tokens.front() {
            Some(token) => Ok(token),
            None => Err(self.error(None, "attempted to go past the end of stream")),
        }
    }

    /// Takes the token that [`peek`](Self::peek) showed.
    pub(crate) fn take(&mut self) -> Option<Token> {
        if self.ended && self.tokens.len() == 1 {
            return self.tokens.front().cloned();
        }
        self.available = false;
        self.taken += 1;
        self.tokens.pop_front()
    }

    /// The token after those that are still to be taken: its kind and the one before it.
    pub(crate) fn last_tokens(&self) -> (Option<&Token>, Option<&Token>) {
        let count = self.tokens.len();
        let before = count.checked_sub(2).and_then(|place| self.tokens.get(place));
        (before, self.tokens.back())
    }

    pub(crate) fn error(&self, context: Option<Mark>, problem: &str) -> Error {
        syntax_error(self.v3, true, context, problem, self.cursor.mark)
    }

    fn fetch_more(&mut self) -> Result<(), Error> {
        // Comments need two more tokens, to find the token that they follow.
        let ahead = if self.v3 { 2 } else { 0 };
        loop {
            if self.ended || self.tokens.len() > ahead {
                let Some(level) = self.level_of_next_token() else {
                    break;
                };
                if !self.is_simple_key_valid(level)? || self.ended {
                    break;
                }
            }
            self.fetch()?;
        }
        self.available = true;
        Ok(())
    }

    /// The level at which the next token to be taken may be a key.
    fn level_of_next_token(&mut self) -> Option<usize> {
        while let Some(&(number, level)) = self.simple_keys_by_token.front() {
            if number >= self.taken {
                return (number == self.taken).then_some(level);
            }
            self.simple_keys_by_token.pop_front();
        }
        None
    }

    fn note_simple_key(&mut self, number: usize, level: usize) {
        match self.simple_keys_by_token.back_mut() {
            Some(last) if last.0 == number => last.1 = level,
            _ => self.simple_keys_by_token.push_back((number, level)),
        }
    }

    fn forget_simple_key(&mut self, number: usize) {
        if let Ok(place) = self
            .simple_keys_by_token
            .binary_search_by_key(&number, |(number, _)| *number)
        {
            self.simple_keys_by_token.remove(place);
        }
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        let end = self.cursor.mark;
        self.tokens.push_back(Token { kind, start, end });
    }

    fn fetch(&mut self) -> Result<(), Error> {
        if !self.started {
            self.started = true;
            self.push(TokenKind::StreamStart, self.cursor.mark);
            return Ok(());
        }
        let scan = self.cursor.mark;
        self.skip_to_token()?;
        self.unroll_indent(self.column(), scan);
        if self.cursor.is_end() {
            return self.fetch_stream_end();
        }
        if self.cursor.mark.column == 0 {
            if self.cursor.byte(0) == b'%' {
                return self.fetch_directive();
            }
            if self.cursor.is_indicator(b"---") {
                return self.fetch_document_indicator(TokenKind::DocumentStart);
            }
            if self.cursor.is_indicator(b"...") {
                return self.fetch_document_indicator(TokenKind::DocumentEnd);
            }
        }
        let mut comment_mark = self.cursor.mark;
        let separator = if self.flow_level == 0 { b':' } else { b',' };
        if let Some(last) = self.tokens.back()
            && self.cursor.byte(0) == separator
        {
            // A comment after it belongs to the token before.
            comment_mark = last.start;
        }
        self.fetch_content()?;
        // A comment behind a dash belongs to what follows.
        let after_dash = self
            .tokens
            .back()
            .is_some_and(|token| token.kind == TokenKind::BlockEntry);
        if self.v3 && !after_dash {
            self.scan_line_comment(comment_mark);
        }
        Ok(())
    }

    fn fetch_content(&mut self) -> Result<(), Error> {
        let flow = self.flow_level > 0;
        let white_follows = self.cursor.is_white_or_end(1);
        match self.cursor.byte(0) {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if white_follows => self.fetch_block_entry(),
            b'?' if flow || white_follows => self.fetch_key(),
            b':' if flow || white_follows => self.fetch_value(),
            b'*' => self.fetch_simple(|scanner| scanner.scan_anchor(false)),
            b'&' => self.fetch_simple(|scanner| scanner.scan_anchor(true)),
            b'!' => self.fetch_simple(Self::scan_tag),
            b'|' if !flow => self.fetch_block_scalar(true),
            b'>' if !flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_simple(|scanner| scanner.scan_quoted(true)),
            b'"' => self.fetch_simple(|scanner| scanner.scan_quoted(false)),
            _ if self.starts_plain() => self.fetch_simple(Self::scan_plain),
            _ => Err(self.error(
                Some(self.cursor.mark),
                "found character that cannot start any token",
            )),
        }
    }

    fn starts_plain(&self) -> bool {
        match self.cursor.byte(0) {
            b'-' => !self.cursor.is_blank(1),
            b'?' | b':' => self.flow_level == 0 && !self.cursor.is_white_or_end(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
            | b'%' | b'@' | b'`' => false,
            _ => !self.cursor.is_white_or_end(0),
        }
    }

    fn skip_to_token(&mut self) -> Result<(), Error> {
        let scan = self.cursor.mark;
        loop {
            if self.cursor.mark.column == 0 && self.cursor.is_byte_order_mark() {
                self.cursor.skip();
            }
            let tabs = self.flow_level > 0 || !self.simple_key_allowed;
            while self.cursor.byte(0) == b' ' || (tabs && self.cursor.byte(0) == b'\t') {
                self.cursor.skip();
            }
            if self.v3 {
                self.lift_entry_comment();
            }
            if self.cursor.byte(0) == b'#' {
                if self.v3 {
                    self.scan_comments(scan);
                } else {
                    while !self.cursor.is_break_or_end(0) {
                        self.cursor.skip();
                    }
                }
            }
            if !self.cursor.is_break(0) {
                return Ok(());
            }
            self.cursor.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    fn column(&self) -> isize {
        self.cursor.mark.column.cast_signed()
    }

    /// Whether the key of a flow level may still turn out to be one: on the same line and near enough.
    fn is_simple_key_valid(&mut self, level: usize) -> Result<bool, Error> {
        let Some(&key) = self.simple_keys.get(level) else {
            return Ok(false);
        };
        if !key.possible {
            return Ok(false);
        }
        let here = self.cursor.mark;
        if key.mark.line < here.line || key.mark.index + 1024 < here.index {
            if key.required {
                return Err(self.error(Some(key.mark), "could not find expected ':'"));
            }
            self.simple_keys[level].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    fn save_simple_key(&mut self) -> Result<(), Error> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        self.remove_simple_key()?;
        let key = SimpleKey {
            possible: true,
            required: self.flow_level == 0 && self.indent == self.column(),
            token_number: self.taken + self.tokens.len(),
            mark: self.cursor.mark,
        };
        if let Some(slot) = self.simple_keys.last_mut() {
            *slot = key;
        }
        self.note_simple_key(key.token_number, self.simple_keys.len() - 1);
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Result<(), Error> {
        let Some(key) = self.simple_keys.last_mut() else {
            return Ok(());
        };
        if key.possible {
            let (required, mark, number) = (key.required, key.mark, key.token_number);
            if required {
                return Err(self.error(Some(mark), "could not find expected ':'"));
            }
            key.possible = false;
            self.forget_simple_key(number);
        }
        Ok(())
    }

    fn roll_indent(
        &mut self,
        column: usize,
        number: Option<usize>,
        kind: TokenKind,
        mark: Mark,
    ) -> Result<(), Error> {
        let column = column.cast_signed();
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > DEEPEST {
            return Err(self.error(None, "exceeded max depth of 10000"));
        }
        let token = Token {
            kind,
            start: mark,
            end: mark,
        };
        self.insert(number, token);
        Ok(())
    }

    fn insert(&mut self, number: Option<usize>, token: Token) {
        // A token whose place has been taken already comes last, as in libyaml.
        let place = number
            .and_then(|number| number.checked_sub(self.taken))
            .map_or(self.tokens.len(), |place| place.min(self.tokens.len()));
        self.tokens.insert(place, token);
    }

    /// Ends the blocks that are indented more than a column.
    fn unroll_indent(&mut self, column: isize, scan: Mark) {
        if self.flow_level > 0 {
            return;
        }
        let mut block = scan;
        block.index = block.index.wrapping_sub(1);
        while self.indent > column {
            self.place_before_comments(&mut block);
            self.tokens.push_back(Token {
                kind: TokenKind::BlockEnd,
                start: block,
                end: block,
            });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Result<(), Error> {
        if self.cursor.mark.column != 0 {
            self.cursor.mark.column = 0;
            self.cursor.mark.line += 1;
        }
        self.unroll_indent(-1, self.cursor.mark);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(TokenKind::StreamEnd, self.cursor.mark);
        self.ended = true;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Error> {
        self.unroll_indent(-1, self.cursor.mark);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.unroll_indent(-1, self.cursor.mark);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.cursor.mark;
        self.cursor.skip_many(3);
        self.push(kind, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_keys.push(SimpleKey {
            possible: false,
            required: false,
            token_number: self.taken + self.tokens.len(),
            mark: self.cursor.mark,
        });
        self.flow_level += 1;
        if self.flow_level > DEEPEST {
            return Err(self.error(Some(self.cursor.mark), "exceeded max depth of 10000"));
        }
        self.simple_key_allowed = true;
        self.fetch_one(kind);
        Ok(())
    }

    fn fetch_one(&mut self, kind: TokenKind) {
        let start = self.cursor.mark;
        self.cursor.skip();
        self.push(kind, start);
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.simple_keys.pop() {
                self.forget_simple_key(key.token_number);
            }
        }
        self.simple_key_allowed = false;
        self.fetch_one(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.fetch_one(TokenKind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        let here = self.cursor.mark;
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(self.error(
                    Some(here),
                    "block sequence entries are not allowed in this context",
                ));
            }
            self.roll_indent(here.column, None, TokenKind::BlockSequenceStart, here)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.fetch_one(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        let here = self.cursor.mark;
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(self.error(Some(here), "mapping keys are not allowed in this context"));
            }
            self.roll_indent(here.column, None, TokenKind::BlockMappingStart, here)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.fetch_one(TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let here = self.cursor.mark;
        let level = self.simple_keys.len() - 1;
        if self.is_simple_key_valid(level)? {
            let key = self.simple_keys[level];
            let token = Token {
                kind: TokenKind::Key,
                start: key.mark,
                end: key.mark,
            };
            self.insert(Some(key.token_number), token);
            self.roll_indent(
                key.mark.column,
                Some(key.token_number),
                TokenKind::BlockMappingStart,
                key.mark,
            )?;
            self.simple_keys[level].possible = false;
            self.forget_simple_key(key.token_number);
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return Err(self.error(Some(here), "mapping values are not allowed in this context"));
                }
                self.roll_indent(here.column, None, TokenKind::BlockMappingStart, here)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.fetch_one(TokenKind::Value);
        Ok(())
    }

    /// A token that may be a key.
    fn fetch_simple(&mut self, scan: impl FnOnce(&mut Self) -> Result<Token, Error>) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), Error> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        let token = self.scan_block(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }
}

/// A complaint about the syntax. Go names the line of the problem or of its context, whichever library and
/// stage it is, and leaves it out on the first line.
pub(crate) fn syntax_error(v3: bool, scanner: bool, context: Option<Mark>, problem: &str, at: Mark) -> Error {
    let context_line = context.map_or(0, |mark| mark.line);
    let (first, second) = if v3 {
        (context_line, at.line)
    } else {
        (at.line, context_line)
    };
    let line = match (first, second) {
        (0, 0) => 0,
        (0, line) => line + usize::from(scanner && v3),
        (line, _) => line + usize::from(scanner),
    };
    let place = if line == 0 {
        String::new()
    } else {
        format!("line {line}: ")
    };
    let remedy = match problem {
        "found character that cannot start any token" => {
            "put the text into quotes, and indent with spaces only"
        }
        "mapping values are not allowed in this context" => {
            "put a text that holds ': ' into quotes, or check the indent"
        }
        "could not find expected ':'" | "did not find expected key" => {
            "check the indent and that each key ends in ':'"
        }
        _ => "correct the YAML at this place",
    };
    Error::new(ErrorKind::Syntax, Some(at.position()), problem, remedy)
        .with_go_message(format!("yaml: {place}{problem}"))
}
