//! The flags and environment variables that all controllers share, with Flux's names and defaults.

mod duration;
mod gates;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser};

pub use duration::{DurationError, format_duration, parse_duration};
pub use gates::{FeatureGates, GateError};

use crate::error::RuntimeError;
use crate::queue::Backoff;
use crate::telemetry::{Encoding, Level, LogOptions};

/// The flags that all controllers share. Flatten it into a controller's own arguments.
#[derive(Args, Clone, Debug)]
pub struct CommonArgs {
    /// The address the metric endpoint binds to.
    #[arg(long, env = "METRICS_ADDR", default_value = ":8080")]
    pub metrics_addr: String,
    /// The address the health endpoint binds to.
    #[arg(long, default_value = ":9440")]
    pub health_addr: String,
    /// The address of the events receiver. Empty: Kubernetes Events only.
    #[arg(long, env = "EVENTS_ADDR", default_value = "")]
    pub events_addr: String,
    /// The number of concurrent reconciles per controller.
    #[arg(long, default_value_t = 4)]
    pub concurrent: usize,
    /// The maximum queries-per-second of requests sent to the Kubernetes API.
    #[arg(long, default_value_t = 50.0)]
    pub kube_api_qps: f64,
    /// The maximum burst queries-per-second of requests sent to the Kubernetes API.
    #[arg(long, default_value_t = 300)]
    pub kube_api_burst: u32,
    /// Path to a kubeconfig; without it `$KUBECONFIG` or the Pod's service account.
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// Log encoding format. Can be 'json' or 'console'.
    #[arg(long, default_value = "json")]
    pub log_encoding: Encoding,
    /// Log verbosity level. Can be one of 'trace', 'debug', 'info', 'error'.
    #[arg(long, default_value = "info")]
    pub log_level: Level,
    /// Leader election.
    #[command(flatten)]
    pub leader_election: LeaderElectionArgs,
    /// Watch for custom resources in all namespaces, if set to false it will only watch the runtime namespace.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub watch_all_namespaces: bool,
    /// Watch for resources with matching labels e.g. 'sharding.fluxcd.io/key=shard1'.
    #[arg(long, default_value = "")]
    pub watch_label_selector: String,
    /// The minimum amount of time for which an object being reconciled will have to wait before a retry.
    #[arg(long, default_value = "750ms", value_parser = parse_duration)]
    pub min_retry_delay: Duration,
    /// The maximum amount of time for which an object being reconciled will have to wait before a retry.
    #[arg(long, default_value = "15m", value_parser = parse_duration)]
    pub max_retry_delay: Duration,
    /// Percentage of jitter to apply to interval durations. A value of 10 will apply a jitter of +/-10% to the interval duration.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..100))]
    pub interval_jitter_percentage: u8,
    /// A comma separated list of key=value pairs defining the state of experimental features.
    #[arg(long, default_value = "")]
    pub feature_gates: String,
    /// The namespace that the controller runs in.
    #[arg(long, env = "RUNTIME_NAMESPACE", default_value = "", hide = true)]
    pub runtime_namespace: String,
    /// How long running reconciles have to end after a signal to stop.
    #[arg(long, default_value = "20s", value_parser = parse_duration, hide = true)]
    pub graceful_shutdown_timeout: Duration,
}

/// The flags of leader election.
#[derive(Args, Clone, Debug)]
pub struct LeaderElectionArgs {
    /// Enable leader election for controller manager. Enabling this will ensure there is only one active controller manager.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub enable_leader_election: bool,
    /// Defines if the leader should step down voluntarily on controller manager shutdown.
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub leader_election_release_on_cancel: bool,
    /// Interval at which non-leader candidates will wait to force acquire leadership (duration string).
    #[arg(long, default_value = "35s", value_parser = parse_duration)]
    pub leader_election_lease_duration: Duration,
    /// Duration that the leading controller manager will retry refreshing leadership before giving up (duration string).
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    pub leader_election_renew_deadline: Duration,
    /// Duration the LeaderElector clients should wait between tries of actions (duration string).
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    pub leader_election_retry_period: Duration,
}

impl CommonArgs {
    /// How to log.
    pub fn log_options(&self) -> LogOptions {
        LogOptions {
            encoding: self.log_encoding,
            level: self.log_level,
        }
    }

    /// The bounds of the back-off.
    pub fn backoff(&self) -> Backoff {
        Backoff {
            min: self.min_retry_delay,
            max: self.max_retry_delay.max(self.min_retry_delay),
        }
    }

    /// The namespace to watch; `None`: all.
    ///
    /// # Errors
    /// If only the own namespace is to be watched but is not known.
    pub fn watched_namespace(&self) -> Result<Option<String>, RuntimeError> {
        match (self.watch_all_namespaces, self.runtime_namespace.is_empty()) {
            (true, _) => Ok(None),
            (false, false) => Ok(Some(self.runtime_namespace.clone())),
            (false, true) => Err(RuntimeError::Configuration {
                name: "--watch-all-namespaces".to_owned(),
                message:
                    "with 'false' the environment variable RUNTIME_NAMESPACE must name the namespace to watch"
                        .to_owned(),
            }),
        }
    }
}

/// Parses the process's arguments as Flux's controllers do: a flag given twice counts as given last.
///
/// `adjust` may change the command before, for instance a default that differs for this controller:
/// `|command| command.mut_arg("concurrent", |arg| arg.default_value("2"))`.
///
/// On `--help`, and on arguments that cannot be used, the process ends here.
pub fn parse<A: Parser>(adjust: impl FnOnce(clap::Command) -> clap::Command) -> A {
    let command = adjust(A::command()).args_override_self(true);
    A::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

/// As [`parse`], from given arguments (the first is the program's name), and without ending the process.
///
/// # Errors
/// If the arguments cannot be used.
pub fn parse_from<A, I, T>(
    adjust: impl FnOnce(clap::Command) -> clap::Command,
    arguments: I,
) -> Result<A, clap::Error>
where
    A: CommandFactory + FromArgMatches,
    I: IntoIterator<Item = T>,
    T: Into<std::ffi::OsString> + Clone,
{
    let command = adjust(A::command()).args_override_self(true);
    A::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

/// Reads a boolean as Go's flags do.
///
/// # Errors
/// A text that says what is accepted.
pub fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        other => Err(format!("'{other}' is no boolean: use true or false")),
    }
}

#[cfg(test)]
mod tests;
