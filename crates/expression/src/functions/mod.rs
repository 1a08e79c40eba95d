//! The bodies of the functions.

pub(crate) mod conversions;
pub(crate) mod format;
pub(crate) mod logic;
pub(crate) mod operators;
pub(crate) mod optionals;
pub(crate) mod strings;
pub(crate) mod times;
