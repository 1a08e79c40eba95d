//! Waiting for objects of the API server by watching them, with a deadline.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::runtime::watcher;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result};

/// What kind of object can be waited for.
pub trait Watched: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static {}
impl<K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static> Watched for K {}

/// Waits until the object of that name exists and the condition holds, and returns it as it was then. `what`
/// says in the error what was waited for; the error also shows the object's last state.
pub async fn until<K: Watched>(
    api: &Api<K>,
    name: &str,
    timeout: Duration,
    what: &str,
    mut condition: impl FnMut(&K) -> bool,
) -> Result<K> {
    let what = format!("{} {name}: {what}", kind_of(api));
    observe(api, name, timeout, what, |object| object.filter(&mut condition)).await
}

/// Waits until there is no object of that name.
pub async fn until_gone<K: Watched>(api: &Api<K>, name: &str, timeout: Duration) -> Result<()> {
    let what = format!("the end of {} {name}", kind_of(api));
    observe(api, name, timeout, what, |object| object.is_none().then_some(())).await
}

/// Waits until the object's condition `Ready` is `True` for its present generation.
pub async fn until_ready<K: Watched>(api: &Api<K>, name: &str, timeout: Duration) -> Result<K> {
    until(api, name, timeout, "Ready=True", is_ready).await
}

/// Waits until a condition holds for all objects of an API taken together, and returns them.
pub async fn until_all<K: Watched>(
    api: &Api<K>,
    timeout: Duration,
    what: &str,
    mut condition: impl FnMut(&[K]) -> bool,
) -> Result<Vec<K>>
where
    K::DynamicType: Clone + Eq + std::hash::Hash,
{
    let keep = |object: K| object;
    let judge = |objects: &Kept<K>| {
        let current: Vec<_> = objects.values().cloned().collect();
        condition(&current).then_some(current)
    };
    follow(api, timeout, what, keep, judge, |object| {
        (!is_ready(object)).then_some(object)
    })
    .await
}

/// Waits until there are so many objects and the condition holds for each. Unlike [`until_all`] it looks only
/// at objects that have changed, which is what large sets need.
pub async fn until_each<K: Watched>(
    api: &Api<K>,
    count: usize,
    timeout: Duration,
    what: &str,
    mut condition: impl FnMut(&K) -> bool,
) -> Result<()>
where
    K::DynamicType: Clone + Eq + std::hash::Hash,
{
    let keep = |object: K| (!condition(&object)).then_some(object);
    let judge =
        |unmet: &Kept<Option<K>>| (unmet.len() == count && unmet.values().all(Option::is_none)).then_some(());
    follow(api, timeout, what, keep, judge, Option::as_ref).await
}

/// What is kept of each object, by namespace and name.
type Kept<T> = BTreeMap<(Option<String>, Option<String>), T>;

/// Watches all objects of an API and keeps something of each, until `judge` finds what it looks for in all that is
/// kept. The error shows some of the objects that `unmet` gives.
async fn follow<K: Watched, T, R>(
    api: &Api<K>,
    timeout: Duration,
    what: &str,
    mut keep: impl FnMut(K) -> T,
    mut judge: impl FnMut(&Kept<T>) -> Option<R>,
    unmet: impl Fn(&T) -> Option<&K>,
) -> Result<R>
where
    K::DynamicType: Clone + Eq + std::hash::Hash,
{
    let mut kept = Kept::new();
    let mut events = watcher(api.clone(), watcher::Config::default()).boxed();
    let mut complete = false;
    let mut failure = String::new();
    let outcome = tokio::time::timeout(timeout, async {
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => {
                    complete = false;
                    kept.clear();
                }
                Ok(watcher::Event::InitDone) => complete = true,
                Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                    kept.insert(key_of(&object), keep(object));
                }
                Ok(watcher::Event::Delete(object)) => {
                    kept.remove(&key_of(&object));
                }
                Err(error) => failure = error.to_string(),
            }
            if complete && let Some(found) = judge(&kept) {
                return Some(found);
            }
        }
        None
    })
    .await;
    if let Ok(Some(found)) = outcome {
        return Ok(found);
    }
    let examples: Vec<_> = kept.values().filter_map(unmet).take(3).map(brief).collect();
    Err(Error::Timeout {
        what: format!("{}: {what}", kind_of(api)),
        after: timeout,
        last: format!(
            "{} objects, among them {} {failure}",
            kept.len(),
            examples.join("\n")
        ),
    })
}

/// Asks again and again, at short intervals, until there is an answer: for what cannot be watched, such as
/// files and servers that are not Kubernetes.
pub async fn until_some<T, F: Future<Output = Option<T>>>(
    timeout: Duration,
    what: &str,
    mut ask: impl FnMut() -> F,
) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return Ok(answer);
        }
        if began.elapsed() > timeout {
            return Err(Error::Timeout {
                what: what.to_owned(),
                after: timeout,
                last: "no answer".to_owned(),
            });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn observe<K: Watched, T>(
    api: &Api<K>,
    name: &str,
    timeout: Duration,
    what: String,
    mut judge: impl FnMut(Option<K>) -> Option<T>,
) -> Result<T> {
    let mut states = watcher::watch_object(api.clone(), name).boxed();
    let mut last = "nothing".to_owned();
    let outcome = tokio::time::timeout(timeout, async {
        while let Some(state) = states.next().await {
            match state {
                Ok(object) => {
                    last = object.as_ref().map_or_else(|| "no such object".to_owned(), brief);
                    if let Some(found) = judge(object) {
                        return Some(found);
                    }
                }
                // The watcher tries again by itself.
                Err(error) => last = error.to_string(),
            }
        }
        None
    })
    .await;
    match outcome {
        Ok(Some(found)) => Ok(found),
        _ => Err(Error::Timeout {
            what,
            after: timeout,
            last,
        }),
    }
}

fn kind_of<K: Watched>(api: &Api<K>) -> String {
    api.resource_url()
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn key_of<K: Resource>(object: &K) -> (Option<String>, Option<String>) {
    (object.meta().namespace.clone(), object.meta().name.clone())
}

/// The object as JSON without managed fields.
fn brief<K: Watched>(object: &K) -> String {
    let mut object = object.clone();
    object.meta_mut().managed_fields = None;
    serde_json::to_string(&object).unwrap_or_default()
}

/// The condition of that type in an object's status, as JSON, whatever the object's Rust type is.
pub fn condition(object: &impl Serialize, condition_type: &str) -> Option<Value> {
    let object = serde_json::to_value(object).ok()?;
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == condition_type)
        .cloned()
}

/// True if the object has a condition of that type and status.
pub fn has_condition(object: &impl Serialize, condition_type: &str, status: &str) -> bool {
    condition(object, condition_type).is_some_and(|condition| condition["status"] == status)
}

/// True if the condition `Ready` is `True` and was observed on the object's present generation.
pub fn is_ready(object: &impl Serialize) -> bool {
    settled(object, "True")
}

/// True if the condition `Ready` is `False` and was observed on the object's present generation.
pub fn is_failed(object: &impl Serialize) -> bool {
    settled(object, "False")
}

fn settled(object: &impl Serialize, status: &str) -> bool {
    let Ok(json) = serde_json::to_value(object) else {
        return false;
    };
    let Some(ready) = condition(&json, "Ready") else {
        return false;
    };
    let generation = &json["metadata"]["generation"];
    let observed = &ready["observedGeneration"];
    ready["status"] == status && (observed.is_null() || generation.is_null() || observed == generation)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(generation: u64, observed: u64, status: &str) -> Value {
        json!({
            "metadata": {"name": "x", "generation": generation},
            "status": {"conditions": [
                {"type": "Reconciling", "status": "True"},
                {"type": "Ready", "status": status, "observedGeneration": observed},
            ]},
        })
    }

    #[test]
    fn ready_counts_only_for_the_present_generation() {
        assert!(is_ready(&object(2, 2, "True")));
        assert!(!is_ready(&object(2, 1, "True")));
        assert!(!is_ready(&object(2, 2, "False")));
        assert!(is_failed(&object(2, 2, "False")));
        assert!(!is_ready(&json!({"metadata": {}})));
    }

    #[test]
    fn conditions_are_found_by_type() {
        assert!(has_condition(&object(1, 1, "True"), "Reconciling", "True"));
        assert!(!has_condition(&object(1, 1, "True"), "Stalled", "True"));
        assert_eq!(
            condition(&object(1, 1, "True"), "Ready").unwrap()["observedGeneration"],
            1
        );
    }
}
