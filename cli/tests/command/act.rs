//! `sluice reconcile`, `suspend` and `resume`, answered by the real controllers.

use kube::api::Patch;
use serde_json::{Value, json};

use crate::objects::{ALERT, BUCKET, GIT, HELM_REPOSITORY, KUSTOMIZATION, create};
use crate::site::Site;
use crate::support::shared;

/// CLI-008, CLI-009, CLI-010
#[tokio::test(flavor = "multi_thread")]
async fn objects_are_reconciled_suspended_and_resumed() {
    let Some(plane) = shared().await else { return };
    let mut site = Site::start(plane).await;
    reconcile_source_first(&mut site).await;
    reconcile_one(&mut site).await;
    leave_suspended_objects_alone(&mut site).await;
    resume_and_wait(&mut site).await;
    act_on_several(&mut site).await;
    tell_failures(&mut site).await;
    know_static_objects(&mut site).await;
}

async fn reconcile_source_first(site: &mut Site) {
    let revision = site.commit("two");
    let told = site
        .sluice
        .told(&["reconcile", "kustomization", "apps", "--with-source"]);
    insta::assert_snapshot!(told.replace(&revision, "REVISION"), @r"
    ► annotating GitRepository fleet in NS namespace
    ✔ GitRepository annotated
    ◎ waiting for GitRepository reconciliation
    ✔ fetched revision REVISION
    ► annotating Kustomization apps in NS namespace
    ✔ Kustomization annotated
    ◎ waiting for Kustomization reconciliation
    ✔ applied revision REVISION
    ");
    assert_eq!(site.applied_value().await, "two");
}

async fn reconcile_one(site: &mut Site) {
    let revision = site.commit("three");
    let told = site.sluice.told(&["reconcile", "source", "git", "fleet"]);
    insta::assert_snapshot!(told.replace(&revision, "REVISION"), @r"
    ► annotating GitRepository fleet in NS namespace
    ✔ GitRepository annotated
    ◎ waiting for GitRepository reconciliation
    ✔ fetched revision REVISION
    ");
    insta::assert_snapshot!(site.sluice.failure(&["reconcile", "ks", "absent"]), @r#"
    ✗ Kustomization object 'absent' not found in "NS" namespace
      list them with: sluice get kustomizations -A
    "#);
    insta::assert_snapshot!(site.sluice.failure(&["reconcile", "ks"]), @r"
    ✗ Kustomization name is required
      list them with: sluice get kustomizations -A
    ");
    insta::assert_snapshot!(site.sluice.failure(&["reconcile", "source", "git", "fleet", "--with-source"]), @r"
    ✗ a GitRepository has no source
      leave --with-source out
    ");
    insta::assert_snapshot!(site.sluice.failure(&["reconcile", "ks", "apps", "--force"]), @r"
    ✗ --force and --reset are for HelmReleases only
      leave them out for a Kustomization
    ");
}

async fn leave_suspended_objects_alone(site: &mut Site) {
    insta::assert_snapshot!(site.sluice.told(&["suspend", "kustomization", "apps"]), @r"
    ► suspending kustomization apps in NS namespace
    ✔ kustomization suspended
    ");
    assert!(site.is_suspended(KUSTOMIZATION, "apps").await);
    let table = site.sluice.result(&["get", "ks", "apps", "--no-header"]);
    assert_eq!(table.split('\t').nth(2).unwrap().trim(), "True", "{table}");
    let before = (
        site.request(GIT, "fleet").await,
        site.request(KUSTOMIZATION, "apps").await,
    );
    for arguments in [
        &["reconcile", "ks", "apps"][..],
        &["reconcile", "ks", "apps", "--with-source"],
    ] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(site.sluice.failure(arguments), @r"
            ✗ Kustomization apps is suspended
              resume it with: sluice -n NS resume kustomizations apps
            ");
        }
    }
    let after = (
        site.request(GIT, "fleet").await,
        site.request(KUSTOMIZATION, "apps").await,
    );
    assert_eq!(after, before, "neither the object nor its source was asked");
}

async fn resume_and_wait(site: &mut Site) {
    let revision = site.commit("four");
    site.sluice.told(&["reconcile", "source", "git", "fleet"]);
    insta::assert_snapshot!(site.sluice.told(&["resume", "ks", "apps"]).replace(&revision, "REVISION"), @r"
    ► resuming kustomization apps in NS namespace
    ✔ kustomization resumed
    ◎ waiting for Kustomization reconciliation
    ✔ Kustomization apps reconciliation completed
    ✔ applied revision REVISION
    ");
    assert_eq!(site.applied_value().await, "four");
    // A suspended source keeps what needs it from being reconciled with it.
    site.sluice.told(&["suspend", "source", "git", "fleet"]);
    let told = site.sluice.failure(&["reconcile", "ks", "apps", "--with-source"]);
    assert!(told.contains("✗ GitRepository fleet is suspended"), "{told}");
    insta::assert_snapshot!(site.sluice.told(&["resume", "source", "git", "fleet", "--wait=false"]), @r"
    ► resuming source git fleet in NS namespace
    ✔ source git resumed
    ");
}

async fn act_on_several(site: &mut Site) {
    let spec =
        json!({"url": site.repository.url(), "interval": "1h", "ref": {"branch": "main"}, "suspend": true});
    create(&site.api(GIT), GIT, "second", spec, Value::Null).await;
    insta::assert_snapshot!(site.sluice.told(&["suspend", "source", "git", "--all"]), @r"
    ► suspending source git fleet in NS namespace
    ✔ source git suspended
    ► suspending source git second in NS namespace
    ✔ source git suspended
    ");
    // The others are tried although one is missing, and the command fails all the same.
    insta::assert_snapshot!(site.sluice.failure(&["resume", "source", "git", "absent", "fleet", "fleet"]), @r#"
    ► resuming source git absent in NS namespace
    ✗ GitRepository object 'absent' not found in "NS" namespace
      list them with: sluice get source git -A
    ► resuming source git fleet in NS namespace
    ✔ source git resumed
    ✗ 1 of 2 gitrepositories were not resumed
    "#);
    assert!(!site.is_suspended(GIT, "fleet").await);
    assert!(site.is_suspended(GIT, "second").await);
    let told = site.sluice.told(&["resume", "source", "git", "--all", "--wait"]);
    let revision = format!("main@sha1:{}", site.repository.head("main").unwrap());
    insta::assert_snapshot!(told.replace(&revision, "REVISION"), @r"
    ► resuming source git fleet in NS namespace
    ✔ source git resumed
    ► resuming source git second in NS namespace
    ✔ source git resumed
    ◎ waiting for GitRepository reconciliation
    ✔ GitRepository fleet reconciliation completed
    ✔ fetched revision REVISION
    ✔ GitRepository second reconciliation completed
    ✔ fetched revision REVISION
    ");
    insta::assert_snapshot!(site.sluice.failure(&["suspend", "source", "bucket", "--all"]), @r#"✗ no Bucket objects found in "NS" namespace
    "#);
    insta::assert_snapshot!(site.sluice.failure(&["suspend", "ks"]), @r"
    ✗ kustomization name is required
      give names, or --all for all of the namespace
    ");
    insta::assert_snapshot!(site.sluice.failure(&["suspend", "ks", "apps", "--all"]), @"✗ give names or --all, not both
    ");
    insta::assert_snapshot!(site.sluice.failure(&["suspend", "source", "external", "x"]), @"✗ ExternalArtifact can't be suspended
    ");
}

async fn tell_failures(site: &mut Site) {
    site.commit_manifest("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not_A_Name\n");
    site.sluice.told(&["reconcile", "source", "git", "fleet"]);
    // The failure is told at once, although the controller goes on trying.
    let told = site.sluice.failure(&["reconcile", "ks", "apps", "--timeout=2m"]);
    let failure = told.lines().find(|line| line.starts_with('✗')).unwrap();
    assert!(
        failure.starts_with("✗ Kustomization reconciliation failed: ConfigMap/NS/Not_A_Name dry-run failed"),
        "{told}"
    );
    assert!(
        told.contains("\n  look at it with: kubectl -n NS describe kustomizations apps\n"),
        "{told}"
    );
    let branch = Patch::Merge(json!({"spec": {"ref": {"branch": "absent"}}}));
    site.api(GIT)
        .patch("second", &Default::default(), &branch)
        .await
        .unwrap();
    let told = site.sluice.failure(&["reconcile", "source", "git", "second"]);
    assert!(told.contains("✗ GitRepository reconciliation failed: "), "{told}");
    assert!(told.contains("absent"), "{told}");
    let told = site.sluice.failure(&["resume", "source", "git", "second"]);
    assert!(
        told.contains("✗ GitRepository second reconciliation failed: "),
        "{told}"
    );
    // Nobody reconciles buckets here.
    let spec = json!({"bucketName": "b", "endpoint": "s3.example.com", "interval": "1h"});
    create(&site.api(BUCKET), BUCKET, "bucket", spec, Value::Null).await;
    insta::assert_snapshot!(site.sluice.failure(&["reconcile", "source", "bucket", "bucket", "--timeout=5s"]), @r"
    ► annotating Bucket bucket in NS namespace
    ✔ Bucket annotated
    ◎ waiting for Bucket reconciliation
    ✗ timed out waiting for Bucket bucket: the controller has not answered yet; last: waiting to be reconciled
      look at it with: kubectl -n NS describe buckets bucket
    ");
}

async fn know_static_objects(site: &mut Site) {
    let spec = json!({"url": "oci://registry.example.com/charts", "type": "oci"});
    create(
        &site.api(HELM_REPOSITORY),
        HELM_REPOSITORY,
        "charts",
        spec,
        Value::Null,
    )
    .await;
    insta::assert_snapshot!(site.sluice.told(&["reconcile", "source", "helm", "charts"]), @"✔ reconciliation not supported by the object
    ");
    let spec =
        json!({"providerRef": {"name": "chat"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]});
    create(&site.api(ALERT), ALERT, "on-call", spec, Value::Null).await;
    insta::assert_snapshot!(site.sluice.failure(&["reconcile", "alert", "on-call"]), @"✗ Alert is not reconciled: it takes effect at once
    ");
    site.sluice.told(&["suspend", "alert", "on-call"]);
    assert!(site.is_suspended(ALERT, "on-call").await);
    insta::assert_snapshot!(site.sluice.told(&["resume", "alert", "on-call"]), @r"
    ► resuming alert on-call in NS namespace
    ✔ alert resumed
    ◎ waiting for Alert reconciliation
    ✔ Alert on-call reconciliation completed
    ✔ Alert reconciliation completed
    ");
}
