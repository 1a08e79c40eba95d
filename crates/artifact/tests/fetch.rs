//! Fetching from the real server: checked by digest, once for all, tried again when it may help.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::future::IntoFuture;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use sluice_artifact::archive::ArchiveLimits;
use sluice_artifact::{Algorithm, Digest, FetchError, Fetcher, FetcherOptions, server, write_gzip};
use sluice_vfs::{FileSystem, VirtualPath};

const ARTIFACT: &str = "gitrepository/default/app/1.tar.gz";

/// Counts requests and answers the first ones with a given status.
#[derive(Default)]
struct Faults {
    requests: AtomicUsize,
    failing: AtomicUsize,
    status: u16,
}

async fn inject(State(faults): State<Arc<Faults>>, request: Request, next: Next) -> Response {
    faults.requests.fetch_add(1, Ordering::SeqCst);
    let failing = faults
        .failing
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
        .is_ok();
    if failing {
        return StatusCode::from_u16(faults.status).unwrap().into_response();
    }
    next.run(request).await
}

async fn start(root: &Path, faults: Arc<Faults>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = server::router(root.to_owned()).layer(from_fn_with_state(faults, inject));
    tokio::spawn(axum::serve(listener, router).into_future());
    format!("http://{address}")
}

fn artifact(text: &str) -> Vec<u8> {
    write_gzip(Vec::new(), |tar| {
        tar.directory(VirtualPath::root())?;
        tar.file("a.yaml", false, text.len() as u64, &mut text.as_bytes())
    })
    .map_err(|error: std::io::Error| error)
    .unwrap()
}

fn store(root: &Path, bytes: &[u8]) -> String {
    let file = root.join(ARTIFACT);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
    Digest::of(Algorithm::Sha256, bytes).to_string()
}

fn options() -> FetcherOptions {
    FetcherOptions {
        retries: 2,
        shortest_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(2),
        ..FetcherOptions::default()
    }
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap()
}

#[tokio::test]
async fn many_consumers_share_one_download() {
    let root = tempfile::tempdir().unwrap();
    let digest = store(root.path(), &artifact("kind: A"));
    let faults = Arc::new(Faults::default());
    let url = format!("{}/{ARTIFACT}", start(root.path(), faults.clone()).await);
    let fetcher = Arc::new(Fetcher::new(client(), options()));
    let fetches = (0..20).map(|_| {
        let (fetcher, url, digest) = (fetcher.clone(), url.clone(), digest.clone());
        tokio::spawn(async move { fetcher.fetch(&url, &digest).await.unwrap() })
    });
    let archives = futures::future::join_all(fetches.collect::<Vec<_>>()).await;
    for archive in archives {
        let contents = archive
            .unwrap()
            .read(&VirtualPath::parse("a.yaml").unwrap())
            .unwrap();
        assert_eq!(contents, "kind: A");
    }
    assert_eq!(faults.requests.load(Ordering::SeqCst), 1);
    assert!(fetcher.cached_bytes() > 0);
}

#[tokio::test]
async fn the_cache_is_bounded_and_what_is_in_use_is_still_shared() {
    let root = tempfile::tempdir().unwrap();
    let digest = store(root.path(), &artifact("kind: A"));
    let faults = Arc::new(Faults::default());
    let url = format!("{}/{ARTIFACT}", start(root.path(), faults.clone()).await);
    let fetcher = Fetcher::new(
        client(),
        FetcherOptions {
            cache_bytes: 0,
            ..options()
        },
    );
    let held = fetcher.fetch(&url, &digest).await.unwrap();
    assert_eq!(fetcher.cached_bytes(), 0);
    let again = fetcher.fetch(&url, &digest).await.unwrap();
    assert!(Arc::ptr_eq(&held, &again));
    drop((held, again));
    fetcher.fetch(&url, &digest).await.unwrap();
    assert_eq!(faults.requests.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn server_errors_are_tried_again_and_refusals_are_not() {
    let root = tempfile::tempdir().unwrap();
    let digest = store(root.path(), &artifact("kind: A"));
    let cases = [
        (503, 2, true, 3),
        (503, 9, false, 3),
        (429, 1, true, 2),
        (403, 1, false, 1),
        (404, 1, false, 1),
    ];
    for (status, failing, succeeds, requests) in cases {
        let faults = Arc::new(Faults {
            failing: failing.into(),
            status,
            ..Faults::default()
        });
        let url = format!("{}/{ARTIFACT}", start(root.path(), faults.clone()).await);
        let fetched = Fetcher::new(client(), options()).fetch(&url, &digest).await;
        assert_eq!(fetched.is_ok(), succeeds, "{status}: {fetched:?}");
        assert_eq!(faults.requests.load(Ordering::SeqCst), requests, "{status}");
        match (status, fetched) {
            (404, Err(error)) => assert_eq!(error.to_string(), "file not found"),
            (403, Err(error)) => assert!(error.to_string().ends_with("(status: 403 Forbidden)"), "{error}"),
            (503, Err(error)) => {
                assert!(
                    error.to_string().contains("giving up after 3 attempt(s)"),
                    "{error}"
                );
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn bytes_that_do_not_match_their_digest_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let digest = store(root.path(), &artifact("kind: A"));
    store(root.path(), &artifact("kind: B"));
    let url = format!("{}/{ARTIFACT}", start(root.path(), Arc::default()).await);
    let fetcher = Fetcher::new(client(), options());
    let error = fetcher.fetch(&url, &digest).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("failed to verify archive: computed digest doesn't match provided '{digest}'")
    );
    assert!(matches!(
        fetcher.fetch(&url, "").await,
        Err(FetchError::Digest(_))
    ));
    // The source caught up: the same fetcher gets the right bytes now.
    store(root.path(), &artifact("kind: A"));
    fetcher.fetch(&url, &digest).await.unwrap();
}

#[tokio::test]
async fn limits_on_the_download_and_on_the_archive_hold() {
    let root = tempfile::tempdir().unwrap();
    let bytes = artifact(&"kind: A\n".repeat(10_000));
    let digest = store(root.path(), &bytes);
    let url = format!("{}/{ARTIFACT}", start(root.path(), Arc::default()).await);
    let small = FetcherOptions {
        download_limit: 100,
        ..options()
    };
    let error = Fetcher::new(client(), small)
        .fetch(&url, &digest)
        .await
        .unwrap_err();
    assert!(matches!(error, FetchError::TooLarge(100)), "{error}");
    let limits = ArchiveLimits {
        bytes: 10_000,
        ..ArchiveLimits::default()
    };
    let error = Fetcher::new(client(), FetcherOptions { limits, ..options() })
        .fetch(&url, &digest)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to extract archive: archive is bigger than max archive size of 10000 bytes"
    );
}

#[tokio::test]
async fn the_host_can_be_replaced() {
    let root = tempfile::tempdir().unwrap();
    let digest = store(root.path(), &artifact("kind: A"));
    let base = start(root.path(), Arc::default()).await;
    let host = base.strip_prefix("http://").map(str::to_owned);
    let fetcher = Fetcher::new(client(), FetcherOptions { host, ..options() });
    fetcher
        .fetch(
            &format!("http://source-controller.flux-system.svc/{ARTIFACT}"),
            &digest,
        )
        .await
        .unwrap();
}

#[tokio::test]
async fn the_server_answers_probes_heads_ranges_and_refuses_the_rest() {
    let root = tempfile::tempdir().unwrap();
    let bytes = artifact("kind: A");
    store(root.path(), &bytes);
    std::fs::write(root.path().join("gitrepository/default/app/1.tar.gz.lock"), "").unwrap();
    std::os::unix::fs::symlink(
        "/etc/passwd",
        root.path().join("gitrepository/default/app/evil.tar.gz"),
    )
    .unwrap();
    std::os::unix::fs::symlink(
        "1.tar.gz",
        root.path().join("gitrepository/default/app/latest.tar.gz"),
    )
    .unwrap();
    let base = start(root.path(), Arc::default()).await;
    let client = client();
    let get = |path: &str| client.get(format!("{base}/{path}")).send();
    assert_eq!(get("").await.unwrap().status(), 200);
    let whole = get(ARTIFACT).await.unwrap();
    assert_eq!(whole.headers()["content-type"], "application/x-gzip");
    let modified = whole.headers()["last-modified"].clone();
    assert_eq!(whole.bytes().await.unwrap(), bytes);
    let head = client.head(format!("{base}/{ARTIFACT}")).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], bytes.len().to_string().as_str());
    let part = client
        .get(format!("{base}/{ARTIFACT}"))
        .header("Range", "bytes=4-7")
        .send()
        .await
        .unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.bytes().await.unwrap(), bytes[4..8]);
    let unchanged = client
        .get(format!("{base}/{ARTIFACT}"))
        .header("If-Modified-Since", modified)
        .send()
        .await
        .unwrap();
    assert_eq!(unchanged.status(), 304);
    assert_eq!(
        get("gitrepository/default/app/latest.tar.gz")
            .await
            .unwrap()
            .status(),
        200
    );
    for path in [
        "gitrepository/default/app/evil.tar.gz",
        "gitrepository/default/app/1.tar.gz.lock",
        "gitrepository/default/app",
        "gitrepository/default/app/none.tar.gz",
        "gitrepository",
    ] {
        assert_eq!(get(path).await.unwrap().status(), 404, "{path}");
    }
    assert_eq!(
        client
            .post(format!("{base}/{ARTIFACT}"))
            .send()
            .await
            .unwrap()
            .status(),
        405
    );
}
