//! What a fetch costs and brings.

use sluice_git::{ErrorKind, ObjectId, Reference, list_references, resolve};

use crate::repository::Repository;
use crate::server::Behaviour;
use crate::{Bench, budget};

#[test]
fn branch_is_fetched_without_history_and_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.repository.write("a.txt", "one");
    bench.repository.commit("first", 1_700_000_000);
    bench.repository.write("a.txt", "two");
    let head = bench.repository.commit(
        "second: a subject that is longer than fifty characters\n\nbody",
        1_700_000_100,
    );
    // SRC-001: the default branch is Flux's, whatever HEAD says.
    let checkout = bench.fetch(&Reference::default()).unwrap();
    assert_eq!(checkout.revision.to_string(), format!("master@sha1:{head}"));
    assert_eq!(checkout.commit.id.to_string(), head);
    assert_eq!(checkout.commit.author.name, "Author");
    assert_eq!(checkout.commit.committer.email, "committer@example.com");
    assert_eq!(checkout.commit.committer.time.as_second(), 1_700_000_100);
    assert_eq!(checkout.commit.parents.len(), 1);
    assert_eq!(
        checkout.commit.short_message(),
        "second: a subject that is longer than fifty charac..."
    );
    assert_eq!(checkout.commit.signature, None);
    assert_eq!(bench.leftovers(), 0);
    assert!(checkout.tree().walk().next().is_some());
    let fetched = bench
        .server
        .take_seen()
        .into_iter()
        .find(|seen| contains(&seen.body, "command=fetch"))
        .unwrap();
    assert!(contains(&fetched.body, "deepen 1") && !contains(&fetched.body, "have "));
}

#[test]
fn unchanged_remote_costs_two_requests_and_no_objects() {
    let bench = Bench::new();
    bench.repository.write("a.txt", "one");
    bench.repository.commit("first", 1_700_000_000);
    bench
        .repository
        .git(&["tag", "--annotate", "--message=x", "v1.0.0"]);
    let fetched = bench.fetch(&Reference::branch("master")).unwrap();
    bench.server.take_seen();
    // SRC-007
    let resolved = resolve(&bench.server.remote(), &Reference::branch("master"), &budget()).unwrap();
    assert_eq!(resolved, Some(fetched.revision));
    let requests: Vec<String> = bench
        .server
        .take_seen()
        .iter()
        .map(|seen| {
            assert!(!contains(&seen.body, "command=fetch"));
            format!("{} {}", seen.method, seen.path)
        })
        .collect();
    assert_eq!(
        requests,
        [
            "GET /repo.git/info/refs?service=git-upload-pack",
            "POST /repo.git/git-upload-pack"
        ]
    );
    // SRC-006: the annotated tag is compared by its commit.
    let tag = Reference::tag("v1.0.0");
    let resolved = resolve(&bench.server.remote(), &tag, &budget()).unwrap();
    assert_eq!(resolved, Some(bench.fetch(&tag).unwrap().revision));
    assert_eq!(
        resolve(&bench.server.remote(), &Reference::branch("none"), &budget()),
        Ok(None)
    );
    assert_eq!(
        resolve(&bench.server.remote(), &Reference::semver("*"), &budget()),
        Ok(None)
    );
}

#[test]
fn listing_filters_by_prefix_and_peels_tags() {
    let bench = Bench::new();
    let head = bench.repository.commit("first", 1_700_000_000);
    let head = ObjectId::from_hex(head.as_bytes()).unwrap();
    bench.repository.git(&["branch", "feature/x"]);
    bench.repository.git(&["tag", "light"]);
    bench
        .repository
        .git(&["tag", "--annotate", "--message=x", "heavy"]);
    let remote = bench.server.remote();
    let listed = list_references(&remote, &["refs/tags/"], &budget()).unwrap();
    let names: Vec<_> = listed
        .references
        .iter()
        .map(|reference| reference.name.as_str())
        .collect();
    assert_eq!(names, ["refs/tags/heavy", "refs/tags/light"]);
    assert!(
        listed
            .references
            .iter()
            .all(|reference| reference.commit() == head)
    );
    assert_ne!(listed.references[0].object, head);
    let all = list_references(&remote, &[], &budget()).unwrap();
    assert_eq!(all.head.unwrap().target, "refs/heads/master");
    assert_eq!(all.references.len(), 4);
}

#[test]
fn empty_repositories_and_missing_references_are_told_apart() {
    let bench = Bench::new();
    let url = bench.server.url("/repo.git");
    let error = bench.fetch(&Reference::branch("main")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Empty);
    assert_eq!(
        list_references(&bench.server.remote(), &[], &budget())
            .unwrap()
            .references,
        []
    );
    let error = bench.fetch(&Reference::tag("v1")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("unable to clone: remote repository is empty: git repository: '{url}'")
    );
    bench.repository.commit("first", 1_700_000_000);
    let text = |reference: &Reference| {
        let error = bench.fetch(reference).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReferenceNotFound);
        error.to_string()
    };
    assert_eq!(
        text(&Reference::branch("none")),
        format!("unable to clone '{url}': couldn't find remote ref \"refs/heads/none\"")
    );
    assert_eq!(
        text(&Reference::tag("none")),
        format!("unable to clone '{url}': couldn't find remote ref \"refs/tags/none\"")
    );
    assert_eq!(
        text(&Reference::name("refs/x")),
        "unable to resolve ref 'refs/x' to a specific commit"
    );
    assert_eq!(text(&Reference::semver(">=1")), "no match found for semver: >=1");
    let absent = "0123456789012345678901234567890123456789";
    assert_eq!(
        text(&Reference::commit(absent)),
        format!("unable to resolve commit object for '{absent}': object not found")
    );
    let invalid = |reference: &Reference| {
        let error = bench.fetch(reference).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.to_string()
    };
    assert_eq!(
        invalid(&Reference::semver("latest")),
        "semver parse error: improper constraint: latest"
    );
    assert_eq!(
        invalid(&Reference::name("/refs/x")),
        "ref /refs/x is invalid; Git refs cannot begin or end with a slash '/'"
    );
    invalid(&Reference::commit("abc"));
    assert_eq!(bench.leftovers(), 0);
}

#[test]
fn servers_of_the_older_protocol_work_as_well() {
    let bench = Bench::with(
        Repository::new(),
        Behaviour {
            old_protocol: true,
            ..Behaviour::default()
        },
    );
    assert_eq!(
        bench.fetch(&Reference::default()).unwrap_err().kind(),
        ErrorKind::Empty
    );
    bench.repository.write("dir/a.txt", "one");
    let head = bench.repository.commit("first", 1_700_000_000);
    bench
        .repository
        .git(&["tag", "--annotate", "--message=x", "v1.0.0"]);
    for reference in [
        Reference::default(),
        Reference::tag("v1.0.0"),
        Reference::semver("1.x"),
        Reference::commit(&head),
    ] {
        let checkout = bench.fetch(&reference).unwrap();
        assert_eq!(checkout.commit.id.to_string(), head, "{reference}");
        assert_eq!(checkout.tree().walk().count(), 2);
    }
}

#[test]
fn repositories_of_the_sha256_format_work_as_well() {
    let bench = Bench::with(Repository::with_format("sha256"), Behaviour::default());
    bench.repository.write("a.txt", "one");
    let head = bench.repository.commit("first", 1_700_000_000);
    let checkout = bench.fetch(&Reference::default()).unwrap();
    assert_eq!(checkout.revision.to_string(), format!("master@sha256:{head}"));
    let entry = checkout.tree().walk().next().unwrap().unwrap();
    assert_eq!(checkout.tree().read(&entry).unwrap(), "one");
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
