use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;

use super::*;

fn object(name: &str, version: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            namespace: Some("ns".to_owned()),
            name: Some(name.to_owned()),
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("value".to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}

fn value(store: &Store<ConfigMap>, name: &str) -> Option<String> {
    let object = store.get(&ObjectKey::new("ns", name))?;
    object.data.as_ref()?.get("value").cloned()
}

fn listed(objects: impl IntoIterator<Item = ConfigMap>) -> Store<ConfigMap> {
    let store = Store::default();
    store.begin_listing();
    objects.into_iter().for_each(|object| store.apply(object));
    store.end_listing();
    store
}

#[test]
fn a_late_watch_does_not_undo_an_own_write() {
    let store = listed([object("a", "10", "old")]);
    store.overlay(object("a", "20", "own"));
    store.apply(object("a", "15", "late"));
    assert_eq!(value(&store, "a").as_deref(), Some("own"));
    store.apply(object("a", "20", "own"));
    store.apply(object("a", "21", "newer"));
    assert_eq!(value(&store, "a").as_deref(), Some("newer"));
}

#[test]
fn versions_are_compared_as_numbers() {
    let store = listed([object("a", "9", "old")]);
    store.overlay(object("a", "10", "own"));
    assert_eq!(value(&store, "a").as_deref(), Some("own"));
}

#[test]
fn without_comparable_versions_the_last_one_wins() {
    let store = listed([object("a", "x", "old")]);
    store.overlay(object("a", "b", "own"));
    store.apply(object("a", "a", "watch"));
    assert_eq!(value(&store, "a").as_deref(), Some("watch"));
}

#[test]
fn a_late_answer_does_not_bring_a_deleted_object_back() {
    let store = listed([object("a", "10", "old")]);
    store.remove(&object("a", "30", "old"));
    store.overlay(object("a", "20", "own"));
    assert_eq!(value(&store, "a"), None);
    store.apply(object("a", "40", "made anew"));
    assert_eq!(value(&store, "a").as_deref(), Some("made anew"));
}

#[test]
fn a_late_deletion_does_not_remove_a_newer_object() {
    let store = listed([object("a", "10", "old")]);
    store.overlay(object("a", "40", "made anew"));
    store.remove(&object("a", "30", "old"));
    assert_eq!(value(&store, "a").as_deref(), Some("made anew"));
}

#[test]
fn an_overlay_of_what_is_not_watched_is_not_kept() {
    let store = listed([]);
    store.overlay(object("a", "10", "foreign"));
    assert!(store.is_empty());
}

#[test]
fn a_listing_takes_out_what_it_does_not_contain_and_keeps_what_is_newer() {
    let store = listed([
        object("a", "10", "a"),
        object("b", "11", "b"),
        object("c", "12", "c"),
    ]);
    store.overlay(object("a", "20", "own"));
    store.begin_listing();
    store.apply(object("a", "10", "a"));
    store.keep(ObjectKey::new("ns", "c"));
    store.end_listing();
    assert_eq!(value(&store, "a").as_deref(), Some("own"));
    assert_eq!(value(&store, "b"), None);
    assert_eq!(
        value(&store, "c").as_deref(),
        Some("c"),
        "it is there but cannot be read"
    );
}

#[test]
fn subscribers_hear_of_each_newer_state_once() {
    let store: Store<ConfigMap> = Store::default();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    store.subscribe(move |change| {
        let version =
            |object: &Option<Arc<ConfigMap>>| object.as_ref().and_then(|object| object.resource_version());
        log.lock()
            .unwrap()
            .push((version(&change.before), version(&change.after), change.initial));
    });
    store.begin_listing();
    store.apply(object("a", "10", "a"));
    store.end_listing();
    store.overlay(object("a", "20", "own"));
    store.apply(object("a", "15", "late"));
    store.apply(object("a", "20", "own"));
    store.remove(&object("a", "30", "own"));
    let text = |version: &str| Some(version.to_owned());
    let expected = [
        (None, text("10"), true),
        (text("10"), text("20"), false),
        (text("20"), None, false),
    ];
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[test]
fn managed_fields_are_not_stored() {
    let mut big = object("a", "10", "a");
    big.metadata.managed_fields = Some(vec![Default::default()]);
    let store = listed([big]);
    assert_eq!(
        store
            .get(&ObjectKey::new("ns", "a"))
            .unwrap()
            .metadata
            .managed_fields,
        None
    );
}

#[tokio::test]
async fn the_first_listing_is_awaited() {
    let store: Store<ConfigMap> = Store::default();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.synced().await }
    });
    assert!(!store.is_synced());
    store.begin_listing();
    store.end_listing();
    waiting.await.unwrap();
}
