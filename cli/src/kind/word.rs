//! Words that name kinds, for shells that complete them.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

use super::KINDS;

/// Takes any word, because names of objects stand among them, and offers those that name kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordParser;

impl TypedValueParser for WordParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words: BTreeSet<&'static str> = KINDS
            .iter()
            .flat_map(|kind| [kind.family.trim_end_matches('s'), kind.words[0]])
            .filter(|word| !word.is_empty())
            .collect();
        Some(Box::new(words.into_iter().map(PossibleValue::new)))
    }
}
