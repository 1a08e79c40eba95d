//! Running any program, such as a controller, so that it never outlives the test.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::server::Server;
use crate::{Error, Result, loopback, tools};

/// What to run. The program gets no input; what it writes goes to a file.
#[derive(Debug, Clone)]
pub struct Program {
    file: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    log: Option<PathBuf>,
    grace: Duration,
}

impl Program {
    /// The program in that file, without arguments and with this process's environment.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            log: None,
            grace: Duration::from_secs(10),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<Argument: Into<OsString>>(
        mut self,
        arguments: impl IntoIterator<Item = Argument>,
    ) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the program's environment.
    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Takes a variable out of the program's environment.
    #[must_use]
    pub fn without_environment(mut self, name: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Appends what the program writes to this file instead of to a temporary one.
    #[must_use]
    pub fn log(mut self, file: impl Into<PathBuf>) -> Self {
        self.log = Some(file.into());
        self
    }

    /// The time between SIGTERM and SIGKILL when the process is dropped; 10 seconds unless set.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Starts the program under `control-plane exec`, which ends it with this process, even if this one is
    /// killed.
    pub fn start(self) -> Result<Process> {
        let (log, directory) = match self.log {
            Some(log) => (log, None),
            None => {
                let directory = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
                (directory.path().join("output.log"), Some(directory))
            }
        };
        let mut command = Command::new(tools::tool("control-plane")?);
        command.arg("exec").arg("--log").arg(&log);
        command
            .arg("--grace")
            .arg(format!("{}ms", self.grace.as_millis()));
        command.arg("--").arg(&self.file).args(&self.arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let (server, announced) = Server::start::<Announced>(&mut command, Duration::from_secs(60))?;
        Ok(Process {
            pid: announced.pid,
            server,
            log,
            program: self.file,
            end: None,
            _directory: directory,
        })
    }
}

#[derive(Deserialize)]
struct Announced {
    pid: u32,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// It ended by itself with this exit code.
    Code(i32),
    /// It was ended by this signal (9 for SIGKILL, 15 for SIGTERM).
    Signal(i32),
}

/// The signals that tests send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Asks to end in order.
    Terminate,
    /// Ctrl-C.
    Interrupt,
    /// Ends at once.
    Kill,
    /// Freezes the process.
    Stop,
    /// Lets a frozen process go on.
    Continue,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Interrupt => "INT",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// A running program. Dropping it ends it: SIGTERM, and SIGKILL after the grace period.
#[derive(Debug)]
pub struct Process {
    // Before the directory, so that the process has ended when its log is removed.
    server: Server,
    pid: u32,
    log: PathBuf,
    program: PathBuf,
    end: Option<End>,
    _directory: Option<tempfile::TempDir>,
}

impl Process {
    /// The program's own process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The file that holds what the program writes.
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// What the program has written so far, standard output and standard error together.
    pub fn log(&self) -> String {
        std::fs::read(&self.log)
            .map(|content| String::from_utf8_lossy(&content).into_owned())
            .unwrap_or_default()
    }

    /// Sends a signal to the program and the processes that it started.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        let what = format!("send SIG{} to {}", signal.name(), self.program.display());
        let input = self.server.child().stdin.as_mut().ok_or_else(|| Error::Failed {
            what: what.clone(),
            output: "it has been ended".to_owned(),
        })?;
        writeln!(input, "{}", signal.name()).map_err(Error::io(what))
    }

    /// Waits until the program has ended, and says how. Can be asked again.
    pub fn wait(&mut self, timeout: Duration) -> Result<End> {
        if let Some(end) = self.end {
            return Ok(end);
        }
        let line = self.server.line(timeout)?;
        let end =
            serde_json::from_str(&line).map_err(Error::json(format!("end of {}", self.program.display())))?;
        self.end = Some(end);
        Ok(end)
    }

    /// Kills the program at once and waits until it is gone.
    pub fn kill(&mut self) -> Result<End> {
        self.signal(Signal::Kill)?;
        self.wait(Duration::from_secs(30))
    }

    /// Asks the program to end and waits until it has.
    pub fn terminate(&mut self, timeout: Duration) -> Result<End> {
        self.signal(Signal::Terminate)?;
        self.wait(timeout)
    }

    /// True while the program runs.
    pub fn is_running(&mut self) -> bool {
        self.end.is_none() && matches!(self.wait(Duration::ZERO), Err(Error::Timeout { .. }))
    }

    /// Waits until a GET of an `http://` address answers with status 200, such as `/readyz`. Fails when the
    /// program ends before, with the last of what it wrote.
    pub fn wait_for_http(&mut self, url: &str, timeout: Duration) -> Result<()> {
        let mut last = String::new();
        self.wait_until(&format!("200 from {url}"), timeout, || {
            match loopback::request("GET", url, b"", Duration::from_secs(5)) {
                Ok((200, _)) => return true,
                Ok((status, _)) => last = format!("status {status}"),
                Err(error) => last = error.to_string(),
            }
            false
        })
    }

    /// Waits until something listens on a loopback port.
    pub fn wait_for_port(&mut self, port: u16, timeout: Duration) -> Result<()> {
        self.wait_until(&format!("a listener on port {port}"), timeout, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        })
    }

    /// Asks again and again whether something is so, while the program runs: for what cannot be watched.
    pub fn wait_until(
        &mut self,
        what: &str,
        timeout: Duration,
        mut condition: impl FnMut() -> bool,
    ) -> Result<()> {
        let began = Instant::now();
        while !condition() {
            if !self.is_running() {
                return Err(Error::Failed {
                    what: self.program.display().to_string(),
                    output: format!(
                        "ended ({:?}) before {what}; it wrote:\n{}",
                        self.end,
                        self.last_lines(30)
                    ),
                });
            }
            if began.elapsed() > timeout {
                return Err(Error::Timeout {
                    what: what.to_owned(),
                    after: timeout,
                    last: self.last_lines(30),
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn last_lines(&self, count: usize) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

/// A loopback port on which nothing listened just now, from below the range that outgoing connections use.
/// Distinct within this process.
pub fn free_port() -> Result<u16> {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    // Processes start at different places, so that two of them hardly ever meet.
    let start = u16::try_from(std::process::id().wrapping_mul(97) % u32::from(COUNT)).unwrap_or(0);
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (start + step % COUNT) % COUNT;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::Failed {
        what: "find a free port".to_owned(),
        output: "all are taken".to_owned(),
    })
}

/// True if a process of that id exists, as a zombie or not.
pub fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::require_or_skip;

    fn shell(script: &str) -> Option<Process> {
        require_or_skip(Program::new("/bin/sh").arguments(["-c", script]).start())
    }

    #[test]
    fn output_and_exit_code_are_kept() {
        let Some(mut process) = shell("echo out; echo err >&2; exit 7") else {
            return;
        };
        assert_eq!(process.wait(Duration::from_secs(60)).unwrap(), End::Code(7));
        assert_eq!(process.log(), "out\nerr\n");
        assert!(!process.is_running());
    }

    #[test]
    fn signals_reach_the_program() {
        let Some(mut process) =
            shell("trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done")
        else {
            return;
        };
        let log = process.log_file().to_owned();
        let is_up = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("up"));
        process
            .wait_until("its first line", Duration::from_secs(60), is_up)
            .unwrap();
        assert!(process.is_running());
        assert_eq!(process.terminate(Duration::from_secs(60)).unwrap(), End::Code(0));
        assert!(process.log().ends_with("asked\n"));
    }

    #[test]
    fn kill_ends_at_once_what_ignores_requests() {
        let Some(mut process) = shell("trap '' TERM; while :; do sleep 0.05; done") else {
            return;
        };
        let pid = process.pid();
        assert!(exists(pid));
        assert_eq!(process.kill().unwrap(), End::Signal(9));
        assert!(!exists(pid));
    }

    #[test]
    fn drop_ends_the_program_and_its_children() {
        let Some(process) = shell("sleep 1000 & echo $!; wait") else {
            return;
        };
        let mut process = process;
        let log = process.log_file().to_owned();
        let child = || {
            std::fs::read_to_string(&log)
                .ok()
                .and_then(|text| text.trim().parse::<u32>().ok())
        };
        process
            .wait_until("its child", Duration::from_secs(60), || child().is_some())
            .unwrap();
        let (pid, child) = (process.pid(), child().unwrap());
        drop(process);
        assert!(!exists(pid));
        // Orphans are reaped by another process, at its own pace.
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }

    #[test]
    fn early_end_is_told_with_the_last_output() {
        let Some(mut process) = shell("echo the reason; exit 1") else {
            return;
        };
        let error = process.wait_for_port(1, Duration::from_secs(60)).unwrap_err();
        assert!(error.to_string().contains("the reason"), "{error}");
    }

    #[test]
    fn free_ports_are_distinct() {
        let ports: std::collections::BTreeSet<_> = (0..50).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 50);
    }
}
