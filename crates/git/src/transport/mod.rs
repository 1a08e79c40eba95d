//! Connections to remotes.

mod client;
mod http;
mod redirect;
mod ssh;

use std::cell::RefCell;
use std::rc::Rc;

use gix::protocol::transport::client::blocking_io::Transport;
use gix::protocol::transport::client::blocking_io::http::Transport as HttpTransport;
use gix::protocol::transport::{Protocol, Service};
use gix::protocol::{Handshake, command::Feature};

use crate::{Budget, Error, ErrorKind, Remote};

/// The failure that the transport below the protocol saw, kept because the protocol layer flattens it.
pub(crate) type Failure = Rc<RefCell<Option<Error>>>;

/// A connection after its handshake.
pub(crate) struct Connection {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) handshake: Handshake,
    pub(crate) agent: Feature,
    failure: Failure,
}

impl Connection {
    /// Connects and shakes hands for `service`.
    pub(crate) fn open(remote: &Remote, service: Service, budget: &Budget) -> Result<Self, Error> {
        let failure = Failure::default();
        // Version 2 knows fetching only.
        let version = if service == Service::ReceivePack {
            Protocol::V1
        } else {
            Protocol::V2
        };
        let mut transport = transport_to(remote, service, version, budget, Rc::clone(&failure))?;
        let handshake = gix::protocol::handshake(
            &mut transport,
            service,
            |_| Ok(None),
            Vec::new(),
            &mut gix::utils::progress::Discard,
        );
        match handshake {
            Ok(handshake) => Ok(Self {
                transport,
                handshake,
                agent: ("agent", Some(agent_of(remote))),
                failure,
            }),
            Err(error) => Err(failure
                .take()
                .unwrap_or_else(|| Error::protocol(describe(&error)))),
        }
    }

    /// What really went wrong when the protocol layer reports `error`.
    pub(crate) fn failed(&self, error: &gix::Error) -> Error {
        self.failure
            .take()
            .unwrap_or_else(|| Error::protocol(describe(error)))
    }

    /// As [`Connection::failed`] for a plain input or output error.
    pub(crate) fn broken(&self, error: &std::io::Error) -> Error {
        self.failure
            .take()
            .unwrap_or_else(|| Error::new(ErrorKind::Network, error.to_string()))
    }
}

fn agent_of(remote: &Remote) -> String {
    // The value must not hold spaces: they end a capability.
    remote.user_agent.replace(
        |character: char| character.is_whitespace() || character.is_control(),
        "-",
    )
}

fn transport_to(
    remote: &Remote,
    service: Service,
    version: Protocol,
    budget: &Budget,
    failure: Failure,
) -> Result<Box<dyn Transport>, Error> {
    match remote.url.scheme() {
        "http" | "https" => {
            let client = http::HttpClient::new(remote, budget.clone(), failure)?;
            let url = gix::url::parse(remote.url.as_str())
                .map_err(|error| Error::new(ErrorKind::Invalid, describe(&error)))?;
            Ok(Box::new(HttpTransport::new_http(client, url, version, false)))
        }
        "ssh" => ssh::connect(remote, service, version, budget, failure),
        scheme => Err(Error::new(
            ErrorKind::Unsupported,
            format!("transport '{scheme}' is not supported"),
        )),
    }
}

/// The whole chain of a protocol error in one line.
pub(crate) fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = first_line(&error.to_string());
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = first_line(&cause.to_string());
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches(':')
        .to_owned()
}
