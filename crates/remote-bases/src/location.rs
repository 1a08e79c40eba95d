//! Where repositories are, in the notations that git takes.

use sluice_git::RemoteUrl;

/// The URL of a repository that an address names: a URL, or ssh's short form `user@host:path`.
///
/// # Errors
/// Why there is no way to fetch from there.
pub(crate) fn parse(text: &str) -> Result<RemoteUrl, String> {
    let url = match short_form(text) {
        Some((host, path)) => format!("ssh://{host}/{}", path.trim_start_matches('/')),
        None => text.to_owned(),
    };
    if url.starts_with("file://") || url.starts_with('/') {
        return Err(
            "a repository on this machine cannot be a remote base; use its path, or serve it over https"
                .to_owned(),
        );
    }
    RemoteUrl::parse(&url).map_err(|error| error.to_string())
}

/// Host, with the user, and path of ssh's short form.
fn short_form(text: &str) -> Option<(&str, &str)> {
    if text.contains("://") {
        return None;
    }
    let (host, path) = text.split_once(':')?;
    (!host.is_empty() && !host.contains('/')).then_some((host, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_of_ssh_is_a_url_and_files_are_refused() {
        let url = |text| parse(text).map(|url| (url.to_string(), url.username().to_owned()));
        let wanted = Ok(("ssh://git@host/o/r.git".to_owned(), "git".to_owned()));
        assert_eq!(url("git@host:o/r.git"), wanted);
        assert_eq!(url("ssh://git@host/o/r.git"), wanted);
        let wanted = Ok(("https://host/o/r".to_owned(), "u".to_owned()));
        assert_eq!(url("https://u:p@host/o/r"), wanted);
        for refused in ["file:///srv/r", "/srv/r", "ftp://host/r"] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }
}
