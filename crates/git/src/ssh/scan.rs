//! Asks a server for its host key.

use super::algorithms::SshAlgorithms;
use super::pattern::Address;
use super::session::{Trust, connect};
use super::{Endpoint, public_key::PublicKey};
use crate::waiter::Waiter;
use crate::{Budget, Error, ErrorKind};

/// Connects to a server and returns the line for `known_hosts` with the key that it shows, as `flux` stores it in
/// the Secrets that it makes: one key, of the first kind in `algorithms` that the server has. With no algorithms
/// given the order is that of Go's client: ECDSA, RSA, Ed25519.
///
/// Nothing is proven by this: whoever stands between here and the server can show a key of his own. Show the
/// fingerprint ([`PublicKey::fingerprint`]) to whoever can compare it.
///
/// # Errors
/// The server cannot be reached, or has no key of these kinds.
pub fn scan_host_keys(
    host: &str,
    port: u16,
    algorithms: &[String],
    budget: &Budget,
) -> Result<(String, PublicKey), Error> {
    let endpoint = Endpoint::new(host, port)?;
    let offered = SshAlgorithms {
        host_key: algorithms.to_vec(),
        ..SshAlgorithms::default()
    };
    let connected = Waiter::new(budget.clone()).and_then(|waiter| {
        let preferred = offered.preferred(None)?;
        waiter.wait(connect(&endpoint, Trust::Noted, preferred))
    });
    let outcome = connected.and_then(|connected| match (connected.shown, connected.outcome) {
        (Some(key), _) => Ok(key),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(Error::new(ErrorKind::Protocol, "the server showed no host key")),
    });
    let key =
        outcome.map_err(|error| error.context(format!("SSH key scan for host {endpoint} failed, error")))?;
    let address = Address::new(&endpoint.host, port).normal();
    Ok((format!("{} {key}", String::from_utf8_lossy(&address)), key))
}
