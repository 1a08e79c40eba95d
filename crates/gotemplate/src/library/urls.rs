//! URLs as Go's net/url takes them apart and puts them together.

use core::net::Ipv6Addr;

use super::convert::kind_of;
use super::{MAP, Registry, TEXT};
use crate::error::Failure;
use crate::quote::quoted;
use crate::text::{Text, find, lossy};
use crate::value::{Map, Value};

pub(super) fn register(registry: &mut Registry) {
    registry.fixed("urlParse", &[TEXT], MAP, |_, arguments| {
        let url =
            Url::parse(&arguments.text(0)).map_err(|message| format!("unable to parse url: {message}"))?;
        Ok(Value::Map(url.into_map()))
    });
    registry.fixed("urlJoin", &[MAP], TEXT, |_, arguments| {
        let url = Url::from_map(&arguments.map(0))?;
        Ok(Value::string(url.print()))
    });
}

/// The parts of a URL between which escaping differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    User,
    Host,
    Zone,
    Fragment,
}

fn must_escape(byte: u8, part: Part) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => false,
        _ if matches!(part, Part::Host | Part::Zone) => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        b'$' | b'&' | b'+' | b',' | b';' | b'=' => false,
        b'/' | b'@' | b':' => part == Part::User,
        b'?' => part != Part::Fragment,
        b'!' | b'(' | b')' | b'*' => part != Part::Fragment,
        _ => true,
    }
}

fn escape(bytes: &[u8], part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if must_escape(byte, part) {
            out.extend(format!("%{byte:02X}").bytes());
        } else {
            out.push(byte);
        }
    }
    out
}

fn unescape(bytes: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let in_host = matches!(part, Part::Host | Part::Zone);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'%' {
            if in_host && byte < 0x80 && must_escape(byte, part) {
                let shown = quoted(&[byte]);
                return Err(format!("invalid character {shown} in host name"));
            }
            out.push(byte);
            at += 1;
            continue;
        }
        let refused = |length: usize| {
            let shown = quoted(&bytes[at..bytes.len().min(at + length)]);
            Err(format!("invalid URL escape {shown}"))
        };
        let digit = |index: usize| bytes.get(index).and_then(|&byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else {
            return refused(3);
        };
        let value = u8::try_from(high << 4 | low).unwrap_or(0);
        let is_percent = &bytes[at..at + 3] == b"%25";
        if part == Part::Host && high < 8 && !is_percent {
            return refused(3);
        }
        if part == Part::Zone && !is_percent && value != b' ' && must_escape(value, Part::Host) {
            return refused(3);
        }
        out.push(value);
        at += 3;
    }
    Ok(out)
}

/// Cuts at the first `separator`.
fn cut<'text>(bytes: &'text [u8], separator: &[u8]) -> (&'text [u8], Option<&'text [u8]>) {
    match find(bytes, separator) {
        Some(at) => (&bytes[..at], Some(&bytes[at + separator.len()..])),
        None => (bytes, None),
    }
}

/// The parts of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The scheme; empty for relative addresses.
    pub scheme: String,
    /// The host with its port.
    pub host: String,
    /// The host without port and brackets.
    pub host_name: String,
}

/// Reads an address as Go does; the error is Go's.
pub(crate) fn read(text: &[u8]) -> Result<Parts, String> {
    let url = Url::parse(text)?;
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Parts {
        scheme: shown(&url.scheme),
        host: shown(&url.host),
        host_name: shown(url.hostname()),
    })
}

#[derive(Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<User>,
    host: Vec<u8>,
    path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

#[derive(Default)]
struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl User {
    fn print(&self) -> Vec<u8> {
        let mut out = escape(&self.name, Part::User);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend(escape(password, Part::User));
        }
        out
    }
}

impl Url {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (before, fragment) = cut(bytes, b"#");
        let failure = |text: &[u8], message: String| format!("parse {}: {message}", quoted(text));
        let mut url = Self::parse_without_fragment(before).map_err(|message| failure(before, message))?;
        let fragment = fragment.unwrap_or_default();
        url.fragment = unescape(fragment, Part::Fragment).map_err(|message| failure(bytes, message))?;
        Ok(url)
    }

    fn parse_without_fragment(bytes: &[u8]) -> Result<Self, String> {
        if bytes.iter().any(|&byte| byte < b' ' || byte == 0x7F) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Self::default();
        if bytes == b"*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(bytes)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) = cut(rest, b"?");
        url.query = query.unwrap_or_default().to_vec();
        if rest.first() != Some(&b'/') {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if cut(rest, b"/").0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let has_authority = !url.scheme.is_empty() || !rest.starts_with(b"///");
        if let Some(authority) = rest.strip_prefix(b"//").filter(|_| has_authority) {
            let end = authority
                .iter()
                .position(|&byte| byte == b'/')
                .unwrap_or(authority.len());
            rest = &authority[end..];
            url.parse_authority(&authority[..end])?;
        }
        url.path = unescape(rest, Part::Path)?;
        Ok(url)
    }

    fn parse_authority(&mut self, authority: &[u8]) -> Result<(), String> {
        let at = authority.iter().rposition(|&byte| byte == b'@');
        let host = at.map_or(authority, |at| &authority[at + 1..]);
        self.host = self.parse_host(host)?;
        let Some(info) = at.map(|at| &authority[..at]) else {
            return Ok(());
        };
        let is_good = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !info.iter().all(is_good) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let (name, password) = cut(info, b":");
        self.user = Some(User {
            name: unescape(name, Part::User)?,
            password: password
                .map(|password| unescape(password, Part::User))
                .transpose()?,
        });
        Ok(())
    }

    fn parse_host(&self, host: &[u8]) -> Result<Vec<u8>, String> {
        let invalid_port = |port: &[u8]| Err(format!("invalid port {} after host", quoted(port)));
        match host.iter().rposition(|&byte| byte == b'[') {
            Some(0) => {
                let Some(end) = host.iter().rposition(|&byte| byte == b']') else {
                    return Err("missing ']' in host".to_owned());
                };
                let port = &host[end + 1..];
                if !is_optional_port(port) {
                    return invalid_port(port);
                }
                let port = unescape(port, Part::Host)?;
                let name = &host[1..end];
                let zone = find(name, b"%25").unwrap_or(name.len());
                let mut unescaped = unescape(&name[..zone], Part::Host)?;
                let address = lossy(&unescaped).into_owned();
                unescaped.extend(unescape(&name[zone..], Part::Zone)?);
                if address.parse::<Ipv6Addr>().is_err() {
                    let shown = quoted(&unescaped);
                    return Err(format!("invalid host: ParseAddr({shown}): unable to parse IP"));
                }
                Ok([b"[", &*unescaped, b"]", &*port].concat())
            }
            Some(_) => Err("invalid IP-literal".to_owned()),
            None => {
                if let Some(first) = host.iter().position(|&byte| byte == b':') {
                    let last = host.iter().rposition(|&byte| byte == b':').unwrap_or(first);
                    let strict = matches!(&*self.scheme, b"http" | b"https");
                    let port = &host[if strict { first } else { last }..];
                    if !is_optional_port(port) {
                        return invalid_port(port);
                    }
                }
                unescape(host, Part::Host)
            }
        }
    }

    fn hostname(&self) -> &[u8] {
        let mut host = &self.host[..];
        if let Some(colon) = host.iter().rposition(|&byte| byte == b':')
            && is_optional_port(&host[colon..])
        {
            host = &host[..colon];
        }
        let inner = host.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]"));
        inner.unwrap_or(host)
    }

    fn into_map(self) -> Map {
        let hostname = Value::string(self.hostname());
        let user = self.user.as_ref().map(User::print).unwrap_or_default();
        Map::from_iter([
            ("scheme", Value::string(self.scheme)),
            ("host", Value::string(self.host)),
            ("hostname", hostname),
            ("path", Value::string(self.path)),
            ("query", Value::string(self.query)),
            ("opaque", Value::string(self.opaque)),
            ("fragment", Value::string(self.fragment)),
            ("userinfo", Value::string(user)),
        ])
    }

    fn from_map(map: &Map) -> Result<Self, Failure> {
        let part = |key: &str| -> Result<Text, Failure> {
            match map.get(key).map(|value| value.plain()) {
                None => Ok(Text::default()),
                Some(Value::String(text)) => Ok(text),
                Some(Value::Nil) => Err(super::convert::NIL_DEREFERENCE.into()),
                Some(other) => {
                    let kind = kind_of(&other);
                    Err(format!("unable to parse {key} key, must be of type string, but {kind} found").into())
                }
            }
        };
        let mut url = Self {
            scheme: part("scheme")?.to_vec(),
            host: part("host")?.to_vec(),
            path: part("path")?.to_vec(),
            query: part("query")?.to_vec(),
            opaque: part("opaque")?.to_vec(),
            fragment: part("fragment")?.to_vec(),
            user: None,
        };
        let user = part("userinfo")?;
        if !user.is_empty() {
            let text = [b"proto://", &*user, b"@host"].concat();
            let parsed = Self::parse(&text);
            url.user = parsed
                .map_err(|message| format!("unable to parse userinfo in dict: {message}"))?
                .user;
        }
        Ok(url)
    }

    fn print(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.print_hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(escape(&self.fragment, Part::Fragment));
        }
        out
    }

    fn print_hierarchy(&self, out: &mut Vec<u8>) {
        if !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some() {
            if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                out.extend_from_slice(b"//");
            }
            if let Some(user) = &self.user {
                out.extend(user.print());
                out.push(b'@');
            }
            out.extend(escape(&self.host, Part::Host));
        }
        let path = if self.path == b"*" {
            b"*".to_vec()
        } else {
            escape(&self.path, Part::Path)
        };
        if !path.is_empty() && path[0] != b'/' && !self.host.is_empty() {
            out.push(b'/');
        }
        if out.is_empty() && cut(&path, b"/").0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}

fn split_scheme(bytes: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (index, &byte) in bytes.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&bytes[..index], &bytes[index + 1..])),
            _ => break,
        }
    }
    Ok((b"", bytes))
}

fn is_optional_port(port: &[u8]) -> bool {
    match port.split_first() {
        None => true,
        Some((b':', digits)) => digits.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    }
}
