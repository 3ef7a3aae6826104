//! What real cards list about themselves, beside the catalogue. Each disagreement that is known is
//! named here with its reason; any other fails.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;

use cotenant_core::gpu::{Disagreement, Sku, disagreements, find};
use cotenant_probe::device::mig_listing::{ListedInstance, read_instances, read_profiles};

#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data/4-device-sched").join(path);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "{} is missing", path.display());
    println!("skipped: {} is missing", path.display());
    None
}

/// A listing, the card that printed it as people call it, and the disagreements that are known.
struct Case {
    file: &'static str,
    card: &'static str,
    known: &'static [&'static str],
}

/// Reason of the ones that are known: driver 515 does not have the profile with twice the memory yet,
/// which came with R525.
const OLD_DRIVER: &str = "1g.20gb (id 15): the catalogue has it, the card does not list it";

/// Reason: the listing of places was cut to the profiles that its author looked at.
const CUT: &str = "2g.12gb+me (id 6): the catalogue has it, the card does not list it";

const PROFILES: [Case; 9] = [
    Case {
        file: "a100-pcie-80gb_515.86.01_lgip.txt",
        card: "NVIDIA A100 80GB PCIe",
        known: &[OLD_DRIVER],
    },
    Case { file: "a30_lgip.txt", card: "NVIDIA A30", known: &[] },
    Case { file: "a30_lgipp.txt", card: "NVIDIA A30", known: &[CUT] },
    Case { file: "gh200-96gb_lgip.txt", card: "GH200 96GB", known: &[] },
    Case { file: "h100-nvl-94gb_lgipp.txt", card: "NVIDIA H100 NVL", known: &[] },
    Case { file: "h100-pcie-80gb_570.169_lgip.txt", card: "NVIDIA H100 PCIe", known: &[] },
    Case { file: "h100-sxm-80gb_lgip.txt", card: "NVIDIA H100 80GB HBM3", known: &[] },
    Case {
        file: "rtx-pro-6000-se_lgip.txt",
        card: "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        known: &[],
    },
    Case {
        file: "rtx-pro-6000-se_lgipp.txt",
        card: "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        known: &[],
    },
];

/// Listings of instances, which are compared as to where they stand.
const INSTANCES: [Case; 2] = [
    Case {
        file: "rtx-pro-6000-se_mixed_lgi.txt",
        card: "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        known: &[],
    },
    Case {
        file: "rtx-pro-6000-se_lci.txt",
        card: "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        known: &[],
    },
];

/// Files of the folder that list no places or profiles.
const OTHER: [&str; 4] =
    ["SOURCES.md", "dcgm_mig_metrics.txt", "errors_and_actions.txt", "topo_m_a100_h100_8gpu.txt"];

fn card(name: &str) -> &'static Sku {
    find(name).unwrap_or_else(|| panic!("{name} is not in the catalogue"))
}

#[test]
fn every_listing_agrees_with_the_catalogue_or_the_difference_is_named() {
    let Some(folder) = shared("mig-listings") else { return };
    for case in PROFILES {
        let text = std::fs::read_to_string(folder.join(case.file)).unwrap();
        let listed = read_profiles(&text).unwrap();
        let found: Vec<String> =
            disagreements(card(case.card), &listed).iter().map(Disagreement::to_string).collect();
        assert_eq!(found, case.known, "{}", case.file);
        // Each row was read whole: a listing of profiles has memory, one of places has places.
        let is_of_places = case.file.ends_with("lgipp.txt");
        assert!(listed.iter().all(|row| row.placements.is_some() == is_of_places), "{}", case.file);
        assert!(listed.iter().all(|row| row.sms.is_some() != is_of_places), "{}", case.file);
        assert!(listed.len() >= 4, "{}", case.file);
    }
}

#[test]
fn instances_stand_where_the_catalogue_lets_them() {
    let Some(folder) = shared("mig-listings") else { return };
    for case in INSTANCES {
        let text = std::fs::read_to_string(folder.join(case.file)).unwrap();
        let instances = read_instances(&text).unwrap();
        assert!(instances.len() >= 2, "{}", case.file);
        for instance in instances {
            assert_place(card(case.card), &instance);
        }
    }
}

fn assert_place(sku: &Sku, instance: &ListedInstance) {
    let profile = sku.profile(&instance.name).unwrap();
    if instance.compute_instance.is_some() {
        // A compute instance has slices of its GPU instance, not units of the card's grid.
        assert!(profile.compute_instance_slices().contains(&instance.size), "{instance:?}");
        assert!(instance.start + instance.size <= profile.compute_slices, "{instance:?}");
    } else {
        let places = profile.placements.unwrap();
        assert_eq!(profile.id, Some(instance.profile_id), "{instance:?}");
        assert_eq!(places.size, instance.size, "{instance:?}");
        assert!(places.starts.contains(&instance.start), "{instance:?}");
    }
}

#[test]
fn no_file_of_the_folder_is_forgotten() {
    let Some(folder) = shared("mig-listings") else { return };
    let known: Vec<&str> =
        PROFILES.iter().chain(&INSTANCES).map(|case| case.file).chain(OTHER).collect();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.as_str()), "{name} is in no test");
    }
}

/// Two captures of one card differ in memory. The catalogue follows the first; the second is told.
#[test]
fn the_second_capture_of_the_nvl_card_is_told_as_different() {
    let text = "\
|   0  MIG 1g.12gb       19     7/7       10.75      No     16     1     0   |
|                                                             1     1     0   |
|   0  MIG 2g.24gb       14     3/3       21.50      No     32     2     0   |
|                                                             2     2     0   |
|   0  MIG 3g.47gb        9     2/2       46.12      No     60     3     0   |
|                                                             3     3     0   |
|   0  MIG 7g.94gb        0     1/1       92.62      No     132    7     0   |
|                                                             8     7     1   |
";
    let listed = read_profiles(text).unwrap();
    let found: Vec<String> = disagreements(card("NVIDIA H100 NVL"), &listed)
        .iter()
        .map(ToString::to_string)
        .filter(|text| !text.contains("does not list it"))
        .collect();
    assert_eq!(
        found,
        [
            "2g.24gb (id 14): memory, GiB: the card says 21.50, the catalogue 21.62",
            "3g.47gb (id 9): memory, GiB: the card says 46.12, the catalogue 46.38",
            "7g.94gb (id 0): memory, GiB: the card says 92.62, the catalogue 93.12",
        ]
    );
}

#[test]
fn another_card_with_the_same_profile_names_is_told_apart() {
    let Some(folder) = shared("mig-listings") else { return };
    let text = std::fs::read_to_string(folder.join("h100-sxm-80gb_lgip.txt")).unwrap();
    let listed = read_profiles(&text).unwrap();
    let found = disagreements(card("NVIDIA H100 PCIe"), &listed);
    assert_eq!(found.len(), 7, "the SMs of all seven profiles differ: {found:?}");
    assert!(found.iter().all(|one| one.to_string().contains("SMs: the card says")));
    // A card without MIG explains nothing.
    assert_eq!(disagreements(card("NVIDIA L40S"), &listed).len(), listed.len());
}

/// Real cards by their printed names, with the memory that they print.
#[test]
fn captured_cards_are_found_with_the_memory_that_they_print() {
    let cards = [
        ("netdata_nvidia_smi/a100-sxm4-mig.xml", "a100-40"),
        ("netdata_nvidia_smi/rtx-4090-driver-535.xml", "rtx-4090"),
        ("netdata_nvidia_smi/tesla-p100.xml", "p100-16"),
        ("telegraf/a100-sxm4-v12.xml", "a100-80"),
        ("telegraf/a10g.xml", "a10g"),
        ("telegraf/tesla-t4.xml", "t4"),
        ("telegraf/rtx-3090-v12.xml", "rtx-3090"),
    ];
    for (file, id) in cards {
        let Some(path) = shared(file) else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let name = between(&text, "<product_name>", "<").unwrap();
        let sku = find(name).unwrap_or_else(|| panic!("{name} is unknown"));
        assert_eq!(sku.id, id, "{name}");
        // Under MIG the instances come first, each with a memory of its own.
        let whole = text.rsplit("</mig_devices>").next().unwrap();
        let memory = between(whole, "<fb_memory_usage>", "</total>").unwrap();
        let memory = memory.trim().trim_start_matches("<total>").trim_end_matches("MiB").trim();
        assert_eq!(sku.memory_total_mib, memory.parse().ok(), "{name}");
        let device = between(&text, "<pci_device_id>", "<").unwrap_or_default();
        if !sku.pci.is_empty() && device.ends_with("10DE") {
            assert_eq!(find(device).map(|sku| sku.id), Some(id), "{name} {device}");
        }
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    Some(text.split_once(from)?.1.split_once(to)?.0)
}
