//! An API server that is gone, slow, overloaded, or cuts and stalls its connections: KUS-011, KUS-017.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::{GitServer, Repository};
use sluice_testbed::proxy::{FaultProxy, Moment, Rule};
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;

const APPS: usize = 12;

/// What is wrong for how long. `None`: until so much has gone wrong as the rules say, or the work is done.
struct Fault {
    name: &'static str,
    rules: Vec<Rule>,
    lasts: Option<Duration>,
}

fn faults() -> Vec<Fault> {
    let fault = |name, rules, lasts: Option<u64>| Fault {
        name,
        rules,
        lasts: lasts.map(Duration::from_secs),
    };
    vec![
        fault(
            "gone for 30 s",
            vec![Rule::cut(Moment::Open).watches(true), Rule::cut(Moment::Request)],
            Some(30),
        ),
        fault(
            "2 s a request",
            vec![Rule::delay(Duration::from_secs(2)).watches(false)],
            None,
        ),
        fault(
            "429 and 500",
            vec![
                Rule::too_many_requests(1).watches(false).times(40),
                Rule::status(500).watches(false).times(40),
                Rule::status(503).times(20),
            ],
            None,
        ),
        fault(
            "cut connections",
            vec![
                Rule::cut(Moment::Body).skip(2),
                Rule::cut(Moment::Answer).watches(false).skip(5),
            ],
            Some(15),
        ),
        fault("stalled watches", vec![Rule::stall_watch()], Some(15)),
    ]
}

/// What a watch has shown of the Kustomizations.
#[derive(Default)]
struct Seen {
    /// Wrong claims: Ready for a revision that was not in the cluster.
    wrong: Vec<String>,
    /// Honest failures, as they are bound to come.
    failures: BTreeMap<String, usize>,
    ready: usize,
}

fn round_of(map: &Object) -> usize {
    map.data["data"]["value"].as_str().unwrap().parse().unwrap()
}

/// Follows the Kustomizations past the proxy, and looks after each one that says it is Ready.
async fn follow(
    objects: Api<Object>,
    maps: Api<Object>,
    rounds: Arc<Mutex<BTreeMap<String, usize>>>,
    seen: Arc<Mutex<Seen>>,
) {
    let mut events = pin!(watcher::watcher(objects, watcher::Config::default()));
    while let Some(event) = events.next().await {
        let Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) = event else {
            continue;
        };
        let ready = wait::condition(&object, "Ready").unwrap_or_default();
        if ready["status"] == "False" {
            let reason = ready["reason"].as_str().unwrap_or_default().to_owned();
            *seen.lock().unwrap().failures.entry(reason).or_default() += 1;
            continue;
        }
        let claimed = object.data["status"]["lastAppliedRevision"]
            .as_str()
            .unwrap_or_default();
        let Some(claimed) = rounds.lock().unwrap().get(claimed).copied() else {
            continue;
        };
        if !wait::is_ready(&object) {
            continue;
        }
        let there = maps.get_opt(&object.name_any()).await.unwrap();
        let there = there.as_ref().map(round_of);
        let mut seen = seen.lock().unwrap();
        seen.ready += 1;
        if there.is_none_or(|there| there < claimed) {
            seen.wrong.push(format!(
                "{}: {claimed} claimed, {there:?} there",
                object.name_any()
            ));
        }
    }
}

fn write_round(repository: &Repository, round: usize) {
    for app in 0..APPS {
        let name = format!("app{app}");
        repository
            .write(&format!("{name}/map.yaml"), config_map_yaml(&name, round))
            .unwrap();
        // One object goes and another comes with each round.
        let passing = config_map_yaml(&format!("{name}-round{round}"), round);
        repository
            .write(&format!("{name}/passing.yaml"), passing)
            .unwrap();
    }
}

/// Whatever the API server does, nothing is lost, nothing is claimed that is not so, and all is well soon after.
#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_api_server_lose_nothing() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("faults").await.unwrap();
    let here = namespace.name();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("faults").unwrap();
    write_round(&repository, 0);
    let mut last = revision(&repository.commit("Start").unwrap());

    let proxy = FaultProxy::start(plane).unwrap();
    let storage = tempfile::tempdir().unwrap();
    let settings = Settings::within(proxy.kubeconfig(), here);
    let _source = Controller::source(&settings, storage.path(), &[]);
    let _kustomize = Controller::kustomize(&settings, &[]);
    let (sources, objects) = (git_repositories(&client, here), kustomizations(&client, here));
    let maps = config_maps(&client, here);
    let rounds = Arc::new(Mutex::new(BTreeMap::from([(last.clone(), 0)])));
    let seen = Arc::new(Mutex::new(Seen::default()));
    let following = tokio::spawn(follow(
        objects.clone(),
        maps.clone(),
        Arc::clone(&rounds),
        Arc::clone(&seen),
    ));
    apply(&sources, &git_repository("faults", repository.url())).await;
    for app in 0..APPS {
        let name = format!("app{app}");
        let mut object = kustomization(&name, "faults", &name, here);
        object["spec"]["wait"] = true.into();
        apply(&objects, &object).await;
    }
    let all_applied = |revision: String| {
        let objects = objects.clone();
        async move {
            wait::until_all(&objects, LIMIT, &revision, |all| {
                all.len() == APPS && all.iter().all(|object| has_applied(object, &revision))
            })
            .await
            .unwrap();
        }
    };
    all_applied(last.clone()).await;

    for (round, fault) in faults()
        .into_iter()
        .enumerate()
        .map(|(at, fault)| (at + 1, fault))
    {
        for (at, rule) in fault.rules.iter().enumerate() {
            proxy.set(&format!("rule{at}"), rule).unwrap();
        }
        write_round(&repository, round);
        last = revision(&repository.commit(fault.name).unwrap());
        rounds.lock().unwrap().insert(last.clone(), round);
        request(&sources, "faults").await;
        if let Some(lasts) = fault.lasts {
            tokio::time::sleep(lasts).await;
            proxy.clear().unwrap();
        }
        let returned = Instant::now();
        all_applied(last.clone()).await;
        let after = returned.elapsed().as_secs_f64();
        let mut harmed = 0;
        if fault.lasts.is_none() {
            for at in 0..fault.rules.len() {
                harmed += proxy.hits(&format!("rule{at}")).unwrap();
            }
            assert!(harmed > 0, "{}", fault.name);
        }
        proxy.clear().unwrap();
        eprintln!(
            "{}: all applied {after:.1} s after its end, {harmed} requests harmed",
            fault.name
        );

        let mut wanted = BTreeSet::new();
        for app in 0..APPS {
            wanted.extend([format!("app{app}"), format!("app{app}-round{round}")]);
        }
        let owned = owned_config_maps(&client, here, here).await;
        assert_eq!(names(&owned), wanted, "{}", fault.name);
        for app in 0..APPS {
            let object = objects.get(&format!("app{app}")).await.unwrap();
            let ids = [format!("app{app}"), format!("app{app}-round{round}")];
            assert_eq!(
                inventory(&object),
                ids.map(|name| config_map_id(here, &name)).into()
            );
        }
    }
    following.abort();
    let seen = seen.lock().unwrap();
    eprintln!(
        "Ready was claimed {} times; failures that were told: {:?}",
        seen.ready, seen.failures
    );
    assert!(seen.ready >= APPS, "the watch has seen {}", seen.ready);
    assert!(seen.wrong.is_empty(), "{:?}", seen.wrong);
}
