//! Kustomization: a directory of an artifact, built, applied, watched and pruned.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kustomize::{GROUP, KustomizationStatus};
use crate::macros::{custom_resource, reconciled};
use crate::meta::{
    CommonMetadata, CustomHealthCheck, DependencyReference, GoDuration, IgnoreRule, Image,
    KubeConfigReference, LocalObjectReference, NamespacedObjectKindReference, Patch,
};
use crate::resource::{Definition, PrinterColumn};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A directory in a source's artifact whose build is applied to a cluster and kept as it was built.
    pub struct Kustomization { spec: KustomizationSpec, status: KustomizationStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "Kustomization",
        plural: "kustomizations",
        singular: "kustomization",
        short_names: &["ks"],
        categories: &["all", "fluxcd", "fluxcd-appliers"],
        columns: &[PrinterColumn::AGE, PrinterColumn::READY, PrinterColumn::STATUS],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(Kustomization);

/// What to build, from where, and how to apply it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationSpec {
    /// Notes about its making that kustomize adds to each object, as annotations.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub build_metadata: Vec<BuildMetadata>,
    /// Labels and annotations for every object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// Kustomize components to add, as paths relative to `path`.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub components: Vec<String>,
    /// How to decrypt files of the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decryption: Option<Decryption>,
    /// What happens to applied objects when the Kustomization is deleted; MirrorPrune when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub deletion_policy: Option<DeletionPolicy>,
    /// Kustomizations that must be ready before this one is applied.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub depends_on: Vec<DependencyReference>,
    /// Delete and create anew objects that cannot be changed because a field is immutable.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    #[schemars(extend("default" = false))]
    pub force: bool,
    /// CEL expressions for the health of kinds that have no readiness of their own.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub health_check_exprs: Vec<CustomHealthCheck>,
    /// Objects to wait for after applying. Those without an API version are of `apps/v1`.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub health_checks: Vec<NamespacedObjectKindReference>,
    /// Fields whose drift is not corrected.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub ignore: Vec<IgnoreRule>,
    /// Pass over components whose path does not exist, instead of failing.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub ignore_missing_components: bool,
    /// Container images to replace; merged with those of the kustomization file.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub images: Vec<Image>,
    /// How often to apply, and so to correct drift. Some jitter is added to spread the load.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// Access to the cluster to apply to; the controller's own when not given. `serviceAccountName` then means
    /// an account in that cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfigReference>,
    /// Text to put before the name of every object.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 200, "minLength" = 1))]
    pub name_prefix: Option<String>,
    /// Text to put after the name of every object.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 200, "minLength" = 1))]
    pub name_suffix: Option<String>,
    /// Changes to built objects; they come after those of the kustomization file.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub patches: Vec<Patch>,
    /// Directory in the artifact to build; the root when not given. Where it has no kustomization file, one
    /// that lists all manifests below it is made up.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<String>,
    /// What to do with the built manifests before they are applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_build: Option<PostBuild>,
    /// Whether objects that are no longer built are deleted.
    pub prune: bool,
    /// How soon to try again after a failure; `interval` when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub retry_interval: Option<GoDuration>,
    /// A ServiceAccount in the same namespace whose rights limit what can be applied.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub service_account_name: Option<String>,
    /// The source whose artifact is built.
    pub source_ref: CrossNamespaceSourceReference,
    /// Leave the Kustomization alone until this is taken back. Work that has begun is finished.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// Namespace for all objects; it overrides that of the kustomization file.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 63, "minLength" = 1))]
    pub target_namespace: Option<String>,
    /// How long validation, applying and health checks may take. When not given, 30 seconds less than
    /// `interval`, but at least 30 seconds.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub timeout: Option<GoDuration>,
    /// Wait until every applied object is healthy. `healthChecks` is then not looked at.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub wait: bool,
}

string_enum! {
    /// A note that kustomize adds to each object.
    pub enum BuildMetadata {
        /// Where the object came from, as `config.kubernetes.io/origin`.
        OriginAnnotations = "originAnnotations",
        /// What changed the object, as `alpha.config.kubernetes.io/transformations`.
        TransformerAnnotations = "transformerAnnotations",
    }
}

/// How encrypted files are decrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decryption {
    /// The format of encryption.
    pub provider: DecryptionProvider,
    /// A Secret with private keys or with credentials for key services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// A ServiceAccount in the same namespace whose identity is used with key services.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub service_account_name: Option<String>,
}

string_enum! {
    /// A format of encrypted files.
    pub enum DecryptionProvider {
        /// SOPS.
        Sops = "sops",
    }
}

string_enum! {
    /// What happens to applied objects when the object that applied them is deleted.
    pub enum DeletionPolicy {
        /// They are deleted if `prune` is set, else kept.
        MirrorPrune = "MirrorPrune",
        /// They are deleted.
        Delete = "Delete",
        /// They are deleted, and the deletion ends when they are gone or the timeout has passed.
        WaitForTermination = "WaitForTermination",
        /// They are kept.
        Orphan = "Orphan",
    }
}

/// Substitution of variables in built manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostBuild {
    /// Variables with their values. They win over those of `substituteFrom`. Manifests use them as `${name}`,
    /// `${name:=default}`, `${name:offset}`, `${name/substring/replacement}` and in further forms.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub substitute: BTreeMap<String, String>,
    /// ConfigMaps and Secrets whose keys are variables; later ones win.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub substitute_from: Vec<SubstituteReference>,
    /// When to substitute; WithVariables when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub substitute_strategy: Option<SubstituteStrategy>,
}

/// A ConfigMap or Secret with variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubstituteReference {
    /// Secret or ConfigMap.
    pub kind: SubstituteReferenceKind,
    /// Name of the object, in the same namespace.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
    /// Go on without the object if it does not exist.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    #[schemars(extend("default" = false))]
    pub optional: bool,
}

string_enum! {
    /// Kind of an object with variables.
    pub enum SubstituteReferenceKind {
        /// A Secret.
        Secret = "Secret",
        /// A ConfigMap.
        ConfigMap = "ConfigMap",
    }
}

string_enum! {
    /// When variables are substituted.
    pub enum SubstituteStrategy {
        /// Only if at least one variable is defined.
        WithVariables = "WithVariables",
        /// Always, so that defaults apply even if no variable is defined.
        Always = "Always",
    }
}

/// A source, in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrossNamespaceSourceReference {
    /// API group and version of the source.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// Kind of the source.
    pub kind: SourceKind,
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
    /// Kind of a source that a Kustomization can be built from.
    pub enum SourceKind {
        /// An OCI artifact.
        OciRepository = "OCIRepository",
        /// A Git repository.
        GitRepository = "GitRepository",
        /// A bucket of an object store.
        Bucket = "Bucket",
        /// An artifact that another controller made.
        ExternalArtifact = "ExternalArtifact",
    }
}
