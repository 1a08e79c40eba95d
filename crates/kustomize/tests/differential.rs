//! Random kustomizations, built by the engine and by the real kustomize 5.8.1: both print the same, or both
//! fail for the same reason. Each run draws fresh ones. `SLUICE_FUZZ_CASES` sets how many, `SLUICE_FUZZ_SEED` which: a failure names
//! its seed, and that seed with one case repeats it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

use support::compare::{compare, run_ours, show};
use support::reasons::UNCLASSIFIED;
use support::tape::{Files, Tape};

/// Cases of a run that does not say how many.
const CASES: u64 = 250;
/// Builds that may be spent on making one failing case small.
const SHRINKING: usize = 150;
/// Failing cases after which a run gives up.
const FAILURES: usize = 12;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// The tape of a seed.
fn tape(seed: u64) -> Vec<u8> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
    let mut bytes = vec![0; 20 + random.next_u32() as usize % 480];
    random.fill_bytes(&mut bytes);
    bytes
}

/// The smallest tape that still fails and was found with a bounded number of builds, and how it fails.
fn shrink(kustomize: &Path, mut bytes: Vec<u8>, mut problem: String) -> (Vec<u8>, String) {
    let mut budget = SHRINKING;
    let mut length = bytes.len() / 2;
    while length > 0 {
        let mut start = 0;
        while start < bytes.len() && budget > 0 {
            let end = (start + length).min(bytes.len());
            let zeros = vec![0; end - start];
            let candidates = [
                [&bytes[..start], &bytes[end..]].concat(),
                [&bytes[..start], &zeros, &bytes[end..]].concat(),
            ];
            let smaller = candidates.into_iter().find_map(|candidate| {
                if candidate == bytes || budget == 0 {
                    return None;
                }
                budget -= 1;
                let (files, root) = Tape::new(&candidate).files();
                let problem = compare(kustomize, &files, &root).err()?;
                Some((candidate, problem))
            });
            match smaller {
                Some((found, text)) => {
                    start += if found.len() == bytes.len() { length } else { 0 };
                    (bytes, problem) = (found, text);
                }
                None => start += length,
            }
        }
        length /= 2;
    }
    (bytes, problem)
}

#[test]
fn random_kustomizations_build_as_kustomize_builds_them() {
    let Some(kustomize) = support::tool("kustomize") else {
        return;
    };
    let cases = number("SLUICE_FUZZ_CASES").unwrap_or(CASES);
    let first = number("SLUICE_FUZZ_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::try_from(now.as_nanos() % (1 << 52)).unwrap()
    });
    let (mut built, mut unclassified, mut failed) = (0, 0, Vec::new());
    for seed in (0..cases).map(|index| first.wrapping_add(index)) {
        let bytes = tape(seed);
        let (files, root) = Tape::new(&bytes).files();
        match compare(&kustomize, &files, &root) {
            Ok(both) => built += u64::from(both),
            // Both fail; whether for the same reason is for a person to say, who then adds the class.
            Err(problem) if problem.contains(UNCLASSIFIED) => {
                eprintln!("seed {seed}: {problem}");
                unclassified += 1;
            }
            Err(problem) => {
                let (bytes, problem) = shrink(&kustomize, bytes, problem);
                let (files, root) = Tape::new(&bytes).files();
                eprintln!(
                    "SLUICE_FUZZ_SEED={seed} SLUICE_FUZZ_CASES=1 repeats this:\nroot {root}\n{}{problem}\n",
                    show(&files)
                );
                failed.push(seed);
                if failed.len() >= FAILURES {
                    break;
                }
            }
        }
    }
    eprintln!(
        "seeds from {first}: {built} of {cases} kustomizations build, {unclassified} fail in both for reasons without a \
         class, the others for the same reason"
    );
    assert!(
        unclassified <= 5 + cases / 100,
        "the classes of reasons are too few"
    );
    assert!(failed.is_empty(), "kustomize differs for the seeds {failed:?}");
    assert!(
        cases < 50 || built * 5 > cases,
        "too few of the random kustomizations build to mean anything"
    );
}

#[test]
fn a_patch_that_gives_two_objects_one_name_is_an_error() {
    let objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let kustomization = "resources: [all.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"c\"}]'\n";
    let files = Files::from([
        ("all.yaml".to_owned(), objects.to_owned()),
        ("kustomization.yaml".to_owned(), kustomization.to_owned()),
    ]);
    let (_, error) = run_ours(&files, "").unwrap_err();
    assert!(error.contains("comes twice"), "{error}");
}
