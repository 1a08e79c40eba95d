//! Waiting for many objects with one watch.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt as _};
use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use sluice_testbed::wait;

use crate::error::{Error, Result};

/// Waits until a condition holds for `count` objects of an API, and returns when that was.
pub(crate) async fn until_all(
    api: Api<DynamicObject>,
    count: usize,
    timeout: Duration,
    what: &'static str,
    holds: impl Fn(&DynamicObject) -> bool,
) -> Result<Instant> {
    let events = watcher(api, watcher::Config::default()).boxed();
    let mut progress = Progress::default();
    let reached = tokio::time::timeout(timeout, progress.follow(events, count, holds)).await;
    reached.map_err(|_| progress.too_slow(what, count, timeout))
}

/// Which objects are there yet.
#[derive(Debug, Default)]
struct Progress {
    done: BTreeSet<String>,
    open: BTreeMap<String, String>,
    failure: String,
}

impl Progress {
    /// Judges each object as it changes; does not return before the condition holds for `count` of them.
    async fn follow(
        &mut self,
        mut events: impl Stream<Item = watcher::Result<watcher::Event<DynamicObject>>> + Unpin,
        count: usize,
        holds: impl Fn(&DynamicObject) -> bool,
    ) -> Instant {
        while self.done.len() < count {
            match events.next().await {
                Some(Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object))) => {
                    self.judge(&object, &holds);
                }
                Some(Ok(watcher::Event::Delete(object))) => {
                    let name = name_of(&object);
                    self.done.remove(&name);
                    self.open.remove(&name);
                }
                Some(Ok(watcher::Event::Init)) => {
                    self.done.clear();
                    self.open.clear();
                }
                Some(Ok(watcher::Event::InitDone)) => {}
                // The watcher tries again by itself.
                Some(Err(error)) => self.failure = error.to_string(),
                // It never ends; if it did, the deadline would tell.
                None => std::future::pending().await,
            }
        }
        Instant::now()
    }

    fn judge(&mut self, object: &DynamicObject, holds: impl Fn(&DynamicObject) -> bool) {
        let name = name_of(object);
        if holds(object) {
            self.open.remove(&name);
            self.done.insert(name);
        } else {
            self.done.remove(&name);
            self.open.insert(name, condition(object));
        }
    }

    fn too_slow(&self, what: &'static str, count: usize, after: Duration) -> Error {
        let example = match self.open.first_key_value() {
            Some((name, condition)) => format!("{name}: {condition}"),
            None => self.failure.clone(),
        };
        Error::TooSlow {
            what,
            done: self.done.len(),
            count,
            after,
            example,
        }
    }
}

fn name_of(object: &DynamicObject) -> String {
    object.metadata.name.clone().unwrap_or_default()
}

fn condition(object: &DynamicObject) -> String {
    wait::condition(object, "Ready").map_or_else(
        || "no condition Ready".to_owned(),
        |ready| {
            let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", text("reason"), text("message"))
        },
    )
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;

    fn object(name: &str, ready: &str) -> DynamicObject {
        let object = json!({
            "metadata": {"name": name, "generation": 1},
            "status": {"conditions": [
                {"type": "Ready", "status": ready, "observedGeneration": 1, "reason": "BuildFailed", "message": "no file"},
            ]},
        });
        serde_json::from_value(object).unwrap()
    }

    async fn followed(events: Vec<Event<DynamicObject>>, count: usize) -> Result<Instant> {
        let events = futures::stream::iter(events.into_iter().map(Ok)).chain(futures::stream::pending());
        let timeout = Duration::from_millis(50);
        let mut progress = Progress::default();
        let follow = progress.follow(events.boxed(), count, wait::is_ready);
        let reached = tokio::time::timeout(timeout, follow).await;
        reached.map_err(|_| progress.too_slow("Ready", count, timeout))
    }

    #[tokio::test]
    async fn objects_count_once_however_often_they_change() {
        let twice = vec![
            Event::Init,
            Event::InitApply(object("a", "True")),
            Event::InitDone,
            Event::Apply(object("a", "True")),
            Event::Apply(object("b", "False")),
        ];
        let error = followed(twice.clone(), 2).await.unwrap_err().to_string();
        assert_eq!(error, "Ready: 1 of 2 after 50ms; b: BuildFailed: no file");
        let then = [twice, vec![Event::Apply(object("b", "True"))]].concat();
        assert!(followed(then, 2).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_deleted_or_no_longer_ready_does_not_count() {
        let ready = Event::Apply(object("a", "True"));
        let gone = vec![
            ready.clone(),
            Event::Delete(object("a", "True")),
            Event::Apply(object("b", "True")),
        ];
        assert!(followed(gone, 2).await.is_err());
        let lost = vec![
            ready,
            Event::Apply(object("a", "False")),
            Event::Apply(object("b", "True")),
        ];
        assert!(followed(lost, 2).await.is_err());
    }
}
