//! What is in an artifact, and where.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use sluice_artifact::{Algorithm, Digest};
use sluice_testbed::git::GitServer;

use crate::support::{Bench, artifact, condition, conditions};

#[tokio::test]
async fn a_branch_becomes_a_normalised_artifact_that_is_served() {
    // SRC-001, SRC-010, SRC-011, SRC-013, SRC-014, SRC-015, SRC-054, SRC-056 (no alias for GitRepositories), SRC-058,
    // COM-004, COM-009
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.write("deploy/app.yaml", "kind: ConfigMap").unwrap();
    repository.write("deploy/a.png", "picture").unwrap();
    repository.write("run.sh", "#!/bin/sh").unwrap();
    repository.write(".github/workflows/ci.yaml", "on: push").unwrap();
    repository.write(".gitignore", "*.tmp").unwrap();
    repository
        .write(".gitattributes", "*.yaml export-ignore")
        .unwrap();
    let executable = repository.work_tree().join("run.sh");
    std::fs::set_permissions(executable, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", repository.work_tree().join("passwd")).unwrap();
    let commit = repository.commit("Add the app\n\nWith details.").unwrap();

    bench.create("app", repository.url(), json!({})).await;
    let object = bench.ready("app").await;
    let file = format!("{commit}.tar.gz");
    assert_eq!(bench.stored("app"), [file.clone(), format!("{file}.lock")]);
    let revision = format!("main@sha1:{commit}");
    assert_eq!(
        conditions(&object),
        [
            format!("Ready=True Succeeded stored artifact for revision '{revision}'"),
            format!("ArtifactInStorage=True Succeeded stored artifact for revision '{revision}'"),
        ]
    );
    assert_eq!(
        object.metadata.finalizers.as_deref(),
        Some(&["finalizers.fluxcd.io".to_owned()][..])
    );
    assert_eq!(object.status.as_ref().unwrap().observed_generation, Some(1));
    for kind in ["Ready", "ArtifactInStorage"] {
        assert_eq!(condition(&object, kind).unwrap().observed_generation, Some(1));
    }

    let artifact = artifact(&object);
    assert_eq!(artifact.revision, revision);
    assert_eq!(
        artifact.path,
        format!("gitrepository/{}/app/{commit}.tar.gz", bench.namespace())
    );
    assert!(artifact.url.ends_with(&artifact.path));
    let bytes = bench.download(&artifact).await;
    assert_eq!(artifact.digest, Digest::of(Algorithm::Sha256, &bytes).to_string());
    assert_eq!(artifact.size, Some(bytes.len() as i64));
    let entries: Vec<(String, u32, String)> = bench
        .entries(&artifact)
        .await
        .into_iter()
        .map(|(name, (mode, contents))| (name, mode, contents))
        .collect();
    assert_eq!(
        entries,
        [
            ("./".to_owned(), 0o750, String::new()),
            ("deploy/".to_owned(), 0o750, String::new()),
            ("deploy/app.yaml".to_owned(), 0o600, "kind: ConfigMap".to_owned()),
            ("run.sh".to_owned(), 0o700, "#!/bin/sh".to_owned()),
        ]
    );

    let event = bench.event("app", "NewArtifact").await;
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    assert_eq!(
        event.message.as_deref(),
        Some("stored artifact for commit 'Add the app'")
    );
    let annotations = event.metadata.annotations.unwrap_or_default();
    assert_eq!(annotations["source.toolkit.fluxcd.io/revision"], revision);
    assert_eq!(annotations["source.toolkit.fluxcd.io/digest"], artifact.digest);
    assert_eq!(
        std::fs::read_dir(bench.scratch()).unwrap().count(),
        1,
        "one swept directory for fetches"
    );
}

#[tokio::test]
async fn ignore_rules_of_files_and_spec_rebuild_the_same_revision() {
    // SRC-009, SRC-010, SRC-012
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    let files = [
        "a.png",
        "b.yaml",
        "docs/a.md",
        "docs/b.txt",
        "docs/deep/c.md",
        "other/d.md",
    ];
    for file in files {
        repository.write(file, file).unwrap();
    }
    repository.commit("Add files").unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let first = artifact(&bench.ready("app").await);
    assert_eq!(
        bench.files(&first).await,
        [
            "b.yaml",
            "docs/a.md",
            "docs/b.txt",
            "docs/deep/c.md",
            "other/d.md"
        ]
    );

    bench.patch_spec("app", json!({"ignore": "/*\n!/docs"})).await;
    let object = bench.ready("app").await;
    let second = artifact(&object);
    assert_eq!(second.revision, first.revision);
    assert_ne!(second.digest, first.digest);
    assert_eq!(
        object.status.as_ref().unwrap().observed_ignore.as_deref(),
        Some("/*\n!/docs")
    );
    assert_eq!(
        bench.files(&second).await,
        ["docs/a.md", "docs/b.txt", "docs/deep/c.md"]
    );

    // Back without the field: the same bytes as at first, and nothing observed.
    bench.patch_spec("app", json!({"ignore": null})).await;
    let object = bench.ready("app").await;
    assert_eq!(artifact(&object).digest, first.digest);
    assert_eq!(object.status.as_ref().unwrap().observed_ignore, None);

    // One pattern of its own takes the place of the extra defaults, and holds below its directory alone.
    repository.write("docs/.sourceignore", "*.md").unwrap();
    repository.commit("Ignore documents").unwrap();
    let third = artifact(&bench.reconcile("app").await);
    assert_eq!(
        bench.files(&third).await,
        [
            "a.png",
            "b.yaml",
            "docs/.sourceignore",
            "docs/b.txt",
            "other/d.md"
        ]
    );
}

#[tokio::test]
async fn included_artifacts_lie_where_the_spec_says() {
    // SRC-021
    let Some(bench) = Bench::start(&["--requeue-dependency=1h"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut base = server.create_repository("base").unwrap();
    base.commit_files(
        "Base",
        &[
            ("lib/x.yaml", "x: 1"),
            ("lib/deep/y.yaml", "y: 1"),
            ("z.yaml", "z: 1"),
        ],
    )
    .unwrap();
    let mut app = server.create_repository("app").unwrap();
    app.commit_files("App", &[("app.yaml", "a: 1"), ("vendor.d/keep.yaml", "k: 1")])
        .unwrap();

    let include = json!({"include": [
        {"repository": {"name": "base"}},
        {"repository": {"name": "base"}, "fromPath": "lib", "toPath": "vendor/../vendor/lib"},
    ]});
    bench.create("app", app.url(), include).await;
    let waiting = bench
        .until("app", "IncludeUnavailable", |object| {
            condition(object, "IncludeUnavailable").is_some()
        })
        .await;
    let unavailable = condition(&waiting, "IncludeUnavailable").unwrap();
    assert_eq!(unavailable.reason, "NotFound");
    assert_eq!(
        unavailable.message,
        "could not get resource for include 'base': GitRepository.source.toolkit.fluxcd.io \"base\" not found"
    );

    // The requeue is an hour away: the included repository's artifact wakes the one that waits for it.
    bench.create("base", base.url(), json!({})).await;
    let object = bench.ready("app").await;
    let files = bench.files(&artifact(&object)).await;
    let expected = [
        "app.yaml",
        "base/lib/deep/y.yaml",
        "base/lib/x.yaml",
        "base/z.yaml",
        "vendor.d/keep.yaml",
        "vendor/lib/deep/y.yaml",
        "vendor/lib/x.yaml",
    ];
    assert_eq!(files, expected);
    let status = object.status.as_ref().unwrap();
    assert_eq!(status.observed_include, object.spec.include);
    assert_eq!(status.included_artifacts.len(), 2);

    base.commit_files("Change", &[("z.yaml", "z: 2")]).unwrap();
    let newest = artifact(&bench.reconcile("base").await);
    let object = bench
        .until("app", "the new include", |object| {
            let status = object.status.as_ref().unwrap();
            status
                .included_artifacts
                .iter()
                .all(|included| included.digest == newest.digest)
                && condition(object, "Reconciling").is_none()
        })
        .await;
    assert_eq!(bench.entries(&artifact(&object)).await["base/z.yaml"].1, "z: 2");

    // What is in the way of an include is named.
    bench
        .patch_spec(
            "app",
            json!({"include": [{"repository": {"name": "base"}, "toPath": "vendor.d"}]}),
        )
        .await;
    let object = bench
        .until("app", "CopyFailure", |object| {
            condition(object, "StorageOperationFailed").is_some()
        })
        .await;
    let failed = condition(&object, "StorageOperationFailed").unwrap();
    assert_eq!(
        (failed.reason.as_str(), failed.message.as_str()),
        (
            "CopyFailure",
            "failed to copy 'base' include from  to vendor.d: file exists: vendor.d"
        )
    );
}

#[tokio::test]
async fn a_sparse_checkout_takes_the_listed_directories_alone() {
    // SRC-023
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    let files = [
        ("apps/web/a.yaml", "1"),
        ("apps/api/b.yaml", "1"),
        ("base/c.yaml", "1"),
        ("other/d.yaml", "1"),
        ("e.yaml", "1"),
    ];
    repository.commit_files("Add files", &files).unwrap();
    bench
        .create(
            "app",
            repository.url(),
            json!({"sparseCheckout": ["./apps/web", "base"]}),
        )
        .await;
    let object = bench.ready("app").await;
    let entries: Vec<String> = bench.entries(&artifact(&object)).await.into_keys().collect();
    assert_eq!(
        entries,
        [
            "./",
            "apps/",
            "apps/web/",
            "apps/web/a.yaml",
            "base/",
            "base/c.yaml"
        ]
    );
    assert_eq!(
        object.status.as_ref().unwrap().observed_sparse_checkout,
        ["./apps/web", "base"]
    );

    bench
        .patch_spec("app", json!({"sparseCheckout": ["apps", "nowhere"]}))
        .await;
    let object = bench
        .until("app", "FetchFailed", |object| {
            condition(object, "FetchFailed").is_some()
        })
        .await;
    let failed = condition(&object, "FetchFailed").unwrap();
    assert_eq!(failed.reason, "GitOperationFailed");
    assert!(
        failed.message.starts_with(
            "failed to sparse checkout directories : sparse checkout dir 'nowhere' does not exist in repository"
        ),
        "{}",
        failed.message
    );
}

#[tokio::test]
async fn another_digest_algorithm_can_be_chosen() {
    // SRC-016
    let Some(bench) = Bench::start(&["--artifact-digest-algo=blake3"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository
        .commit_files("Add a file", &[("a.yaml", "a: 1")])
        .unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let artifact = artifact(&bench.ready("app").await);
    let bytes = bench.download(&artifact).await;
    assert_eq!(artifact.digest, Digest::of(Algorithm::Blake3, &bytes).to_string());
}

#[tokio::test]
async fn links_submodules_and_odd_names_are_treated_as_in_a_checkout() {
    // SRC-011, SRC-012, SRC-058
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    for file in ["a.md", "b.yaml", "sub-1/c.md", "rules.txt"] {
        repository.write(file, "*.md").unwrap();
    }
    let work = repository.work_tree().to_owned();
    std::fs::write(work.join(OsStr::from_bytes(b"caf\xe9.yaml")), "latin").unwrap();
    // The pattern file is a link within the repository; others lead out of it or nowhere.
    for (link, target) in [
        (".sourceignore", "rules.txt"),
        ("out", "/etc"),
        ("up", "../.."),
        ("dangling", "nothing"),
    ] {
        std::os::unix::fs::symlink(target, work.join(link)).unwrap();
    }
    // An empty directory is what a checkout makes of a submodule that is not asked for.
    std::fs::create_dir(work.join("module")).unwrap();
    let module = format!("160000,{},module", "1".repeat(40));
    repository
        .git(["update-index", "--add", "--cacheinfo", &module])
        .unwrap();
    repository.commit("Add odd things").unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let artifact = artifact(&bench.ready("app").await);
    let bytes = bench.download(&artifact).await;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
    let names: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path_bytes().escape_ascii().to_string())
        .collect();
    assert_eq!(
        names,
        [".", "b.yaml", "caf\\xe9.yaml", "module", "rules.txt", "sub-1"]
    );
}

#[tokio::test]
async fn submodules_are_part_of_the_artifact_once_they_are_asked_for() {
    // SRC-022
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut base = server.create_repository("base").unwrap();
    let commit = base
        .commit_files("Base", &[("base.yaml", "base"), ("notes.md", "notes")])
        .unwrap();
    let mut repository = server.create_repository("app").unwrap();
    let declared = "[submodule \"base\"]\n\tpath = libs/base\n\turl = ../base.git\n";
    repository.write("app.yaml", "app").unwrap();
    repository.write(".gitmodules", declared).unwrap();
    repository.write(".sourceignore", "*.md\n").unwrap();
    std::fs::create_dir_all(repository.work_tree().join("libs/base")).unwrap();
    let entry = format!("160000,{commit},libs/base");
    repository
        .git(["update-index", "--add", "--cacheinfo", &entry])
        .unwrap();
    repository.commit("With a submodule").unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let plain = artifact(&bench.ready("app").await);
    assert_eq!(bench.files(&plain).await, [".sourceignore", "app.yaml"]);

    bench.patch_spec("app", json!({"recurseSubmodules": true})).await;
    let object = bench
        .until("app", "the submodule is stored", |object| {
            object
                .status
                .as_ref()
                .is_some_and(|status| status.observed_recurse_submodules)
        })
        .await;
    let full = artifact(&object);
    assert_eq!(
        bench.files(&full).await,
        [".sourceignore", "app.yaml", "libs/base/base.yaml"]
    );
    assert_eq!(full.revision, plain.revision);
    assert_ne!(full.digest, plain.digest);

    // A submodule that is gone fails by its name, and the artifact stays.
    let declared = declared.replace("base.git", "gone.git");
    repository.write(".gitmodules", declared).unwrap();
    repository.commit("Without its repository").unwrap();
    bench.request("app").await;
    let object = bench
        .until("app", "FetchFailed", |object| {
            crate::failures::failing(object, "FetchFailed")
        })
        .await;
    let failed = condition(&object, "FetchFailed").unwrap();
    assert_eq!(failed.reason, "GitOperationFailed");
    let start = format!(
        "failed to checkout and determine revision: unable to clone '{}': submodule 'libs/base': ",
        repository.url()
    );
    assert!(failed.message.starts_with(&start), "{}", failed.message);
    assert_eq!(artifact(&object), full);
}
