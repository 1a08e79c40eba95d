use std::borrow::Cow;
use std::fmt;

/// Go's signed integer types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signed {
    /// `int`, which has 64 bits here.
    Int,
    /// `int8`.
    Int8,
    /// `int16`.
    Int16,
    /// `int32`, also `rune`.
    Int32,
    /// `int64`.
    Int64,
}

/// Go's unsigned integer types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsigned {
    /// `uint`, which has 64 bits here.
    Uint,
    /// `uint8`, also `byte`.
    Uint8,
    /// `uint16`.
    Uint16,
    /// `uint32`.
    Uint32,
    /// `uint64`.
    Uint64,
}

/// Go's floating-point types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// `float32`.
    Float32,
    /// `float64`.
    Float64,
}

/// A Go type, as far as templates can tell types apart. Prints as Go prints it.
///
/// Keys of maps are always strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `interface {}`: takes every value, nil as well.
    Any,
    /// `reflect.Value`: what Go's own functions take; keeps apart nil and nothing.
    Reflected,
    /// `bool`.
    Bool,
    /// A signed integer.
    Signed(Signed),
    /// An unsigned integer.
    Unsigned(Unsigned),
    /// A floating-point number.
    Float(Float),
    /// `complex128`.
    Complex,
    /// `string`.
    String,
    /// A slice of elements of this type.
    List(&'static Type),
    /// A map from strings to elements of this type.
    Map(&'static Type),
    /// A function.
    Function,
    /// A type with a name of its own, such as `*semver.Version`, and what it is underneath where that is
    /// no structure.
    Named(Cow<'static, str>, Option<&'static Type>),
}

impl Type {
    /// `int`.
    pub const INT: Self = Self::Signed(Signed::Int);
    /// `int64`.
    pub const INT64: Self = Self::Signed(Signed::Int64);
    /// `float64`.
    pub const FLOAT64: Self = Self::Float(Float::Float64);
    /// `uint8`.
    pub const BYTE: Self = Self::Unsigned(Unsigned::Uint8);
    /// `[]interface {}`.
    pub const LIST: Self = Self::List(&Self::Any);
    /// `[]string`.
    pub const STRINGS: Self = Self::List(&Self::String);
    /// `map[string]interface {}`.
    pub const MAP: Self = Self::Map(&Self::Any);

    /// Whether an untyped nil can stand for a value of this type.
    pub fn can_be_nil(&self) -> bool {
        match self {
            Self::Any | Self::Reflected | Self::List(_) | Self::Map(_) | Self::Function => true,
            Self::Named(name, underlying) => {
                name.starts_with('*') || underlying.is_some_and(Self::can_be_nil)
            }
            _ => false,
        }
    }

    /// Go's rule of assignment: the same type, any type to an interface, or the same type underneath where
    /// one of the two has no name.
    pub fn is_assignable_to(&self, target: &Self) -> bool {
        if self == target || *target == Self::Any {
            return true;
        }
        let composite = |kind: &Self| matches!(kind, Self::List(_) | Self::Map(_) | Self::Function);
        match (self, target) {
            (Self::Named(_, Some(underlying)), other) | (other, Self::Named(_, Some(underlying))) => {
                composite(other) && *underlying == other
            }
            _ => false,
        }
    }

    /// Whether values of this type can be compared with `==` without a panic.
    pub(crate) fn is_comparable(&self) -> bool {
        match self {
            Self::List(_) | Self::Map(_) | Self::Function => false,
            Self::Named(_, Some(underlying)) => underlying.is_comparable(),
            _ => true,
        }
    }
}

impl fmt::Display for Signed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Int => "int",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
        })
    }
}

impl fmt::Display for Unsigned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Uint => "uint",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("interface {}"),
            Self::Reflected => formatter.write_str("reflect.Value"),
            Self::Bool => formatter.write_str("bool"),
            Self::Signed(kind) => kind.fmt(formatter),
            Self::Unsigned(kind) => kind.fmt(formatter),
            Self::Float(Float::Float32) => formatter.write_str("float32"),
            Self::Float(Float::Float64) => formatter.write_str("float64"),
            Self::Complex => formatter.write_str("complex128"),
            Self::String => formatter.write_str("string"),
            Self::List(element) => write!(formatter, "[]{element}"),
            Self::Map(element) => write!(formatter, "map[string]{element}"),
            Self::Function => formatter.write_str("func()"),
            Self::Named(name, _) => formatter.write_str(name),
        }
    }
}
