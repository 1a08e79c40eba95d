//! The addresses of submodules.

use url::Url;

use crate::{Error, ErrorKind, RemoteUrl};

/// The address that a text in `.gitmodules` means, seen from the repository at `base`: a URL, the short form
/// `user@host:path` of SSH, or a path relative to `base`.
pub(super) fn resolve(base: &RemoteUrl, text: &str) -> Result<RemoteUrl, Error> {
    // A text that is no good is not shown: it may hold a password.
    let refused = |reason: String| Error::new(ErrorKind::Unsupported, reason);
    if text.contains("://") {
        return RemoteUrl::parse(text).map_err(|error| refused(error.to_string()));
    }
    if let Some(url) = from_short_form(text) {
        return RemoteUrl::parse(&url).map_err(|error| refused(error.to_string()));
    }
    if text.starts_with('/') || text.contains('\\') || text.contains("::") {
        let reason = "the address is a path of this machine or a helper program: use http, https or ssh";
        return Err(refused(reason.to_owned()));
    }
    let mut url = base.url().clone();
    let path = join(url.path(), text);
    url.set_path(&path);
    url.set_query(None);
    if url.scheme() == "ssh" {
        // Succeeds for every URL with a host.
        let _ = url.set_username(base.username());
    }
    RemoteUrl::parse(url.as_str()).map_err(|error| refused(error.to_string()))
}

/// Whether two repositories are served by the same server, so that both may see the same credentials.
pub(super) fn is_same_origin(left: &RemoteUrl, right: &RemoteUrl) -> bool {
    let origin = |url: &Url| {
        let port = url.port_or_known_default();
        (
            url.scheme().to_owned(),
            url.host_str().map(str::to_ascii_lowercase),
            port,
        )
    };
    origin(left.url()) == origin(right.url())
}

/// `user@host:path` as a URL. A slash before the first colon makes a text a path.
fn from_short_form(text: &str) -> Option<String> {
    let (authority, path) = text.split_once(':')?;
    if authority.is_empty() || authority.contains('/') || path.is_empty() || path.starts_with([':', '\\']) {
        return None;
    }
    let (port, path) = match path.split_once(':') {
        Some((port, rest))
            if (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            (format!(":{port}"), rest)
        }
        _ => (String::new(), path),
    };
    Some(format!(
        "ssh://{authority}{port}/{}",
        path.trim_start_matches('/')
    ))
}

/// Joins two slash separated paths; what climbs above the root stays there.
fn join(base: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(relative.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(base: &str, text: &str) -> Result<String, String> {
        resolve(&RemoteUrl::parse(base).unwrap(), text)
            .map(|url| url.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn relative_addresses_start_from_the_repository() {
        let base = "https://example.com:8443/org/app.git";
        let cases = [
            ("../base.git", "https://example.com:8443/org/base.git"),
            ("./inner.git", "https://example.com:8443/org/app.git/inner.git"),
            ("../../other/base", "https://example.com:8443/other/base"),
            ("../../../../x", "https://example.com:8443/x"),
            ("inner", "https://example.com:8443/org/app.git/inner"),
            ("http://example.org/x.git", "http://example.org/x.git"),
            ("git@example.org:org/x.git", "ssh://git@example.org/org/x.git"),
            ("example.org:2222:/org/x.git", "ssh://example.org:2222/org/x.git"),
        ];
        for (text, expected) in cases {
            assert_eq!(resolved(base, text).as_deref(), Ok(expected), "{text}");
        }
        let url = resolve(&RemoteUrl::parse(base).unwrap(), "git@example.org:org/x.git").unwrap();
        assert_eq!(url.username(), "git");
    }

    #[test]
    fn paths_of_the_machine_and_helpers_are_refused_without_echo() {
        let base = "https://example.com/org/app.git";
        for text in [
            "file:///etc/secret",
            "ext::sh -c secret",
            "/srv/secret.git",
            "git://example.com/secret",
            "\\\\server\\secret",
            "C:\\secret",
            "ftp://secret@example.com/x",
        ] {
            let reason = resolved(base, text).unwrap_err();
            assert!(!reason.contains("secret"), "{reason}");
        }
    }

    #[test]
    fn servers_are_told_apart_by_scheme_host_and_port() {
        let same = |left: &str, right: &str| {
            is_same_origin(
                &RemoteUrl::parse(left).unwrap(),
                &RemoteUrl::parse(right).unwrap(),
            )
        };
        assert!(same("https://example.com/a", "https://EXAMPLE.com:443/b"));
        assert!(!same("https://example.com/a", "http://example.com/a"));
        assert!(!same("https://example.com/a", "https://example.com:8443/a"));
        assert!(!same("https://example.com/a", "https://example.com.evil.org/a"));
    }
}
