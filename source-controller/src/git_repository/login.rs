//! Step two and a half: get the credentials that a cloud or GitHub gives.

use sluice_auth::aws::Aws;
use sluice_auth::azure::Azure;
use sluice_auth::{
    GitHubAppClient, GitHubAppError, HttpCredentials, IdentityError, InvolvedObject, Proxy, Requester,
    WorkloadIdentity, operations,
};
use sluice_runtime::ObjectKey;

use super::KIND;
use super::validate::{Login, ValidSpec, authentication};

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// GitHub gives none.
    #[error("failed to configure authentication options: {0}")]
    GitHubApp(#[from] GitHubAppError),
    /// The cloud gives none.
    #[error("failed to configure authentication options: {0}")]
    Cloud(#[from] IdentityError),
}

/// What the metrics of tokens call a GitRepository.
pub fn involved(key: &ObjectKey) -> InvolvedObject {
    InvolvedObject {
        kind: KIND,
        name: key.name.clone(),
        namespace: key.namespace.clone(),
        operation: operations::RECONCILE,
    }
}

/// Gets credentials from whom the spec names, and puts them in place of those of Secret and URL. Over SSH, which
/// none of them is for, what the Secret has stays.
///
/// # Errors
/// See [`LoginError`].
pub async fn log_in(
    spec: &mut ValidSpec,
    identity: &WorkloadIdentity,
    key: &ObjectKey,
    service_account: Option<&str>,
    proxy: Option<&Proxy>,
) -> Result<(), LoginError> {
    let involved = involved(key);
    let requester = Requester {
        service_account,
        proxy,
        involved: &involved,
    };
    let credentials = match &spec.login {
        Login::Secret => return Ok(()),
        Login::GitHubApp { app, tls } => {
            let client = GitHubAppClient::new(app, tls.as_ref(), proxy, false)?;
            let token = client.token(identity.cache(), &involved).await?;
            HttpCredentials::Basic(token.basic_auth())
        }
        Login::Aws => identity
            .git_login(&Aws, &requester, &spec.url)
            .await?
            .credentials
            .clone(),
        Login::Azure => identity
            .git_login(&Azure, &requester, &spec.url)
            .await?
            .credentials
            .clone(),
    };
    spec.remote.authentication = authentication(&credentials);
    Ok(())
}
