//! Git repositories of AWS CodeCommit.

use jiff::{SignedDuration, Timestamp};
use url::Url;

use super::sigv4::{Scope, basic_time, sign_git};
use super::{Aws, AwsCredentials};
use crate::data::BasicAuth;
use crate::git::HttpCredentials;
use crate::provider::{GitLogin, GitProvider, ProviderError, TokenOptions};

const SERVICE: &str = "codecommit";

/// How long CodeCommit accepts a signature.
const VALIDITY: SignedDuration = SignedDuration::from_mins(15);

/// The region in the address of a CodeCommit repository.
///
/// # Errors
/// The address is not of the form `https://git-codecommit.<region>.amazonaws.com/…` (or `git-codecommit-fips`, or
/// in `amazonaws.com.cn`).
pub fn codecommit_region(url: &Url) -> Result<String, ProviderError> {
    if url.scheme() != "https" {
        return Err(ProviderError::configuration(
            "AWS CodeCommit authentication requires an HTTPS Git URL",
        ));
    }
    let host = url.host_str().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let service = matches!(labels.first(), Some(&"git-codecommit" | &"git-codecommit-fips"));
    let domain = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    match labels.get(1) {
        Some(region) if labels.len() >= 4 && service && domain => Ok((*region).to_owned()),
        _ => Err(ProviderError::Configuration(format!(
            "invalid AWS CodeCommit Git URL: {host}"
        ))),
    }
}

impl GitProvider for Aws {
    /// The whole address: a signature covers it.
    fn git_input(&self, url: &Url) -> Result<String, ProviderError> {
        codecommit_region(url).map(|_| url.to_string())
    }

    fn git_token_options(&self, url: &Url) -> Result<TokenOptions, ProviderError> {
        Ok(TokenOptions {
            sts_region: Some(codecommit_region(url)?),
            ..TokenOptions::default()
        })
    }

    fn git_login(
        &self,
        url: &Url,
        token: &AwsCredentials,
        now: Timestamp,
    ) -> Result<GitLogin, ProviderError> {
        let region = codecommit_region(url)?;
        let scope = Scope {
            region: &region,
            service: SERVICE,
            time: now,
        };
        let session = token.session_token.expose_text().unwrap_or_default();
        let signature = sign_git(token, &scope, url);
        let basic = BasicAuth {
            username: format!("{}%{session}", token.access_key_id),
            password: format!("{}Z{signature}", basic_time(now)).into(),
        };
        let end = now.checked_add(VALIDITY).ok();
        Ok(GitLogin {
            credentials: HttpCredentials::Basic(basic),
            expires_at: token.expires_at.and_then(|token_end| Some(end?.min(token_end))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SecretBytes;

    fn region(url: &str) -> Result<String, String> {
        codecommit_region(&Url::parse(url).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_region_is_the_second_label_of_a_codecommit_host() {
        for (url, expected) in [
            (
                "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
                "us-east-1",
            ),
            (
                "https://git-codecommit-fips.us-gov-west-1.amazonaws.com/v1/repos/app",
                "us-gov-west-1",
            ),
            (
                "https://git-codecommit.cn-north-1.amazonaws.com.cn/v1/repos/app",
                "cn-north-1",
            ),
        ] {
            assert_eq!(region(url).unwrap(), expected);
        }
        for (url, expected) in [
            (
                "http://git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
                "AWS CodeCommit authentication requires an HTTPS Git URL",
            ),
            (
                "ssh://git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
                "AWS CodeCommit authentication requires an HTTPS Git URL",
            ),
            (
                "https://git-codecommit.us-east-1.amazonaws.com.example.org/r",
                "invalid AWS CodeCommit Git URL: git-codecommit.us-east-1.amazonaws.com.example.org",
            ),
            (
                "https://git-codecommit.amazonaws.com/r",
                "invalid AWS CodeCommit Git URL: git-codecommit.amazonaws.com",
            ),
            (
                "https://example.com/r",
                "invalid AWS CodeCommit Git URL: example.com",
            ),
        ] {
            assert_eq!(region(url).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_login_ends_with_the_signature_or_with_the_keys() {
        let url = Url::parse("https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app").unwrap();
        let now: Timestamp = "2026-03-01T12:00:00.9Z".parse().unwrap();
        let keys = |expires_at: Option<&str>| AwsCredentials {
            access_key_id: "AKID".to_owned(),
            secret_access_key: "hunter2".into(),
            session_token: SecretBytes::default(),
            expires_at: expires_at.map(|time| time.parse().unwrap()),
        };
        let end = |expires_at| Aws.git_login(&url, &keys(expires_at), now).unwrap().expires_at;
        let time = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        assert_eq!(end(Some("2026-03-01T13:00:00Z")), time("2026-03-01T12:15:00.9Z"));
        assert_eq!(end(Some("2026-03-01T12:05:00Z")), time("2026-03-01T12:05:00Z"));
        assert_eq!(end(None), None);
        let login = Aws.git_login(&url, &keys(None), now).unwrap();
        assert!(!format!("{login:?}").contains("20260301T120000Z"), "{login:?}");
        let HttpCredentials::Basic(basic) = login.credentials else {
            panic!("not basic");
        };
        assert_eq!(basic.username, "AKID%", "joined also where the token is empty");
        let password = basic.password.expose_text().unwrap();
        assert!(password.starts_with("20260301T120000Z") && password.len() == 16 + 64);
    }
}
