//! Where the process itself has credentials of AWS from: the SDK's default chain, without starting programs.

use super::metadata::{container_address, container_credentials, instance_credentials};
use super::shared_config::Profile;
use super::sts::{WebIdentity, assume_role_with_web_identity};
use super::{AwsCredentials, ProviderError};
use crate::environment::Environment;
use crate::provider::Exchange;
use crate::secret::SecretBytes;

/// The credentials of the process: keys of the environment, else a web identity of the environment, else what the
/// shared files say, else those of the container, else those of the instance.
pub(super) async fn credentials(
    exchange: &Exchange<'_>,
    region: &str,
) -> Result<AwsCredentials, ProviderError> {
    let environment = exchange.environment;
    if let Some(credentials) = environment_credentials(environment) {
        return Ok(credentials);
    }
    if let Some(file) = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE") {
        let role = environment.get("AWS_ROLE_ARN").ok_or_else(|| {
            ProviderError::configuration(
                "AWS_WEB_IDENTITY_TOKEN_FILE is set in the environment, but AWS_ROLE_ARN is not",
            )
        })?;
        let session = environment.get("AWS_ROLE_SESSION_NAME");
        return web_identity(exchange, region, &file, &role, session).await;
    }
    let profile = Profile::read(environment).await?;
    if let Some(credentials) = profile_credentials(&profile)? {
        return Ok(credentials);
    }
    if let Some(file) = profile.get("web_identity_token_file") {
        let role = profile.get("role_arn").ok_or_else(|| {
            ProviderError::configuration("web_identity_token_file is set in the profile, but role_arn is not")
        })?;
        let session = profile.get("role_session_name").map(str::to_owned);
        return web_identity(exchange, region, file, role, session).await;
    }
    match container_address(environment)? {
        Some(url) => container_credentials(exchange, url).await,
        None => instance_credentials(exchange).await,
    }
}

fn environment_credentials(environment: &Environment) -> Option<AwsCredentials> {
    let either = |first, second| environment.get(first).or_else(|| environment.get(second));
    Some(AwsCredentials {
        access_key_id: either("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY")?,
        secret_access_key: either("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY")?.into(),
        session_token: environment.get("AWS_SESSION_TOKEN").unwrap_or_default().into(),
        expires_at: None,
    })
}

/// Keys of a profile. What a profile may have beside is refused by name rather than passed over.
fn profile_credentials(profile: &Profile) -> Result<Option<AwsCredentials>, ProviderError> {
    const UNSUPPORTED: [&str; 5] = [
        "source_profile",
        "credential_source",
        "credential_process",
        "sso_session",
        "sso_start_url",
    ];
    if let Some(setting) = UNSUPPORTED.iter().find(|setting| profile.get(setting).is_some()) {
        return Err(ProviderError::Configuration(format!(
            "{setting} in the shared config of AWS is not supported: use keys, a web identity, or the identity of the pod"
        )));
    }
    let (Some(id), Some(secret)) = (
        profile.get("aws_access_key_id"),
        profile.get("aws_secret_access_key"),
    ) else {
        return Ok(None);
    };
    Ok(Some(AwsCredentials {
        access_key_id: id.to_owned(),
        secret_access_key: secret.into(),
        session_token: profile.get("aws_session_token").unwrap_or_default().into(),
        expires_at: None,
    }))
}

async fn web_identity(
    exchange: &Exchange<'_>,
    region: &str,
    file: &str,
    role: &str,
    session: Option<String>,
) -> Result<AwsCredentials, ProviderError> {
    let token = tokio::fs::read(file).await.map_err(|error| {
        ProviderError::Configuration(format!(
            "failed to read the web identity token file {file}: {error}"
        ))
    })?;
    let identity = WebIdentity {
        role,
        session: &session.unwrap_or_else(|| format!("sluice-{}", std::process::id())),
        token: &SecretBytes::new(token),
    };
    assume_role_with_web_identity(exchange, region, &identity).await
}
