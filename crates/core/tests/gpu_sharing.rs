//! The rules of sharing: complete, sourced, and as the versions say.

use cotenant_core::gpu::sharing::sources::SHARING_SOURCES;
use cotenant_core::gpu::sharing::{
    Gives, MIG_METRICS, Mechanism, NcclOnMig, Persistence, Principle, RULES, StaticPartitions,
    graphics_on, mig_mode_change, mps_clients_max, nccl_on_mig, rule, sm_chunk_sms,
    static_partitions,
};
use cotenant_core::gpu::{Architecture, SKUS, Version, find};
use cotenant_core::site::IsolationProperty;

const PROPERTIES: [IsolationProperty; 5] = [
    IsolationProperty::MemoryCapacity,
    IsolationProperty::MemoryBandwidth,
    IsolationProperty::Faults,
    IsolationProperty::Sms,
    IsolationProperty::Cpu,
];

fn version(text: &str) -> Option<Version> {
    let version = Version::parse(text);
    assert!(version.is_some(), "{text}");
    version
}

/// The table of the method, a second time: what each mechanism gives of memory capacity, memory
/// bandwidth, faults, SMs and the host's CPUs. `l` stands for «with limits».
#[test]
fn each_mechanism_gives_what_its_guide_says() {
    for (mechanism, gives) in [
        (Mechanism::WholeGpu, "yyyyn"),
        (Mechanism::Mig, "yyyyn"),
        (Mechanism::MpsStatic, "lnnyn"),
        (Mechanism::MpsDefault, "lnnnn"),
        (Mechanism::TimeSlicing, "nnnnn"),
    ] {
        let found: String = PROPERTIES
            .iter()
            .map(|property| match rule(mechanism, *property).gives {
                Gives::Yes => 'y',
                Gives::No => 'n',
                Gives::IfOthersLimited { .. } => 'l',
            })
            .collect();
        assert_eq!(found, gives, "{}", mechanism.name());
    }
}

#[test]
fn the_table_is_whole_and_every_rule_has_its_source() {
    for mechanism in Mechanism::ALL {
        for property in PROPERTIES {
            let asked = |rule: &&cotenant_core::gpu::sharing::Rule| {
                rule.mechanism == mechanism && rule.property == property
            };
            assert_eq!(RULES.iter().filter(asked).count(), 1, "{mechanism:?} {property:?}");
        }
    }
    assert_eq!(RULES.len(), Mechanism::ALL.len() * PROPERTIES.len());
    let is_listed = |id: &str| SHARING_SOURCES.iter().any(|source| source.id == id);
    for rule in &RULES {
        assert!(is_listed(rule.source.id) && !rule.why.is_empty(), "{rule:?}");
    }
    for principle in Principle::ALL {
        let statement = principle.statement();
        assert_eq!(statement.principle, principle);
        assert!(is_listed(statement.source.id) && statement.text.len() > 40, "{statement:?}");
    }
    for metric in MIG_METRICS {
        assert!(is_listed(metric.source.id) && !metric.problem.is_empty(), "{metric:?}");
    }
    assert!(SHARING_SOURCES.iter().all(|source| !source.text.is_empty()));
}

#[test]
fn an_mps_server_takes_as_many_clients_as_its_version() {
    let clients = |architecture, cuda: Option<Version>| {
        mps_clients_max(architecture, cuda).map(|limit| limit.clients)
    };
    assert_eq!(clients(Architecture::Pascal, version("13.1")), Some(16));
    assert_eq!(clients(Architecture::Volta, version("12.4")), Some(48));
    assert_eq!(clients(Architecture::Hopper, version("13.0")), Some(48));
    assert_eq!(clients(Architecture::Hopper, version("13.1")), Some(60));
    assert_eq!(clients(Architecture::Hopper, version("13.10")), Some(60));
    assert_eq!(clients(Architecture::Hopper, None), Some(48));
    assert_eq!(clients(Architecture::Various, version("13.1")), None);
}

#[test]
fn static_partitions_need_ampere_and_cuda_13_1() {
    let possible = |architecture, cuda| static_partitions(architecture, cuda);
    assert_eq!(possible(Architecture::Ampere, version("13.1")), StaticPartitions::Possible);
    for (architecture, cuda) in
        [(Architecture::Turing, version("13.1")), (Architecture::Hopper, version("13.0"))]
    {
        assert!(matches!(possible(architecture, cuda), StaticPartitions::Impossible(_)));
    }
    assert!(matches!(possible(Architecture::Turing, None), StaticPartitions::Impossible(_)));
    assert!(matches!(possible(Architecture::Hopper, None), StaticPartitions::Unknown(_)));
    assert!(matches!(possible(Architecture::Various, None), StaticPartitions::Unknown(_)));
    assert_eq!(sm_chunk_sms("l40s").map(|(sms, _)| sms), Some(4));
    assert_eq!(sm_chunk_sms("h100-96").map(|(sms, _)| sms), Some(8));
    assert_eq!(sm_chunk_sms("h100-80-sxm"), None);
}

#[test]
fn nccl_runs_on_mig_from_2_31_on_and_on_conditions() {
    use Architecture::{Ampere, Blackwell, Hopper};
    let on = |architecture, nccl: Option<Version>, cuda: Option<Version>| {
        nccl_on_mig(architecture, nccl, cuda)
    };
    let refused = |answer| matches!(answer, NcclOnMig::NotSupported(_));
    assert!(refused(on(Hopper, version("2.30.7"), version("13.1"))));
    assert!(refused(on(Hopper, version("2.9"), None)));
    assert!(refused(on(Hopper, version("2.31"), version("12.9"))));
    assert!(refused(on(Hopper, None, version("12.9"))));
    assert!(refused(on(Ampere, version("2.31"), version("13.0"))));
    assert!(matches!(on(Hopper, None, version("13.0")), NcclOnMig::Unknown(_)));
    for cuda in [None, version("13.0")] {
        let NcclOnMig::Experimental(conditions) = on(Blackwell, version("2.32.1"), cuda) else {
            panic!("{:?}", on(Blackwell, version("2.32.1"), cuda));
        };
        for part in ["CUDA 13.0", "NCCL_MNNVL_ENABLE=0", "NCCL_MULTI_RANK_GPU_ENABLE", "NVLS"] {
            assert!(conditions.iter().any(|text| text.contains(part)), "{part}");
        }
    }
}

#[test]
fn the_mode_of_ampere_lasts_and_that_of_hopper_does_not() {
    let change = |id: &str| mig_mode_change(find(id).unwrap());
    let a100 = change("a100-80").unwrap();
    assert_eq!((a100.resets, a100.persistence), (Some(true), Persistence::UntilDisabled));
    for id in ["h100-80-sxm", "h200-141", "b200-180", "rtx-pro-6000-96"] {
        let hopper = change(id).unwrap();
        assert_eq!(
            (hopper.resets, hopper.persistence),
            (Some(false), Persistence::WhileDriverLoaded),
            "{id}"
        );
    }
    let thor = change("thor-igpu").unwrap();
    assert_eq!((thor.resets, thor.persistence), (None, Persistence::Unknown));
    assert_eq!(change("l40s"), None);
    assert_eq!(change("b200-168"), None);
}

#[test]
fn graphics_run_in_gfx_instances_alone() {
    for sku in SKUS {
        let Some(mig) = sku.mig() else { continue };
        let drawing: Vec<&str> = mig
            .profiles
            .iter()
            .filter(|profile| graphics_on(profile).0)
            .map(|profile| profile.name)
            .collect();
        assert_eq!(!drawing.is_empty(), mig.graphics, "{}", sku.id);
        assert!(drawing.iter().all(|name| name.ends_with("+gfx")), "{drawing:?}");
    }
}
