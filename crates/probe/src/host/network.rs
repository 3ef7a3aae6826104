//! Bytes of network interfaces: `/proc/net/dev` (source: `proc_pid_net(5)`). Loopback is left out:
//! it carries the load client's own talk with the engine. Virtual interfaces that pass on what a
//! physical one carries (bridges, bonds) are counted as the kernel counts them.

use std::collections::BTreeMap;

use cotenant_core::evidence::{Missing, Reading};

use super::disk::Transferred;
use super::root::{Root, in_file};

/// Reads the text of `/proc/net/dev`: every interface but loopback, by name.
pub fn parse_network(text: &str) -> Reading<BTreeMap<String, Transferred>> {
    let lines: Vec<&str> = text.lines().skip(2).filter(|line| !line.trim().is_empty()).collect();
    if text.lines().count() < 2 {
        return Err(Missing("the head of the table is absent".to_owned()));
    }
    let interfaces: BTreeMap<String, Transferred> =
        lines.into_iter().map(parse_interface).collect::<Reading<_>>()?;
    Ok(interfaces.into_iter().filter(|(name, _)| name != "lo").collect())
}

fn parse_interface(line: &str) -> Reading<(String, Transferred)> {
    let bad = || Missing(format!("{line:?} is no line of an interface"));
    // The name may hold colons (an alias), and a large count follows the last one without a space.
    let (name, counts) = line.rsplit_once(':').ok_or_else(bad)?;
    let counts: Vec<&str> = counts.split_ascii_whitespace().collect();
    let count = |field: usize| counts.get(field)?.parse().ok();
    let transferred = Transferred {
        inward_bytes: count(0).ok_or_else(bad)?,
        outward_bytes: count(8).ok_or_else(bad)?,
    };
    Ok((name.trim().to_owned(), transferred))
}

/// Bytes of the interfaces that count.
pub(super) fn read_network(root: &Root) -> Reading<BTreeMap<String, Transferred>> {
    let path = "/proc/net/dev";
    in_file(path, parse_network(&root.read(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "Inter-|   Receive  |  Transmit\n face |bytes packets |bytes packets\n";

    #[test]
    fn loopback_is_left_out_and_tight_columns_are_read() {
        let text = format!(
            "{HEAD}    lo: 99 1 0 0 0 0 0 0 99 1 0 0 0 0 0 0\n\
             eth0:3549684859 7 0 0 0 0 0 0 2808211 3 0 0 0 0 0 0\n"
        );
        let network = parse_network(&text).unwrap();
        assert_eq!(network.len(), 1);
        assert_eq!(
            network["eth0"],
            Transferred { inward_bytes: 3_549_684_859, outward_bytes: 2_808_211 }
        );
    }

    #[test]
    fn no_interface_is_no_traffic_but_no_table_is_missing() {
        assert_eq!(parse_network(HEAD), Ok(BTreeMap::new()));
        assert!(parse_network("").is_err());
        assert!(parse_network(&format!("{HEAD}eth0: 1 2\n")).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (parse_network(&text), parse_network(&format!("{HEAD}{text}\n{text}: 1")));
        }
    }
}
