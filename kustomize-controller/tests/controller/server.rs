//! A file server for artifacts, as small as can be.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

type Files = Arc<Mutex<HashMap<String, Vec<u8>>>>;

/// Serves bytes by path on the loopback address, in threads that end with the process.
pub(crate) struct FileServer {
    address: String,
    files: Files,
}

impl FileServer {
    /// The server of this test process.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<FileServer> = OnceLock::new();
        SHARED.get_or_init(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let files = Files::default();
            let served = Arc::clone(&files);
            std::thread::spawn(move || {
                for connection in listener.incoming().flatten() {
                    let files = Arc::clone(&served);
                    std::thread::spawn(move || answer(&connection, &files));
                }
            });
            Self { address, files }
        })
    }

    /// Serves these bytes at the path and gives the URL.
    pub(crate) fn put(&self, path: &str, bytes: Vec<u8>) -> String {
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.to_owned(), bytes);
        format!("http://{}{path}", self.address)
    }

    /// Answers 404 at the path from now on.
    pub(crate) fn remove(&self, path: &str) {
        self.files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(path);
    }
}

fn answer(connection: &TcpStream, files: &Files) {
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
    let found = files
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(path)
        .cloned();
    let (status, body) = found.map_or(("404 Not Found", Vec::new()), |body| ("200 OK", body));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut writer = connection;
    let _ = writer
        .write_all(head.as_bytes())
        .and_then(|()| writer.write_all(&body));
}
