//! Servers whose answers are damaged anywhere: capabilities, references and packs. A fetch ends with a checkout or an
//! error, never in a panic, and leaves nothing behind. `PROPTEST_CASES` sets how many are tried.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use sluice_git::{Budget, Reference, RemoteUrl};

use crate::repository::{Repository, incompressible};
use crate::server::Behaviour;
use crate::{Bench, budget};

/// What is done to an answer.
#[derive(Debug, Clone, Default)]
struct Blow {
    /// Which answer of a fetch: with version 2 the capabilities, the references, the pack.
    answer: usize,
    flips: Vec<(Index, u8)>,
    cut: Option<Index>,
    doubled: Option<Index>,
}

fn blow() -> impl Strategy<Value = Blow> {
    let flips = prop::collection::vec((any::<Index>(), any::<u8>()), 0..4);
    let seldom = || prop::option::weighted(0.2, any::<Index>());
    (0_usize..3, flips, seldom(), seldom()).prop_map(|(answer, flips, cut, doubled)| Blow {
        answer,
        flips,
        cut,
        doubled,
    })
}

impl Blow {
    fn strike(&self, mut body: Vec<u8>) -> Vec<u8> {
        if body.is_empty() {
            return body;
        }
        for (at, value) in &self.flips {
            let at = at.index(body.len());
            body[at] = *value;
        }
        if let Some(at) = &self.doubled {
            let again = body[at.index(body.len())..].to_vec();
            body.extend(again);
        }
        if let Some(at) = &self.cut {
            body.truncate(at.index(body.len()));
        }
        body
    }
}

fn repository() -> Repository {
    let repository = Repository::new();
    for file in 0..8 {
        repository.write(&format!("apps/{file}.yaml"), &incompressible(300, file + 1));
    }
    repository.commit("first", 1_700_000_000);
    // Close to the first, so that the pack holds differences.
    let mut text = incompressible(300, 1);
    text.push_str("more");
    repository.write("apps/again.yaml", &text);
    repository.commit("second", 1_700_000_001);
    repository.git(&["gc", "--quiet", "--aggressive"]);
    repository
}

#[test]
fn damaged_answers_end_in_an_error_or_a_whole_commit() {
    let state: Arc<Mutex<(usize, Blow)>> = Arc::default();
    let shared = Arc::clone(&state);
    let damage = move |body: Vec<u8>| {
        let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, blow) = &mut *state;
        *count += 1;
        if *count == blow.answer + 1 {
            blow.strike(body)
        } else {
            body
        }
    };
    let behaviour = Behaviour {
        damage: Some(Arc::new(damage)),
        ..Behaviour::default()
    };
    let bench = Bench::with(repository(), behaviour);
    let whole = files(&bench, &budget()).unwrap();
    let mut runner = TestRunner::default();
    runner
        .run(&blow(), |blow| {
            *state.lock().unwrap_or_else(PoisonError::into_inner) = (0, blow);
            if let Ok(files) = files(&bench, &Budget::new(Duration::from_secs(20))) {
                prop_assert_eq!(&files, &whole, "what is accepted is what was committed");
            }
            prop_assert_eq!(bench.leftovers(), 0);
            Ok(())
        })
        .unwrap();
}

/// Fetches the branch and reads all files; the error of either.
fn files(bench: &Bench, budget: &Budget) -> Result<Vec<(String, Vec<u8>)>, sluice_git::Error> {
    let branch = Reference::default();
    let checkout = sluice_git::fetch(&bench.server.remote(), &branch, bench.scratch.path(), budget)?;
    let mut files = Vec::new();
    for entry in checkout.tree().walk() {
        let entry = entry?;
        if entry.kind == sluice_git::TreeEntryKind::File {
            files.push((
                entry.path_text().into_owned(),
                checkout.tree().read(&entry)?.to_vec(),
            ));
        }
    }
    Ok(files)
}

proptest! {
    #[test]
    fn addresses_of_any_text_are_judged(text in prop_oneof![
        any::<String>(),
        "(https?|ssh|git|file)?:?/{0,3}[a-z@:%\\[\\]0-9.]{0,20}(:[0-9]{0,6})?/[a-z./%?#@:]{0,20}",
    ]) {
        if let Ok(url) = RemoteUrl::parse(&text) {
            let again = RemoteUrl::parse(url.as_str());
            prop_assert!(again.is_ok(), "{text:?} became {:?}", url.as_str());
        }
    }
}
