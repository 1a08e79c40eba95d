//! A Git repository bootstraps a cluster and stays in charge of it: CLI-005, CLI-006, CLI-007,
//! CLI-008, CLI-009, CLI-011, KUS-001, KUS-002, KUS-004, KUS-006, KUS-007, KUS-011, KUS-014, SRC-001, SRC-003.

use std::path::Path;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::{GitServer, GitServerOptions, Repository};
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;

const SYSTEM: &str = "flux-system";
const PASSWORD: &str = "not-told-to-anybody";
const CLUSTER_OBJECTS: [&str; 3] = [SYSTEM, "infrastructure", "apps"];

/// A cluster that was bootstrapped from the example repository, with the controllers as local processes (the
/// Deployments that the repository installs run on a simulated node and do nothing).
struct Site {
    plane: ControlPlane,
    client: Client,
    sluice: Sluice,
    repository: Repository,
    path: String,
    controllers: Option<(Controller, Controller)>,
    _git: GitServer,
    storage: tempfile::TempDir,
}

impl Site {
    async fn bootstrap(cluster: &str) -> Option<Self> {
        let (site, ended) = Self::attempt(cluster, &[]).await?;
        assert_eq!(ended.code, 0, "{}", ended.output);
        site.pull();
        Some(site)
    }

    /// Bootstraps from the example repository with further files, and tells how it ended.
    async fn attempt(cluster: &str, files: &[(&str, &str)]) -> Option<(Self, Ended)> {
        let plane = require_or_skip(ControlPlane::start())?;
        let options = GitServerOptions {
            basic: Some(("git".into(), PASSWORD.into())),
            ..Default::default()
        };
        let git = GitServer::start_with(&options).unwrap();
        let mut repository = git.create_repository("fleet").unwrap();
        repository.copy_from(&example_fleet(), "").unwrap();
        for (path, content) in files {
            repository.write(path, content).unwrap();
        }
        repository.commit("The fleet").unwrap();
        let mut site = Self {
            client: plane.client().await.unwrap(),
            sluice: Sluice::new(plane.kubeconfig()),
            plane,
            repository,
            path: format!("clusters/{cluster}"),
            controllers: None,
            _git: git,
            storage: tempfile::tempdir().unwrap(),
        };
        // It installs the definitions, without which controllers do not start, and then waits for them.
        let bootstrap = site.sluice.start(site.arguments());
        wait_for_definitions(&site.client).await;
        let settings = Settings::everywhere(site.plane.kubeconfig(), SYSTEM);
        let source = Controller::source(&settings, site.storage.path(), &[]);
        site.controllers = Some((source, Controller::kustomize(&settings, &[])));
        let ended = Sluice::finish(bootstrap);
        Some((site, ended))
    }

    fn arguments(&self) -> Vec<String> {
        let fixed = [
            "bootstrap",
            "git",
            "--username=git",
            "--allow-insecure-http",
            "--silent",
            "--timeout=4m",
        ];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
        arguments.push(format!("--url={}", self.repository.url()));
        arguments.push(format!("--path={}", self.path));
        arguments.push(format!("--password={PASSWORD}"));
        arguments
    }

    /// Brings the commits of others into the work tree.
    fn pull(&self) {
        let bare = self.repository.directory().to_string_lossy().into_owned();
        self.repository
            .git(["pull", "--quiet", "--ff-only", &bare, "main"])
            .unwrap();
    }

    /// Replaces text in a file of the repository; the text must be there.
    fn edit(&self, path: &str, from: &str, to: &str) {
        let file = self.repository.work_tree().join(path);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{path} does not contain {from:?}");
        std::fs::write(file, text.replace(from, to)).unwrap();
    }

    fn kustomizations(&self) -> Api<Object> {
        kustomizations(&self.client, SYSTEM)
    }

    async fn wait_for(&self, name: &str, revision: &str) -> Object {
        let api = self.kustomizations();
        wait::until(&api, name, LIMIT, revision, |object| {
            has_applied(object, revision)
        })
        .await
        .unwrap()
    }

    async fn wait_for_all(&self, commit: &str) {
        for name in CLUSTER_OBJECTS {
            self.wait_for(name, &revision(commit)).await;
        }
    }

    async fn deployment(&self, namespace: &str, name: &str) -> Object {
        deployments(&self.client, namespace).get(name).await.unwrap()
    }
}

fn container(deployment: &Object) -> &Value {
    &deployment.data["spec"]["template"]["spec"]["containers"][0]
}

#[tokio::test(flavor = "multi_thread")]
async fn staging_is_bootstrapped_follows_commits_and_is_kept_as_committed() {
    let Some(mut site) = Site::bootstrap("staging").await else {
        return;
    };
    let head = site.repository.head("main").unwrap();
    site.wait_for_all(&head).await;
    assert_bootstrap_commits(&site).await;
    assert_applied_as_flux_does(&site).await;
    assert_second_bootstrap_changes_nothing(&site).await;
    assert_commit_reaches_the_cluster(&mut site).await;
    assert_drift_is_corrected(&site).await;
    assert_deleted_file_is_pruned(&mut site).await;
    site.wait_for_all(&site.repository.head("main").unwrap()).await;
    let table = site.sluice.run(&["get", "kustomizations"]);
    for name in CLUSTER_OBJECTS {
        let line = table
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{table}"));
        assert!(
            line.contains("True") && line.contains("Applied revision: main@sha1:"),
            "{table}"
        );
    }
}

async fn assert_bootstrap_commits(site: &Site) {
    let log = site.repository.git(["log", "--format=%s"]).unwrap();
    let subjects: Vec<_> = log.lines().collect();
    assert_eq!(subjects.len(), 3, "{log}");
    assert!(subjects[0].starts_with("Add Flux sync manifests"), "{log}");
    assert!(
        subjects[1].starts_with("Add Flux ") && subjects[1].ends_with(" component manifests"),
        "{log}"
    );
    let directory = site.repository.work_tree().join(&site.path).join(SYSTEM);
    for file in ["gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml"] {
        assert!(directory.join(file).is_file(), "{file}");
    }
    let files = files_below(site.repository.work_tree());
    let told = |file: &&std::path::PathBuf| {
        !is_git_data(file) && String::from_utf8_lossy(&std::fs::read(file).unwrap()).contains(PASSWORD)
    };
    assert_eq!(files.iter().find(told), None, "the password is in the repository");
    // The credentials are where the source finds them.
    let source = git_repositories(&site.client, SYSTEM).get(SYSTEM).await.unwrap();
    assert_eq!(source.data["spec"]["secretRef"]["name"], SYSTEM);
    let head = site.repository.head("main").unwrap();
    assert!(has_fetched(&source, &revision(&head)), "{source:?}");
    let message = condition_text(&source, "Ready", "message");
    assert_eq!(
        message,
        format!("stored artifact for revision '{}'", revision(&head))
    );
}

fn is_git_data(file: &Path) -> bool {
    file.components().any(|component| component.as_os_str() == ".git")
}

async fn assert_applied_as_flux_does(site: &Site) {
    let apps = site.kustomizations().get("apps").await.unwrap();
    assert_eq!(
        condition_text(&apps, "Ready", "reason"),
        "ReconciliationSucceeded"
    );
    let frontend = site.deployment("shop", "frontend").await;
    assert_eq!(
        container(&frontend)["image"],
        "docker.io/library/nginx:1.29.4-alpine"
    );
    let labels = frontend.labels();
    assert_eq!(labels["kustomize.toolkit.fluxcd.io/name"], "apps");
    assert_eq!(labels["kustomize.toolkit.fluxcd.io/namespace"], SYSTEM);
    let managers = frontend.metadata.managed_fields.clone().unwrap_or_default();
    let ours = managers
        .iter()
        .find(|entry| entry.manager.as_deref() == Some("kustomize-controller"))
        .unwrap();
    assert_eq!(ours.operation.as_deref(), Some("Apply"));
    assert!(inventory(&apps).contains("shop_frontend_apps_Deployment"));
    // Substituted from the cluster's settings, which infrastructure applied.
    let settings = config_maps(&site.client, "shop")
        .list(&Default::default())
        .await
        .unwrap();
    let backend = settings
        .iter()
        .find(|map| map.name_any().starts_with("backend-settings-"))
        .unwrap();
    assert_eq!(
        backend.data["data"]["PUBLIC_URL"],
        "https://staging.shop.example.com"
    );
    assert_eq!(backend.data["data"]["LOG_LEVEL"], "debug");
    // The toolkit manages itself.
    let system = site.kustomizations().get(SYSTEM).await.unwrap();
    assert!(
        inventory(&system).contains("flux-system_source-controller_apps_Deployment"),
        "{system:?}"
    );
    assert!(inventory(&system).contains("flux-system_apps_kustomize.toolkit.fluxcd.io_Kustomization"));
}

async fn assert_second_bootstrap_changes_nothing(site: &Site) {
    let head = site.repository.head("main").unwrap();
    let secrets = secrets(&site.client, SYSTEM);
    let before = secrets.get(SYSTEM).await.unwrap();
    let ended = Sluice::finish(site.sluice.start(site.arguments()));
    assert_eq!(ended.code, 0, "{}", ended.output);
    assert!(!ended.output.contains(PASSWORD), "{}", ended.output);
    assert_eq!(
        site.repository.head("main").unwrap(),
        head,
        "no commit: {}",
        ended.output
    );
    let after = secrets.get(SYSTEM).await.unwrap();
    assert_eq!(
        after.metadata.resource_version, before.metadata.resource_version,
        "the secret is kept"
    );
}

async fn assert_commit_reaches_the_cluster(site: &mut Site) {
    site.edit(
        "apps/staging/kustomization.yaml",
        "1.29.4-alpine",
        "1.29.5-alpine",
    );
    let commit = site.repository.commit("Update nginx").unwrap();
    site.sluice.run(&["reconcile", "source", "git", SYSTEM]);
    site.wait_for("apps", &revision(&commit)).await;
    for name in ["frontend", "backend"] {
        let deployment = site.deployment("shop", name).await;
        assert_eq!(
            container(&deployment)["image"],
            "docker.io/library/nginx:1.29.5-alpine"
        );
        assert_eq!(
            deployment.data["status"]["availableReplicas"], 1,
            "apps was Ready only after the roll-out"
        );
    }
    wait_for_event(
        &site.client,
        SYSTEM,
        ("Kustomization", "apps"),
        "Deployment/shop/frontend configured",
    )
    .await;
}

async fn assert_drift_is_corrected(site: &Site) {
    let deployments = deployments(&site.client, "shop");
    let edit =
        json!({"metadata": {"annotations": {"edited": "by hand"}}, "spec": {"replicas": 3, "paused": true}});
    let parameters = PatchParams {
        field_manager: Some("kubectl-edit".to_owned()),
        ..PatchParams::default()
    };
    let edited = deployments
        .patch("backend", &parameters, &Patch::Merge(&edit))
        .await
        .unwrap();
    assert_eq!(edited.data["spec"]["replicas"], 3);
    let output = site.sluice.run(&["reconcile", "kustomization", "apps"]);
    assert!(output.contains("applied revision main@sha1:"), "{output}");
    let restored = site.deployment("shop", "backend").await;
    assert_eq!(restored.data["spec"]["replicas"], 1);
    assert_eq!(
        restored.data["spec"]["paused"],
        Value::Null,
        "a field that only the edit set is taken away"
    );
    assert!(
        !restored.annotations().contains_key("edited"),
        "{:?}",
        restored.annotations()
    );
    let managers = restored.metadata.managed_fields.unwrap_or_default();
    assert!(
        managers
            .iter()
            .all(|entry| entry.manager.as_deref() != Some("kubectl-edit")),
        "{managers:?}"
    );
    wait_for_event(
        &site.client,
        SYSTEM,
        ("Kustomization", "apps"),
        "Deployment/shop/backend configured",
    )
    .await;
}

async fn assert_deleted_file_is_pruned(site: &mut Site) {
    let limits = namespaced(&site.client, "shop", ("v1", "LimitRange", "limitranges"));
    let before = inventory(&site.kustomizations().get("infrastructure").await.unwrap());
    assert!(before.contains("shop_defaults__LimitRange"), "{before:?}");
    limits.get("defaults").await.unwrap();
    site.repository.remove("infrastructure/base/limits.yaml").unwrap();
    site.edit("infrastructure/base/kustomization.yaml", "  - limits.yaml\n", "");
    let commit = site.repository.commit("No limits").unwrap();
    site.sluice
        .run(&["reconcile", "kustomization", "infrastructure", "--with-source"]);
    let infrastructure = site.wait_for("infrastructure", &revision(&commit)).await;
    assert!(limits.get_opt("defaults").await.unwrap().is_none());
    let mut expected = before;
    expected.remove("shop_defaults__LimitRange");
    assert_eq!(inventory(&infrastructure), expected);
    let event = "LimitRange/shop/defaults deleted";
    wait_for_event(&site.client, SYSTEM, ("Kustomization", "infrastructure"), event).await;
}

/// CLI-025
#[tokio::test(flavor = "multi_thread")]
async fn production_has_its_own_settings_and_its_workloads_outlive_the_toolkit() {
    let Some(mut site) = Site::bootstrap("production").await else {
        return;
    };
    let head = site.repository.head("main").unwrap();
    site.wait_for_all(&head).await;
    let frontend = site.deployment("shop", "frontend").await;
    assert_eq!(
        container(&frontend)["image"],
        "docker.io/library/nginx:1.29.3-alpine"
    );
    assert_eq!(container(&frontend)["resources"]["limits"]["memory"], "256Mi");
    assert_eq!(frontend.data["spec"]["replicas"], 2);
    assert_eq!(
        frontend.data["spec"]["template"]["spec"]["priorityClassName"],
        "customer-facing"
    );
    let redis = site.deployment("cache", "redis").await;
    assert_eq!(container(&redis)["args"][1], "512mb");

    // The controllers of a real cluster end with their Deployments, first of all.
    let (source, kustomize) = site.controllers.take().unwrap();
    kustomize.stop();
    source.stop();
    site.sluice.run(&["uninstall", "--silent", "--timeout=2m"]);
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(site.client.clone());
    wait::until_gone(&namespaces, SYSTEM, LIMIT).await.unwrap();
    for definition in definitions(&site.client).list(&Default::default()).await.unwrap() {
        let name = definition.name_any();
        assert!(
            !name.ends_with(".fluxcd.io") || definition.metadata.deletion_timestamp.is_some(),
            "{name}"
        );
    }
    let survivor = site.deployment("shop", "frontend").await;
    assert_eq!(survivor.uid(), frontend.uid());
}

/// CLI-007
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_can_not_apply_its_repository_ends_the_bootstrap_with_the_reason() {
    let manifest = config_map_yaml("Not_A_Name", "x");
    let files = [("clusters/broken/settings.yaml", manifest.as_str())];
    let Some((site, ended)) = Site::attempt("broken", &files).await else {
        return;
    };
    assert_eq!(ended.code, 1, "{}", ended.output);
    let failure = ended.output.lines().find(|line| line.starts_with('✗')).unwrap();
    assert!(
        failure.starts_with("✗ Kustomization reconciliation failed: "),
        "{}",
        ended.output
    );
    assert!(failure.contains("ConfigMap/"), "{failure}");
    assert!(failure.contains("Not_A_Name"), "{failure}");
    // What is wrong can be mended by a commit; the bootstrap itself is complete.
    site.pull();
    std::fs::remove_file(site.repository.work_tree().join("clusters/broken/settings.yaml")).unwrap();
    let mut site = site;
    let commit = site.repository.commit("Mend").unwrap();
    site.sluice.run(&["reconcile", "source", "git", SYSTEM]);
    site.wait_for(SYSTEM, &revision(&commit)).await;
}
