//! `sluice kustomize build` with remote bases, beside the real `kustomize build` on the same servers.

use std::path::Path;
use std::process::Command;

use sluice_testbed::files::FileServer;
use sluice_testbed::git::{GitServer, Repository};
use sluice_testbed::tools;

use crate::support::Sluice;

/// The real program, on the same directory or address.
fn real(target: &str) -> Result<String, String> {
    let output = Command::new(tools::tool("kustomize").unwrap())
        .args(["build", target])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        // What stands on the loopback address must not need the network.
        .env("GIT_ALLOW_PROTOCOL", "http:https")
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Builds with both; fails unless both print the same. Returns what they print, or how ours fails.
fn both(target: &str) -> Result<String, String> {
    let ended = Sluice::alone().run(&["kustomize", "build", target]);
    match (real(target), ended.code) {
        (Ok(wanted), 0) => {
            assert_eq!(wanted, ended.stdout, "{target}");
            Ok(wanted)
        }
        (Err(_), 1) => Err(ended.stderr),
        (real, _) => panic!("{target}: {real:?}, ours {ended:?}"),
    }
}

fn overlay(directory: &Path, name: &str, kustomization: &str) -> String {
    let path = directory.join(name);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("kustomization.yaml"), kustomization).unwrap();
    path.to_str().unwrap().to_owned()
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  key: value\n")
}

/// A repository with two branches, tags and commits of which no reference leads to some.
struct Bases {
    server: GitServer,
    repository: Repository,
    first: String,
    unreachable: String,
}

fn bases() -> Option<Bases> {
    let server = tools::require_or_skip(GitServer::start())?;
    let mut repository = server.create_repository("team/bases").unwrap();
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: c-\n";
    let first = repository
        .commit_files(
            "first",
            &[
                ("kustomization.yaml", "resources: [app]\n"),
                (
                    "app/kustomization.yaml",
                    "resources: [../common, app.yaml]\nnamePrefix: far-\n",
                ),
                ("app/app.yaml", &config_map("app")),
                (
                    "common/kustomization.yaml",
                    "configMapGenerator: [{name: made, files: [note.txt]}]\n",
                ),
                ("common/note.txt", "one\n"),
                ("component/kustomization.yaml", component),
                (
                    "outside/kustomization.yaml",
                    "configMapGenerator: [{name: o, files: [../common/note.txt]}]\n",
                ),
                ("climbing/kustomization.yaml", "resources: [../../x]\n"),
            ],
        )
        .unwrap();
    let link = repository.work_tree().join("linked/note.txt");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("../common/note.txt", link).unwrap();
    std::os::unix::fs::symlink("app", repository.work_tree().join("alias")).unwrap();
    repository
        .commit_files(
            "links",
            &[(
                "linked/kustomization.yaml",
                "configMapGenerator: [{name: l, files: [note.txt]}]\n",
            )],
        )
        .unwrap();
    repository.tag("v1", Some("annotated")).unwrap();
    repository.tag("light", None).unwrap();
    repository.switch("next").unwrap();
    repository
        .commit_files("next", &[("common/note.txt", "two\n")])
        .unwrap();
    // A tag and a branch of one name: the tag counts.
    repository.switch("both").unwrap();
    repository
        .commit_files("both", &[("common/note.txt", "three\n")])
        .unwrap();
    repository.tag("both", None).unwrap();
    let unreachable = repository
        .commit_files("lost", &[("common/note.txt", "four\n")])
        .unwrap();
    repository
        .commit_files("amended", &[("common/note.txt", "five\n")])
        .unwrap();
    Some(Bases {
        server,
        repository,
        first,
        unreachable,
    })
}

#[test]
fn references_of_all_forms_build_as_with_kustomize() {
    let Some(bases) = bases() else { return };
    let url = bases.repository.url();
    let directory = tempfile::tempdir().unwrap();
    let references = [
        String::new(),
        "?ref=main".to_owned(),
        "?ref=next".to_owned(),
        "?version=next".to_owned(),
        "?ref=refs/heads/next".to_owned(),
        "?ref=heads/next".to_owned(),
        "?ref=v1".to_owned(),
        "?ref=light".to_owned(),
        "?ref=tags/v1&timeout=60s".to_owned(),
        "?ref=both".to_owned(),
        "?ref=HEAD&submodules=false".to_owned(),
        format!("?ref={}", bases.first),
        format!("?ref={}", bases.unreachable),
    ];
    for reference in &references {
        let target = overlay(
            directory.path(),
            "o",
            &format!("resources: ['{url}//app{reference}']\n"),
        );
        let built = both(&target).unwrap();
        assert!(built.contains("name: far-app"), "{reference}: {built}");
    }
    for (reference, told) in [
        (format!("?ref={}", &bases.first[..9]), "give all 40 digits"),
        ("?ref=nothing".to_owned(), "couldn't find remote ref"),
        (
            "?ref=0123456789012345678901234567890123456789".to_owned(),
            "unable to clone",
        ),
    ] {
        let target = overlay(
            directory.path(),
            "o",
            &format!("resources: ['{url}//app{reference}']\n"),
        );
        let error = both(&target).unwrap_err();
        assert!(error.contains(told), "{reference}: {error}");
    }
}

#[test]
fn places_in_a_repository_build_as_with_kustomize() {
    let Some(bases) = bases() else { return };
    let url = bases.repository.url();
    let without_suffix = url.trim_end_matches(".git").replace("/bases", "/bases.git");
    let directory = tempfile::tempdir().unwrap();
    for kustomization in [
        format!("resources: ['{url}']\n"),
        format!("bases: ['{url}/app']\n"),
        format!("resources: ['{without_suffix}//app/../common']\n"),
        format!("resources: ['git::{url}//app?ref=v1']\n"),
        format!("resources: ['{url}//alias?ref=v1', '{url}//common?ref=next']\n"),
        format!("resources: ['{url}//app']\ncomponents: ['{url}//component?ref=v1']\n"),
        format!(
            "resources: ['{url}//app?ref=v1']\nbuildMetadata: [originAnnotations, transformerAnnotations]\nnameSuffix: -x\n"
        ),
        format!("resources: ['{url}?ref=v1']\nbuildMetadata: [originAnnotations]\n"),
    ] {
        let target = overlay(directory.path(), "o", &kustomization);
        let built = both(&target).unwrap_or_else(|error| panic!("{kustomization}: {error}"));
        assert!(built.contains("kind: ConfigMap"), "{kustomization}: {built}");
    }
    // The target itself may be an address.
    let built = both(&format!("{url}//app?ref=v1")).unwrap();
    assert!(built.contains("name: far-app"), "{built}");
    for (place, told) in [
        ("//outside", "is not in or below"),
        ("//linked", "is not in or below"),
        ("//climbing", "leads outside"),
        ("//app/app.yaml", "is a file"),
        ("//gone", "no such file or directory"),
    ] {
        let target = overlay(
            directory.path(),
            "o",
            &format!("resources: ['{url}{place}?ref=v1']\n"),
        );
        let error = both(&target).unwrap_err();
        assert!(error.contains(told), "{place}: {error}");
        assert!(error.contains(url), "{place}: {error}");
    }
}

#[test]
fn repositories_that_refer_to_repositories_build_as_with_kustomize() {
    let Some(bases) = bases() else { return };
    let url = bases.repository.url();
    let directory = tempfile::tempdir().unwrap();
    let mut middle = bases.server.create_repository("middle").unwrap();
    let own = middle.url().to_owned();
    middle
        .commit_files(
            "middle",
            &[
                (
                    "good/kustomization.yaml",
                    &format!("resources: ['{url}//app?ref=v1']\nnamePrefix: m-\n"),
                ),
                (
                    "circle/kustomization.yaml",
                    &format!("resources: ['{own}//circle']\n"),
                ),
                (
                    "back/kustomization.yaml",
                    &format!("resources: ['{own}//forth']\n"),
                ),
                (
                    "forth/kustomization.yaml",
                    &format!("resources: ['{own}//back']\n"),
                ),
            ],
        )
        .unwrap();
    let built = both(&overlay(
        directory.path(),
        "o",
        &format!("resources: ['{own}//good']\n"),
    ))
    .unwrap();
    assert!(built.contains("name: m-far-app"), "{built}");
    for place in ["circle", "back"] {
        let target = overlay(directory.path(), "o", &format!("resources: ['{own}//{place}']\n"));
        let error = both(&target).unwrap_err();
        assert!(error.contains("refers to itself"), "{place}: {error}");
    }
}

#[test]
fn submodules_are_there_unless_the_address_leaves_them_out() {
    let Some(bases) = bases() else { return };
    let outer = bases.server.create_repository("team/outer").unwrap();
    let modules = "[submodule \"deps/bases\"]\n\tpath = deps/bases\n\turl = ../bases.git\n";
    outer.write(".gitmodules", modules).unwrap();
    outer
        .write(
            "kustomization.yaml",
            "resources: [deps/bases/app]\nnamePrefix: outer-\n",
        )
        .unwrap();
    let entry = format!("160000,{},deps/bases", bases.first);
    // The entry stands in the index alone: nothing needs the files here.
    std::fs::create_dir_all(outer.work_tree().join("deps/bases")).unwrap();
    let stage = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(outer.work_tree())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    stage(&["add", ".gitmodules", "kustomization.yaml"]);
    stage(&["update-index", "--add", "--cacheinfo", &entry]);
    stage(&[
        "-c",
        "user.name=Test",
        "-c",
        "user.email=test@example.com",
        "commit",
        "-qm",
        "outer",
    ]);
    outer.push(&[]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = outer.url();
    let built = both(&overlay(
        directory.path(),
        "o",
        &format!("resources: ['{url}']\n"),
    ))
    .unwrap();
    assert!(built.contains("name: outer-far-app"), "{built}");
    let error = both(&overlay(
        directory.path(),
        "o",
        &format!("resources: ['{url}?submodules=false']\n"),
    ))
    .unwrap_err();
    assert!(error.contains("deps/bases/app"), "{error}");
}

#[test]
fn single_files_by_http_build_as_with_kustomize() {
    let files = FileServer::start().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let object = files.put("/a.yaml", config_map("a"));
    let moved = files.redirect("/moved.yaml", "/a.yaml");
    // An address that a repository could have, too.
    let deep = files.put("/owner/repo/main/b.yaml", config_map("b"));
    let patch = files.put(
        "/patch.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: patched}\n",
    );
    for kustomization in [
        format!("resources: [{object}, '{deep}?raw=true']\n"),
        format!("resources: [{moved}]\n"),
        format!("resources: [{object}]\npatches: [{{path: {patch}}}]\n"),
        format!("configMapGenerator: [{{name: g, files: ['note={patch}']}}]\n"),
        format!("resources: [{object}]\nbuildMetadata: [originAnnotations]\n"),
        format!("resources: [{deep}]\nbuildMetadata: [originAnnotations]\n"),
    ] {
        let target = overlay(directory.path(), "o", &kustomization);
        let built = both(&target).unwrap_or_else(|error| panic!("{kustomization}: {error}"));
        assert!(built.contains("kind: ConfigMap"), "{kustomization}: {built}");
    }
    let broken = files.put("/broken.yaml", "a: [\n");
    for (address, told) in [
        (broken.as_str(), "broken.yaml:2"),
        (
            &format!("{}/gone.yaml", files.url()),
            "HTTP Error: status code 404 (Not Found)",
        ),
        (
            &format!("{}/owner/repo/gone.yaml", files.url()),
            "unable to clone",
        ),
        ("http://127.0.0.1:1/a.yaml", "unable to connect"),
    ] {
        let target = overlay(directory.path(), "o", &format!("resources: ['{address}']\n"));
        let error = both(&target).unwrap_err();
        assert!(error.contains(told), "{address}: {error}");
    }
}
