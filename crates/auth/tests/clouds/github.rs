//! Tokens of GitHub Apps.

use jiff::Timestamp;
use ring::signature::RSA_PKCS1_2048_8192_SHA256;
use serde_json::json;
use sluice_auth::{GitHubAppClient, GitHubAppToken, InvolvedObject, SecretData, TokenCache, operations};
use sluice_testbed::ssh::KeyPair;
use sluice_testbed::tools;

use crate::support::{Recorder, verify};

fn involved(name: &str) -> InvolvedObject {
    InvolvedObject {
        kind: "GitRepository",
        name: name.to_owned(),
        namespace: "apps".to_owned(),
        operation: operations::RECONCILE,
    }
}

fn client(key: &str, server: &str, installation: (&str, &str), slug: bool) -> GitHubAppClient {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let base = format!("{server}/custom/path");
    let data = [
        ("githubAppID", "4711"),
        ("githubAppPrivateKey", key),
        installation,
        ("githubAppBaseURL", base.as_str()),
    ];
    let app = SecretData::new("apps", "app", data).github_app().unwrap();
    GitHubAppClient::new(&app, None, None, slug).unwrap()
}

async fn token(client: &GitHubAppClient) -> Result<GitHubAppToken, String> {
    let token = client.token(None, &involved("app")).await;
    token
        .map(|token| (*token).clone())
        .map_err(|error| error.to_string())
}

fn created() -> (u16, String) {
    let body = json!({"token": "ghs_hunter2", "expires_at": "2099-01-01T00:00:00Z"});
    (201, body.to_string())
}

#[tokio::test]
async fn the_app_signs_who_it_is_for_a_short_time_and_both_forms_of_keys_do() {
    // SRC-083
    for form in ["PEM", "PKCS8"] {
        let key = KeyPair::generate(&["-t", "rsa", "-b", "2048", "-m", form], "");
        let Some(key) = tools::require_or_skip(key) else {
            return;
        };
        let server = Recorder::http(|_| created()).await;
        let client = client(
            &key.private,
            &server.url(),
            ("githubAppInstallationID", "99"),
            false,
        );
        let before = Timestamp::now().as_second();
        let token = token(&client).await.unwrap();
        let after = Timestamp::now().as_second();
        assert_eq!(token.expires_at, "2099-01-01T00:00:00Z".parse().unwrap());
        let basic = token.basic_auth();
        assert_eq!(
            (basic.username.as_str(), basic.password.expose_text()),
            ("x-access-token", Some("ghs_hunter2"))
        );
        assert!(!format!("{token:?} {client:?}").contains("hunter2"));
        let asked = server.take();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(
            (asked[0].method.as_str(), asked[0].target.as_str()),
            ("POST", "/custom/path/app/installations/99/access_tokens"),
            "the address is used as it is"
        );
        assert!(asked[0].body.is_empty());
        let bearer = asked[0].header("authorization").strip_prefix("Bearer ").unwrap();
        let (header, claims) = verify(bearer, &key.private, &RSA_PKCS1_2048_8192_SHA256);
        assert_eq!(header["alg"], "RS256");
        assert_eq!(claims["iss"], "4711");
        let issued = claims["iat"].as_i64().unwrap();
        assert!((before - 30..=after - 30).contains(&issued), "{claims}");
        assert_eq!(claims["exp"].as_i64().unwrap(), issued + 120);
    }
}

#[tokio::test]
async fn an_owner_is_looked_for_among_organizations_and_then_among_users() {
    // SRC-083
    let key = KeyPair::generate(&["-t", "rsa", "-b", "2048", "-m", "PEM"], "");
    let Some(key) = tools::require_or_skip(key) else {
        return;
    };
    let server = Recorder::http(|asked| match asked.target.as_str() {
        "/custom/path/orgs/acme/installation" => (200, r#"{"id":5}"#.to_owned()),
        "/custom/path/users/jane%2Fdoe/installation" => (200, r#"{"id":6}"#.to_owned()),
        "/custom/path/app" => (200, r#"{"slug":"flux"}"#.to_owned()),
        target if target.ends_with("/access_tokens") => created(),
        _ => (404, r#"{"message":"Not Found"}"#.to_owned()),
    })
    .await;
    let ask = async |owner: &str, slug| {
        let installation = ("githubAppInstallationOwner", owner);
        token(&client(&key.private, &server.url(), installation, slug)).await
    };
    let targets = || -> Vec<String> {
        let asked = server.take();
        asked.into_iter().map(|asked| asked.target).collect()
    };
    assert_eq!(ask("acme", true).await.unwrap().slug.as_deref(), Some("flux"));
    assert_eq!(
        targets(),
        [
            "/custom/path/app",
            "/custom/path/orgs/acme/installation",
            "/custom/path/app/installations/5/access_tokens"
        ]
    );
    assert_eq!(ask("jane/doe", false).await.unwrap().slug, None);
    assert_eq!(
        targets(),
        [
            "/custom/path/orgs/jane%2Fdoe/installation",
            "/custom/path/users/jane%2Fdoe/installation",
            "/custom/path/app/installations/6/access_tokens"
        ]
    );
    let message = ask("nobody", false).await.unwrap_err();
    let url = server.url();
    assert_eq!(
        message,
        format!(
            "failed to find organization installation: GET {url}/custom/path/orgs/nobody/installation: 404 Not Found: Not Found\nfailed to find user installation: GET {url}/custom/path/users/nobody/installation: 404 Not Found: Not Found"
        )
    );
}

#[tokio::test]
async fn objects_with_the_same_app_share_a_token_and_what_is_unreadable_shows_nothing() {
    // SRC-084
    let key = KeyPair::generate(&["-t", "rsa", "-b", "2048", "-m", "PEM"], "");
    let Some(key) = tools::require_or_skip(key) else {
        return;
    };
    let server = Recorder::http(|_| created()).await;
    let installation = ("githubAppInstallationID", "99");
    let cache = TokenCache::new(10, std::time::Duration::from_secs(3600), None)
        .unwrap()
        .unwrap();
    for name in ["one", "two"] {
        let client = client(&key.private, &server.url(), installation, false);
        client.token(Some(&cache), &involved(name)).await.unwrap();
    }
    assert_eq!(server.take().len(), 1);
    let broken = Recorder::http(|_| {
        (
            201,
            r#"{"token":"ghs_hunter2","expires_at":"ghs_hunter2"}"#.to_owned(),
        )
    })
    .await;
    let message = token(&client(&key.private, &broken.url(), installation, false))
        .await
        .unwrap_err();
    assert!(message.contains("the answer cannot be read"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    let huge = Recorder::http(|_| (201, "x".repeat(2 << 20))).await;
    let message = token(&client(&key.private, &huge.url(), installation, false))
        .await
        .unwrap_err();
    assert!(message.ends_with("it is longer than 1048576 bytes"), "{message}");
}
