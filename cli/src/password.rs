//! Text on the command line that must not be printed.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

/// A password, token or key: prints as `[redacted]` and is wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Password(Zeroizing<String>);

impl Password {
    /// Hides a text.
    pub(crate) fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.to_owned()))
    }

    /// The text, to be stored or sent.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for Password {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_printed() {
        assert_eq!(format!("{:?}", Password::new("secret")), "[redacted]");
    }
}
