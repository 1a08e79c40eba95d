//! The format language of `Sprintf`: flags, width, precision, argument indexes.

use super::Printer;
use crate::error::LimitError;
use crate::text::first_rune;
use crate::value::Value;

/// The largest width and precision; beyond, they count as mistakes.
const MAX_NUMBER: usize = 1_000_000;

struct Cursor<'run> {
    format: &'run [u8],
    at: usize,
    arguments: &'run [Value],
    argument: usize,
    reordered: bool,
    good_index: bool,
    after_index: bool,
}

pub(super) fn print_format(
    printer: &mut Printer,
    format: &[u8],
    arguments: &[Value],
) -> Result<(), LimitError> {
    let mut cursor = Cursor {
        format,
        at: 0,
        arguments,
        argument: 0,
        reordered: false,
        good_index: true,
        after_index: false,
    };
    loop {
        cursor.good_index = true;
        let rest = &format[cursor.at..];
        let plain = rest.iter().position(|&byte| byte == b'%').unwrap_or(rest.len());
        printer.layout.out.extend_from_slice(&rest[..plain]);
        cursor.at += plain;
        if cursor.at >= format.len() {
            break;
        }
        cursor.at += 1;
        printer.layout.clear();
        if !print_verb(printer, &mut cursor)? {
            break;
        }
        printer.check(0)?;
    }
    if cursor.reordered || cursor.argument >= arguments.len() {
        return Ok(());
    }
    printer.layout.clear();
    printer.layout.push("%!(EXTRA ");
    for (index, value) in arguments[cursor.argument..].iter().enumerate() {
        if index > 0 {
            printer.layout.push(", ");
        }
        if value.is_nil() {
            printer.layout.push("<nil>");
        } else {
            printer.layout.push(&format!("{}=", value.type_of()));
            printer.print_argument(value, 'v')?;
        }
    }
    printer.layout.push(")");
    Ok(())
}

/// One verb; false at the end of the format.
fn print_verb(printer: &mut Printer, cursor: &mut Cursor<'_>) -> Result<bool, LimitError> {
    let mut simple = false;
    while let Some(&byte) = cursor.format.get(cursor.at) {
        let flags = &mut printer.layout.flags;
        match byte {
            b'#' => flags.sharp = true,
            b'0' => flags.zero = true,
            b'+' => flags.plus = true,
            b'-' => flags.minus = true,
            b' ' => flags.space = true,
            _ => {
                simple = byte.is_ascii_lowercase() && cursor.argument < cursor.arguments.len();
                break;
            }
        }
        cursor.at += 1;
    }
    if !simple {
        cursor.index();
        read_width(printer, cursor);
        read_precision(printer, cursor);
        if !cursor.after_index {
            cursor.index();
        }
    }
    let Some((verb, size)) = first_rune(&cursor.format[cursor.at..]) else {
        printer.layout.push("%!(NOVERB)");
        return Ok(false);
    };
    cursor.at += size;
    if verb == '%' {
        printer.layout.push("%");
    } else if !cursor.good_index {
        printer.layout.push(&format!("%!{verb}(BADINDEX)"));
    } else if let Some(value) = cursor.arguments.get(cursor.argument) {
        if matches!(verb, 'v' | 'w') {
            let flags = &mut printer.layout.flags;
            flags.sharp_v = std::mem::take(&mut flags.sharp);
            flags.plus_v = std::mem::take(&mut flags.plus);
        }
        printer.print_argument(value, verb)?;
        cursor.argument += 1;
    } else {
        printer.layout.push(&format!("%!{verb}(MISSING)"));
    }
    Ok(true)
}

fn read_width(printer: &mut Printer, cursor: &mut Cursor<'_>) {
    let layout = &mut printer.layout;
    if cursor.format.get(cursor.at) == Some(&b'*') {
        cursor.at += 1;
        match cursor.number_argument() {
            Some(width) => {
                layout.width = Some(width.unsigned_abs());
                if width < 0 {
                    layout.flags.minus = true;
                    layout.flags.zero = false;
                }
            }
            None => layout.push("%!(BADWIDTH)"),
        }
        cursor.after_index = false;
    } else {
        layout.width = cursor.number();
        if cursor.after_index && layout.width.is_some() {
            cursor.good_index = false;
        }
    }
}

fn read_precision(printer: &mut Printer, cursor: &mut Cursor<'_>) {
    let layout = &mut printer.layout;
    if cursor.format.get(cursor.at) != Some(&b'.') || cursor.at + 1 >= cursor.format.len() {
        return;
    }
    cursor.at += 1;
    if cursor.after_index {
        cursor.good_index = false;
    }
    cursor.index();
    if cursor.format.get(cursor.at) == Some(&b'*') {
        cursor.at += 1;
        layout.precision = cursor
            .number_argument()
            .and_then(|precision| usize::try_from(precision).ok());
        if layout.precision.is_none() {
            layout.push("%!(BADPREC)");
        }
        cursor.after_index = false;
    } else {
        layout.precision = Some(cursor.number().unwrap_or(0));
    }
}

impl Cursor<'_> {
    /// Reads decimal digits. A number too large makes all that follows part of it, as in Go.
    fn number(&mut self) -> Option<usize> {
        let (number, end) = read_number(self.format, self.at, self.format.len());
        self.at = end;
        number
    }

    /// Reads `[n]` where one follows.
    fn index(&mut self) {
        self.after_index = false;
        let rest = &self.format[self.at..];
        if rest.first() != Some(&b'[') {
            return;
        }
        self.reordered = true;
        let closing = (rest.len() >= 3)
            .then(|| rest.iter().position(|&byte| byte == b']'))
            .flatten();
        let Some(closing) = closing else {
            self.at += 1;
            self.good_index = false;
            return;
        };
        self.at += closing + 1;
        let (number, end) = read_number(rest, 1, closing);
        match number {
            Some(number) if end == closing => {
                self.after_index = true;
                match number.checked_sub(1) {
                    Some(index) if index < self.arguments.len() => self.argument = index,
                    _ => self.good_index = false,
                }
            }
            _ => self.good_index = false,
        }
    }

    /// Takes an argument as width or precision; None if it is none.
    fn number_argument(&mut self) -> Option<isize> {
        let value = self.arguments.get(self.argument)?;
        self.argument += 1;
        let number = match value.plain() {
            Value::Signed(_, number) => isize::try_from(number).ok()?,
            Value::Unsigned(_, number) => isize::try_from(number).ok()?,
            _ => return None,
        };
        (number.unsigned_abs() <= MAX_NUMBER).then_some(number)
    }
}

fn read_number(format: &[u8], start: usize, end: usize) -> (Option<usize>, usize) {
    let mut number = None;
    let mut at = start;
    while at < end && format[at].is_ascii_digit() {
        let value = number.unwrap_or(0);
        if value > MAX_NUMBER {
            return (None, end);
        }
        number = Some(value * 10 + usize::from(format[at] - b'0'));
        at += 1;
    }
    (number, at.max(start).min(end.max(start)))
}
