//! When an event happened, as people say it.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;

/// The time by which events are sorted.
pub(super) fn of(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref();
    match series {
        Some(series) => series.last_observed_time.as_ref().map(|time| time.0),
        None => event
            .last_timestamp
            .as_ref()
            .map(|time| time.0)
            .or_else(|| event.event_time.as_ref().map(|time| time.0)),
    }
}

/// How long ago the event was last seen, and how often if that is more than once.
pub(super) fn last_seen(event: &Event, now: Timestamp) -> String {
    let ago = |time: Option<Timestamp>| {
        time.map_or_else(
            || "<unknown>".to_owned(),
            |time| describe(now.as_second() - time.as_second()),
        )
    };
    let first = event.event_time.as_ref().map(|time| time.0);
    let first = ago(first.or_else(|| event.first_timestamp.as_ref().map(|time| time.0)));
    if let Some(series) = &event.series {
        let last = ago(series.last_observed_time.as_ref().map(|time| time.0));
        return format!("{last} (x{} over {first})", series.count.unwrap_or_default());
    }
    match event.count {
        Some(count) if count > 1 => {
            let last = ago(event.last_timestamp.as_ref().map(|time| time.0));
            format!("{last} (x{count} over {first})")
        }
        _ => first,
    }
}

/// A span of seconds in two units at most, the rougher the longer it is, as kubectl rounds.
fn describe(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |large: i64, large_unit: char, small: i64, small_unit: char| {
        if small == 0 {
            format!("{large}{large_unit}")
        } else {
            format!("{large}{large_unit}{small}{small_unit}")
        }
    };
    match seconds {
        i64::MIN..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds / MINUTE, 'm', seconds % MINUTE, 's'),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds / HOUR, 'h', seconds / MINUTE % 60, 'm'),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds / DAY, 'd', seconds / HOUR % 24, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds / YEAR, 'y', seconds / DAY % 365, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn spans_are_rounded_as_kubectl_rounds_them() {
        let day = 86400;
        for (seconds, expected) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (3 * 3600 + 300, "3h5m"),
            (8 * 3600, "8h"),
            (47 * 3600, "47h"),
            (2 * day, "2d"),
            (2 * day + 3600, "2d1h"),
            (8 * day, "8d"),
            (700 * day, "700d"),
            (730 * day, "2y"),
            (731 * day, "2y1d"),
            (3650 * day, "10y"),
        ] {
            assert_eq!(describe(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn repeated_events_tell_how_often_they_were_seen() {
        let event: Event = serde_json::from_value(json!({"metadata": {}, "involvedObject": {}, "count": 3,
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:04:00Z"}))
        .unwrap();
        let now = "2026-01-01T00:05:00Z".parse().unwrap();
        assert_eq!(last_seen(&event, now), "60s (x3 over 5m)");
    }
}
