//! Bytes that must not be seen.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Secret bytes: printed as `[redacted]`, compared in constant time (of their length), wiped when dropped.
#[derive(Clone, Default)]
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    /// Takes the bytes over.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for the one place that uses them. Do not copy them into anything that can be printed.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text, or `None` if they are no UTF-8.
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl PartialEq for SecretBytes {
    fn eq(&self, other: &Self) -> bool {
        bool::from(self.0.ct_eq(&other.0))
    }
}

impl Eq for SecretBytes {}

impl From<Vec<u8>> for SecretBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl From<String> for SecretBytes {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl From<&str> for SecretBytes {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed_and_compares_by_its_bytes() {
        let secret = SecretBytes::from("hunter2");
        assert_eq!(
            format!("{secret:?} {:?}", Some(&secret)),
            "[redacted] Some([redacted])"
        );
        assert_eq!(secret, SecretBytes::from("hunter2".to_owned()));
        assert_ne!(secret, SecretBytes::from("hunter3"));
        assert_ne!(secret, SecretBytes::from("hunter22"));
        assert_eq!(SecretBytes::new(vec![0xff]).expose_text(), None);
    }
}
