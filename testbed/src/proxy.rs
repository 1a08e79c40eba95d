//! A proxy before the API server that makes requests late, cut or failing, and holds watches back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kube::Client;
use serde::{Deserialize, Serialize};

use crate::control_plane::{ControlPlane, client_from};
use crate::server::Server;
use crate::{Error, Result, loopback, tools};

/// Where a request is held, or its connection cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// Before it is passed on: the API server never sees it.
    Request,
    /// When the API server has answered: the work is done and the client does not know.
    Answer,
    /// In the middle of the answer; for a watch after its first event. Only for [`Rule::cut`].
    Body,
    /// Now, for the matching watches that are open; later ones are left alone. Only for [`Rule::cut`].
    Open,
}

/// What goes wrong with which requests. Narrowing methods can be combined; without any, every request is
/// meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[must_use]
pub struct Rule {
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    skip: u32,
    times: u32,
    delay: u64,
    delay_answer: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u32>,
    stall: bool,
    delay_events: u64,
}

impl Rule {
    /// Requests come to the API server later.
    pub fn delay(by: Duration) -> Self {
        Self {
            delay: milliseconds(by),
            ..Self::default()
        }
    }

    /// Answers come to the client later.
    pub fn delay_answer(by: Duration) -> Self {
        Self {
            delay_answer: milliseconds(by),
            ..Self::default()
        }
    }

    /// Requests wait at that moment until the rule is removed. With [`FaultProxy::wait_for_hits`] a test
    /// knows that a program has come to a certain request, and can for instance kill it there.
    pub fn hold(at: Moment) -> Self {
        Self {
            hold: Some(at),
            ..Self::default()
        }
    }

    /// Connections are closed at that moment.
    pub fn cut(at: Moment) -> Self {
        Self {
            cut: Some(at),
            ..Self::default()
        }
    }

    /// Requests are answered with that HTTP status, 400 to 599, and are not passed on.
    pub fn status(code: u16) -> Self {
        Self {
            status: Some(code),
            ..Self::default()
        }
    }

    /// Requests are answered with 429 and the header Retry-After, and are not passed on.
    pub fn too_many_requests(retry_after_seconds: u32) -> Self {
        Self {
            status: Some(429),
            retry_after: Some(retry_after_seconds),
            ..Self::default()
        }
    }

    /// Watches, open ones too, get no events until the rule is removed; then they get all that they missed.
    pub fn stall_watch() -> Self {
        Self {
            stall: true,
            ..Self::default()
        }
    }

    /// The events of watches, open ones too, come later, in their order.
    pub fn delay_watch(by: Duration) -> Self {
        Self {
            delay_events: milliseconds(by),
            ..Self::default()
        }
    }

    /// Only requests of this HTTP method.
    pub fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Only requests whose URL path this regular expression matches (Go's syntax, anywhere in the path).
    pub fn path(mut self, expression: &str) -> Self {
        self.path = Some(expression.to_owned());
        self
    }

    /// Only requests whose raw query this regular expression matches, such as `dryRun=All`.
    pub fn query(mut self, expression: &str) -> Self {
        self.query = Some(expression.to_owned());
        self
    }

    /// Only requests whose user agent this regular expression matches.
    pub fn user_agent(mut self, expression: &str) -> Self {
        self.user_agent = Some(expression.to_owned());
        self
    }

    /// Only watches, or only other requests.
    pub fn watches(mut self, only: bool) -> Self {
        self.watch = Some(only);
        self
    }

    /// Stalls and delays begin only with an event whose JSON this regular expression matches.
    pub fn event(mut self, expression: &str) -> Self {
        self.event = Some(expression.to_owned());
        self
    }

    /// So many matching requests or events pass unharmed first.
    pub fn skip(mut self, count: u32) -> Self {
        self.skip = count;
        self
    }

    /// At most so many requests or events are harmed; without it, all until the rule is removed.
    pub fn times(mut self, count: u32) -> Self {
        self.times = count;
        self
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A running fault proxy. Without rules it passes everything on. Dropping it ends it.
#[derive(Debug)]
pub struct FaultProxy {
    kubeconfig: PathBuf,
    control: String,
    server: Server,
    _directory: tempfile::TempDir,
}

#[derive(Deserialize)]
struct Announced {
    control: String,
}

#[derive(Deserialize)]
struct RuleState {
    hits: u32,
}

impl FaultProxy {
    /// Starts a proxy before a control plane's API server.
    pub fn start(plane: &ControlPlane) -> Result<Self> {
        Self::start_before(plane.kubeconfig())
    }

    /// Starts a proxy before the API server of a kubeconfig that holds a bearer token.
    pub fn start_before(kubeconfig: &Path) -> Result<Self> {
        let directory = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
        let written = directory.path().join("kubeconfig");
        let mut command = Command::new(tools::tool("control-plane")?);
        command
            .arg("fault-proxy")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--write-kubeconfig")
            .arg(&written);
        let (server, announced) = Server::start::<Announced>(&mut command, Duration::from_secs(60))?;
        Ok(Self {
            kubeconfig: written,
            control: announced.control,
            server,
            _directory: directory,
        })
    }

    /// A kubeconfig by which other programs go through the proxy.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A client that goes through the proxy.
    pub async fn client(&self, user_agent: &str) -> Result<Client> {
        client_from(&self.kubeconfig, user_agent).await
    }

    /// Sets a rule, or replaces the one of that name and starts its count anew.
    pub fn set(&self, name: &str, rule: &Rule) -> Result<()> {
        let body = serde_json::to_vec(rule).map_err(Error::json(format!("rule {name}")))?;
        self.ask("PUT", &format!("/rules/{name}"), &body, Duration::from_secs(30))
            .map(drop)
    }

    /// Removes a rule and lets go what it held. Removing one that is not there is no error.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.ask("DELETE", &format!("/rules/{name}"), b"", Duration::from_secs(30))
            .map(drop)
    }

    /// Removes all rules and lets go what they held.
    pub fn clear(&self) -> Result<()> {
        self.ask("DELETE", "/rules", b"", Duration::from_secs(30))
            .map(drop)
    }

    /// How many requests or events a rule has harmed so far.
    pub fn hits(&self, name: &str) -> Result<u32> {
        let answer = self.ask("GET", &format!("/rules/{name}"), b"", Duration::from_secs(30))?;
        let state: RuleState =
            serde_json::from_slice(&answer).map_err(Error::json(format!("rule {name}")))?;
        Ok(state.hits)
    }

    /// Waits until a rule has harmed so many requests or events.
    pub fn wait_for_hits(&self, name: &str, hits: u32, timeout: Duration) -> Result<()> {
        let path = format!("/rules/{name}?hits={hits}&timeout={}", timeout.as_millis());
        self.ask("GET", &path, b"", timeout + Duration::from_secs(30))
            .map(drop)
            .map_err(|error| match error {
                Error::Answer { answer, .. } if answer.starts_with("408") => Error::Timeout {
                    what: format!("{hits} hits of rule {name}"),
                    after: timeout,
                    last: answer,
                },
                other => other,
            })
    }

    /// Ends the proxy: clients that go through it then find nobody.
    pub fn stop(mut self) -> Result<()> {
        self.server.end().map(drop)
    }

    fn ask(&self, method: &str, path: &str, body: &[u8], timeout: Duration) -> Result<Vec<u8>> {
        let url = format!("{}{path}", self.control);
        let (status, answer) = loopback::request(method, &url, body, timeout)?;
        if status == 200 {
            return Ok(answer);
        }
        let answer = format!("{status} {}", String::from_utf8_lossy(&answer).trim());
        Err(Error::Answer {
            what: format!("{method} {url}"),
            answer,
        })
    }
}
