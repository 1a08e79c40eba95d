//! Signature Version 4: how requests to AWS show who sends them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::hmac::{HMAC_SHA256, Key, Tag, sign as authenticate};
use url::Url;

use super::AwsCredentials;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The last part of every scope.
const TERMINATOR: &str = "aws4_request";

/// For which service, where and when a signature is good.
#[derive(Debug, Clone)]
pub struct Scope<'a> {
    /// The region.
    pub region: &'a str,
    /// The service's name in signatures, such as `ecr`.
    pub service: &'a str,
    /// The time of signing.
    pub time: Timestamp,
}

/// What a signature says about a request's body.
#[derive(Debug, Clone, Copy)]
pub enum Payload<'a> {
    /// It is this one.
    Body(&'a [u8]),
    /// Nothing; services take that over TLS only.
    Unsigned,
}

/// A request to sign.
#[derive(Debug, Clone)]
pub struct SigningRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The address, whose path and query are signed as they stand.
    pub url: &'a Url,
    /// Headers that are signed beside the host and those of the signature.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub payload: Payload<'a>,
}

/// The headers that a signed request must carry beside those that it had, names in lower case. Their values
/// are not for people.
pub type SignedHeaders = Vec<(&'static str, zeroize::Zeroizing<String>)>;

/// Signs a request with the headers `Authorization`, `X-Amz-Date` and, for keys that end,
/// `X-Amz-Security-Token`.
pub fn sign(credentials: &AwsCredentials, scope: &Scope<'_>, request: &SigningRequest<'_>) -> SignedHeaders {
    let time = format!("{}Z", basic_time(scope.time));
    let token = credentials.session_token.expose_text().unwrap_or_default();
    let host = host(request.url);
    let mut headers: Vec<(String, &str)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), *value))
        .collect();
    headers.push(("host".to_owned(), &host));
    headers.push(("x-amz-date".to_owned(), &time));
    if !token.is_empty() {
        headers.push(("x-amz-security-token".to_owned(), token));
    }
    headers.sort();
    let payload = match request.payload {
        Payload::Body(body) => digest(body),
        Payload::Unsigned => "UNSIGNED-PAYLOAD".to_owned(),
    };
    let canonical = canonical_request(request.method, request.url, &headers, &payload);
    let signature = signature(credentials, scope, &time, &canonical);
    let authorization = format!(
        "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={signature}",
        credentials.access_key_id,
        scope_text(scope),
        names(&headers),
    );
    let mut signed: SignedHeaders = vec![("authorization", authorization.into())];
    if !token.is_empty() {
        signed.push(("x-amz-security-token", token.to_owned().into()));
    }
    signed.push(("x-amz-date", time.into()));
    signed
}

/// The signature of CodeCommit's own scheme: the method is `GIT`, the host is the only header, there is no line
/// for the body, and the time stands without its zone.
pub(super) fn sign_git(credentials: &AwsCredentials, scope: &Scope<'_>, url: &Url) -> String {
    let host = host(url);
    let canonical = canonical_request("GIT", url, &[("host".to_owned(), &host)], "");
    signature(credentials, scope, &basic_time(scope.time), &canonical)
}

/// A time as `yyyyMMddTHHmmss`, in UTC.
pub(super) fn basic_time(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%S").to_string()
}

fn scope_text(scope: &Scope<'_>) -> String {
    let date = &basic_time(scope.time)[..8];
    format!("{date}/{}/{}/{TERMINATOR}", scope.region, scope.service)
}

fn canonical_request(method: &str, url: &Url, headers: &[(String, &str)], payload: &str) -> String {
    let mut text = format!(
        "{method}\n{}\n{}\n",
        escape_path(url.path()),
        canonical_query(url)
    );
    for (name, value) in headers {
        let value: Vec<&str> = value.split_ascii_whitespace().collect();
        text.push_str(&format!("{name}:{}\n", value.join(" ")));
    }
    text.push_str(&format!("\n{}\n{payload}", names(headers)));
    text
}

fn names(headers: &[(String, &str)]) -> String {
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    names.join(";")
}

fn signature(credentials: &AwsCredentials, scope: &Scope<'_>, time: &str, canonical: &str) -> String {
    let to_sign = format!(
        "{ALGORITHM}\n{time}\n{}\n{}",
        scope_text(scope),
        digest(canonical.as_bytes())
    );
    let secret = credentials.secret_access_key.expose();
    let secret = zeroize::Zeroizing::new([b"AWS4", secret].concat());
    let mut key = step(&secret, &basic_time(scope.time)[..8]);
    for part in [scope.region, scope.service, TERMINATOR, &to_sign] {
        key = step(key.as_ref(), part);
    }
    hex::encode(key)
}

fn step(key: &[u8], text: &str) -> Tag {
    authenticate(&Key::new(HMAC_SHA256, key), text.as_bytes())
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(ring::digest::digest(&ring::digest::SHA256, bytes))
}

/// The host as the header has it: with the port unless it is the scheme's own.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// A path that is escaped already is escaped once more, as all services but S3 want it.
fn escape_path(path: &str) -> String {
    if path.is_empty() {
        return "/".to_owned();
    }
    escape(path.as_bytes(), true)
}

fn canonical_query(url: &Url) -> String {
    let mut pairs: Vec<(String, String)> = url
        .query_pairs()
        .map(|(name, value)| (escape(name.as_bytes(), false), escape(value.as_bytes(), false)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

fn escape(bytes: &[u8], keep_slashes: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || (keep_slashes && *byte == b'/');
        if plain {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
