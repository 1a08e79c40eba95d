//! Which texts kustomize takes for addresses.

use crate::resource::clean_join;

/// Whether a path is a file's `http` address.
pub(crate) fn is_remote_file(path: &str) -> bool {
    let lower = path.get(..8).unwrap_or(path).to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

/// Whether a path is the address of a Git repository.
pub(crate) fn is_remote_base(path: &str) -> bool {
    if path.starts_with('/') {
        return false;
    }
    let path = path.split('?').next().unwrap_or(path);
    let Some((host, rest)) = split_host(path) else {
        return false;
    };
    if host.is_empty() {
        return false;
    }
    split_repository(&rest, host.starts_with("file://")).is_some_and(|(repository, directory)| {
        !repository.is_empty()
            && !clean_join("", directory.strip_prefix('/').unwrap_or(&directory)).starts_with("..")
    })
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Host with scheme and user, and the path behind it; None if the text is no address.
fn split_host(path: &str) -> Option<(String, String)> {
    let path = strip_prefix_ignoring_case(path, "git::").unwrap_or(path);
    let (scheme, rest) = ["ssh://", "https://", "http://", "file://"]
        .iter()
        .find_map(|scheme| strip_prefix_ignoring_case(path, scheme).map(|rest| (*scheme, rest)))
        .unwrap_or(("", path));
    let (user, rest) = split_user(rest);
    let lower = rest.to_ascii_lowercase();
    let github = lower.starts_with("github.com/") || lower.starts_with("github.com:");
    let scp = scheme.is_empty() && (user || github);
    if scheme.is_empty() && !scp {
        return None;
    }
    if scheme == "file://" {
        return Some((scheme.to_owned(), rest.to_owned()));
    }
    let slash = rest.find('/');
    let colon = rest.find(':');
    let separator = match (slash, colon) {
        (None, colon) if scp => colon,
        (Some(slash), Some(colon)) if scp && colon > 0 && colon < slash => Some(colon),
        (slash, _) => slash,
    };
    Some(match separator {
        Some(index) => (rest[..=index].to_owned(), rest[index + 1..].to_owned()),
        None => (rest.to_owned(), String::new()),
    })
}

fn split_user(text: &str) -> (bool, &str) {
    match text.split_once('@') {
        Some((user, rest))
            if user.starts_with(|first: char| first.is_ascii_alphabetic())
                && user
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') =>
        {
            (true, rest)
        }
        _ => (false, text),
    }
}

/// The repository's path and the directory in it.
fn split_repository(path: &str, all: bool) -> Option<(String, String)> {
    if let Some(index) = path.find("_git/") {
        let (root, rest) = path.split_at(index + 5);
        let (repository, directory) = rest.split_once('/').unwrap_or((rest, ""));
        return Some((format!("{root}{repository}"), directory.to_owned()));
    }
    if let Some((repository, directory)) = path.split_once("//") {
        return Some((repository.to_owned(), directory.to_owned()));
    }
    if let Some(index) = path.find(".git") {
        let (repository, directory) = path.split_at(index + 4);
        return Some((repository.to_owned(), directory.to_owned()));
    }
    if all {
        return Some((path.to_owned(), String::new()));
    }
    let segments: Vec<&str> = path.split('/').collect();
    (segments.len() >= 2).then(|| (segments[..2].join("/"), segments[2..].join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for address in [
            "https://github.com/owner/repository//path?ref=v1",
            "github.com/owner/repository/path",
            "git@github.com:owner/repository.git",
            "ssh://git@host/owner/repository",
            "https://host/owner/repository",
            "git::https://host/owner/repository",
            "file:///srv/repository",
        ] {
            assert!(is_remote_base(address), "{address}");
        }
        for path in [
            "../base",
            "base",
            "/abs/base",
            "a/b/c",
            "https://host/one",
            "host.com/owner/repository",
        ] {
            assert!(!is_remote_base(path), "{path}");
        }
        assert!(is_remote_file("https://host/file.yaml") && !is_remote_file("http.yaml"));
    }
}
