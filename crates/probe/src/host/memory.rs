//! Memory of the machine: `/proc/meminfo` (source: `proc_meminfo(5)`).

use cotenant_core::evidence::{Missing, Reading};

/// One line of `/proc/meminfo`, bytes. The file counts kibibytes and calls them kB.
pub fn parse_memory(text: &str, name: &str) -> Reading<u64> {
    let missing = || Missing(format!("no line {name}"));
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .ok_or_else(missing)?;
    let kibibytes: u64 = value
        .trim()
        .strip_suffix("kB")
        .unwrap_or(value)
        .trim()
        .parse()
        .map_err(|_| Missing(format!("line {name} has no count")))?;
    kibibytes.checked_mul(1024).ok_or_else(|| Missing(format!("line {name} is out of range")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_found_by_their_whole_name() {
        let text = "MemTotal:       24684084 kB\nDirtyPages: 1 kB\nDirty:   12 kB\nHuge: 5\n";
        assert_eq!(parse_memory(text, "MemTotal"), Ok(24_684_084 * 1024));
        assert_eq!(parse_memory(text, "Dirty"), Ok(12 * 1024));
        assert!(parse_memory(text, "MemAvailable").is_err());
        assert!(parse_memory("Dirty: many kB", "Dirty").is_err());
        assert!(parse_memory("Dirty: 18446744073709551615 kB", "Dirty").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (parse_memory(&text, "Dirty"), parse_memory(&format!("Dirty:{text}"), "Dirty"));
        }
    }
}
