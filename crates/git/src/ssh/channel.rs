//! The channel of a session as something to read from and write to, for code that blocks.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::pin::pin;
use std::rc::Rc;

use bytes::Bytes;
use russh::client::{Handle, Msg};
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};

use super::session::{Judge, Trust, authenticate, connect};
use super::{Access, Endpoint};
use crate::transport::Failure;
use crate::waiter::Waiter;
use crate::{Budget, Error, ErrorKind};

/// What is sent at once, in bytes.
const CHUNK_BYTES: usize = 32 * 1024;

/// What may arrive unread while something is sent, in bytes; beyond it the server has to wait.
const MAX_QUEUED_BYTES: usize = 4 << 20;

/// How much of the server's error output is kept.
const MAX_ERROR_BYTES: usize = 8 * 1024;

/// What hosts write to say that there is no such repository.
const NOT_FOUND: [&str; 7] = [
    "Repository not found.",
    "repository does not exist.",
    "does not appear to be a git repository",
    "no such repository",
    "access denied",
    "Repository does not exist or you do not have access",
    "The project you were looking for could not be found",
];

/// A command that runs on the server.
pub(crate) struct Link {
    state: RefCell<State>,
    failure: Failure,
    endpoint: Endpoint,
    // Last: the session lives on it.
    waiter: Waiter,
}

struct State {
    reader: ChannelReadHalf,
    writer: ChannelWriteHalf<Msg>,
    incoming: Incoming,
    /// Ends the session when dropped.
    _session: Handle<Judge>,
}

/// What has arrived.
#[derive(Debug)]
struct Incoming {
    queue: VecDeque<Bytes>,
    queued: usize,
    errors: Vec<u8>,
    received: u64,
    limit: u64,
    has_ended: bool,
    is_closed: bool,
    is_orderly: bool,
    is_refused: bool,
}

impl Link {
    /// Connects, logs in, and starts `command` with one variable in its environment, which servers may ignore.
    pub(crate) fn open(
        access: &Access,
        endpoint: Endpoint,
        command: &str,
        variable: Option<(&str, &str)>,
        budget: &Budget,
        failure: Failure,
    ) -> Result<Self, Error> {
        let waiter = Waiter::new(budget.clone())?;
        let known = Some((&access.known_hosts, endpoint.host.as_str(), endpoint.port));
        let preferred = access.algorithms.preferred(known)?;
        let starting = async {
            let trust = Trust::Known(access.known_hosts.clone());
            let mut session = connect(&endpoint, trust, preferred).await.outcome?;
            authenticate(&mut session, access).await?;
            let (reader, writer) = start(&session, command, variable)
                .await
                .map_err(|error| Error::new(ErrorKind::Network, format!("ssh: {error}")))?;
            Ok::<_, Error>(State {
                reader,
                writer,
                incoming: Incoming::new(budget.transfer_bytes()),
                _session: session,
            })
        };
        let state = waiter.wait(starting)??;
        Ok(Self {
            state: RefCell::new(state),
            failure,
            endpoint,
            waiter,
        })
    }

    /// The next bytes of the command's output; none at its end.
    fn receive(&self) -> io::Result<Bytes> {
        let mut state = self.state.borrow_mut();
        let State { reader, incoming, .. } = &mut *state;
        loop {
            if let Some(chunk) = incoming.next() {
                return Ok(chunk);
            }
            if incoming.is_over() {
                return self.end(incoming);
            }
            let message = self
                .waiter
                .wait(reader.wait())
                .and_then(|message| incoming.take(message));
            message.map_err(|error| self.record(error))?;
        }
    }

    /// What to make of the end of the output.
    fn end(&self, incoming: &Incoming) -> io::Result<Bytes> {
        if incoming.received == 0 {
            return Err(self.record(incoming.explanation(&self.endpoint)));
        }
        if !incoming.is_orderly {
            // The protocol may be satisfied with what has come; if not, this is why.
            self.record(lost(&self.endpoint));
        }
        Ok(Bytes::new())
    }

    /// Sends bytes, taking in what arrives meanwhile: a server that is not listened to may not listen either.
    fn send(&self, chunk: Bytes) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        let State {
            reader,
            writer,
            incoming,
            ..
        } = &mut *state;
        let sending = async {
            let mut sending = pin!(writer.data_bytes(chunk));
            loop {
                tokio::select! {
                    biased;
                    sent = &mut sending => return Ok(sent.is_ok()),
                    message = reader.wait(), if incoming.has_room() => incoming.take(message)?,
                }
                if incoming.is_closed {
                    return Ok(false);
                }
            }
        };
        let sent = self.waiter.wait(sending).and_then(|sent| sent);
        match sent {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.record(incoming.explanation(&self.endpoint))),
            Err(error) => Err(self.record(error)),
        }
    }

    fn record(&self, error: Error) -> io::Error {
        let text = error.to_string();
        self.failure.borrow_mut().get_or_insert(error);
        io::Error::other(text)
    }
}

async fn start(
    session: &Handle<Judge>,
    command: &str,
    variable: Option<(&str, &str)>,
) -> Result<(ChannelReadHalf, ChannelWriteHalf<Msg>), russh::Error> {
    let channel = session.channel_open_session().await?;
    if let Some((name, value)) = variable {
        channel.set_env(false, name, value).await?;
    }
    channel.exec(true, command).await?;
    Ok(channel.split())
}

fn lost(endpoint: &Endpoint) -> Error {
    Error::new(
        ErrorKind::Network,
        format!("ssh: the connection to {endpoint} was lost"),
    )
}

impl Incoming {
    fn new(limit: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            queued: 0,
            errors: Vec::new(),
            received: 0,
            limit,
            has_ended: false,
            is_closed: false,
            is_orderly: false,
            is_refused: false,
        }
    }

    fn has_room(&self) -> bool {
        self.queued < MAX_QUEUED_BYTES && !self.is_closed
    }

    fn next(&mut self) -> Option<Bytes> {
        let chunk = self.queue.pop_front()?;
        self.queued = self.queued.saturating_sub(chunk.len());
        Some(chunk)
    }

    /// Whether no more output can come. A command without any output may still say why.
    fn is_over(&self) -> bool {
        self.is_closed || (self.has_ended && self.received > 0)
    }

    fn take(&mut self, message: Option<ChannelMsg>) -> Result<(), Error> {
        match message {
            None => self.is_closed = true,
            Some(ChannelMsg::Data { data }) => {
                self.count(&data)?;
                self.queued += data.len();
                // An empty chunk would read as the end.
                self.queue.extend((!data.is_empty()).then_some(data));
            }
            Some(ChannelMsg::ExtendedData { data, .. }) => {
                let room = MAX_ERROR_BYTES.saturating_sub(self.errors.len());
                self.errors.extend_from_slice(data.get(..room).unwrap_or(&data));
            }
            Some(ChannelMsg::Eof) => {
                self.has_ended = true;
                self.is_orderly = true;
            }
            Some(ChannelMsg::Close) => {
                self.is_closed = true;
                self.is_orderly = true;
            }
            Some(ChannelMsg::Failure) => {
                self.is_refused = true;
                self.is_closed = true;
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn count(&mut self, data: &Bytes) -> Result<(), Error> {
        self.received = self.received.saturating_add(data.len() as u64);
        if self.received <= self.limit {
            return Ok(());
        }
        let text = format!("the remote sent more than the limit of {} bytes", self.limit);
        Err(Error::new(ErrorKind::Limit, text))
    }

    /// Why the command ended before its time, from what it wrote.
    fn explanation(&self, endpoint: &Endpoint) -> Error {
        let text = String::from_utf8_lossy(&self.errors);
        let line = text.lines().map(str::trim).find(|line| {
            !line
                .trim_start_matches("remote:")
                .trim_matches([' ', '='])
                .is_empty()
        });
        match line {
            Some(line) if NOT_FOUND.iter().any(|sign| line.contains(sign)) => {
                Error::new(ErrorKind::NotFound, format!("repository not found: {line}"))
            }
            Some(line) => Error::protocol(format!("unknown error: {line}")),
            None if self.is_refused => Error::protocol(format!("ssh: {endpoint} refused to run the command")),
            None if !self.is_orderly => lost(endpoint),
            None => Error::protocol("unexpected EOF"),
        }
    }
}

/// Reads what a command writes.
pub(crate) struct LinkReader {
    link: Rc<Link>,
    chunk: Bytes,
}

impl LinkReader {
    pub(crate) fn new(link: &Rc<Link>) -> Self {
        Self {
            link: Rc::clone(link),
            chunk: Bytes::new(),
        }
    }
}

impl Read for LinkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() {
            self.chunk = self.link.receive()?;
        }
        let amount = self.chunk.len().min(buffer.len());
        let taken = self.chunk.split_to(amount);
        buffer[..amount].copy_from_slice(&taken);
        Ok(amount)
    }
}

/// Writes what a command reads.
pub(crate) struct LinkWriter(Rc<Link>);

impl LinkWriter {
    pub(crate) fn new(link: &Rc<Link>) -> Self {
        Self(Rc::clone(link))
    }
}

impl Write for LinkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let amount = bytes.len().min(CHUNK_BYTES);
        if amount > 0 {
            self.0.send(Bytes::copy_from_slice(&bytes[..amount]))?;
        }
        Ok(amount)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
