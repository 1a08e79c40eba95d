//! CPU time and memory of a process, as Linux tells them in `/proc`.

use std::path::Path;

use crate::error::{Error, Result};

/// The unit of times in `/proc/PID/stat`: Linux fixes it at 100 a second for programs, whatever the kernel's
/// own clock is.
const TICKS_PER_SECOND: f64 = 100.0;

/// Memory of a process at one moment, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// `VmRSS`: resident pages, those of the program's file included.
    pub(crate) resident: u64,
    /// `RssAnon`: resident pages that belong to no file: heap and stacks.
    pub(crate) anonymous: u64,
    /// `VmHWM`: the highest `VmRSS` so far.
    pub(crate) peak: u64,
}

/// The memory of a running process.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let file = format!("/proc/{pid}/status");
    parse_memory(&read(&file)?).map_err(|field| Error::Process { file, field })
}

/// The CPU time of a running process since its start, user and system, all threads, in seconds.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let file = format!("/proc/{pid}/stat");
    parse_cpu_seconds(&read(&file)?).map_err(|field| Error::Process { file, field })
}

/// The machine's load average of the last minute.
pub(crate) fn load_average() -> Result<f64> {
    let file = "/proc/loadavg";
    let text = read(file)?;
    let first = text
        .split_whitespace()
        .next()
        .and_then(|number| number.parse().ok());
    first.ok_or_else(|| Error::Process {
        file: file.to_owned(),
        field: "load average",
    })
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(Path::new(file)).map_err(Error::io(format!("read {file}")))
}

/// Reads `/proc/PID/status`; an error is the field that is missing.
fn parse_memory(status: &str) -> Result<Memory, &'static str> {
    let field = |name: &'static str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        number.ok_or(name)
    };
    Ok(Memory {
        resident: field("VmRSS")?,
        anonymous: field("RssAnon")?,
        peak: field("VmHWM")?,
    })
}

/// Reads `/proc/PID/stat`; an error is the field that is missing.
fn parse_cpu_seconds(stat: &str) -> Result<f64, &'static str> {
    // The second field is the program's name in parentheses and may hold blanks and parentheses itself.
    let (_, rest) = stat.rsplit_once(')').ok_or("name")?;
    let mut fields = rest.split_whitespace().skip(11).map(str::parse::<u32>);
    let mut next = |name| fields.next().and_then(Result::ok).ok_or(name);
    let (user, system) = (next("utime")?, next("stime")?);
    Ok((f64::from(user) + f64::from(system)) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tkustomize-contr\nUmask:\t0022\nVmPeak:\t  250100 kB\nVmSize:\t  234567 kB\n\
        VmHWM:\t   31000 kB\nVmRSS:\t   29876 kB\nRssAnon:\t   17000 kB\nRssFile:\t   12876 kB\nThreads:\t7\n";

    #[test]
    fn memory_is_read_by_field_name() {
        let memory = Memory {
            resident: 29_876,
            anonymous: 17_000,
            peak: 31_000,
        };
        assert_eq!(parse_memory(STATUS), Ok(memory));
    }

    #[test]
    fn missing_or_broken_memory_fields_are_named() {
        // A zombie has no memory fields.
        assert_eq!(parse_memory("Name:\tx\nState:\tZ (zombie)\n"), Err("VmRSS"));
        assert_eq!(parse_memory(&STATUS.replace("17000 kB", "many")), Err("RssAnon"));
        assert_eq!(
            parse_memory(&STATUS.replace("31000 kB", "31000 MB")),
            Err("VmHWM")
        );
    }

    #[test]
    fn cpu_time_is_user_and_system_time_even_after_a_name_with_blanks_and_parentheses() {
        let stat = "42 (a (b) 1 2) S 1 42 42 0 -1 4194304 900 0 3 0 1234 66 7 8 20 0 9 0 555 1 2 3";
        assert_eq!(parse_cpu_seconds(stat), Ok(13.0));
    }

    #[test]
    fn broken_cpu_times_are_named() {
        assert_eq!(parse_cpu_seconds("42 x S"), Err("name"));
        assert_eq!(parse_cpu_seconds("42 (x) S 1 42"), Err("utime"));
        assert_eq!(
            parse_cpu_seconds("42 (x) S 1 42 42 0 -1 4194304 900 0 3 0 1234 x"),
            Err("stime")
        );
    }

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        let memory = memory(std::process::id()).unwrap();
        assert!(
            memory.peak >= memory.resident && memory.resident >= memory.anonymous,
            "{memory:?}"
        );
        assert!(memory.anonymous > 0);
        assert!(cpu_seconds(std::process::id()).unwrap() >= 0.0);
        assert!(load_average().unwrap() >= 0.0);
    }

    #[test]
    fn a_process_that_is_gone_is_an_error_that_names_its_file() {
        let error = memory(u32::MAX).unwrap_err().to_string();
        assert!(error.contains("/proc/4294967295/status"), "{error}");
    }
}
