//! Git's protocol over the channel of an SSH session.

use std::rc::Rc;

use gix::protocol::transport::client::blocking_io::Transport;
use gix::protocol::transport::client::git::{ConnectMode, blocking_io::Connection};
use gix::protocol::transport::{Protocol, Service};

use super::Failure;
use crate::ssh::{Endpoint, Link, LinkReader, LinkWriter};
use crate::{Budget, Error, ErrorKind, Remote, RemoteUrl};

/// Logs in and starts the service on the other side.
pub(super) fn connect(
    remote: &Remote,
    service: Service,
    version: Protocol,
    budget: &Budget,
    failure: Failure,
) -> Result<Box<dyn Transport>, Error> {
    let credentials = remote.ssh.as_ref().ok_or_else(|| {
        Error::new(
            ErrorKind::Invalid,
            "ssh: there is no private key: the Secret needs 'identity' and 'known_hosts'",
        )
    })?;
    let access = credentials.read()?;
    let path = path_of(&remote.url)?;
    let command = format!("{} {}", service.as_str(), quote(&path));
    let link = Link::open(
        &access,
        Endpoint::of(&remote.url)?,
        &command,
        (version == Protocol::V2).then_some(("GIT_PROTOCOL", "version=2")),
        budget,
        failure,
    )?;
    let link = Rc::new(link);
    let connection = Connection::new(
        LinkReader::new(&link),
        LinkWriter::new(&link),
        version,
        path,
        None::<(String, Option<u16>)>,
        ConnectMode::Process,
        false,
    );
    Ok(Box::new(connection.custom_url(Some(remote.url.as_str().into()))))
}

/// The path as the server is to see it: decoded, with what a browser would take for query and fragment.
fn path_of(url: &RemoteUrl) -> Result<String, Error> {
    let parsed = url.url();
    let mut path = crate::url::percent_decode(parsed.path());
    if let Some(query) = parsed.query().filter(|query| !query.is_empty()) {
        path.push('?');
        path.push_str(query);
    }
    if let Some(fragment) = parsed.fragment().filter(|fragment| !fragment.is_empty()) {
        path.push('#');
        path.push_str(&crate::url::percent_decode(fragment));
    }
    match path.contains(['\0', '\n']) || path.is_empty() {
        true => Err(Error::new(
            ErrorKind::Invalid,
            "the path of the url is empty or holds a line end",
        )),
        false => Ok(path),
    }
}

/// Quotes a word for the shell on the other side, as git does.
fn quote(word: &str) -> String {
    let mut quoted = String::with_capacity(word.len() + 2);
    quoted.push('\'');
    for character in word.chars() {
        match character {
            '\'' | '!' => {
                quoted.push_str("'\\");
                quoted.push(character);
                quoted.push('\'');
            }
            character => quoted.push(character),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_and_quoted_for_the_shell() {
        let path = |text: &str| path_of(&RemoteUrl::parse(text).unwrap()).map(|path| quote(&path));
        let quoted = |text: &str| path(text).unwrap();
        assert_eq!(quoted("ssh://git@example.com/org/repo.git"), "'/org/repo.git'");
        assert_eq!(quoted("ssh://example.com:2222/~me/it%27s"), r"'/~me/it'\''s'");
        assert_eq!(quoted("ssh://example.com/a%20b?c#d!"), r"'/a b?c#d'\!''");
        assert_eq!(quoted("ssh://example.com/$(id);`id`"), "'/$(id);`id`'");
        assert!(path("ssh://example.com/a%0Ab").is_err());
        assert!(path("ssh://example.com").is_err());
    }
}
