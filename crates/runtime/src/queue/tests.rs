use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::*;

fn queue() -> Queue<u8> {
    Queue::new(Backoff {
        min: Duration::from_secs(1),
        max: Duration::from_secs(8),
    })
}

fn event() -> Causes {
    Cause::Spec.into()
}

#[test]
fn keys_run_in_the_order_in_which_they_became_ready() {
    let now = Instant::now();
    let mut queue = queue();
    for key in [3, 1, 2, 1, 3] {
        queue.add(key, event());
    }
    let order: Vec<u8> = std::iter::from_fn(|| queue.start(now))
        .map(|job| job.key)
        .collect();
    assert_eq!(order, [3, 1, 2]);
}

#[test]
fn an_event_during_a_run_is_not_lost_and_does_not_run_the_key_twice_at_once() {
    let now = Instant::now();
    let mut queue = queue();
    queue.add(1, event());
    let job = queue.start(now).unwrap();
    queue.add(1, Cause::Source.into());
    assert_eq!(queue.start(now), None);
    queue.finish(&job.key, Next::Idle, now);
    assert_eq!(queue.start(now).unwrap().causes, Causes::from(Cause::Source));
}

#[test]
fn failures_back_off_exponentially_within_the_bounds() {
    // COM-026
    let mut now = Instant::now();
    let mut queue = queue();
    queue.add(1, event());
    let mut gaps = Vec::new();
    for failures in 0..6 {
        let job = queue.start(now).unwrap();
        assert_eq!(job.failures, failures);
        let at = queue.finish(&job.key, Next::Backoff, now).unwrap();
        gaps.push((at - now).as_secs());
        assert_eq!(queue.start(at - Duration::from_millis(1)), None);
        now = at;
    }
    assert_eq!(gaps, [1, 2, 4, 8, 8, 8]);
    let flux = Backoff::default();
    assert_eq!(flux.delay(1), Duration::from_millis(750));
    assert_eq!(flux.delay(2), Duration::from_millis(1500));
    assert_eq!(flux.delay(u32::MAX), Duration::from_secs(900));
}

#[test]
fn what_has_failed_can_be_woken_and_keeps_its_failures() {
    let now = Instant::now();
    let mut queue = queue();
    for (key, next) in [
        (1, Next::Backoff),
        (2, Next::At(now + Duration::from_secs(60), Cause::Schedule)),
        (3, Next::Idle),
        (4, Next::Backoff),
    ] {
        queue.add(key, event());
        let job = queue.start(now).unwrap();
        queue.finish(&job.key, next, now);
    }
    assert_eq!(queue.wake_failed(), [1, 4]);
    assert!(queue.wake_failed().is_empty(), "they are ready already");
    let job = queue.start(now).unwrap();
    assert_eq!((job.key, job.failures, job.causes), (1, 1, Cause::Retry.into()));
    let at = queue.finish(&job.key, Next::Backoff, now).unwrap();
    assert_eq!(at - now, Duration::from_secs(2), "the back-off goes on");
    assert_eq!(queue.start(now).unwrap().key, 4);
    assert_eq!(queue.start(now), None, "its first timer is off");
}

#[test]
fn success_forgets_failures() {
    let now = Instant::now();
    let mut queue = queue();
    queue.add(1, event());
    let job = queue.start(now).unwrap();
    let at = queue.finish(&job.key, Next::Backoff, now).unwrap();
    let job = queue.start(at).unwrap();
    queue.finish(
        &job.key,
        Next::At(at + Duration::from_secs(60), Cause::Schedule),
        at,
    );
    let job = queue.start(at + Duration::from_secs(60)).unwrap();
    assert_eq!((job.failures, job.causes), (0, Cause::Schedule.into()));
}

#[test]
fn an_event_ends_a_back_off_and_takes_the_timer_off() {
    let now = Instant::now();
    let mut queue = queue();
    queue.add(1, event());
    queue.start(now);
    let at = queue.finish(&1, Next::Backoff, now).unwrap();
    queue.add(1, Cause::Requested.into());
    let job = queue.start(now).unwrap();
    assert_eq!((job.failures, job.causes), (1, Cause::Requested.into()));
    queue.finish(&1, Next::Idle, now);
    assert_eq!(queue.next_timer(), None);
    assert_eq!(queue.start(at), None);
}

#[test]
fn nothing_is_kept_of_a_forgotten_key() {
    let now = Instant::now();
    let mut queue = queue();
    queue.add(1, event());
    queue.start(now);
    queue.finish(&1, Next::Forget, now);
    assert!(queue.is_empty());
}

#[test]
fn an_event_on_a_key_that_is_being_forgotten_runs_it_again() {
    let now = Instant::now();
    let mut queue = queue();
    queue.add(1, event());
    queue.start(now);
    queue.add(1, Cause::Created.into());
    queue.finish(&1, Next::Forget, now);
    assert_eq!(queue.start(now).unwrap().causes, Causes::from(Cause::Created));
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8),
    Start,
    Finish(usize, Ending),
    Pass(u64),
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Forget,
    Idle,
    At(u64),
    Now,
    Backoff,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ending = prop_oneof![
        Just(Ending::Forget),
        Just(Ending::Idle),
        (0u64..20).prop_map(Ending::At),
        Just(Ending::Now),
        Just(Ending::Backoff),
    ];
    let step = prop_oneof![
        4 => (0u8..6).prop_map(Step::Add),
        4 => Just(Step::Start),
        4 => (0usize..6, ending).prop_map(|(which, ending)| Step::Finish(which, ending)),
        2 => (0u64..10).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 0..200)
}

/// What must hold of a key, kept independently of the queue.
#[derive(Default)]
struct Model {
    running: Vec<u8>,
    owed: HashSet<u8>,
    timers: HashMap<u8, Instant>,
    /// Keys that have become ready and how many others have started since.
    overtaken: HashMap<u8, usize>,
}

proptest! {
    #[test]
    fn no_wake_up_is_lost_no_key_runs_twice_and_none_starves(steps in steps()) {
        let mut now = Instant::now();
        let mut queue = queue();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Add(key) => {
                    queue.add(key, event());
                    model.owed.insert(key);
                    if !model.running.contains(&key) {
                        model.timers.remove(&key);
                        model.overtaken.entry(key).or_default();
                    }
                }
                Step::Pass(seconds) => now += Duration::from_secs(seconds),
                Step::Start => start(&mut queue, &mut model, now)?,
                Step::Finish(which, ending) => {
                    if model.running.is_empty() {
                        continue;
                    }
                    let key = model.running.remove(which % model.running.len());
                    let next = match ending {
                        Ending::Forget => Next::Forget,
                        Ending::Idle => Next::Idle,
                        Ending::At(after) => Next::At(now + Duration::from_secs(after), Cause::Schedule),
                        Ending::Now => Next::Now(Cause::Continued.into()),
                        Ending::Backoff => Next::Backoff,
                    };
                    let at = queue.finish(&key, next, now);
                    if matches!(ending, Ending::Now) {
                        model.owed.insert(key);
                    }
                    if model.owed.contains(&key) {
                        prop_assert_eq!(at, None);
                        model.overtaken.insert(key, 0);
                    } else if let Some(at) = at {
                        model.timers.insert(key, at);
                    }
                }
            }
        }
        // Everything that is owed runs, and nothing else.
        for key in std::mem::take(&mut model.running) {
            queue.finish(&key, Next::Idle, now);
        }
        now += Duration::from_secs(1000);
        let mut expected: HashSet<u8> = model.owed.clone();
        expected.extend(model.timers.keys());
        let ran: Vec<u8> = std::iter::from_fn(|| queue.start(now)).map(|job| job.key).collect();
        prop_assert_eq!(ran.len(), expected.len());
        prop_assert_eq!(ran.into_iter().collect::<HashSet<_>>(), expected);
    }
}

fn start(queue: &mut Queue<u8>, model: &mut Model, now: Instant) -> Result<(), TestCaseError> {
    let due: Vec<u8> = model
        .timers
        .iter()
        .filter(|(_, at)| **at <= now)
        .map(|(key, _)| *key)
        .collect();
    let Some(job) = queue.start(now) else {
        prop_assert!(due.is_empty(), "due keys do not start: {due:?}");
        prop_assert!(model.owed.iter().all(|key| model.running.contains(key)));
        return Ok(());
    };
    prop_assert!(!model.running.contains(&job.key), "{} runs twice", job.key);
    prop_assert!(
        model.owed.remove(&job.key) | due.contains(&job.key),
        "{} runs for nothing",
        job.key
    );
    model.timers.remove(&job.key);
    model.overtaken.remove(&job.key);
    model.running.push(job.key);
    for (key, by) in &mut model.overtaken {
        *by += 1;
        prop_assert!(*by <= 6, "{key} starves");
    }
    Ok(())
}

mod driver {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use tokio::sync::Semaphore;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn runs_are_bounded_and_all_keys_run() {
        let queue = WorkQueue::new(Backoff::default(), None);
        let (running, most, runs) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicUsize::new(0)),
        );
        for key in 0..50 {
            queue.add(key, Cause::Created);
        }
        let stop = CancellationToken::new();
        let (counters, end) = (
            (Arc::clone(&running), Arc::clone(&most), Arc::clone(&runs)),
            stop.clone(),
        );
        queue
            .run(4, stop, Duration::from_secs(1), move |_: Job<i32>| {
                let ((running, most, runs), end) = (counters.clone(), end.clone());
                async move {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    if runs.fetch_add(1, Ordering::SeqCst) == 49 {
                        end.cancel();
                    }
                    Next::Idle
                }
            })
            .await;
        assert_eq!(most.load(Ordering::SeqCst), 4);
        assert_eq!(runs.load(Ordering::SeqCst), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_counts_as_a_failure_and_is_tried_again() {
        let queue = WorkQueue::new(
            Backoff {
                min: Duration::from_secs(2),
                max: Duration::from_secs(60),
            },
            None,
        );
        queue.add("a", Cause::Created);
        let stop = CancellationToken::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, end) = (Arc::clone(&seen), stop.clone());
        let start = Instant::now();
        queue
            .run(1, stop, Duration::ZERO, move |job| {
                let (log, end) = (Arc::clone(&log), end.clone());
                async move {
                    log.lock()
                        .unwrap()
                        .push((job.failures, start.elapsed().as_secs()));
                    if job.failures == 2 {
                        end.cancel();
                        return Next::Idle;
                    }
                    panic!("as the test wants it");
                }
            })
            .await;
        assert_eq!(*seen.lock().unwrap(), [(0, 0), (1, 2), (2, 6)]);
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_starts_nothing_more_and_lets_runs_end() {
        // COM-029
        let queue = WorkQueue::new(Backoff::default(), None);
        let stop = CancellationToken::new();
        let (ended, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        for key in 0..3 {
            queue.add(key, Cause::Created);
        }
        let (count, begun) = (Arc::clone(&ended), Arc::clone(&started));
        let run = tokio::spawn({
            let (queue, stop) = (queue.clone(), stop.clone());
            async move {
                queue
                    .run(2, stop, Duration::from_secs(5), move |job: Job<i32>| {
                        let (count, begun) = (Arc::clone(&count), Arc::clone(&begun));
                        async move {
                            begun.add_permits(1);
                            // The second one takes longer than is granted.
                            tokio::time::sleep(Duration::from_secs(if job.key == 0 { 1 } else { 3600 }))
                                .await;
                            count.fetch_add(1, Ordering::SeqCst);
                            Next::Idle
                        }
                    })
                    .await
            }
        });
        started.acquire_many(2).await.unwrap().forget();
        stop.cancel();
        assert_eq!(run.await.unwrap(), 1, "the one that takes too long is dropped");
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        assert_eq!(started.available_permits(), 0, "the third key never starts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_planned_run_comes_at_its_time() {
        let queue = WorkQueue::new(Backoff::default(), None);
        queue.add(1, Cause::Created);
        let stop = CancellationToken::new();
        let (end, start) = (stop.clone(), Instant::now());
        let runs = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&runs);
        queue
            .run(1, stop, Duration::ZERO, move |job: Job<i32>| {
                let mut log = log.lock().unwrap();
                log.push((start.elapsed().as_secs(), job.causes));
                if log.len() == 3 {
                    end.cancel();
                }
                std::future::ready(Next::At(
                    Instant::now() + Duration::from_secs(30),
                    Cause::Schedule,
                ))
            })
            .await;
        let runs = runs.lock().unwrap();
        assert_eq!(
            runs[1..],
            [(30, Cause::Schedule.into()), (60, Cause::Schedule.into())]
        );
    }
}
