//! The catalogue beside the collection that it was made of.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;

use cotenant_core::gpu::source::SOURCES;
use cotenant_core::gpu::{MigSupport, Profile, SKUS, Sku, Suffix, candidates, maximal_layouts};
use serde_json::Value;

#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn collection() -> Option<Value> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("facts/mig_catalog.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(error) => {
            let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
            assert!(!required, "{}: {error}", path.display());
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}

fn sku(id: &str) -> &'static Sku {
    SKUS.into_iter().find(|sku| sku.id == id).unwrap_or_else(|| panic!("no model {id}"))
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list in {value}"))
}

fn number(value: &Value, key: &str) -> Option<u32> {
    assert!(value.get(key).is_some(), "no {key} in {value}");
    value[key].as_u64().map(|number| u32::try_from(number).unwrap())
}

/// Texts of a list, without the numbers of the copies that were read.
fn texts(value: &Value, key: &str) -> Vec<String> {
    items(value, key).iter().map(|text| without_copy(text.as_str().unwrap())).collect()
}

fn without_copy(text: &str) -> String {
    match text.split_once(" (stored-index") {
        Some((front, _)) => front.to_owned(),
        None => text.to_owned(),
    }
}

/// Sources are compared by their ids.
fn assert_sources(ours: &[&cotenant_core::gpu::Source], theirs: &Value, at: &str) {
    let ours: Vec<&str> = ours.iter().map(|source| source.id).collect();
    let theirs: Vec<&str> =
        items(theirs, "source").iter().map(|source| source.as_str().unwrap()).collect();
    assert_eq!(ours, theirs, "{at}: sources");
}

#[test]
fn every_value_of_the_collection_is_in_the_catalogue() {
    let Some(collection) = collection() else { return };
    let theirs = items(&collection, "skus");
    let with_mig = SKUS.iter().filter(|sku| matches!(sku.mig, MigSupport::Yes(_))).count();
    assert_eq!(theirs.len(), with_mig);
    for entry in theirs {
        compare_sku(sku(entry["id"].as_str().unwrap()), entry);
    }
    for (id, _) in collection["sources"].as_object().unwrap() {
        assert!(SOURCES.iter().any(|source| source.id == id), "no source {id}");
    }
}

fn compare_sku(ours: &Sku, theirs: &Value) {
    let id = ours.id;
    let mig = ours.mig().unwrap();
    assert_eq!(ours.product, theirs["product"], "{id}");
    let generation = format!("{} {}", ours.architecture.name(), ours.die);
    assert_eq!(generation, theirs["architecture"].as_str().unwrap(), "{id}");
    match ours.compute_capability {
        Some((major, minor)) => {
            assert_eq!(format!("{major}.{minor}"), theirs["compute_capability"], "{id}");
        }
        None => assert!(theirs["compute_capability"].as_str().unwrap().contains("TBD"), "{id}"),
    }
    assert_eq!(ours.memory_gb, number(theirs, "memory_gb_marketing"), "{id}");
    assert_eq!(ours.sms, number(theirs, "sm_total_reported"), "{id}");
    assert_eq!(Some(mig.instances_max), number(theirs, "max_instances"), "{id}");
    assert_eq!(Some(mig.compute_slices), number(theirs, "compute_slices"), "{id}");
    assert_eq!(mig.grid_units, number(theirs, "placement_grid_units"), "{id}");
    assert_eq!(mig.driver_min.unwrap_or("unknown"), theirs["min_driver"], "{id}");
    assert_eq!(Some(mig.graphics), theirs["graphics_on_mig"].as_bool(), "{id}");
    assert_eq!(mig.enabling_resets, theirs["mode_enable_needs_gpu_reset"].as_bool(), "{id}");
    assert_eq!(mig.geometry_basis, theirs["geometry_basis"], "{id}");
    assert_eq!(ours.notes, texts(theirs, "notes"), "{id}");
    assert_eq!(ours.conflicts, texts(theirs, "conflicts"), "{id}");
    assert_sources(ours.sources, theirs, id);
    let boards = items(theirs, "pci_device_ids");
    assert_eq!(ours.pci.len(), boards.len(), "{id}");
    for (ours, theirs) in ours.pci.iter().zip(boards) {
        assert_eq!(format!("0x{:04X}", ours.id), theirs["device"], "{id}");
        assert_eq!(ours.name, theirs["name"], "{id}");
        assert_sources(ours.sources, theirs, id);
    }
    let profiles = items(theirs, "profiles");
    assert_eq!(mig.profiles.len(), profiles.len(), "{id}");
    for (ours, theirs) in mig.profiles.iter().zip(profiles) {
        compare_profile(id, ours, theirs);
    }
}

fn compare_profile(id: &str, ours: &Profile, theirs: &Value) {
    let at = format!("{id} {}", ours.name);
    assert_eq!(ours.name, theirs["name"], "{at}");
    assert_eq!(ours.id, number(theirs, "profile_id"), "{at}");
    assert_eq!(Some(ours.nvml_profile), number(theirs, "nvml_profile_enum"), "{at}");
    assert_eq!(Some(ours.compute_slices), number(theirs, "compute_slices"), "{at}");
    assert_eq!(ours.placements.map(|places| places.size), number(theirs, "placement_size"), "{at}");
    let starts: Option<Vec<u32>> = theirs["placement_starts"]
        .as_array()
        .map(|starts| starts.iter().map(|start| start.as_u64().unwrap() as u32).collect());
    assert_eq!(ours.placements.map(|places| places.starts.to_vec()), starts, "{at}");
    assert_eq!(Some(ours.instances_max), number(theirs, "max_instances"), "{at}");
    assert_eq!(ours.memory_gib, theirs["memory_gib"].as_f64(), "{at}");
    assert_eq!(ours.sms, number(theirs, "sm_count"), "{at}");
    let engines = ours.engines;
    assert_eq!(Some(engines.copy), number(theirs, "copy_engines"), "{at}");
    assert_eq!(Some(engines.decoders), number(theirs, "nvdec"), "{at}");
    assert_eq!(Some(engines.encoders), number(theirs, "nvenc"), "{at}");
    assert_eq!(Some(engines.jpeg), number(theirs, "jpeg"), "{at}");
    assert_eq!(Some(engines.optical_flow), number(theirs, "ofa"), "{at}");
    let attribute = match ours.suffix() {
        Suffix::None => None,
        Suffix::Media => Some("me"),
        Suffix::MediaAll => Some("me.all"),
        Suffix::MediaNone => Some("no-me"),
        Suffix::Graphics => Some("gfx"),
    };
    let attributes = items(theirs, "attributes");
    assert!(attributes.iter().map(|text| text.as_str().unwrap()).eq(attribute), "{at}");
    assert_eq!(Some(ours.graphics()), theirs["graphics"].as_bool(), "{at}");
    let peers = ours.peer_to_peer.map(|can| if can { "Yes" } else { "No" });
    assert_eq!(peers, theirs["p2p_flag"].as_str(), "{at}");
    assert_eq!(ours.confidence.name(), theirs["confidence"], "{at}");
    assert_sources(ours.sources, theirs, &at);
    assert_eq!(ours.note, without_copy(theirs["note"].as_str().unwrap_or("")), "{at}");
    let inside: Vec<u32> = ours.compute_instance_slices().to_vec();
    assert!(inside.contains(&ours.compute_slices), "{at}");
}

#[test]
fn the_collection_counts_the_same_layouts_and_compute_instances() {
    let Some(collection) = collection() else { return };
    let counts = &collection["self_check"]["maximal_layouts_without_suffix_profiles"];
    let counts = counts.as_object().unwrap();
    assert_eq!(counts.len(), 4);
    for (id, count) in counts {
        let layouts = maximal_layouts(sku(id)).unwrap();
        assert_eq!(Some(layouts.len() as u64), count.as_u64(), "{id}");
    }
    let sizes = collection["compute_instance_sizes_by_gpu_instance"].as_object().unwrap();
    for profile in SKUS.iter().filter_map(|sku| sku.mig()).flat_map(|mig| mig.profiles) {
        let Some(theirs) = sizes.get(profile.name.split('.').next().unwrap()) else { continue };
        let theirs: Vec<u32> =
            theirs.as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as u32).collect();
        assert_eq!(profile.compute_instance_slices(), theirs, "{}", profile.name);
    }
}

#[test]
fn cards_without_mig_are_known_as_such() {
    let Some(collection) = collection() else { return };
    let examples = items(&collection, "not_mig_capable_examples");
    assert!(examples.len() >= 11);
    for example in examples {
        let text = example.as_str().unwrap();
        let texts = match text {
            "RTX PRO 4000 Blackwell and lower" => {
                vec!["RTX PRO 4000 Blackwell", "RTX PRO 2000 Blackwell", "RTX PRO 500 Blackwell"]
            }
            "GeForce (all)" => {
                vec!["GeForce RTX 5090", "NVIDIA GeForce RTX 2080 SUPER", "GeForce GTX 1070 Ti"]
            }
            _ if text.starts_with("GB10") => vec!["GB10", "DGX Spark"],
            _ => vec![text],
        };
        for text in texts {
            let found = candidates(text);
            assert!(!found.is_empty(), "{text}");
            assert!(found.iter().all(|sku| sku.mig == MigSupport::No), "{text}");
        }
    }
}
