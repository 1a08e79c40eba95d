//! Addresses of remotes, with their user information kept apart.

use std::fmt;

use url::Url;

use crate::Secret;

/// The address of a remote repository. It prints without password, and over http also without user name.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    url: Url,
    username: String,
    password: Option<Secret>,
}

/// Why a text is no address of a remote. The text itself is left out, for it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text is no URL.
    #[error("cannot parse url: {0}")]
    Malformed(String),
    /// The scheme is none of http, https and ssh.
    #[error("unknown transport '{0}': use http, https or ssh")]
    Scheme(String),
    /// There is no host.
    #[error("the url has no host")]
    NoHost,
}

impl RemoteUrl {
    /// Parses a URL with the scheme `http`, `https` or `ssh`. The short form `user@host:path` is not
    /// accepted, as in Flux.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let mut url = Url::parse(text).map_err(|error| UrlError::Malformed(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https" | "ssh") {
            return Err(UrlError::Scheme(url.scheme().to_owned()));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(UrlError::NoHost);
        }
        let username = percent_decode(url.username());
        let password = url
            .password()
            .map(|password| Secret::new(percent_decode(password).into_bytes()));
        // Both succeed for every URL with a host.
        let _ = url.set_password(None);
        if url.scheme() != "ssh" {
            let _ = url.set_username("");
        }
        Ok(Self {
            url,
            username,
            password,
        })
    }

    /// The scheme: `http`, `https` or `ssh`.
    pub fn scheme(&self) -> &str {
        self.url.scheme()
    }

    /// The host name or address.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The port, if the URL names one other than its scheme's.
    pub fn port(&self) -> Option<u16> {
        self.url.port()
    }

    /// The user name of the URL's user information, decoded; empty if there is none.
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The password of the URL's user information, decoded.
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// The URL without user information, of which ssh keeps the user name: there it is part of the address.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RemoteUrl({self})")
    }
}

pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, after @ ..]) => hex_value(*high)
                .zip(hex_value(*low))
                .map(|digits| (digits, after)),
            _ => None,
        };
        match escaped {
            Some(((high, low), after)) => {
                bytes.push(high << 4 | low);
                rest = after;
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_information_is_taken_out_and_never_printed() {
        let url = RemoteUrl::parse("https://bob:p%40ss@example.com/org/repo.git").unwrap();
        assert_eq!(url.to_string(), "https://example.com/org/repo.git");
        assert_eq!(url.username(), "bob");
        assert_eq!(url.password().unwrap().expose(), b"p@ss");
        assert!(!format!("{url:?}").contains("p@ss"));
        let url = RemoteUrl::parse("ssh://bob:hunter2@example.com/org/repo.git").unwrap();
        assert_eq!(url.to_string(), "ssh://bob@example.com/org/repo.git");
    }

    #[test]
    fn other_schemes_and_short_forms_are_refused_without_echoing_the_text() {
        for text in [
            "git@example.com:org/repo",
            "ftp://bob:hunter2@example.com/x",
            "hunter2",
        ] {
            let error = RemoteUrl::parse(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
