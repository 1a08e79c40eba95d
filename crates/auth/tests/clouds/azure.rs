//! Tokens of Entra ID.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::signature::RSA_PSS_2048_8192_SHA256;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sluice_auth::azure::{Azure, scopes};
use sluice_auth::{Account, AccountName, Provider as _, SecretBytes, TokenOptions};
use sluice_testbed::ssh::KeyPair;
use sluice_testbed::tools;

use crate::support::{Asked, Asking, Recorder, verify};

fn devops() -> TokenOptions {
    TokenOptions {
        scopes: vec![scopes::DEVOPS.to_owned()],
        ..TokenOptions::default()
    }
}

fn granted(_: &Asked) -> (u16, String) {
    (
        200,
        r#"{"token_type":"Bearer","expires_in":3599,"access_token":"hunter2"}"#.to_owned(),
    )
}

#[tokio::test]
async fn a_service_account_exchanges_its_kubernetes_token() {
    let server = Recorder::https(|asked| {
        if asked.form()["client_assertion"] == "kubernetes-token" {
            granted(asked)
        } else {
            let refusal = r#"{"error":"invalid_client","error_description":"AADSTS700213: no"}"#;
            (401, refusal.to_owned())
        }
    })
    .await;
    let url = server.url();
    let asking = Asking::new(&server, devops(), &[("AZURE_AUTHORITY_HOST", &url)]);
    let account = Account {
        name: AccountName {
            namespace: "apps".to_owned(),
            name: "robot".to_owned(),
        },
        annotations: BTreeMap::from([
            (
                "azure.workload.identity/tenant-id".to_owned(),
                "tenant".to_owned(),
            ),
            (
                "azure.workload.identity/client-id".to_owned(),
                "client".to_owned(),
            ),
        ]),
    };
    let ask = async |token: &str| {
        Azure
            .account_token(&SecretBytes::from(token), &account, &asking.exchange())
            .await
    };
    let before = Timestamp::now();
    let token = ask("kubernetes-token").await.unwrap();
    assert_eq!(token.value, SecretBytes::from("hunter2"));
    let life = token.expires_at.duration_since(before).as_secs();
    assert!((3599..3599 + 120).contains(&life), "{life}");
    let asked = server.take();
    assert_eq!(asked[0].target, "/tenant/oauth2/v2.0/token");
    let form = asked[0].form();
    for (key, value) in [
        ("client_id", "client"),
        ("scope", "499b84ac-1321-427f-aa17-267ca6975798/.default"),
        ("grant_type", "client_credentials"),
        (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ),
    ] {
        assert_eq!(form[key], value);
    }
    assert_eq!(
        ask("other").await.unwrap_err().to_string(),
        format!("POST {url}/tenant/oauth2/v2.0/token: 401 Unauthorized: invalid_client: AADSTS700213: no")
    );
}

#[tokio::test]
async fn the_controller_is_a_client_by_secret_certificate_or_kubernetes_token() {
    let key = KeyPair::generate(&["-t", "rsa", "-b", "2048", "-m", "PKCS8"], "");
    let Some(key) = tools::require_or_skip(key) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let pair = rcgen::KeyPair::from_pem(&key.private).unwrap();
    let certificate = rcgen::CertificateParams::default()
        .self_signed(&pair)
        .unwrap()
        .pem();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let file = write("client.pem", &format!("{certificate}{}", key.private));
    let token = write("token", "kubernetes-token\n");
    let broken = write("broken.pem", "PKCS 12");
    let server = Recorder::https(granted).await;
    let url = server.url();
    let ask = async |name: &str, value: &str| {
        let variables = [
            ("AZURE_AUTHORITY_HOST", url.as_str()),
            ("AZURE_TENANT_ID", "tenant"),
            ("AZURE_CLIENT_ID", "client"),
            (name, value),
        ];
        let asking = Asking::new(&server, devops(), &variables);
        Azure
            .controller_token(&asking.exchange())
            .await
            .map_err(|error| error.to_string())
    };
    ask("AZURE_CLIENT_SECRET", "secret").await.unwrap();
    assert_eq!(server.take()[0].form()["client_secret"], "secret");
    ask("AZURE_FEDERATED_TOKEN_FILE", &token).await.unwrap();
    assert_eq!(server.take()[0].form()["client_assertion"], "kubernetes-token");

    ask("AZURE_CLIENT_CERTIFICATE_PATH", &file).await.unwrap();
    let assertion = server.take()[0].form()["client_assertion"].clone();
    let (header, claims) = verify(&assertion, &key.private, &RSA_PSS_2048_8192_SHA256);
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let digest = ring::digest::digest(&ring::digest::SHA256, &der);
    assert_eq!(
        (header["alg"].as_str(), header["x5t#S256"].as_str()),
        (Some("PS256"), Some(URL_SAFE_NO_PAD.encode(digest).as_str()))
    );
    assert_eq!(claims["aud"], format!("{url}/tenant/oauth2/v2.0/token"));
    assert_eq!(
        (claims["iss"].as_str(), claims["sub"].as_str()),
        (Some("client"), Some("client"))
    );
    let (from, to) = (claims["nbf"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    assert!(
        from <= Timestamp::now().as_second() && to - from == 600,
        "{claims}"
    );
    let message = ask("AZURE_CLIENT_CERTIFICATE_PATH", &broken).await.unwrap_err();
    assert!(
        message.starts_with("the client certificate cannot be used: there is no PEM certificate"),
        "{message}"
    );
}

#[tokio::test]
async fn the_machine_gives_the_controller_a_token_for_a_resource() {
    let server = Recorder::http(|asked| {
        if asked.header("metadata") == "true" {
            let answer = r#"{"access_token":"hunter2","expires_in":"86399","resource":"x"}"#;
            (200, answer.to_owned())
        } else {
            (400, String::new())
        }
    })
    .await;
    let url = server.url();
    let variables = [
        ("AZURE_POD_IDENTITY_AUTHORITY_HOST", url.as_str()),
        ("AZURE_CLIENT_ID", "client"),
    ];
    let asking = Asking::new(&server, devops(), &variables);
    let token = Azure.controller_token(&asking.exchange()).await.unwrap();
    assert_eq!(token.value, SecretBytes::from("hunter2"));
    assert_eq!(
        server.take()[0].target,
        "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=499b84ac-1321-427f-aa17-267ca6975798&client_id=client"
    );
}
