//! Which commit a reference selects.

use sluice_git::{ErrorKind, Reference};

use crate::Bench;

/// A commit of its own for each name, later ones younger.
fn tag_commits(bench: &Bench, names: &[&str]) -> Vec<String> {
    let commit = |(index, name): (usize, &&str)| {
        bench.repository.write("version", name);
        let commit = bench
            .repository
            .commit(name, 1_700_000_000 + i64::try_from(index).unwrap());
        bench.repository.git(&["tag", name]);
        commit
    };
    names.iter().enumerate().map(commit).collect()
}

// SRC-004, SRC-006
#[test]
fn annotated_tags_select_the_commit_they_lead_to() {
    let bench = Bench::new();
    let head = bench.repository.commit("first", 1_700_000_000);
    bench.repository.git_at(
        &["tag", "--annotate", "--message=inner words", "inner"],
        1_700_000_500,
    );
    bench
        .repository
        .git(&["tag", "--annotate", "--message=outer", "outer", "inner"]);
    bench.repository.git(&["tag", "light"]);
    let checkout = bench.fetch(&Reference::tag("inner")).unwrap();
    assert_eq!(checkout.revision.to_string(), format!("inner@sha1:{head}"));
    let tag = checkout.tag.unwrap();
    assert_eq!(
        tag.id.to_string(),
        bench.repository.git(&["rev-parse", "inner^{tag}"])
    );
    assert_eq!(
        (tag.name.as_str(), tag.message.trim_end()),
        ("inner", "inner words")
    );
    assert_eq!(tag.tagger.unwrap().time.as_second(), 1_700_000_500);
    assert_eq!(
        bench
            .fetch(&Reference::tag("outer"))
            .unwrap()
            .commit
            .id
            .to_string(),
        head
    );
    let light = bench.fetch(&Reference::tag("light")).unwrap();
    assert_eq!(
        (light.revision.to_string(), light.tag),
        (format!("light@sha1:{head}"), None)
    );
}

// SRC-004
#[test]
fn semver_selects_the_highest_matching_tag() {
    let bench = Bench::new();
    let names = [
        "v1.0.0",
        "1.2.0",
        "v1.10.0",
        "v2.0.0-rc.1",
        "v2.0",
        "latest",
        "01.2.3",
    ];
    let commits = tag_commits(&bench, &names);
    let select = |range: &str| {
        bench
            .fetch(&Reference::semver(range))
            .unwrap()
            .revision
            .to_string()
    };
    assert_eq!(select(">=1.0.0"), format!("v1.10.0@sha1:{}", commits[2]));
    assert_eq!(select("~1.2"), format!("01.2.3@sha1:{}", commits[6]));
    assert_eq!(select(">=1.0.0-0"), format!("v2.0.0-rc.1@sha1:{}", commits[3]));
    assert_eq!(select("1.0.0 - 1.1.0"), format!("v1.0.0@sha1:{}", commits[0]));
    // `v2.0` has no third number, so it is no version of a tag.
    assert_eq!(
        bench.fetch(&Reference::semver("2.x")).unwrap_err().kind(),
        ErrorKind::ReferenceNotFound
    );
}

#[test]
fn equal_versions_are_told_apart_by_commit_time() {
    let bench = Bench::new();
    let commits = tag_commits(&bench, &["1.0.0+z", "1.0.0+a", "0.9.0"]);
    bench
        .repository
        .git(&["tag", "--annotate", "--message=x", "1.0.0+b", "1.0.0+z"]);
    let selected = bench.fetch(&Reference::semver("1.x")).unwrap();
    assert_eq!(
        selected.revision.to_string(),
        format!("1.0.0+a@sha1:{}", commits[1])
    );
}

// SRC-004
#[test]
fn names_select_any_reference_and_are_printed_in_full() {
    let bench = Bench::new();
    let first = bench.repository.commit("first", 1_700_000_000);
    bench.repository.git(&["tag", "--annotate", "--message=x", "v1"]);
    let merged = bench.repository.commit("a change request", 1_700_000_001);
    bench.repository.git(&["update-ref", "refs/pull/1/head", &merged]);
    bench.repository.git(&["reset", "--quiet", "--hard", &first]);
    let select = |name: &str| bench.fetch(&Reference::name(name)).unwrap().revision.to_string();
    assert_eq!(
        select("refs/heads/master"),
        format!("refs/heads/master@sha1:{first}")
    );
    assert_eq!(
        select("refs/pull/1/head"),
        format!("refs/pull/1/head@sha1:{merged}")
    );
    assert_eq!(select("refs/tags/v1"), format!("refs/tags/v1@sha1:{first}"));
    assert_eq!(
        select("refs/tags/v1^{}"),
        format!("refs/tags/v1^{{}}@sha1:{first}")
    );
}

// SRC-004, SRC-005
#[test]
fn commits_are_found_in_the_history_of_branches() {
    let bench = Bench::new();
    let first = bench.repository.commit("first", 1_700_000_000);
    bench.repository.git(&["checkout", "--quiet", "-b", "side"]);
    let middle = bench.repository.commit("middle", 1_700_000_001);
    let tip = bench.repository.commit("tip", 1_700_000_002);
    let select = |reference: &Reference| {
        bench
            .fetch(reference)
            .map(|checkout| checkout.revision.to_string())
    };
    for commit in [&first, &middle, &tip] {
        assert_eq!(
            select(&Reference::commit(commit)).unwrap(),
            format!("sha1:{commit}")
        );
        let on_side = Reference {
            branch: "side".into(),
            ..Reference::commit(commit)
        };
        assert_eq!(select(&on_side).unwrap(), format!("side@sha1:{commit}"));
    }
    let elsewhere = Reference {
        branch: "master".into(),
        ..Reference::commit(&middle)
    };
    assert_eq!(
        select(&elsewhere).unwrap_err().kind(),
        ErrorKind::ReferenceNotFound
    );
    // A commit beside a name is looked for on all branches, and printed under the name.
    let everything = Reference {
        branch: String::new(),
        tag: "none".into(),
        semver: "none".into(),
        name: "refs/heads/side".into(),
        commit: first.clone(),
    };
    assert_eq!(
        select(&everything).unwrap(),
        format!("refs/heads/side@sha1:{first}")
    );
}

#[test]
fn signatures_are_kept_apart_from_what_they_cover() {
    let bench = Bench::new();
    bench.repository.commit("first", 1_700_000_000);
    let plain = bench.repository.git(&["cat-file", "commit", "HEAD"]) + "\n";
    let signature = "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----";
    let header = format!("gpgsig {}\n\n", signature.replace('\n', "\n "));
    let signed = plain.replacen("\n\n", &format!("\n{header}"), 1);
    let id = bench.repository.git_with_input(
        &["hash-object", "-t", "commit", "-w", "--stdin"],
        signed.as_bytes(),
    );
    bench.repository.git(&["update-ref", "refs/heads/master", &id]);
    let commit = bench.fetch(&Reference::default()).unwrap().commit;
    assert_eq!(commit.id.to_string(), id);
    assert_eq!(
        String::from_utf8(commit.signature.unwrap()).unwrap().trim_end(),
        signature
    );
    assert_eq!(commit.signed_payload, plain);
}
