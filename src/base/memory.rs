//! How much memory there is and how much is held, and sizes as people write them.

const MIB: u64 = 1 << 20;

/// A quarter of the machine's memory, or of a container's lower limit; at least 512 MiB.
pub fn default_memory() -> u64 {
    (machine_memory() / 4).max(512 * MIB)
}

/// Reads `4GiB`, `512MiB`, `2g`, `1000000`: a number of bytes. Powers of 1024 but for kB, MB, GB, TB.
///
/// # Errors
/// What is wrong with it, in a line.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_| format!("\"{text}\" is not a size; write 4GiB, 512MiB or 1000000"))?;
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1048576.0,
        "g" | "gib" => 1073741824.0,
        "t" | "tib" => 1099511627776.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        other => return Err(format!("unknown unit \"{other}\"; there are KiB, MiB, GiB, TiB, kB, MB, GB, TB")),
    };
    Ok((number * factor) as u64)
}

#[cfg(target_os = "linux")]
fn machine_memory() -> u64 {
    let number = |path: &str| std::fs::read_to_string(path).ok().and_then(|s| s.trim().parse::<u64>().ok());
    let total = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|s| s.lines().find(|l| l.starts_with("MemTotal"))?.split_whitespace().nth(1)?.parse::<u64>().ok())
        .map_or(4096 * MIB, |kib| kib * 1024);
    let limit = number("/sys/fs/cgroup/memory.max").or_else(|| number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    limit.map_or(total, |l| l.min(total)).min(address_space())
}

/// How much the process may have in addresses (`ulimit -v`), which files that it maps take, too.
#[cfg(target_os = "linux")]
fn address_space() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call gets a pointer to a live structure of the type that it asks for.
    match unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}

#[cfg(not(target_os = "linux"))]
fn machine_memory() -> u64 {
    8192 * MIB
}

/// The memory that this process holds now, bytes (resident set, file mappings included); 0 where
/// the system does not tell.
pub fn memory_in_use() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0);
    pages * page_bytes() as u64
}

/// Bytes of a page of the system.
pub fn page_bytes() -> usize {
    // SAFETY: sysconf takes a number and gives one.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The most memory that this process has held so far, bytes (resident set, file mappings included).
pub fn peak_memory() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the struct it is given; an all-zero rusage is valid.
    let kib = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init().ru_maxrss as u64
    };
    if cfg!(target_os = "macos") { kib } else { kib * 1024 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size("512m"), Ok(512 << 20));
        assert_eq!(parse_size("1.5 kB"), Ok(1500));
        assert_eq!(parse_size("77"), Ok(77));
        for bad in ["", "GiB", "-1", "4 potatoes", "1e3"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
