//! A relay before a Git server that can hold a fetch in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluice_testbed::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// So many bytes of a pack pass before a closed gate holds the rest.
const OPENING: usize = 8 << 10;

/// Passes bytes between clients and a Git server. Once [closed](Gate::close), a pack on its way to a client
/// stops after its first bytes until the gate is opened again.
pub(crate) struct Gate {
    url: String,
    closed: watch::Sender<bool>,
    holds: Arc<AtomicBool>,
    relay: tokio::task::JoinHandle<()>,
}

impl Gate {
    /// A gate before a server with an `http://` address.
    pub(crate) async fn before(server: &str) -> Self {
        let upstream = server.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let closed = watch::Sender::new(false);
        let holds = Arc::new(AtomicBool::new(false));
        let (state, held) = (closed.subscribe(), Arc::clone(&holds));
        let relay = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&upstream).await else {
                    continue;
                };
                let fetching = Arc::new(AtomicBool::new(false));
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pass_requests(from_client, to_server, Arc::clone(&fetching)));
                tokio::spawn(pass_answers(
                    from_server,
                    to_client,
                    fetching,
                    state.clone(),
                    Arc::clone(&held),
                ));
            }
        });
        Self {
            url,
            closed,
            holds,
            relay,
        }
    }

    /// The address for clients.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Holds the next pack.
    pub(crate) fn close(&self) {
        self.holds.store(false, Ordering::SeqCst);
        self.closed.send_replace(true);
    }

    /// Waits until a pack is held.
    pub(crate) async fn wait_for_hold(&self, timeout: Duration) {
        let held = || std::future::ready(self.holds.load(Ordering::SeqCst).then_some(()));
        wait::until_some(timeout, "a pack held at the gate", held)
            .await
            .unwrap();
    }

    /// Lets everything pass.
    pub(crate) fn open(&self) {
        self.closed.send_replace(false);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

/// Passes a client's bytes on and notes when it asks for objects.
async fn pass_requests(mut client: OwnedReadHalf, mut server: OwnedWriteHalf, fetching: Arc<AtomicBool>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = client.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..count]);
        if text.contains("command=ls-refs") || text.contains("GET ") {
            fetching.store(false, Ordering::SeqCst);
        }
        if text.contains("command=fetch") {
            fetching.store(true, Ordering::SeqCst);
        }
        if server.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
    let _ = server.shutdown().await;
}

/// Passes a server's bytes back, as far as the gate lets them.
async fn pass_answers(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    fetching: Arc<AtomicBool>,
    mut closed: watch::Receiver<bool>,
    holds: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 4 << 10];
    let mut passed = 0;
    while let Ok(count @ 1..) = server.read(&mut buffer).await {
        passed = if fetching.load(Ordering::SeqCst) {
            passed + count
        } else {
            0
        };
        if passed > OPENING && *closed.borrow() {
            holds.store(true, Ordering::SeqCst);
            if closed.wait_for(|closed| !closed).await.is_err() {
                return;
            }
        }
        if client.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
