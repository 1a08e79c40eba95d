//! Objects survive being read and written: one sample for each kind in which every field is set, and the edges.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests fail and report this way"
)]

mod common;

use kube::Resource;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sluice_api::extensions::ArtifactGenerator;
use sluice_api::helm::HelmRelease;
use sluice_api::image::{ImagePolicy, ImageRepository, ImageUpdateAutomation};
use sluice_api::kustomize::{Kustomization, SourceKind};
use sluice_api::meta::Condition;
use sluice_api::notification::{Alert, Provider, Receiver};
use sluice_api::source::{
    Bucket, ExternalArtifact, GitProvider, GitRepository, HelmChart, HelmRepository, OciRepository,
};
use sluice_api::{CustomResource, Reconciled};

fn through<K: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let typed: K =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error} in {object}"));
    serde_json::to_value(typed).expect("an object can be written")
}

fn check_samples<K: CustomResource + DeserializeOwned + Serialize>() -> usize {
    let samples = common::samples(K::DEFINITION.kind);
    for sample in &samples {
        assert_eq!(sample["apiVersion"], json!(K::api_version(&())));
        assert_eq!(&through::<K>(sample), sample);
    }
    samples.len()
}

/// The samples set every field (`tests/api_server.rs` checks that against the schemas), so a field that a type
/// did not have, or wrote in another way, would show.
#[test]
fn an_object_with_every_field_is_written_as_it_was_read() {
    let count = check_samples::<Alert>()
        + check_samples::<ArtifactGenerator>()
        + check_samples::<Bucket>()
        + check_samples::<ExternalArtifact>()
        + check_samples::<GitRepository>()
        + check_samples::<HelmChart>()
        + check_samples::<HelmRelease>()
        + check_samples::<HelmRepository>()
        + check_samples::<ImagePolicy>()
        + check_samples::<ImageRepository>()
        + check_samples::<ImageUpdateAutomation>()
        + check_samples::<Kustomization>()
        + check_samples::<OciRepository>()
        + check_samples::<Provider>()
        + check_samples::<Receiver>();
    assert_eq!(count, 19);
}

fn minimal() -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": { "name": "sample" },
        "spec": {
            "interval": "60m",
            "prune": false,
            "sourceRef": { "kind": "GitRepository", "name": "fleet" },
        },
    })
}

#[test]
fn what_is_absent_stays_absent_and_texts_of_durations_stay_as_they_are() {
    assert_eq!(through::<Kustomization>(&minimal()), minimal());
}

#[test]
fn unknown_fields_are_ignored() {
    let mut object = minimal();
    object["spec"]["fromTheFuture"] = json!({ "a": 1 });
    object["status"] = json!({ "alsoNew": true });
    let mut expected = minimal();
    expected["status"] = json!({});
    assert_eq!(through::<Kustomization>(&object), expected);
}

#[test]
fn a_value_outside_an_enumeration_is_kept() {
    let mut object = minimal();
    object["spec"]["sourceRef"]["kind"] = json!("Torrent");
    let typed: Kustomization = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(typed.spec.source_ref.kind, SourceKind::Other("Torrent".into()));
    assert_eq!(serde_json::to_value(typed).unwrap(), object);
}

#[test]
fn zero_values_of_plain_fields_count_as_absent_as_they_do_in_go() {
    let mut object = minimal();
    object["spec"]["suspend"] = json!(false);
    object["spec"]["path"] = json!("");
    object["spec"]["dependsOn"] = json!([]);
    object["spec"]["timeout"] = json!("");
    object["spec"]["postBuild"] = json!({ "substitute": {} });
    object["spec"]["patches"] = Value::Null;
    let mut expected = minimal();
    expected["spec"]["postBuild"] = json!({});
    assert_eq!(through::<Kustomization>(&object), expected);
}

#[test]
fn empty_and_absent_differ_where_the_api_tells_them_apart() {
    let with = |inventory: Value| {
        let mut object = minimal();
        object["status"] = json!({ "inventory": inventory });
        object
    };
    let object = with(json!({ "entries": [] }));
    assert_eq!(through::<Kustomization>(&object), object);
    let image = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1",
        "kind": "ImageRepository",
        "metadata": { "name": "sample" },
        "spec": { "accessFrom": { "namespaceSelectors": [{}] }, "exclusionList": [], "image": "web", "interval": "1m" },
    });
    assert_eq!(through::<ImageRepository>(&image), image);
}

#[test]
fn an_object_without_a_spec_can_be_read() {
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": { "name": "sample" },
    });
    let typed: GitRepository = serde_json::from_value(object).unwrap();
    assert_eq!(typed.spec.url, "");
    assert_eq!(typed.spec.provider, None);
}

#[test]
fn a_kind_is_known_by_its_names() {
    assert_eq!(OciRepository::kind(&()), "OCIRepository");
    assert_eq!(OciRepository::plural(&()), "ocirepositories");
    assert_eq!(
        OciRepository::DEFINITION.crd_name(),
        "ocirepositories.source.toolkit.fluxcd.io"
    );
    assert_eq!(HelmRelease::DEFINITION.api_version(), "helm.toolkit.fluxcd.io/v2");
    assert_eq!(GitProvider::from("github"), GitProvider::GitHub);
    assert_eq!(GitProvider::VALUES, ["generic", "aws", "azure", "github"]);
}

#[test]
fn an_artifact_generator_is_suspended_by_an_annotation() {
    let mut generator = ArtifactGenerator::default();
    assert!(!generator.suspended());
    generator.meta_mut().annotations = Some(
        [(
            "source.extensions.fluxcd.io/reconcile".to_owned(),
            "Disabled".to_owned(),
        )]
        .into(),
    );
    assert!(generator.suspended());
}

#[test]
fn what_every_controller_reads_and_writes_creates_the_status() {
    let mut object = Kustomization::default();
    assert!(object.conditions().is_empty());
    assert_eq!(object.observed_generation(), None);
    object
        .conditions_mut()
        .push(Condition::new("Ready", "True".into(), "Succeeded", "done"));
    object.set_observed_generation(3);
    object.set_last_handled_reconcile_at("now");
    assert!(object.condition("Ready").is_some_and(Condition::is_true));
    assert_eq!(object.condition("Stalled"), None);
    assert_eq!(object.observed_generation(), Some(3));
    assert_eq!(object.last_handled_reconcile_at(), Some("now"));
}

/// Takes fields out of a sample at random; what is left must survive.
fn prune(value: &mut Value, keep: &mut impl FnMut() -> bool) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, _| keep());
        object.values_mut().for_each(|inner| prune(inner, keep));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A status is made of optional parts at its first level, a spec too once it has what is required.
    #[test]
    fn any_part_of_a_status_survives(choices in prop::collection::vec(any::<bool>(), 16)) {
        for sample in common::samples("Kustomization") {
            let mut object = sample.clone();
            let mut next = choices.iter().copied().cycle();
            if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
                status.retain(|_, _| next.next().unwrap_or(true));
            }
            for part in ["images", "patches", "ignore"] {
                for element in object["spec"].get_mut(part).and_then(Value::as_array_mut).into_iter().flatten() {
                    if let Some(target) = element.get_mut("target") {
                        prune(target, &mut || next.next().unwrap_or(true));
                    }
                }
            }
            prop_assert_eq!(through::<Kustomization>(&object), object);
        }
    }
}
