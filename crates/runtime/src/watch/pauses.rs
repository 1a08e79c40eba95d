//! The pauses between the tries to resume a watch.

use std::time::Duration;

use kube::runtime::utils::Backoff;

/// The pause after the first failure, and the longest one.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);

/// Growing pauses of random length. They stay short, other than client-go's (up to 30 s): a watch is one request, and everything
/// that an API server has to tell after an outage waits for it.
#[derive(Debug)]
pub(super) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        Some(pause.mul_f64(rand::random_range(0.5..1.0)))
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_start_anew() {
        let mut pauses = Pauses::default();
        let first = pauses.next().unwrap_or_default();
        assert!(first >= FIRST / 2 && first <= FIRST);
        let later = pauses.by_ref().take(100).last().unwrap_or_default();
        assert!(later >= LONGEST / 2 && later <= LONGEST);
        pauses.reset();
        assert!(pauses.next().unwrap_or_default() <= FIRST);
    }
}
