use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Clocks that stand still until they are moved.
#[derive(Clone, Default)]
struct Hands(Arc<Mutex<(Duration, Duration)>>);

impl Hands {
    fn advance(&self, monotonic: u64, wall: u64) {
        let mut hands = self.0.lock().unwrap();
        hands.0 += Duration::from_secs(monotonic);
        hands.1 += Duration::from_secs(wall);
    }
}

impl Clock for Hands {
    fn monotonic(&self) -> Duration {
        self.0.lock().unwrap().0
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.0.lock().unwrap().1
    }
}

#[derive(Debug, PartialEq)]
struct Numbered(usize, Option<Timestamp>);

impl Token for Numbered {
    fn expires_at(&self) -> Option<Timestamp> {
        self.1
    }
}

struct Bench {
    cache: TokenCache,
    hands: Hands,
    registry: Registry,
    fetched: AtomicUsize,
}

impl Bench {
    fn new(capacity: usize, longest: u64) -> Self {
        let (hands, registry) = (Hands::default(), Registry::new());
        let cache = TokenCache::with_clock(
            capacity,
            Duration::from_secs(longest),
            Some(&registry),
            Box::new(hands.clone()),
        );
        Self {
            cache: cache.unwrap().unwrap(),
            hands,
            registry,
            fetched: AtomicUsize::new(0),
        }
    }

    /// The number of the token that the cache has for a key; a new one lives for so many seconds.
    async fn ask(&self, key: &str, life: u64) -> usize {
        let expires = self.hands.wall() + Duration::from_secs(life);
        self.ask_until(key, Some(expires)).await
    }

    async fn ask_until(&self, key: &str, expires: Option<Timestamp>) -> usize {
        let fetch = async {
            let number = self.fetched.fetch_add(1, Ordering::SeqCst) + 1;
            Ok::<_, Infallible>(Numbered(number, expires))
        };
        let Ok(token) = self.cache.get_or_fetch(key, Some(&involved("app")), fetch).await;
        token.0
    }

    fn metrics(&self) -> String {
        prometheus::TextEncoder::new()
            .encode_to_string(&self.registry.gather())
            .unwrap()
    }
}

fn involved(name: &str) -> InvolvedObject {
    InvolvedObject {
        kind: "GitRepository",
        name: name.to_owned(),
        namespace: "apps".to_owned(),
        operation: operations::RECONCILE,
    }
}

#[tokio::test]
async fn a_token_is_kept_for_four_fifths_of_its_life_by_both_clocks() {
    // SRC-084
    let bench = Bench::new(10, 3600);
    assert_eq!(bench.ask("k", 100).await, 1);
    bench.hands.advance(79, 79);
    assert_eq!(bench.ask("k", 100).await, 1);
    bench.hands.advance(1, 1);
    assert_eq!(bench.ask("k", 100).await, 2, "refreshed at 80 %");
    bench.hands.advance(80, 0);
    assert_eq!(bench.ask("k", 100).await, 3, "the monotonic clock says so");
    bench.hands.advance(0, 80);
    assert_eq!(bench.ask("k", 100).await, 4, "the time of day says so");
}

#[tokio::test]
async fn the_longest_duration_bounds_what_is_kept_and_is_itself_bounded_by_an_hour() {
    let bench = Bench::new(10, 60);
    assert_eq!(bench.ask("k", 36_000).await, 1);
    bench.hands.advance(60, 60);
    assert_eq!(bench.ask("k", 36_000).await, 2);
    let generous = Bench::new(10, 86_400);
    assert_eq!(generous.ask("k", 86_400).await, 1);
    generous.hands.advance(3600, 3600);
    assert_eq!(generous.ask("k", 86_400).await, 2);
}

#[tokio::test]
async fn what_has_ended_or_has_no_end_is_not_kept() {
    let bench = Bench::new(10, 3600);
    assert_eq!(bench.ask("k", 0).await, 1);
    assert_eq!(bench.ask_until("k", None).await, 2);
    assert_eq!(bench.ask_until("k", Some(Timestamp::MIN)).await, 3);
    assert_eq!(bench.ask_until("k", Some(Timestamp::MAX)).await, 4);
    assert_eq!(
        bench.ask("k", 100).await,
        4,
        "a life without sensible end is cut, not refused"
    );
}

#[tokio::test]
async fn the_least_recently_used_token_makes_room() {
    let bench = Bench::new(2, 3600);
    assert_eq!((bench.ask("a", 100).await, bench.ask("b", 100).await), (1, 2));
    assert_eq!(bench.ask("a", 100).await, 1);
    assert_eq!(bench.ask("c", 100).await, 3);
    assert_eq!(bench.ask("a", 100).await, 1);
    assert_eq!(bench.ask("b", 100).await, 4);
    let metrics = bench.metrics();
    assert!(metrics.contains("gotk_token_cached_items 2\n"), "{metrics}");
    assert!(
        metrics.contains("gotk_token_cache_evictions_total 2\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn of_many_who_ask_at_once_one_fetches_and_failures_are_not_kept() {
    let bench = Bench::new(10, 3600);
    let fetched = AtomicUsize::new(0);
    let ask = |fail: bool| {
        let (fetched, expires) = (&fetched, bench.hands.wall() + Duration::from_secs(100));
        let fetch = async move {
            let number = fetched.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            if fail {
                Err(number)
            } else {
                Ok(Numbered(number, Some(expires)))
            }
        };
        bench.cache.get_or_fetch("k", None, fetch)
    };
    let (first, second) = tokio::join!(ask(true), ask(true));
    assert_eq!((first.unwrap_err(), second.unwrap_err()), (0, 1));
    let (first, second, third) = tokio::join!(ask(false), ask(false), ask(false));
    assert_eq!(
        [first, second, third].map(|token| token.unwrap().0),
        [2, 2, 2],
        "one fetch for all"
    );
    assert!(bench.cache.0.state().flights.is_empty());
    drop(tokio::time::timeout(
        Duration::ZERO,
        bench
            .cache
            .get_or_fetch("other", None, std::future::pending::<Result<Numbered, ()>>()),
    ));
    assert!(bench.cache.0.state().flights.is_empty());
}

#[tokio::test]
async fn metrics_name_the_object_until_it_is_gone() {
    let bench = Bench::new(10, 3600);
    bench.ask("k", 100).await;
    bench.ask("k", 100).await;
    let series = |event: &str| {
        format!(
            "gotk_token_cache_events_total{{event_type=\"{event}\",kind=\"GitRepository\",name=\"app\",namespace=\"apps\",operation=\"reconcile\"}} 1"
        )
    };
    let metrics = bench.metrics();
    for line in [
        series("cache_hit").as_str(),
        series("cache_miss").as_str(),
        "gotk_token_cache_requests_total{status=\"success\"} 2",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    bench.cache.forget(&involved("app"));
    assert!(!bench.metrics().contains("gotk_token_cache_events_total{"));
    assert!(bench.metrics().contains("gotk_token_cached_items 1\n"));
}

#[test]
fn no_capacity_means_no_cache() {
    assert!(
        TokenCache::new(0, Duration::from_secs(1), None)
            .unwrap()
            .is_none()
    );
}

#[test]
fn keys_are_digests_of_lines() {
    // printf 'provider=aws\nstsRegion=us-east-1' | sha256sum
    assert_eq!(
        cache_key(&["provider=aws", "stsRegion=us-east-1"]),
        "1138acc2b2c5f6074f035b5e89ecde2318d706dba5b7d0975438285b3fc9770f"
    );
}
