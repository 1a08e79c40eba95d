//! A controller that is killed after an apply failed half way: KUS-011, KUS-017.

use std::collections::BTreeSet;

use kube::api::PostParams;
use serde_json::json;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::GitServer;
use sluice_testbed::proxy::{FaultProxy, Moment, Rule};
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;

/// Where each Kustomization fails, and what is there by then.
const CASES: [&str; 4] = [
    "stage",   // the second stage is refused, the first is written
    "half",    // the second object of a stage is refused, the first is written
    "unheard", // an object is written, but the controller does not hear of it
    "adopted", // as "half", and the first object has been there before, without our labels
];

/// Nothing that a failed apply has left in the cluster is forgotten, even if the controller is killed then and
/// the next commit wants none of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_apply_has_left_is_pruned_by_the_next_process() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("failed").await.unwrap();
    let here = namespace.name();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("failed").unwrap();
    let inner = format!("{here}-inner");
    let territory = format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {inner}\n");
    let broken = format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: broken\n  namespace: {inner}\nspec:\n  ports:\n  - port: -1\n"
    );
    repository.write("stage/a.yaml", territory).unwrap();
    repository.write("stage/b.yaml", broken).unwrap();
    for case in &CASES[1..] {
        for part in ["a", "b"] {
            let content = config_map_yaml(&format!("{case}-{part}"), 1);
            repository.write(&format!("{case}/{part}.yaml"), content).unwrap();
        }
    }
    repository.commit("What will fail").unwrap();
    let maps = config_maps(&client, here);
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "adopted-a"}, "data": {"by": "hand"}});
    let foreign = serde_json::from_value(foreign).unwrap();
    maps.create(&PostParams::default(), &foreign).await.unwrap();

    let proxy = FaultProxy::start(plane).unwrap();
    let write = |rule: Rule, name: &str| rule.method("PATCH").path(name).query("^&?force=true");
    proxy
        .set(
            "refused",
            &write(Rule::status(403), "/configmaps/(half|adopted)-b$"),
        )
        .unwrap();
    proxy
        .set(
            "unheard",
            &write(Rule::cut(Moment::Answer), "/configmaps/unheard-a$"),
        )
        .unwrap();
    let storage = tempfile::tempdir().unwrap();
    let _source = Controller::source(&Settings::within(plane.kubeconfig(), here), storage.path(), &[]);
    let mut kustomize = Controller::kustomize(&Settings::within(proxy.kubeconfig(), here), &[]);
    let (sources, objects) = (git_repositories(&client, here), kustomizations(&client, here));
    apply(&sources, &git_repository("failed", repository.url())).await;
    for case in CASES {
        let mut object = kustomization(case, "failed", case, here);
        object["spec"]["retryInterval"] = "10m".into();
        if case == "stage" {
            object["spec"].as_object_mut().unwrap().remove("targetNamespace");
        }
        apply(&objects, &object).await;
    }
    for case in CASES {
        let failed = |object: &Object| condition_text(object, "Ready", "reason") == "ReconciliationFailed";
        let object = wait::until(&objects, case, LIMIT, "failed", failed)
            .await
            .unwrap();
        let left = match case {
            "stage" => format!("_{inner}__Namespace"),
            _ => config_map_id(here, &format!("{case}-a")),
        };
        assert_eq!(inventory(&object), BTreeSet::from([left]), "{case}");
    }

    kustomize.kill();
    proxy.clear().unwrap();
    for case in CASES {
        for part in ["a", "b"] {
            repository.remove(&format!("{case}/{part}.yaml")).unwrap();
        }
        let keep = config_map_yaml(&format!("{case}-keep"), 1)
            .replace("  name:", &format!("  namespace: {here}\n  name:"));
        repository.write(&format!("{case}/keep.yaml"), keep).unwrap();
    }
    let commit = repository.commit("None of it any more").unwrap();
    request(&sources, "failed").await;
    kustomize.restart();
    let last = revision(&commit);
    for case in CASES {
        let applied = |object: &Object| has_applied(object, &last);
        let object = wait::until(&objects, case, LIMIT, &last, applied).await.unwrap();
        let keep = config_map_id(here, &format!("{case}-keep"));
        assert_eq!(inventory(&object), BTreeSet::from([keep]), "{case}");
    }
    let owned = names(&owned_config_maps(&client, here, here).await);
    assert_eq!(owned, CASES.map(|case| format!("{case}-keep")).into());
    let left = maps.list(&Default::default()).await.unwrap();
    let left: Vec<_> = names(&left.items)
        .into_iter()
        .filter(|name| name.ends_with("-a"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    wait::until_gone(&namespaces(&client), &inner, LIMIT)
        .await
        .unwrap();
}
