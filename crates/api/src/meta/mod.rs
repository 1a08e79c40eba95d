//! Types that several kinds share.

mod artifact;
mod condition;
mod duration;
mod inventory;
mod kubeconfig;
mod patch;
mod reference;
mod selector;
mod time;

pub use artifact::Artifact;
pub use condition::{Condition, ConditionStatus};
pub use duration::{DurationError, GoDuration};
pub use inventory::{HistoryEntry, Inventory, InventoryEntry};
pub use kubeconfig::{KubeConfigReference, SecretKeyReference};
pub use patch::{
    CommonMetadata, CustomHealthCheck, DependencyReference, IgnoreRule, Image, Patch, PatchTarget,
};
pub use reference::{LocalObjectReference, NamespacedObjectKindReference, NamespacedObjectReference};
pub use selector::{AccessFrom, LabelSelector, LabelSelectorRequirement, NamespaceSelector};
pub use time::Timestamp;
