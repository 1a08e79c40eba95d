//! Sends a commit to a remote.

use std::io::{BufRead, Read, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use gix::protocol::transport::Service;
use gix::protocol::transport::client::blocking_io::Transport as _;
use gix::protocol::transport::client::{MessageKind, WriteMode};

use crate::pack::pack;
use crate::references::list_over;
use crate::transport::Connection;
use crate::{Budget, Error, ObjectId, PreparedCommit, Remote};

/// The most that a remote may say about a push.
const MAX_REPORT_BYTES: u64 = 1 << 20;

/// How much of the remote's messages is quoted.
const MAX_MESSAGE_BYTES: usize = 2048;

/// Why a push did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// The branch has moved since the parent was fetched: fetch again, make the commit anew, push again.
    #[error(
        "failed to push to remote: non-fast-forward update: branch '{branch}' is at {actual}, expected {expected}"
    )]
    NonFastForward {
        /// The branch.
        branch: String,
        /// What the commit was made on: a hash, or "no commit".
        expected: String,
        /// Where the branch is: a hash, "no commit", or "another commit" if the remote did not say.
        actual: String,
    },
    /// The remote refused: a hook, a protected branch, missing rights.
    #[error("failed to push to remote: branch '{branch}' was rejected: {reason}")]
    Rejected {
        /// The branch.
        branch: String,
        /// What the remote said.
        reason: String,
    },
    /// The remote could not be talked to.
    #[error("failed to push to remote: {0}")]
    Remote(#[from] Error),
}

/// Pushes `commit` to `branch`, which must still be where the commit's parent was, or not exist if it has none.
/// Makes the branch if needed, also in an empty repository; never forces.
///
/// # Errors
/// See [`PushError`].
pub fn push(
    remote: &Remote,
    branch: &str,
    commit: &PreparedCommit,
    budget: &Budget,
) -> Result<(), PushError> {
    let full_name = format!("refs/heads/{branch}");
    let mut connection = Connection::open(remote, Service::ReceivePack, budget)?;
    let actual = list_over(&mut connection, &[&full_name])?
        .find(&full_name)
        .map(|found| found.object);
    if actual != commit.parent {
        return Err(moved(
            branch,
            commit,
            actual.map_or_else(|| "no commit".to_owned(), |id| id.to_string()),
        ));
    }
    let format = commit.id.kind();
    let old = actual.unwrap_or_else(|| ObjectId::null(format));
    let command = format!(
        "{old} {} {full_name}\0{}",
        commit.id,
        capabilities(&connection, format)
    );
    let report = send(&mut connection, &command, &pack(&commit.objects, format)?)?;
    report.outcome(&full_name).map_err(|refusal| match refusal {
        Refusal::Moved => moved(branch, commit, "another commit".to_owned()),
        Refusal::Reason(reason) => PushError::Rejected {
            branch: branch.to_owned(),
            reason,
        },
    })
}

fn moved(branch: &str, commit: &PreparedCommit, actual: String) -> PushError {
    let expected = commit
        .parent
        .map_or_else(|| "no commit".to_owned(), |id| id.to_string());
    PushError::NonFastForward {
        branch: branch.to_owned(),
        expected,
        actual,
    }
}

fn capabilities(connection: &Connection, format: gix::hash::Kind) -> String {
    let offered = &connection.handshake.capabilities;
    let mut wanted = vec!["report-status".to_owned()];
    if offered.contains("side-band-64k") {
        wanted.push("side-band-64k".to_owned());
    }
    if offered.contains("object-format") {
        wanted.push(format!("object-format={format}"));
    }
    if offered.contains("agent")
        && let Some(agent) = &connection.agent.1
    {
        wanted.push(format!("agent={agent}"));
    }
    wanted.join(" ")
}

/// What the remote answered.
#[derive(Debug, Default)]
struct Report {
    lines: Vec<String>,
    messages: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Moved,
    Reason(String),
}

fn send(connection: &mut Connection, command: &str, pack: &[u8]) -> Result<Report, Error> {
    let uses_sideband = connection.handshake.capabilities.contains("side-band-64k");
    let mut request = match connection.transport.request(
        WriteMode::OneLfTerminatedLinePerWriteCall,
        MessageKind::Flush,
        false,
    ) {
        Ok(request) => request,
        Err(error) => return Err(Error::protocol(error)),
    };
    let messages = Arc::new(Mutex::new(Vec::new()));
    let outcome = (|| {
        request.write_all(command.as_bytes())?;
        request.write_message(MessageKind::Flush)?;
        let (mut writer, mut reader) = request.into_parts();
        writer.write_all(pack)?;
        writer.flush()?;
        drop(writer);
        if uses_sideband {
            let messages = Arc::clone(&messages);
            reader.set_progress_handler(Some(Box::new(move |_, text| {
                let mut messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MAX_MESSAGE_BYTES.saturating_sub(messages.len());
                messages.extend_from_slice(text.get(..room).unwrap_or(text));
                ControlFlow::Continue(())
            })));
            let mut bytes = Vec::new();
            reader.by_ref().take(MAX_REPORT_BYTES).read_to_end(&mut bytes)?;
            Ok(packet_lines(&bytes))
        } else {
            let lines = reader
                .by_ref()
                .take(MAX_REPORT_BYTES)
                .lines()
                .collect::<std::io::Result<Vec<_>>>()?;
            Ok(lines)
        }
    })();
    let lines = outcome.map_err(|error: std::io::Error| connection.broken(&error))?;
    let messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
    let messages = String::from_utf8_lossy(&messages)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    Ok(Report { lines, messages })
}

/// Splits length-prefixed lines; anything after a malformed one is left out.
fn packet_lines(mut bytes: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some((prefix, rest)) = bytes.split_at_checked(4) {
        let length = std::str::from_utf8(prefix)
            .ok()
            .and_then(|digits| usize::from_str_radix(digits, 16).ok());
        match length {
            Some(0) => bytes = rest,
            Some(length) if length >= 4 && length - 4 <= rest.len() => {
                let (line, after) = rest.split_at(length - 4);
                lines.push(String::from_utf8_lossy(line).trim_end().to_owned());
                bytes = after;
            }
            _ => break,
        }
    }
    lines
}

impl Report {
    /// Reads `unpack ok` and `ok <reference>`, or why not.
    fn outcome(&self, full_name: &str) -> Result<(), Refusal> {
        let lines = || self.lines.iter().map(|line| line.trim_end());
        let unpacked = lines()
            .find_map(|line| line.strip_prefix("unpack "))
            .unwrap_or("the remote did not report");
        if unpacked != "ok" {
            return Err(Refusal::Reason(self.explain(unpacked)));
        }
        if lines().any(|line| line.strip_prefix("ok ") == Some(full_name)) {
            return Ok(());
        }
        let reason = lines()
            .find_map(|line| line.strip_prefix("ng ")?.strip_prefix(full_name))
            .map_or("the remote did not report", str::trim);
        let lost_race = [
            "non-fast-forward",
            "fetch first",
            "failed to update ref",
            "cannot lock ref",
            "stale info",
            "incorrect old value",
        ];
        if lost_race.iter().any(|sign| reason.contains(sign)) && !reason.contains("hook") {
            return Err(Refusal::Moved);
        }
        Err(Refusal::Reason(self.explain(reason)))
    }

    fn explain(&self, reason: &str) -> String {
        if self.messages.is_empty() {
            reason.to_owned()
        } else {
            format!("{reason}: {}", self.messages)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(lines: &[&str]) -> Result<(), Refusal> {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        Report {
            lines,
            messages: String::new(),
        }
        .outcome("refs/heads/main")
    }

    #[test]
    fn reports_are_told_apart() {
        assert_eq!(outcome(&["unpack ok", "ok refs/heads/main"]), Ok(()));
        assert_eq!(
            outcome(&["unpack ok", "ng refs/heads/main non-fast-forward"]),
            Err(Refusal::Moved)
        );
        let declined = Refusal::Reason("pre-receive hook declined".into());
        assert_eq!(
            outcome(&["unpack ok", "ng refs/heads/main pre-receive hook declined"]),
            Err(declined)
        );
        assert_eq!(
            outcome(&["unpack index-pack failed"]),
            Err(Refusal::Reason("index-pack failed".into()))
        );
        assert!(matches!(outcome(&[]), Err(Refusal::Reason(_))));
    }

    #[test]
    fn packet_lines_survive_malformed_input() {
        assert_eq!(
            packet_lines(b"000eunpack ok\n0017ok refs/heads/main\n0000"),
            ["unpack ok", "ok refs/heads/main"]
        );
        assert_eq!(packet_lines(b"zzzz"), Vec::<String>::new());
        assert_eq!(packet_lines(b"ffffshort"), Vec::<String>::new());
    }
}
