//! A file server over plain HTTP, with answers that go wrong on demand.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{Error, Result};

/// What stands at a path.
#[derive(Debug, Clone)]
enum Answer {
    Bytes(Vec<u8>),
    Redirect(String),
    /// The connection stays open and nothing comes.
    Silence,
}

#[derive(Debug, Default)]
struct Record {
    answers: HashMap<String, Answer>,
    requests: Vec<String>,
}

/// A running file server on a free loopback port, in threads that end with the process.
#[derive(Debug)]
pub struct FileServer {
    url: String,
    record: Arc<Mutex<Record>>,
}

impl FileServer {
    /// Starts a server that has no files: every path answers 404.
    pub fn start() -> Result<Self> {
        let failed = Error::io("listen on the loopback address");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let address = listener
            .local_addr()
            .map_err(Error::io("listen on the loopback address"))?;
        let record = Arc::<Mutex<Record>>::default();
        let shared = Arc::clone(&record);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let record = Arc::clone(&shared);
                std::thread::spawn(move || answer(&connection, &record));
            }
        });
        Ok(Self {
            url: format!("http://{address}"),
            record,
        })
    }

    /// The address, such as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Serves these bytes at the path, such as `/a.yaml`, and gives the file's address.
    pub fn put(&self, path: &str, content: impl Into<Vec<u8>>) -> String {
        self.set(path, Answer::Bytes(content.into()))
    }

    /// Answers 302 with this target at the path, and gives the path's address.
    pub fn redirect(&self, path: &str, target: &str) -> String {
        self.set(path, Answer::Redirect(target.to_owned()))
    }

    /// Never answers at the path, whose address is given.
    pub fn silence(&self, path: &str) -> String {
        self.set(path, Answer::Silence)
    }

    /// The paths that were asked for, with their queries, in order.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.record).requests.clone()
    }

    fn set(&self, path: &str, answer: Answer) -> String {
        lock(&self.record).answers.insert(path.to_owned(), answer);
        format!("{}{path}", self.url)
    }
}

fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(connection: &TcpStream, record: &Mutex<Record>) {
    let mut reader = BufReader::new(connection);
    let mut request = String::new();
    if reader.read_line(&mut request).is_err() {
        return;
    }
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|length| length > 2) {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let found = {
        let mut record = lock(record);
        record.requests.push(path.to_owned());
        let plain = path.split('?').next().unwrap_or(path);
        record
            .answers
            .get(path)
            .or_else(|| record.answers.get(plain))
            .cloned()
    };
    let (head, body) = match found {
        None => ("404 Not Found".to_owned(), Vec::new()),
        Some(Answer::Bytes(body)) => ("200 OK".to_owned(), body),
        Some(Answer::Redirect(target)) => (format!("302 Found\r\nLocation: {target}"), Vec::new()),
        Some(Answer::Silence) => {
            // Ends when the client goes away.
            let _ = connection.set_read_timeout(Some(Duration::from_secs(60)));
            let _ = reader.read_line(&mut header);
            return;
        }
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let mut writer = connection;
    // The client may have gone.
    let _ = writer
        .write_all(head.as_bytes())
        .and_then(|()| writer.write_all(&body));
}
