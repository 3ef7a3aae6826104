//! Bytes of block devices: `/proc/diskstats`.
//!
//! Source: kernel `Documentation/admin-guide/iostats.rst`. A sector there is 512 bytes whatever the
//! device's own is. Partitions are part of their device, and what is stacked on other devices (loop,
//! device mapper, md, zram) would count the same bytes twice or none that reach a disk; so only whole
//! devices with hardware, or a hypervisor's, behind them count.

use std::collections::BTreeMap;

use cotenant_core::evidence::{Missing, Reading};

use super::root::{Root, in_file};

/// Bytes in one sector of the statistics.
const SECTOR_BYTES: u64 = 512;

/// Bytes since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Read from a disk, or received.
    pub inward_bytes: u64,
    /// Written to a disk, or sent.
    pub outward_bytes: u64,
}

/// Reads the text of `/proc/diskstats`: every device, partitions too, by name.
pub fn parse_disks(text: &str) -> Reading<BTreeMap<String, Transferred>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(parse_disk).collect()
}

fn parse_disk(line: &str) -> Reading<(String, Transferred)> {
    let bad = || Missing(format!("{line:?} is no line of a device"));
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let name = fields.get(2).ok_or_else(bad)?;
    let bytes = |field: usize| {
        let sectors: u64 = fields.get(field)?.parse().ok()?;
        sectors.checked_mul(SECTOR_BYTES)
    };
    let transferred = Transferred {
        inward_bytes: bytes(5).ok_or_else(bad)?,
        outward_bytes: bytes(9).ok_or_else(bad)?,
    };
    Ok(((*name).to_owned(), transferred))
}

/// Bytes of the devices that count.
pub(super) fn read_disks(root: &Root) -> Reading<BTreeMap<String, Transferred>> {
    let path = "/proc/diskstats";
    let mut disks = in_file(path, parse_disks(&root.read(path)?))?;
    if root.path("/sys/block").is_dir() {
        // A device name with a slash has an exclamation mark in sysfs.
        disks.retain(|name, _| {
            let name = name.replace('/', "!");
            root.path(&format!("/sys/block/{name}/device")).exists()
        });
    } else {
        disks.retain(|name, _| is_whole_device(name));
    }
    if disks.is_empty() {
        return Err(Missing(format!("{path}: no block device with hardware behind it")));
    }
    Ok(disks)
}

/// Whether a name is that of a whole device, where sysfs cannot be asked.
fn is_whole_device(name: &str) -> bool {
    let all =
        |text: &str, kind: fn(&char) -> bool| !text.is_empty() && text.chars().all(|c| kind(&c));
    let letters = |text: &str| all(text, char::is_ascii_lowercase);
    let digits = |text: &str| all(text, char::is_ascii_digit);
    let lettered = ["sd", "vd", "xvd", "hd"].iter();
    let nvme = || name.strip_prefix("nvme")?.split_once('n');
    lettered.filter_map(|kind| name.strip_prefix(kind)).any(letters)
        || nvme().is_some_and(|(controller, namespace)| digits(controller) && digits(namespace))
        || name.strip_prefix("mmcblk").is_some_and(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sectors_are_512_bytes() {
        let text =
            "   7  0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254 0 vda 34651 8174 1000 15 33 95 20 1 0 1 1\n";
        let disks = parse_disks(text).unwrap();
        assert_eq!(disks["vda"], Transferred { inward_bytes: 512_000, outward_bytes: 10_240 });
        assert!(parse_disks("254 0 vda 1 2 x 4 5 6 7 8").is_err());
        assert!(parse_disks("254 0").is_err());
    }

    #[test]
    fn partitions_and_stacked_devices_are_no_whole_devices() {
        for name in ["sda", "vda", "xvdb", "nvme0n1", "nvme12n3", "mmcblk0", "sdaa"] {
            assert!(is_whole_device(name), "{name}");
        }
        for name in ["sda1", "nvme0n1p2", "mmcblk0p1", "loop0", "dm-0", "md127", "zram0", "sd", ""]
        {
            assert!(!is_whole_device(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", line in "[a-z0-9 \n]{0,100}") {
            let _ = (parse_disks(&text), parse_disks(&line), is_whole_device(&text));
        }
    }
}
