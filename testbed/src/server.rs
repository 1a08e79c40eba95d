//! A server of the test bed as a child process: announces itself with a line of JSON, ends with its input.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// How long a server may take to end before it is killed. A control plane needs some seconds.
const END_GRACE: Duration = Duration::from_secs(90);

/// A running server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    // In a mutex only so that a server can be shared between threads.
    lines: Mutex<mpsc::Receiver<String>>,
    errors: std::fs::File,
    what: String,
}

impl Server {
    /// Starts a server and waits for the line that announces it.
    pub(crate) fn start<Announcement: DeserializeOwned>(
        command: &mut Command,
        timeout: Duration,
    ) -> Result<(Self, Announcement)> {
        let what = format!("{command:?}");
        let program = PathBuf::from(command.get_program());
        let errors = tempfile::tempfile().map_err(Error::io("make a temporary file"))?;
        let stderr = errors.try_clone().map_err(Error::io("make a temporary file"))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut child = command
            .spawn()
            .map_err(|source| Error::Start { program, source })?;
        let (sender, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let mut server = Self {
            child,
            lines: Mutex::new(lines),
            errors,
            what,
        };
        let line = server.line(timeout)?;
        let announcement = serde_json::from_str(&line).map_err(Error::json(server.what.clone()))?;
        Ok((server, announcement))
    }

    /// The next line that the server writes to standard output. Fails when it ends first.
    pub(crate) fn line(&mut self, timeout: Duration) -> Result<String> {
        let received = self
            .lines
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(timeout);
        match received {
            Ok(line) => Ok(line),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(Error::Timeout {
                what: format!("a line from {}", self.what),
                after: timeout,
                last: self.errors(),
            }),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = self
                    .child
                    .wait()
                    .map_or_else(|error| error.to_string(), |status| status.to_string());
                Err(Error::Failed {
                    what: self.what.clone(),
                    output: format!("{status}: {}", self.errors()),
                })
            }
        }
    }

    /// The process, to write to its input.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// What the server wrote to standard error.
    fn errors(&mut self) -> String {
        let mut text = String::new();
        let read = self
            .errors
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.errors.read_to_string(&mut text));
        read.map_or_else(|error| error.to_string(), |_| text.trim().to_owned())
    }

    /// Waits for the process to end by itself.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<ExitStatus> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().map_err(Error::io(self.what.clone()))? {
                return Ok(status);
            }
            if began.elapsed() > timeout {
                let what = format!("the end of {}", self.what);
                return Err(Error::Timeout {
                    what,
                    after: timeout,
                    last: "still running".to_owned(),
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes the server's input, which ends it, and waits; kills it after a grace period.
    pub(crate) fn end(&mut self) -> Result<ExitStatus> {
        drop(self.child.stdin.take());
        self.wait(END_GRACE).or_else(|_| {
            self.child
                .kill()
                .map_err(Error::io(format!("kill {}", self.what)))?;
            self.child.wait().map_err(Error::io(self.what.clone()))
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
