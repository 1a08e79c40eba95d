//! Notices when an API server that was out of reach answers again.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::sleep;

/// The pause between two questions to an API server that did not answer.
const BETWEEN_PROBES: Duration = Duration::from_secs(2);

/// Whether requests get through to the API server. Clones share what they know.
///
/// Only connections count: an answer of whatever status shows that the server is there, so that a webhook that always fails does not
/// look like an outage.
#[derive(Clone, Debug)]
pub struct Availability(Arc<watch::Sender<State>>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    lost: bool,
    returns: u64,
}

impl Default for Availability {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::default())))
    }
}

impl Availability {
    /// A request got no answer.
    pub(super) fn lost(&self) {
        self.0
            .send_if_modified(|state| !std::mem::replace(&mut state.lost, true));
    }

    /// A request got an answer.
    pub(super) fn answered(&self) {
        self.0.send_if_modified(|state| {
            let returned = std::mem::take(&mut state.lost);
            state.returns += u64::from(returned);
            returned
        });
    }

    /// Tells each time that the API server answers again after it did not.
    pub fn returns(&self) -> Returns {
        let state = self.0.subscribe();
        let seen = state.borrow().returns;
        Returns { state, seen }
    }

    /// Asks an API server that did not answer again and again, until it does: with everything in back-off nobody else might for a
    /// while. Never ends.
    pub(crate) async fn probe(self, client: Client) {
        let mut state = self.0.subscribe();
        while state.wait_for(|state| state.lost).await.is_ok() {
            sleep(BETWEEN_PROBES).await;
            if !state.borrow().lost {
                continue;
            }
            if let Ok(question) = Request::get("/livez/ping").body(Body::empty()) {
                // Whether it is answered is noticed below.
                let _ = client.send(question).await;
            }
        }
    }
}

/// The returns of an API server, from [`Availability::returns`].
#[derive(Debug)]
pub struct Returns {
    state: watch::Receiver<State>,
    seen: u64,
}

impl Returns {
    /// Waits for the next return; several since the last call count as one.
    pub async fn next(&mut self) {
        let seen = self.seen;
        let next = self.state.wait_for(|state| state.returns != seen).await;
        match next.map(|state| state.returns) {
            Ok(returns) => self.seen = returns,
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn only_the_first_answer_after_a_loss_is_a_return() {
        let availability = Availability::default();
        let mut returns = availability.returns();
        availability.answered();
        assert!(returns.next().now_or_never().is_none());
        availability.lost();
        availability.lost();
        assert!(returns.next().now_or_never().is_none());
        availability.answered();
        assert!(returns.next().now_or_never().is_some());
        assert!(returns.next().now_or_never().is_none());
        availability.answered();
        assert!(returns.next().now_or_never().is_none());
    }
}
