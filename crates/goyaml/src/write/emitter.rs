use crate::Style;
use crate::write::analysis::{Analysis, is_break, is_printable};

/// What distinguishes the two writers beneath the Go libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// yaml.v2: lists at their parent's indent, lines folded after column 80, no comments.
    V2,
    /// yaml.v3: no folding, comments; `compact` counts the dash as part of a list's indent.
    V3 {
        /// Whether a list under a key starts in the key's column.
        compact: bool,
    },
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Root,
    BlockItem,
    FlowItem,
    /// A key; simple ones stand on one line before their colon.
    Key {
        simple: bool,
        block: bool,
    },
    Value {
        block: bool,
    },
}

impl Place {
    fn is_simple_key(self) -> bool {
        matches!(self, Self::Key { simple: true, .. })
    }

    fn is_in_mapping(self) -> bool {
        matches!(self, Self::Key { .. } | Self::Value { .. })
    }
}

/// Comments that wait for the place where they are written.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) head: String,
    pub(crate) line: String,
    pub(crate) foot: String,
    /// The foot comment of the mapping's previous entry.
    pub(crate) tail: String,
    /// A line comment that stood behind a key.
    pub(crate) key_line: String,
}

/// Writes YAML token by token, keeping track of columns and indents as libyaml does.
pub(crate) struct Emitter {
    out: String,
    dialect: Dialect,
    width: usize,
    indents: Vec<isize>,
    indent: isize,
    pub(crate) column: usize,
    pub(crate) flow_level: usize,
    whitespace: bool,
    indention: bool,
    foot_indent: isize,
    pub(crate) comments: Waiting,
}

/// The step of indentation.
const STEP: isize = 2;

impl Emitter {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            out: String::new(),
            dialect,
            width: if dialect == Dialect::V2 { 80 } else { usize::MAX },
            indents: Vec::new(),
            indent: -1,
            column: 0,
            flow_level: 0,
            whitespace: true,
            indention: true,
            foot_indent: -1,
            comments: Waiting::default(),
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    pub(crate) fn is_v3(&self) -> bool {
        self.dialect != Dialect::V2
    }

    pub(crate) fn is_over_wide(&self) -> bool {
        self.column > self.width
    }

    fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    pub(crate) fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        if self.is_v3() {
            self.indention = true;
        }
    }

    fn put_any_break(&mut self, character: char) {
        if character == '\n' {
            self.put_break();
        } else {
            self.out.push(character);
            self.column = 0;
            if self.is_v3() {
                self.indention = true;
            }
        }
        if !self.is_v3() {
            self.indention = true;
        }
    }

    /// Goes to the current indent, on a new line unless already there.
    pub(crate) fn write_indent(&mut self) {
        let indent = self.indent.max(0).unsigned_abs();
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        if self.is_v3() {
            if self.foot_indent == self.indent.max(0) {
                self.put_break();
            }
        } else {
            self.indention = true;
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.foot_indent = -1;
    }

    pub(crate) fn write_indicator(
        &mut self,
        indicator: &str,
        need_whitespace: bool,
        whitespace: bool,
        indention: bool,
    ) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        self.out.push_str(indicator);
        self.column += indicator.len();
        self.whitespace = whitespace;
        self.indention = self.indention && indention;
    }

    /// `[]` or `{}`.
    pub(crate) fn write_empty(&mut self, brackets: &str) {
        self.write_indicator(brackets, true, false, false);
    }

    /// `&name` or `*name`.
    pub(crate) fn write_anchor(&mut self, sigil: &str, name: &str) {
        self.write_indicator(sigil, true, false, false);
        self.out.push_str(name);
        self.column += name.chars().count();
        self.whitespace = false;
        self.indention = false;
    }

    /// A tag in short form, or in full as `!<...>`.
    pub(crate) fn write_tag(&mut self, tag: &str) {
        let (handle, suffix) = match tag.strip_prefix("!!") {
            Some(suffix) => ("!!", suffix),
            None => match tag.strip_prefix('!') {
                Some(suffix) => ("!", suffix),
                None => ("!<", tag),
            },
        };
        self.write_indicator(handle, true, false, false);
        for byte in suffix.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_;/?:@&=+$,.~*'()[]".contains(&byte) {
                self.put(char::from(byte));
            } else {
                let escaped = format!("%{byte:02X}");
                self.out.push_str(&escaped);
                self.column += escaped.len();
            }
        }
        if handle == "!<" {
            self.write_indicator(">", false, false, false);
        }
        self.whitespace = false;
        self.indention = false;
    }

    pub(crate) fn increase_indent(&mut self, place: Place, flow: bool, indentless: bool, compact: bool) {
        self.indents.push(self.indent);
        if self.indent < 0 {
            self.indent = if flow { STEP } else { 0 };
        } else if indentless {
            // The dash takes the parent's column.
        } else if self.is_v3() && place != Place::BlockItem {
            self.indent = STEP * ((self.indent + STEP) / STEP) - if compact { 2 } else { 0 };
        } else {
            self.indent += STEP;
        }
    }

    /// Indents for a block sequence that stands in the given place.
    pub(crate) fn increase_indent_for_sequence(&mut self, place: Place) {
        match self.dialect {
            Dialect::V2 => {
                let indentless = place.is_in_mapping() && !self.indention;
                self.increase_indent(place, false, indentless, false);
            }
            Dialect::V3 { compact } => {
                let compact = compact && place.is_in_mapping() && (self.column == 0 || !self.indention);
                self.increase_indent(place, false, false, compact);
            }
        }
    }

    pub(crate) fn decrease_indent(&mut self) {
        self.indent = self.indents.pop().unwrap_or(-1);
    }

    pub(crate) fn write_head_comment(&mut self) {
        let tail = std::mem::take(&mut self.comments.tail);
        if !tail.is_empty() {
            self.write_indent();
            self.write_comment(&tail);
            self.foot_indent = self.indent.max(0);
        }
        let head = std::mem::take(&mut self.comments.head);
        if !head.is_empty() {
            self.write_indent();
            self.write_comment(&head);
        }
    }

    pub(crate) fn write_line_comment(&mut self) {
        let line = std::mem::take(&mut self.comments.line);
        if !line.is_empty() {
            if !self.whitespace {
                self.put(' ');
            }
            self.write_comment(&line);
        }
    }

    pub(crate) fn write_foot_comment(&mut self) {
        let foot = std::mem::take(&mut self.comments.foot);
        if !foot.is_empty() {
            self.write_indent();
            self.write_comment(&foot);
            self.foot_indent = self.indent.max(0);
        }
    }

    /// Writes what ends a document.
    pub(crate) fn end_document(&mut self, foot: &str) {
        foot.clone_into(&mut self.comments.foot);
        self.indent = -1;
        if self.is_v3() {
            self.foot_indent = 0;
            self.write_foot_comment();
            self.foot_indent = -1;
        }
        self.write_indent();
    }

    fn write_comment(&mut self, comment: &str) {
        let mut breaks = false;
        let mut pound = false;
        for character in comment.chars() {
            if is_break(character) {
                self.put_any_break(character);
                breaks = true;
                pound = false;
                continue;
            }
            if breaks {
                self.write_indent();
            }
            if !pound {
                if character != '#' {
                    self.put('#');
                    self.put(' ');
                }
                pound = true;
            }
            self.put(character);
            self.indention = false;
            breaks = false;
        }
        if !breaks {
            self.put_break();
        }
        self.whitespace = true;
    }

    /// Writes a scalar in the wished style, or in another if the text does not allow that one.
    pub(crate) fn write_scalar(&mut self, text: &str, wished: Style, analysis: &Analysis, place: Place) {
        let style = self.choose_style(text, wished, analysis, place);
        self.increase_indent(place, true, false, false);
        let fold = !place.is_simple_key();
        match style {
            Style::SingleQuoted => self.write_single_quoted(text, fold),
            Style::DoubleQuoted => self.write_double_quoted(text, fold),
            Style::Literal => self.write_literal(text),
            Style::Folded => self.write_folded(text),
            Style::Plain | Style::Flow => self.write_plain(text, fold),
        }
        self.decrease_indent();
    }

    fn choose_style(&self, text: &str, wished: Style, analysis: &Analysis, place: Place) -> Style {
        let mut style = wished;
        let flow = self.flow_level > 0;
        let simple_key = place.is_simple_key();
        if simple_key && analysis.multiline {
            style = Style::DoubleQuoted;
        }
        if matches!(style, Style::Plain | Style::Flow) {
            let allowed = if flow {
                analysis.flow_plain_allowed
            } else {
                analysis.block_plain_allowed
            };
            if !allowed || (text.is_empty() && (flow || simple_key)) {
                style = Style::SingleQuoted;
            }
        }
        if style == Style::SingleQuoted && !analysis.single_quoted_allowed {
            style = Style::DoubleQuoted;
        }
        if matches!(style, Style::Literal | Style::Folded) && (!analysis.block_allowed || flow || simple_key)
        {
            style = Style::DoubleQuoted;
        }
        style
    }

    fn write_plain(&mut self, text: &str, fold: bool) {
        if !self.whitespace && (!self.is_v3() || !text.is_empty()) {
            self.put(' ');
        }
        self.write_lines(text, fold, false);
        if !self.is_v3() || !text.is_empty() {
            self.whitespace = false;
        }
        self.indention = false;
    }

    fn write_single_quoted(&mut self, text: &str, fold: bool) {
        self.write_indicator("'", true, false, false);
        self.write_lines(text, fold, true);
        self.write_indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// The body of a plain or single-quoted scalar.
    fn write_lines(&mut self, text: &str, fold: bool, quoted: bool) {
        let mut spaces = false;
        let mut breaks = false;
        let mut characters = text.chars().peekable();
        let mut first = true;
        while let Some(character) = characters.next() {
            if character == ' ' {
                let next = characters.peek().copied();
                let inside = !quoted || (!first && next.is_some());
                if fold && !spaces && self.is_over_wide() && inside && next != Some(' ') {
                    self.write_indent();
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else if is_break(character) {
                if !breaks && character == '\n' {
                    self.put_break();
                }
                self.put_any_break(character);
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                if quoted && character == '\'' {
                    self.put('\'');
                }
                self.put(character);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
            first = false;
        }
    }

    fn write_double_quoted(&mut self, text: &str, fold: bool) {
        self.write_indicator("\"", true, false, false);
        let mut spaces = false;
        // A byte order mark at the start makes Go escape every character.
        let escape_all = text.starts_with('\u{feff}');
        let mut characters = text.chars().peekable();
        let mut first = true;
        while let Some(character) = characters.next() {
            if escape_all
                || !is_printable(character)
                || is_break(character)
                || matches!(character, '"' | '\\')
            {
                self.write_escape(character);
                spaces = false;
            } else if character == ' ' {
                let next = characters.peek().copied();
                if fold && !spaces && self.is_over_wide() && !first && next.is_some() {
                    self.write_indent();
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else {
                self.put(character);
                spaces = false;
            }
            first = false;
        }
        self.write_indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn write_escape(&mut self, character: char) {
        let short = match character {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(character);
                let escape = match code {
                    0..=0xFF => format!("\\x{code:02X}"),
                    0x100..=0xFFFF => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                };
                self.out.push_str(&escape);
                self.column += escape.len();
                return;
            }
        };
        self.put('\\');
        self.put(short);
    }

    /// The signs after `|` or `>`: an indent where the text starts with white space, and what happens to
    /// the line breaks at the end.
    fn write_block_hints(&mut self, text: &str) {
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            self.write_indicator("2", false, false, false);
        }
        let mut backwards = text.chars().rev();
        let chomp = match backwards.next() {
            Some(last) if is_break(last) => match backwards.next() {
                Some(before) if !is_break(before) => "",
                _ => "+",
            },
            _ => "-",
        };
        if !chomp.is_empty() {
            self.write_indicator(chomp, false, false, false);
        }
    }

    fn start_block(&mut self, indicator: &str, text: &str) {
        self.write_indicator(indicator, true, false, false);
        self.write_block_hints(text);
        if self.comments.line.is_empty() {
            self.put_break();
        } else {
            self.write_line_comment();
        }
        if !self.is_v3() {
            self.indention = true;
        }
        self.whitespace = true;
    }

    fn write_literal(&mut self, text: &str) {
        self.start_block("|", text);
        let mut breaks = true;
        for character in text.chars() {
            if is_break(character) {
                self.put_any_break(character);
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                self.put(character);
                self.indention = false;
                breaks = false;
            }
        }
    }

    fn write_folded(&mut self, text: &str) {
        self.start_block(">", text);
        let mut breaks = true;
        let mut leading_spaces = true;
        // libyaml looks for the first text after breaks from the start of the whole scalar, not from here.
        let first_text = text.chars().find(|&character| !is_break(character));
        let starts_blank = !first_text.is_some_and(|first| !matches!(first, ' ' | '\t'));
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if is_break(character) {
                if !breaks && !leading_spaces && character == '\n' && !starts_blank {
                    self.put_break();
                }
                self.put_any_break(character);
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                    leading_spaces = matches!(character, ' ' | '\t');
                }
                let next = characters.peek().copied();
                if !breaks && character == ' ' && next != Some(' ') && self.is_over_wide() {
                    self.write_indent();
                } else {
                    self.put(character);
                }
                self.indention = false;
                breaks = false;
            }
        }
    }
}
