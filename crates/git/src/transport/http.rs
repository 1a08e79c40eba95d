//! Smart HTTP: requests and streamed answers under a budget.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::Future;
use std::io::{self, BufRead, Read, Write};
use std::rc::Rc;

use bytes::Bytes;
use gix::protocol::transport::client::blocking_io::http::{
    GetResponse, Http, PostBodyDataKind, PostResponse,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use reqwest::{Client, Response};
use url::Url;

use super::{Failure, client, describe, redirect};
use crate::waiter::Waiter;
use crate::{Budget, Error, ErrorKind, Remote};

/// How much of an error page is quoted.
const MAX_REASON_BYTES: usize = 512;

/// The largest request that is sent, which a push must fit in.
const MAX_UPLOAD_BYTES: usize = 256 << 20;

/// The backend of gix's HTTP transport.
pub(super) struct HttpClient {
    session: Rc<Session>,
}

/// What all requests of one connection share.
struct Session {
    remote: Remote,
    waiter: Waiter,
    client: Client,
    /// Shows no client certificate; built when a redirect first leaves the origin.
    stranger: OnceCell<Client>,
    authorization: Option<HeaderValue>,
    received: Cell<u64>,
    redirected: RefCell<Option<String>>,
    failure: Failure,
}

/// One request and its answer.
struct Exchange {
    session: Rc<Session>,
    state: RefCell<State>,
}

enum State {
    Uploading {
        url: String,
        headers: HeaderMap,
        body: Vec<u8>,
    },
    Answered(Box<Response>),
    Failed,
}

/// The headers of an answer as text lines; reading them sends the request if it was not sent yet.
pub(super) struct Headers {
    exchange: Rc<Exchange>,
    text: Option<io::Cursor<Vec<u8>>>,
}

/// The body of an answer.
pub(super) struct Body {
    exchange: Rc<Exchange>,
    chunk: Bytes,
}

/// The body of a request, collected in memory.
pub(super) struct Upload {
    exchange: Rc<Exchange>,
}

impl HttpClient {
    pub(super) fn new(remote: &Remote, budget: Budget, failure: Failure) -> Result<Self, Error> {
        let session = Session {
            client: client::build(remote, true)?,
            stranger: OnceCell::new(),
            authorization: client::authorization(&remote.authentication)?,
            remote: remote.clone(),
            waiter: Waiter::new(budget)?,
            received: Cell::new(0),
            redirected: RefCell::default(),
            failure,
        };
        Ok(Self {
            session: Rc::new(session),
        })
    }
}

impl Session {
    fn wait<F: Future>(&self, future: F) -> Result<F::Output, Error> {
        self.waiter.wait(future)
    }

    /// Sends a request, following redirects, until an answer with a good status is there.
    fn exchange(
        &self,
        method: &Method,
        url: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, Error> {
        let mut target = Url::parse(url)
            .map_err(|error| Error::new(ErrorKind::Invalid, format!("cannot parse url: {error}")))?;
        for _ in 0..=redirect::MAX_REDIRECTS {
            let response = self.send(method, &target, headers, body)?;
            if !response.status().is_redirection() {
                return self.check_status(response);
            }
            let repeats = matches!(
                response.status(),
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
            );
            let location = response
                .headers()
                .get(header::LOCATION)
                .and_then(|value| value.to_str().ok());
            match location {
                Some(location) if *method == Method::GET || repeats => {
                    target = redirect::follow(&target, location)?;
                }
                _ => return self.check_status(response),
            }
        }
        Err(Error::protocol(format!(
            "stopped after {} redirects",
            redirect::MAX_REDIRECTS
        )))
    }

    fn send(
        &self,
        method: &Method,
        target: &Url,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, Error> {
        let trusted = redirect::may_carry_credentials(self.remote.url.url(), target);
        let client = if trusted { &self.client } else { self.stranger()? };
        let mut request = client
            .request(method.clone(), target.clone())
            .headers(headers.clone());
        if let Some(authorization) = self.authorization.as_ref().filter(|_| trusted) {
            request = request.header(header::AUTHORIZATION, authorization.clone());
        }
        if *method == Method::POST {
            request = request.body(body.clone());
        }
        self.wait(request.send())?
            .map_err(|error| network_error(error, target))
    }

    fn stranger(&self) -> Result<&Client, Error> {
        if let Some(client) = self.stranger.get() {
            return Ok(client);
        }
        let client = client::build(&self.remote, false)?;
        Ok(self.stranger.get_or_init(|| client))
    }

    fn check_status(&self, mut response: Response) -> Result<Response, Error> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let reason = self.reason(&mut response)?;
        // Flux's messages have the colon even where no reason follows.
        let (kind, text) = match status {
            StatusCode::UNAUTHORIZED => (ErrorKind::Authentication, "authentication required".to_owned()),
            StatusCode::FORBIDDEN => (ErrorKind::Authentication, "authorization failed".to_owned()),
            StatusCode::NOT_FOUND => (ErrorKind::NotFound, "repository not found".to_owned()),
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => (
                ErrorKind::Authentication,
                "proxy authentication required".to_owned(),
            ),
            _ => (
                ErrorKind::Protocol,
                format!("unexpected status code: {}", status.as_u16()),
            ),
        };
        Err(Error::new(kind, format!("{text}: {reason}")))
    }

    /// The beginning of an error page, in one line.
    fn reason(&self, response: &mut Response) -> Result<String, Error> {
        let mut page = Vec::new();
        while page.len() < MAX_REASON_BYTES {
            match self.wait(response.chunk())? {
                Ok(Some(chunk)) => page.extend_from_slice(&chunk),
                Ok(None) | Err(_) => break,
            }
        }
        page.truncate(MAX_REASON_BYTES);
        let text = String::from_utf8_lossy(&page);
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn next_chunk(&self, response: &mut Response) -> Result<Bytes, Error> {
        let chunk = self
            .wait(response.chunk())?
            .map_err(|error| network_error(error, self.remote.url.url()))?
            .unwrap_or_default();
        let received = self.received.get().saturating_add(chunk.len() as u64);
        self.received.set(received);
        let limit = self.waiter.budget().transfer_bytes();
        if received > limit {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("the remote sent more than the limit of {limit} bytes"),
            ));
        }
        Ok(chunk)
    }

    fn record(&self, error: Error) -> io::Error {
        let text = error.to_string();
        self.failure.borrow_mut().get_or_insert(error);
        io::Error::other(text)
    }
}

fn network_error(error: reqwest::Error, target: &Url) -> Error {
    let error = error.without_url();
    let kind = if error.is_timeout() {
        ErrorKind::Timeout
    } else {
        ErrorKind::Network
    };
    let host = target.host_str().unwrap_or_default();
    Error::new(kind, format!("unable to talk to '{host}': {}", describe(&error)))
}

fn header_map(
    lines: impl IntoIterator<Item = impl AsRef<str>>,
    user_agent: &str,
) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let line = line.as_ref();
        let parsed = line.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value.trim()).ok()?))
        });
        if let Some((name, value)) = parsed {
            headers.append(name, value);
        }
    }
    let agent = HeaderValue::from_str(user_agent).map_err(|_| {
        Error::new(
            ErrorKind::Invalid,
            "the user agent holds characters that no HTTP header may hold",
        )
    })?;
    headers.insert(header::USER_AGENT, agent);
    Ok(headers)
}

impl Http for HttpClient {
    type Headers = Headers;
    type ResponseBody = Body;
    type PostBody = Upload;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> gix::Result<GetResponse<Headers, Body>> {
        let session = &self.session;
        let response = header_map(headers, &session.remote.user_agent)
            .and_then(|headers| session.exchange(&Method::GET, url, &headers, &Bytes::new()))
            .and_then(|response| {
                let answered = response.url().as_str();
                if answered != url {
                    let suffix = url.strip_prefix(base_url).unwrap_or_default();
                    let base = answered.strip_suffix(suffix).ok_or_else(|| {
                        Error::protocol(
                            "refused to follow a redirect: it leads to something else than a repository",
                        )
                    })?;
                    session
                        .redirected
                        .replace(Some(base.trim_end_matches('/').to_owned()));
                }
                Ok(response)
            })
            .map_err(|error| gix::Error::from_error(session.record(error)))?;
        let exchange = Rc::new(Exchange {
            session: Rc::clone(session),
            state: RefCell::new(State::Answered(Box::new(response))),
        });
        Ok(GetResponse {
            headers: Headers::of(&exchange),
            body: Body::of(&exchange),
        })
    }

    fn post(
        &mut self,
        url: &str,
        _base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        _body: PostBodyDataKind,
    ) -> gix::Result<PostResponse<Headers, Body, Upload>> {
        let headers = header_map(headers, &self.session.remote.user_agent)
            .map_err(|error| gix::Error::from_error(self.session.record(error)))?;
        let exchange = Rc::new(Exchange {
            session: Rc::clone(&self.session),
            state: RefCell::new(State::Uploading {
                url: url.to_owned(),
                headers,
                body: Vec::new(),
            }),
        });
        Ok(PostResponse {
            post_body: Upload {
                exchange: Rc::clone(&exchange),
            },
            headers: Headers::of(&exchange),
            body: Body::of(&exchange),
        })
    }

    fn configure(&mut self, _config: &dyn std::any::Any) -> gix::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.session.redirected.borrow().clone()
    }
}

impl Exchange {
    /// Sends the request, if that did not happen yet.
    fn answer(&self) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        match std::mem::replace(&mut *state, State::Failed) {
            State::Uploading { url, headers, body } => {
                let response = self
                    .session
                    .exchange(&Method::POST, &url, &headers, &body.into())
                    .map_err(|error| self.session.record(error))?;
                *state = State::Answered(Box::new(response));
                Ok(())
            }
            State::Answered(response) => {
                *state = State::Answered(response);
                Ok(())
            }
            State::Failed => Err(io::Error::other("the request failed")),
        }
    }

    fn next_chunk(&self) -> io::Result<Bytes> {
        self.answer()?;
        match &mut *self.state.borrow_mut() {
            State::Answered(response) => self
                .session
                .next_chunk(response)
                .map_err(|error| self.session.record(error)),
            _ => Err(io::Error::other("the request failed")),
        }
    }

    fn header_lines(&self) -> io::Result<Vec<u8>> {
        self.answer()?;
        let mut text = Vec::new();
        if let State::Answered(response) = &*self.state.borrow() {
            for (name, value) in response.headers() {
                text.extend_from_slice(name.as_str().as_bytes());
                text.extend_from_slice(b": ");
                text.extend(value.as_bytes().iter().filter(|byte| byte.is_ascii()));
                text.push(b'\n');
            }
        }
        Ok(text)
    }
}

impl Headers {
    fn of(exchange: &Rc<Exchange>) -> Self {
        Self {
            exchange: Rc::clone(exchange),
            text: None,
        }
    }

    fn text(&mut self) -> io::Result<&mut io::Cursor<Vec<u8>>> {
        let text = match self.text.take() {
            Some(text) => text,
            None => io::Cursor::new(self.exchange.header_lines()?),
        };
        Ok(self.text.insert(text))
    }
}

impl Read for Headers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.text()?.read(buffer)
    }
}

impl BufRead for Headers {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.text()?.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Some(text) = &mut self.text {
            text.consume(amount);
        }
    }
}

impl Body {
    fn of(exchange: &Rc<Exchange>) -> Self {
        Self {
            exchange: Rc::clone(exchange),
            chunk: Bytes::new(),
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let amount = available.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&available[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}

impl BufRead for Body {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.chunk.is_empty() {
            self.chunk = self.exchange.next_chunk()?;
        }
        Ok(&self.chunk)
    }

    fn consume(&mut self, amount: usize) {
        let amount = amount.min(self.chunk.len());
        let _ = self.chunk.split_to(amount);
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.exchange.state.borrow_mut() {
            State::Uploading { body, .. } if body.len() + bytes.len() <= MAX_UPLOAD_BYTES => {
                body.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            State::Uploading { .. } => {
                let text = format!("the push is larger than the limit of {MAX_UPLOAD_BYTES} bytes");
                Err(self.exchange.session.record(Error::new(ErrorKind::Limit, text)))
            }
            _ => Err(io::Error::other("the request was sent already")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
