//! The smallest HTTP client that serves the control addresses of the test bed's own servers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::{Error, Result};

/// Sends a request to `http://HOST:PORT/...` and returns status and body. HTTP/1.0, so that the server
/// neither chunks the answer nor keeps the connection.
pub(crate) fn request(method: &str, url: &str, body: &[u8], timeout: Duration) -> Result<(u16, Vec<u8>)> {
    let what = || format!("{method} {url}");
    let answer_error = |answer: String| Error::Answer { what: what(), answer };
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| answer_error("not an http address".to_owned()))?;
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(address).map_err(Error::io(what()))?;
    stream
        .set_read_timeout(Some(timeout))
        .map_err(Error::io(what()))?;
    let head = format!(
        "{method} /{path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).map_err(Error::io(what()))?;
    stream.write_all(body).map_err(Error::io(what()))?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(Error::io(what()))?;
    let split = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let head = String::from_utf8_lossy(&answer[..split.unwrap_or(answer.len())]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    match (split, status) {
        (Some(split), Some(status)) => Ok((status, answer.split_off(split + 4))),
        _ => Err(answer_error(head)),
    }
}
