//! How large the caches are: streams must be larger.

use std::collections::BTreeSet;

use crate::host::Root;

/// Most CPUs and cache indices that are looked at.
const CPUS_MAX: usize = 4096;
const INDICES_MAX: usize = 8;

/// A size as sysfs has it: "32768K" (`Documentation/ABI/testing/sysfs-devices-system-cpu`), bytes.
///
/// ```
/// use cotenant_probe::stress::parse_cache_size;
/// assert_eq!(parse_cache_size("32768K\n"), Some(32 << 20));
/// assert_eq!(parse_cache_size("36M"), Some(36 << 20));
/// assert_eq!(parse_cache_size("many"), None);
/// ```
pub fn parse_cache_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Bytes of all caches of the last level together; `None` where the kernel does not tell.
pub fn last_level_cache_bytes(root: &Root) -> Option<u64> {
    let mut caches: BTreeSet<(u32, String, u64)> = BTreeSet::new();
    for cpu in 0..CPUS_MAX {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        if !root.path(&folder).is_dir() {
            break;
        }
        for index in 0..INDICES_MAX {
            let read = |name: &str| root.read(&format!("{folder}/cache/index{index}/{name}")).ok();
            let Some(level) = read("level").and_then(|text| text.trim().parse::<u32>().ok()) else {
                break;
            };
            let shared = read("shared_cpu_list").unwrap_or_else(|| cpu.to_string());
            if let Some(bytes) = read("size").as_deref().and_then(parse_cache_size) {
                caches.insert((level, shared, bytes));
            }
        }
    }
    let last = caches.iter().map(|(level, ..)| *level).max()?;
    Some(caches.iter().filter(|(level, ..)| *level == last).map(|(.., bytes)| bytes).sum())
}
