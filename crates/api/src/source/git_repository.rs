//! GitRepository: an artifact for each new commit that a Git reference comes to point to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::{custom_resource, reconciled};
use crate::meta::{Artifact, Condition, GoDuration, LocalObjectReference};
use crate::resource::{Definition, PrinterColumn};
use crate::source::{CATEGORIES, GROUP};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A Git repository, a reference in it, and the artifact made from the commit that it points to.
    pub struct GitRepository { spec: GitRepositorySpec, status: GitRepositoryStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "GitRepository",
        plural: "gitrepositories",
        singular: "gitrepository",
        short_names: &["gitrepo"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::text("URL", ".spec.url"),
            PrinterColumn::AGE,
            PrinterColumn::READY,
            PrinterColumn::STATUS,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(GitRepository);

/// Which repository and reference to follow, and how to reach and check it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::rule(
    "!has(self.serviceAccountName) || (has(self.provider) && (self.provider == 'azure' || self.provider == 'aws'))",
    "serviceAccountName can only be set when provider is 'azure' or 'aws'",
)]))]
pub struct GitRepositorySpec {
    /// What to leave out of the artifact, as lines in the syntax of .gitignore. Without it, and without
    /// .sourceignore files in the repository, a built-in list of media and build files applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,
    /// Artifacts of other repositories to put into this one's artifact.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub include: Vec<GitRepositoryInclude>,
    /// How often to look for a new commit. Some jitter is added to spread the load.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// Which service's way to authenticate to use; generic when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider: Option<GitProvider>,
    /// A Secret with the proxy to use: `address` and, if needed, `username` and `password`. For HTTP only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// Whether submodules are fetched too, with the settings that the repository has for them.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub recurse_submodules: bool,
    /// The reference to follow; the branch master when not given.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<GitRepositoryReference>,
    /// A Secret with credentials. For HTTPS `username` and `password`, or `bearerToken`; and, if needed,
    /// `ca.crt`, `tls.crt` and `tls.key`. For SSH `identity` and `known_hosts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// A ServiceAccount in the same namespace whose identity is used with the providers azure and aws.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub service_account_name: Option<String>,
    /// Directories to put into the artifact; the whole repository when not given.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub sparse_checkout: Vec<String>,
    /// Leave the repository alone until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// How long an operation such as a fetch may take.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "60s", "pattern" = schema::TIMEOUT))]
    pub timeout: Option<GoDuration>,
    /// Address of the repository, over HTTP, HTTPS or SSH.
    #[schemars(extend("pattern" = "^(http|https|ssh)://.*$"))]
    pub url: String,
    /// Signatures to require.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<GitVerification>,
}

string_enum! {
    /// Whose way to authenticate is used for a Git repository.
    pub enum GitProvider {
        /// Any Git server, with the credentials of the Secret.
        Generic = "generic",
        /// AWS CodeCommit.
        Aws = "aws",
        /// Azure DevOps, with a workload identity.
        Azure = "azure",
        /// GitHub, as a GitHub App.
        GitHub = "github",
    }
}

/// Another repository's artifact to include, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryInclude {
    /// Directory to copy from; the root of the included artifact when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub from_path: Option<String>,
    /// The GitRepository, in the same namespace, whose artifact is included.
    pub repository: LocalObjectReference,
    /// Directory to copy to; one named like the repository when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub to_path: Option<String>,
}

/// What to follow. When several fields are given, the order of precedence is commit, name, tag, semver,
/// branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryReference {
    /// A branch. It is master when no other field is given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub branch: Option<String>,
    /// A commit by its full hash. With a branch beside it, only that branch is fetched, and the commit must be
    /// on it.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub commit: Option<String>,
    /// A reference by its full name, such as `refs/heads/main`, `refs/tags/v0.1.0`, `refs/pull/420/head`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// A range of semantic versions; the highest tag in it is taken.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub semver: Option<String>,
    /// A tag.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tag: Option<String>,
}

/// Which signatures must be there, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitVerification {
    /// What must be signed.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "HEAD"))]
    pub mode: Option<GitVerificationMode>,
    /// A Secret with the public keys of trusted authors: PGP keys under names that end in `.asc`, SSH keys
    /// under names that end in `.sshpub`.
    pub secret_ref: LocalObjectReference,
}

string_enum! {
    /// What must be signed in a Git repository.
    pub enum GitVerificationMode {
        /// Old name of Head.
        LowerCaseHead = "head",
        /// The commit that the reference points to.
        Head = "HEAD",
        /// The tag that is followed.
        Tag = "Tag",
        /// Both the tag and the commit that it points to.
        TagAndHead = "TagAndHEAD",
    }
}

/// What was observed of a Git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryStatus {
    /// The artifact of the last commit that could be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Conditions of the repository.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// Artifacts that were put into this one, in the order of the includes.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub included_artifacts: Vec<Artifact>,
    /// The last reconcile request that was answered, so that a new one is seen as a change.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reconcile_at: Option<String>,
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The ignore rules that the artifact was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
    /// The includes that the artifact was made with.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub observed_include: Vec<GitRepositoryInclude>,
    /// Whether the artifact was made with submodules.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub observed_recurse_submodules: bool,
    /// The directories that the artifact was limited to.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub observed_sparse_checkout: Vec<String>,
    /// What was verified in the commit that the artifact was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub source_verification_mode: Option<GitVerificationMode>,
}
