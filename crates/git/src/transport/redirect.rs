//! Where a redirect may lead, and what may travel along.

use url::Url;

use crate::{Error, ErrorKind};

/// Redirects followed for one request.
pub(super) const MAX_REDIRECTS: usize = 10;

/// Resolves a `Location` header against the URL that answered with it.
pub(super) fn follow(from: &Url, location: &str) -> Result<Url, Error> {
    let refused = |why: &str| {
        Error::new(
            ErrorKind::Protocol,
            format!("refused to follow a redirect: {why}"),
        )
    };
    let mut target = from.join(location).map_err(|_| refused("its target is no URL"))?;
    match (from.scheme(), target.scheme()) {
        ("https", "http") => return Err(refused("it leads from https to http")),
        (_, "http" | "https") => {}
        (_, scheme) => return Err(refused(&format!("its target has the scheme '{scheme}'"))),
    }
    // A server must not choose our credentials.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    Ok(target)
}

/// Whether credentials for `origin` may be sent to `target`: the same scheme, host and port, or the same
/// host on default ports after an upgrade to https.
pub(super) fn may_carry_credentials(origin: &Url, target: &Url) -> bool {
    if origin.host_str() != target.host_str() {
        return false;
    }
    let same_origin = origin.scheme() == target.scheme()
        && origin.port_or_known_default() == target.port_or_known_default();
    let upgraded = origin.scheme() == "http"
        && target.scheme() == "https"
        && origin.port().is_none()
        && target.port().is_none();
    same_origin || upgraded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn credentials_stay_with_their_host() {
        let origin = url("https://git.example.com/org/repo");
        assert!(may_carry_credentials(
            &origin,
            &url("https://git.example.com:443/other")
        ));
        assert!(may_carry_credentials(&url("http://git.example.com/x"), &origin));
        for other in [
            "https://evil.example.com/x",
            "http://git.example.com/x",
            "https://git.example.com:8443/x",
        ] {
            assert!(!may_carry_credentials(&origin, &url(other)), "{other}");
        }
    }

    #[test]
    fn redirects_never_downgrade_or_bring_credentials() {
        let from = url("https://git.example.com/a/info/refs?service=git-upload-pack");
        assert!(follow(&from, "http://git.example.com/a").is_err());
        assert!(follow(&from, "file:///etc/passwd").is_err());
        assert_eq!(follow(&from, "/b").unwrap().as_str(), "https://git.example.com/b");
        assert_eq!(
            follow(&from, "https://eve:x@other.example/").unwrap().as_str(),
            "https://other.example/"
        );
    }
}
