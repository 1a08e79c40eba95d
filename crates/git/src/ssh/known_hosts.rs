//! Which host keys are trusted: the format of OpenSSH's `known_hosts`, read as Flux reads it.

use std::collections::HashSet;
use std::fmt;

use super::base64::decode;
use super::pattern::{Address, Hosts};
use super::public_key::PublicKey;

/// The longest line in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024 - 1;

/// The host keys that are trusted, and those that never are.
///
/// Flux's rules: of several keys of one kind for one host only the first counts; a line with `@cert-authority`
/// also counts as a plain key; one line that cannot be read spoils all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownHosts {
    lines: Vec<Line>,
    revoked: HashSet<PublicKey>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    hosts: Hosts,
    key: PublicKey,
    is_authority: bool,
    number: usize,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("knownhosts: {reason} (line {line} of known_hosts)")]
pub struct KnownHostsError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// A host key that is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}: {address} showed the host key {kind} {fingerprint}{found}; {remedy}", remedy = problem.remedy())]
pub struct HostKeyError {
    /// What speaks against the key.
    pub problem: HostKeyProblem,
    /// The host as `known_hosts` writes it.
    pub address: String,
    /// The kind of the key that the host showed.
    pub kind: String,
    /// The fingerprint of that key.
    pub fingerprint: String,
    found: KnownKeys,
}

/// Why a host key is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostKeyProblem {
    /// No line is for this host.
    #[error("knownhosts: key is unknown")]
    Unknown,
    /// The lines for this host hold other keys.
    #[error("knownhosts: key mismatch")]
    Mismatch,
    /// The key stands under `@revoked`.
    #[error("knownhosts: key is revoked")]
    Revoked,
    /// The host showed a certificate that does not hold.
    #[error("ssh: {0}")]
    Certificate(String),
}

impl HostKeyProblem {
    fn remedy(&self) -> &'static str {
        match self {
            Self::Unknown => {
                "if this is the fingerprint that the server's operator publishes, add the host's line to known_hosts"
            }
            Self::Mismatch => {
                "if the operator has changed the server's key to this one, put it into known_hosts, else somebody may be listening"
            }
            Self::Revoked => {
                "ask the server's operator for a new host key, and do not connect until there is one"
            }
            Self::Certificate(_) => {
                "ask the server's operator for a host certificate of an authority in known_hosts"
            }
        }
    }
}

/// The keys that lines of `known_hosts` hold for a host, for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownKeys(Vec<(usize, String)>);

impl fmt::Display for KnownKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (line, key)) in self.0.iter().enumerate() {
            let before = if index == 0 { ", known_hosts has" } else { "," };
            write!(formatter, "{before} {key} (line {line})")?;
        }
        Ok(())
    }
}

impl KnownHosts {
    /// Reads the lines.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn parse(bytes: &[u8]) -> Result<Self, KnownHostsError> {
        let mut parsed = Self::default();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let number = index + 1;
            parsed
                .add(line, number)
                .map_err(|reason| KnownHostsError { line: number, reason })?;
        }
        Ok(parsed)
    }

    fn add(&mut self, line: &[u8], number: usize) -> Result<(), String> {
        if line.len() > MAX_LINE_BYTES {
            return Err("bufio.Scanner: token too long".to_owned());
        }
        let line = trim(line);
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let (marker, line) = match next_word(line) {
            (marker @ (b"@cert-authority" | b"@revoked"), rest) => (Some(marker), rest),
            _ => (None, line),
        };
        let (hosts, rest) = next_word(line);
        if rest.is_empty() {
            return Err("knownhosts: missing host pattern".to_owned());
        }
        // The kind stands in the key as well.
        let (_, rest) = next_word(rest);
        if rest.is_empty() {
            return Err("knownhosts: missing key type pattern".to_owned());
        }
        let (key, _) = next_word(rest);
        let key = PublicKey::parse(&decode(key)?).map_err(|error| error.to_string())?;
        if marker == Some(b"@revoked") {
            self.revoked.insert(key);
            return Ok(());
        }
        self.lines.push(Line {
            hosts: Hosts::parse(hosts)?,
            key,
            is_authority: marker.is_some(),
            number,
        });
        Ok(())
    }

    fn lines_for(&self, address: &Address) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.hosts.matches(address))
    }

    /// Judges the plain key that `host` showed at `port`. The host is written without brackets.
    ///
    /// # Errors
    /// See [`HostKeyProblem`].
    pub fn check(&self, host: &str, port: u16, key: &PublicKey) -> Result<(), HostKeyError> {
        let address = Address::new(host, port);
        if self.revoked.contains(key) {
            return Err(refusal(HostKeyProblem::Revoked, &address, key, &[]));
        }
        let known = first_of_each_kind(self.lines_for(&address));
        if known.is_empty() {
            return Err(refusal(HostKeyProblem::Unknown, &address, key, &[]));
        }
        match known.iter().any(|line| line.key == *key) {
            true => Ok(()),
            false => Err(refusal(HostKeyProblem::Mismatch, &address, key, &known)),
        }
    }

    /// Judges a certificate that `host` showed at `port` by who signed it: the signature itself, principals and
    /// dates are the caller's to check.
    pub(crate) fn check_authority(
        &self,
        host: &str,
        port: u16,
        parts: &[&PublicKey],
        authority: &PublicKey,
    ) -> Result<(), HostKeyProblem> {
        let address = Address::new(host, port);
        if parts.iter().any(|key| self.revoked.contains(*key)) || self.revoked.contains(authority) {
            return Err(HostKeyProblem::Revoked);
        }
        let known = self
            .lines_for(&address)
            .any(|line| line.is_authority && line.key == *authority);
        match known {
            true => Ok(()),
            false => Err(HostKeyProblem::Certificate(format!(
                "no authorities for hostname: {host}:{port}"
            ))),
        }
    }

    /// The kinds of keys that are known for a host, in the order of the lines; empty if the host is unknown.
    pub fn kinds(&self, host: &str, port: u16) -> Vec<&str> {
        let address = Address::new(host, port);
        let known = first_of_each_kind(self.lines_for(&address));
        known.into_iter().map(|line| line.key.kind()).collect()
    }

    /// Whether a host can be known by a certificate only: there are authorities for it and no keys of its own.
    pub fn wants_certificate(&self, host: &str, port: u16) -> bool {
        let address = Address::new(host, port);
        let mut lines = self.lines_for(&address).peekable();
        lines.peek().is_some() && lines.all(|line| line.is_authority)
    }
}

pub(crate) fn refusal_of(problem: HostKeyProblem, host: &str, port: u16, key: &PublicKey) -> HostKeyError {
    refusal(problem, &Address::new(host, port), key, &[])
}

fn refusal(problem: HostKeyProblem, address: &Address, key: &PublicKey, known: &[&Line]) -> HostKeyError {
    let found = known
        .iter()
        .map(|line| {
            let key = &line.key;
            (line.number, format!("{} {}", key.kind(), key.fingerprint()))
        })
        .collect();
    HostKeyError {
        problem,
        address: String::from_utf8_lossy(&address.normal()).into_owned(),
        kind: key.kind().to_owned(),
        fingerprint: key.fingerprint(),
        found: KnownKeys(found),
    }
}

fn first_of_each_kind<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<&'a Line> {
    let mut first: Vec<&Line> = Vec::new();
    for line in lines {
        if first.iter().all(|other| other.key.kind() != line.key.kind()) {
            first.push(line);
        }
    }
    first
}

/// The text before the first blank or tab, and what follows it, trimmed.
fn next_word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| matches!(byte, b' ' | b'\t')) {
        Some(end) => (&line[..end], trim(&line[end..])),
        None => (line, b""),
    }
}

/// Takes white space, as Unicode knows it, from both ends.
fn trim(mut text: &[u8]) -> &[u8] {
    while let Some(length) = (1..=text.len().min(4)).find(|length| is_white_space(&text[..*length])) {
        text = &text[length..];
    }
    while let Some(length) =
        (1..=text.len().min(4)).find(|length| is_white_space(&text[text.len() - length..]))
    {
        text = &text[..text.len() - length];
    }
    text
}

/// Whether bytes are one character, and that a white one.
fn is_white_space(bytes: &[u8]) -> bool {
    let mut characters = std::str::from_utf8(bytes).unwrap_or_default().chars();
    characters.next().is_some_and(char::is_whitespace) && characters.next().is_none()
}
