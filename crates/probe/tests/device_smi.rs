//! What `nvidia-smi` printed on real machines, against what a person reads in the files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

use cotenant_probe::device::smi::{
    Absence, Capture, ClockLimit, DeviceDocument, DeviceError, DeviceReport, Gpu, Monitor, Source,
    read,
};

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

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|one| one == "gz") {
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        return text;
    }
    String::from_utf8(bytes).unwrap()
}

fn document(path: &str) -> Option<Result<DeviceDocument, DeviceError>> {
    Some(read(&text(&shared(path)?)))
}

fn report(path: &str) -> Option<DeviceReport> {
    match document(path)?.unwrap() {
        DeviceDocument::Report(report) => Some(report),
        other => panic!("{path}: {other:?}"),
    }
}

fn capture(name: &str) -> Option<Capture> {
    match document(&format!("nvidia-captures/{name}.txt.gz"))?.unwrap() {
        DeviceDocument::Capture(capture) => Some(capture),
        other => panic!("{name}: {other:?}"),
    }
}

fn section<'a>(capture: &'a Capture, title: &str) -> &'a DeviceDocument {
    let found = capture.sections.iter().find(|section| section.title == title).unwrap();
    found.content.as_ref().unwrap()
}

fn section_report<'a>(capture: &'a Capture, title: &str) -> &'a DeviceReport {
    match section(capture, title) {
        DeviceDocument::Report(report) => report,
        other => panic!("{title}: {other:?}"),
    }
}

const H100: &str = "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01";
const H100_MIG: &str = "linux-x86_64__nvidia-h100-mig__590.48.01";
const H200: &str = "linux-x86_64__nvidia-h200__590.48.01";
const L40S: &str = "linux-x86_64__nvidia-l40s__595.80";
const WINDOWS: &str = "windows-x86_64__nvidia-geforce-rtx-2080-super__610.62";

const NOT_AVAILABLE: Absence = Absence::NotAvailable;

/// One XML document: driver, CUDA, name, memory (total, used), utilisation, temperature, limit, SM clock,
/// processes, MIG devices.
struct Xml {
    file: &'static str,
    schema: Option<&'static str>,
    driver: &'static str,
    cuda: &'static str,
    name: &'static str,
    memory_mib: (f64, f64),
    utilization: Result<f64, Absence>,
    gpu_c: f64,
    power_w: Result<f64, Absence>,
    limit_w: Result<f64, Absence>,
    sm_mhz: f64,
    processes: usize,
    mig_devices: Option<usize>,
}

#[rustfmt::skip]
fn documents() -> [Xml; 13] {
    let none = Err(NOT_AVAILABLE);
    let missing = Err(Absence::NotPrinted);
    let (v11, v12, v13) = (Some("nvsmi_device_v11"), Some("nvsmi_device_v12"), Some("nvsmi_device_v13"));
    [
        Xml { file: "netdata_nvidia_smi/a100-sxm4-mig.xml", schema: v11, driver: "510.47.03", cuda: "11.6", name: "NVIDIA A100-SXM4-40GB", memory_mib: (40960.0, 38.0), utilization: none.clone(), gpu_c: 36.0, power_w: Ok(66.92), limit_w: Ok(400.0), sm_mhz: 1410.0, processes: 0, mig_devices: Some(2) },
        Xml { file: "netdata_nvidia_smi/rtx-2080-win.xml", schema: v11, driver: "516.59", cuda: "11.7", name: "NVIDIA GeForce RTX 2080", memory_mib: (8192.0, 862.0), utilization: Ok(2.0), gpu_c: 29.0, power_w: Ok(14.5), limit_w: Ok(275.0), sm_mhz: 193.0, processes: 26, mig_devices: None },
        Xml { file: "netdata_nvidia_smi/rtx-4090-driver-535.xml", schema: v12, driver: "535.86.05", cuda: "12.2", name: "NVIDIA GeForce RTX 4090", memory_mib: (24564.0, 2.0), utilization: Ok(0.0), gpu_c: 40.0, power_w: Ok(26.84), limit_w: Ok(450.0), sm_mhz: 210.0, processes: 0, mig_devices: None },
        Xml { file: "netdata_nvidia_smi/tesla-p100.xml", schema: v11, driver: "510.47.03", cuda: "11.6", name: "Tesla P100-PCIE-16GB", memory_mib: (16384.0, 0.0), utilization: Ok(0.0), gpu_c: 38.0, power_w: Ok(26.16), limit_w: Ok(250.0), sm_mhz: 405.0, processes: 0, mig_devices: None },
        Xml { file: "telegraf/a100-sxm4-v12.xml", schema: v12, driver: "535.54.03", cuda: "12.2", name: "NVIDIA A100-SXM4-80GB", memory_mib: (81920.0, 50.0), utilization: none.clone(), gpu_c: 27.0, power_w: Ok(67.03), limit_w: Ok(500.0), sm_mhz: 1275.0, processes: 0, mig_devices: Some(4) },
        Xml { file: "telegraf/a10g.xml", schema: v11, driver: "515.105.01", cuda: "11.7", name: "NVIDIA A10G", memory_mib: (23028.0, 22.0), utilization: Ok(0.0), gpu_c: 17.0, power_w: Ok(25.58), limit_w: Ok(300.0), sm_mhz: 210.0, processes: 1, mig_devices: None },
        Xml { file: "telegraf/gtx-1660-ti.xml", schema: None, driver: "418.43", cuda: "10.1", name: "Graphics Device", memory_mib: (5912.0, 0.0), utilization: Ok(0.0), gpu_c: 40.0, power_w: Ok(8.93), limit_w: Ok(130.0), sm_mhz: 300.0, processes: 0, mig_devices: None },
        Xml { file: "telegraf/quadro-p2000-v12.xml", schema: v12, driver: "525.125.06", cuda: "12.0", name: "Quadro P2000", memory_mib: (5120.0, 1.0), utilization: Ok(0.0), gpu_c: 34.0, power_w: Ok(4.61), limit_w: Ok(75.0), sm_mhz: 139.0, processes: 0, mig_devices: None },
        Xml { file: "telegraf/quadro-p400.xml", schema: None, driver: "418.43", cuda: "10.1", name: "Quadro P400", memory_mib: (1998.0, 0.0), utilization: Ok(0.0), gpu_c: 33.0, power_w: none.clone(), limit_w: none, sm_mhz: 139.0, processes: 0, mig_devices: None },
        Xml { file: "telegraf/rtx-3060-v12.xml", schema: v12, driver: "570.124.04", cuda: "12.8", name: "NVIDIA GeForce RTX 3060", memory_mib: (12288.0, 116.0), utilization: Ok(0.0), gpu_c: 42.0, power_w: missing.clone(), limit_w: Ok(170.0), sm_mhz: 210.0, processes: 0, mig_devices: None },
        Xml { file: "telegraf/rtx-3080-v13.xml", schema: v13, driver: "595.58.03", cuda: "13.2", name: "NVIDIA GeForce RTX 3080", memory_mib: (10240.0, 9184.0), utilization: Ok(65.0), gpu_c: 27.0, power_w: missing, limit_w: Ok(320.0), sm_mhz: 1950.0, processes: 0, mig_devices: None },
        Xml { file: "telegraf/rtx-3090-v12.xml", schema: v12, driver: "525.147.05", cuda: "12.0", name: "NVIDIA GeForce RTX 3090", memory_mib: (24576.0, 1.0), utilization: Ok(0.0), gpu_c: 37.0, power_w: Ok(27.23), limit_w: Ok(200.0), sm_mhz: 0.0, processes: 0, mig_devices: None },
        Xml { file: "telegraf/tesla-t4.xml", schema: v11, driver: "515.105.01", cuda: "11.7", name: "Tesla T4", memory_mib: (15360.0, 1032.0), utilization: Ok(0.0), gpu_c: 40.0, power_w: Ok(26.78), limit_w: Ok(70.0), sm_mhz: 585.0, processes: 2, mig_devices: None },
    ]
}

#[test]
fn documents_of_every_schema_say_what_a_person_reads() {
    for wanted in documents() {
        let Some(report) = report(wanted.file) else { return };
        let file = wanted.file;
        let schema = wanted.schema.map(str::to_owned);
        assert_eq!(report.source, Source::Xml { schema }, "{file}");
        assert_eq!(report.driver.as_deref(), Ok(wanted.driver), "{file}");
        assert_eq!(report.cuda.as_deref(), Ok(wanted.cuda), "{file}");
        let gpu = &report.gpus[0];
        assert_eq!(gpu.name.as_deref(), Ok(wanted.name), "{file}");
        assert!(gpu.uuid.as_ref().unwrap().starts_with("GPU-"), "{file}");
        assert_eq!(gpu.memory.total_mib, Ok(wanted.memory_mib.0), "{file}");
        assert_eq!(gpu.memory.used_mib, Ok(wanted.memory_mib.1), "{file}");
        assert_eq!(gpu.utilization.gpu_percent, wanted.utilization, "{file}");
        assert_eq!(gpu.temperature.gpu_c, Ok(wanted.gpu_c), "{file}");
        assert_eq!(gpu.power.draw_w, wanted.power_w, "{file}");
        assert_eq!(gpu.power.limit_w, wanted.limit_w, "{file}");
        assert_eq!(gpu.clocks.sm_mhz, Ok(wanted.sm_mhz), "{file}");
        assert_eq!(gpu.processes.as_ref().map(Vec::len), Ok(wanted.processes), "{file}");
        let devices = gpu.mig_devices.as_ref().ok().map(Vec::len);
        assert_eq!(devices.filter(|count| *count > 0), wanted.mig_devices, "{file}");
        assert!(!gpu.clock_limits.is_empty(), "{file}");
    }
}

#[test]
fn mig_devices_of_a_document_have_instances_memory_and_multiprocessors() {
    let Some(report) = report("telegraf/a100-sxm4-v12.xml") else { return };
    let gpu = &report.gpus[0];
    assert_eq!((&gpu.mig.current, &gpu.mig.pending), (&Ok(true), &Ok(true)));
    let devices = gpu.mig_devices.as_ref().unwrap();
    let instances: Vec<_> = devices.iter().map(|one| one.gpu_instance.clone().unwrap()).collect();
    assert_eq!(instances, [3, 4, 5, 6]);
    for device in devices {
        assert_eq!(device.sms, Ok(14));
        assert_eq!(device.memory.total_mib, Ok(19968.0));
        assert_eq!(device.memory.free_mib, Ok(19955.0));
        assert_eq!(device.profile, Err(Absence::NotPrinted), "only a listing names it");
    }
    // Four GPUs are attached, and the file keeps one.
    assert_eq!(report.gpus_attached, Ok(4));
    assert!(report.problems[0].message.starts_with("4 GPUs are attached and 1 described"));
    assert_eq!(report.problems[0].line, 7);
}

#[test]
fn documents_without_most_fields_have_absences_and_no_zeros() {
    let Some(old) = report("telegraf/gtx-1070-ti.xml") else { return };
    assert_eq!(old.driver, Err(Absence::NotPrinted));
    let gpu = &old.gpus[0];
    assert_eq!(gpu.memory.total_mib, Ok(4096.0));
    assert_eq!(gpu.memory.reserved_mib, Err(Absence::NotPrinted));
    assert_eq!(gpu.power.draw_w, Err(NOT_AVAILABLE));
    assert_eq!(gpu.processes, Err(Absence::NotPrinted));
    assert_eq!(gpu.mig_devices, Err(Absence::NotPrinted));
    let Some(stub) = report("netdata_nvidia_smi/rtx-pro-6000-driver-580.xml") else { return };
    let gpu = &stub.gpus[0];
    assert_eq!(gpu.bus_id.as_deref(), Ok("00000000:01:00.0"));
    assert_eq!(gpu.temperature.gpu_c, Ok(37.0));
    assert_eq!(gpu.temperature.gpu_margin_c, Ok(56.0));
    assert_eq!(gpu.power.average_w, Err(NOT_AVAILABLE));
    assert_eq!(gpu.power.instant_w, Ok(66.84));
    assert_eq!(gpu.memory.total_mib, Err(Absence::NotPrinted));
}

#[test]
fn power_of_newer_drivers_is_a_mean_and_a_moment() {
    let Some(report) = report("telegraf/rtx-3080-v13.xml") else { return };
    let power = &report.gpus[0].power;
    assert_eq!((&power.average_w, &power.instant_w), (&Ok(139.62), &Ok(142.33)));
}

/// One host of `-q` texts: GPUs, driver, name and memory (total, reserved, used) of the first, its
/// temperature, power, SM clock.
type Host = (&'static str, usize, &'static str, &'static str, [f64; 3], [f64; 3]);

const HOSTS: [Host; 5] = [
    (
        "535.129.03.out.0.valid.a10",
        1,
        "535.129.03",
        "NVIDIA A10",
        [23028.0, 512.0, 4.0],
        [33.0, 43.89, 225.0],
    ),
    (
        "535.154.05.out.0.valid.4090",
        8,
        "535.154.05",
        "NVIDIA GeForce RTX 4090",
        [24564.0, 346.0, 6730.0],
        [31.0, 17.11, 210.0],
    ),
    (
        "535.154.05.out.1.valid",
        8,
        "535.154.05",
        "NVIDIA GeForce RTX 4090",
        [24564.0, 346.0, 0.0],
        [30.0, 18.90, 210.0],
    ),
    (
        "535.161.08.out.0.valid",
        8,
        "535.161.08",
        "NVIDIA H100 80GB HBM3",
        [81559.0, 551.0, 0.0],
        [29.0, 67.74, 86.0],
    ),
    (
        "535.183.01.out.0.valid",
        8,
        "535.183.01",
        "NVIDIA H100 80GB HBM3",
        [81559.0, 551.0, 0.0],
        [36.0, 71.97, 345.0],
    ),
];

#[test]
fn hosts_of_eight_gpus_are_read_from_text() {
    for (file, gpus, driver, name, memory_mib, now) in HOSTS {
        let path = format!("gpud/nvidia-smi-query.{file}.txt");
        let Some(report) = report(&path) else { return };
        assert_eq!(report.source, Source::Query);
        assert_eq!((report.gpus.len(), &report.gpus_attached), (gpus, &Ok(gpus as u32)), "{file}");
        assert_eq!(report.driver.as_deref(), Ok(driver), "{file}");
        assert_eq!(report.cuda.as_deref(), Ok("12.2"), "{file}");
        assert_eq!(report.problems, [], "{file}");
        let gpu = &report.gpus[0];
        assert_eq!(gpu.name.as_deref(), Ok(name), "{file}");
        let memory = [&gpu.memory.total_mib, &gpu.memory.reserved_mib, &gpu.memory.used_mib];
        assert_eq!(memory.map(|one| one.clone().unwrap()), memory_mib, "{file}");
        let seen = [&gpu.temperature.gpu_c, &gpu.power.draw_w, &gpu.clocks.sm_mhz];
        assert_eq!(seen.map(|one| one.clone().unwrap()), now, "{file}");
        assert_eq!(gpu.ecc.mode.current, Ok(!name.contains("4090")), "{file}");
        let uuids: std::collections::BTreeSet<_> =
            report.gpus.iter().map(|gpu| gpu.uuid.clone().unwrap()).collect();
        assert_eq!(uuids.len(), gpus, "{file}");
    }
}

#[test]
fn limits_of_clocks_below_a_slowdown_are_found() {
    let Some(report) = report("gpud/nvidia-smi-query.535.161.08.out.0.valid.txt") else { return };
    let first: Vec<_> = report.gpus[0].active_limits().cloned().collect();
    assert_eq!(first, [ClockLimit::HardwareSlowdown, ClockLimit::HardwarePowerBrake]);
    assert_eq!(report.gpus[0].recovery, Ok(None));
    assert_eq!(report.gpus[0].persistence, Ok(true));
}

#[test]
fn a_broken_name_stands_for_no_other_and_a_cut_text_is_told() {
    let path = "gpud/nvidia-smi-query.535.183.01.out.0.invalid.txt";
    let Some(report) = report(path) else { return };
    let gpu = &report.gpus[0];
    assert_eq!(gpu.uuid.as_deref(), Ok("GPU-566e6f65-c38e-b12f-4824-6944218668b9"));
    let limits: Vec<_> = gpu.clock_limits.iter().map(|state| state.limit.clone()).collect();
    assert!(limits.contains(&ClockLimit::Other("Invalid HW Slowdown".to_owned())));
    assert!(!limits.contains(&ClockLimit::HardwareSlowdown));
    assert_eq!(gpu.memory.used_mib, Err(Absence::NotPrinted));
    assert_eq!(gpu.processes, Err(Absence::NotPrinted));
    let lines: Vec<_> = report.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [86, 87, 88, 7], "{:?}", report.problems);
    assert!(report.problems[3].message.starts_with("8 GPUs are attached and 1 described"));
}

/// What the loaded section of a capture says.
struct Loaded {
    name: &'static str,
    driver: &'static str,
    cuda: &'static str,
    gpu: &'static str,
    memory_mib: [f64; 3],
    utilization: Result<f64, Absence>,
    average_w: Result<f64, Absence>,
    instant_w: f64,
    processes: usize,
    persistence: Result<bool, Absence>,
}

#[rustfmt::skip]
fn loaded() -> [Loaded; 5] {
    [
        Loaded { name: H100, driver: "590.48.01", cuda: "13.1", gpu: "NVIDIA H100 80GB HBM3", memory_mib: [81559.0, 479.0, 19818.0], utilization: Ok(100.0), average_w: Ok(629.45), instant_w: 588.39, processes: 3, persistence: Ok(true) },
        Loaded { name: H100_MIG, driver: "590.48.01", cuda: "13.1", gpu: "NVIDIA H100 80GB HBM3", memory_mib: [81559.0, 479.0, 11125.0], utilization: Err(NOT_AVAILABLE), average_w: Ok(432.21), instant_w: 444.72, processes: 3, persistence: Ok(true) },
        Loaded { name: H200, driver: "590.48.01", cuda: "13.1", gpu: "NVIDIA H200", memory_mib: [143_771.0, 614.0, 32362.0], utilization: Ok(100.0), average_w: Ok(627.32), instant_w: 625.24, processes: 3, persistence: Ok(true) },
        Loaded { name: L40S, driver: "595.80", cuda: "13.2", gpu: "NVIDIA L40S", memory_mib: [46068.0, 609.0, 1235.0], utilization: Ok(9.0), average_w: Ok(110.24), instant_w: 110.01, processes: 2, persistence: Ok(false) },
        Loaded { name: WINDOWS, driver: "610.62", cuda: "13.3", gpu: "NVIDIA GeForce RTX 2080 SUPER", memory_mib: [8192.0, 205.0, 1366.0], utilization: Ok(7.0), average_w: Err(NOT_AVAILABLE), instant_w: 97.99, processes: 21, persistence: Err(NOT_AVAILABLE) },
    ]
}

#[test]
fn captures_of_loaded_gpus_say_what_a_person_reads() {
    for wanted in loaded() {
        let Some(capture) = capture(wanted.name) else { return };
        let report = section_report(&capture, "load :: query (-q)");
        assert_eq!(report.driver.as_deref(), Ok(wanted.driver), "{}", wanted.name);
        assert_eq!(report.cuda.as_deref(), Ok(wanted.cuda), "{}", wanted.name);
        assert_eq!(report.problems, [], "{}", wanted.name);
        let gpu = &report.gpus[0];
        assert_eq!(gpu.name.as_deref(), Ok(wanted.gpu));
        let memory = [&gpu.memory.total_mib, &gpu.memory.reserved_mib, &gpu.memory.used_mib];
        assert_eq!(memory.map(|one| one.clone().unwrap()), wanted.memory_mib, "{}", wanted.name);
        assert_eq!(gpu.utilization.gpu_percent, wanted.utilization, "{}", wanted.name);
        assert_eq!(gpu.power.average_w, wanted.average_w, "{}", wanted.name);
        assert_eq!(gpu.power.instant_w, Ok(wanted.instant_w), "{}", wanted.name);
        assert_eq!(gpu.processes.as_ref().unwrap().len(), wanted.processes, "{}", wanted.name);
        assert_eq!(gpu.persistence, wanted.persistence, "{}", wanted.name);
        // The table of the same moment agrees in what does not change.
        let table = section_report(&capture, "load :: query-gpu (csv, what the exporter parses)");
        let row = &table.gpus[0];
        assert_eq!(table.driver.as_deref(), Ok(wanted.driver));
        assert_eq!(row.index, Ok(0));
        assert_eq!(
            (&row.name, &row.bus_id, &row.pci_device),
            (&gpu.name, &gpu.bus_id, &gpu.pci_device)
        );
        assert_eq!(row.memory.total_mib, gpu.memory.total_mib);
        assert_eq!(row.memory.reserved_mib, gpu.memory.reserved_mib);
        assert_eq!(row.power.limit_w, gpu.power.limit_w);
        assert_eq!(row.clocks.sm_max_mhz, gpu.clocks.sm_max_mhz);
        assert_eq!(row.mig, gpu.mig);
        assert_eq!(row.ecc, gpu.ecc, "{}", wanted.name);
        assert_eq!(
            row.clock_limits.iter().filter(|one| one.is_active == Ok(true)).count(),
            gpu.active_limits().count(),
            "{}",
            wanted.name
        );
    }
}

#[test]
fn a_card_in_mig_mode_joins_its_listing() {
    let Some(capture) = capture(H100_MIG) else { return };
    let mut report = section_report(&capture, "load :: query (-q)").clone();
    let DeviceDocument::List(list) = section(&capture, "capabilities :: list (-L)") else {
        panic!()
    };
    report.join_list(list);
    let gpu: &Gpu = &report.gpus[0];
    assert_eq!(gpu.index, Ok(0));
    let seen: Vec<_> = gpu
        .mig_devices
        .as_ref()
        .unwrap()
        .iter()
        .map(|device| {
            (
                device.profile.clone().unwrap(),
                device.gpu_instance.clone().unwrap(),
                device.sms.clone().unwrap(),
                device.memory.total_mib.clone().unwrap(),
                device.memory.used_mib.clone().unwrap(),
                device.uuid.clone().unwrap(),
            )
        })
        .collect();
    let uuid = |n: u32| format!("MIG-{n:08x}-0000-0000-0000-{n:012x}");
    assert_eq!(
        seen,
        [
            ("3g.40gb".to_owned(), 2, 60, 40448.0, 11091.0, uuid(0)),
            ("2g.20gb".to_owned(), 3, 32, 20096.0, 17.0, uuid(1)),
            ("1g.10gb".to_owned(), 9, 16, 9984.0, 9.0, uuid(2)),
            ("1g.10gb".to_owned(), 10, 16, 9984.0, 9.0, uuid(3)),
        ]
    );
    assert_eq!(report.problems, []);
    let process = &gpu.processes.as_ref().unwrap()[2];
    assert_eq!(
        (&process.pid, &process.gpu_instance, &process.compute_instance),
        (&Ok(21198), &Ok(2), &Ok(0))
    );
    assert_eq!((process.name.as_deref(), &process.memory_mib), (Ok("./gpu_burn"), &Ok(7484.0)));
    let DeviceDocument::Links(links) = section(&capture, "capabilities :: nvlink -s") else {
        panic!()
    };
    report.join_links(links);
    let said = "Nvlink queries are not supported for Devices in MIG mode".to_owned();
    assert_eq!(report.gpus[0].links, Err(Absence::Said(said)));
}

fn monitor<'a>(capture: &'a Capture, title: &str) -> &'a Monitor {
    match section(capture, title) {
        DeviceDocument::Monitor(monitor) => monitor,
        other => panic!("{title}: {other:?}"),
    }
}

#[test]
fn monitors_keep_absent_cells_absent() {
    let (dmon, pmon) = (
        "load :: dmon (per-device monitor, incl. PCIe rx/tx)",
        "load :: pmon (per-process monitor)",
    );
    let Some(mig) = capture(H100_MIG) else { return };
    let devices = monitor(&mig, dmon);
    assert_eq!(devices.rows.len(), 5);
    assert_eq!(devices.number(&devices.rows[0], "pwr"), Ok(438.0));
    assert_eq!(devices.number(&devices.rows[4], "mtemp"), Ok(62.0));
    assert_eq!(devices.number(&devices.rows[0], "sm"), Err(NOT_AVAILABLE));
    assert_eq!(devices.number(&devices.rows[0], "nonsense"), Err(Absence::NotPrinted));
    let processes = monitor(&mig, pmon);
    assert!(processes.is_of_processes() && processes.rows.len() == 15);
    assert_eq!(processes.text(&processes.rows[2], "command").as_deref(), Ok("gpu_burn"));
    let Some(windows) = capture(WINDOWS) else { return };
    let devices = monitor(&windows, dmon);
    assert_eq!(devices.number(&devices.rows[3], "pwr"), Ok(98.0));
    assert_eq!(devices.number(&devices.rows[0], "enc"), Ok(100.0));
    assert_eq!(devices.number(&devices.rows[0], "mtemp"), Err(NOT_AVAILABLE));
    let units: Vec<_> = devices.columns.iter().map(|column| column.unit.as_str()).collect();
    assert_eq!(units, ["Idx", "W", "C", "C", "%", "%", "%", "%", "%", "%", "MHz", "MHz"]);
}

#[test]
fn processes_of_a_table_name_the_parent_card() {
    let Some(mig) = capture(H100_MIG) else { return };
    let title = "load :: query-compute-apps (per-process)";
    let DeviceDocument::Processes { processes, problems } = section(&mig, title) else { panic!() };
    assert_eq!((processes.len(), problems.len()), (3, 0));
    assert_eq!(processes[0].memory_mib, Ok(2296.0));
    assert!(processes[0].gpu_uuid.as_ref().unwrap().starts_with("GPU-"));
    let Some(windows) = capture(WINDOWS) else { return };
    let DeviceDocument::Processes { processes, .. } = section(&windows, title) else { panic!() };
    assert_eq!(processes[0].name.as_deref(), Ok("C:\\Windows\\System32\\dwm.exe"));
    assert_eq!(processes[0].memory_mib, Err(NOT_AVAILABLE));
    let said = Absence::Said("Not available in WDDM driver model".to_owned());
    let report = section_report(&windows, "load :: query (-q)");
    assert_eq!(report.gpus[0].processes.as_ref().unwrap()[0].memory_mib, Err(said));
}

#[test]
fn links_and_topologies_are_read() {
    let Some(h200) = capture(H200) else { return };
    let DeviceDocument::Links(gpus) = section(&h200, "capabilities :: nvlink -s") else { panic!() };
    let links = gpus[0].links.as_ref().unwrap();
    assert_eq!(links.len(), 18);
    assert!(links.iter().all(|link| link.gigabytes_per_second == Ok(26.562)));
    let DeviceDocument::Topologies(matrix) = section(&h200, "capabilities :: topo -m") else {
        panic!()
    };
    let row = &matrix[0].rows[0];
    assert_eq!(
        (&row.cpus, row.numa.as_deref(), &row.gpu_numa),
        (&Ok(vec![(0, 23)]), Ok("0"), &Err(NOT_AVAILABLE))
    );
    let Some(windows) = capture(WINDOWS) else { return };
    let DeviceDocument::Topologies(matrix) = section(&windows, "capabilities :: topo -m") else {
        panic!()
    };
    let row = &matrix[0].rows[0];
    assert_eq!(
        (&row.cpus, &row.numa, &row.gpu_numa),
        (&Err(NOT_AVAILABLE), &Err(NOT_AVAILABLE), &Err(NOT_AVAILABLE))
    );
    let Some(eight) = document("gpud/nvidia-smi.nvlink.status.a100.txt") else { return };
    let DeviceDocument::Links(gpus) = eight.unwrap() else { panic!() };
    assert_eq!((gpus.len(), gpus[7].links.as_ref().unwrap().len()), (8, 12));
    assert_eq!(gpus[7].links.as_ref().unwrap()[11].gigabytes_per_second, Ok(25.0));
}

#[test]
fn matrices_of_documents_have_spaces() {
    let Some(read) = document("nvidia-docs/ml-engineering_topo.txt") else { return };
    let DeviceDocument::Topologies(matrices) = read.unwrap() else { panic!() };
    assert_eq!(matrices.len(), 4);
    assert_eq!(matrices[0].nvlinks("GPU0", "GPU1"), Some(2));
    assert_eq!(matrices[0].rows[0].numa, Err(NOT_AVAILABLE));
    assert_eq!(matrices[1].nvlinks("GPU0", "GPU1"), None);
    assert_eq!(matrices[1].rows[0].links, ["X", "PHB"]);
    assert_eq!(matrices[3].nvlinks("GPU0", "GPU7"), Some(18));
    assert_eq!(matrices[3].rows[4].cpus, Ok(vec![(52, 103)]));
    assert_eq!(matrices[3].rows[4].numa.as_deref(), Ok("1"));
}

#[test]
fn listings_with_and_without_mig_are_read() {
    let Some(read) = document("nvidia-docs/mig-nvidia-smi.txt") else { return };
    let DeviceDocument::List(list) = read.unwrap() else { panic!() };
    assert_eq!(list.gpus[0].uuid, "GPU-b4895dbf-9350-2524-a89b-98161ddd9fe4");
    let devices = &list.gpus[0].mig_devices;
    assert_eq!((devices.len(), devices[6].index, devices[6].profile.as_str()), (7, 6, "1g.10gb"));
    assert_eq!(devices[6].uuid.as_str(), "MIG-981c86e9-3607-57d7-9426-295347e4b925");
    // A script that prints a listing and then a document whose quotes it forgot to unescape.
    let Some(read) = document("nvidia-captures/ceems_nvidia-smi_a100_mig.txt") else { return };
    let DeviceDocument::Capture(both) = read.unwrap() else { panic!() };
    let Ok(DeviceDocument::List(list)) = &both.sections[0].content else { panic!() };
    let counts: Vec<_> = list.gpus.iter().map(|gpu| gpu.mig_devices.len()).collect();
    assert_eq!(counts, [0, 0, 3, 3, 0, 0, 0, 0]);
    let error = both.sections[1].content.as_ref().unwrap_err();
    assert!(matches!(error, DeviceError::Line { line: 22, .. }), "{error}");
}

/// Files that are no output of nvidia-smi, or one that is for people: each is refused by name.
const REFUSED: [&str; 14] = [
    "gpud/dmesg-with-xid-119.log",
    "gpud/fabricmanager.log",
    "gpud/nvidia-smi.525.125.06.out.0.valid.txt",
    "gpud/nvidia-smi.550.90.07.out.0.valid.txt",
    "nvidia-captures/README.md",
    "nvidia-docs/confidential-containers__troubleshooting.txt",
    "nvidia-docs/gpu-operator__gpu-operator-kubevirt-dra.txt",
    "nvidia-docs/gpu-operator__gpu-operator-mig.txt",
    "nvidia-docs/gpu-telemetry__dcgm-exporter.txt",
    "nvidia-docs/kubernetes__index.txt",
    "nvidia-docs/mig-get-pods.txt",
    "nvidia-docs/mig__mig-k8s.txt",
    "telegraf/mi100_rocm571.json",
    "telegraf/mi100_rocm602.json",
];

#[test]
fn every_file_is_read_whole_or_refused_by_name() {
    for folder in ["nvidia-captures", "telegraf", "netdata_nvidia_smi", "gpud", "nvidia-docs"] {
        let Some(path) = shared(folder) else { return };
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            let is_refused = REFUSED.contains(&name.as_str());
            match read(&text(&path)) {
                Ok(document) => {
                    assert!(!is_refused, "{name} was read");
                    assert_sections(&name, &document);
                }
                Err(error @ DeviceError::Refused { .. }) => assert!(is_refused, "{name}: {error}"),
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

/// Each section of a capture is read, or is one of those that say nothing about a device.
fn assert_sections(name: &str, document: &DeviceDocument) {
    let DeviceDocument::Capture(capture) = document else { return };
    if name.contains("ceems") {
        return;
    }
    assert_eq!(capture.sections.iter().filter(|one| one.content.is_ok()).count(), 13, "{name}");
    for section in &capture.sections {
        match &section.content {
            Ok(_) => {}
            Err(DeviceError::Refused { line, .. }) => {
                assert!(*line >= section.line, "{name} {}", section.title);
                let plain = section.command == "nvidia-smi";
                let words = ["--help", "-h", "--version", "--query-accounted", "--query-retired"];
                let rest = section.command.trim_start_matches("nvidia-smi ");
                assert!(
                    plain || words.iter().any(|word| rest.starts_with(word)),
                    "{name} {section:?}"
                );
            }
            Err(error) => panic!("{name} {}: {error}", section.title),
        }
    }
}
