//! The resources of a process, usually this one, as the kernel counts them. `None` where there is
//! no `/proc`.

use std::time::Duration;

/// Memory in RAM now.
pub(crate) fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// Memory in RAM of another process now.
pub(crate) fn resident_bytes_of(process: u32) -> Option<u64> {
    parse_status(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?, "VmRSS:")
}

/// Memory in RAM now that belongs to the process alone, without mapped files.
pub(crate) fn anonymous_bytes() -> Option<u64> {
    status_bytes("RssAnon:")
}

/// Memory in RAM at its highest.
pub(crate) fn resident_bytes_max() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// Processor time of all threads so far, in user and kernel mode.
pub(crate) fn cpu_time() -> Option<Duration> {
    cpu_time_in("/proc/self/stat")
}

/// The same of another process.
pub(crate) fn cpu_time_of(process: u32) -> Option<Duration> {
    cpu_time_in(&format!("/proc/{process}/stat"))
}

fn cpu_time_in(path: &str) -> Option<Duration> {
    let stat = std::fs::read_to_string(path).ok()?;
    ticks(&stat).map(|ticks| Duration::from_secs_f64(ticks as f64 / ticks_per_second() as f64))
}

fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

fn status_bytes(field: &str) -> Option<u64> {
    parse_status(&std::fs::read_to_string("/proc/self/status").ok()?, field)
}

fn parse_status(status: &str, field: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// utime and stime: the 14th and 15th field, counted after the name, which may contain anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_by_field() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(parse_status(status, "VmRSS:"), Some(1024 * 1024));
        assert_eq!(parse_status(status, "VmSwap:"), None);
    }

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_move_the_fields() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        assert_eq!(ticks(stat), Some(300));
    }
}
