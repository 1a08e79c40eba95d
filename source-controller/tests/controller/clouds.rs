//! GitRepositories whose credentials come from clouds and from GitHub.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use sluice_testbed::git::{GitServer, GitServerOptions};
use sluice_testbed::https::LocalServer;
use sluice_testbed::ssh::KeyPair;
use sluice_testbed::tls::Certificates;
use sluice_testbed::tools;

use crate::failures::failing;
use crate::support::{Bench, artifact, condition, conditions};

const CODECOMMIT: &str = "git-codecommit.us-east-1.amazonaws.com";
const STS: &str = "sts.us-east-1.amazonaws.com";
const ROLE: &str = "arn:aws:iam::123456789012:role/flux";
const GATE: &str = "--feature-gates=ObjectLevelWorkloadIdentity=true";

async fn create_account(bench: &Bench, name: &str, annotations: serde_json::Value) {
    let account: ServiceAccount =
        serde_json::from_value(json!({"metadata": {"name": name, "annotations": annotations}})).unwrap();
    let api = Api::<ServiceAccount>::namespaced(bench.client.clone(), bench.namespace());
    api.create(&PostParams::default(), &account).await.unwrap();
}

/// Whom the API server takes a token of a ServiceAccount for: it checks signature, audience and end.
async fn reviewed(client: &Client, token: &str, audience: &str) -> Option<String> {
    let review = TokenReview {
        spec: TokenReviewSpec {
            token: token.to_owned(),
            audiences: Some(vec![audience.to_owned()]),
        },
        ..TokenReview::default()
    };
    let status = Api::<TokenReview>::all(client.clone())
        .create(&PostParams::default(), &review)
        .await
        .unwrap()
        .status?;
    let matches = status.audiences.as_deref() == Some(&[audience.to_owned()]);
    status.user?.username.filter(|_| matches)
}

type Form = HashMap<String, String>;

fn form(body: &[u8]) -> Form {
    let text = format!("http://localhost/?{}", std::str::from_utf8(body).unwrap());
    reqwest::Url::parse(&text)
        .unwrap()
        .query_pairs()
        .into_owned()
        .collect()
}

/// AWS: the token service, and CodeCommit before a Git server.
#[derive(Clone)]
struct AmazonState {
    client: Client,
    namespace: String,
    repositories: String,
    http: reqwest::Client,
    assumed: Arc<Mutex<Vec<Form>>>,
    logins: Arc<Mutex<Vec<String>>>,
}

async fn assume_role(State(state): State<AmazonState>, body: Bytes) -> Response {
    let form = form(&body);
    let user = reviewed(&state.client, &form["WebIdentityToken"], "sts.amazonaws.com").await;
    let expected = format!("system:serviceaccount:{}:robot", state.namespace);
    let count = {
        let mut assumed = state.assumed.lock().unwrap();
        assumed.push(form);
        assumed.len()
    };
    if user != Some(expected) {
        let refusal = "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>no</Message></Error></ErrorResponse>";
        return (StatusCode::BAD_REQUEST, refusal).into_response();
    }
    let answer = format!(
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA{count}</AccessKeyId><SecretAccessKey>secret{count}</SecretAccessKey><SessionToken>session/{count}+=</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    );
    answer.into_response()
}

/// Lets in who signs as Flux's own library does.
async fn code_commit(
    State(state): State<AmazonState>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let repository = "/v1/repos/app";
    let basic = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok()?.strip_prefix("Basic "))
        .map(|value| String::from_utf8(STANDARD.decode(value).unwrap()).unwrap());
    let Some((user, password)) = basic.as_deref().and_then(|basic| basic.split_once(':')) else {
        let challenge = [("www-authenticate", "Basic realm=\"CodeCommit\"")];
        return (StatusCode::UNAUTHORIZED, challenge).into_response();
    };
    let (id, token) = user.split_once('%').unwrap();
    let number = id.strip_prefix("ASIA").unwrap();
    assert_eq!(token, format!("session/{number}+="));
    let (time, signature) = password.split_once('Z').unwrap();
    let time = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &time[..4],
        &time[4..6],
        &time[6..8],
        &time[9..11],
        &time[11..13],
        &time[13..15]
    );
    let case = json!([{
        "accessKeyId": id,
        "secretAccessKey": format!("secret{number}"),
        "sessionToken": token,
        "region": "us-east-1",
        "service": "codecommit",
        "time": time,
        "method": "GIT",
        "url": format!("https://{CODECOMMIT}{repository}"),
    }]);
    let expected: Vec<String> =
        tokio::task::spawn_blocking(move || tools::ask_oracle("sigv4", &case).unwrap())
            .await
            .unwrap();
    if expected[0] != signature {
        return StatusCode::FORBIDDEN.into_response();
    }
    state.logins.lock().unwrap().push(user.to_owned());
    let rest = uri
        .path_and_query()
        .unwrap()
        .as_str()
        .strip_prefix(repository)
        .unwrap();
    let mut request = state
        .http
        .request(method, format!("{}{rest}", state.repositories))
        .body(body);
    for name in ["accept", "content-type", "content-encoding", "git-protocol"] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value);
        }
    }
    let answer = request.send().await.unwrap();
    let kind = answer.headers()["content-type"].clone();
    (
        answer.status(),
        [("content-type", kind)],
        Body::from(answer.bytes().await.unwrap()),
    )
        .into_response()
}

#[tokio::test]
async fn codecommit_is_signed_for_by_the_role_of_a_service_account_which_objects_share() {
    // SRC-075, SRC-084, COM-033
    let Some(_) = tools::require_or_skip(tools::tool("oracle")) else {
        return;
    };
    let certificates = Certificates::for_hosts(&[CODECOMMIT, STS]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let files = certificates.write(directory.path()).unwrap();
    let trust = [("SSL_CERT_FILE", files.authority.to_str().unwrap())];
    let Some(bench) = Bench::start_with(&["--concurrent=4", GATE], &trust).await else {
        return;
    };
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("app").unwrap();
    let commit = repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    let state = AmazonState {
        client: bench.client.clone(),
        namespace: bench.namespace().to_owned(),
        repositories: repository.url().to_owned(),
        http: reqwest::Client::new(),
        assumed: Arc::default(),
        logins: Arc::default(),
    };
    let router = Router::new()
        .route("/", post(assume_role))
        .route("/v1/{*rest}", any(code_commit))
        .with_state(state.clone());
    let server = LocalServer::https(&certificates, router).await.unwrap();
    let proxy = LocalServer::proxy(&[
        (&format!("{CODECOMMIT}:443"), server.address()),
        (&format!("{STS}:443"), server.address()),
    ])
    .await
    .unwrap();
    let address = format!("http://{}", proxy.address());
    bench.create_secret("proxy", &[("address", &address)]).await;
    bench
        .create_secret("trust", &[("ca.crt", &certificates.authority)])
        .await;
    create_account(&bench, "robot", json!({"eks.amazonaws.com/role-arn": ROLE})).await;
    create_account(&bench, "nobody", json!({})).await;
    let url = format!("https://{CODECOMMIT}/v1/repos/app");
    let spec = json!({
        "provider": "aws",
        "serviceAccountName": "robot",
        "secretRef": {"name": "trust"},
        "proxySecretRef": {"name": "proxy"},
    });
    for name in ["one", "two"] {
        bench.create(name, &url, spec.clone()).await;
    }
    for name in ["one", "two"] {
        let ready = bench.ready(name).await;
        assert_eq!(artifact(&ready).revision, format!("main@sha1:{commit}"));
    }
    bench.reconcile("one").await;
    {
        let assumed = state.assumed.lock().unwrap();
        assert_eq!(assumed.len(), 1, "one token for both objects");
        assert_eq!(assumed[0]["RoleArn"], ROLE);
        assert_eq!(
            assumed[0]["RoleSessionName"],
            format!("robot.{}.us-east-1.fluxcd.io", bench.namespace())
        );
    }
    let logins = state.logins.lock().unwrap().clone();
    assert!(
        !logins.is_empty() && logins.iter().all(|user| user == "ASIA1%session/1+="),
        "{logins:?}"
    );
    let metrics = bench.metrics().await;
    let series = |event, name| {
        format!(
            "gotk_token_cache_events_total{{event_type=\"{event}\",kind=\"GitRepository\",name=\"{name}\",namespace=\"{}\",operation=\"reconcile\"}}",
            bench.namespace()
        )
    };
    assert!(metrics.contains(&series("cache_hit", "one")), "{metrics}");
    assert!(metrics.contains("\ngotk_token_cached_items 2\n"), "{metrics}");
    bench
        .api
        .delete("one", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    sluice_testbed::wait::until_all(&bench.api, crate::support::PATIENCE, "one is gone", |objects| {
        objects.len() == 1
    })
    .await
    .unwrap();
    let metrics = bench.metrics().await;
    assert!(!metrics.contains(&series("cache_hit", "one")), "{metrics}");

    let namespace = bench.namespace();
    let cases = [
        (
            "no-account",
            url.as_str(),
            "none",
            format!(
                "failed to get access token for Git repository: failed to get service account '{namespace}/none': serviceaccounts \"none\" not found"
            ),
        ),
        (
            "no-role",
            url.as_str(),
            "nobody",
            format!(
                r"failed to get access token for Git repository: failed to get provider identity from service account '{namespace}/nobody' annotations: invalid eks.amazonaws.com/role-arn annotation: ''. must match ^arn:aws[\w-]*:iam::[0-9]{{1,30}}:role/.{{1,200}}$"
            ),
        ),
        (
            "elsewhere",
            "https://example.com/app",
            "robot",
            "invalid AWS CodeCommit Git URL: example.com".to_owned(),
        ),
        (
            "plain",
            "http://git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
            "robot",
            "AWS CodeCommit authentication requires an HTTPS Git URL".to_owned(),
        ),
    ];
    for (name, url, account, _) in &cases {
        let spec = json!({"provider": "aws", "serviceAccountName": account});
        bench.create(name, url, spec).await;
    }
    for (name, _, _, message) in &cases {
        let object = bench
            .until(name, "FetchFailed", |object| failing(object, "FetchFailed"))
            .await;
        let found = condition(&object, "FetchFailed").unwrap();
        let context = format!("{name}: {:#?}", conditions(&object));
        assert_eq!(found.reason, "AuthenticationFailed", "{context}");
        assert_eq!(
            found.message,
            format!("failed to configure authentication options: {message}"),
            "{context}"
        );
        assert!(condition(&object, "Stalled").is_none(), "{context}");
    }
    let log = bench.log();
    assert!(!log.contains("secret1") && !log.contains("session/1"), "{log}");
}

/// Entra ID.
#[derive(Clone)]
struct EntraState {
    client: Client,
    namespace: String,
    asked: Arc<Mutex<Vec<Form>>>,
}

async fn grant(State(state): State<EntraState>, uri: Uri, body: Bytes) -> Response {
    assert_eq!(uri.path(), "/tenant/oauth2/v2.0/token");
    let form = form(&body);
    let user = reviewed(
        &state.client,
        &form["client_assertion"],
        "api://AzureADTokenExchange",
    )
    .await;
    let expected = format!("system:serviceaccount:{}:robot", state.namespace);
    // Tokens of the first client end at once, so that each reconcile needs a new one.
    let life = if form["client_id"] == "short" { 1 } else { 3600 };
    state.asked.lock().unwrap().push(form);
    if user != Some(expected) {
        let refusal = r#"{"error":"invalid_client","error_description":"no"}"#;
        return (StatusCode::UNAUTHORIZED, refusal).into_response();
    }
    format!(r#"{{"token_type":"Bearer","expires_in":{life},"access_token":"devops-token"}}"#).into_response()
}

#[tokio::test]
async fn azure_devops_is_shown_a_token_of_the_default_service_account_that_is_renewed_in_time() {
    // SRC-084
    let certificates = Certificates::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let files = certificates.write(directory.path()).unwrap();
    let client = match tools::require_or_skip(sluice_testbed::control_plane::ControlPlane::shared()) {
        Some(plane) => plane.client().await.unwrap(),
        None => return,
    };
    let state = Arc::new(Mutex::new(None::<EntraState>));
    let handler = {
        let state = state.clone();
        async move |uri: Uri, body: Bytes| {
            let state = state.lock().unwrap().clone().unwrap();
            grant(State(state), uri, body).await
        }
    };
    let server = LocalServer::https(&certificates, Router::new().fallback(handler))
        .await
        .unwrap();
    let authority = format!("https://{}/", server.address());
    let environment = [
        ("SSL_CERT_FILE", files.authority.to_str().unwrap()),
        ("AZURE_AUTHORITY_HOST", authority.as_str()),
    ];
    let arguments = [GATE, "--default-service-account=robot"];
    let Some(bench) = Bench::start_with(&arguments, &environment).await else {
        return;
    };
    let entra = EntraState {
        client,
        namespace: bench.namespace().to_owned(),
        asked: Arc::default(),
    };
    *state.lock().unwrap() = Some(entra.clone());
    let git = GitServer::start_with(&GitServerOptions {
        bearer: Some("devops-token".to_owned()),
        ..GitServerOptions::default()
    })
    .unwrap();
    let mut repository = git.create_repository("app").unwrap();
    let commit = repository.commit_files("First", &[("a.yaml", "1")]).unwrap();

    let spec = json!({"provider": "azure"});
    bench.create("locked", repository.url(), spec.clone()).await;
    let locked = bench
        .until("locked", "FetchFailed", |object| failing(object, "FetchFailed"))
        .await;
    let found = condition(&locked, "FetchFailed").unwrap();
    assert!(
        found.message.ends_with("the specified default service account does not exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster administrator for help"),
        "{:#?}",
        conditions(&locked)
    );
    let annotations = |client: &str| {
        json!({
            "azure.workload.identity/tenant-id": "tenant",
            "azure.workload.identity/client-id": client,
        })
    };
    create_account(&bench, "robot", annotations("short")).await;
    bench
        .create(
            "app",
            repository.url(),
            json!({"provider": "azure", "interval": "1s"}),
        )
        .await;
    let ready = bench.ready("app").await;
    assert_eq!(artifact(&ready).revision, format!("main@sha1:{commit}"));
    let form = entra.asked.lock().unwrap()[0].clone();
    assert_eq!(form["scope"], "499b84ac-1321-427f-aa17-267ca6975798/.default");
    let second = repository.commit_files("Second", &[("b.yaml", "2")]).unwrap();
    let revision = format!("main@sha1:{second}");
    bench.until_revision("app", &revision).await;
    bench
        .patch_spec("app", json!({"interval": "1h", "timeout": "50s"}))
        .await;
    bench.reconcile("app").await;
    let short = entra.asked.lock().unwrap().len();
    assert!(short >= 2, "renewed: {short}");

    let api = Api::<ServiceAccount>::namespaced(bench.client.clone(), bench.namespace());
    let patch = json!({"metadata": {"annotations": annotations("long")}});
    api.patch(
        "robot",
        &kube::api::PatchParams::default(),
        &kube::api::Patch::Merge(patch),
    )
    .await
    .unwrap();
    bench.patch_spec("locked", json!({"suspend": true})).await;
    entra.asked.lock().unwrap().clear();
    for _ in 0..3 {
        bench.reconcile("app").await;
    }
    let long = entra.asked.lock().unwrap().clone();
    assert!(
        long.iter().filter(|form| form["client_id"] == "long").count() == 1,
        "another identity has its own token, which is kept: {}",
        long.len()
    );
    assert!(!bench.log().contains("devops-token"));
}

#[tokio::test]
async fn github_app_logs_in_with_a_token_of_its_installation() {
    // SRC-083, SRC-084, SRC-026
    let key = KeyPair::generate(&["-t", "rsa", "-b", "2048", "-m", "PEM"], "");
    let Some(key) = tools::require_or_skip(key) else {
        return;
    };
    let Some(bench) = Bench::start(&["--concurrent=4"]).await else {
        return;
    };
    let asked = Arc::new(Mutex::new(Vec::<String>::new()));
    let handler = {
        let asked = asked.clone();
        async move |method: Method, uri: Uri| {
            asked.lock().unwrap().push(format!("{method} {uri}"));
            match uri.path() {
                "/api/orgs/acme/installation" => r#"{"id":99}"#.into_response(),
                "/api/app/installations/99/access_tokens" => {
                    let body = r#"{"token":"ghs_token","expires_at":"2099-01-01T00:00:00Z"}"#;
                    (StatusCode::CREATED, body).into_response()
                }
                _ => (StatusCode::NOT_FOUND, r#"{"message":"Not Found"}"#).into_response(),
            }
        }
    };
    let server = LocalServer::http(Router::new().fallback(handler)).await.unwrap();
    let api = format!("http://{}/api", server.address());
    let git = GitServer::start_with(&GitServerOptions {
        basic: Some(("x-access-token".to_owned(), "ghs_token".to_owned())),
        ..GitServerOptions::default()
    })
    .unwrap();
    let mut repository = git.create_repository("app").unwrap();
    let commit = repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    let app = [
        ("githubAppID", "4711"),
        ("githubAppPrivateKey", key.private.as_str()),
        ("githubAppBaseURL", api.as_str()),
    ];
    let owner = |name| [&app[..], &[("githubAppInstallationOwner", name)]].concat();
    bench.create_secret("acme", &owner("acme")).await;
    bench.create_secret("nobody", &owner("nobody")).await;
    let spec = |secret: &str| json!({"provider": "github", "secretRef": {"name": secret}});
    for name in ["one", "two"] {
        bench.create(name, repository.url(), spec("acme")).await;
    }
    for name in ["one", "two"] {
        let ready = bench.ready(name).await;
        assert_eq!(artifact(&ready).revision, format!("main@sha1:{commit}"));
    }
    assert_eq!(
        *asked.lock().unwrap(),
        [
            "GET /api/orgs/acme/installation",
            "POST /api/app/installations/99/access_tokens"
        ]
    );
    bench.create("bad", repository.url(), spec("nobody")).await;
    let object = bench
        .until("bad", "FetchFailed", |object| failing(object, "FetchFailed"))
        .await;
    let found = condition(&object, "FetchFailed").unwrap();
    assert_eq!(
        (found.reason.as_str(), found.message.as_str()),
        (
            "AuthenticationFailed",
            format!("failed to configure authentication options: failed to find organization installation: GET {api}/orgs/nobody/installation: 404 Not Found: Not Found\nfailed to find user installation: GET {api}/users/nobody/installation: 404 Not Found: Not Found").as_str()
        )
    );
    let log = bench.log();
    assert!(!log.contains("ghs_token") && !log.contains("PRIVATE KEY"));
}
