//! Go's package fmt: `Sprint`, `Sprintln`, `Sprintf` with all verbs and flags.

mod float;
mod layout;
mod verbs;

pub(crate) use float::{format_general, format_json, format_shortest};
use layout::{Case, Layout};

use std::borrow::Cow;
use std::rc::Rc;

use crate::error::LimitError;
use crate::text::Text;
use crate::value::{Float, Object, Operand, Shape, Type, Value};

/// How deep a value may nest to be printed; in Go a cycle overflows the stack.
const MAX_DEPTH: usize = 10_000;

type Result = std::result::Result<(), LimitError>;

/// Prints values; `limit` is the most bytes that may come out.
pub(crate) struct Printer {
    layout: Layout,
    limit: usize,
    /// Inside the report of a bad verb, methods are not called.
    reporting: bool,
}

/// `fmt.Sprint`: spaces between operands where neither is a string.
pub(crate) fn print(values: &[Value], limit: usize) -> std::result::Result<Vec<u8>, LimitError> {
    let mut printer = Printer::new(limit);
    let mut after_string = false;
    for (index, value) in values.iter().enumerate() {
        let is_string = matches!(value.plain(), Value::String(_));
        if index > 0 && !is_string && !after_string {
            printer.layout.out.push(b' ');
        }
        printer.print_argument(value, 'v')?;
        after_string = is_string;
    }
    Ok(printer.layout.out)
}

/// What an action writes of its value, and what Go's escaping functions see of their arguments: nothing
/// is `<no value>`, and a pointer without text of its own is what it leads to.
pub(crate) fn printable(value: &Value) -> Value {
    match value {
        Value::Nil => Value::from("<no value>"),
        Value::Object(object) => match object.shape() {
            Shape::Pointer(fields) if object.text().is_none() => {
                Value::Object(Rc::new(Target(object.type_name(), fields)))
            }
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

/// The structure that a pointer leads to.
struct Target(Cow<'static, str>, Vec<(&'static str, Operand)>);

impl Object for Target {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Owned(self.0.trim_start_matches('*').to_owned())
    }

    fn shape(&self) -> Shape {
        Shape::Struct(self.1.clone())
    }
}

/// `fmt.Sprintln`.
pub(crate) fn println(values: &[Value], limit: usize) -> std::result::Result<Vec<u8>, LimitError> {
    let mut printer = Printer::new(limit);
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            printer.layout.out.push(b' ');
        }
        printer.print_argument(value, 'v')?;
    }
    printer.layout.out.push(b'\n');
    Ok(printer.layout.out)
}

/// `fmt.Sprintf`.
pub(crate) fn printf(
    format: &[u8],
    values: &[Value],
    limit: usize,
) -> std::result::Result<Vec<u8>, LimitError> {
    let mut printer = Printer::new(limit);
    verbs::print_format(&mut printer, format, values)?;
    Ok(printer.layout.out)
}

/// `%v` or another verb of a value as it is; what is too large is cut.
pub(crate) fn describe_bytes(value: &Value, verb: char) -> Vec<u8> {
    const LIMIT: usize = 64 << 20;
    let mut printer = Printer::new(LIMIT);
    // What nests too deep or is too large for `%v` cannot be told from its beginning.
    let _ = printer.print_argument(value, verb);
    printer.layout.out
}

/// `%v` or another plain verb of a value for a message; what is too large is cut.
pub(crate) fn describe(value: &Value, verb: char) -> String {
    const LIMIT: usize = 1 << 20;
    let mut printer = Printer::new(LIMIT);
    let outcome = printer.print_argument(value, verb);
    let text = crate::text::lossy(&printer.layout.out).into_owned();
    match outcome {
        Ok(()) => text,
        Err(_) => text.chars().take(100).chain("...".chars()).collect(),
    }
}

impl Printer {
    fn new(limit: usize) -> Self {
        Self {
            layout: Layout::default(),
            limit,
            reporting: false,
        }
    }

    fn check(&self, depth: usize) -> Result {
        if depth > MAX_DEPTH {
            return Err(LimitError::Nesting(MAX_DEPTH));
        }
        if self.layout.out.len() > self.limit {
            return Err(LimitError::Produced);
        }
        Ok(())
    }

    fn report_verb(&mut self, verb: char, value: Option<&Value>) -> Result {
        self.reporting = true;
        self.layout.push(&format!("%!{verb}("));
        if let Some(value) = value {
            self.layout.push(&format!("{}=", value.type_of()));
            self.print_argument(value, 'v')?;
        } else {
            self.layout.push("<nil>");
        }
        self.layout.push(")");
        self.reporting = false;
        Ok(())
    }

    /// An argument of a print function.
    fn print_argument(&mut self, value: &Value, verb: char) -> Result {
        self.check(0)?;
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => {
                self.layout.pad(b"<nil>");
                Ok(())
            }
            (Value::Nil, _) => self.report_verb(verb, None),
            (_, 'T') => {
                self.layout.string(value.type_of().to_string().as_bytes());
                Ok(())
            }
            (_, 'p') => self.pointer(value, verb),
            (Value::List(list), _) if *list.element_type() == Type::BYTE => {
                self.bytes(value, &bytes_of(value), verb, list.is_nil(), 0)
            }
            (Value::Object(_) | Value::List(_) | Value::Map(_) | Value::Function(_), _) => {
                if self.use_methods(value, verb)? {
                    return Ok(());
                }
                self.print_value(value, verb, 0)
            }
            _ => self.print_value(value, verb, 0),
        }
    }

    /// Prints through `Error` or `String` where the value has one and the verb takes text.
    fn use_methods(&mut self, value: &Value, verb: char) -> std::result::Result<bool, LimitError> {
        if self.reporting {
            return Ok(false);
        }
        if verb == 'w' {
            self.report_verb(verb, Some(value))?;
            return Ok(true);
        }
        let Value::Object(object) = value else {
            return Ok(false);
        };
        if self.layout.flags.sharp_v || !matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') {
            return Ok(false);
        }
        let Some(text) = object.text() else {
            return Ok(false);
        };
        self.string(&text, verb, value)?;
        Ok(true)
    }

    /// An element, key or field.
    fn print_operand(&mut self, operand: &Operand, verb: char, depth: usize) -> Result {
        self.check(depth)?;
        let value = &operand.value;
        if self.use_methods_inside(value, verb)? {
            return Ok(());
        }
        if operand.boxed && value.is_nil() {
            let text = if self.layout.flags.sharp_v {
                "interface {}(nil)"
            } else {
                "<nil>"
            };
            self.layout.push(text);
            return Ok(());
        }
        if value.is_nil() {
            if verb == 'v' {
                self.layout.push("<nil>");
                return Ok(());
            }
            return self.report_verb(verb, None);
        }
        stacker::maybe_grow(32 << 10, 512 << 10, || self.print_value(value, verb, depth))
    }

    fn use_methods_inside(&mut self, value: &Value, verb: char) -> std::result::Result<bool, LimitError> {
        if value.is_nil() || (verb != 'w' && !matches!(value, Value::Object(_))) {
            return Ok(false);
        }
        self.use_methods(value, verb)
    }

    fn print_value(&mut self, value: &Value, verb: char, depth: usize) -> Result {
        match value {
            Value::Nil => self.layout.push("<invalid reflect.Value>"),
            Value::Bool(flag) => match verb {
                't' | 'v' => self.layout.boolean(*flag),
                _ => return self.report_verb(verb, Some(value)),
            },
            Value::Signed(_, number) => return self.integer(number.cast_unsigned(), true, verb, value),
            Value::Unsigned(_, number) => return self.integer(*number, false, verb, value),
            Value::Float(size, number) => {
                if !self.float(*number, *size, verb) {
                    return self.report_verb(verb, Some(value));
                }
            }
            Value::Complex(real, imaginary) => return self.complex(*real, *imaginary, verb, value),
            Value::String(text) => return self.string(text, verb, value),
            Value::List(_) => return self.list(value, verb, depth),
            Value::Map(_) => return self.map(value, verb, depth),
            Value::Object(object) => match object.shape() {
                Shape::Plain(plain) => return self.named(value, &plain, verb, depth),
                Shape::Struct(fields) => return self.structure(value, &fields, verb, depth),
                Shape::Pointer(fields) if depth == 0 => {
                    self.layout.push("&");
                    return self.structure(value, &fields, verb, depth + 1);
                }
                _ => return self.pointer(value, verb),
            },
            Value::Function(_) => return self.pointer(value, verb),
        }
        Ok(())
    }

    /// A value of a named type prints as what it is underneath, but bad verbs name its own type.
    fn named(&mut self, value: &Value, plain: &Value, verb: char, depth: usize) -> Result {
        match plain {
            Value::Signed(_, number) => self.integer(number.cast_unsigned(), true, verb, value),
            Value::Unsigned(_, number) => self.integer(*number, false, verb, value),
            Value::Float(size, number) => {
                if self.float(*number, *size, verb) {
                    Ok(())
                } else {
                    self.report_verb(verb, Some(value))
                }
            }
            Value::String(text) => self.string(text, verb, value),
            Value::List(_) => self.list(value, verb, depth),
            Value::Map(_) => self.map(value, verb, depth),
            _ => self.print_value(plain, verb, depth),
        }
    }

    fn integer(&mut self, number: u64, signed: bool, verb: char, value: &Value) -> Result {
        let layout = &mut self.layout;
        match verb {
            'v' if layout.flags.sharp_v && !signed => self.with_prefix(number, true),
            'v' | 'd' => layout.integer(number, 10, signed, verb, Case::Lower),
            'b' => layout.integer(number, 2, signed, verb, Case::Lower),
            'o' | 'O' => layout.integer(number, 8, signed, verb, Case::Lower),
            'x' => layout.integer(number, 16, signed, verb, Case::Lower),
            'X' => layout.integer(number, 16, signed, verb, Case::Upper),
            'c' => layout.character(number),
            'q' => layout.quoted_character(number),
            'U' => layout.unicode(number),
            _ => return self.report_verb(verb, Some(value)),
        }
        Ok(())
    }

    /// Hexadecimal with or without `0x`, whatever the flags say.
    fn with_prefix(&mut self, number: u64, prefix: bool) {
        let sharp = std::mem::replace(&mut self.layout.flags.sharp, prefix);
        self.layout.integer(number, 16, false, 'v', Case::Lower);
        self.layout.flags.sharp = sharp;
    }

    /// False for a verb that floats do not have.
    fn float(&mut self, number: f64, size: Float, verb: char) -> bool {
        let (verb, precision) = match verb {
            'v' => (b'g', None),
            'b' => (b'b', None),
            'g' => (b'g', None),
            'G' => (b'G', None),
            'x' => (b'x', None),
            'X' => (b'X', None),
            'f' | 'F' => (b'f', Some(6)),
            'e' => (b'e', Some(6)),
            'E' => (b'E', Some(6)),
            _ => return false,
        };
        self.layout.float(number, size, verb, precision);
        true
    }

    fn complex(&mut self, real: f64, imaginary: f64, verb: char, value: &Value) -> Result {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.report_verb(verb, Some(value));
        }
        self.layout.push("(");
        self.float(real, Float::Float64, verb);
        let plus = std::mem::replace(&mut self.layout.flags.plus, true);
        self.float(imaginary, Float::Float64, verb);
        self.layout.push("i)");
        self.layout.flags.plus = plus;
        Ok(())
    }

    fn string(&mut self, text: &Text, verb: char, value: &Value) -> Result {
        match verb {
            'v' if self.layout.flags.sharp_v => self.layout.quoted(text),
            'v' | 's' => self.layout.string(text),
            'x' => self.layout.hexadecimal(text, Case::Lower),
            'X' => self.layout.hexadecimal(text, Case::Upper),
            'q' => self.layout.quoted(text),
            _ => return self.report_verb(verb, Some(value)),
        }
        self.check(0)
    }

    fn bytes(&mut self, value: &Value, bytes: &[u8], verb: char, is_nil: bool, depth: usize) -> Result {
        match verb {
            's' => self.layout.string(bytes),
            'x' => self.layout.hexadecimal(bytes, Case::Lower),
            'X' => self.layout.hexadecimal(bytes, Case::Upper),
            'q' => self.layout.quoted(bytes),
            'v' if self.layout.flags.sharp_v => {
                let name = if depth == 0 {
                    "[]byte".to_owned()
                } else {
                    value.type_of().to_string()
                };
                self.layout.push(&name);
                if is_nil {
                    self.layout.push("(nil)");
                    return Ok(());
                }
                self.layout.push("{");
                for (index, &byte) in bytes.iter().enumerate() {
                    if index > 0 {
                        self.layout.push(", ");
                    }
                    self.with_prefix(u64::from(byte), true);
                }
                self.layout.push("}");
            }
            _ => return self.elements(value, verb, depth),
        }
        self.check(0)
    }

    fn list(&mut self, value: &Value, verb: char, depth: usize) -> Result {
        let Value::List(list) = value.plain() else {
            return Ok(());
        };
        if *list.element_type() == Type::BYTE && matches!(verb, 's' | 'q' | 'x' | 'X') {
            return self.bytes(value, &bytes_of(&Value::List(list)), verb, false, depth);
        }
        self.elements(value, verb, depth)
    }

    fn elements(&mut self, value: &Value, verb: char, depth: usize) -> Result {
        let Value::List(list) = value.plain() else {
            return Ok(());
        };
        let sharp = self.layout.flags.sharp_v;
        if sharp {
            self.layout.push(&value.type_of().to_string());
            if list.is_nil() {
                self.layout.push("(nil)");
                return Ok(());
            }
        }
        self.layout.push(if sharp { "{" } else { "[" });
        for (index, element) in list.as_slice().iter().enumerate() {
            if index > 0 {
                self.layout.push(if sharp { ", " } else { " " });
            }
            let operand = Operand::of_element(element.clone(), list.element_type());
            self.print_operand(&operand, verb, depth + 1)?;
        }
        self.layout.push(if sharp { "}" } else { "]" });
        Ok(())
    }

    fn map(&mut self, value: &Value, verb: char, depth: usize) -> Result {
        let Value::Map(map) = value.plain() else {
            return Ok(());
        };
        let sharp = self.layout.flags.sharp_v;
        if sharp {
            self.layout.push(&value.type_of().to_string());
            if map.is_nil() {
                self.layout.push("(nil)");
                return Ok(());
            }
        }
        self.layout.push(if sharp { "{" } else { "map[" });
        for (index, (key, element)) in map.entries().into_iter().enumerate() {
            if index > 0 {
                self.layout.push(if sharp { ", " } else { " " });
            }
            self.print_operand(&Operand::concrete(Value::String(key)), verb, depth + 1)?;
            self.layout.push(":");
            let operand = Operand::of_element(element, map.element_type());
            self.print_operand(&operand, verb, depth + 1)?;
        }
        self.layout.push(if sharp { "}" } else { "]" });
        Ok(())
    }

    fn structure(&mut self, value: &Value, fields: &[(&str, Operand)], verb: char, depth: usize) -> Result {
        let flags = self.layout.flags;
        if flags.sharp_v {
            let name = value.type_of().to_string();
            self.layout.push(name.trim_start_matches('*'));
        }
        self.layout.push("{");
        for (index, (name, operand)) in fields.iter().enumerate() {
            if index > 0 {
                self.layout.push(if flags.sharp_v { ", " } else { " " });
            }
            if flags.plus_v || flags.sharp_v {
                self.layout.push(&format!("{name}:"));
            }
            // An interface in a field counts as what it holds.
            let operand = Operand {
                boxed: operand.boxed && operand.value.is_nil(),
                value: operand.value.clone(),
            };
            self.print_operand(&operand, verb, depth + 1)?;
        }
        self.layout.push("}");
        Ok(())
    }

    fn pointer(&mut self, value: &Value, verb: char) -> Result {
        let address = match value {
            Value::List(list) => list.as_slice().as_ptr().addr(),
            Value::Map(map) => map.identity(),
            Value::Function(function) => Rc::as_ptr(function).addr(),
            Value::Object(object) => match object.shape() {
                Shape::NilPointer => 0,
                Shape::Pointer(_) | Shape::Sequence(_) | Shape::Pairs(_) => Rc::as_ptr(object).addr(),
                _ => return self.report_verb(verb, Some(value)),
            },
            _ => return self.report_verb(verb, Some(value)),
        };
        let address = address as u64;
        match verb {
            'v' if self.layout.flags.sharp_v => {
                self.layout.push(&format!("({})(", value.type_of()));
                if address == 0 {
                    self.layout.push("nil");
                } else {
                    self.with_prefix(address, true);
                }
                self.layout.push(")");
            }
            'v' if address == 0 => self.layout.pad(b"<nil>"),
            'v' | 'p' => self.with_prefix(address, !self.layout.flags.sharp),
            'b' | 'o' | 'd' | 'x' | 'X' => return self.integer(address, false, verb, value),
            _ => return self.report_verb(verb, Some(value)),
        }
        Ok(())
    }
}

fn bytes_of(value: &Value) -> Vec<u8> {
    let Value::List(list) = value else {
        return Vec::new();
    };
    let byte = |value: &Value| match value {
        Value::Unsigned(_, number) => u8::try_from(*number).ok(),
        _ => None,
    };
    list.as_slice().iter().filter_map(byte).collect()
}
