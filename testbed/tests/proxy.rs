//! The fault proxy: each kind of rule does what it says to real requests, and nothing to others.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails this way")]

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use serde_json::json;
use sluice_testbed::control_plane::{ControlPlane, Namespace};
use sluice_testbed::proxy::{FaultProxy, Moment, Rule};
use sluice_testbed::tools::require_or_skip;

const LIMIT: Duration = Duration::from_secs(60);
/// Long enough for an event to come if nothing held it back; too short only makes a test less sharp.
const QUIET: Duration = Duration::from_millis(500);

struct Setting {
    proxy: FaultProxy,
    /// Through the proxy.
    api: Api<ConfigMap>,
    /// Past the proxy.
    direct: Api<ConfigMap>,
    /// The regular expression for the namespace's config maps.
    path: String,
    _namespace: Namespace,
}

impl Setting {
    async fn new() -> Option<Self> {
        let plane = require_or_skip(ControlPlane::shared())?;
        let proxy = FaultProxy::start(plane).unwrap();
        let namespace = plane.namespace("proxy").await.unwrap();
        let client: Client = without_retries(&proxy).await;
        Some(Self {
            api: Api::namespaced(client, namespace.name()),
            direct: Api::namespaced(plane.client().await.unwrap(), namespace.name()),
            path: format!("/namespaces/{}/configmaps", namespace.name()),
            proxy,
            _namespace: namespace,
        })
    }

    fn set(&self, name: &str, rule: Rule) {
        self.proxy.set(name, &rule.path(&self.path)).unwrap();
    }

    async fn create(&self, name: &str) -> kube::Result<ConfigMap> {
        self.api.create(&PostParams::default(), &config_map(name)).await
    }
}

/// A client that shows failures as they come instead of trying again.
async fn without_retries(proxy: &FaultProxy) -> Client {
    use kube::config::{Config, KubeConfigOptions, Kubeconfig};
    let kubeconfig = Kubeconfig::read_from(proxy.kubeconfig()).unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": "value".repeat(100)}})).unwrap()
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rules_everything_passes() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    setting.create("a").await.unwrap();
    assert!(setting.direct.get_opt("a").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn status_rules_answer_a_given_number_of_times_and_only_what_they_name() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    setting.set("busy", Rule::too_many_requests(1).method("POST").times(2));
    setting.create("other").await.unwrap_err();
    assert!(
        setting.api.get_opt("a").await.unwrap().is_none(),
        "reads are not meant"
    );
    assert_eq!(code(&setting.create("a").await.unwrap_err()), Some(429));
    assert_eq!(setting.proxy.hits("busy").unwrap(), 2);
    setting.create("a").await.unwrap();
    assert_eq!(setting.proxy.hits("busy").unwrap(), 2);

    setting.set("broken", Rule::status(500).skip(1));
    setting.create("b").await.unwrap();
    assert_eq!(code(&setting.create("c").await.unwrap_err()), Some(500));
    assert!(
        setting.direct.get_opt("c").await.unwrap().is_none(),
        "it was not passed on"
    );
    setting.proxy.remove("broken").unwrap();
    setting.create("c").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_before_leaves_the_work_undone_and_cut_after_done() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    setting.set("cut", Rule::cut(Moment::Request).method("POST"));
    assert_eq!(code(&setting.create("undone").await.unwrap_err()), None);
    assert!(setting.direct.get_opt("undone").await.unwrap().is_none());

    setting.set("cut", Rule::cut(Moment::Answer).method("POST"));
    assert_eq!(code(&setting.create("done").await.unwrap_err()), None);
    assert!(setting.direct.get_opt("done").await.unwrap().is_some());

    setting.set("cut", Rule::cut(Moment::Body).method("GET").times(1));
    assert_eq!(code(&setting.api.get("done").await.unwrap_err()), None);
    setting.api.get("done").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn held_requests_go_on_when_the_rule_is_removed() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    for (moment, name, is_done) in [
        (Moment::Request, "before", false),
        (Moment::Answer, "after", true),
    ] {
        setting.set("hold", Rule::hold(moment).method("POST"));
        let api = setting.api.clone();
        let creation =
            tokio::spawn(async move { api.create(&PostParams::default(), &config_map(name)).await });
        setting.proxy.wait_for_hits("hold", 1, LIMIT).unwrap();
        if is_done {
            sluice_testbed::wait::until(&setting.direct, name, LIMIT, "created", |_| true)
                .await
                .unwrap();
        } else {
            assert!(setting.direct.get_opt(name).await.unwrap().is_none());
        }
        assert!(!creation.is_finished());
        setting.proxy.remove("hold").unwrap();
        creation.await.unwrap().unwrap();
        assert!(setting.direct.get_opt(name).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delays_make_requests_late() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    let delay = Duration::from_millis(300);
    for rule in [Rule::delay(delay), Rule::delay_answer(delay)] {
        setting.set("late", rule.times(1));
        let began = std::time::Instant::now();
        setting.api.get_opt("a").await.unwrap();
        assert!(began.elapsed() >= delay);
    }
}

/// The name of the next object that appears; the one that every namespace gets does not count.
async fn next_name<S>(events: &mut S) -> String
where
    S: futures::Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Unpin,
{
    loop {
        match events.next().await.unwrap().unwrap() {
            WatchEvent::Added(map) if map.metadata.name.as_deref() == Some("kube-root-ca.crt") => {}
            WatchEvent::Added(map) => return map.metadata.name.unwrap(),
            WatchEvent::Bookmark(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// As [`next_name`], which must come before the deadline.
async fn expect_name<S>(events: &mut S) -> String
where
    S: futures::Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Unpin,
{
    tokio::time::timeout(LIMIT, next_name(events)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_watch_gets_everything_in_order_once_it_goes_on() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    let mut events = Box::pin(setting.api.watch(&WatchParams::default(), "0").await.unwrap());
    setting.create("seen").await.unwrap();
    assert_eq!(expect_name(&mut events).await, "seen");

    setting.set("stall", Rule::stall_watch().event(r#""name":"held""#).times(1));
    for name in ["free", "held", "behind"] {
        setting.create(name).await.unwrap();
    }
    setting.proxy.wait_for_hits("stall", 1, LIMIT).unwrap();
    assert_eq!(expect_name(&mut events).await, "free");
    assert!(tokio::time::timeout(QUIET, next_name(&mut events)).await.is_err());
    setting.proxy.remove("stall").unwrap();
    assert_eq!(expect_name(&mut events).await, "held");
    assert_eq!(expect_name(&mut events).await, "behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn delayed_watch_gets_events_later_and_writes_are_not_delayed() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    let mut events = Box::pin(setting.api.watch(&WatchParams::default(), "0").await.unwrap());
    let delay = Duration::from_millis(700);
    setting.set("late", Rule::delay_watch(delay).event(r#""name":"late""#));
    let began = std::time::Instant::now();
    setting.create("late").await.unwrap();
    assert_eq!(expect_name(&mut events).await, "late");
    assert!(began.elapsed() >= delay);
    assert_eq!(setting.proxy.hits("late").unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_watches_are_cut_and_new_ones_are_not() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    let mut events = Box::pin(setting.api.watch(&WatchParams::default(), "0").await.unwrap());
    setting.create("first").await.unwrap();
    assert_eq!(expect_name(&mut events).await, "first");
    setting.set("cut", Rule::cut(Moment::Open).watches(true));
    assert_eq!(setting.proxy.hits("cut").unwrap(), 1);
    let end = tokio::time::timeout(LIMIT, events.next()).await.unwrap();
    assert!(!matches!(end, Some(Ok(_))), "{end:?}");
    let mut events = Box::pin(setting.api.watch(&WatchParams::default(), "0").await.unwrap());
    assert_eq!(expect_name(&mut events).await, "first");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_can_mean_one_program_only() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    setting.set("one", Rule::status(503).user_agent("^victim/"));
    setting.create("a").await.unwrap();
    let victim = Api::<ConfigMap>::default_namespaced(setting.proxy.client("victim/1").await.unwrap());
    setting
        .proxy
        .set("one", &Rule::status(403).user_agent("^victim/"))
        .unwrap();
    assert_eq!(code(&victim.get_opt("a").await.unwrap_err()), Some(403));
    setting.proxy.clear().unwrap();
    assert!(victim.get_opt("a").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_without_effect_are_refused() {
    let Some(setting) = Setting::new().await else {
        return;
    };
    for rule in [
        Rule::default(),
        Rule::status(200),
        Rule::hold(Moment::Body),
        Rule::status(500).event("x"),
    ] {
        assert!(setting.proxy.set("bad", &rule).is_err(), "{rule:?}");
    }
    assert!(setting.proxy.set("bad", &Rule::status(500).path("(")).is_err());
    assert!(setting.proxy.hits("bad").is_err());
}
