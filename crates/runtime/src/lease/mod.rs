//! Leader election by a Lease, under the names and in the form that Flux's controllers use, so that they and these
//! exclude each other.
//!
//! A candidate takes the Lease when nobody holds it, or when it has not seen it renewed for the lease duration. It
//! measures that by its own clock, from when it saw the last change: the clocks of other hosts play no part. A leader
//! that could not renew for the renew deadline, which is shorter, has lost: the [`Fence`] refuses its writes from that
//! moment on, and the process ends.

mod fence;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

pub use fence::{Fence, FenceError};

use crate::flags::CommonArgs;

/// What an elector needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseOptions {
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease's name.
    pub name: String,
    /// Who this candidate is; no two candidates may be the same.
    pub identity: String,
    /// How long others leave the Lease alone after they saw it renewed.
    pub lease_duration: Duration,
    /// How long a leader goes on without having renewed. Shorter than the lease duration.
    pub renew_deadline: Duration,
    /// The pause between tries.
    pub retry_period: Duration,
    /// Whether to give the Lease back at the end.
    pub release_on_cancel: bool,
}

impl LeaseOptions {
    /// The options of a controller: `<controller>-leader-election`, for shards with a suffix made from their label
    /// selector, in the runtime namespace or else in `default_namespace`.
    pub fn new(controller: &str, args: &CommonArgs, default_namespace: &str) -> Self {
        let flags = &args.leader_election;
        let namespace = match args.runtime_namespace.as_str() {
            "" => default_namespace,
            namespace => namespace,
        };
        Self {
            namespace: namespace.to_owned(),
            name: lease_name(controller, &args.watch_label_selector),
            identity: format!("{}_{}", crate::events::host_name(), uuid::Uuid::new_v4()),
            lease_duration: flags.leader_election_lease_duration,
            renew_deadline: flags.leader_election_renew_deadline,
            retry_period: flags.leader_election_retry_period,
            release_on_cancel: flags.leader_election_release_on_cancel,
        }
    }
}

/// The Lease's name: with a label selector, the first eight hexadecimal digits of its SHA-256 are appended.
fn lease_name(controller: &str, label_selector: &str) -> String {
    let base = format!("{controller}-leader-election");
    match label_selector {
        "" => base,
        selector => format!("{base}-{}", &hex::encode(Sha256::digest(selector))[..8]),
    }
}

/// A candidate, and then the leader.
pub struct Elector {
    api: Api<Lease>,
    options: LeaseOptions,
    fence: Fence,
    /// The Lease's last seen state, and when it was first seen.
    seen: Option<(LeaseSpec, Instant)>,
}

impl Elector {
    /// A candidate whose leadership is guarded by this fence.
    pub fn new(client: Client, options: LeaseOptions, fence: Fence) -> Self {
        let api = Api::namespaced(client, &options.namespace);
        Self {
            api,
            options,
            fence,
            seen: None,
        }
    }

    /// Returns once this candidate leads. Failures are tried again.
    pub async fn acquire(&mut self) {
        info!(
            logger = "leaderelection",
            lease = self.options.name,
            "attempting to acquire the leader lease"
        );
        loop {
            match self.attempt().await {
                Ok(true) => {
                    info!(
                        logger = "leaderelection",
                        lease = self.options.name,
                        "acquired the leader lease"
                    );
                    return;
                }
                Ok(false) => debug!(
                    logger = "leaderelection",
                    "the lease is held by another candidate"
                ),
                Err(error) => warn!(logger = "leaderelection", %error, "unable to acquire the leader lease"),
            }
            sleep(self.pause()).await;
        }
    }

    /// Renews for as long as that works. Returns when leadership is lost: another candidate holds the Lease, or the renew
    /// deadline has passed.
    pub async fn hold(&mut self) {
        loop {
            sleep(self.options.retry_period).await;
            match timeout(self.fence.remaining().unwrap_or_default(), self.attempt()).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return,
                Ok(Err(error)) if self.fence.remaining().is_some_and(|left| !left.is_zero()) => {
                    warn!(logger = "leaderelection", %error, "unable to renew the leader lease");
                }
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }

    /// Gives the Lease back, so that another candidate need not wait. Everything that only a leader may do must have ended.
    pub async fn release(&mut self) {
        if !self.options.release_on_cancel {
            return;
        }
        let released = async {
            let mut lease = self.api.get(&self.options.name).await?;
            let Some(spec) = lease.spec.as_mut().filter(|spec| self.is_own(spec)) else {
                return Ok(());
            };
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
            self.api
                .replace(&self.options.name, &PostParams::default(), &lease)
                .await
                .map(drop)
        };
        match timeout(self.options.retry_period, released).await {
            Ok(Ok(())) => info!(
                logger = "leaderelection",
                lease = self.options.name,
                "released the leader lease"
            ),
            Ok(Err(error)) => warn!(logger = "leaderelection", %error, "unable to release the leader lease"),
            Err(_) => warn!(
                logger = "leaderelection",
                "unable to release the leader lease in time"
            ),
        }
    }

    /// Takes or renews the Lease. False if another candidate holds it.
    async fn attempt(&mut self) -> Result<bool, kube::Error> {
        // Taken before the request: the Lease counts as renewed from then on at the latest.
        let now = Instant::now();
        let Some(mut lease) = self.api.get_opt(&self.options.name).await? else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.options.name.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.record(None)),
            };
            return self.settle(self.api.create(&PostParams::default(), &lease).await, now);
        };
        let current = lease.spec.take().unwrap_or_default();
        if !self.may_take(&current) {
            return Ok(false);
        }
        lease.spec = Some(self.record(Some(&current)));
        self.settle(
            self.api
                .replace(&self.options.name, &PostParams::default(), &lease)
                .await,
            now,
        )
    }

    fn settle(&self, written: Result<Lease, kube::Error>, asked_at: Instant) -> Result<bool, kube::Error> {
        match written {
            Ok(_) => {
                self.fence.lead_until(asked_at + self.options.renew_deadline);
                Ok(true)
            }
            // Another candidate was faster; the next try sees what it wrote.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the Lease is free, this candidate's own, or has not changed for its duration.
    fn may_take(&mut self, current: &LeaseSpec) -> bool {
        let since = match &self.seen {
            Some((seen, since)) if seen == current => *since,
            _ => {
                let now = Instant::now();
                self.seen = Some((current.clone(), now));
                now
            }
        };
        let holder = current.holder_identity.as_deref().unwrap_or_default();
        holder.is_empty() || self.is_own(current) || since.elapsed() >= self.options.lease_duration
    }

    fn is_own(&self, spec: &LeaseSpec) -> bool {
        spec.holder_identity.as_deref() == Some(self.options.identity.as_str())
    }

    /// The Lease as this candidate writes it over `current`.
    fn record(&self, current: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let own = current.filter(|current| self.is_own(current));
        let transitions = current.and_then(|current| current.lease_transitions);
        LeaseSpec {
            holder_identity: Some(self.options.identity.clone()),
            lease_duration_seconds: i32::try_from(self.options.lease_duration.as_secs()).ok(),
            acquire_time: own
                .and_then(|own| own.acquire_time.clone())
                .or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: match (current, own) {
                (None, _) => Some(0),
                (Some(_), Some(_)) => transitions,
                (Some(_), None) => Some(transitions.unwrap_or_default().saturating_add(1)),
            },
            ..current.cloned().unwrap_or_default()
        }
    }

    /// The pause before the next try, up to a fifth longer than the period so that candidates do not stay in step.
    fn pause(&self) -> Duration {
        self.options
            .retry_period
            .mul_f64(1.0 + rand::random::<f64>() * 0.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_named_as_flux_names_them() {
        // COM-022, COM-023
        assert_eq!(
            lease_name("source-controller", ""),
            "source-controller-leader-election"
        );
        assert_eq!(
            lease_name("source-controller", "sharding.fluxcd.io/key=shard1"),
            "source-controller-leader-election-73fdc1be"
        );
    }
}
