//! Scrapes of DCGM's exporter, against what a person reads in them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;

use cotenant_probe::device::dcgm::{DcgmCard, cards};
use cotenant_probe::device::smi::{Absence, DeviceDocument, Problem, read};
use cotenant_probe::exposition::{Format, Strictness, parse};

#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn shared(path: &str) -> Option<Vec<u8>> {
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data/3-metrics/dcgm").join(path);
    if path.exists() {
        return Some(std::fs::read(path).unwrap());
    }
    let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "{} is missing", path.display());
    println!("skipped: {} is missing", path.display());
    None
}

fn of(bytes: &[u8]) -> (Vec<DcgmCard>, Vec<Problem>) {
    cards(&parse(bytes, Format::Prometheus, Strictness::Lenient).unwrap())
}

#[test]
fn instances_of_one_card_are_told_apart_and_its_power_is_counted_once() {
    let Some(bytes) = shared("runai_lt2.9__mig__metrics__4_Active_Workloads.prom") else { return };
    let (cards, problems) = of(&bytes);
    assert_eq!((cards.len(), problems.len()), (1, 0), "{problems:?}");
    let card = &cards[0];
    assert_eq!(card.uuid, "GPU-473571f2-fb37-ef7e-50fe-9885b74a23cd");
    assert_eq!(card.model.as_deref(), Ok("NVIDIA A100-SXM4-40GB"));
    assert_eq!((&card.power_w, &card.gpu_c, &card.memory_c), (&Ok(112.252), &Ok(35.0), &Ok(36.0)));
    assert_eq!(card.utilization_percent, Err(Absence::NotPrinted), "there is none under MIG");
    let seen: Vec<_> = card
        .instances
        .iter()
        .map(|one| {
            (
                one.gpu_instance,
                one.profile.clone().unwrap(),
                one.usage.memory_free_mib.clone().unwrap(),
            )
        })
        .collect();
    let named = |id, name: &str, free| (id, name.to_owned(), free);
    assert_eq!(seen[0], named(7, "1g.5gb", 4857.0));
    assert_eq!(seen[3], named(5, "2g.10gb", 9843.0));
    assert_eq!(seen.len(), 4);
    assert_eq!(card.instances[3].usage.memory_used_mib, Ok(13.0));
}

#[test]
fn whole_cards_are_told_apart_by_their_uuid() {
    let Some(bytes) = shared("runai_lt2.9__fraction__metrics__1_workload.prom") else { return };
    let (cards, _) = of(&bytes);
    assert_eq!(cards.len(), 2);
    assert_eq!((&cards[0].index, &cards[1].index), (&Ok(0), &Ok(1)));
    assert_eq!((&cards[0].power_w, &cards[1].power_w), (&Ok(28.722), &Ok(17.035)));
    assert_eq!(
        (&cards[0].usage.memory_used_mib, &cards[1].usage.memory_used_mib),
        (&Ok(128.0), &Ok(5.0))
    );
    assert_eq!(cards[0].utilization_percent, Ok(0.0));
    assert!(cards.iter().all(|card| card.instances.is_empty()));
}

#[test]
fn blank_values_are_absent_and_utilisation_of_an_instance_is_not_taken() {
    let Some(bytes) = shared("netdata_metrics_valid.prom") else { return };
    let (cards, _) = of(&bytes);
    assert_eq!(cards[0].memory_c, Err(Absence::NotAvailable));
    assert_eq!(cards[0].instances[0].gpu_instance, 2);
    assert!(cards[0].instances[0].usage.engine_active.is_err());
    assert_ne!(cards[0].utilization_percent, Ok(60.0), "60 stands on the row of the instance");
}

const SCRAPE: &str = "\
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"3\",GPU_I_PROFILE=\"1g.10gb\"} 300
DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"4\",GPU_I_PROFILE=\"1g.10gb\"} 301
DCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 100
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"3\",GPU_I_PROFILE=\"1g.10gb\"} 0.5
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"4\",GPU_I_PROFILE=\"1g.10gb\"} 140737488355330
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"x\"} 0.7
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",GPU_I_ID=\"3\",GPU_I_PROFILE=\"1g.10gb\",job=\"b\"} 0.6
";

#[test]
fn rows_that_contradict_or_name_nothing_are_told_with_their_line() {
    let (cards, problems) = of(SCRAPE.as_bytes());
    assert_eq!((cards.len(), &cards[0].power_w), (1, &Ok(300.0)));
    let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [4, 8, 9], "{problems:?}");
    assert_eq!(cards[0].instances[1].usage.engine_active, Err(Absence::NotAvailable));
}

#[test]
fn instances_join_the_mig_devices_of_their_parent() {
    let text = "<nvidia_smi_log><gpu id=\"0\"><uuid>GPU-1</uuid><mig_devices>\
        <mig_device><index>0</index><gpu_instance_id>4</gpu_instance_id></mig_device>\
        <mig_device><index>1</index><gpu_instance_id>3</gpu_instance_id></mig_device>\
        <mig_device><index>2</index><gpu_instance_id>9</gpu_instance_id></mig_device>\
        </mig_devices></gpu></nvidia_smi_log>";
    let DeviceDocument::Report(report) = read(text).unwrap() else { panic!() };
    let (cards, _) = of(SCRAPE.as_bytes());
    let joined: Vec<_> = cards[0]
        .join(&report.gpus[0])
        .into_iter()
        .map(|(device, instance)| {
            (device.index.clone().unwrap(), instance.usage.engine_active.clone())
        })
        .collect();
    assert_eq!(joined, [(0, Err(Absence::NotAvailable)), (1, Ok(0.5))]);
    let other = text.replace("GPU-1", "GPU-2");
    let DeviceDocument::Report(other) = read(&other).unwrap() else { panic!() };
    assert!(cards[0].join(&other.gpus[0]).is_empty());
}
