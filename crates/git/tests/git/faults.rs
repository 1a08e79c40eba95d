//! Broken connections, limits and the end of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluice_git::{Budget, ErrorKind, Reference, Remote, RemoteUrl, fetch};

use crate::repository::{Repository, incompressible};
use crate::server::Behaviour;
use crate::{Bench, budget};

fn bench(behaviour: Behaviour) -> Bench {
    let repository = Repository::new();
    let text = incompressible(20_000, 1);
    repository.write("a.txt", &text);
    repository.commit("first", 1_700_000_000);
    Bench::with(repository, behaviour)
}

#[test]
fn connection_cut_in_the_middle_of_a_pack_leaves_nothing_behind() {
    let bench = bench(Behaviour {
        cut_packs: true,
        ..Behaviour::default()
    });
    let error = bench.fetch(&Reference::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    assert_eq!(bench.leftovers(), 0);
}

#[test]
fn more_bytes_than_allowed_are_refused() {
    let bench = bench(Behaviour::default());
    let run = |budget: Budget| {
        fetch(
            &bench.server.remote(),
            &Reference::default(),
            bench.scratch.path(),
            &budget,
        )
    };
    let error = run(budget().with_transfer_bytes(4096)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert_eq!(bench.leftovers(), 0);
    assert!(run(budget().with_object_bytes(1000)).is_err());
    assert_eq!(bench.leftovers(), 0);
    let checkout = run(budget().with_entries(0)).unwrap();
    assert_eq!(
        checkout.tree().walk().next().unwrap().unwrap_err().kind(),
        ErrorKind::Limit
    );
}

#[test]
fn silent_server_is_given_up_when_time_is_over_or_on_request() {
    let bench = bench(Behaviour {
        silent: true,
        ..Behaviour::default()
    });
    let run = |budget: &Budget| {
        fetch(
            &bench.server.remote(),
            &Reference::default(),
            bench.scratch.path(),
            budget,
        )
    };
    assert_eq!(
        run(&Budget::new(Duration::from_millis(300))).unwrap_err().kind(),
        ErrorKind::Timeout
    );
    let flag = Arc::new(AtomicBool::new(false));
    let patient = budget().with_cancellation(Arc::clone(&flag));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&patient).unwrap_err().kind());
        flag.store(true, Ordering::Relaxed);
        assert_eq!(waiting.join().unwrap(), ErrorKind::Cancelled);
    });
}

#[test]
fn unreachable_and_unsuitable_remotes_are_told_apart() {
    let bench = bench(Behaviour::default());
    let at = |url: &str| Remote::new(RemoteUrl::parse(url).unwrap());
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = bench
        .fetch_from(&at(&format!("http://{closed}/repo.git")), &Reference::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    let error = bench
        .fetch_from(&at("ssh://git@localhost/repo.git"), &Reference::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let file = at(&bench.server.url("/repo.git/HEAD?x="));
    assert!(matches!(
        bench.fetch_from(&file, &Reference::default()).unwrap_err().kind(),
        ErrorKind::Protocol | ErrorKind::NotFound
    ));
}
