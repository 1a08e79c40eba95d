/// Which styles a scalar's text allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Analysis {
    pub(crate) multiline: bool,
    pub(crate) flow_plain_allowed: bool,
    pub(crate) block_plain_allowed: bool,
    pub(crate) single_quoted_allowed: bool,
    pub(crate) block_allowed: bool,
}

/// What is found while looking through a text.
#[derive(Default)]
struct Findings {
    block_indicators: bool,
    flow_indicators: bool,
    line_breaks: bool,
    special: bool,
    tab: bool,
    leading_space: bool,
    leading_break: bool,
    trailing_space: bool,
    trailing_break: bool,
    break_space: bool,
    space_break: bool,
}

/// A line break by YAML 1.1.
pub(crate) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether Go's emitters write the character as it is; those beyond U+FFFF they escape.
pub(crate) fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && character != '\u{feff}'
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

impl Analysis {
    /// Analyses a text; `tabs_are_text` is yaml.v3's leniency, which allows tabs in block scalars.
    pub(crate) fn of(text: &str, tabs_are_text: bool) -> Self {
        if text.is_empty() {
            return Self {
                multiline: false,
                flow_plain_allowed: false,
                block_plain_allowed: true,
                single_quoted_allowed: true,
                block_allowed: false,
            };
        }
        let found = look_through(text, tabs_are_text);
        let edge = found.leading_space || found.leading_break || found.trailing_space || found.trailing_break;
        let unquotable = found.space_break || found.special;
        let not_single = found.break_space || unquotable || found.tab;
        let plain = !edge && !not_single && !found.line_breaks;
        Self {
            multiline: found.line_breaks,
            flow_plain_allowed: plain && !found.flow_indicators,
            block_plain_allowed: plain && !found.block_indicators,
            single_quoted_allowed: !not_single,
            block_allowed: !found.trailing_space && !unquotable,
        }
    }
}

fn look_through(text: &str, tabs_are_text: bool) -> Findings {
    let mut found = Findings::default();
    if text.starts_with("---") || text.starts_with("...") {
        found.block_indicators = true;
        found.flow_indicators = true;
    }
    let mut after_white = true;
    let mut previous_space = false;
    let mut previous_break = false;
    let mut characters = text.chars().peekable();
    let mut first = true;
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let before_white = next.is_none_or(is_blank);
        look_for_indicators(character, first, after_white, before_white, &mut found);
        if character == '\t' && tabs_are_text {
            found.tab = true;
        } else if !is_printable(character) {
            found.special = true;
        }
        if character == ' ' {
            found.leading_space |= first;
            found.trailing_space |= next.is_none();
            found.break_space |= previous_break;
            previous_space = true;
            previous_break = false;
        } else if is_break(character) {
            found.line_breaks = true;
            found.leading_break |= first;
            found.trailing_break |= next.is_none();
            found.space_break |= previous_space;
            previous_space = false;
            previous_break = true;
        } else {
            previous_space = false;
            previous_break = false;
        }
        after_white = is_blank(character) || is_break(character) || character == '\0';
        first = false;
    }
    found
}

fn look_for_indicators(
    character: char,
    first: bool,
    after_white: bool,
    before_white: bool,
    found: &mut Findings,
) {
    match character {
        '#' if first || after_white => {
            found.flow_indicators = true;
            found.block_indicators = true;
        }
        ',' | '[' | ']' | '{' | '}' => {
            found.flow_indicators = true;
            found.block_indicators |= first;
        }
        '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if first => {
            found.flow_indicators = true;
            found.block_indicators = true;
        }
        '?' => {
            found.flow_indicators = true;
            found.block_indicators |= first && before_white;
        }
        ':' => {
            found.flow_indicators = true;
            found.block_indicators |= before_white;
        }
        '-' if first && before_white => {
            found.flow_indicators = true;
            found.block_indicators = true;
        }
        _ => {}
    }
}
