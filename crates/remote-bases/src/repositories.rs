//! Repositories over Git.

use std::sync::Arc;
use std::time::Duration;

use sluice_git::{Budget, Remote, Tree};

use crate::{RemoteBases, Wanted, location};

impl RemoteBases {
    /// Fetches a repository with its submodules.
    ///
    /// # Errors
    /// Why it could not be had, in words for the user.
    pub(crate) fn fetch_repository(&self, wanted: &Wanted, timeout: Duration) -> Result<Tree, String> {
        let remote = Remote::new(location::parse(&wanted.repository)?);
        if remote.url.scheme() == "ssh" {
            let url = &remote.url;
            return Err(format!(
                "'{url}' needs a private key, and nothing gives one to a remote base; use https, or make the \
                 repository a source of its own"
            ));
        }
        let budget = Budget::new(self.begin(Some(timeout))?)
            .with_transfer_bytes(self.limits.transfer_bytes)
            .with_object_bytes(self.limits.file_bytes)
            .with_cancellation(Arc::clone(&self.limits.cancelled));
        let mut checkout = sluice_git::fetch_abbreviated(&remote, &wanted.reference, &self.scratch, &budget)
            .map_err(|error| explain(&error.to_string(), &wanted.reference))?;
        if wanted.submodules {
            checkout = checkout
                .with_submodules(&remote, &self.scratch, &budget)
                .map_err(|error| {
                    format!("{error}; add submodules=false to the address if they are not needed")
                })?;
        }
        Ok(checkout.tree().clone())
    }
}

/// Adds what helps against the commonest mistake.
fn explain(reason: &str, reference: &str) -> String {
    let is_short_commit = (4..40).contains(&reference.len())
        && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
        && reason.contains("couldn't find remote ref");
    if is_short_commit {
        format!("{reason}; if it is a commit, give all 40 digits")
    } else {
        reason.to_owned()
    }
}
