//! Spreads planned runs, so that objects of one interval do not all come at the same moment.

use std::time::Duration;

use rand::Rng;

/// A relative deviation from an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    percentage: u8,
}

impl Jitter {
    /// A deviation of at most this many percent either way (`--interval-jitter-percentage`). 99 is the most.
    pub fn new(percentage: u8) -> Self {
        Self {
            percentage: percentage.min(99),
        }
    }

    /// The interval with a random deviation.
    pub fn apply(self, interval: Duration) -> Duration {
        self.apply_at(interval, rand::rng().random_range(-1.0..=1.0))
    }

    /// The interval with the deviation at this position, from -1 (shortest) to 1 (longest).
    fn apply_at(self, interval: Duration, position: f64) -> Duration {
        interval.mul_f64(1.0 + position * f64::from(self.percentage) / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_deviate_within_the_percentage() {
        // COM-027
        let jitter = Jitter::new(5);
        let interval = Duration::from_secs(100);
        assert_eq!(jitter.apply_at(interval, -1.0), Duration::from_secs(95));
        assert_eq!(jitter.apply_at(interval, 1.0), Duration::from_secs(105));
        let gaps: Vec<Duration> = (0..100).map(|_| jitter.apply(interval)).collect();
        assert!(gaps.iter().all(|gap| (95..=105).contains(&gap.as_secs())));
        assert!(gaps.iter().any(|gap| *gap != gaps[0]));
    }

    #[test]
    fn no_percentage_leaves_the_interval_alone() {
        assert_eq!(
            Jitter::default().apply(Duration::from_secs(60)),
            Duration::from_secs(60)
        );
    }
}
