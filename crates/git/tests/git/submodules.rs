//! Submodules against real repositories.

use std::collections::BTreeMap;
use std::process::Command;

use sluice_git::{
    Authentication, Budget, Checkout, Error, ErrorKind, Reference, Secret, Tree, TreeEntryKind,
};
use sluice_vfs::{EntryKind, FileSystem, VirtualPath};

use crate::repository::Repository;
use crate::server::{Behaviour, Server};
use crate::{Bench, budget};

const BASIC: &str = "Basic Ym9iOmh1bnRlcjI=";

/// A repository with submodules: path, address and commit of each.
fn with_submodules(submodules: &[(&str, &str, &str)]) -> Repository {
    let repository = Repository::new();
    add_submodules(&repository, submodules);
    repository
}

fn add_submodules(repository: &Repository, submodules: &[(&str, &str, &str)]) {
    repository.write("app.yaml", "app");
    let mut text = String::new();
    for (path, url, _) in submodules {
        text.push_str(&format!(
            "[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n"
        ));
    }
    repository.write(".gitmodules", &text);
    for (path, _, commit) in submodules {
        // An empty directory stands for a submodule that is not checked out.
        std::fs::create_dir_all(repository.work().join(path)).unwrap();
        let entry = format!("160000,{commit},{path}");
        repository.git(&["update-index", "--add", "--cacheinfo", &entry]);
    }
    repository.commit("With submodules", 1_700_000_000);
}

/// Puts a bare copy of a repository beside another, under a name.
fn beside(host: &Repository, name: &str, repository: &Repository) {
    let status = Command::new("git")
        .args(["clone", "--quiet", "--bare"])
        .arg(repository.directory())
        .arg(host.root().join(name))
        .status()
        .unwrap();
    assert!(status.success());
}

fn fetch(bench: &Bench, budget: &Budget) -> Result<Checkout, Error> {
    let remote = bench.server.remote();
    let checkout = sluice_git::fetch(&remote, &Reference::default(), bench.scratch.path(), budget)?;
    checkout.with_submodules(&remote, bench.scratch.path(), budget)
}

/// All files with their contents.
fn files(tree: &Tree) -> BTreeMap<String, String> {
    tree.walk()
        .map(Result::unwrap)
        .filter(|entry| matches!(entry.kind, TreeEntryKind::File | TreeEntryKind::Executable))
        .map(|entry| {
            let contents = tree.read(&entry).unwrap();
            assert_eq!(tree.size(&entry).unwrap(), contents.len() as u64);
            let contents = String::from_utf8(contents.to_vec()).unwrap();
            (entry.path_text().into_owned(), contents)
        })
        .collect()
}

fn leaf() -> (Repository, String) {
    let leaf = Repository::new();
    leaf.write("leaf.yaml", "leaf");
    let commit = leaf.commit("Leaf", 1_700_000_000);
    (leaf, commit)
}

// SRC-022
#[test]
fn submodules_and_theirs_are_put_where_their_commits_stand() {
    for old_protocol in [false, true] {
        let (leaf, leaf_commit) = leaf();
        let base = with_submodules(&[("inner/leaf", "../leaf.git", &leaf_commit)]);
        base.write("base.yaml", "pinned");
        let pinned = base.commit("Pinned", 1_700_000_001);
        base.write("base.yaml", "newer");
        base.commit("Newer", 1_700_000_002);
        let app = Repository::new();
        std::os::unix::fs::symlink("libs/base/inner", app.work().join("link")).unwrap();
        add_submodules(&app, &[("libs/base", "../base.git", &pinned)]);
        beside(&app, "base.git", &base);
        beside(&app, "leaf.git", &leaf);
        let behaviour = Behaviour {
            old_protocol,
            ..Behaviour::default()
        };
        let bench = Bench::with(app, behaviour);
        let checkout = fetch(&bench, &budget()).unwrap();
        let tree = checkout.tree();
        let found = files(tree);
        let contents: Vec<_> = found
            .iter()
            .filter(|(path, _)| !path.ends_with(".gitmodules"))
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        assert_eq!(
            contents,
            [
                ("app.yaml", "app"),
                ("libs/base/app.yaml", "app"),
                ("libs/base/base.yaml", "pinned"),
                ("libs/base/inner/leaf/leaf.yaml", "leaf"),
            ]
        );
        let path = |text: &str| VirtualPath::parse(text).unwrap();
        // Links lead into submodules.
        let linked = FileSystem::read(tree, &path("link/leaf/leaf.yaml")).unwrap();
        assert_eq!(linked.as_ref(), b"leaf");
        assert_eq!(
            tree.kind(&path("libs/base/inner/leaf")).unwrap(),
            Some(EntryKind::Directory)
        );
        let names: Vec<_> = tree.list(&path("libs/base")).unwrap();
        let names: Vec<_> = names.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, [".gitmodules", "app.yaml", "base.yaml", "inner"]);
        drop(checkout);
        assert_eq!(bench.leftovers(), 0);
    }
}

#[test]
fn a_commit_without_declaration_is_an_empty_directory() {
    let (_leaf, commit) = leaf();
    let app = Repository::new();
    std::fs::create_dir_all(app.work().join("module")).unwrap();
    app.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{commit},module"),
    ]);
    app.commit("Undeclared", 1_700_000_000);
    let bench = Bench::with(app, Behaviour::default());
    let checkout = fetch(&bench, &budget()).unwrap();
    let entries: Vec<_> = checkout.tree().walk().map(Result::unwrap).collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].kind, TreeEntryKind::Submodule);
    // Without being asked for none is fetched.
    let (leaf, commit) = self::leaf();
    let app = with_submodules(&[("module", "../leaf.git", &commit)]);
    beside(&app, "leaf.git", &leaf);
    let bench = Bench::with(app, Behaviour::default());
    let plain = bench.fetch(&Reference::default()).unwrap();
    assert!(!files(plain.tree()).contains_key("module/leaf.yaml"));
}

fn failure(submodules: &[(&str, &str, &str)]) -> Error {
    let app = with_submodules(submodules);
    let (leaf, _) = leaf();
    beside(&app, "leaf.git", &leaf);
    let bench = Bench::with(app, Behaviour::default());
    let error = fetch(&bench, &budget()).unwrap_err();
    assert_eq!(bench.leftovers(), 0);
    let start = format!("unable to clone '{}': ", bench.server.url("/repo.git"));
    assert!(error.to_string().starts_with(&start), "{error}");
    error
}

// SRC-022
#[test]
fn what_is_not_to_be_had_is_named_with_its_submodule() {
    let nowhere = "0123456789012345678901234567890123456789";
    let missing = failure(&[("libs/leaf", "../leaf.git", nowhere)]);
    assert_eq!(missing.kind(), ErrorKind::ReferenceNotFound);
    let text = missing.to_string();
    assert!(text.contains("submodule 'libs/leaf': "), "{text}");
    assert!(
        text.ends_with(&format!(
            "unable to resolve commit object for '{nowhere}': object not found"
        )),
        "{text}"
    );
    let gone = failure(&[("libs/leaf", "../gone.git", nowhere)]);
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    assert!(gone.to_string().contains("/gone.git'"), "{gone}");
    for url in ["file:///etc", "ext::sh -c id", "/etc", "git://localhost/x"] {
        let refused = failure(&[("libs/leaf", url, nowhere)]);
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{url}: {refused}");
        assert!(
            refused.to_string().contains("submodule 'libs/leaf': "),
            "{refused}"
        );
    }
}

// SRC-022, SRC-058
#[test]
fn declarations_that_point_elsewhere_bring_nothing_there() {
    let (leaf, commit) = leaf();
    let write = |app: &Repository, text: &str| {
        app.write(".gitmodules", text);
        app.commit("Declared", 1_700_000_000);
    };
    let app = Repository::new();
    app.write("file.yaml", "file");
    std::os::unix::fs::symlink("real", app.work().join("link")).unwrap();
    std::fs::create_dir_all(app.work().join("real/module")).unwrap();
    app.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{commit},real/module"),
    ]);
    beside(&app, "leaf.git", &leaf);
    let bench = Bench::with(app, Behaviour::default());
    let app = &bench.repository;
    let declare = |path: &str| format!("[submodule \"x\"]\n\tpath = {path}\n\turl = ../leaf.git\n");
    for path in ["../module", "real/../../module", "/../module"] {
        write(app, &declare(path));
        let checkout = fetch(&bench, &budget()).unwrap();
        assert!(files(checkout.tree()).keys().all(|path| !path.contains("leaf")));
    }
    for path in [
        "file.yaml",
        "link/module",
        "real",
        "none",
        "/real/module",
        ".git/modules/x",
    ] {
        write(app, &declare(path));
        let error = fetch(&bench, &budget()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReferenceNotFound, "{path}");
        assert!(error.to_string().contains("entry not found"), "{path}: {error}");
    }
    std::fs::remove_file(app.work().join(".gitmodules")).unwrap();
    std::os::unix::fs::symlink("file.yaml", app.work().join(".gitmodules")).unwrap();
    app.commit("Linked", 1_700_000_000);
    let error = fetch(&bench, &budget()).unwrap_err();
    assert!(error.to_string().ends_with(".gitmodules is a symlink"), "{error}");
    assert_eq!(bench.leftovers(), 0);
}

// SRC-022
#[test]
fn credentials_are_shown_to_the_repository_s_own_server_only() {
    let (leaf, commit) = leaf();
    let elsewhere = Server::start(leaf.root(), Behaviour::default());
    let foreign = elsewhere.url("/repo.git");
    let app = with_submodules(&[("own", "../leaf.git", &commit), ("foreign", &foreign, &commit)]);
    beside(&app, "leaf.git", &leaf);
    let behaviour = Behaviour {
        authorization: Some(BASIC.to_owned()),
        ..Behaviour::default()
    };
    let bench = Bench::with(app, behaviour);
    let mut remote = bench.server.remote();
    remote.authentication = Authentication::Basic {
        username: "bob".into(),
        password: Secret::new("hunter2"),
    };
    let checkout = bench.fetch_from(&remote, &Reference::default()).unwrap();
    let checkout = checkout
        .with_submodules(&remote, bench.scratch.path(), &budget())
        .unwrap();
    let found = files(checkout.tree());
    assert!(found.contains_key("own/leaf.yaml") && found.contains_key("foreign/leaf.yaml"));
    let seen = elsewhere.take_seen();
    assert!(!seen.is_empty());
    assert!(
        seen.iter()
            .all(|request| !request.headers.contains_key("authorization"))
    );
}

// SRC-022
#[test]
fn limits_hold_for_everything_together() {
    let (leaf, _) = leaf();
    let noise: String = (0..2_000)
        .map(|number| format!("{number:x}{}", number * 7919))
        .collect();
    leaf.write("noise.txt", &noise);
    let commit = leaf.commit("Noise", 1_700_000_001);
    let names: Vec<String> = (0..4).map(|number| format!("libs/{number}")).collect();
    let submodules: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "../leaf.git", commit.as_str()))
        .collect();
    let app = with_submodules(&submodules);
    beside(&app, "leaf.git", &leaf);
    let bench = Bench::with(app, Behaviour::default());
    fetch(&bench, &budget()).unwrap();
    // Each of them alone is within the limit.
    let error = fetch(&bench, &budget().with_transfer_bytes(40_000)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("submodule 'libs/"), "{error}");
    let checkout = fetch(&bench, &budget().with_entries(12)).unwrap();
    let error = checkout.tree().walk().find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
    drop(checkout);
    assert_eq!(bench.leftovers(), 0);
}
