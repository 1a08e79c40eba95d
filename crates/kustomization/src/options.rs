//! How the spec of a Kustomization asks for objects to be applied.

use sluice_api::annotations::KUBECTL_LAST_APPLIED;
use sluice_api::annotations::kustomize::{
    DISABLED, ENABLED, FORCE, OLD_CHECKSUM, OLD_SYNC_CHECKSUM, RECONCILE, SSA,
};
use sluice_api::kustomize::KustomizationSpec;
use sluice_api::labels::{KUSTOMIZE_NAME, KUSTOMIZE_NAMESPACE, OLD_SYNC_GC_MARK};
use sluice_api::managers::{BEFORE_FIRST_APPLY, KUBECTL_PREFIX, KUSTOMIZE_CONTROLLER};
use sluice_apply::{
    ApplyOptions, Cleanup, IgnoreRule, IgnoreRules, IgnoreTarget, ManagerPattern, MetadataSelector, Operation,
};

/// The labels by which objects are known as those of the Kustomization `name` in `namespace`.
pub fn owner_labels(namespace: &str, name: &str) -> Vec<(String, String)> {
    vec![
        (KUSTOMIZE_NAME.to_owned(), name.to_owned()),
        (KUSTOMIZE_NAMESPACE.to_owned(), namespace.to_owned()),
    ]
}

/// The managers whose fields an apply takes over.
pub fn taken_over() -> Vec<ManagerPattern> {
    vec![
        ManagerPattern::new(KUBECTL_PREFIX, Operation::Apply),
        ManagerPattern::new(KUBECTL_PREFIX, Operation::Update),
        ManagerPattern::new(BEFORE_FIRST_APPLY, Operation::Update),
        ManagerPattern::new(KUSTOMIZE_CONTROLLER, Operation::Update),
    ]
}

/// The options of an apply in the name of kustomize-controller with its default flags.
///
/// # Errors
/// A rule of `spec.ignore` that is none, in Flux's words.
pub fn apply_options(spec: &KustomizationSpec) -> Result<ApplyOptions, String> {
    let rules = spec.ignore.iter().map(|rule| IgnoreRule {
        paths: rule.paths.clone(),
        target: rule.target.as_ref().map(|target| {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            IgnoreTarget {
                group: text(&target.group),
                version: text(&target.version),
                kind: text(&target.kind),
                name: text(&target.name),
                namespace: text(&target.namespace),
                annotation_selector: text(&target.annotation_selector),
                label_selector: text(&target.label_selector),
            }
        }),
    });
    Ok(ApplyOptions {
        force: spec.force,
        force_selector: MetadataSelector::new([(FORCE, ENABLED)]),
        exclusions: MetadataSelector::new([(RECONCILE, DISABLED), (SSA, "Ignore")]),
        if_not_present: MetadataSelector::new([(SSA, "IfNotPresent")]),
        cleanup: Cleanup {
            annotations: [KUBECTL_LAST_APPLIED, OLD_CHECKSUM, OLD_SYNC_CHECKSUM]
                .map(str::to_owned)
                .to_vec(),
            labels: vec![OLD_SYNC_GC_MARK.to_owned()],
            managers: taken_over(),
            exclusions: MetadataSelector::new([(SSA, "Merge")]),
        },
        ignore: IgnoreRules::compile(rules)?,
        assess: spec.wait,
        ..ApplyOptions::new(KUSTOMIZE_CONTROLLER)
    })
}
