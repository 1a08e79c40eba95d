//! Digests of artifacts: `<algorithm>:<lower case hex>`, as in `status.artifact.digest`.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use sha2::Digest as _;

/// The algorithms that `--artifact-digest-algo` accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Algorithm {
    /// SHA-256, the default.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// BLAKE3 with 256 bits of output.
    Blake3,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sha256, Self::Sha384, Self::Sha512, Self::Blake3];

    /// The name before the colon.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Blake3 => "blake3",
        }
    }

    /// The length of the hexadecimal part.
    pub const fn hex_length(self) -> usize {
        match self {
            Self::Sha256 | Self::Blake3 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = DigestError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| DigestError::Algorithm(name.to_owned()))
    }
}

/// Why a text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// No text at all.
    #[error("empty digest")]
    Empty,
    /// An algorithm that is not known here.
    #[error("unsupported digest algorithm: {0} (use sha256, sha384, sha512 or blake3)")]
    Algorithm(String),
    /// The part after the colon is not lower-case hexadecimal of the right length.
    #[error("invalid checksum digest format: '{0}'")]
    Format(String),
}

/// The digest of some bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

impl Digest {
    /// Digests bytes that are at hand.
    pub fn of(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }

    /// Digests all that a reader gives, in pieces of 64 KiB.
    ///
    /// # Errors
    /// What the reader fails with.
    pub fn of_reader(algorithm: Algorithm, reader: &mut dyn Read) -> io::Result<Self> {
        let mut hasher = Hasher::new(algorithm);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(hasher.finish()),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The part after the colon.
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm, self.hex)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    /// Reads `<algorithm>:<hex>`; a text without a colon is taken as SHA-256, as old artifacts have it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(DigestError::Empty);
        }
        let (name, hex) = text.split_once(':').unwrap_or((Algorithm::Sha256.name(), text));
        let algorithm: Algorithm = name.parse()?;
        let lower_hex = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex.len() != algorithm.hex_length() || !lower_hex {
            return Err(DigestError::Format(text.to_owned()));
        }
        Ok(Self {
            algorithm,
            hex: hex.to_owned(),
        })
    }
}

/// A digest in the making.
#[derive(Debug, Clone)]
pub struct Hasher(State);

#[derive(Debug, Clone)]
enum State {
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
    Blake3(Box<blake3::Hasher>),
}

impl Hasher {
    /// Starts with no bytes seen.
    pub fn new(algorithm: Algorithm) -> Self {
        Self(match algorithm {
            Algorithm::Sha256 => State::Sha256(sha2::Sha256::new()),
            Algorithm::Sha384 => State::Sha384(sha2::Sha384::new()),
            Algorithm::Sha512 => State::Sha512(sha2::Sha512::new()),
            Algorithm::Blake3 => State::Blake3(Box::default()),
        })
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Sha256(state) => state.update(bytes),
            State::Sha384(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
            State::Blake3(state) => {
                state.update(bytes);
            }
        }
    }

    /// The digest of all bytes seen.
    pub fn finish(self) -> Digest {
        let (algorithm, hex) = match self.0 {
            State::Sha256(state) => (Algorithm::Sha256, hex::encode(state.finalize())),
            State::Sha384(state) => (Algorithm::Sha384, hex::encode(state.finalize())),
            State::Sha512(state) => (Algorithm::Sha512, hex::encode(state.finalize())),
            State::Blake3(state) => (Algorithm::Blake3, state.finalize().to_hex().to_string()),
        };
        Digest { algorithm, hex }
    }
}

/// A writer that passes bytes on, digests and counts them.
#[derive(Debug)]
pub struct DigestWriter<W> {
    inner: W,
    hasher: Hasher,
    count: u64,
}

impl<W: Write> DigestWriter<W> {
    /// Digests what goes to `inner`.
    pub fn new(inner: W, algorithm: Algorithm) -> Self {
        Self {
            inner,
            hasher: Hasher::new(algorithm),
            count: 0,
        }
    }

    /// Ends: the writer, the digest and the number of bytes that went through.
    pub fn finish(self) -> (W, Digest, u64) {
        (self.inner, self.hasher.finish(), self.count)
    }
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_equal_the_published_test_vectors() {
        let digest = |algorithm| Digest::of(algorithm, b"hello world").to_string();
        assert_eq!(
            digest(Algorithm::Sha256),
            "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
        );
        assert_eq!(
            digest(Algorithm::Sha384),
            "sha384:fdbd8e75a67f29f701a4e040385e2e23986303ea10239211af907fcbb83578b3e417cb71ce646efd0819dd8c088de1bd"
        );
        assert_eq!(
            digest(Algorithm::Sha512),
            "sha512:309ecc489c12d6eb4cc40f50c902f2b4d0ed77ee511a7c7a9bcd3ca86d4cd86f989dd35bc5ff499670da34255b45b0cfd830e81f605dcf7dc5542e93ae9cd76f"
        );
        assert_eq!(
            digest(Algorithm::Blake3),
            "blake3:d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24"
        );
    }

    #[test]
    fn parses_with_and_without_algorithm_and_refuses_the_rest() {
        let hex = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
        let full: Digest = format!("sha256:{hex}").parse().unwrap();
        assert_eq!(hex.parse::<Digest>().unwrap(), full);
        assert_eq!(full.to_string().parse::<Digest>().unwrap(), full);
        assert_eq!("".parse::<Digest>(), Err(DigestError::Empty));
        assert!(matches!(
            "md5:00".parse::<Digest>(),
            Err(DigestError::Algorithm(_))
        ));
        assert!(matches!(
            "sha256:00".parse::<Digest>(),
            Err(DigestError::Format(_))
        ));
        assert!(matches!(
            hex.to_uppercase().parse::<Digest>(),
            Err(DigestError::Format(_))
        ));
        assert!(matches!(
            format!("sha512:{hex}").parse::<Digest>(),
            Err(DigestError::Format(_))
        ));
    }
}
