//! How the errors of the steps become the error of a reconcile.

use std::time::Duration;

use sluice_api::conditions::source::{
    FETCH_FAILED, INCLUDE_UNAVAILABLE, SOURCE_VERIFIED, STORAGE_OPERATION_FAILED,
};
use sluice_api::reasons::source as reasons;
use sluice_api::reasons::{FAILED, FEATURE_GATE_DISABLED};
use sluice_runtime::{ReconcileError, Severity};

use super::build::BuildError;
use super::dereference::{DereferenceError, IncludeError};
use super::fetch::FetchError;
use super::login::LoginError;
use super::store::StoreError;
use super::validate::ValidationError;
use super::verify::SignatureError;

/// The reason of an include whose contents could not be put into place.
const COPY_FAILURE: &str = "CopyFailure";

impl From<DereferenceError> for ReconcileError {
    fn from(error: DereferenceError) -> Self {
        Self::backoff(reasons::AUTHENTICATION_FAILED, error.to_string())
            .with_condition(FETCH_FAILED)
            .with_source(error)
    }
}

impl IncludeError {
    /// The error of a reconcile that looks again after `wait`.
    pub fn into_reconcile_error(self, wait: Duration) -> ReconcileError {
        let reason = match self {
            Self::NotFound { .. } => reasons::NOT_FOUND,
            Self::NoArtifact { .. } => reasons::NO_ARTIFACT,
        };
        ReconcileError::waiting(wait, reason, self.to_string())
            .with_condition(INCLUDE_UNAVAILABLE)
            .with_event(Severity::Trace)
            .with_source(self)
    }
}

impl From<ValidationError> for ReconcileError {
    fn from(error: ValidationError) -> Self {
        let message = error.to_string();
        let converted = match &error {
            ValidationError::Url { .. } => Self::stalled(reasons::URL_INVALID, message),
            ValidationError::Credentials(_) | ValidationError::PassphraseMissing(_) => {
                Self::backoff(reasons::AUTHENTICATION_FAILED, message)
            }
            ValidationError::ConflictingCredentials(_) => {
                Self::backoff(reasons::GIT_OPERATION_FAILED, message)
            }
            ValidationError::AppWithoutSecret => {
                Self::stalled(reasons::INVALID_PROVIDER_CONFIGURATION, message)
            }
            ValidationError::SecretWithoutApp | ValidationError::AppWithoutProvider(_) => {
                Self::backoff(reasons::INVALID_PROVIDER_CONFIGURATION, message)
            }
            ValidationError::IdentityDisabled => Self::stalled(FEATURE_GATE_DISABLED, message),
            ValidationError::Duration { .. } => Self::stalled(FAILED, message),
        };
        converted.with_condition(FETCH_FAILED).with_source(error)
    }
}

impl From<LoginError> for ReconcileError {
    fn from(error: LoginError) -> Self {
        Self::backoff(reasons::AUTHENTICATION_FAILED, error.to_string())
            .with_condition(FETCH_FAILED)
            .with_source(error)
    }
}

impl From<FetchError> for ReconcileError {
    fn from(error: FetchError) -> Self {
        let reason = match error {
            FetchError::Empty => reasons::EMPTY_GIT_REPOSITORY,
            FetchError::Git(_)
            | FetchError::TooMuch(_)
            | FetchError::SparseDirectory(_)
            | FetchError::BrokenOff => reasons::GIT_OPERATION_FAILED,
        };
        Self::backoff(reason, error.to_string())
            .with_condition(FETCH_FAILED)
            .with_source(error)
    }
}

impl From<SignatureError> for ReconcileError {
    fn from(error: SignatureError) -> Self {
        let message = error.to_string();
        let converted = match &error {
            SignatureError::Secret(_) => Self::backoff(reasons::VERIFICATION_ERROR, message),
            SignatureError::NoTag => Self::stalled(reasons::INVALID_VERIFICATION_MODE, message),
            SignatureError::UnsignedTag(_) => Self::backoff(reasons::INVALID_GIT_OBJECT, message),
            SignatureError::Tag { .. } => Self::backoff(reasons::INVALID_TAG_SIGNATURE, message),
            SignatureError::Commit { .. } => Self::backoff(reasons::INVALID_COMMIT_SIGNATURE, message),
        };
        converted.with_condition(SOURCE_VERIFIED).with_source(error)
    }
}

impl From<BuildError> for ReconcileError {
    fn from(error: BuildError) -> Self {
        let message = error.to_string();
        match &error {
            BuildError::Include { .. } => {
                Self::backoff(COPY_FAILURE, message).with_condition(STORAGE_OPERATION_FAILED)
            }
            // Flux reports a pattern file that cannot be read without a condition of its own.
            BuildError::Ignore(_) => Self::backoff(reasons::SOURCE_IGNORE_ERROR, message),
            // Flux finds these when it checks the commit out.
            BuildError::Malformed(_) | BuildError::TooMuch(_) => {
                Self::backoff(reasons::GIT_OPERATION_FAILED, message).with_condition(FETCH_FAILED)
            }
            BuildError::Tree(_)
            | BuildError::FileTooLarge { .. }
            | BuildError::TooLarge { .. }
            | BuildError::Write(_)
            | BuildError::BrokenOff => Self::backoff(reasons::ARCHIVE_OPERATION_FAILED, message)
                .with_condition(STORAGE_OPERATION_FAILED),
        }
        .with_source(error)
    }
}

impl From<StoreError> for ReconcileError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Build(error) => error.into(),
            StoreError::Directory(_) => Self::backoff(reasons::DIRECTORY_CREATION_FAILED, error.to_string())
                .with_condition(STORAGE_OPERATION_FAILED)
                .with_source(error),
            // Flux reports a lock that cannot be taken without a condition of its own.
            StoreError::Lock(_) => Self::backoff(FAILED, error.to_string()).with_source(error),
            StoreError::Write(_) | StoreError::BrokenOff => {
                Self::backoff(reasons::ARCHIVE_OPERATION_FAILED, error.to_string())
                    .with_condition(STORAGE_OPERATION_FAILED)
                    .with_source(error)
            }
        }
    }
}
