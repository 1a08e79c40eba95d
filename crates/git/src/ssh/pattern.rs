//! The host patterns of `known_hosts`.

use hmac::{Hmac, Mac};
use sha1::Sha1;

use super::base64::decode;

/// The port of SSH, which patterns leave out.
pub(crate) const DEFAULT_PORT: &str = "22";

/// A host with its port, as patterns are matched against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    host: Vec<u8>,
    port: Vec<u8>,
}

impl Address {
    /// The host without brackets.
    pub(crate) fn new(host: &str, port: u16) -> Self {
        Self {
            host: host.as_bytes().to_vec(),
            port: port.to_string().into_bytes(),
        }
    }

    /// The form in which addresses are hashed and written: `host`, or `[host]:port` for another port than 22.
    pub(crate) fn normal(&self) -> Vec<u8> {
        // Whoever wrote the line went through the same two steps: joined, and taken apart again.
        let mut joined = Vec::new();
        match self.host.contains(&b':') {
            true => joined.extend([b"[", self.host.as_slice(), b"]:"].concat()),
            false => joined.extend([self.host.as_slice(), b":"].concat()),
        }
        joined.extend_from_slice(&self.port);
        let (host, port) = match split_host_port(&joined) {
            Ok((host, port)) => (host.to_vec(), port.to_vec()),
            Err(_) => (joined, DEFAULT_PORT.into()),
        };
        let host = match host.as_slice() {
            [b'[', inner @ .., b']'] => inner,
            host => host,
        };
        match port == DEFAULT_PORT.as_bytes() {
            true => host.to_vec(),
            false => [b"[", host, b"]:", &port].concat(),
        }
    }
}

/// Which hosts a line of `known_hosts` is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// The hash of one address.
    Hashed {
        /// What goes into the hash beside the address.
        salt: Vec<u8>,
        /// HMAC-SHA1 of the address.
        hash: Vec<u8>,
    },
    /// Patterns, of which one must match and no negated one may.
    Patterns(Vec<Pattern>),
}

/// One pattern with `*` and `?` in the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    negated: bool,
    host: Vec<u8>,
    port: Vec<u8>,
}

impl Hosts {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        match text.first() {
            Some(b'|') => hashed(text),
            _ => text
                .split(|byte| *byte == b',')
                .filter(|pattern| !pattern.is_empty())
                .map(Pattern::parse)
                .collect::<Result<_, _>>()
                .map(Self::Patterns),
        }
    }

    pub(crate) fn matches(&self, address: &Address) -> bool {
        match self {
            Self::Hashed { salt, hash } => hash_of(salt, &address.normal()).as_deref() == Some(hash),
            Self::Patterns(patterns) => {
                let mut matching = patterns
                    .iter()
                    .filter(|pattern| pattern.matches(address))
                    .peekable();
                matching.peek().is_some() && !matching.any(|pattern| pattern.negated)
            }
        }
    }
}

fn hash_of(salt: &[u8], address: &[u8]) -> Option<Vec<u8>> {
    let mut mac = Hmac::<Sha1>::new_from_slice(salt).ok()?;
    mac.update(address);
    Some(mac.finalize().into_bytes().to_vec())
}

fn hashed(text: &[u8]) -> Result<Hosts, String> {
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b'|').collect();
    let [_, kind, salt, hash] = parts.as_slice() else {
        return Err(format!("knownhosts: got {} components, want 3", parts.len()));
    };
    let (salt, hash) = (decode(salt)?, decode(hash)?);
    match *kind {
        b"1" => Ok(Hosts::Hashed { salt, hash }),
        other => Err(format!(
            "knownhosts: got hash type {}, must be '1'",
            String::from_utf8_lossy(other)
        )),
    }
}

impl Pattern {
    fn parse(text: &[u8]) -> Result<Self, String> {
        let (negated, text) = match text {
            [b'!', rest @ ..] => (true, rest),
            text => (false, text),
        };
        let (host, port) = match (text.first(), split_host_port(text)) {
            (None, _) => return Err("knownhosts: negation without following hostname".to_owned()),
            (_, Ok(parts)) => parts,
            (Some(b'['), Err(reason)) => {
                return Err(format!("address {}: {reason}", String::from_utf8_lossy(text)));
            }
            (_, Err(_)) => (text, DEFAULT_PORT.as_bytes()),
        };
        Ok(Self {
            negated,
            host: host.to_vec(),
            port: port.to_vec(),
        })
    }

    fn matches(&self, address: &Address) -> bool {
        self.port == address.port && matches_wildcards(&self.host, &address.host)
    }
}

/// Matches `*` and `?` in time that grows with the product of both lengths. As in Go's library a `*` needs at
/// least one character where it stands.
fn matches_wildcards(pattern: &[u8], text: &[u8]) -> bool {
    let end = text.len();
    // Whether the rest of the pattern matches the rest of the text, by where the latter starts.
    let mut rest_matches = vec![false; end + 1];
    rest_matches[end] = true;
    let mut is_last = true;
    for symbol in pattern.iter().rev() {
        let mut matches = vec![false; end + 1];
        let mut matches_later = false;
        for start in (0..end).rev() {
            matches_later |= rest_matches[start];
            matches[start] = match symbol {
                b'*' => is_last || matches_later,
                symbol => (*symbol == b'?' || *symbol == text[start]) && rest_matches[start + 1],
            };
        }
        rest_matches = matches;
        is_last = false;
    }
    rest_matches[0]
}

/// Takes `host:port` or `[host]:port` apart, as Go's `net.SplitHostPort` does.
fn split_host_port(text: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    const MISSING_PORT: &str = "missing port in address";
    const COLONS: &str = "too many colons in address";
    let colon = text.iter().rposition(|byte| *byte == b':').ok_or(MISSING_PORT)?;
    let (host, open_from, close_from) = if text.first() == Some(&b'[') {
        let close = text
            .iter()
            .position(|byte| *byte == b']')
            .ok_or("missing ']' in address")?;
        match text.get(close + 1) {
            None => return Err(MISSING_PORT),
            Some(_) if close + 1 == colon => {}
            Some(b':') => return Err(COLONS),
            Some(_) => return Err(MISSING_PORT),
        }
        (&text[1..close], 1, close + 1)
    } else {
        let host = &text[..colon];
        if host.contains(&b':') {
            return Err(COLONS);
        }
        (host, 0, 0)
    };
    if text[open_from..].contains(&b'[') {
        return Err("unexpected '[' in address");
    }
    if text[close_from..].contains(&b']') {
        return Err("unexpected ']' in address");
    }
    Ok((host, &text[colon + 1..]))
}
