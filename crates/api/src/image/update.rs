//! ImageUpdateAutomation: commits that write chosen images into manifests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::image::{CATEGORIES, GROUP, ImageReference};
use crate::macros::{custom_resource, reconciled};
use crate::meta::{Condition, GoDuration, LabelSelector, LocalObjectReference, Timestamp};
use crate::resource::{Definition, PrinterColumn};
use crate::source::GitRepositoryReference;
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A Git repository whose manifests follow the choices of ImagePolicies, by commits.
    pub struct ImageUpdateAutomation { spec: ImageUpdateAutomationSpec, status: ImageUpdateAutomationStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "ImageUpdateAutomation",
        plural: "imageupdateautomations",
        singular: "imageupdateautomation",
        short_names: &["iua", "imgupd", "imgauto"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::READY,
            PrinterColumn::STATUS,
            PrinterColumn::wide("Last run", ".status.lastAutomationRunTime"),
            PrinterColumn::AGE,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(ImageUpdateAutomation);

/// Which repository to update, with which policies, and how to commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageUpdateAutomationSpec {
    /// How to check out, commit and push.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSpec>,
    /// How often to look for updates at least. Some jitter is added to spread the load.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// Policies in the same namespace to update from; all when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_selector: Option<LabelSelector>,
    /// The GitRepository to update.
    pub source_ref: AutomationSourceReference,
    /// Leave the repository alone until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// How to update files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = { "strategy": "Setters" }))]
    pub update: Option<UpdateSpec>,
}

/// How to check out, commit and push.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitSpec {
    /// What to start from; the reference of the GitRepository when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<GitCheckout>,
    /// How to commit.
    pub commit: CommitSpec,
    /// Where to push; to the branch that was checked out when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushSpec>,
}

/// What to start from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitCheckout {
    /// The reference to check out.
    #[serde(rename = "ref")]
    pub reference: GitRepositoryReference,
}

/// How to commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitSpec {
    /// Who commits.
    pub author: CommitAuthor,
    /// A Go template for the message.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub message_template: Option<String>,
    /// Values for the template, as `.Values`.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub message_template_values: BTreeMap<String, String>,
    /// How to sign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key: Option<SigningKey>,
}

/// Who commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitAuthor {
    /// Mail address.
    pub email: String,
    /// Name.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
}

/// How to sign commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SigningKey {
    /// A Secret with the private key (`git.asc` for PGP, `identity` for SSH) and, if needed, its `passphrase` or
    /// `password`.
    pub secret_ref: LocalObjectReference,
    /// Kind of the key; gpg when not given.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub key_type: Option<SigningKeyType>,
}

string_enum! {
    /// Kind of a key that commits are signed with.
    pub enum SigningKeyType {
        /// PGP.
        Gpg = "gpg",
        /// SSH.
        Ssh = "ssh",
    }
}

/// Where to push.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushSpec {
    /// The branch to push to; it is created if it does not exist.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub branch: Option<String>,
    /// Push options, for servers that know them.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub options: BTreeMap<String, String>,
    /// A Git refspec to push, beside the branch if one is given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refspec: Option<String>,
}

/// A GitRepository, in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationSourceReference {
    /// API group and version of the source.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// Kind of the source.
    #[schemars(extend("default" = "GitRepository"))]
    pub kind: AutomationSourceKind,
    /// Name of the source.
    pub name: String,
    /// Namespace of the source. When not given, the namespace of the object that refers to it.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
}

string_enum! {
    /// Kind of a source that can be updated.
    pub enum AutomationSourceKind {
        /// A Git repository.
        GitRepository = "GitRepository",
    }
}

/// How to update files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSpec {
    /// Directory to look for manifests in; the root when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<String>,
    /// How to find what to update.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "Setters"))]
    pub strategy: Option<UpdateStrategy>,
}

string_enum! {
    /// How to find what to update in files.
    pub enum UpdateStrategy {
        /// By comments beside fields that name a policy.
        Setters = "Setters",
    }
}

/// What was observed of an automation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageUpdateAutomationStatus {
    /// Conditions of the automation.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// When updates were last looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_automation_run_time: Option<Timestamp>,
    /// The last reconcile request that was answered, so that a new one is seen as a change.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reconcile_at: Option<String>,
    /// The commit that was last pushed.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_push_commit: Option<String>,
    /// When a commit was last pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_push_time: Option<Timestamp>,
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The images that were last written, by the name of their policy.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub observed_policies: BTreeMap<String, ImageReference>,
    /// The revision of the source that was last looked at.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_source_revision: Option<String>,
}
