//! Substitution of variables in text, with the grammar and results of `fluxcd/pkg/envsubst` v1.7.0.
//!
//! | expression | result |
//! |---|---|
//! | `${v}` | the value |
//! | `${#v}` | its length in bytes |
//! | `${v^}` `${v^^}` `${v,}` `${v,,}` | first letter or all letters in upper or lower case |
//! | `${v:6}` `${v:0:5}` | from a byte on, perhaps with a length; a negative start counts from the end |
//! | `${v#p}` `${v##p}` `${v%p}` `${v%%p}` | without the shortest or longest match of a pattern at the start or end |
//! | `${v/a/b}` `${v//a/b}` `${v/#a/b}` `${v/%a/b}` | first, all, leading or trailing text replaced |
//! | `${v:-d}` `${v:=d}` `${v=d}` `${v:?d}` `${v:+d}` | `d` where the value is unset or empty |
//! | `$$` | one `$` |
//!
//! Operands may hold expressions themselves. `$v`, `$(v)` and a lone `$` stay as they are. The work and the
//! output are bounded by [`Limits`].
//!
//! ```
//! # use std::collections::BTreeMap;
//! let variables = BTreeMap::from([("cluster".to_owned(), "prod".to_owned())]);
//! let options = sluice_envsubst::Options::default();
//! let text = sluice_envsubst::substitute("${cluster^^}: ${replicas:-2}", &variables, &options)?;
//! assert_eq!(text, "PROD: 2");
//! # Ok::<(), sluice_envsubst::Error>(())
//! ```

mod case;
mod error;
mod evaluate;
mod function;
mod parse;
mod pattern;
mod variables;

pub use error::Error;
pub use evaluate::{Limits, Lookup, Options, substitute};
pub use variables::{NAME_PATTERN, check_names, clean_value, is_valid_name};
