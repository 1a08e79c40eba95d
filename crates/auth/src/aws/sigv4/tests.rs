use serde_json::json;
use sluice_testbed::tools;

use super::*;
use crate::secret::SecretBytes;

/// The time at which AWS's published example was signed.
const TIME: &str = "2015-08-30T12:36:00Z";

fn credentials(token: &str) -> AwsCredentials {
    AwsCredentials {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret_access_key: SecretBytes::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        session_token: token.into(),
        expires_at: None,
    }
}

fn authorization(headers: &SignedHeaders) -> &str {
    let (_, value) = headers.iter().find(|(name, _)| *name == "authorization").unwrap();
    value
}

fn sign_at(request: &SigningRequest<'_>, region: &str, service: &str, token: &str) -> String {
    let scope = Scope {
        region,
        service,
        time: TIME.parse().unwrap(),
    };
    authorization(&sign(&credentials(token), &scope, request)).to_owned()
}

#[test]
fn the_published_example_has_its_published_signature() {
    let url = Url::parse("https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08").unwrap();
    let request = SigningRequest {
        method: "GET",
        url: &url,
        headers: &[("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")],
        payload: Payload::Body(b""),
    };
    assert_eq!(
        sign_at(&request, "us-east-1", "iam", ""),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    );
}

#[test]
fn signatures_are_those_of_the_sdk() {
    // SRC-075
    let Some(_) = tools::require_or_skip(tools::tool("oracle")) else {
        return;
    };
    let git = |host: &str, path: &str| format!("https://{host}{path}");
    let common = "git-codecommit.us-east-1.amazonaws.com";
    let cases: Vec<(&str, String, &str, &str)> = vec![
        ("GIT", git(common, "/v1/repos/app"), "", ""),
        ("GIT", git(common, "/v1/repos/app"), "", "token/+="),
        ("GIT", git(common, "/v1/repos/a%20b+c(d)"), "", "t"),
        ("GIT", git(common, "/v1/repos/%C3%A4"), "", "t"),
        ("GIT", git(common, "/v1/repos/app?x=1"), "", "t"),
        ("GIT", git(common, ""), "", "t"),
        ("GIT", git(&format!("{common}:8443"), "/v1/repos/app"), "", "t"),
        (
            "POST",
            "https://api.ecr.eu-west-1.amazonaws.com/".to_owned(),
            "{}",
            "",
        ),
        (
            "POST",
            "https://api.ecr.eu-west-1.amazonaws.com/".to_owned(),
            "{}",
            "token",
        ),
        (
            "GET",
            "https://eks.eu-west-1.amazonaws.com/clusters/a%20b/%C3%A4?b=2&a=1&a=0&c=d%20e%2Bf&g".to_owned(),
            "",
            "t",
        ),
    ];
    let asked: Vec<_> = cases
        .iter()
        .map(|(method, url, body, token)| {
            json!({
                "accessKeyId": "AKIDEXAMPLE",
                "secretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                "sessionToken": token,
                "region": "us-east-1",
                "service": "codecommit",
                "time": TIME,
                "method": method,
                "url": url,
                "headers": [["Content-Type", "application/x-amz-json-1.1"]],
                "body": body,
            })
        })
        .collect();
    let expected: Vec<String> = tools::ask_oracle("sigv4", &asked).unwrap();
    for ((method, url, body, token), expected) in cases.iter().zip(expected) {
        let parsed = Url::parse(url).unwrap();
        let signature = if *method == "GIT" {
            let scope = Scope {
                region: "us-east-1",
                service: "codecommit",
                time: TIME.parse().unwrap(),
            };
            sign_git(&credentials(token), &scope, &parsed)
        } else {
            let request = SigningRequest {
                method,
                url: &parsed,
                headers: &[("Content-Type", "application/x-amz-json-1.1")],
                payload: Payload::Body(body.as_bytes()),
            };
            let authorization = sign_at(&request, "us-east-1", "codecommit", token);
            authorization.rsplit_once("Signature=").unwrap().1.to_owned()
        };
        assert_eq!(signature, expected, "{method} {url} {token}");
    }
}

#[test]
fn keys_that_end_send_their_token_and_nothing_secret_is_printed() {
    let url = Url::parse("https://api.ecr.eu-west-1.amazonaws.com/").unwrap();
    let request = SigningRequest {
        method: "POST",
        url: &url,
        headers: &[],
        payload: Payload::Unsigned,
    };
    let scope = Scope {
        region: "eu-west-1",
        service: "ecr",
        time: TIME.parse().unwrap(),
    };
    let headers = sign(&credentials("token"), &scope, &request);
    assert!(authorization(&headers).contains("SignedHeaders=host;x-amz-date;x-amz-security-token, "));
    assert!(
        headers
            .iter()
            .any(|(name, value)| *name == "x-amz-security-token" && value.as_str() == "token")
    );
    assert!(!format!("{:?}", credentials("token")).contains("wJal"));
}
