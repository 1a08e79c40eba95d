//! Release records on a real API server: those of the real helm are read, and ours are read by it.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams, PostParams};
use serde_json::Value;
use sluice_helm::release::{
    ApplyMethod, Release, ReleaseSecret, SECRET_KEY, SECRET_TYPE, SecretChange, Status, StoredFile, Time,
};
use sluice_helm::{Chart, Loader, RenderOptions, Rendered, Target, Values, render};
use sluice_testbed::control_plane::{ControlPlane, Namespace};
use sluice_testbed::tools;
use sluice_vfs::{MemoryFileSystem, VirtualPath};

const FILES: &[(&str, &str)] = &[
    (
        "chart/Chart.yaml",
        "apiVersion: v2\nname: chart\nversion: 1.2.3+build\nappVersion: \"4\"\ndescription: <A & B>\n\
         keywords: [a]\nmaintainers: [{name: M, email: m@example.com}]\nannotations: {a: b}\n\
         kubeVersion: '>=1.20.0-0'\ndependencies:\n\
         - {name: sub, version: 0.x, repository: '', alias: other, import-values: [{child: a, parent: b}]}\n\
         - {name: off, version: 0.x, repository: 'https://example.com', condition: off.enabled, tags: [t]}\n",
    ),
    (
        "chart/Chart.lock",
        "dependencies:\n- {name: sub, version: 0.1.0, repository: ''}\ndigest: sha256:00\n\
         generated: \"2026-01-02T03:04:05.678+02:00\"\n",
    ),
    (
        "chart/values.yaml",
        "text: <a & b>\nnumber: 1\nlarge: 12345678901\nfloat: 1.50\nnothing: null\nlist: [1, a]\noff: {enabled: false}\n",
    ),
    ("chart/values.schema.json", "{\"type\": \"object\"}\n"),
    ("chart/README.md", "# Über\n"),
    (
        "chart/templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata:\n  \
         text: {{ .Values.text | quote }}\n  revision: \"{{ .Release.Revision }}\"\n",
    ),
    (
        "chart/templates/hook.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: \"pre-install, \
         post-upgrade\", helm.sh/hook-weight: \"-5\", helm.sh/hook-delete-policy: hook-succeeded}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test-success}}\n\
         spec: {containers: [{name: a, image: a}]}\n",
    ),
    ("chart/templates/NOTES.txt", "Thanks for {{ .Release.Name }}.\n"),
    (
        "chart/charts/sub/Chart.yaml",
        "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
    ),
    ("chart/charts/sub/values.yaml", "a: {x: 1}\n"),
    (
        "chart/charts/sub/templates/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: sub}\nstringData: {x: \"{{ .Values.a.x }}\"}\n",
    ),
    (
        "chart/charts/off/Chart.yaml",
        "apiVersion: v2\nname: off\nversion: 0.1.0\n",
    ),
    ("values.yaml", "list: [<b>, 2, null]\nother: {a: {z: 1e6}}\n"),
];

/// The arguments of values, and the values that they make.
const VALUES: &[&str] = &["-f", "values.yaml", "--set", "n=5,s=x"];

/// A namespace with the real helm in front of it.
struct Site {
    helm: PathBuf,
    plane: &'static ControlPlane,
    namespace: Namespace,
    directory: tempfile::TempDir,
    secrets: Api<Secret>,
    maps: Api<ConfigMap>,
}

impl Site {
    async fn open() -> Option<Self> {
        let helm = tools::require_or_skip(tools::tool("helm"))?;
        let plane = tools::require_or_skip(ControlPlane::shared())?;
        let client = plane.client().await.unwrap();
        let namespace = plane.namespace("releases").await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        for (path, contents) in FILES {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, contents).unwrap();
        }
        let name = namespace.name().to_owned();
        Some(Self {
            helm,
            plane,
            directory,
            secrets: Api::namespaced(client.clone(), &name),
            maps: Api::namespaced(client, &name),
            namespace,
        })
    }

    fn helm(&self, arguments: &[&str]) -> String {
        let output = Command::new(&self.helm)
            .args(arguments)
            .args(["--namespace", self.namespace.name(), "--kubeconfig"])
            .arg(self.plane.kubeconfig())
            .current_dir(self.directory.path())
            .env_clear()
            .env("HOME", self.directory.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "helm {arguments:?}: {told}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The records of a release by revision, with their JSON.
    async fn records(&self, release: &str) -> BTreeMap<i64, (Release, Vec<u8>)> {
        let selector = format!("owner=helm,name={release}");
        let listed = self.secrets.list(&ListParams::default().labels(&selector)).await;
        let read = |secret: Secret| {
            assert_eq!(secret.type_.as_deref(), Some(SECRET_TYPE));
            let record = &secret.data.unwrap()[SECRET_KEY].0;
            let labels = secret.metadata.labels.unwrap();
            let release = Release::from_secret(record, labels).unwrap();
            assert_eq!(secret.metadata.name.unwrap(), release.secret_name());
            let packed = STANDARD.decode(record).unwrap();
            let mut json = Vec::new();
            flate2::read::GzDecoder::new(&*packed)
                .read_to_end(&mut json)
                .unwrap();
            (release.version, (release, json))
        };
        listed.unwrap().items.into_iter().map(read).collect()
    }

    async fn create(&self, secret: &ReleaseSecret) {
        let record = k8s_openapi::ByteString(secret.record.clone().into_bytes());
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(secret.name.clone()),
                labels: Some(secret.labels.clone()),
                ..ObjectMeta::default()
            },
            type_: Some(SECRET_TYPE.to_owned()),
            data: Some(BTreeMap::from([(SECRET_KEY.to_owned(), record)])),
            ..Secret::default()
        };
        self.secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
    }

    async fn data(&self, name: &str) -> BTreeMap<String, String> {
        self.maps.get(name).await.unwrap().data.unwrap()
    }
}

fn chart() -> Chart {
    let files = FILES.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
    let tree = MemoryFileSystem::from_files(files).unwrap();
    Loader::default()
        .load_directory(&tree, &VirtualPath::parse("chart").unwrap())
        .unwrap()
}

fn values() -> Values {
    let mut values = sluice_helm::ValuesBuilder::new();
    let (name, text) = FILES.last().unwrap();
    values.file(name, text.as_bytes()).unwrap();
    values.set("n=5,s=x").unwrap();
    values.build()
}

fn rendered(target: &Target) -> Rendered {
    render(&chart(), &values(), target, &RenderOptions::default()).unwrap()
}

/// Takes out what differs from run to run: times, and the cluster's word for them.
fn without_times(release: &Release) -> Value {
    let mut release = release.clone();
    if let Some(chart) = &mut release.chart {
        let files = chart.templates.iter_mut().chain(&mut chart.files);
        files
            .flatten()
            .for_each(|file: &mut StoredFile| file.modified = None);
        chart.modified = None;
        chart.schema_modified = None;
    }
    if let Some(info) = &mut release.info {
        (info.first_deployed, info.last_deployed) = (None, None);
    }
    for hook in release.hooks.iter_mut().flatten() {
        hook.last_run = Default::default();
    }
    serde_json::from_slice(&release.to_json().unwrap()).unwrap()
}

#[tokio::test]
async fn records_of_helm_are_read_and_written_back_to_the_byte() {
    let Some(site) = Site::open().await else {
        return;
    };
    site.helm(&[&["install", "rel", "chart", "--labels", "team=a"], VALUES].concat());
    site.helm(&[
        "upgrade",
        "rel",
        "chart",
        "--server-side=false",
        "--description",
        "Second <one>",
    ]);
    site.helm(&["rollback", "rel", "1"]);
    let records = site.records("rel").await;
    let states: Vec<_> = records.values().map(|(release, _)| release.status()).collect();
    assert_eq!(states, [Status::Superseded, Status::Superseded, Status::Deployed]);
    for (release, json) in records.values() {
        let written = release.to_json().unwrap();
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(json));
    }

    let (first, _) = &records[&1];
    assert_eq!(first.labels["team"], "a");
    assert_eq!(first.apply_method, ApplyMethod::Server);
    assert_eq!(records[&2].0.apply_method, ApplyMethod::Client);
    assert_eq!(records[&2].0.info.as_ref().unwrap().description, "Second <one>");
    let run = &first.hooks.as_ref().unwrap()[0].last_run;
    assert_eq!(run.phase, "Succeeded");
    assert!(run.started_at <= run.completed_at);

    // What we would have written for the same chart and values.
    let target = Target::install("rel", site.namespace.name());
    let mut ours = Release::new(&rendered(&target), &values(), &target, Time::now());
    ours.set_status(Status::Superseded, "Install complete");
    ours.apply_method = ApplyMethod::Server;
    assert_eq!(without_times(&ours), without_times(first));
}

#[tokio::test]
async fn helm_goes_on_from_records_of_ours() {
    let Some(site) = Site::open().await else {
        return;
    };
    let target = Target::install("ours", site.namespace.name());
    let rendered = rendered(&target);
    let now = Time::from_unix(1_800_000_000, 120_000_000).unwrap();
    let mut release = Release::new(&rendered, &values(), &target, now);
    release.set_status(Status::Deployed, "Install complete");
    release.apply_method = ApplyMethod::Server;
    release.labels.insert("team".to_owned(), "b".to_owned());
    let secret = release.to_secret(SecretChange::Created(now)).unwrap();
    assert_eq!(secret, release.to_secret(SecretChange::Created(now)).unwrap());
    site.create(&secret).await;

    let listed: Value = serde_json::from_str(&site.helm(&["list", "-o", "json"])).unwrap();
    assert_eq!(listed[0]["name"], "ours");
    assert_eq!(listed[0]["chart"], "chart-1.2.3+build");
    assert_eq!(listed[0]["updated"], "2027-01-15 08:00:00.12 +0000 UTC");
    let manifest = site.helm(&["get", "manifest", "ours"]);
    assert_eq!(manifest, format!("{}\n", rendered.manifest(false)));
    assert_eq!(
        site.helm(&["get", "notes", "ours"]).trim_end(),
        format!("NOTES:\n{}", rendered.notes).trim_end()
    );
    let shown: Value = serde_json::from_str(&site.helm(&["get", "values", "ours", "-o", "json"])).unwrap();
    assert_eq!(
        shown.to_string(),
        r#"{"list":["<b>",2,null],"n":5,"other":{"a":{"z":1000000}},"s":"x"}"#
    );
    let all = site.helm(&["get", "all", "ours"]);
    for part in [
        "NAME: ours\n",
        "USER-SUPPLIED VALUES:\n",
        "COMPUTED VALUES:\n",
        "HOOKS:\n",
        "MANIFEST:\n",
        "Thanks for ours.",
    ] {
        assert!(all.contains(part), "no {part} in\n{all}");
    }

    // The objects are made by the upgrade, as if somebody had deleted them.
    site.helm(&["upgrade", "ours", "chart", "--set", "text=second"]);
    assert_eq!(site.data("ours").await["text"], "second");
    site.helm(&["rollback", "ours", "1"]);
    assert_eq!(site.data("ours").await["text"], "<a & b>");
    assert_eq!(site.data("ours").await["revision"], "1");
    let history: Value = serde_json::from_str(&site.helm(&["history", "ours", "-o", "json"])).unwrap();
    let told = |index: usize| {
        (
            history[index]["status"].as_str(),
            history[index]["description"].as_str(),
        )
    };
    assert_eq!(told(0), (Some("superseded"), Some("Install complete")));
    assert_eq!(told(2), (Some("deployed"), Some("Rollback to 1")));
    let records = site.records("ours").await;
    assert_eq!(records[&1].0.labels["team"], "b");
    assert_eq!(records[&3].0.manifest, release.manifest);
    site.helm(&["uninstall", "ours"]);
    assert!(site.records("ours").await.is_empty());
    assert!(site.maps.get_opt("ours").await.unwrap().is_none());
}
