//! Credentials of AWS.

use std::collections::BTreeMap;

use sluice_auth::aws::{Aws, AwsCredentials};
use sluice_auth::{Account, AccountName, Provider as _, SecretBytes, TokenOptions};

use crate::support::{Asked, Asking, Recorder};

const ROLE: &str = "arn:aws:iam::123456789012:role/flux";

fn in_region(region: Option<&str>) -> TokenOptions {
    TokenOptions {
        sts_region: region.map(str::to_owned),
        ..TokenOptions::default()
    }
}

fn assumed(asked: &Asked) -> (u16, String) {
    let form = asked.form();
    if form.get("WebIdentityToken").map(String::as_str) != Some("kubernetes-token") {
        let refusal = "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>no</Message></Error></ErrorResponse>";
        return (400, refusal.to_owned());
    }
    let answer = r#"<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>system:serviceaccount:apps:robot</SubjectFromWebIdentityToken>
    <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/flux/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>
    <Credentials>
      <SessionToken>session&amp;token</SessionToken>
      <SecretAccessKey>hunter2</SecretAccessKey>
      <Expiration>2099-01-01T00:00:00Z</Expiration>
      <AccessKeyId>ASIA1</AccessKeyId>
    </Credentials>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>"#;
    (200, answer.to_owned())
}

fn expected(session: &str) -> AwsCredentials {
    AwsCredentials {
        access_key_id: "ASIA1".to_owned(),
        secret_access_key: "hunter2".into(),
        session_token: session.into(),
        expires_at: Some("2099-01-01T00:00:00Z".parse().unwrap()),
    }
}

#[tokio::test]
async fn a_service_account_takes_on_its_role() {
    let server = Recorder::http(assumed).await;
    let url = server.url();
    let asking = Asking::new(
        &server,
        in_region(Some("eu-west-1")),
        &[("AWS_ENDPOINT_URL_STS", &url)],
    );
    let account = Account {
        name: AccountName {
            namespace: "apps".to_owned(),
            name: "robot".to_owned(),
        },
        annotations: BTreeMap::from([("eks.amazonaws.com/role-arn".to_owned(), ROLE.to_owned())]),
    };
    let token = SecretBytes::from("kubernetes-token");
    let credentials = Aws
        .account_token(&token, &account, &asking.exchange())
        .await
        .unwrap();
    assert_eq!(credentials, expected("session&token"));
    let asked = server.take();
    assert_eq!(asked[0].method.as_str(), "POST");
    assert_eq!(asked[0].header("authorization"), "", "the request is not signed");
    let form = asked[0].form();
    for (key, value) in [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", ROLE),
        ("RoleSessionName", "robot.apps.eu-west-1.fluxcd.io"),
    ] {
        assert_eq!(form[key], value);
    }
    let refused = Aws
        .account_token(&SecretBytes::from("hunter2"), &account, &asking.exchange())
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("POST {url}/: 400 Bad Request: InvalidIdentityToken: no")
    );
    let nowhere = Asking::new(&server, in_region(None), &[]);
    let error = Aws
        .account_token(&token, &account, &nowhere.exchange())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "an AWS region is required for authenticating with a service account. please configure one in the object spec"
    );
    let elsewhere = TokenOptions {
        sts_endpoint: Some("https://sts.example.com".to_owned()),
        ..in_region(Some("eu-west-1"))
    };
    let asking = Asking::new(&server, elsewhere, &[]);
    let error = Aws
        .account_token(&token, &account, &asking.exchange())
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("invalid STS endpoint: 'https://sts.example.com'"),
        "{error}"
    );
}

#[tokio::test]
async fn the_controller_has_credentials_from_the_first_place_that_the_environment_names() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let token = write("token", "kubernetes-token\n");
    let keys = write(
        "credentials",
        "[default]\naws_access_key_id = FILE\naws_secret_access_key = hunter2\n[sso]\nsso_session = x\n",
    );
    let none = write("none", "");
    let pod = write("pod", "pod-token\n");
    let container = r#"{"AccessKeyId":"ASIA1","SecretAccessKey":"hunter2","Token":"container","Expiration":"2099-01-01T00:00:00Z"}"#;
    let instance = container.replace("container", "instance");
    let server = Recorder::http(
        move |asked| match (asked.method.as_str(), asked.target.as_str()) {
            ("POST", "/") => assumed(asked),
            ("GET", "/container") if asked.header("authorization") == "pod-token" => {
                (200, container.to_owned())
            }
            ("PUT", "/latest/api/token") if asked.header("x-aws-ec2-metadata-token-ttl-seconds") == "300" => {
                (200, "imds".to_owned())
            }
            ("GET", target) if asked.header("x-aws-ec2-metadata-token") == "imds" => match target {
                "/latest/meta-data/iam/security-credentials/" => (200, "node-role".to_owned()),
                "/latest/meta-data/iam/security-credentials/node-role" => (200, instance.clone()),
                _ => (404, String::new()),
            },
            _ => (403, r#"{"code":"Denied","message":"not you"}"#.to_owned()),
        },
    )
    .await;
    let url = server.url();
    let container = format!("{url}/container");
    let files = [
        ("AWS_SHARED_CREDENTIALS_FILE", none.as_str()),
        ("AWS_CONFIG_FILE", none.as_str()),
    ];
    let ask = async |variables: &[(&str, &str)]| {
        let variables = [&files[..], &[("AWS_REGION", "eu-west-1")], variables].concat();
        let asking = Asking::new(&server, in_region(None), &variables);
        Aws.controller_token(&asking.exchange())
            .await
            .map_err(|error| error.to_string())
    };
    let environment = [
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
    ];
    let web_identity = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()),
        ("AWS_ROLE_ARN", ROLE),
        ("AWS_ROLE_SESSION_NAME", "controller"),
        ("AWS_ENDPOINT_URL_STS", url.as_str()),
    ];
    let machine = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", pod.as_str()),
    ];
    let metadata = [("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str())];
    let shared = [("AWS_SHARED_CREDENTIALS_FILE", keys.as_str())];

    let found = ask(&[&environment[..], &web_identity, &machine].concat())
        .await
        .unwrap();
    assert_eq!((found.access_key_id.as_str(), found.expires_at), ("AKIA", None));
    assert_eq!(
        ask(&[&web_identity[..], &shared, &machine].concat()).await,
        Ok(expected("session&token"))
    );
    assert_eq!(server.take()[0].form()["RoleSessionName"], "controller");
    let found = ask(&[&shared[..], &machine].concat()).await.unwrap();
    assert_eq!(found.access_key_id, "FILE");
    assert_eq!(
        ask(&[&machine[..], &metadata].concat()).await,
        Ok(expected("container"))
    );
    assert_eq!(ask(&metadata).await, Ok(expected("instance")));

    let error = |variables: Vec<(&'static str, String)>| {
        let ask = &ask;
        async move {
            let variables: Vec<(&str, &str)> = variables
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            ask(&variables).await.unwrap_err()
        }
    };
    let message = error(vec![
        ("AWS_PROFILE", "sso".to_owned()),
        ("AWS_SHARED_CREDENTIALS_FILE", keys.clone()),
    ])
    .await;
    assert!(
        message.starts_with("sso_session in the shared config of AWS is not supported"),
        "{message}"
    );
    let message = error(vec![("AWS_PROFILE", "none".to_owned())]).await;
    assert_eq!(message, "failed to get shared config profile, none");
    let message = error(vec![("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.clone())]).await;
    assert_eq!(message, format!("GET {container}: 403 Forbidden: Denied not you"));
    let message = error(vec![("AWS_EC2_METADATA_DISABLED", "true".to_owned())]).await;
    assert!(message.starts_with("no EC2 IMDS role found"), "{message}");
    let nowhere = Asking::new(&server, in_region(None), &[]);
    let error = Aws.controller_token(&nowhere.exchange()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("AWS_REGION environment variable is not set in the Flux controller"),
        "{error}"
    );
}
