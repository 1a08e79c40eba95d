//! The end of the process: on SIGTERM or SIGINT no more work is begun, work under way may end, and what was reported is delivered.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Cancels the token on the first SIGTERM or SIGINT. A second signal ends the process at once.
///
/// # Errors
/// If the signals cannot be listened to.
pub fn cancel_on_signal(stop: CancellationToken) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        let mut signals = 0u32;
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            signals += 1;
            if signals > 1 {
                warn!("received {name} again, ending at once");
                std::process::exit(1);
            }
            info!("received {name}, stopping");
            stop.cancel();
        }
    });
    Ok(())
}
