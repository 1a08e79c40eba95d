//! Between fetch and build: whether the commit is signed by somebody who is trusted.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use sluice_api::source::{GitRepositorySpec, GitRepositoryStatus, GitVerification, GitVerificationMode};
use sluice_auth::SecretData;
use sluice_git::{Checkout, Reference, VerificationError, VerificationKeys};

use super::dereference::describe;

/// Why a commit is not trusted.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// The Secret with the keys cannot be read.
    #[error("public keys secret error: {0}")]
    Secret(String),
    /// A tag is to be signed, and the reference is none.
    #[error("cannot verify tag object's signature if a tag reference is not specified")]
    NoTag,
    /// The tag is not signed, or has no object that could be.
    #[error("cannot verify signature of tag '{0}' since it is not signed")]
    UnsignedTag(String),
    /// The tag's signature is not to be trusted.
    #[error("signature verification of tag '{tag}' failed: {reason}")]
    Tag {
        /// The tag's name and object.
        tag: String,
        /// Why.
        #[source]
        reason: VerificationError,
    },
    /// The commit's signature is not to be trusted.
    #[error("signature verification of commit '{commit}' failed: {reason}")]
    Commit {
        /// The commit's hash.
        commit: String,
        /// Why.
        #[source]
        reason: VerificationError,
    },
}

/// Reads the trusted keys.
///
/// # Errors
/// There is no such Secret in the object's namespace.
pub async fn read_keys(
    client: &Client,
    namespace: &str,
    verification: &GitVerification,
) -> Result<VerificationKeys, SignatureError> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = api
        .get(&verification.secret_ref.name)
        .await
        .map_err(|error| SignatureError::Secret(describe(&error)))?;
    let data = SecretData::from(secret);
    Ok(VerificationKeys::from_entries(
        data.iter().map(|(name, value)| (name, value.expose())),
    ))
}

/// Verifies what the mode asks for, and says what was verified with which keys.
///
/// # Errors
/// See [`SignatureError`].
pub fn verify(
    checkout: &Checkout,
    reference: &Reference,
    mode: &GitVerificationMode,
    keys: &VerificationKeys,
    now: Timestamp,
) -> Result<String, SignatureError> {
    let mut message = "verified signature of".to_owned();
    if verifies_tag(mode) {
        let name = reference
            .followed_tag(&checkout.revision)
            .ok_or(SignatureError::NoTag)?;
        let tag = checkout
            .tag
            .as_ref()
            .ok_or_else(|| SignatureError::UnsignedTag(name.to_owned()))?;
        let printed = format!("{}@{}", tag.name, tag.id);
        if tag.signature.is_none() {
            return Err(SignatureError::UnsignedTag(printed));
        }
        let key = match tag.verify(keys, now) {
            Ok(key) => key,
            Err(reason) => return Err(SignatureError::Tag { tag: printed, reason }),
        };
        message.push_str(&format!("\n\t- tag '{printed}' with key '{key}'"));
    }
    if *mode != GitVerificationMode::Tag {
        let commit = checkout.commit.id.to_string();
        let key = match checkout.commit.verify(keys, now) {
            Ok(key) => key,
            Err(reason) => return Err(SignatureError::Commit { commit, reason }),
        };
        message.push_str(&format!("\n\t- commit '{commit}' with key '{key}'"));
    }
    Ok(message)
}

/// The mode that a spec asks for, its old name replaced.
pub fn mode(verification: &GitVerification) -> GitVerificationMode {
    match &verification.mode {
        Some(mode @ (GitVerificationMode::Tag | GitVerificationMode::TagAndHead)) => mode.clone(),
        _ => GitVerificationMode::Head,
    }
}

/// Whether a spec asks for more than was verified when the artifact was made.
pub fn is_due(spec: &GitRepositorySpec, status: Option<&GitRepositoryStatus>) -> bool {
    let Some(verification) = &spec.verify else {
        return false;
    };
    let observed = status.and_then(|status| status.source_verification_mode.as_ref());
    match observed {
        None => true,
        Some(GitVerificationMode::TagAndHead) => false,
        Some(observed) => *observed != mode(verification),
    }
}

fn verifies_tag(mode: &GitVerificationMode) -> bool {
    matches!(mode, GitVerificationMode::Tag | GitVerificationMode::TagAndHead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_that_was_not_verified_yet_is_due() {
        use GitVerificationMode::{Head, LowerCaseHead, Tag, TagAndHead};
        let due = |wanted: &GitVerificationMode, observed: Option<&GitVerificationMode>| {
            let spec = GitRepositorySpec {
                verify: Some(GitVerification {
                    mode: Some(wanted.clone()),
                    ..GitVerification::default()
                }),
                ..GitRepositorySpec::default()
            };
            let status = GitRepositoryStatus {
                source_verification_mode: observed.cloned(),
                ..GitRepositoryStatus::default()
            };
            is_due(&spec, Some(&status))
        };
        for mode in &[Head, LowerCaseHead, Tag, TagAndHead] {
            assert!(due(mode, None));
            assert!(!due(mode, Some(&TagAndHead)));
        }
        assert!(!due(&Head, Some(&Head)) && !due(&LowerCaseHead, Some(&Head)) && !due(&Tag, Some(&Tag)));
        assert!(due(&Head, Some(&Tag)) && due(&TagAndHead, Some(&Tag)));
        assert!(due(&Tag, Some(&Head)) && due(&TagAndHead, Some(&Head)));
        assert!(!is_due(&GitRepositorySpec::default(), None));
    }
}
