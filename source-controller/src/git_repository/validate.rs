//! Step two: turn spec and Secrets into what the further steps work with, asking nobody.

use std::time::Duration;

use sluice_api::meta::{DurationError, GoDuration};
use sluice_api::source::{GitProvider, GitRepositorySpec};
use sluice_auth::{AuthError, GitCredentials, GitHubApp, HttpCredentials, Proxy, SecretData, Tls, keys};
use sluice_git::{
    Authentication, ClientCertificate, Reference, Remote, RemoteUrl, Secret, SshAlgorithms, SshCredentials,
    UrlError,
};
use url::Url;

use super::dereference::Secrets;

/// The time for Git operations where the spec says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// What is wrong with a spec and the Secrets that it names.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// The address is no URL.
    #[error("failed to parse url '{url}': {reason}")]
    Url {
        /// The address, without credentials.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Credentials are incomplete.
    #[error("failed to configure authentication options: {0}")]
    Credentials(#[source] AuthError),
    /// An SSH key that needs a passphrase, and none in the Secret.
    #[error("SSH identity key is encrypted but no 'password' field was provided in the secret '{0}'")]
    PassphraseMissing(String),
    /// Credentials contradict each other; Flux finds out only when it connects.
    #[error("failed to checkout and determine revision: {0}")]
    ConflictingCredentials(#[source] AuthError),
    /// Provider github without a Secret.
    #[error("secretRef with github app data must be specified when provider is set to github")]
    AppWithoutSecret,
    /// Provider github with a Secret that describes no GitHub App.
    #[error("secretRef with github app data must be specified when provider is set to github")]
    SecretWithoutApp,
    /// A GitHub App in the Secret, and another provider.
    #[error("secretRef '{0}' has github app data but provider is not set to github")]
    AppWithoutProvider(String),
    /// An identity of its own is asked for and the gate is closed.
    #[error(
        "to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller"
    )]
    IdentityDisabled,
    /// A length of time that cannot be used.
    #[error("{field}: {reason}")]
    Duration {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        reason: DurationError,
    },
}

/// Who gives the credentials.
#[derive(Debug, Clone)]
pub enum Login {
    /// The Secret, which is worked in already.
    Secret,
    /// GitHub, to an App.
    GitHubApp {
        /// The App.
        app: GitHubApp,
        /// How the API is trusted, and what is shown to it.
        tls: Option<Tls>,
    },
    /// Amazon Web Services, for CodeCommit.
    Aws,
    /// Microsoft Azure, for Azure DevOps.
    Azure,
}

/// A spec that makes sense, with its Secrets worked in.
#[derive(Debug, Clone)]
pub struct ValidSpec {
    /// Where and how to reach the repository.
    pub remote: Remote,
    /// Who gives the credentials for it.
    pub login: Login,
    /// The address as a URL, which credentials may depend on.
    pub url: Url,
    /// What to follow.
    pub reference: Reference,
    /// How long one Git operation may take.
    pub timeout: Duration,
    /// Time to the next look, before jitter.
    pub interval: Duration,
    /// The directories to take, without a leading `./`; empty for all.
    pub sparse: Vec<String>,
    /// Whether submodules are fetched. As in Flux a sparse checkout has none.
    pub submodules: bool,
}

/// Checks a spec with its Secrets.
///
/// # Errors
/// See [`ValidationError`]. The order of the checks is Flux's.
pub fn validate(
    namespace: &str,
    spec: &GitRepositorySpec,
    secrets: &Secrets,
    object_level_identity: bool,
) -> Result<ValidSpec, ValidationError> {
    let url = Url::parse(&spec.url).map_err(|error| ValidationError::Url {
        url: without_credentials(&spec.url),
        reason: error.to_string(),
    })?;
    let credentials =
        GitCredentials::new(&url, secrets.credentials.as_ref()).map_err(|error| match error {
            AuthError::BasicAndBearer => ValidationError::ConflictingCredentials(error),
            error => ValidationError::Credentials(error),
        })?;
    check_passphrase(namespace, &credentials, secrets.credentials.as_ref())?;
    let login = login(
        namespace,
        spec,
        secrets.credentials.as_ref(),
        object_level_identity,
    )?;
    Ok(ValidSpec {
        login,
        url,
        remote: remote(&spec.url, credentials, secrets.proxy.as_ref())?,
        reference: reference(spec),
        timeout: duration("spec.timeout", spec.timeout.as_ref())?.unwrap_or(DEFAULT_TIMEOUT),
        interval: duration("spec.interval", Some(&spec.interval))?.unwrap_or_default(),
        submodules: spec.recurse_submodules && spec.sparse_checkout.is_empty(),
        sparse: spec
            .sparse_checkout
            .iter()
            .map(|directory| directory.strip_prefix("./").unwrap_or(directory).to_owned())
            .collect(),
    })
}

fn check_passphrase(
    namespace: &str,
    credentials: &GitCredentials,
    secret: Option<&SecretData>,
) -> Result<(), ValidationError> {
    match (credentials, secret) {
        (GitCredentials::Ssh { identity, .. }, Some(secret))
            if identity.passphrase.is_none() && sluice_git::is_encrypted(identity.private_key.expose()) =>
        {
            let name = format!("{namespace}/{}", secret.name().name);
            Err(ValidationError::PassphraseMissing(name))
        }
        _ => Ok(()),
    }
}

fn login(
    namespace: &str,
    spec: &GitRepositorySpec,
    secret: Option<&SecretData>,
    object_level_identity: bool,
) -> Result<Login, ValidationError> {
    match spec.provider {
        Some(GitProvider::Azure | GitProvider::Aws)
            if spec.service_account_name.is_some() && !object_level_identity =>
        {
            Err(ValidationError::IdentityDisabled)
        }
        Some(GitProvider::Azure) => Ok(Login::Azure),
        Some(GitProvider::Aws) => Ok(Login::Aws),
        Some(GitProvider::GitHub) => github_app(secret.ok_or(ValidationError::AppWithoutSecret)?),
        _ => match secret.filter(|secret| secret.get(keys::GITHUB_APP_ID).is_some_and(|id| !id.is_empty())) {
            Some(secret) => Err(ValidationError::AppWithoutProvider(format!(
                "{namespace}/{}",
                secret.name().name
            ))),
            None => Ok(Login::Secret),
        },
    }
}

/// The App of a Secret. As in Flux half of a basic authentication beside it is refused, and half of a certificate
/// passed over.
fn github_app(secret: &SecretData) -> Result<Login, ValidationError> {
    match secret.basic_auth() {
        Err(error) if !error.is_key_not_found() => return Err(ValidationError::Credentials(error)),
        _ => {}
    }
    let app = secret.github_app().map_err(|error| {
        if error.is_key_not_found() {
            ValidationError::SecretWithoutApp
        } else {
            ValidationError::Credentials(error)
        }
    })?;
    let tls = match secret.tls() {
        Ok(tls) => Some(tls),
        Err(AuthError::NoCertificates(_) | AuthError::HalfCertificate { .. }) => None,
        Err(error) => return Err(ValidationError::Credentials(error)),
    };
    Ok(Login::GitHubApp { app, tls })
}

fn remote(url: &str, credentials: GitCredentials, proxy: Option<&Proxy>) -> Result<Remote, ValidationError> {
    let invalid = |error: UrlError| ValidationError::Url {
        url: without_credentials(url),
        reason: error.to_string(),
    };
    let mut remote = Remote::new(RemoteUrl::parse(url).map_err(invalid)?);
    let secret = |bytes: &sluice_auth::SecretBytes| Secret::new(bytes.expose());
    let (credentials, authorities, client) = match credentials {
        GitCredentials::Http {
            credentials,
            authorities,
            client,
        } => (credentials, authorities, client),
        // A proxy is for HTTP.
        GitCredentials::Ssh { user, identity } => {
            remote.ssh = Some(SshCredentials {
                user,
                identity: secret(&identity.private_key),
                passphrase: identity.passphrase.as_ref().map(secret),
                known_hosts: identity.known_hosts,
                algorithms: SshAlgorithms::default(),
            });
            return Ok(remote);
        }
    };
    remote.authentication = authentication(&credentials);
    remote.tls = sluice_git::Tls {
        certificate_authorities: authorities,
        client_certificate: client.map(|client| ClientCertificate {
            key: secret(&client.private_key),
            certificate: client.chain,
        }),
    };
    remote.proxy = proxy.map(|proxy| sluice_git::Proxy {
        address: proxy.url.to_string(),
        username: proxy
            .credentials
            .as_ref()
            .map(|credentials| credentials.username.clone()),
        password: proxy
            .credentials
            .as_ref()
            .map(|credentials| secret(&credentials.password)),
    });
    Ok(remote)
}

/// How credentials are shown over HTTP.
pub(super) fn authentication(credentials: &HttpCredentials) -> Authentication {
    match credentials {
        HttpCredentials::Anonymous => Authentication::None,
        HttpCredentials::Basic(basic) => Authentication::Basic {
            username: basic.username.clone(),
            password: Secret::new(basic.password.expose()),
        },
        HttpCredentials::Bearer(token) => Authentication::Bearer(Secret::new(token.expose())),
    }
}

fn reference(spec: &GitRepositorySpec) -> Reference {
    let Some(wanted) = &spec.reference else {
        return Reference::default();
    };
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    Reference {
        branch: text(&wanted.branch),
        tag: text(&wanted.tag),
        semver: text(&wanted.semver),
        name: text(&wanted.name),
        commit: text(&wanted.commit),
    }
}

fn duration(field: &'static str, value: Option<&GoDuration>) -> Result<Option<Duration>, ValidationError> {
    value
        .map(GoDuration::to_std)
        .transpose()
        .map_err(|reason| ValidationError::Duration { field, reason })
}

/// An address for a message: what could be a password is left out even where the text is no URL.
fn without_credentials(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, host)) => format!("{scheme}://{host}"),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(fields: &serde_json::Value) -> GitRepositorySpec {
        let mut whole = serde_json::json!({"url": "https://example.com/r.git", "interval": "1m"});
        whole
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    fn secrets(data: &[(&str, &str)]) -> Secrets {
        let credentials = SecretData::new("apps", "login", data.iter().map(|(key, value)| (*key, *value)));
        Secrets {
            credentials: Some(credentials),
            proxy: None,
        }
    }

    fn message(spec: &GitRepositorySpec, secrets: &Secrets) -> String {
        let error = validate("apps", spec, secrets, false).unwrap_err();
        let converted = sluice_runtime::ReconcileError::from(error);
        format!("{:?} {} {}", converted.class, converted.reason, converted.message)
    }

    #[test]
    fn specs_that_make_no_sense_are_named_with_class_and_reason() {
        let app = [
            ("githubAppID", "1"),
            ("githubAppPrivateKey", "k"),
            ("githubAppInstallationID", "2"),
        ];
        let none = Secrets::default();
        let cases = [
            (
                spec(&serde_json::json!({"url": "https://u:hunter2@exa mple/r"})),
                none.clone(),
                "Stalled URLInvalid failed to parse url 'https://exa mple/r': invalid international domain name",
            ),
            (
                spec(&serde_json::json!({"provider": "github"})),
                none.clone(),
                "Stalled InvalidProviderConfiguration secretRef with github app data must be specified when provider is set to github",
            ),
            (
                spec(&serde_json::json!({"provider": "github"})),
                secrets(&[("username", "u"), ("password", "p")]),
                "Backoff InvalidProviderConfiguration secretRef with github app data must be specified when provider is set to github",
            ),
            (
                spec(&serde_json::json!({})),
                secrets(&app),
                "Backoff InvalidProviderConfiguration secretRef 'apps/login' has github app data but provider is not set to github",
            ),
            (
                spec(&serde_json::json!({"provider": "aws", "serviceAccountName": "sa"})),
                none.clone(),
                "Stalled FeatureGateDisabled to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller",
            ),
            (
                spec(&serde_json::json!({})),
                secrets(&[("password", "p")]),
                "Backoff AuthenticationFailed failed to configure authentication options: invalid 'https' auth option: 'password' requires 'username' to be set",
            ),
            (
                spec(&serde_json::json!({"url": "https://a:b@example.com/r"})),
                secrets(&[("bearerToken", "t")]),
                "Backoff GitOperationFailed failed to checkout and determine revision: basic auth and bearer token cannot be set at the same time",
            ),
            (
                spec(&serde_json::json!({"url": "ssh://git@example.com/r"})),
                none,
                "Backoff AuthenticationFailed failed to configure authentication options: invalid 'ssh' auth option: 'identity' is required",
            ),
        ];
        for (spec, secrets, expected) in cases {
            assert_eq!(message(&spec, &secrets), expected);
        }
    }

    #[test]
    fn the_provider_says_who_gives_the_credentials() {
        let app = [
            ("githubAppID", "1"),
            ("githubAppPrivateKey", "hunter2"),
            ("githubAppInstallationID", "2"),
        ];
        let login = |provider: &str, data: &[(&str, &str)]| {
            let spec = spec(&serde_json::json!({"provider": provider}));
            validate("apps", &spec, &secrets(data), false).map(|valid| valid.login)
        };
        assert!(matches!(login("generic", &[]), Ok(Login::Secret)));
        assert!(matches!(login("azure", &[]), Ok(Login::Azure)));
        assert!(matches!(login("aws", &[]), Ok(Login::Aws)));
        let github = login("github", &app).unwrap();
        assert!(
            matches!(&github, Login::GitHubApp { tls: None, .. }),
            "{github:?}"
        );
        assert!(!format!("{github:?}").contains("hunter2"));
        let half = [("username", "u")];
        let error = login("github", &[&app[..], &half].concat()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to configure authentication options: secret 'apps/login': malformed basic auth - has 'username' but missing 'password'"
        );
        let both = [("githubAppInstallationOwner", "o")];
        let error = login("github", &[&app[..], &both].concat()).unwrap_err();
        assert!(matches!(error, ValidationError::Credentials(_)), "{error:?}");
    }

    #[test]
    fn ssh_takes_user_and_host_from_the_url_and_the_rest_from_the_secret() {
        // SRC-002
        let spec =
            spec(&serde_json::json!({"url": "ssh://me@example.com:2222/r", "proxySecretRef": {"name": "p"}}));
        let secrets = secrets(&[("identity", "k"), ("known_hosts", "h"), ("password", "p")]);
        let remote = validate("apps", &spec, &secrets, false).unwrap().remote;
        assert_eq!(remote.url.as_str(), "ssh://me@example.com:2222/r");
        let ssh = remote.ssh.unwrap();
        assert_eq!(
            (ssh.user.as_str(), ssh.known_hosts.as_slice()),
            ("me", b"h".as_slice())
        );
        assert_eq!(
            (ssh.identity, ssh.passphrase),
            (Secret::new("k"), Some(Secret::new("p")))
        );
    }

    #[test]
    fn a_sound_spec_keeps_its_reference_and_trims_sparse_directories() {
        let spec = spec(&serde_json::json!({
            "ref": {"branch": "main", "tag": "v1"},
            "sparseCheckout": ["./apps", "base"],
            "timeout": "10s",
        }));
        let valid = validate(
            "apps",
            &spec,
            &secrets(&[("username", "u"), ("password", "p")]),
            false,
        )
        .unwrap();
        assert_eq!(
            valid.reference,
            Reference {
                branch: "main".into(),
                tag: "v1".into(),
                ..Reference::default()
            }
        );
        assert_eq!(valid.sparse, ["apps", "base"]);
        assert_eq!(
            (valid.timeout, valid.interval),
            (Duration::from_secs(10), Duration::from_secs(60))
        );
        assert!(matches!(
            valid.remote.authentication,
            Authentication::Basic { .. }
        ));
        assert!(!format!("{valid:?}").contains("\"p\""));
    }
}
