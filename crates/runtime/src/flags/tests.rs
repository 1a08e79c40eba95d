use super::*;

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    common: CommonArgs,
}

fn read(arguments: &[&str]) -> Result<CommonArgs, clap::Error> {
    let arguments = std::iter::once("controller").chain(arguments.iter().copied());
    parse_from::<Arguments, _, _>(|command| command, arguments).map(|arguments| arguments.common)
}

#[test]
fn defaults_are_those_of_flux() {
    // COM-028
    let args = read(&[]).unwrap();
    assert_eq!(args.metrics_addr, ":8080");
    assert_eq!(args.health_addr, ":9440");
    assert_eq!(args.concurrent, 4);
    assert_eq!((args.kube_api_qps, args.kube_api_burst), (50.0, 300));
    assert_eq!(args.log_options(), LogOptions::default());
    assert!(args.watch_all_namespaces);
    assert!(!args.leader_election.enable_leader_election);
    assert!(args.leader_election.leader_election_release_on_cancel);
    assert_eq!(
        args.leader_election.leader_election_lease_duration,
        Duration::from_secs(35)
    );
    assert_eq!(args.backoff(), Backoff::default());
    assert_eq!(args.interval_jitter_percentage, 5);
}

#[test]
fn booleans_follow_gos_syntax() {
    assert!(
        read(&["--enable-leader-election"])
            .unwrap()
            .leader_election
            .enable_leader_election
    );
    assert!(
        !read(&["--watch-all-namespaces=false"])
            .unwrap()
            .watch_all_namespaces
    );
    assert!(read(&["--watch-all-namespaces=T"]).unwrap().watch_all_namespaces);
    assert!(read(&["--watch-all-namespaces=maybe"]).is_err());
}

#[test]
fn a_flag_given_twice_counts_as_given_last() {
    assert_eq!(
        read(&["--concurrent=2", "--concurrent", "7"]).unwrap().concurrent,
        7
    );
}

#[test]
fn the_manifests_arguments_are_accepted() {
    let args = read(&[
        "--events-addr=http://notification-controller.flux-system.svc.cluster.local.",
        "--watch-all-namespaces=true",
        "--log-level=info",
        "--log-encoding=json",
        "--enable-leader-election",
    ]);
    assert!(args.is_ok(), "{args:?}");
}

#[test]
fn values_out_of_range_are_refused() {
    assert!(read(&["--interval-jitter-percentage=100"]).is_err());
    assert!(read(&["--log-level=loud"]).is_err());
    assert!(read(&["--min-retry-delay=soon"]).is_err());
}

#[test]
fn the_own_namespace_must_be_known_to_be_watched() {
    let args = read(&["--watch-all-namespaces=false", "--runtime-namespace=flux-system"]).unwrap();
    assert_eq!(args.watched_namespace().unwrap().as_deref(), Some("flux-system"));
    let args = read(&["--watch-all-namespaces=false", "--runtime-namespace="]).unwrap();
    assert!(args.watched_namespace().is_err());
}
