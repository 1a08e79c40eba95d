//! Results of builds, kept so that a revision that does not concern a Kustomization is not built for it.
//!
//! A result stands for another build if all that the build depended on is the same: the spec, the variables,
//! the flags that count, the files that were read, the directories that were listed and the look-ups that
//! missed. What a build fetched from elsewhere or decrypted is never kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};
use sluice_vfs::{Dependencies, FileSystem, Recorder};

use super::pack::Packed;
use super::{BuildError, BuildInput, Built, build};

/// The version of the engine: another one may build the same files into something else.
const ENGINE: &str = env!("CARGO_PKG_VERSION");

/// What an entry takes beside its parts.
const OVERHEAD: usize = 256;

/// One result for each Kustomization, within a number of bytes. A Kustomization is known by any text that names
/// it and no other.
pub struct BuildCache {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    kept: HashMap<String, Kept>,
    bytes: usize,
    clock: u64,
}

struct Kept {
    inputs: [u8; 32],
    artifact: String,
    result: Arc<Kernel>,
    used: u64,
}

/// What is kept of a build.
struct Kernel {
    dependencies: Dependencies,
    objects: Packed,
    digest: String,
}

impl Kernel {
    fn size(&self) -> usize {
        OVERHEAD + self.dependencies.size() + self.objects.len() + self.digest.len()
    }
}

impl BuildCache {
    /// A cache that takes at most this many bytes; 0 keeps nothing, so that everything is built.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Builds, unless the result of the build before still holds. `artifact` is the digest of the input's
    /// files. Also tells whether the result was taken from the cache.
    ///
    /// # Errors
    /// As [`build`].
    pub fn build(&self, key: &str, artifact: &str, input: BuildInput) -> Result<(Built, bool), BuildError> {
        let inputs = digest_of(&input);
        if let Some(built) = inputs.and_then(|inputs| self.find(key, inputs, artifact, &*input.files)) {
            return Ok((built, true));
        }
        let Some(inputs) = inputs else {
            self.forget(key);
            return Ok((build(&input)?, false));
        };
        let recorder = Arc::new(Recorder::new(Arc::clone(&input.files)));
        let built = build(&BuildInput {
            files: Arc::<Recorder<_>>::clone(&recorder),
            ..input
        })?;
        self.keep(key, inputs, artifact, recorder.dependencies(), &built);
        Ok((built, false))
    }

    /// Drops what is kept of a Kustomization.
    pub fn forget(&self, key: &str) {
        let mut state = self.state();
        state.remove(key);
    }

    /// How many bytes the results take.
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &str, inputs: [u8; 32], artifact: &str, files: &dyn FileSystem) -> Option<Built> {
        let (same, result) = {
            let mut state = self.state();
            state.clock += 1;
            let clock = state.clock;
            let kept = state.kept.get_mut(key).filter(|kept| kept.inputs == inputs)?;
            kept.used = clock;
            (kept.artifact == artifact, Arc::clone(&kept.result))
        };
        if !same && !result.dependencies.hold_in(files) {
            return None;
        }
        let objects = result.objects.unpack()?;
        if !same && let Some(kept) = self.state().kept.get_mut(key) {
            artifact.clone_into(&mut kept.artifact);
        }
        Some(Built {
            objects,
            digest: result.digest.clone(),
            remote: false,
        })
    }

    fn keep(&self, key: &str, inputs: [u8; 32], artifact: &str, dependencies: Dependencies, built: &Built) {
        let packed = (!built.remote)
            .then(|| Packed::new(&built.objects))
            .flatten()
            .map(|objects| Kernel {
                dependencies,
                objects,
                digest: built.digest.clone(),
            })
            .filter(|result| result.size() <= self.limit);
        let mut state = self.state();
        state.remove(key);
        let Some(result) = packed else { return };
        state.clock += 1;
        state.bytes += result.size();
        let kept = Kept {
            inputs,
            artifact: artifact.to_owned(),
            result: Arc::new(result),
            used: state.clock,
        };
        state.kept.insert(key.to_owned(), kept);
        while state.bytes > self.limit {
            state.remove_oldest();
        }
    }
}

impl State {
    fn remove(&mut self, key: &str) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= kept.result.size();
        }
    }

    fn remove_oldest(&mut self) {
        let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.remove(&key);
        }
    }
}

/// A digest of all that goes into a build beside the files; `None` for one whose result must not be kept.
fn digest_of(input: &BuildInput) -> Option<[u8; 32]> {
    // Clear text lives in the overlay of one build and nowhere else; which files are left out is code.
    if input.spec.decryption.is_some() || input.ignored.is_some() {
        return None;
    }
    let BuildInput {
        files: _,
        directory,
        spec,
        variables,
        strict,
        owner_labels,
        ignored: _,
        // What was fetched is not kept.
        remote: _,
        deadline: _,
    } = input;
    let parts = (ENGINE, directory.as_str(), spec, variables, strict, owner_labels);
    let text = serde_json::to_vec(&parts).ok()?;
    Some(Sha256::digest(&text).into())
}

#[cfg(test)]
mod tests;
