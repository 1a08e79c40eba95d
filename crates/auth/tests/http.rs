//! Clients trust, identify themselves and go through proxies as their options say.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use sluice_auth::{BasicAuth, ClientOptions, Proxy, Roots, SecretData, Tls};
use sluice_testbed::git::{GitServer, GitServerOptions};
use sluice_testbed::tls::Certificates;
use sluice_testbed::tools;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn options(tls: &Tls, roots: Roots) -> ClientOptions {
    ClientOptions {
        authorities: tls.authorities.clone(),
        client: tls.client.clone(),
        roots,
        ..ClientOptions::default()
    }
}

async fn reach(options: &ClientOptions, url: &str) -> Result<u16, String> {
    // Another test of this process may have installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = options.build().unwrap();
    let answer = client
        .get(format!("{url}/app.git/info/refs?service=git-upload-pack"))
        .send()
        .await;
    answer
        .map(|answer| answer.status().as_u16())
        .map_err(|error| format!("{error:?}").to_lowercase())
}

#[tokio::test]
async fn servers_are_trusted_by_the_given_authorities_and_see_the_client_certificate() {
    let certificates = Certificates::new().unwrap();
    let start = |client_certificates| {
        let options = GitServerOptions {
            tls: Some(certificates.clone()),
            client_certificates,
            ..GitServerOptions::default()
        };
        tools::require_or_skip(GitServer::start_with(&options))
    };
    let (Some(open), Some(strict)) = (start(false), start(true)) else {
        return;
    };
    for server in [&open, &strict] {
        server.create_repository("app").unwrap();
    }
    let read = |data: &[(&str, &str)]| {
        SecretData::new("apps", "tls", data.iter().copied())
            .tls()
            .unwrap()
    };
    let authority = [("ca.crt", certificates.authority.as_str())];
    let pair = [
        ("tls.crt", certificates.client_certificate.as_str()),
        ("tls.key", certificates.client_key.as_str()),
    ];
    let stranger = Certificates::new().unwrap();
    for roots in [Roots::WithSystem, Roots::Only] {
        let trusting = options(&read(&authority), roots);
        assert_eq!(reach(&trusting, open.url()).await, Ok(200));
        assert!(reach(&trusting, strict.url()).await.is_err());
        let showing = options(&read(&[&authority[..], &pair].concat()), roots);
        assert_eq!(reach(&showing, strict.url()).await, Ok(200));
        let misled = options(&read(&[("ca.crt", &stranger.authority)]), roots);
        assert!(
            reach(&misled, open.url())
                .await
                .unwrap_err()
                .contains("certificate")
        );
    }
    assert!(
        reach(&ClientOptions::default(), open.url())
            .await
            .unwrap_err()
            .contains("certificate")
    );
}

#[tokio::test]
async fn a_proxy_gets_the_request_with_its_credentials() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.windows(4).any(|window| window == b"\r\n\r\n") {
            assert!(
                stream.read_buf(&mut request).await.unwrap() > 0,
                "the request ends early"
            );
        }
        stream
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .await
            .unwrap();
        String::from_utf8(request).unwrap()
    });
    let credentials = BasicAuth {
        username: "user".to_owned(),
        password: "pass".into(),
    };
    let options = ClientOptions {
        proxy: Some(Proxy {
            url,
            credentials: Some(credentials),
        }),
        ..ClientOptions::default()
    };
    assert_eq!(reach(&options, "http://git.example.test").await, Ok(204));
    let request = seen.await.unwrap().to_lowercase();
    assert!(
        request.starts_with("get http://git.example.test/app.git/info/refs"),
        "{request}"
    );
    assert!(
        request.contains("proxy-authorization: basic dxnlcjpwyxnz"),
        "{request}"
    );
}
