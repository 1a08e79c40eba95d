/// The upper-case letter of one letter, as Go's `unicode.ToUpper`: mappings to several letters do not
/// count.
pub(crate) fn to_upper(letter: char) -> char {
    if is_newer_than_go(letter) {
        return letter;
    }
    single(letter, letter.to_uppercase()).unwrap_or_else(|| match letter {
        // Greek letters with a subscript iota, whose full mapping writes the iota out.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shift(letter, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shift(letter, 9),
        _ => letter,
    })
}

/// The lower-case letter of one letter, as Go's `unicode.ToLower`.
pub(crate) fn to_lower(letter: char) -> char {
    if is_newer_than_go(letter) {
        return letter;
    }
    single(letter, letter.to_lowercase()).unwrap_or(if letter == '\u{130}' { 'i' } else { letter })
}

fn single(letter: char, mut mapped: impl ExactSizeIterator<Item = char>) -> Option<char> {
    match mapped.len() {
        1 => mapped.next(),
        0 => Some(letter),
        _ => None,
    }
}

fn shift(letter: char, by: u32) -> char {
    char::from_u32(u32::from(letter) + by).unwrap_or(letter)
}

/// Letters whose other case came with Unicode 16 and 17; Go has the tables of Unicode 15.
fn is_newer_than_go(letter: char) -> bool {
    matches!(
        letter,
        '\u{19b}'
            | '\u{264}'
            | '\u{1c89}'..='\u{1c8a}'
            | '\u{a7cb}'..='\u{a7cf}'
            | '\u{a7d2}'..='\u{a7d5}'
            | '\u{a7da}'..='\u{a7dc}'
            | '\u{10d50}'..='\u{10d85}'
            | '\u{16ea0}'..='\u{16ed3}'
    )
}
