//! From tokens to the tree, by the grammar of CEL with optional syntax.

use crate::error::Problem;
use crate::lexer::{self, Lexeme, Token};
use crate::limits::with_stack;
use crate::macros;
use crate::syntax::{Access, Call, Element, Entry, Kind, Literal, Node};
use crate::unescape;

/// How deep an expression may nest, in brackets and in its tree.
pub(crate) const DEEPEST: usize = 250;
/// How many characters an expression may have.
pub(crate) const LONGEST: usize = 100_000;

/// Names that cannot be variables.
const RESERVED: [&str; 18] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "in",
];

/// What an expression can begin with, in the order of the grammar.
const BEGINNINGS: [&str; 6] = ["'['", "'{'", "'('", "'.'", "'-'", "'!'"];
const LITERALS: &str = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";

/// Reads an expression.
///
/// # Errors
/// Where the text is no expression.
pub(crate) fn parse(text: &str) -> Result<Node, Vec<Problem>> {
    let size = text.chars().count();
    if size > LONGEST {
        let message = format!("expression code point size exceeds limit: size: {size}, limit {LONGEST}");
        return Err(vec![Problem { at: None, message }]);
    }
    let (lexemes, problems) = lexer::split(text);
    let mut parser = Parser {
        text,
        lexemes,
        position: 0,
        nesting: 0,
        alternative: (usize::MAX, ""),
        problems,
    };
    let parsed = parser.whole();
    let mut problems = parser.problems;
    match parsed {
        Ok(node) if problems.is_empty() => Ok(node),
        Ok(_) => Err(problems),
        Err(problem) => {
            problems.push(problem);
            Err(problems)
        }
    }
}

pub(crate) struct Parser<'text> {
    text: &'text str,
    lexemes: Vec<Lexeme>,
    position: usize,
    nesting: usize,
    /// What else could stand at a position beside an expression.
    alternative: (usize, &'static str),
    /// Problems after which reading goes on.
    problems: Vec<Problem>,
}

type Parsed<T> = Result<T, Problem>;

impl Parser<'_> {
    fn whole(&mut self) -> Parsed<Node> {
        let node = self.expression()?;
        if self.current().token == Token::End {
            return Ok(node);
        }
        let extra = self.lexemes.get(self.position + 1).map(|next| next.token) == Some(Token::End);
        let what = if extra { "extraneous" } else { "mismatched" };
        Err(self.unexpected(&format!("{what} input {} expecting <EOF>", self.shown())))
    }

    fn current(&self) -> Lexeme {
        self.lexemes[self.position.min(self.lexemes.len() - 1)]
    }

    fn source(&self, lexeme: Lexeme) -> &str {
        &self.text[lexeme.start..lexeme.end]
    }

    /// The current token as messages show it.
    fn shown(&self) -> String {
        match self.current() {
            Lexeme {
                token: Token::End, ..
            } => "'<EOF>'".to_owned(),
            lexeme => format!("'{}'", self.source(lexeme)),
        }
    }

    fn unexpected(&self, message: &str) -> Problem {
        Problem {
            at: Some(self.current().at),
            message: format!("Syntax error: {message}"),
        }
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.current().token, Token::Sign(found) if found == sign)
    }

    /// Takes a sign if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.position += 1;
        }
        found
    }

    /// Takes the sign that closes what was opened.
    fn close(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign) {
            return Ok(());
        }
        let next = self.lexemes.get(self.position + 1).map(|next| next.token);
        let message = match (self.current().token, next) {
            (Token::End, _) => format!("missing '{sign}' at '<EOF>'"),
            (_, Some(Token::Sign(found))) if found == sign => {
                format!("extraneous input {} expecting '{sign}'", self.shown())
            }
            _ => format!("mismatched input {} expecting '{sign}'", self.shown()),
        };
        Err(self.unexpected(&message))
    }

    fn expect(&mut self, sign: &str, alternatives: &str) -> Parsed<()> {
        if self.take(sign) {
            return Ok(());
        }
        let message = format!("mismatched input {} expecting {alternatives}", self.shown());
        Err(self.unexpected(&message))
    }

    /// Reports a problem of a node that was read, and goes on.
    fn note(&mut self, at: usize, message: impl Into<String>) -> Node {
        self.problems.push(Problem {
            at: Some(at),
            message: message.into(),
        });
        Node {
            at,
            depth: 1,
            kind: Kind::Literal(Literal::Null),
        }
    }

    fn node(at: usize, kind: Kind) -> Parsed<Node> {
        let mut node = Node { at, depth: 1, kind };
        let below = node.children().iter().map(|child| child.depth).max();
        node.depth += below.unwrap_or(0);
        if node.depth > DEEPEST {
            return Err(too_deep());
        }
        Ok(node)
    }

    fn expression(&mut self) -> Parsed<Node> {
        self.nesting += 1;
        if self.nesting > DEEPEST {
            return Err(too_deep());
        }
        let node = with_stack(|| self.conditional())?;
        self.nesting -= 1;
        Ok(node)
    }

    fn conditional(&mut self) -> Parsed<Node> {
        let condition = self.binary(0)?;
        let sign = self.current();
        if !self.take("?") {
            return Ok(condition);
        }
        let then = self.binary(0)?;
        self.expect(":", "':'")?;
        let otherwise = self.expression()?;
        let parts = [condition, then, otherwise];
        Self::node(sign.at, Kind::Conditional(Box::new(parts)))
    }

    /// Binary operators that bind at least as strongly as `weakest`.
    fn binary(&mut self, weakest: u8) -> Parsed<Node> {
        let mut left = self.unary()?;
        loop {
            let lexeme = self.current();
            let Some((strength, name)) = operator(lexeme.token) else {
                return Ok(left);
            };
            if strength < weakest {
                return Ok(left);
            }
            self.position += 1;
            let right = self.binary(strength + 1)?;
            let kind = match (name, left.kind) {
                ("_&&_", Kind::And(mut terms)) => {
                    terms.push(right);
                    Kind::And(terms)
                }
                ("_||_", Kind::Or(mut terms)) => {
                    terms.push(right);
                    Kind::Or(terms)
                }
                (_, kind) => {
                    let left = Node { kind, ..left };
                    match name {
                        "_&&_" => Kind::And(vec![left, right]),
                        "_||_" => Kind::Or(vec![left, right]),
                        _ => Kind::Call(Call {
                            name: name.into(),
                            function: None,
                            pattern: None,
                            member: false,
                            arguments: vec![left, right],
                        }),
                    }
                }
            };
            left = Self::node(lexeme.at, kind)?;
        }
    }

    fn unary(&mut self) -> Parsed<Node> {
        let first = self.current();
        let mut count = 0;
        if self.is("!") {
            while self.take("!") {
                count += 1;
            }
            let operand = self.member()?;
            return if count % 2 == 0 {
                Ok(operand)
            } else {
                Self::node(first.at, Kind::Not(Box::new(operand)))
            };
        }
        // The sign before a number belongs to it.
        while self.is("-") && !self.negative_number() {
            self.position += 1;
            count += 1;
        }
        let operand = self.member()?;
        if count % 2 == 0 {
            Ok(operand)
        } else {
            Self::node(first.at, Kind::Negate(Box::new(operand)))
        }
    }

    fn negative_number(&self) -> bool {
        let next = self.lexemes.get(self.position + 1).map(|next| next.token);
        self.is("-") && matches!(next, Some(Token::Integer | Token::Float))
    }

    fn member(&mut self) -> Parsed<Node> {
        let mut node = self.primary()?;
        loop {
            let sign = self.current();
            if self.take(".") {
                node = self.field(node, sign)?;
            } else if self.take("[") {
                self.alternative = (self.position, "'?'");
                let access = if self.take("?") {
                    Access::Optional
                } else {
                    Access::Strict
                };
                let key = Box::new(self.expression()?);
                self.close("]")?;
                let operand = Box::new(node);
                node = Self::node(sign.at, Kind::Index { operand, key, access })?;
            } else {
                return Ok(node);
            }
        }
    }

    /// What follows a dot.
    fn field(&mut self, operand: Node, dot: Lexeme) -> Parsed<Node> {
        let optional = self.take("?");
        let name = self.current();
        let text = match name.token {
            Token::Identifier => self.source(name).to_owned(),
            Token::Quoted => self.source(name).to_owned(),
            _ => return Err(self.no_field(dot, optional)),
        };
        self.position += 1;
        let quoted = name.token == Token::Quoted;
        if !optional && !quoted && self.is("(") {
            let open = self.current();
            self.position += 1;
            let arguments = self.arguments()?;
            return self.call(open.at, &text, Some(operand), arguments);
        }
        let mut text = text;
        if quoted {
            self.note(name.at, "unsupported syntax: '`'");
            text = text.trim_matches('`').to_owned();
        }
        if !optional {
            return Self::node(dot.at, Kind::Select(Box::new(operand), text.into()));
        }
        let key = Self::node(name.at, Kind::Literal(Literal::String(text.into())))?;
        let access = Access::OptionalField;
        let (operand, key) = (Box::new(operand), Box::new(key));
        Self::node(dot.at, Kind::Index { operand, key, access })
    }

    fn no_field(&self, dot: Lexeme, optional: bool) -> Problem {
        let name = self.current();
        let word = matches!(name.token, Token::True | Token::False | Token::Null);
        if optional {
            let message = format!(
                "mismatched input {} expecting {{IDENTIFIER, ESC_IDENTIFIER}}",
                self.shown()
            );
            return self.unexpected(&message);
        }
        if word {
            let text = self.source(name);
            return self.unexpected(&format!("mismatched input '{text}' expecting IDENTIFIER"));
        }
        let text = &self.text[dot.start..name.end];
        self.unexpected(&format!("no viable alternative at input '{text}'"))
    }

    /// Arguments up to their closing bracket.
    fn arguments(&mut self) -> Parsed<Vec<Node>> {
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        self.alternative = (self.position, "')'");
        loop {
            arguments.push(self.expression()?);
            if !self.take(",") {
                self.close(")")?;
                return Ok(arguments);
            }
        }
    }

    fn call(&mut self, at: usize, name: &str, target: Option<Node>, arguments: Vec<Node>) -> Parsed<Node> {
        match macros::expand(name, target, arguments) {
            macros::Expansion::Macro(kind) => Self::node(at, kind),
            macros::Expansion::Refused { at, message } => Ok(self.note(at, message)),
            macros::Expansion::Call { target, arguments } => {
                let member = target.is_some();
                let arguments = target.into_iter().chain(arguments).collect();
                Self::node(
                    at,
                    Kind::Call(Call {
                        name: name.into(),
                        function: None,
                        pattern: None,
                        member,
                        arguments,
                    }),
                )
            }
        }
    }

    fn primary(&mut self) -> Parsed<Node> {
        let lexeme = self.current();
        match lexeme.token {
            Token::Sign("(") => {
                self.position += 1;
                let node = self.expression()?;
                self.close(")")?;
                Ok(node)
            }
            Token::Sign("[") => self.list(),
            Token::Sign("{") => self.map(),
            Token::Sign(".") | Token::Identifier => self.name(),
            Token::Sign("-") if self.negative_number() => {
                self.position += 1;
                self.literal(lexeme)
            }
            Token::Sign(_) | Token::End | Token::In | Token::Quoted => {
                let what = if self.begins_after() {
                    "extraneous"
                } else {
                    "mismatched"
                };
                let message = format!("{what} input {} expecting {}", self.shown(), self.beginnings());
                Err(self.unexpected(&message))
            }
            _ => self.literal(lexeme),
        }
    }

    /// What could stand at the current position.
    fn beginnings(&self) -> String {
        let mut signs = BEGINNINGS.to_vec();
        if self.alternative.0 == self.position {
            let place = if self.alternative.1 == "')'" {
                3
            } else {
                signs.len()
            };
            signs.insert(place, self.alternative.1);
        }
        format!("{{{}, {LITERALS}}}", signs.join(", "))
    }

    /// Whether an expression could begin with the token after the current one.
    fn begins_after(&self) -> bool {
        self.current().token != Token::End && self.lexemes.get(self.position + 1).is_some_and(|next| {
            !matches!(next.token, Token::End | Token::In | Token::Quoted)
                && !matches!(next.token, Token::Sign(sign) if !["[", "{", "(", ".", "-", "!"].contains(&sign))
        })
    }

    /// A name, a call, or a message.
    fn name(&mut self) -> Parsed<Node> {
        let dot = self.current();
        let absolute = self.take(".");
        let lexeme = self.current();
        if lexeme.token != Token::Identifier {
            let text = &self.text[dot.start..lexeme.end];
            return Err(self.unexpected(&format!("no viable alternative at input '{text}'")));
        }
        self.position += 1;
        let name = self.source(lexeme).to_owned();
        if let Some(message) = self.message(&name) {
            return message;
        }
        let start = if absolute { dot.at } else { lexeme.at };
        if RESERVED.contains(&name.as_str()) {
            if self.take("(") {
                self.arguments()?;
            }
            return Ok(self.note(start, format!("reserved identifier: {name}")));
        }
        let open = self.current();
        if self.take("(") {
            let arguments = self.arguments()?;
            return self.call(open.at, &name, None, arguments);
        }
        Self::node(lexeme.at, Kind::Name(name.into()))
    }

    /// `a.b.C{field: value, …}`, if that is what follows the first name.
    fn message(&mut self, first: &str) -> Option<Parsed<Node>> {
        let mut name = first.to_owned();
        let mut ahead = self.position;
        let token = |position: usize| self.lexemes.get(position).map(|lexeme| lexeme.token);
        while token(ahead) == Some(Token::Sign(".")) && token(ahead + 1) == Some(Token::Identifier) {
            name.push('.');
            name.push_str(self.source(self.lexemes[ahead + 1]));
            ahead += 2;
        }
        if token(ahead) != Some(Token::Sign("{")) {
            return None;
        }
        let open = self.lexemes[ahead];
        self.position = ahead + 1;
        Some(
            self.message_fields()
                .and_then(|()| Self::node(open.at, Kind::Message(name.into()))),
        )
    }

    fn message_fields(&mut self) -> Parsed<()> {
        while !self.take("}") {
            self.take("?");
            if !matches!(self.current().token, Token::Identifier | Token::Quoted) {
                let alternatives = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";
                return self.expect("}", alternatives);
            }
            self.position += 1;
            self.expect(":", "':'")?;
            self.expression()?;
            if !self.take(",") {
                return self.expect("}", "{'}', ','}");
            }
        }
        Ok(())
    }

    fn list(&mut self) -> Parsed<Node> {
        let open = self.current();
        self.position += 1;
        let mut elements = Vec::new();
        // A comma may stand alone, and behind the last element.
        if self.take(",") {
            self.expect("]", "']'")?;
            return Self::node(open.at, Kind::List(elements));
        }
        while !self.take("]") {
            let optional = self.take("?");
            let value = self.expression()?;
            elements.push(Element { value, optional });
            if !self.take(",") {
                self.expect("]", "{']', ','}")?;
                break;
            }
        }
        Self::node(open.at, Kind::List(elements))
    }

    fn map(&mut self) -> Parsed<Node> {
        let open = self.current();
        self.position += 1;
        let mut entries = Vec::new();
        if self.take(",") {
            self.expect("}", "'}'")?;
            return Self::node(open.at, Kind::Map(entries));
        }
        while !self.take("}") {
            let optional = self.take("?");
            let key = self.expression()?;
            self.expect(":", "':'")?;
            let value = self.expression()?;
            entries.push(Entry { key, value, optional });
            if !self.take(",") {
                self.expect("}", "{'}', ','}")?;
                break;
            }
        }
        Self::node(open.at, Kind::Map(entries))
    }

    /// A literal, whose sign stood at `first` if it had one.
    fn literal(&mut self, first: Lexeme) -> Parsed<Node> {
        let lexeme = self.current();
        self.position += 1;
        let negative = first.at != lexeme.at;
        let text = self.source(lexeme).to_owned();
        let value = match lexeme.token {
            Token::True => Ok(Literal::Bool(true)),
            Token::False => Ok(Literal::Bool(false)),
            Token::Null => Ok(Literal::Null),
            Token::Integer => integer(&text, negative)
                .map(Literal::Int)
                .ok_or("invalid int literal"),
            Token::Unsigned => unsigned(&text[..text.len() - 1])
                .map(Literal::Uint)
                .ok_or("invalid uint literal"),
            Token::Float => float(&text, negative)
                .map(Literal::Double)
                .ok_or("invalid double literal"),
            Token::String => unescape::string(&text).map(|value| Literal::String(value.into())),
            _ => unescape::bytes(&text).map(|value| Literal::Bytes(value.into())),
        };
        match value {
            Ok(value) => Self::node(first.at, Kind::Literal(value)),
            Err(message) => Ok(self.note(first.at, message)),
        }
    }
}

fn too_deep() -> Problem {
    Problem {
        at: None,
        message: format!("expression recursion limit exceeded: {DEEPEST}"),
    }
}

/// How strongly an operator binds, and the function that it names.
fn operator(token: Token) -> Option<(u8, &'static str)> {
    Some(match token {
        Token::Sign("||") => (0, "_||_"),
        Token::Sign("&&") => (1, "_&&_"),
        Token::Sign("<") => (2, "_<_"),
        Token::Sign("<=") => (2, "_<=_"),
        Token::Sign(">") => (2, "_>_"),
        Token::Sign(">=") => (2, "_>=_"),
        Token::Sign("==") => (2, "_==_"),
        Token::Sign("!=") => (2, "_!=_"),
        Token::In => (2, "@in"),
        Token::Sign("+") => (3, "_+_"),
        Token::Sign("-") => (3, "_-_"),
        Token::Sign("*") => (4, "_*_"),
        Token::Sign("/") => (4, "_/_"),
        Token::Sign("%") => (4, "_%_"),
        _ => return None,
    })
}

fn integer(text: &str, negative: bool) -> Option<i64> {
    let sign = if negative { "-" } else { "" };
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16).ok(),
        None => format!("{sign}{text}").parse().ok(),
    }
}

fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn float(text: &str, negative: bool) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    value.is_finite().then_some(if negative { -value } else { value })
}
