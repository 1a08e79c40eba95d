//! The `process_*` metrics, read from `/proc` whenever metrics are gathered.

use std::fs;
use std::sync::Mutex;

use prometheus::{Counter, Gauge, Registry};

/// Clock ticks per second in `/proc/<pid>/stat`: fixed in Linux's interface to programs.
const TICKS: f64 = 100.0;

/// Bytes per page in `/proc/<pid>/stat` where `/proc/self/status` does not give kilobytes.
const KIBIBYTE: f64 = 1024.0;

/// The process's own resource use.
#[derive(Debug)]
pub(super) struct Process {
    cpu: Counter,
    resident: Gauge,
    virtual_size: Gauge,
    open_files: Gauge,
    max_files: Gauge,
    reported_cpu: Mutex<f64>,
}

impl Process {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str| -> Result<Gauge, prometheus::Error> {
            let gauge = Gauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok(gauge)
        };
        let cpu = Counter::new(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
        )?;
        registry.register(Box::new(cpu.clone()))?;
        let start = gauge(
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
        )?;
        if let Ok(since) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
            start.set(since.as_secs_f64());
        }
        Ok(Self {
            cpu,
            resident: gauge("process_resident_memory_bytes", "Resident memory size in bytes.")?,
            virtual_size: gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")?,
            open_files: gauge("process_open_fds", "Number of open file descriptors.")?,
            max_files: gauge("process_max_fds", "Maximum number of open file descriptors.")?,
            reported_cpu: Mutex::default(),
        })
    }

    /// Reads the present values. Where there is no `/proc` the metrics stay as they are.
    pub(super) fn refresh(&self) {
        if let Some(cpu) = fs::read_to_string("/proc/self/stat")
            .ok()
            .as_deref()
            .and_then(cpu_seconds)
            && let Ok(mut reported) = self.reported_cpu.lock()
            && cpu > *reported
        {
            self.cpu.inc_by(cpu - *reported);
            *reported = cpu;
        }
        if let Ok(status) = fs::read_to_string("/proc/self/status") {
            for (field, gauge) in [("VmRSS:", &self.resident), ("VmSize:", &self.virtual_size)] {
                if let Some(kibibytes) = field_value(&status, field) {
                    gauge.set(kibibytes * KIBIBYTE);
                }
            }
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            self.open_files.set(files.fold(0.0, |count, _| count + 1.0));
        }
        if let Ok(limits) = fs::read_to_string("/proc/self/limits")
            && let Some(limit) = field_value(&limits, "Max open files")
        {
            self.max_files.set(limit);
        }
    }
}

/// User and system time from a line of `/proc/<pid>/stat`. The command's name in it may hold spaces and brackets.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

fn field_value(text: &str, field: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(field))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_past_a_command_name_with_brackets() {
        let stat = "12 (a b) c)) S 1 12 12 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 4 0 100 1 2";
        assert_eq!(cpu_seconds(stat), Some(3.0));
    }

    #[test]
    fn refreshing_reads_this_process() {
        let registry = Registry::new();
        let process = Process::register(&registry).unwrap();
        process.refresh();
        assert!(process.resident.get() > 100_000.0);
        assert!(process.open_files.get() >= 3.0);
        assert!(process.max_files.get() >= 3.0);
    }
}
