//! A real API server accepts, refuses and completes the same objects with our definitions as with Flux's.
//!
//! Flux's definitions are installed beside ours under other group names. Every sample in `tests/samples`, and
//! every change to one that a limit of its schema calls for, is sent to both as a dry run: the answers must be
//! equal, defaults and messages included.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests fail and report this way"
)]

mod common;
#[path = "common/mutate.rs"]
mod mutate;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use mutate::{Expectation, Mutation, Mutator, limits, remove_at, set_at};
use serde_json::{Value, json};
use sluice_api::crd;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::{tools, wait};

/// Our groups end in this.
const GROUP: &str = "fluxcd.io";

/// The groups of Flux's definitions in the test end in this instead.
const ORACLE_GROUP: &str = "oracle.example";

/// The same kind twice: with our definition and with Flux's.
struct Pair {
    ours: Api<DynamicObject>,
    theirs: Api<DynamicObject>,
}

/// What the API server made of an object.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// The object as it would be stored, without what the server keeps for itself.
    Accepted(Value),
    /// Each cause, sorted.
    Refused(BTreeSet<String>),
}

impl Verdict {
    fn of(answer: kube::Result<DynamicObject>) -> Self {
        match answer {
            Ok(object) => {
                let mut object = serde_json::to_value(object).unwrap();
                for key in ["apiVersion", "metadata"] {
                    object.as_object_mut().unwrap().remove(key);
                }
                Self::Accepted(object)
            }
            Err(kube::Error::Api(status)) => {
                let causes = status.details.iter().flat_map(|details| &details.causes);
                let mut found: BTreeSet<String> = causes
                    .map(|cause| format!("{}: {}: {}", cause.field, cause.reason, cause.message))
                    .collect();
                if found.is_empty() {
                    found.insert(status.message.replace(ORACLE_GROUP, GROUP));
                }
                assert!((400..500).contains(&status.code), "{status:?}");
                Self::Refused(found)
            }
            Err(error) => panic!("no answer: {error}"),
        }
    }
}

/// Flux's definition of a kind under the other group, out of the way of short names and categories.
fn renamed(mut definition: Value) -> Value {
    let group = definition["spec"]["group"]
        .as_str()
        .unwrap()
        .replace(GROUP, ORACLE_GROUP);
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
    definition["metadata"]["name"] = json!(format!("{plural}.{group}"));
    definition["spec"]["group"] = json!(group);
    let names = definition["spec"]["names"].as_object_mut().unwrap();
    names.remove("shortNames");
    names.remove("categories");
    definition
}

/// Installs both sets of definitions and waits until they are served. Gives Flux's by kind.
async fn install(plane: &ControlPlane, oracle: &Path) -> BTreeMap<String, Value> {
    let mut manifests = String::new();
    let mut definitions = BTreeMap::new();
    for entry in std::fs::read_dir(oracle).unwrap() {
        let definition = common::read_yaml(&entry.unwrap().path()).remove(0);
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
        let _ = writeln!(manifests, "---\n{}", renamed(definition.clone()));
        definitions.insert(kind, definition);
    }
    for definition in crd::definitions() {
        manifests.push_str(&crd::to_yaml(&definition.object));
    }
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=testbed",
        "-o",
        "name",
        "-f",
        "-",
    ];
    let applied = plane.kubectl_with_input(&apply, &manifests).unwrap();
    let api = Api::<CustomResourceDefinition>::all(plane.client().await.unwrap());
    for name in applied
        .lines()
        .filter_map(|line| line.split_once('/'))
        .map(|(_, name)| name)
    {
        let established =
            |definition: &CustomResourceDefinition| wait::has_condition(definition, "Established", "True");
        wait::until(
            &api,
            name,
            Duration::from_secs(60),
            "condition Established=True",
            established,
        )
        .await
        .unwrap();
    }
    assert_eq!(applied.lines().count(), 30);
    definitions
}

fn pair(client: &Client, namespace: &str, definition: &Value) -> Pair {
    let api = |group: &str| {
        let version = definition["spec"]["versions"][0]["name"].as_str().unwrap();
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    let group = definition["spec"]["group"].as_str().unwrap();
    Pair {
        ours: api(group),
        theirs: api(&group.replace(GROUP, ORACLE_GROUP)),
    }
}

/// The object as one of Flux's kind in the test.
fn for_oracle(object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(
        object["apiVersion"]
            .as_str()
            .unwrap()
            .replace(GROUP, ORACLE_GROUP)
    );
    object
}

fn dynamic(object: &Value) -> DynamicObject {
    serde_json::from_value(object.clone()).unwrap()
}

impl Pair {
    /// What both make of creating an object, without storing it.
    async fn create(&self, object: &Value) -> (Verdict, Verdict) {
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let ours = Verdict::of(self.ours.create(&dry, &dynamic(object)).await);
        let theirs = Verdict::of(self.theirs.create(&dry, &dynamic(&for_oracle(object))).await);
        (ours, theirs)
    }

    /// Stores an object on both sides, so that there is something whose status can be replaced.
    async fn store(&self, object: &Value) -> [DynamicObject; 2] {
        let really = PostParams::default();
        let ours = self.ours.create(&really, &dynamic(object)).await.unwrap();
        let theirs = self
            .theirs
            .create(&really, &dynamic(&for_oracle(object)))
            .await
            .unwrap();
        [ours, theirs]
    }

    /// What both make of replacing the status of stored objects, without storing it.
    async fn replace_status(&self, stored: &[DynamicObject; 2], status: &Value) -> (Verdict, Verdict) {
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let with_status = |object: &DynamicObject| {
            let mut object = object.clone();
            object.data["status"] = status.clone();
            object
        };
        let name = stored[0].metadata.name.as_deref().unwrap();
        let ours = self
            .ours
            .replace_status(name, &dry, &with_status(&stored[0]))
            .await;
        let theirs = self
            .theirs
            .replace_status(name, &dry, &with_status(&stored[1]))
            .await;
        (Verdict::of(ours), Verdict::of(theirs))
    }
}

/// Judges one changed object: both sides agree, and a broken limit is refused. Gives a line for the report.
fn complaint(kind: &str, mutation: &Mutation, verdicts: &(Verdict, Verdict)) -> Option<String> {
    let (ours, theirs) = verdicts;
    let name = format!("{kind} {}", mutation.what);
    if ours != theirs {
        return Some(format!("{name}:\n  ours   {ours:?}\n  theirs {theirs:?}"));
    }
    let refused = matches!(theirs, Verdict::Refused(_));
    (mutation.expectation == Expectation::Refused && !refused).then(|| format!("{name}: accepted"))
}

/// What came of the changed objects of a kind.
#[derive(Default)]
struct Report {
    count: usize,
    complaints: Vec<String>,
}

/// Sends the samples of one kind and all changes to them to both definitions.
async fn check_kind(pair: Pair, definition: Value) -> Report {
    let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    let (mut wanted, mut covered) = (BTreeSet::new(), BTreeSet::new());
    for part in ["spec", "status"]
        .into_iter()
        .filter(|part| schema[part].is_object())
    {
        limits(&schema[part], part, &mut wanted);
    }
    let mut report = Report::default();
    for sample in common::samples(kind) {
        let (ours, theirs) = pair.create(&sample).await;
        assert!(matches!(theirs, Verdict::Accepted(_)), "{kind}: {theirs:?}");
        assert_eq!(ours, theirs, "{kind}");
        let mut mutator = Mutator::new(&sample);
        mutator.walk(&schema["spec"], "/spec", "spec");
        covered.append(&mut mutator.covered);
        for mutation in mutator.mutations {
            let verdicts = pair.create(&mutation.object).await;
            report.complaints.extend(complaint(kind, &mutation, &verdicts));
            report.count += 1;
        }
        if sample.get("status").is_none() {
            continue;
        }
        let stored = pair.store(&sample).await;
        if schema["status"].get("default").is_some() {
            // What no controller has seen yet shows as in progress.
            assert_eq!(
                stored[0].data["status"],
                json!({ "observedGeneration": -1 }),
                "{kind}"
            );
        }
        let (ours, theirs) = pair.replace_status(&stored, &sample["status"]).await;
        assert!(matches!(theirs, Verdict::Accepted(_)), "{kind}: {theirs:?}");
        assert_eq!(ours, theirs, "{kind}");
        let mut mutator = Mutator::new(&sample);
        mutator.walk(&schema["status"], "/status", "status");
        covered.append(&mut mutator.covered);
        for mutation in mutator.mutations {
            let verdicts = pair.replace_status(&stored, &mutation.object["status"]).await;
            report.complaints.extend(complaint(kind, &mutation, &verdicts));
            report.count += 1;
        }
    }
    let missed: Vec<_> = wanted.difference(&covered).collect();
    assert!(missed.is_empty(), "no sample of {kind} tests {missed:#?}");
    report
}

/// COM-002, COM-003: every enumeration, pattern, length, count, bound, format, type, required field, default.
#[tokio::test]
async fn the_api_server_answers_as_with_the_definitions_of_flux() {
    let Some(oracle) = tools::require_or_skip(tools::oracle_data("crds")) else {
        return;
    };
    let Some(plane) = tools::require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let definitions = install(plane, &oracle).await;
    let namespace = plane.namespace("validation").await.unwrap();
    let client = plane.client().await.unwrap();
    let mut kinds = tokio::task::JoinSet::new();
    for definition in definitions.into_values() {
        kinds.spawn(check_kind(
            pair(&client, namespace.name(), &definition),
            definition,
        ));
    }
    let mut total = Report::default();
    for report in kinds.join_all().await {
        total.count += report.count;
        total.complaints.extend(report.complaints);
    }
    assert!(
        total.complaints.is_empty(),
        "{} of {}:\n{}",
        total.complaints.len(),
        total.count,
        total.complaints.join("\n")
    );
    // A walk that stopped early would compare next to nothing.
    assert!(
        total.count > 2_000,
        "only {} changed objects were judged",
        total.count
    );
    println!("{} changed objects were judged alike", total.count);
}

/// An object that breaks one CEL rule.
struct Breach {
    kind: &'static str,
    /// Which sample is changed.
    sample: usize,
    /// The changes: a value, or None to take the field out.
    changes: Vec<(&'static str, Option<Value>)>,
    /// Part of the rule's message.
    message: &'static str,
}

fn breach(
    kind: &'static str,
    sample: usize,
    message: &'static str,
    changes: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Breach {
    Breach {
        kind,
        sample,
        changes: changes.into_iter().collect(),
        message,
    }
}

/// At least one object for each rule of each kind.
fn breaches() -> Vec<Breach> {
    let reference = || Some(json!({ "name": "x" }));
    let text = |value: &str| Some(json!(value));
    let exactly_one =
        "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified";
    vec![
        breach(
            "GitRepository",
            0,
            "can only be set when provider is",
            [("/spec/provider", text("github"))],
        ),
        breach(
            "GitRepository",
            0,
            "can only be set when provider is",
            [("/spec/provider", None)],
        ),
        breach(
            "HelmChart",
            0,
            "spec.verify is only supported",
            [("/spec/sourceRef/kind", text("Bucket"))],
        ),
        breach(
            "Bucket",
            1,
            "STS configuration is only supported",
            [("/spec/provider", text("gcp"))],
        ),
        breach(
            "Bucket",
            1,
            "'aws' is the only supported STS",
            [("/spec/sts/provider", text("ldap"))],
        ),
        breach(
            "Bucket",
            0,
            "'ldap' is the only supported STS",
            [("/spec/sts/provider", text("aws"))],
        ),
        breach(
            "Bucket",
            1,
            "spec.sts.secretRef is not required",
            [("/spec/sts/secretRef", reference())],
        ),
        breach(
            "Bucket",
            1,
            "spec.sts.certSecretRef is not required",
            [("/spec/sts/certSecretRef", reference())],
        ),
        breach(
            "Bucket",
            0,
            "ServiceAccountName is not supported",
            [("/spec/serviceAccountName", text("x"))],
        ),
        breach(
            "Bucket",
            1,
            "cannot set both .spec.secretRef and",
            [("/spec/secretRef", reference())],
        ),
        breach(
            "Kustomization",
            0,
            exactly_one,
            [("/spec/kubeConfig/configMapRef", reference())],
        ),
        breach(
            "Kustomization",
            0,
            exactly_one,
            [("/spec/kubeConfig/secretRef", None)],
        ),
        breach(
            "HelmRelease",
            0,
            exactly_one,
            [("/spec/kubeConfig/configMapRef", reference())],
        ),
        breach(
            "HelmRelease",
            0,
            exactly_one,
            [("/spec/kubeConfig/secretRef", None)],
        ),
        breach(
            "HelmRelease",
            0,
            "either chart or chartRef must be set",
            [("/spec/chart", None)],
        ),
        breach(
            "HelmRelease",
            0,
            "either chart or chartRef must be set",
            [(
                "/spec/chartRef",
                Some(json!({ "kind": "HelmChart", "name": "x" })),
            )],
        ),
        breach(
            "HelmRelease",
            0,
            ".retryInterval cannot be set when .name is 'RemediateOnFailure'",
            [("/spec/install/strategy/name", text("RemediateOnFailure"))],
        ),
        breach(
            "HelmRelease",
            0,
            ".retryInterval can only be set when .name is 'RetryOnFailure'",
            [("/spec/upgrade/strategy/name", text("RemediateOnFailure"))],
        ),
        breach(
            "Provider",
            0,
            "spec.commitStatusExpr is only supported",
            [("/spec/type", text("slack"))],
        ),
        breach(
            "Receiver",
            0,
            "must define at least one oidcProvider",
            [("/spec/oidcProviders", None)],
        ),
        breach(
            "Receiver",
            0,
            "must define at least one oidcProvider",
            [("/spec/oidcProviders", Some(json!([])))],
        ),
        breach(
            "Receiver",
            0,
            "oidcProviders can only be set when type is generic-oidc",
            [("/spec/type", text("github")), ("/spec/secretRef", reference())],
        ),
        breach(
            "Receiver",
            0,
            "secretRef cannot be set when type is",
            [("/spec/secretRef", reference())],
        ),
        breach(
            "Receiver",
            1,
            "secretRef is required when type is not",
            [("/spec/secretRef", None)],
        ),
        breach(
            "ImagePolicy",
            0,
            "spec.interval is only accepted",
            [("/spec/digestReflectionPolicy", text("Never"))],
        ),
        breach(
            "ImagePolicy",
            0,
            "spec.interval is only accepted",
            [("/spec/digestReflectionPolicy", None)],
        ),
        breach(
            "ImagePolicy",
            0,
            "spec.interval must be set",
            [("/spec/interval", None)],
        ),
        breach(
            "ArtifactGenerator",
            0,
            "artifact names must be valid",
            [
                ("/spec/pathPattern", None),
                ("/spec/artifacts/0/name", text("Not A Name")),
            ],
        ),
    ]
}

/// The messages of all CEL rules in a schema.
fn messages(schema: &Value, found: &mut BTreeSet<String>) {
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        found.insert(rule["message"].as_str().unwrap().to_owned());
    }
    for inner in schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::values)
    {
        messages(inner, found);
    }
    if schema["items"].is_object() {
        messages(&schema["items"], found);
    }
}

/// COM-002: every CEL rule refuses what breaks it, with Flux's words.
#[tokio::test]
async fn every_rule_refuses_what_breaks_it() {
    let Some(oracle) = tools::require_or_skip(tools::oracle_data("crds")) else {
        return;
    };
    let Some(plane) = tools::require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let definitions = install(plane, &oracle).await;
    let namespace = plane.namespace("rules").await.unwrap();
    let client = plane.client().await.unwrap();
    let mut untested: BTreeSet<(String, String)> = BTreeSet::new();
    for (kind, definition) in &definitions {
        let mut found = BTreeSet::new();
        messages(
            &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
            &mut found,
        );
        untested.extend(found.into_iter().map(|message| (kind.clone(), message)));
    }
    assert_eq!(untested.len(), 22, "{untested:#?}");
    for Breach {
        kind,
        sample,
        changes,
        message,
    } in breaches()
    {
        let mut object = common::samples(kind).swap_remove(sample);
        for (pointer, value) in changes {
            match value {
                Some(value) => set_at(&mut object, pointer, value),
                None => remove_at(&mut object, pointer),
            }
        }
        let pair = pair(&client, namespace.name(), &definitions[kind]);
        let (ours, theirs) = pair.create(&object).await;
        assert_eq!(ours, theirs, "{kind}: {message}");
        let Verdict::Refused(causes) = ours else {
            panic!("{kind} breaks {message:?} and is accepted")
        };
        assert!(
            causes.iter().any(|cause| cause.contains(message)),
            "{kind}: {message}: {causes:?}"
        );
        untested.retain(|(tested, text)| !(tested == kind && text.contains(message)));
    }
    assert!(untested.is_empty(), "no object breaks {untested:#?}");
}
