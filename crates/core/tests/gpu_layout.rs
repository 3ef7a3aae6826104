//! Layouts: known ones, faults that say why, and properties against a search that tries everything.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use cotenant_core::gpu::layout::{
    CreationOrder, Instance, Placement, creation_order, place_instances, plain_profiles, room,
};
use cotenant_core::gpu::{
    LayoutFault, MigSupport, Profile, SKUS, Sku, Suffix, find, maximal_layouts, place,
};
use proptest::prelude::*;

fn sku(id: &str) -> &'static Sku {
    find(id).unwrap_or_else(|| panic!("no model {id}"))
}

fn starts(places: &[Placement]) -> Vec<u32> {
    places.iter().map(|place| place.start).collect()
}

#[test]
fn layouts_that_are_used_fit() {
    let cases: [(&str, &[&str]); 10] = [
        ("a100-80", &["2g.20gb", "2g.20gb", "2g.20gb", "1g.20gb"]),
        ("a100-80", &["1g.10gb"; 7]),
        ("a100-80", &["3g.40gb", "3g.40gb"]),
        ("a100-80", &["4g.40gb", "3g.40gb"]),
        ("a100-80", &["4g.40gb", "2g.20gb", "1g.10gb"]),
        ("h100-80-sxm", &["1g.20gb"; 4]),
        ("h100-80-sxm", &["1g.10gb+me", "1g.10gb", "2g.20gb", "3g.40gb"]),
        // Seen on a real H20.
        ("h20-96", &["3g.48gb", "1g.24gb", "1g.12gb", "1g.12gb"]),
        ("rtx-pro-6000-96", &["1g.24gb+me.all", "2g.48gb-me", "1g.24gb-me"]),
        ("rtx-pro-6000-96", &["1g.24gb+gfx", "1g.24gb+gfx", "2g.48gb"]),
    ];
    for (id, profiles) in cases {
        let places = place(sku(id), profiles).unwrap_or_else(|fault| panic!("{id}: {fault}"));
        assert_sound(sku(id), &places);
        assert!(places.iter().map(|place| place.profile.name).eq(profiles.iter().copied()));
    }
    assert_eq!(place(sku("a100-80"), &[]), Ok(Vec::new()));
}

#[test]
fn what_does_not_fit_says_which_and_why() {
    let cases: [(&str, &[&str], &str); 12] = [
        (
            "h100-80-sxm",
            &["3g.40gb", "1g.10gb", "4g.40gb"],
            "instance 3: 4g.40gb makes 8 compute slices of 7",
        ),
        (
            "a100-80",
            &["3g.40gb", "3g.40gb", "1g.10gb"],
            "instance 3: 1g.10gb does not fit on the 8 units of the grid: at 0 stands 3g.40gb \
             (0–3), at 1 stands 3g.40gb (0–3), at 2 stands 3g.40gb (0–3), at 3 stands 3g.40gb \
             (0–3), at 4 stands 3g.40gb (4–7), at 5 stands 3g.40gb (4–7), at 6 stands 3g.40gb (4–7)",
        ),
        ("a100-80", &["3g.40gb"; 3], "instance 3: a card holds 2 of 3g.40gb at most"),
        ("a30-24", &["4g.24gb", "1g.6gb"], "instance 2: 1g.6gb makes 5 compute slices of 4"),
        (
            "a30-24",
            &["1g.6gb+me", "2g.12gb+me"],
            "instance 2: 2g.12gb+me beside 1g.6gb+me, but a card has one instance with +me",
        ),
        (
            "h100-80-sxm",
            &["1g.10gb+me", "1g.10gb+me"],
            "instance 2: a card holds 1 of 1g.10gb+me at most",
        ),
        (
            "rtx-pro-6000-96",
            &["1g.24gb+me.all", "1g.24gb"],
            "instance 2: 1g.24gb beside 1g.24gb+me.all, but only -me instances may stand beside +me.all",
        ),
        (
            "rtx-pro-6000-96",
            &["1g.24gb+gfx", "2g.48gb+me.all"],
            "instance 2: 2g.48gb+me.all beside 1g.24gb+gfx, but only -me instances may stand beside +me.all",
        ),
        (
            "a30-24",
            &["1g.5gb"],
            "instance 1: A30 24GB has no profile 1g.5gb; it has 1g.6gb, 1g.6gb+me, 2g.12gb, \
             2g.12gb+me, 4g.24gb",
        ),
        ("l40s", &["1g.10gb"], "L40S has no MIG"),
        (
            "rtx-pro-5000-48",
            &["1g.24gb", "1g.24gb", "1g.24gb"],
            "instance 3: a card holds 2 of 1g.24gb at most",
        ),
        (
            "thor-igpu",
            &["1g.0gb", "1g.0gb+gfx", "1g.0gb+me"],
            "instance 3: a card holds 2 instances at most",
        ),
    ];
    for (id, profiles, message) in cases {
        let fault = place(sku(id), profiles).unwrap_err();
        assert_eq!(fault.to_string(), message, "{id} {profiles:?}");
        assert!(!fault.is_unknown());
    }
}

#[test]
fn what_is_not_known_never_fits() {
    for (id, profiles) in [
        ("rtx-pro-5000-48", &["1g.24gb", "1g.24gb"][..]),
        ("thor-igpu", &["1g.0gb", "1g.0gb+gfx"]),
        ("a100-64", &["1g.8gb"]),
        ("b200-168", &["1g.21gb"]),
        ("a100-64", &[]),
    ] {
        let fault = place(sku(id), profiles).unwrap_err();
        assert!(fault.is_unknown(), "{id}: {fault}");
        assert!(fault.to_string().contains("nvidia-smi mig"), "{fault}");
    }
    assert_eq!(maximal_layouts(sku("thor-igpu")), None);
    assert_eq!(maximal_layouts(sku("a100-64")), None);
    assert_eq!(maximal_layouts(sku("l4")), None);
}

#[test]
fn a_given_place_is_kept_or_refused() {
    let h100 = sku("h100-80-sxm");
    let at = |profile, start| Instance { profile, start: Some(start) };
    let free = |profile| Instance { profile, start: None };
    let places = place_instances(h100, &[free("3g.40gb"), at("3g.40gb", 0)]).unwrap();
    assert_eq!(starts(&places), [4, 0]);
    let fault = place_instances(h100, &[at("2g.20gb", 1)]).unwrap_err();
    assert_eq!(fault.to_string(), "instance 1: 2g.20gb cannot begin at 1, only at 0, 2, 4");
    let fault = place_instances(h100, &[at("1g.10gb", 2), at("2g.20gb", 2)]).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "instance 2: 2g.20gb does not fit on the 8 units of the grid: at 2 stands 1g.10gb (2)"
    );
    // One small instance in the middle keeps the large ones out of its half.
    let fault = place_instances(h100, &[at("1g.10gb", 5), free("3g.40gb"), free("3g.40gb")]);
    assert!(matches!(fault, Err(LayoutFault::NoRoom { instance: 2, .. })), "{fault:?}");
}

#[test]
fn as_many_layouts_as_nvidia_draws() {
    for (id, count) in [("a100-40", 19), ("h100-80-sxm", 19), ("a30-24", 5), ("rtx-pro-6000-96", 5)]
    {
        let layouts = maximal_layouts(sku(id)).unwrap();
        assert_eq!(layouts.len(), count, "{id}");
        for (index, layout) in layouts.iter().enumerate() {
            assert_sound(sku(id), layout);
            assert!(!layouts[..index].contains(layout), "{id}: {layout:?} twice");
            // Nothing can be added.
            for profile in plain_profiles(sku(id)) {
                assert!(room(sku(id), layout, profile.name).is_err(), "{id}: {layout:?}");
            }
        }
    }
}

#[test]
fn the_order_of_creation_can_leave_no_room() {
    let a100 = sku("a100-80");
    let profile = |name: &str| a100.profile(name).unwrap();
    let stands = |name: &str, start| Placement {
        profile: profile(name),
        start,
        size: profile(name).placements.unwrap().size,
    };
    let existing = [stands("1g.10gb", 0), stands("1g.10gb", 4)];
    assert_eq!(room(a100, &existing, "2g.20gb"), Ok(vec![2]));
    let fault = room(a100, &existing, "3g.40gb").unwrap_err();
    assert!(matches!(fault, LayoutFault::Fragmented { instance: 2, .. }), "{fault}");
    assert_eq!(
        fault.to_string(),
        "instance 3: 3g.40gb does not fit beside what is there: at 0 stands 1g.10gb (0), at 4 \
         stands 1g.10gb (4); made anew in another order, all would fit"
    );
    let fault = room(a100, &[stands("3g.40gb", 0), stands("3g.40gb", 4)], "1g.10gb").unwrap_err();
    assert!(matches!(fault, LayoutFault::NoRoom { .. }), "{fault}");
    let fault = room(a100, &existing, "5g.50gb").unwrap_err();
    assert!(matches!(fault, LayoutFault::UnknownProfile { instance: 2, .. }), "{fault}");

    // Small before large: the driver may spoil it. Large before small: it cannot.
    let small_first = creation_order(a100, &["1g.10gb", "1g.10gb", "3g.40gb"]).unwrap();
    let CreationOrder::PlacesNeeded { instance, stuck, places } = small_first else {
        panic!("{small_first:?}");
    };
    assert_eq!((instance, stuck.len(), places.len()), (2, 2, 3));
    assert_sound(a100, &places);
    let large_first = creation_order(a100, &["4g.40gb", "2g.20gb", "1g.10gb"]).unwrap();
    assert_eq!(large_first, CreationOrder::AnyPlace);
    // Even so: 3g at 0 or at 4, and 4g only at 0.
    let order = creation_order(a100, &["3g.40gb", "4g.40gb"]).unwrap();
    assert!(matches!(order, CreationOrder::PlacesNeeded { instance: 1, .. }), "{order:?}");
    assert!(creation_order(a100, &["4g.40gb", "4g.40gb"]).is_err());
}

/// What must hold of any placement.
fn assert_sound(sku: &Sku, places: &[Placement]) {
    let mig = sku.mig().unwrap();
    for (index, place) in places.iter().enumerate() {
        let allowed = place.profile.placements.unwrap();
        assert!(allowed.starts.contains(&place.start), "{place:?}");
        assert_eq!(place.size, allowed.size);
        assert!(place.start + place.size <= mig.grid_units.unwrap(), "{place:?}");
        for other in &places[..index] {
            let apart =
                other.start + other.size <= place.start || place.start + place.size <= other.start;
            assert!(apart, "{place:?} and {other:?}");
        }
    }
    let slices: u32 = places.iter().map(|place| place.profile.compute_slices).sum();
    assert!(slices <= mig.compute_slices && places.len() <= mig.instances_max as usize);
}

/// Whether some places exist, by trying every combination with no cleverness at all.
fn exists(profiles: &[(&'static Profile, Option<u32>)], taken: &mut Vec<bool>) -> bool {
    let Some(((profile, fixed), rest)) = profiles.split_first() else { return true };
    let placements = profile.placements.unwrap();
    placements.starts.iter().filter(|start| fixed.is_none_or(|fixed| fixed == **start)).any(
        |&start| {
            let units = start as usize..(start + placements.size) as usize;
            if taken[units.clone()].contains(&true) {
                return false;
            }
            taken[units.clone()].fill(true);
            let found = exists(rest, taken);
            taken[units].fill(false);
            found
        },
    )
}

/// What the catalogue's rules without the grid allow, written a second time.
fn is_allowed(sku: &Sku, profiles: &[(&'static Profile, Option<u32>)]) -> bool {
    let mig = sku.mig().unwrap();
    let count = |suffix| profiles.iter().filter(|(profile, _)| profile.suffix() == suffix).count();
    let all = count(Suffix::MediaAll);
    let beside_all = all == 0 || all == 1 && count(Suffix::MediaNone) + 1 == profiles.len();
    let slices: u32 = profiles.iter().map(|(profile, _)| profile.compute_slices).sum();
    let few_enough = profiles.iter().all(|(profile, _)| {
        let same = profiles.iter().filter(|(other, _)| other.name == profile.name).count();
        same <= profile.instances_max as usize
    });
    count(Suffix::Media) <= 1
        && beside_all
        && slices <= mig.compute_slices
        && profiles.len() <= mig.instances_max as usize
        && few_enough
}

/// A card whose placements are known, and instances on it, some with a place of their own.
fn question() -> impl Strategy<Value = (&'static Sku, Vec<(&'static Profile, Option<u32>)>)> {
    let cards: Vec<&'static Sku> = SKUS
        .into_iter()
        .filter(|sku| matches!(sku.mig, MigSupport::Yes(mig) if mig.grid_units.is_some()))
        .filter(|sku| !sku.mig().unwrap().profiles.is_empty())
        .collect();
    let picks = prop::collection::vec((any::<prop::sample::Index>(), 0_usize..16), 0..8);
    (prop::sample::select(cards), picks).prop_map(|(sku, picks)| {
        let profiles = sku.mig().unwrap().profiles;
        let instances = picks
            .into_iter()
            .map(|(pick, place)| {
                // Small profiles more often than large ones, or hardly anything would fit.
                let index = pick.index(profiles.len()).min(pick.index(profiles.len() + 3));
                let profile = &profiles[index];
                (profile, profile.placements.unwrap().starts.get(place).copied())
            })
            .collect();
        (sku, instances)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_search_is_sound_and_complete((sku, profiles) in question()) {
        let asked: Vec<Instance<'_>> = profiles
            .iter()
            .map(|(profile, start)| Instance { profile: profile.name, start: *start })
            .collect();
        let grid = sku.mig().unwrap().grid_units.unwrap() as usize;
        let fits = is_allowed(sku, &profiles) && exists(&profiles, &mut vec![false; grid]);
        match place_instances(sku, &asked) {
            Ok(places) => {
                prop_assert!(fits);
                assert_sound(sku, &places);
                for (place, (profile, start)) in places.iter().zip(&profiles) {
                    prop_assert_eq!(place.profile.name, profile.name);
                    prop_assert!(start.is_none_or(|start| start == place.start));
                }
            }
            Err(fault) => {
                prop_assert!(!fits, "{} refuses {asked:?}: {fault}", sku.id);
                prop_assert!(!fault.is_unknown());
                // The instances before the one that is named do fit.
                if let LayoutFault::NoRoom { instance, .. } = fault {
                    prop_assert!(place_instances(sku, &asked[..instance]).is_ok());
                }
            }
        }
    }

    #[test]
    fn where_no_choice_of_the_driver_does_harm_none_is_stuck((sku, profiles) in question()) {
        let names: Vec<&str> = profiles.iter().map(|(profile, _)| profile.name).collect();
        if let Ok(order) = creation_order(sku, &names) {
            // The driver takes the last place that is free, which is not the one that we would take.
            let mut stands: Vec<Placement> = Vec::new();
            for (profile, _) in &profiles {
                match room(sku, &stands, profile.name) {
                    Ok(free) => stands.push(Placement {
                        profile,
                        start: *free.last().unwrap(),
                        size: profile.placements.unwrap().size,
                    }),
                    Err(fault) => {
                        let is_fragmented = matches!(fault, LayoutFault::Fragmented { .. });
                        prop_assert!(is_fragmented, "{fault}");
                        prop_assert!(order != CreationOrder::AnyPlace);
                        break;
                    }
                }
            }
            if let CreationOrder::PlacesNeeded { instance, stuck, .. } = order {
                assert_sound(sku, &stuck);
                prop_assert_eq!(stuck.len(), instance);
                prop_assert!(room(sku, &stuck, names[instance]).is_err());
            }
        }
    }
}
