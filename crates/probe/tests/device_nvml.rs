//! The GPUs of a machine through NVML: a double of the driver's library is loaded as the real one would
//! be, and what comes out is held against its description, and against what `nvidia-smi` printed on a
//! real machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Read as _;

use cotenant_core::gpu::{disagreements, find};
use cotenant_probe::device::nvml::{NvmlLibrary, describe};
use cotenant_probe::device::smi::{
    Absence, ClockLimit, DeviceDocument, DeviceReport, Gpu, MigDevice, MigPlacement, Source, read,
};
use cotenant_probe::device::{GpuSampler, GpuWatch};
use nvml_double::{hosts, install};
use serde_json::Value;
use tempfile::TempDir;

/// A library in a folder of its own, which goes with the test.
fn double(host: &str) -> (TempDir, NvmlLibrary) {
    let folder = tempfile::tempdir().unwrap();
    let path = install(folder.path(), host).unwrap();
    (folder, NvmlLibrary::at(path))
}

fn report(host: &str) -> DeviceReport {
    let (_folder, library) = double(host);
    describe(&library.open().unwrap())
}

fn near(seen: &Result<f64, Absence>, wanted: f64) -> bool {
    seen.as_ref().is_ok_and(|seen| (seen - wanted).abs() < 1e-6)
}

#[test]
fn eight_cards_are_what_their_description_says() {
    let report = report(hosts::H100_8);
    let host: Value = serde_json::from_str(hosts::H100_8).unwrap();
    assert_eq!(report.source, Source::Nvml);
    assert_eq!(report.driver.as_deref(), Ok("590.48.01"));
    assert_eq!(report.cuda.as_deref(), Ok("13.1"));
    assert_eq!(report.gpus_attached, Ok(8));
    assert_eq!(report.problems, []);
    let described = host["gpus"].as_array().unwrap();
    assert_eq!(report.gpus.len(), described.len());
    for ((index, gpu), wanted) in (0..).zip(&report.gpus).zip(described) {
        assert_eq!(gpu.index, Ok(index));
        assert_eq!(gpu.uuid.as_deref().ok(), wanted["uuid"].as_str());
        assert_eq!(gpu.bus_id.as_deref().ok(), wanted["bus_id"].as_str());
        let memory = |name: &str| wanted["memory_mib"][name].as_f64().unwrap();
        assert_eq!(gpu.memory.total_mib, Ok(memory("total")));
        assert_eq!(gpu.memory.reserved_mib, Ok(memory("reserved")));
        assert_eq!(gpu.memory.used_mib, Ok(memory("used")));
        assert_eq!(gpu.memory.free_mib, Ok(memory("free")));
        let share = |place: usize| wanted["utilization_percent"][place].as_f64().unwrap();
        assert_eq!(gpu.utilization.gpu_percent, Ok(share(0)));
        assert_eq!(gpu.utilization.memory_percent, Ok(share(1)));
        assert!(near(&gpu.power.draw_w, wanted["power_w"].as_f64().unwrap()));
        assert!(near(&gpu.power.instant_w, wanted["power_instant_w"].as_f64().unwrap()));
        assert_eq!(gpu.temperature.gpu_c, Ok(wanted["temperature_c"].as_f64().unwrap()));
        assert_eq!(gpu.temperature.gpu_margin_c, Ok(wanted["margin_c"].as_f64().unwrap()));
    }
    // One card as a person reads it in the file.
    let gpu = &report.gpus[3];
    assert_eq!(gpu.name.as_deref(), Ok("NVIDIA H100 80GB HBM3"));
    assert_eq!(gpu.uuid.as_deref(), Ok("GPU-00000003-1d4e-4c5a-9b1f-7a0c33d0e813"));
    assert_eq!(gpu.pci_device.as_deref(), Ok("0x233010DE"));
    assert_eq!(gpu.memory.used_mib, Ok(63000.0));
    assert_eq!(gpu.utilization.gpu_percent, Ok(93.0));
    assert_eq!((&gpu.power.draw_w, &gpu.power.average_w), (&Ok(530.0), &Ok(530.0)));
    assert_eq!((&gpu.power.limit_w, &gpu.power.default_limit_w), (&Ok(700.0), &Ok(700.0)));
    assert_eq!((&gpu.power.limit_min_w, &gpu.power.limit_max_w), (&Ok(200.0), &Ok(700.0)));
    assert_eq!((&gpu.clocks.sm_mhz, &gpu.clocks.memory_mhz), (&Ok(1980.0), &Ok(2619.0)));
    assert_eq!((&gpu.clocks.video_mhz, &gpu.clocks.sm_max_mhz), (&Ok(1545.0), &Ok(1980.0)));
    assert_eq!(gpu.performance_state.as_deref(), Ok("P0"));
    assert_eq!(gpu.compute_mode.as_deref(), Ok("Default"));
    assert_eq!(gpu.persistence, Ok(true));
    assert_eq!((&gpu.mig.current, &gpu.mig.pending), (&Ok(false), &Ok(false)));
    assert_eq!(gpu.mig_devices, Ok(Vec::new()));
    assert_eq!(gpu.recovery, Ok(None));
    assert_eq!((&gpu.ecc.corrected, &gpu.ecc.uncorrected), (&Ok(0.0), &Ok(0.0)));
    assert_eq!(gpu.clock_limits.len(), 9);
    assert!(gpu.clock_limits.iter().all(|state| state.is_active == Ok(false)));
    let links = gpu.links.as_ref().unwrap();
    assert_eq!(links.len(), 18);
    assert_eq!(links[17].gigabytes_per_second, Ok(26.562));
}

#[test]
fn switches_join_every_card_with_all_of_its_links() {
    let report = report(hosts::H100_8);
    let topology = report.topology.unwrap();
    assert_eq!(topology.devices.len(), 8);
    for (from, row) in topology.rows.iter().enumerate() {
        for (to, way) in row.links.iter().enumerate() {
            assert_eq!(way, if from == to { "X" } else { "NV18" });
        }
        assert_eq!(row.cpus, Ok(vec![if from < 4 { (0, 55) } else { (56, 111) }]));
        assert_eq!(row.numa.as_deref(), Ok(if from < 4 { "0" } else { "1" }));
        assert_eq!(row.gpu_numa, Err(Absence::NotSupported));
    }
    assert_eq!(topology.nvlinks("GPU0", "GPU7"), Some(18));
}

/// Two cards with a bridge between them, and a third that hangs on another socket.
const BRIDGED: &str = r#"{
  "driver": "550.90.07", "nvml": "12.550.90.07", "cuda": 12040,
  "each": {"name": "NVIDIA A100 80GB PCIe", "pci_device": "0x20B510DE",
           "memory_mib": {"total": 81920, "reserved": 500, "used": 0, "free": 81420}},
  "gpus": [
    {"uuid": "GPU-a", "bus_id": "00000000:17:00.0", "pcie_switch": 1, "numa": 0,
     "nvlink": {"count": 12, "megabytes_per_s": 25000, "to": ["00000000:65:00.0"]}},
    {"uuid": "GPU-b", "bus_id": "00000000:65:00.0", "pcie_switch": 2, "numa": 0,
     "nvlink": {"count": 12, "megabytes_per_s": 25000, "to": ["00000000:17:00.0"]}},
    {"uuid": "GPU-c", "bus_id": "00000000:66:00.0", "pcie_switch": 2, "numa": 0},
    {"uuid": "GPU-d", "bus_id": "00000000:CA:00.0", "numa": 1, "gpu_numa": 9}
  ]
}"#;

#[test]
fn bridges_and_buses_are_told_apart() {
    let report = report(BRIDGED);
    let topology = report.topology.as_ref().unwrap();
    let ways: Vec<Vec<&str>> =
        topology.rows.iter().map(|row| row.links.iter().map(String::as_str).collect()).collect();
    assert_eq!(
        ways,
        [
            ["X", "NV12", "NODE", "SYS"],
            ["NV12", "X", "PIX", "SYS"],
            ["NODE", "PIX", "X", "SYS"],
            ["SYS", "SYS", "SYS", "X"],
        ]
    );
    assert_eq!(topology.rows[3].gpu_numa.as_deref(), Ok("9"));
    // Everything that the description leaves out is not supported, and nothing of it is a zero.
    let gpu = &report.gpus[2];
    assert_eq!(gpu.links, Err(Absence::NotSupported));
    assert_eq!(gpu.utilization.gpu_percent, Err(Absence::NotSupported));
    assert_eq!(gpu.power.draw_w, Err(Absence::NotSupported));
    assert_eq!(gpu.power.instant_w, Err(Absence::NotSupported));
    assert_eq!(gpu.clocks.sm_mhz, Err(Absence::NotSupported));
    assert_eq!(gpu.temperature.gpu_c, Err(Absence::NotSupported));
    assert_eq!(gpu.ecc.corrected, Err(Absence::NotSupported));
    assert_eq!(gpu.mig.current, Err(Absence::NotSupported));
    assert_eq!(gpu.mig_devices, Err(Absence::NotSupported));
    assert!(gpu.clock_limits.iter().all(|one| one.is_active == Err(Absence::NotSupported)));
}

#[test]
fn processes_have_kinds_names_and_memory() {
    let report = report(hosts::H100_8);
    let of = |gpu: usize| {
        let processes = report.gpus[gpu].processes.as_ref().unwrap();
        let row = |one: &cotenant_probe::device::smi::DeviceProcess| {
            (
                one.pid.clone().unwrap(),
                one.kind.clone().unwrap(),
                one.name.clone().map_err(|absence| absence.to_string()),
                one.memory_mib.clone().unwrap(),
            )
        };
        processes.iter().map(row).collect::<Vec<_>>()
    };
    let row = |pid, kind: &str, name: Result<&str, &str>, mib| {
        (pid, kind.to_owned(), name.map(str::to_owned).map_err(str::to_owned), mib)
    };
    assert_eq!(of(1), [row(4101, "C", Ok("/usr/bin/python3"), 60000.0)]);
    assert_eq!(
        of(2),
        [
            row(4200, "C", Ok("nvidia-cuda-mps-server"), 30.0),
            row(4201, "M+C", Ok("python"), 30000.0),
            row(4202, "M+C", Err("no permission"), 28000.0),
        ]
    );
    assert_eq!(
        of(3),
        [row(4300, "C+G", Ok("blender"), 20000.0), row(4301, "G", Ok("/usr/lib/xorg/Xorg"), 12.0),]
    );
    assert_eq!(of(7), []);
}

fn mig(report: &DeviceReport, gpu: usize) -> &[MigDevice] {
    report.gpus[gpu].mig_devices.as_ref().unwrap()
}

#[test]
fn mig_devices_have_profiles_uuids_places_memory_and_multiprocessors() {
    let report = report(hosts::H100_8_MIG);
    assert_eq!(report.problems, []);
    let row = |one: &MigDevice| {
        (
            one.profile.clone().unwrap(),
            one.gpu_instance.clone().unwrap(),
            one.placement.clone().unwrap(),
            one.sms.clone().unwrap(),
            one.memory.total_mib.clone().unwrap(),
            one.memory.used_mib.clone().unwrap(),
        )
    };
    let at = |start, size| MigPlacement { start, size };
    let rows: Vec<_> = mig(&report, 4).iter().map(row).collect();
    let name = str::to_owned;
    assert_eq!(
        rows,
        [
            (name("3g.40gb"), 2, at(4, 4), 60, 40448.0, 11091.0),
            (name("2g.20gb"), 3, at(0, 2), 32, 20096.0, 17.0),
            (name("1g.10gb"), 9, at(2, 1), 16, 9984.0, 9.0),
            (name("1g.10gb"), 10, at(3, 1), 16, 9984.0, 9.0),
        ]
    );
    assert_eq!(mig(&report, 5).len(), 7);
    assert_eq!(mig(&report, 7), []);
    let host: Value = serde_json::from_str(hosts::H100_8_MIG).unwrap();
    for gpu in 4..7 {
        let uuids: Vec<&str> =
            mig(&report, gpu).iter().map(|one| one.uuid.as_deref().unwrap()).collect();
        let described = host["gpus"][gpu]["mig"]["devices"].as_array().unwrap();
        let wanted: Vec<&str> = described.iter().map(|one| one["uuid"].as_str().unwrap()).collect();
        assert_eq!(uuids, wanted);
    }
    let processes = report.gpus[4].processes.as_ref().unwrap();
    assert_eq!((&processes[0].gpu_instance, &processes[0].compute_instance), (&Ok(2), &Ok(0)));
    // A driver has no such number of a card in MIG mode; that of its neighbours is one.
    assert_eq!(report.gpus[4].utilization.gpu_percent, Err(Absence::NotAvailable));
    assert_eq!(report.gpus[0].utilization.gpu_percent, Ok(90.0));
    assert_eq!(report.gpus[4].links, Err(Absence::NotSupported));
    // Switched on and not yet reset.
    assert!(report.gpus[3].mig.is_pending_change());
    assert_eq!(report.gpus[3].mig_devices, Ok(Vec::new()));
}

#[test]
fn what_the_driver_keeps_back_of_mig_is_absent_or_follows_from_the_rest() {
    let report = report(hosts::H100_8_MIG);
    let devices = mig(&report, 6);
    let profiles: Vec<_> = devices.iter().map(|one| one.profile.as_deref().unwrap()).collect();
    // The last one's name does not tell: its multiprocessors and memory are those of one profile alone.
    assert_eq!(profiles, ["1c.3g.40gb", "2c.3g.40gb", "3g.40gb"]);
    let instances: Vec<_> = devices
        .iter()
        .map(|one| (one.gpu_instance.clone(), one.compute_instance.clone()))
        .collect();
    assert_eq!(instances, [(Ok(1), Ok(0)), (Ok(1), Ok(1)), (Ok(2), Ok(0))]);
    assert!(devices.iter().all(|one| one.placement == Err(Absence::NoPermission)));
    assert!(Absence::NoPermission.way_out().unwrap().contains("root"));
}

#[test]
fn profiles_and_placements_of_a_card_agree_with_the_catalogue() {
    let report = report(hosts::H100_8_MIG);
    let profiles = report.gpus[4].mig_profiles.as_ref().unwrap();
    let sku = find(report.gpus[4].name.as_deref().unwrap()).unwrap();
    assert_eq!(sku.id, "h100-80-sxm");
    assert_eq!(disagreements(sku, profiles), []);
    let wanted = profiles.iter().find(|one| one.name.as_deref() == Some("3g.40gb")).unwrap();
    assert_eq!(wanted.placements, Some((vec![0, 4], 4)));
    assert_eq!(profiles[0].placements, Some(((0..7).collect(), 1)));
}

#[test]
fn a_capture_of_a_real_machine_and_the_library_say_the_same() {
    let name = "linux-x86_64__nvidia-h100-mig__590.48.01.txt.gz";
    let root = std::env::var_os("COTENANT_SHARED").map_or_else(
        || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        std::path::PathBuf::from,
    );
    let path = root.join("data/4-device-sched/nvidia-captures").join(name);
    let Ok(bytes) = std::fs::read(&path) else {
        let required = std::env::var("COTENANT_REQUIRE_SHARED").is_ok_and(|value| value == "1");
        assert!(!required, "{} is missing", path.display());
        return skip(&path);
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    let Ok(DeviceDocument::Capture(capture)) = read(&text) else { panic!("{name}") };
    let section = |title: &str| {
        let found = capture.sections.iter().find(|section| section.title == title).unwrap();
        found.content.clone().unwrap()
    };
    let DeviceDocument::Report(mut printed) = section("load :: query (-q)") else { panic!() };
    let DeviceDocument::List(list) = section("capabilities :: list (-L)") else { panic!() };
    printed.join_list(&list);
    let asked = report(hosts::H100_MIG_CAPTURE);
    assert_eq!((&asked.driver, &asked.cuda), (&printed.driver, &printed.cuda));
    same(&asked.gpus[0], &printed.gpus[0]);
    let DeviceDocument::Topologies(matrices) = section("capabilities :: topo -m") else { panic!() };
    let (asked, printed) = (&asked.topology.as_ref().unwrap().rows[0], &matrices[0].rows[0]);
    assert_eq!(
        (&asked.links, &asked.cpus, &asked.numa),
        (&printed.links, &printed.cpus, &printed.numa)
    );
}

#[expect(clippy::print_stdout, reason = "a test that skips says why")]
fn skip(path: &std::path::Path) {
    println!("skipped: {} is missing", path.display());
}

fn same(asked: &Gpu, printed: &Gpu) {
    assert_eq!(asked.index, printed.index);
    assert_eq!(asked.uuid, printed.uuid);
    assert_eq!(asked.name, printed.name);
    assert_eq!(asked.bus_id, printed.bus_id);
    assert_eq!(asked.pci_device, printed.pci_device);
    assert_eq!(asked.memory, printed.memory);
    assert_eq!(asked.utilization, printed.utilization);
    assert_eq!(asked.temperature, printed.temperature);
    assert_eq!(asked.clocks, printed.clocks);
    assert_eq!(asked.performance_state, printed.performance_state);
    assert_eq!(asked.clock_limits, printed.clock_limits);
    assert_eq!(asked.persistence, printed.persistence);
    assert_eq!(asked.compute_mode, printed.compute_mode);
    assert_eq!(asked.mig, printed.mig);
    assert_eq!(asked.ecc, printed.ecc);
    assert_eq!(asked.recovery, printed.recovery);
    // This driver prints the mean and the moment, and no third number.
    assert_eq!(asked.power.draw_w, printed.power.average_w);
    let limits = |gpu: &Gpu| {
        let power = gpu.power.clone();
        [power.average_w, power.instant_w, power.limit_w, power.limit_min_w, power.limit_max_w]
    };
    assert_eq!(limits(asked), limits(printed));
    let (asked_mig, printed_mig) =
        (asked.mig_devices.clone().unwrap(), printed.mig_devices.clone().unwrap());
    assert_eq!(asked_mig.len(), 4);
    for (asked, printed) in asked_mig.iter().zip(&printed_mig) {
        // Where an instance lies is not printed.
        let printed = MigDevice { placement: asked.placement.clone(), ..printed.clone() };
        assert_eq!(*asked, printed);
    }
    let processes = |gpu: &Gpu| {
        let known = |one: &cotenant_probe::device::smi::DeviceProcess| {
            (
                one.pid.clone(),
                one.kind.clone(),
                one.name.clone(),
                one.memory_mib.clone(),
                one.gpu_instance.clone(),
            )
        };
        gpu.processes.as_ref().unwrap().iter().map(known).collect::<Vec<_>>()
    };
    assert_eq!(processes(asked).len(), 3);
    assert_eq!(processes(asked), processes(printed));
}

#[test]
fn a_lost_card_is_there_and_lost() {
    let report = report(hosts::H100_8_FAULTS);
    assert_eq!(report.gpus_attached, Ok(8));
    assert_eq!(report.gpus.len(), 8, "no card is left out");
    // One whose handle is still given, one that gives none.
    for gpu in &report.gpus[..2] {
        assert!(gpu.is_lost());
        assert_eq!(gpu.uuid, Err(Absence::Lost));
        assert_eq!(gpu.memory.used_mib, Err(Absence::Lost));
        assert_eq!(gpu.utilization.gpu_percent, Err(Absence::Lost));
        assert_eq!(gpu.processes, Err(Absence::Lost));
        assert_eq!(gpu.mig_devices, Err(Absence::Lost));
        assert!(gpu.clock_limits.iter().all(|one| one.is_active == Err(Absence::Lost)));
    }
    assert!(!report.gpus[3].is_lost());
    let told: Vec<&str> = report.problems.iter().map(|one| one.message.as_str()).collect();
    assert!(told[0].starts_with("GPU 0: the GPU is lost; look for Xid lines"), "{told:?}");
    assert!(told[1].starts_with("GPU 1: the GPU is lost"), "{told:?}");
    assert!(told[2].starts_with("GPU 2: no permission; run it as a user"), "{told:?}");
    assert_eq!(told.len(), 3, "{told:?}");
    // The others do not suffer.
    let ways = &report.topology.as_ref().unwrap().rows[3].links;
    assert_eq!(ways[0], "N/A");
    assert_eq!(ways[4], "NV18");
}

#[test]
fn a_denied_value_is_absent_alone() {
    let report = report(hosts::H100_8_FAULTS);
    assert_eq!(report.gpus[2].name, Err(Absence::NoPermission));
    let gpu = &report.gpus[3];
    assert_eq!(gpu.power.draw_w, Err(Absence::NoPermission));
    assert_eq!(gpu.power.average_w, Ok(530.0));
    assert_eq!(gpu.processes, Err(Absence::NoPermission));
    assert_eq!(gpu.utilization.gpu_percent, Err(Absence::NotSupported));
    assert_eq!(gpu.memory.total_mib, Ok(81559.0));
    let said = |reading: &Result<f64, Absence>| reading.as_ref().unwrap_err().to_string();
    assert_eq!(
        said(&gpu.temperature.gpu_margin_c),
        "NVML says «the driver is too old to have this call»"
    );
    assert_eq!(said(&gpu.temperature.gpu_c), "NVML says «an internal driver error occurred»");
}

#[test]
fn what_holds_clocks_down_is_named() {
    let report = report(hosts::H100_8_FAULTS);
    let active: Vec<&ClockLimit> = report.gpus[4].active_limits().collect();
    assert_eq!(
        active,
        [
            &ClockLimit::SoftwarePowerCap,
            &ClockLimit::HardwareSlowdown,
            &ClockLimit::HardwareThermal
        ]
    );
    assert_eq!(report.gpus[4].recovery, Ok(Some("Reset".to_owned())));
    assert_eq!(report.gpus[4].ecc.uncorrected, Ok(1.0));
    assert!(report.gpus[4].ecc.mode.is_pending_change());
    assert_eq!(report.gpus[4].temperature.gpu_margin_c, Ok(-4.0));
    // A bit that no name is known for is kept, and stands for no other.
    let active: Vec<&ClockLimit> = report.gpus[5].active_limits().collect();
    assert_eq!(active, [&ClockLimit::Idle, &ClockLimit::Other("0x100000".to_owned())]);
    // A limit that a card cannot tell of is not inactive.
    let state = |limit| report.gpus[6].clock_limits.iter().find(|one| one.limit == limit).unwrap();
    assert_eq!(state(ClockLimit::SoftwarePowerCap).is_active, Ok(false));
    assert_eq!(state(ClockLimit::SoftwareThermal).is_active, Err(Absence::NotSupported));
    // Links that are down are none.
    let links = report.gpus[6].links.as_ref().unwrap();
    assert_eq!(links.iter().filter(|link| link.gigabytes_per_second.is_ok()).count(), 16);
    assert_eq!(report.topology.unwrap().nvlinks("GPU6", "GPU4"), Some(16));
}

#[test]
fn a_library_that_does_not_start_says_why() {
    let missing = NvmlLibrary::at("/nowhere/libnvidia-ml.so.1").open().unwrap_err();
    assert!(missing.reason.contains("/nowhere/libnvidia-ml.so.1"), "{missing}");
    assert!(missing.reason.contains("No such file"), "{missing}");
    let with = |fault: &str| {
        let host =
            BRIDGED.replacen('{', &format!(r#"{{"errors": {{"nvmlInit_v2": "{fault}"}}, "#), 1);
        let (_folder, library) = double(&host);
        library.open().unwrap_err().to_string()
    };
    let unloaded = with("driver_not_loaded");
    assert!(
        unloaded.contains("kernel module is not loaded; load it (`modprobe nvidia`)"),
        "{unloaded}"
    );
    assert!(with("version_mismatch").contains("different versions"));
    assert!(with("no_permission").contains("/dev/nvidiactl"));
}

#[test]
fn samples_hold_what_cards_and_mig_devices_tell() {
    let (_folder, library) = double(hosts::H100_8_MIG);
    let nvml = library.open().unwrap();
    let mut sampler = GpuSampler::new(&nvml).unwrap();
    let mut clock = 0;
    let samples = sampler.sample(|| {
        clock += 5;
        clock
    });
    // Eight cards, and 4 + 7 + 3 MIG devices.
    assert_eq!(samples.len(), 8 + 14);
    let card = &samples[0];
    assert_eq!(card.uuid, "GPU-00000000-1d4e-4c5a-9b1f-7a0c33d0e810");
    assert_eq!((card.at_ns, &card.utilization_share), (5, &Ok(0.9)));
    assert_eq!(card.memory_used_bytes, Ok(60000 << 20));
    assert_eq!((&card.sm_clock_mhz, &card.memory_clock_mhz), (&Ok(1980.0), &Ok(2619.0)));
    assert_eq!((&card.power_w, &card.power_limit_w), (&Ok(500.0), &Ok(700.0)));
    assert_eq!(card.temperature_c, Ok(50.0));
    assert_eq!(card.clocks_limited_by, Ok(Vec::new()));
    let divided = &samples[4];
    let reason = &divided.utilization_share.as_ref().unwrap_err().0;
    assert_eq!(reason, "the driver has no utilisation of a card in MIG mode");
    assert_eq!((divided.at_ns, &divided.power_w), (25, &Ok(540.0)));
    let device = &samples[5];
    assert!(device.uuid.starts_with("MIG-40"));
    assert_eq!((device.at_ns, &device.memory_used_bytes), (25, &Ok(11091 << 20)));
    assert!(device.utilization_share.is_err() && device.power_w.is_err());
}

#[test]
fn a_card_that_is_lost_while_it_is_watched_says_so() {
    let (_folder, library) = double(hosts::H100_8_FAULTS);
    let nvml = library.open().unwrap();
    let mut sampler = GpuSampler::new(&nvml).unwrap();
    let rounds: Vec<_> = (0..200).map(|round| sampler.sample(|| round)).collect();
    let states: Vec<bool> = rounds.iter().map(|round| round[7].power_w.is_ok()).collect();
    assert!(states[0], "it was there in the beginning");
    assert!(states.is_sorted_by(|before, after| before >= after), "what is lost stays lost");
    let last = &rounds[199];
    assert_eq!(last[7].power_w.as_ref().unwrap_err().0, "the GPU is lost");
    assert_eq!(last[7].uuid, "GPU-00000007-1d4e-4c5a-9b1f-7a0c33d0e817");
    // What gives no handle is in every sample under its number.
    assert_eq!(last[1].uuid, "GPU 1");
    assert_eq!(last[1].memory_used_bytes.as_ref().unwrap_err().0, "the GPU is lost");
    let limits = last[4].clocks_limited_by.as_ref().unwrap();
    assert_eq!(limits, &["power cap", "slowdown by hardware", "thermal slowdown by hardware"]);
}

#[test]
fn a_watch_reads_until_it_is_ended() {
    let (_folder, library) = double(hosts::H100_8);
    let every = std::time::Duration::from_millis(1);
    let watched = GpuWatch::start(&library, 0, every).unwrap().finish();
    assert!(watched.samples.len() >= 8);
    assert_eq!(watched.samples.len() % 8, 0, "a round is whole");
    assert!(watched.samples.is_sorted_by_key(|sample| sample.at_ns));
    let missing = NvmlLibrary::at("/nowhere/libnvidia-ml.so.1");
    let reason = GpuWatch::start(&missing, 0, every).unwrap_err();
    assert!(reason.0.contains("cannot be loaded"), "{reason:?}");
}
