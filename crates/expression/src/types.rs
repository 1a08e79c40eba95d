//! The types that the checker computes with.

use std::fmt;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    Bool,
    Bytes,
    Double,
    Duration,
    Dyn,
    /// What has been reported already.
    Error,
    Int,
    List(Box<Type>),
    Map(Box<(Type, Type)>),
    Null,
    Optional(Box<Type>),
    /// A type that is not known yet.
    Variable(usize),
    String,
    Timestamp,
    /// The type of a type.
    Meta(Option<Box<Type>>),
    Uint,
}

impl Type {
    pub(crate) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new((key, value)))
    }

    pub(crate) fn optional(value: Self) -> Self {
        Self::Optional(Box::new(value))
    }

    /// The types within.
    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(inner) | Self::Optional(inner) | Self::Meta(Some(inner)) => vec![inner],
            Self::Map(pair) => vec![&pair.0, &pair.1],
            _ => Vec::new(),
        }
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The name without parameters, as values of the type show it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Duration => "google.protobuf.Duration",
            Self::Dyn => "dyn",
            Self::Error => "error",
            Self::Int => "int",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Null => "null_type",
            Self::Optional(_) => "optional_type",
            Self::Variable(number) => return format!("_var{number}"),
            Self::String => "string",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Meta(_) => "type",
            Self::Uint => "uint",
        }
        .to_owned()
    }

    /// The name with parameters as a mismatch of the whole result shows it.
    pub(crate) fn declared_name(&self) -> String {
        let parameters: Vec<String> = self.parameters().into_iter().map(Self::declared_name).collect();
        if parameters.is_empty() {
            self.name()
        } else {
            format!("{}({})", self.name(), parameters.join(", "))
        }
    }

    /// Reads the notation of the table of functions; single capital letters are variables.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(inner) = text.strip_suffix(')') {
            let (name, inner) = inner.split_once('(')?;
            let mut parts = split(inner).into_iter();
            let first = Self::read(parts.next()?)?;
            return match name {
                "list" => Some(Self::list(first)),
                "optional" => Some(Self::optional(first)),
                "type" => Some(Self::Meta(Some(Box::new(first)))),
                "map" => Some(Self::map(first, Self::read(parts.next()?)?)),
                _ => None,
            };
        }
        Some(match text {
            "bool" => Self::Bool,
            "bytes" => Self::Bytes,
            "double" => Self::Double,
            "duration" => Self::Duration,
            "dyn" => Self::Dyn,
            "int" => Self::Int,
            "null" => Self::Null,
            "string" => Self::String,
            "timestamp" => Self::Timestamp,
            "type" => Self::Meta(None),
            "uint" => Self::Uint,
            "A" => Self::Variable(0),
            "B" => Self::Variable(1),
            _ => return None,
        })
    }
}

/// Splits at the commas that stand in no bracket.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Duration => "duration".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::Error => "!error!".to_owned(),
            Self::Null => "null".to_owned(),
            other => other.name(),
        };
        formatter.write_str(&name)?;
        let parameters = self.parameters();
        if !parameters.is_empty() {
            let shown: Vec<String> = parameters.iter().map(ToString::to_string).collect();
            write!(formatter, "({})", shown.join(", "))?;
        }
        Ok(())
    }
}
