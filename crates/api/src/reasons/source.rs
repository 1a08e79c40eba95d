//! Reasons of sources.

/// The address of the source is not valid.
pub const URL_INVALID: &str = "URLInvalid";
/// Credentials are missing, incomplete, or were refused.
pub const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";
/// The signature is not valid, or could not be checked.
pub const VERIFICATION_ERROR: &str = "VerificationError";
/// The provider and the Secret do not go together.
pub const INVALID_PROVIDER_CONFIGURATION: &str = "InvalidProviderConfiguration";
/// The token service of a bucket does not fit its provider.
pub const INVALID_STS_CONFIGURATION: &str = "InvalidSTSConfiguration";
/// A tag is to be verified where no tag is followed.
pub const INVALID_VERIFICATION_MODE: &str = "InvalidVerificationMode";
/// The object that is to be verified is not there.
pub const INVALID_GIT_OBJECT: &str = "InvalidGitObject";
/// The signature of the tag is not valid.
pub const INVALID_TAG_SIGNATURE: &str = "InvalidTagSignature";
/// The signature of the commit is not valid.
pub const INVALID_COMMIT_SIGNATURE: &str = "InvalidCommitSignature";
/// The repository has no commits.
pub const EMPTY_GIT_REPOSITORY: &str = "EmptyGitRepository";
/// A Git operation failed.
pub const GIT_OPERATION_FAILED: &str = "GitOperationFailed";
/// A Git operation succeeded.
pub const GIT_OPERATION_SUCCEEDED: &str = "GitOperationSucceeded";
/// A bucket could not be listed or read.
pub const BUCKET_OPERATION_FAILED: &str = "BucketOperationFailed";
/// An OCI artifact could not be pulled.
pub const OCI_ARTIFACT_PULL_FAILED: &str = "OCIArtifactPullFailed";
/// The layer of an OCI artifact could not be selected or unpacked.
pub const OCI_ARTIFACT_LAYER_OPERATION_FAILED: &str = "OCIArtifactLayerOperationFailed";
/// The index of a Helm repository could not be fetched or read.
pub const INDEXATION_FAILED: &str = "IndexationFailed";
/// An included artifact has changed.
pub const INCLUDE_CHANGE: &str = "IncludeChange";
/// Upstream has a new revision.
pub const NEW_REVISION: &str = "NewRevision";
/// Upstream has a new chart.
pub const NEW_CHART: &str = "NewChart";
/// A new artifact was stored. Events only.
pub const NEW_ARTIFACT: &str = "NewArtifact";
/// There is nothing new. Events only.
pub const ARTIFACT_UP_TO_DATE: &str = "ArtifactUpToDate";
/// The stored artifact does not match its digest. Events only.
pub const ARTIFACT_VERIFICATION_FAILED: &str = "ArtifactVerificationFailed";
/// An object that is referred to does not exist.
pub const NOT_FOUND: &str = "NotFound";
/// There is no artifact.
pub const NO_ARTIFACT: &str = "NoArtifact";
/// A path leads out of the artifact.
pub const ILLEGAL_PATH: &str = "IllegalPath";
/// The rules of what to ignore could not be read.
pub const SOURCE_IGNORE_ERROR: &str = "SourceIgnoreError";
/// The source of a chart is not available.
pub const SOURCE_UNAVAILABLE: &str = "SourceUnavailable";
/// Charts cannot come from a source of this kind.
pub const UNSUPPORTED_SOURCE_KIND: &str = "UnsupportedSourceKind";
/// The source of a chart has no artifact.
pub const NO_SOURCE_ARTIFACT: &str = "NoSourceArtifact";
/// The name or version of a chart is not valid, or there is no such chart.
pub const INVALID_CHART_REFERENCE: &str = "InvalidChartReference";
/// A chart could not be pulled.
pub const CHART_PULL_ERROR: &str = "ChartPullError";
/// A chart was pulled.
pub const CHART_PULL_SUCCEEDED: &str = "ChartPullSucceeded";
/// The metadata of a chart could not be changed.
pub const METADATA_PATCH_ERROR: &str = "MetadataPatchError";
/// The values files of a chart could not be merged.
pub const VALUES_FILES_ERROR: &str = "ValuesFilesError";
/// The dependencies of a chart could not be built.
pub const DEPENDENCY_BUILD_ERROR: &str = "DependencyBuildError";
/// A chart could not be packaged.
pub const CHART_PACKAGE_ERROR: &str = "ChartPackageError";
/// A chart was packaged.
pub const CHART_PACKAGE_SUCCEEDED: &str = "ChartPackageSucceeded";
/// The signature of a chart could not be verified.
pub const CHART_VERIFICATION_ERROR: &str = "ChartVerificationError";
/// A chart could not be built for a reason without a name of its own.
pub const UNKNOWN: &str = "Unknown";
/// A directory could not be made.
pub const DIRECTORY_CREATION_FAILED: &str = "DirectoryCreationFailed";
/// A file could not be examined.
pub const STAT_OPERATION_FAILED: &str = "StatOperationFailed";
/// A file could not be read.
pub const READ_OPERATION_FAILED: &str = "ReadOperationFailed";
/// The lock of an artifact could not be taken.
pub const ACQUIRE_LOCK_FAILED: &str = "AcquireLockFailed";
/// A path is not valid.
pub const INVALID_PATH: &str = "InvalidPath";
/// An archive could not be written.
pub const ARCHIVE_OPERATION_FAILED: &str = "ArchiveOperationFailed";
/// The link to the latest artifact could not be updated.
pub const SYMLINK_UPDATE_FAILED: &str = "SymlinkUpdateFailed";
/// The cache failed.
pub const CACHE_OPERATION_FAILED: &str = "CacheOperationFailed";
/// A patch of an object failed.
pub const PATCH_OPERATION_FAILED: &str = "PatchOperationFailed";
/// Old artifacts could not be removed. Events only.
pub const GARBAGE_COLLECTION_FAILED: &str = "GarbageCollectionFailed";
/// Old artifacts were removed. Events only.
pub const GARBAGE_COLLECTION_SUCCEEDED: &str = "GarbageCollectionSucceeded";
