//! Serving the storage: static files over HTTP, GET and HEAD, whole or one range.

use std::io::SeekFrom;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use crate::storage::ArtifactPath;

/// How long running downloads may take after a shutdown was asked for.
const DRAIN: Duration = Duration::from_secs(5);

/// Answers requests for the files below `root`.
///
/// `GET /` answers 200 with an empty body: it is what the readiness probe asks. Only paths of artifacts are
/// served: no listings, no lock or temporary files, no links that leave the object's directory.
pub fn router(root: PathBuf) -> Router {
    Router::new().fallback(answer).with_state(Arc::new(root))
}

/// Serves until `shutdown` is done, then lets running downloads end within five seconds.
///
/// # Errors
/// The listener failed.
pub async fn serve(
    listener: tokio::net::TcpListener,
    root: PathBuf,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let (asked, mut was_asked) = tokio::sync::watch::channel(());
    let graceful = async move {
        shutdown.await;
        drop(asked);
    };
    let served = axum::serve(listener, router(root))
        .with_graceful_shutdown(graceful)
        .into_future();
    let cut_off = async move {
        // The sender only ever goes away: that is the sign.
        while was_asked.changed().await.is_ok() {}
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        result = served => result,
        () = cut_off => Ok(()),
    }
}

async fn answer(State(root): State<Arc<PathBuf>>, request: Request) -> Response<Body> {
    let method = request.method();
    if method != Method::GET && method != Method::HEAD {
        let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let path = request.uri().path();
    if path == "/" {
        return empty(StatusCode::OK);
    }
    let Some(path) = artifact_path(path) else {
        return empty(StatusCode::NOT_FOUND);
    };
    match serve_file(&root, &path, method == Method::HEAD, request.headers()).await {
        Ok(response) => response,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => empty(StatusCode::NOT_FOUND),
        Err(error) => {
            tracing::error!(%error, artifact = %path, "failed to serve artifact");
            empty(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Reads the request path as an artifact's, with percent escapes undone.
fn artifact_path(path: &str) -> Option<ArtifactPath> {
    let text = unescape(path.strip_prefix('/')?)?;
    let path = ArtifactPath::parse(&text).ok()?;
    let served = !path.file_name().starts_with('.') && !path.file_name().ends_with(".lock");
    served.then_some(path)
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let digits = rest.get(..2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

async fn serve_file(
    root: &Path,
    path: &ArtifactPath,
    head: bool,
    request: &HeaderMap,
) -> std::io::Result<Response<Body>> {
    let directory = tokio::fs::canonicalize(root.join(path.directory())).await?;
    // An alias such as latest.tar.gz is a link to a neighbour; nothing else may be reached by one.
    let local = tokio::fs::canonicalize(directory.join(path.file_name())).await?;
    if local.parent() != Some(directory.as_path()) {
        return Ok(empty(StatusCode::NOT_FOUND));
    }
    let mut file = File::open(&local).await?;
    let metadata = file.metadata().await?;
    if !metadata.is_file() {
        return Ok(empty(StatusCode::NOT_FOUND));
    }
    let size = metadata.len();
    let mut response = empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(content_type(path.file_name())),
    );
    let modified = metadata.modified().ok().map(http_date);
    if let Some(modified) = modified
        .as_deref()
        .and_then(|text| HeaderValue::from_str(text).ok())
    {
        headers.insert(header::LAST_MODIFIED, modified);
    }
    let unchanged = modified.is_some()
        && request.get(header::IF_MODIFIED_SINCE).map(HeaderValue::as_bytes)
            == modified.as_deref().map(str::as_bytes);
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let (start, length) = match requested_range(request.get(header::RANGE), size) {
        RequestedRange::Whole => (0, size),
        RequestedRange::Part { start, end } => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            set(
                &mut response,
                header::CONTENT_RANGE,
                &format!("bytes {start}-{end}/{size}"),
            );
            (start, end - start + 1)
        }
        RequestedRange::Unsatisfiable => {
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            set(&mut response, header::CONTENT_RANGE, &format!("bytes */{size}"));
            return Ok(response);
        }
    };
    set(&mut response, header::CONTENT_LENGTH, &length.to_string());
    if !head {
        file.seek(SeekFrom::Start(start)).await?;
        *response.body_mut() = Body::from_stream(ReaderStream::with_capacity(file.take(length), 64 * 1024));
    }
    Ok(response)
}

fn set(response: &mut Response<Body>, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

fn content_type(file: &str) -> &'static str {
    if file.ends_with(".gz") || file.ends_with(".tgz") {
        "application/x-gzip"
    } else if file.ends_with(".yaml") {
        "text/plain; charset=utf-8"
    } else {
        "application/octet-stream"
    }
}

#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    /// Both ends are inclusive.
    Part {
        start: u64,
        end: u64,
    },
    Unsatisfiable,
}

/// Reads a `Range` header; one that asks for several ranges, or is malformed, is answered with the whole.
fn requested_range(header: Option<&HeaderValue>, size: u64) -> RequestedRange {
    let text = header
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.strip_prefix("bytes="));
    let Some((start, end)) = text
        .filter(|text| !text.contains(','))
        .and_then(|text| text.split_once('-'))
    else {
        return RequestedRange::Whole;
    };
    let number = |text: &str| text.trim().parse::<u64>();
    let (start, end) = match (number(start), number(end)) {
        (Ok(start), Ok(end)) if start <= end => (start, end.min(size.saturating_sub(1))),
        (Ok(start), Err(_)) if end.trim().is_empty() => (start, size.saturating_sub(1)),
        (Err(_), Ok(0)) if start.trim().is_empty() => return RequestedRange::Unsatisfiable,
        (Err(_), Ok(count)) if start.trim().is_empty() => {
            (size.saturating_sub(count), size.saturating_sub(1))
        }
        _ => return RequestedRange::Whole,
    };
    if start >= size {
        RequestedRange::Unsatisfiable
    } else {
        RequestedRange::Part { start, end }
    }
}

/// The time as HTTP writes it, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(time: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Civil date from a day count, with years that start in March so that leap days come last.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} GMT",
        DAYS[(days % 7) as usize],
        MONTHS[(month - 1) as usize],
        of_day / 3600,
        of_day % 3600 / 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_http_wants_them() {
        let at = |seconds| http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(at(1_709_210_096), "Thu, 29 Feb 2024 12:34:56 GMT");
        assert_eq!(at(4_102_444_800), "Fri, 01 Jan 2100 00:00:00 GMT");
    }

    #[test]
    fn ranges_are_read_within_the_file() {
        let read = |text: &str| requested_range(Some(&HeaderValue::from_str(text).unwrap()), 10);
        assert_eq!(requested_range(None, 10), RequestedRange::Whole);
        assert_eq!(read("bytes=2-4"), RequestedRange::Part { start: 2, end: 4 });
        assert_eq!(read("bytes=2-"), RequestedRange::Part { start: 2, end: 9 });
        assert_eq!(read("bytes=-3"), RequestedRange::Part { start: 7, end: 9 });
        assert_eq!(read("bytes=-30"), RequestedRange::Part { start: 0, end: 9 });
        assert_eq!(read("bytes=8-100"), RequestedRange::Part { start: 8, end: 9 });
        assert_eq!(read("bytes=10-"), RequestedRange::Unsatisfiable);
        assert_eq!(read("bytes=4-2"), RequestedRange::Whole);
        assert_eq!(read("bytes=0-1,3-4"), RequestedRange::Whole);
        assert_eq!(read("lines=0-1"), RequestedRange::Whole);
    }

    #[test]
    fn only_artifacts_are_served() {
        assert!(artifact_path("/gitrepository/flux-system/app/abc.tar.gz").is_some());
        assert!(artifact_path("/ocirepository/a/b/sha256%3Aabc.tar.gz").is_some());
        for path in [
            "/gitrepository/flux-system/app",
            "/gitrepository/flux-system/app/abc.tar.gz.lock",
            "/gitrepository/flux-system/app/.abc.tar.gz.tmp",
            "/gitrepository/flux-system/../abc.tar.gz",
            "/gitrepository/flux-system/%2e%2e/abc.tar.gz",
            "/gitrepository/flux-system/app/a%2Fb",
            "/gitrepository/flux-system/app/%zz",
        ] {
            assert!(artifact_path(path).is_none(), "{path}");
        }
    }
}
