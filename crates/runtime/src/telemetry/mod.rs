//! What the process tells about itself: log lines and metrics.

mod logs;
mod metrics;
mod process;

pub use logs::{Encoding, Level, LogOptions, initialize};
pub use metrics::{Metrics, QueueMetrics};
