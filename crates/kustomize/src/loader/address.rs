//! Which texts kustomize takes for addresses, and what it reads in them.

use std::fmt;
use std::time::Duration;

use crate::resource::clean_join;

/// How long a Git command may take where the address does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(27);

/// Schemes that an address may begin with, in the order in which they are looked for.
const SCHEMES: [&str; 4] = ["ssh://", "https://", "http://", FILE];
const FILE: &str = "file://";

/// The parameters of an address that mean something to kustomize, and are no secrets.
const PARAMETERS: [&str; 4] = ["ref", "version", "timeout", "submodules"];

/// Whether a path is a file's `http` address.
pub(crate) fn is_remote_file(path: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| strip_prefix(path, scheme).is_some())
}

/// Whether a path is the address of a Git repository.
pub(crate) fn is_remote_base(path: &str) -> bool {
    GitAddress::parse(path).is_some()
}

/// The address of a directory in a Git repository, in any of the forms that kustomize 5.8.1 takes:
/// `https://host/owner/repository//directory?ref=v1`, `git@host:owner/repository.git`,
/// `github.com/owner/repository/directory` and so on.
///
/// It prints without user information and without parameters that kustomize does not know: both may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct GitAddress {
    raw: String,
    repository: String,
    directory: String,
    reference: String,
    timeout: Duration,
    submodules: bool,
    is_forced: bool,
}

impl GitAddress {
    /// Reads an address; `None` if the text is none, but a path.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with('/') {
            return None;
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (unforced, is_forced) = match strip_prefix(address, "git::") {
            Some(rest) => (rest, true),
            None => (address, false),
        };
        let (host, path) = split_host(unforced)?;
        let (repository, directory) = split_repository(&path, host == FILE)?;
        let mut parsed = Self {
            raw: text.to_owned(),
            repository: host + &repository,
            directory,
            reference: String::new(),
            timeout: DEFAULT_TIMEOUT,
            submodules: true,
            is_forced,
        };
        parsed.read_query(query);
        Some(parsed)
    }

    /// The text that was parsed, as it stands in the kustomization file. It may hold a password.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Where the repository is: a URL with the scheme `https`, `http`, `ssh` or `file`, or the short form
    /// `user@host:path` of ssh. It may hold a password.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The directory in the repository, relative to its root; empty for the root.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The branch, tag, commit or name of a reference that is asked for; empty for the remote's `HEAD`.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// How long fetching may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether the repository's submodules are wanted as well.
    #[must_use]
    pub fn submodules(&self) -> bool {
        self.submodules
    }

    /// Whether the address begins with `git::`, which means nothing.
    pub(crate) fn is_forced(&self) -> bool {
        self.is_forced
    }

    fn read_query(&mut self, query: &str) {
        // A query with a mistake anywhere counts for nothing.
        let Some(parameters) = parse_query(query) else {
            return;
        };
        let value = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key == name);
            found
                .map(|(_, value)| value.as_str())
                .filter(|value| !value.is_empty())
        };
        if let Some(reference) = value("ref").or_else(|| value("version")) {
            reference.clone_into(&mut self.reference);
        }
        if let Some(timeout) = value("timeout").and_then(parse_timeout) {
            self.timeout = timeout;
        }
        match value("submodules") {
            Some("1" | "t" | "T" | "TRUE" | "true" | "True") => self.submodules = true,
            Some("0" | "f" | "F" | "FALSE" | "false" | "False") => self.submodules = false,
            _ => {}
        }
    }
}

impl fmt::Display for GitAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&redact(&self.raw))
    }
}

impl fmt::Debug for GitAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "GitAddress({self})")
    }
}

/// An address for messages: without user information and without the values of unknown parameters.
pub(crate) fn redact(address: &str) -> String {
    let (place, query) = match address.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (address, None),
    };
    let mut text = match place.split_once("://") {
        Some((scheme, rest)) if !scheme.eq_ignore_ascii_case("ssh") => {
            let authority = rest.split('/').next().unwrap_or(rest);
            let host = authority.rsplit_once('@').map_or(0, |(user, _)| user.len() + 1);
            format!("{scheme}://{}", &rest[host..])
        }
        _ => place.to_owned(),
    };
    for (index, parameter) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        text.push(if index == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((name, value)) if !PARAMETERS.contains(&name) && !value.is_empty() => {
                text.push_str(name);
                text.push_str("=***");
            }
            _ => text.push_str(parameter),
        }
    }
    text
}

fn strip_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Scheme, user and host up to the sign that ends them, and the path behind it.
fn split_host(address: &str) -> Option<(String, String)> {
    let (scheme, rest) = SCHEMES
        .iter()
        .find_map(|scheme| strip_prefix(address, scheme).map(|rest| (*scheme, rest)))
        .unwrap_or(("", address));
    if scheme == FILE {
        return Some((scheme.to_owned(), rest.to_owned()));
    }
    let (user, rest) = split_user(rest);
    let is_github = ["github.com/", "github.com:"]
        .iter()
        .any(|host| strip_prefix(rest, host).is_some());
    let may_be_short = scheme.is_empty() && (!user.is_empty() || is_github);
    if scheme.is_empty() && !may_be_short {
        return None;
    }
    let (slash, colon) = (rest.find('/'), rest.find(':'));
    let separator = match (slash, colon) {
        (None, colon) if may_be_short => colon,
        (Some(slash), Some(colon)) if may_be_short && 0 < colon && colon < slash => Some(colon),
        (slash, _) => slash,
    };
    let (host, path) = match separator {
        Some(index) => rest.split_at(index + 1),
        None => (rest, ""),
    };
    // The spellings of GitHub's name are one, and the user takes the place of the scheme.
    let host = match (is_github, scheme == "ssh://" || !user.is_empty()) {
        (true, true) => format!("{user}github.com:"),
        (true, false) => "https://github.com/".to_owned(),
        (false, _) if host.is_empty() => return None,
        (false, _) => format!("{scheme}{user}{host}"),
    };
    Some((host, path.to_owned()))
}

/// The user with its `@`, and the rest.
fn split_user(text: &str) -> (&str, &str) {
    let is_name = |user: &str| {
        user.starts_with(|first: char| first.is_ascii_alphabetic())
            && user
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    match text.find('@') {
        Some(end) if is_name(&text[..end]) => text.split_at(end + 1),
        _ => ("", text),
    }
}

/// The repository's path and the directory in it: by a mark in the path, or after two names.
fn split_repository(path: &str, is_file: bool) -> Option<(String, String)> {
    let (repository, directory) = if let Some(index) = path.find("_git/") {
        let end = path[index + 5..]
            .find('/')
            .map_or(path.len(), |length| index + 5 + length);
        (&path[..end], path.get(end + 1..).unwrap_or_default())
    } else if let Some((repository, directory)) = path.split_once("//") {
        (repository, directory)
    } else if let Some(index) = path.find(".git") {
        path.split_at(index + 4)
    } else if is_file {
        (path, "")
    } else {
        let first = path.find('/')?;
        match path[first + 1..].find('/') {
            Some(length) => (&path[..first + 1 + length], &path[first + 2 + length..]),
            None => (path, ""),
        }
    };
    let directory = directory.strip_prefix('/').unwrap_or(directory);
    let cleaned = clean_join("", directory);
    let leaves = cleaned == ".." || cleaned.starts_with("../");
    (!repository.is_empty() && !leaves).then(|| (repository.to_owned(), directory.to_owned()))
}

/// The parameters of a query in order; `None` if one is malformed.
fn parse_query(query: &str) -> Option<Vec<(String, String)>> {
    query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let is_valid = !parameter.contains(';');
            is_valid.then(|| Some((unescape(key)?, unescape(value)?)))?
        })
        .collect()
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A number of seconds, or Go's notation of a duration; `None` unless it is more than nothing.
fn parse_timeout(text: &str) -> Option<Duration> {
    let is_number = !text.is_empty()
        && text
            .strip_prefix('+')
            .unwrap_or(text)
            .bytes()
            .all(|byte| byte.is_ascii_digit());
    let seconds = is_number.then(|| text.parse::<i64>().ok()).flatten();
    let timeout = match seconds {
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).ok()?),
        None => parse_duration(text)?,
    };
    (!timeout.is_zero()).then_some(timeout)
}

/// Go's notation of a duration that is not negative, such as `1m30s` or `1.5h`.
fn parse_duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("\u{b5}s", 1e-6),
        ("\u{3bc}s", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
        let (number, tail) = rest.split_at(digits);
        let end = tail
            .find(|sign: char| sign.is_ascii_digit() || sign == '.')
            .unwrap_or(tail.len());
        let (unit, after) = tail.split_at(end);
        let is_number = number.bytes().any(|byte| byte.is_ascii_digit());
        let number: f64 = is_number.then(|| number.parse().ok()).flatten()?;
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        seconds += number * size;
        rest = after;
    }
    // Go's durations end at 2^63 ns.
    (seconds < 9.3e9).then(|| Duration::from_secs_f64(seconds))
}
