//! Two who want the same field to be different: neither gives in, so one has to slow down.

use std::time::Duration;

use tokio::time::Instant;

use super::ledger::DEBOUNCE;

/// How many corrections in a row are made at once.
pub(super) const PATIENCE: u32 = 5;

/// Corrections that are further apart than this are no row.
const QUIET: Duration = Duration::from_secs(60);

/// The pause before the first correction that is not made at once; it doubles each time.
const SHORTEST: Duration = Duration::from_secs(10);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(600);

/// The corrections of one object in a row.
#[derive(Debug, Default)]
pub(super) struct Fight {
    corrections: u32,
    last: Option<Instant>,
    manager: Option<String>,
    reported: bool,
}

impl Fight {
    /// How long to wait with the next correction.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        if self.is_over(now) || self.corrections < PATIENCE {
            return DEBOUNCE;
        }
        let doubled = 1_u32.checked_shl(self.corrections - PATIENCE).unwrap_or(u32::MAX);
        SHORTEST.saturating_mul(doubled).min(LONGEST)
    }

    /// Notes a correction.
    pub(super) fn note(&mut self, now: Instant, manager: Option<String>) {
        if self.is_over(now) {
            *self = Self::default();
        }
        self.corrections = (self.corrections + 1).min(PATIENCE + 16);
        self.last = Some(now);
        self.manager = manager.or_else(|| self.manager.take());
    }

    /// The corrections and the other one, once when it becomes a fight.
    pub(super) fn report(&mut self) -> Option<(u32, Option<String>)> {
        let due = self.corrections >= PATIENCE && !self.reported;
        self.reported |= due;
        due.then(|| (self.corrections, self.manager.clone()))
    }

    /// Whether it has been quiet for long enough to begin anew.
    fn is_over(&self, now: Instant) -> bool {
        let Some(last) = self.last else { return true };
        let quiet = if self.corrections < PATIENCE {
            QUIET
        } else {
            2 * LONGEST
        };
        now.duration_since(last) > quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_in_a_row_become_slower_and_are_reported_once() {
        let mut fight = Fight::default();
        let mut now = Instant::now();
        let mut pauses = Vec::new();
        let mut reports = 0;
        for _ in 0..40 {
            let pause = fight.pause(now);
            pauses.push(pause.as_millis());
            now += pause;
            fight.note(now, Some("other".into()));
            reports += usize::from(fight.report().is_some());
        }
        assert_eq!(&pauses[..8], [250, 250, 250, 250, 250, 10_000, 20_000, 40_000]);
        assert!(pauses[13..].iter().all(|pause| *pause == 600_000));
        assert_eq!(reports, 1);
        // After a long quiet time it begins anew.
        now += Duration::from_secs(1300);
        assert_eq!(fight.pause(now), DEBOUNCE);
        fight.note(now, None);
        assert!(fight.report().is_none());
    }

    #[test]
    fn single_corrections_are_no_fight() {
        let mut fight = Fight::default();
        let mut now = Instant::now();
        for _ in 0..20 {
            now += Duration::from_secs(61);
            assert_eq!(fight.pause(now), DEBOUNCE);
            fight.note(now, None);
            assert!(fight.report().is_none());
        }
    }
}
