//! The catalogue in itself, and models found by name.

use cotenant_core::gpu::{
    Architecture, Confidence, SKUS, Sku, Spelling, Suffix, Version, candidates, find,
};
use proptest::prelude::*;

fn sku(id: &str) -> &'static Sku {
    SKUS.into_iter().find(|sku| sku.id == id).unwrap_or_else(|| panic!("no model {id}"))
}

#[test]
fn the_catalogue_is_consistent_in_itself() {
    for (index, one) in SKUS.iter().enumerate() {
        assert!(SKUS[..index].iter().all(|other| other.id != one.id), "{} twice", one.id);
        assert_eq!(find(one.id).map(|sku| sku.id), Some(one.id));
        let Some(mig) = one.mig() else { continue };
        for (index, profile) in mig.profiles.iter().enumerate() {
            let at = format!("{} {}", one.id, profile.name);
            let before = &mig.profiles[..index];
            assert!(before.iter().all(|other| other.name != profile.name), "{at} twice");
            assert!(
                profile.id.is_none() || before.iter().all(|other| other.id != profile.id),
                "{at}"
            );
            assert!(profile.compute_slices <= mig.compute_slices, "{at}");
            assert!(profile.instances_max <= mig.instances_max, "{at}");
            assert!(!profile.sources.is_empty(), "{at}");
            assert!(!profile.graphics() || mig.graphics, "{at}");
            let Some(places) = profile.placements else { continue };
            let grid = mig.grid_units.unwrap();
            assert!(places.starts.iter().all(|start| start + places.size <= grid), "{at}");
            // Places that do not overlap are as many as instances, but where a rule allows one.
            let (mut count, mut end) = (0, 0);
            for start in places.starts {
                if *start >= end {
                    (count, end) = (count + 1, start + places.size);
                }
            }
            let is_single = matches!(profile.suffix(), Suffix::Media | Suffix::MediaAll);
            assert_eq!(profile.instances_max, if is_single { 1 } else { count }, "{at}");
        }
        // What a source prints of memory and SMs goes up with the slices.
        for pair in mig.profiles.windows(2).filter(|pair| pair.iter().all(|p| p.sms.is_some())) {
            if pair[0].suffix() == Suffix::None && pair[1].suffix() == Suffix::None {
                assert!(pair[0].sms <= pair[1].sms && pair[0].memory_gib <= pair[1].memory_gib);
            }
        }
    }
}

#[test]
fn memory_is_what_the_driver_prints_and_not_the_name() {
    let memory = |id: &str, name: &str| sku(id).profile(name).unwrap().memory_gib;
    assert_eq!(memory("h200-141", "1g.18gb"), Some(16.0));
    assert_eq!(memory("h200-141", "MIG 7g.141gb"), Some(140.0));
    assert_eq!(memory("h100-94", "1g.12gb"), Some(10.75));
    assert_eq!(memory("b200-180", "1g.23gb"), None);
    let bytes = sku("h100-80-sxm").profile("1g.20gb").unwrap().memory().unwrap();
    // 19.62 is cut from 20096 MiB: what is promised must be there.
    assert!(bytes.0 <= 20_096 << 20 && bytes.0 > 20_080 << 20, "{bytes:?}");
    assert_eq!(sku("l40s").memory_total().map(|bytes| bytes.0), Some(46_068 << 20));
}

#[test]
fn sms_depend_on_the_card_and_not_on_the_profile() {
    let sms = |id: &str| -> Vec<Option<u32>> {
        sku(id).mig().unwrap().profiles.iter().map(|profile| profile.sms).collect()
    };
    assert_eq!(sms("h100-80-sxm"), [16, 16, 26, 32, 60, 64, 132].map(Some));
    assert_eq!(sms("h100-80-pcie"), [14, 14, 14, 30, 46, 62, 114].map(Some));
    assert_eq!(sms("gb300-278"), [None; 7]);
}

#[test]
fn names_as_tools_print_them_are_found() {
    let cases = [
        ("NVIDIA H100 80GB HBM3", "h100-80-sxm"),
        ("NVIDIA H100 PCIe", "h100-80-pcie"),
        ("NVIDIA H100 NVL", "h100-94"),
        ("NVIDIA H100-NVL-94GB", "h100-94"),
        ("NVIDIA H200", "h200-141"),
        ("NVIDIA H200 NVL", "h200-141"),
        ("NVIDIA H200-SXM-141GB", "h200-141"),
        ("NVIDIA H20-3e", "h20-141"),
        ("NVIDIA GH200 480GB", "h100-96"),
        ("NVIDIA GH200 Grace Hopper Superchip 96GB", "h100-96"),
        ("NVIDIA GH200 Grace Hopper Superchip 144GB", "gh200-144"),
        ("NVIDIA GH200 144G HBM3e", "gh200-144"),
        ("NVIDIA A100-SXM4-40GB", "a100-40"),
        ("NVIDIA A100-PCIE-40GB", "a100-40"),
        ("A100-SXM4-80GB", "a100-80"),
        ("NVIDIA A100 80GB PCIe", "a100-80"),
        ("NVIDIA A100-SXM-64GB", "a100-64"),
        ("NVIDIA A800-SXM4-80GB", "a100-80"),
        ("NVIDIA A800 80GB PCIe", "a100-80"),
        ("NVIDIA A100X", "a100-80"),
        ("NVIDIA A30", "a30-24"),
        ("NVIDIA B200", "b200-180"),
        ("NVIDIA B200-SXM-180GB", "b200-180"),
        ("NVIDIA B300 SXM6 AC", "b300-269"),
        ("NVIDIA GB200", "gb200-186"),
        ("nvidia_gb200", "gb200-186"),
        ("NVIDIA GB300", "gb300-278"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-96"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-96"),
        ("NVIDIA RTX PRO 6000 Blackwell", "rtx-pro-6000-96"),
        ("NVIDIA RTX PRO 4500 Blackwell", "rtx-pro-4500-32"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA L40", "l40"),
        ("NVIDIA L4-PCIe-24GB", "l4"),
        ("Tesla T4", "t4"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA A10G", "a10g"),
        ("tesla_v100-sxm3-32gb", "v100-32"),
        ("Tesla V100-SXM2-16GB", "v100-16"),
        ("Tesla P100-PCIE-16GB", "p100-16"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("NVIDIA GeForce RTX 2080 SUPER", "geforce"),
        ("GeForce GTX 1070 Ti", "geforce"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "geforce"),
    ];
    for (text, id) in cases {
        assert_eq!(find(text).map(|sku| sku.id), Some(id), "{text}");
    }
}

#[test]
fn names_as_people_write_them_are_found() {
    let cases = [
        ("H100-SXM5-80GB", "h100-80-sxm"),
        ("h100 sxm5 80 gb", "h100-80-sxm"),
        ("H100SXM5 80GB", "h100-80-sxm"),
        ("NVIDIA H100 Tensor Core GPU (SXM5, 80 GB)", "h100-80-sxm"),
        ("H100 80GB PCIe", "h100-80-pcie"),
        ("H100NVL", "h100-94"),
        ("nvidia_h100_80gb_hbm3", "h100-80-sxm"),
        ("NVIDIA-H100-80GB-HBM3-SHARED", "h100-80-sxm"),
        ("A100 40G", "a100-40"),
        ("RTXPRO6000", "rtx-pro-6000-96"),
        ("RTX PRO 6000 WS", "rtx-pro-6000-96"),
        ("RTX 4090", "rtx-4090"),
        ("rtx3090", "rtx-3090"),
        ("RTX 3080Ti", "geforce"),
        ("RTX PRO 5000 48GB", "rtx-pro-5000-48"),
        ("RTX PRO 5000 Blackwell 72 GB", "rtx-pro-5000-72"),
        ("B200 168GB", "b200-168"),
        ("0x2330", "h100-80-sxm"),
        ("0x233010DE", "h100-80-sxm"),
        ("10de:20b5", "a100-80"),
        ("[10DE:20F1]", "a100-40"),
        ("268410DE", "rtx-4090"),
        ("h100-80-sxm", "h100-80-sxm"),
    ];
    for (text, id) in cases {
        assert_eq!(find(text).map(|sku| sku.id), Some(id), "{text}");
    }
}

#[test]
fn what_may_mean_several_cards_is_not_decided() {
    let cases: [(&str, &[&str]); 10] = [
        ("H100", &["h100-80-sxm", "h100-80-pcie", "h100-94", "h100-64", "h100-96"]),
        ("H100 80GB", &["h100-80-sxm", "h100-80-pcie"]),
        ("H100 SXM5", &["h100-80-sxm", "h100-94", "h100-64", "h100-96"]),
        ("H800", &["h100-80-sxm", "h100-80-pcie"]),
        ("A100", &["a100-40", "a100-80", "a100-64"]),
        ("gpu:a100", &[]),
        ("H20", &["h20-96", "h20-141"]),
        ("V100", &["v100-16", "v100-32"]),
        ("RTX PRO 5000 Blackwell", &["rtx-pro-5000-48", "rtx-pro-5000-72"]),
        ("0x2BB3", &["rtx-pro-5000-48", "rtx-pro-5000-72"]),
    ];
    for (text, ids) in cases {
        let found: Vec<&str> = candidates(text).iter().map(|sku| sku.id).collect();
        assert_eq!(found, ids, "{text}");
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn what_is_not_known_is_found_under_no_other_name() {
    let cases = [
        "",
        "   ",
        "-",
        "none",
        "GPU",
        "NVIDIA",
        "RTX",
        "H1000",
        "H10",
        "A1",
        "A1000",
        "A100 81GB",
        "A100-SXM4-80GB-MIG-1g.10gb",
        "nvidia_a100_1g.5gb",
        "H100 160GB",
        "H100 Ada",
        "RTX 6000",
        "RTX 6000 Ada Generation",
        "Quadro RTX 6000",
        "RTX A6000",
        "rtxa5000",
        "Quadro P2000",
        "RTX 5000",
        "RTX PRO 6000D 48GB",
        "RTX PRO 7000",
        "L40G",
        "L400",
        "T40",
        "B2000",
        "AMD Instinct MI210",
        "mi210",
        "MI300X",
        "TPU v5e",
        "Gaudi 3",
        "Graphics Device",
        "model_a",
        "0x0000",
        "0x20B6",
        "0x23",
        "0xZZZZ",
        "2330",
        "10de:",
        "1002:2330",
        "0x23301002",
        "H100 + A100",
        "A100 H100",
        "GeForce H100",
        "GeForce RTX 4090 A100",
        "é",
    ];
    for text in cases {
        let found: Vec<&str> = candidates(text).iter().map(|sku| sku.id).collect();
        assert!(found.is_empty(), "«{text}» was taken for {found:?}");
    }
}

#[test]
fn the_oldest_driver_is_a_version() {
    let oldest = |id: &str| sku(id).mig().unwrap().driver_version_min();
    assert_eq!(oldest("a100-80"), Some(Version::new(450, 80, 2)));
    assert_eq!(oldest("b300-269"), Some(Version::new(580, 82, 7)));
    assert_eq!(oldest("rtx-pro-4500-32"), Some(Version::new(575, 64, 0)));
    assert_eq!(oldest("gh200-144"), None);
    assert_eq!(oldest("thor-igpu"), None);
}

#[test]
fn confidence_is_ordered_from_seen_to_assumed() {
    use cotenant_core::gpu::layout::confidence;
    assert_eq!(confidence(sku("h200-141"), &["1g.18gb"]), Some(Confidence::Captured));
    assert_eq!(confidence(sku("h200-141"), &["1g.18gb", "4g.71gb"]), Some(Confidence::Derived));
    assert_eq!(confidence(sku("h200-141"), &["9g.1gb"]), None);
    assert!(Architecture::Pascal < Architecture::Ampere);
}

/// Every spelling that the catalogue has, with any of its further words.
fn spelled() -> impl Strategy<Value = (&'static Sku, String)> {
    let spellings: Vec<(&'static Sku, &'static Spelling)> = SKUS
        .into_iter()
        .flat_map(|sku| sku.spellings.iter().map(move |spelling| (sku, spelling)))
        .collect();
    (prop::sample::select(spellings), any::<u32>(), prop::sample::select(vec![" ", "-", "_", "  "]))
        .prop_map(|((sku, spelling), chosen, between)| {
            let is_chosen = |(bit, _): &(usize, &&'static str)| chosen >> (bit % 32) & 1 == 1;
            let also = spelling.also.iter().enumerate().filter(is_chosen).map(|(_, word)| *word);
            let words: Vec<&str> = spelling.all.iter().copied().chain(also).collect();
            (sku, words.join(between))
        })
}

proptest! {
    #[test]
    fn a_spelling_finds_its_card_and_one_strange_word_finds_none(
        (sku, text) in spelled(),
        strange in "[a-z]{2,8}[0-9]{2,6}x",
    ) {
        prop_assert!(candidates(&text).contains(&sku), "{text} is not {}", sku.id);
        prop_assert!(candidates(&text.to_ascii_uppercase()).contains(&sku), "{text}");
        prop_assert!(candidates(&format!("NVIDIA {text} GPU")).contains(&sku), "{text}");
        for text in [format!("{text} {strange}"), format!("{strange} {text}"), format!("{text}{strange}")] {
            prop_assert!(candidates(&text).is_empty(), "{text}: {:?}", candidates(&text));
        }
    }

    #[test]
    fn any_text_is_answered(text in any::<String>(), hex in "[0-9a-fA-Fx:\\[\\]]{0,12}") {
        let _ = (candidates(&text), candidates(&hex), candidates(&format!("{text}10de")));
    }
}
