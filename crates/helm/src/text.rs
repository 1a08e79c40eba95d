//! Small things that Go's standard library does with text.

use sluice_gotemplate::{Value, print};

/// `%q` of a text.
pub(crate) fn quoted(text: &str) -> String {
    let quoted = print::printf(b"%q", &[Value::from(text)], usize::MAX);
    quoted.map_or_else(
        |_| text.to_owned(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

/// What stands behind the last slash, as Go's `path.Base`: trailing slashes do not count.
pub(crate) fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        None | Some("") if path.is_empty() => ".",
        None | Some("") => "/",
        Some(name) => name,
    }
}

/// What starts at the last dot of the last element, as Go's `path.Ext`.
pub(crate) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').map_or("", |at| &name[at..])
}

/// Go's `path.Clean`.
pub(crate) fn clean_path(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            other => parts.push(other),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Go's `unicode.IsSpace`.
pub(crate) fn is_space(character: char) -> bool {
    match character {
        '\t' | '\n' | '\u{B}' | '\u{C}' | '\r' | ' ' | '\u{85}' | '\u{A0}' => true,
        other => other.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cut_as_go_cuts_them() {
        assert_eq!(base("a/b/c.yaml"), "c.yaml");
        assert_eq!(base("a/b/"), "b");
        assert_eq!(base(""), ".");
        assert_eq!(base("/"), "/");
        assert_eq!(extension("a.b/c"), "");
        assert_eq!(extension("a/c.tar.gz"), ".gz");
        assert_eq!(extension("a/.x"), ".x");
        assert_eq!(clean_path("a//b/./c/../d"), "a/b/d");
        assert_eq!(clean_path("../a/../.."), "../..");
        assert_eq!(clean_path(""), ".");
        assert_eq!(clean_path("/../a"), "/a");
    }
}
