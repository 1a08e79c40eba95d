//! Which token a comment belongs to, as yaml.v3 decides it.

use crate::read::cursor::Mark;
use crate::read::scanner::Scanner;
use crate::read::token::{Found, TokenKind};

/// How far yaml.v3 looks for a comment, in bytes.
const REACH: usize = 512;

/// What [`Scanner::scan_comments`] has gathered so far.
struct Search {
    scan: Mark,
    token: Mark,
    start: Mark,
    line: usize,
    column: usize,
    text: String,
    /// The least column of a comment that belongs to what follows.
    indent: usize,
    /// The last line was empty.
    recent_empty: bool,
    /// No line was empty yet.
    first_empty: bool,
}

impl Scanner<'_> {
    /// A comment on the same line as the token that has just been read.
    pub(crate) fn scan_line_comment(&mut self, token: Mark) {
        if self.cursor.newlines > 0 {
            return;
        }
        let Some(ahead) = (0..REACH).find(|&ahead| !self.cursor.is_blank(ahead)) else {
            return;
        };
        if self.cursor.byte(ahead) != b'#' {
            return;
        }
        self.cursor.skip_many(ahead);
        let start = self.cursor.mark;
        let mut line = String::new();
        self.cursor.read_to_break(&mut line);
        self.found.push_back(Found {
            token,
            start,
            line,
            ..Found::default()
        });
    }

    /// Makes the comment behind a dash a head comment of what the dash's line or the next one holds.
    pub(crate) fn lift_entry_comment(&mut self) {
        let (before, last) = self.last_tokens();
        let after_first_dash = before.is_some_and(|token| token.kind == TokenKind::BlockSequenceStart)
            && last.is_some_and(|token| token.kind == TokenKind::BlockEntry);
        if !after_first_dash || self.cursor.is_break(0) {
            return;
        }
        let here = self.cursor.mark;
        if let Some(found) = self.found.back_mut()
            && !found.line.is_empty()
        {
            found.head = std::mem::take(&mut found.line);
            if found.start.line + 1 == here.line {
                found.token = here;
            }
        }
    }

    /// The end of a block moves before the comments that have its indent: these follow the block.
    pub(crate) fn place_before_comments(&self, block: &mut Mark) {
        let mut stop = block.index;
        for found in self.found.iter().rev() {
            if stop != usize::MAX && found.end.index < stop {
                break;
            }
            if found.start.column.cast_signed() == self.indent + 1 {
                *block = found.start;
            }
            stop = found.scan.index;
        }
    }

    /// The comment lines from here to the next token.
    pub(crate) fn scan_comments(&mut self, scan: Mark) {
        let (before, last) = self.last_tokens();
        let (token, is_value) = match (before, last) {
            (Some(before), Some(last)) if last.kind == TokenKind::FlowEntry => {
                (before.start, before.kind == TokenKind::Value)
            }
            (_, Some(last)) => (last.start, last.kind == TokenKind::Value),
            _ => return,
        };
        let here = self.cursor.mark;
        let newlines = self.cursor.newlines;
        // The line on which a comment must start to belong to what precedes it.
        let foot_line = (scan.line > 0).then(|| {
            let below = newlines == 0 && here.column > 1;
            (here.line + 1 + usize::from(below)).wrapping_sub(newlines)
        });
        let mut search = Search {
            scan,
            token,
            start: Mark::default(),
            line: here.line,
            column: here.column,
            text: String::new(),
            indent: self.indent.max(0).unsigned_abs(),
            recent_empty: false,
            first_empty: newlines <= 1,
        };
        let mut ahead = 0;
        while ahead < REACH {
            search.column += 1;
            if self.cursor.is_blank(ahead) {
                ahead += 1;
                continue;
            }
            let byte = self.cursor.byte(ahead);
            let closes = self.flow_level > 0 && matches!(byte, b']' | b'}');
            if closes || self.cursor.is_break_or_end(ahead) {
                self.end_line(&mut search, ahead, closes, foot_line, is_value);
                if !self.cursor.is_break(ahead) {
                    break;
                }
                search.first_empty = false;
                search.recent_empty = true;
                search.column = 0;
                search.line += 1;
                ahead += 1;
                continue;
            }
            let dedented = search.column <= search.indent && search.column != search.start.column;
            if !search.text.is_empty() && dedented {
                self.push_foot(&mut search, ahead);
            }
            if byte != b'#' {
                break;
            }
            if search.text.is_empty() {
                search.start = Mark {
                    index: self.cursor.mark.index + ahead,
                    line: search.line,
                    column: search.column,
                };
            } else {
                search.text.push('\n');
            }
            search.recent_empty = false;
            self.read_comment(&mut search.text, ahead);
            // As in yaml.v3, the search goes on one byte behind the comment.
            ahead = 1;
            search.column = 0;
            search.line = self.cursor.mark.line;
            search.indent = self.indent.max(0).unsigned_abs();
        }
        if !search.text.is_empty() {
            self.found.push_back(Found {
                scan: search.scan,
                token: search.start,
                start: search.start,
                end: Mark {
                    index: (self.cursor.mark.index + ahead).saturating_sub(1),
                    line: search.line,
                    column: search.column,
                },
                head: search.text,
                ..Found::default()
            });
        }
    }

    /// Decides, at an empty line or the end of a flow collection, whether the comment so far belongs to what
    /// precedes it.
    fn end_line(
        &mut self,
        search: &mut Search,
        ahead: usize,
        closes: bool,
        foot_line: Option<usize>,
        is_value: bool,
    ) {
        if !closes && search.recent_empty {
            return;
        }
        let dedented = search.start.column.cast_signed() - 1 < search.indent.cast_signed();
        let at_foot = foot_line == Some(search.start.line) && !is_value;
        if closes || (search.first_empty && (at_foot || dedented)) {
            if !search.text.is_empty() {
                if dedented {
                    search.token = search.start;
                }
                self.push_foot(search, ahead);
            }
        } else if !search.text.is_empty() && self.cursor.byte(ahead) != 0 {
            search.text.push('\n');
        }
    }

    fn push_foot(&mut self, search: &mut Search, ahead: usize) {
        let end = Mark {
            index: self.cursor.mark.index + ahead,
            line: search.line,
            column: search.column,
        };
        self.found.push_back(Found {
            scan: search.scan,
            token: search.token,
            start: search.start,
            end,
            foot: std::mem::take(&mut search.text),
            ..Found::default()
        });
        search.scan = end;
        search.token = end;
    }

    /// Passes what precedes a comment and reads it to its line's end.
    fn read_comment(&mut self, text: &mut String, ahead: usize) {
        let seen = self.cursor.mark.index + ahead;
        loop {
            if self.cursor.is_break_or_end(0) {
                if self.cursor.mark.index >= seen || self.cursor.is_end() {
                    return;
                }
                self.cursor.skip_line();
            } else if self.cursor.mark.index >= seen {
                self.cursor.read(text);
            } else {
                self.cursor.skip();
            }
        }
    }
}
