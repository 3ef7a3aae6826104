//! What `nvidia-smi` prints when something is wrong, and texts that are not what they should be.

use cotenant_probe::device::smi::{
    Absence, ClockLimit, DeviceDocument, DeviceError, DeviceReport, MigUuid, Unit, read,
};
use proptest::prelude::{any, prop, proptest};

fn report(text: &str) -> DeviceReport {
    match read(text) {
        Ok(DeviceDocument::Report(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// A small `-q` with some of its values replaced.
fn query(values: &[(&str, &str)]) -> String {
    let mut text = "==============NVSMI LOG==============\n\n\
        Driver Version                            : 570.86.15\n\
        Attached GPUs                             : 1\n\
        GPU 00000000:53:00.0\n    \
            Product Name                          : NVIDIA H100 80GB HBM3\n    \
            MIG Mode\n        \
                Current                           : Disabled\n        \
                Pending                           : Disabled\n    \
            GPU UUID                              : GPU-1\n    \
            FB Memory Usage\n        \
                Total                             : 81559 MiB\n        \
                Used                              : 100 MiB\n    \
            Utilization\n        \
                GPU                               : 7 %\n    \
            Clocks Event Reasons\n        \
                HW Slowdown                       : Not Active\n    \
            Processes                             : None\n"
        .to_owned();
    for (from, to) in values {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn errors_in_the_place_of_values_are_absences_with_their_reason() {
    let cases = [
        ("N/A", Absence::NotAvailable),
        ("[N/A]", Absence::NotAvailable),
        ("Not Supported", Absence::NotSupported),
        ("[Not Supported]", Absence::NotSupported),
        ("Insufficient Permissions", Absence::NoPermission),
        ("[Insufficient Permissions]", Absence::NoPermission),
        ("GPU is lost", Absence::Lost),
        ("[GPU is lost]", Absence::Lost),
        ("[Unknown Error]", Absence::Said("Unknown Error".to_owned())),
        ("ERR!", Absence::Said("ERR!".to_owned())),
        ("[GPU requires reset]", Absence::Said("GPU requires reset".to_owned())),
        ("Requested functionality has been deprecated", Absence::Deprecated),
    ];
    for (said, wanted) in cases {
        let text = query(&[("81559 MiB", said), ("7 %", said), ("Not Active", said)]);
        let report = report(&text);
        let gpu = &report.gpus[0];
        assert_eq!(gpu.memory.total_mib, Err(wanted.clone()), "{said}");
        assert_eq!(gpu.utilization.gpu_percent, Err(wanted.clone()), "{said}");
        assert_eq!(gpu.clock_limits[0].is_active, Err(wanted.clone()), "{said}");
        assert_eq!(gpu.active_limits().count(), 0);
        assert_eq!(gpu.memory.used_mib, Ok(100.0));
        assert_eq!(report.problems, [], "{said}");
    }
}

#[test]
fn a_section_that_is_absent_as_a_whole_gives_its_reason_to_its_values() {
    let text = query(&[
        ("    Utilization\n", "    Utilization : GPU is lost\n"),
        ("        GPU                               : 7 %\n", ""),
    ]);
    assert_eq!(report(&text).gpus[0].utilization.gpu_percent, Err(Absence::Lost));
}

#[test]
fn odd_values_and_units_are_told_with_their_line() {
    let cases = [
        ("81559 MiB", "81559", "the unit is missing (MiB)"),
        ("81559 MiB", "81559 parsecs", "the unit is parsecs and not MiB"),
        ("81559 MiB", "plenty", "this is no number"),
        ("100 MiB", "100 %", "the unit is % and not MiB"),
    ];
    for (from, to, wanted) in cases {
        let report = report(&query(&[(from, to)]));
        let problem = &report.problems[0];
        assert!(problem.message.contains(wanted), "{}", problem.message);
        assert_eq!(problem.line, if from.starts_with('8') { 12 } else { 13 });
        let memory = &report.gpus[0].memory;
        let value = if from.starts_with('8') { &memory.total_mib } else { &memory.used_mib };
        assert_eq!(value, &Err(Absence::Said(to.to_owned())));
    }
    let unknown = report(&query(&[("HW Slowdown", "Gremlins")]));
    assert_eq!(unknown.gpus[0].clock_limits[0].limit, ClockLimit::Other("Gremlins".to_owned()));
    assert_eq!(unknown.problems[0].line, 17);
}

#[test]
fn units_are_turned_and_never_guessed() {
    assert_eq!(Unit::Mebibytes.parse("2 GiB"), Ok(2048.0));
    assert_eq!(Unit::Mebibytes.parse("512 KiB"), Ok(0.5));
    assert_eq!(Unit::Watts.parse("250000 mW"), Ok(250.0));
    assert_eq!(Unit::Celsius.parse("-8 C"), Ok(-8.0));
    assert_eq!(Unit::Count.parse("3"), Ok(3.0));
    for text in ["", "C", "inf MiB", "NaN MiB", "1e3 MiB", "--1 MiB", "1,5 MiB"] {
        assert!(Unit::Mebibytes.parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_gpu_that_cannot_be_reached_is_counted_and_named() {
    let lost = "Unable to determine the device handle for GPU0000:9B:00.0: GPU is lost.  Reboot the system to recover this GPU\n";
    let text =
        query(&[("Attached GPUs                             : 1", "Attached GPUs : 2")]) + lost;
    let report = report(&text);
    assert_eq!((report.gpus.len(), report.unreachable.len()), (1, 1));
    assert_eq!(report.unreachable[0].bus_id, "0000:9B:00.0");
    assert_eq!(report.unreachable[0].reason, Absence::Lost);
    assert_eq!(report.problems, [], "both GPUs are accounted for");
    let other =
        text.replace(": GPU is lost.  Reboot the system to recover this GPU", ": Unknown Error");
    let DeviceDocument::Report(report) = read(&other).unwrap() else { panic!() };
    assert_eq!(report.unreachable[0].reason, Absence::Said("Unknown Error".to_owned()));
}

#[test]
fn a_lost_gpu_costs_no_other_its_reading() {
    let lost = "Unable to determine the device handle for gpu 0000:9B:00.0: GPU is lost.  Reboot the system to recover this GPU\n";
    let DeviceDocument::List(list) = read(&format!("{lost}GPU 1: A (UUID: GPU-a)\n")).unwrap()
    else {
        panic!()
    };
    assert_eq!((list.gpus[0].index, list.unreachable[0].line), (1, 1));
    assert_eq!(list.unreachable[0].reason, Absence::Lost);
    let DeviceDocument::List(list) = read(lost).unwrap() else { panic!() };
    assert_eq!((list.gpus.len(), list.unreachable.len()), (0, 1));
    let table = report(&format!("{lost}index, uuid, count\n1, GPU-a, 2\n"));
    assert_eq!((table.gpus.len(), table.unreachable.len(), table.problems.len()), (1, 1, 0));
    let links = read(&format!("{lost}GPU 1: A (UUID: GPU-a)\n\t Link 0: 25 GB/s\n")).unwrap();
    assert!(matches!(links, DeviceDocument::Links(gpus) if gpus.len() == 1));
}

#[test]
fn monitors_with_commas_times_and_spaces_are_read() {
    let text = "#Date Time gpu pid type sm command\n#YYYYMMDD HH:MM:SS Idx # C/G % name\n\
                20260714 09:00:44 0 21 C - my long name\n";
    let commas = text.replace(" gpu pid", ", gpu, pid").replace("44 0 21", "44, 0, 21");
    for text in [text, &commas] {
        let DeviceDocument::Monitor(monitor) = read(text).unwrap() else { panic!() };
        let row = &monitor.rows[0];
        assert_eq!(monitor.text(row, "command").as_deref(), Ok("my long name"));
        assert_eq!(monitor.number(row, "pid"), Ok(21.0));
        assert_eq!(monitor.number(row, "sm"), Err(Absence::NotAvailable));
    }
    let short = read("# gpu pwr\n# Idx W\n 0 70\n 0\n").unwrap_err();
    assert!(short.to_string().starts_with("line 4: 1 cells stand under 2 headings"), "{short}");
}

#[test]
fn a_mode_that_waits_for_a_reset_is_seen() {
    let waiting =
        report(&query(&[("Pending                           : Disabled", "Pending : Enabled")]));
    assert!(waiting.gpus[0].mig.is_pending_change());
    let starred =
        report(&query(&[("Current                           : Disabled", "Current : Enabled*")]));
    assert_eq!(starred.gpus[0].mig.current, Ok(true));
    assert!(starred.gpus[0].mig.is_pending_change());
    assert!(!report(&query(&[])).gpus[0].mig.is_pending_change());
    assert_eq!(report(&query(&[])).gpus[0].mig_devices, Ok(Vec::new()));
}

#[test]
fn tables_with_and_without_units_agree() {
    let with = "index, uuid, memory.total [MiB], utilization.gpu [%], power.draw [W]\n\
                0, GPU-a, 81559 MiB, 7 %, 71.97 W\n1, GPU-b, 81559 MiB, [GPU is lost], [N/A]\n";
    let without =
        with.replace("81559 MiB", "81559").replace("7 %", "7").replace("71.97 W", "71.97");
    let (with, without) = (report(with), report(&without));
    assert_eq!(with, without);
    assert_eq!(with.gpus[0].power.draw_w, Ok(71.97));
    assert_eq!(with.gpus[1].utilization.gpu_percent, Err(Absence::Lost));
    assert_eq!(with.gpus[1].index, Ok(1));
    // Without a heading's unit there is none to take.
    let bare = report("uuid, memory.total\nGPU-a, 81559\n");
    assert!(bare.gpus[0].memory.total_mib.is_err() && bare.problems[0].line == 2);
    let broken = read("index, uuid\n0, GPU-a, more\n").unwrap_err();
    assert!(
        broken.to_string().starts_with("line 2: the row has 3 cells and the heading 2"),
        "{broken}"
    );
}

#[test]
fn old_uuids_of_mig_devices_carry_parent_and_instances() {
    let old = "MIG-GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f/7/0";
    let text = format!(
        "GPU 0: A100-SXM4-40GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)\n  \
         MIG 1g.5gb Device 0: (UUID: {old})\n"
    );
    let DeviceDocument::List(list) = read(&text).unwrap() else { panic!() };
    let uuid = &list.gpus[0].mig_devices[0].uuid;
    assert_eq!(uuid.as_str(), old);
    let MigUuid::OfParent { gpu, gpu_instance, compute_instance, .. } = uuid else { panic!() };
    assert_eq!((gpu, *gpu_instance, *compute_instance), (&list.gpus[0].uuid, 7, 0));
    assert_eq!(MigUuid::parse("MIG-GPU-x/7"), None);
    let orphan =
        read("GPU 0: A (UUID: GPU-a)\n  MIG 1g.5gb Device x: (UUID: MIG-b)\n").unwrap_err();
    assert!(matches!(orphan, DeviceError::Line { line: 2, .. }), "{orphan}");
}

#[test]
fn a_listing_that_does_not_fit_changes_nothing_and_is_told() {
    let mut report = report(&query(&[]));
    let DeviceDocument::List(list) = read("GPU 3: NVIDIA H100 (UUID: GPU-2)\n").unwrap() else {
        panic!()
    };
    report.join_list(&list);
    assert_eq!(report.gpus[0].index, Err(Absence::NotPrinted));
    assert!(report.problems[0].message.contains("GPU 3 (GPU-2) is listed and not described"));
}

#[test]
fn a_matrix_with_tabs_escapes_and_network_cards_is_read() {
    let text = "\t\u{1b}[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\n\
                GPU0\t X \tNV18\tPIX\t0-47,96-143\t0\t\tN/A\n\
                GPU1\tNV18\t X \tSYS\t48-95\t1\t\tN/A\n\
                NIC0\tPIX\tSYS\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n";
    let DeviceDocument::Topologies(matrices) = read(text).unwrap() else { panic!() };
    let matrix = &matrices[0];
    assert_eq!(matrix.devices, ["GPU0", "GPU1", "NIC0"]);
    assert_eq!(matrix.rows[0].cpus, Ok(vec![(0, 47), (96, 143)]));
    assert_eq!(
        (matrix.rows[1].numa.as_deref(), &matrix.rows[1].gpu_numa),
        (Ok("1"), &Err(Absence::NotAvailable))
    );
    assert_eq!(matrix.nvlinks("GPU1", "GPU0"), Some(18));
    assert_eq!(matrix.nvlinks("GPU1", "NIC0"), None);
    assert_eq!(matrix.rows[2].links, ["PIX", "SYS", "X"]);
    let broken = read(&text.replace("PIX\t0-47", "WARP\t0-47")).unwrap_err();
    assert!(matches!(broken, DeviceError::Line { line: 2, .. }), "{broken}");
    let cut = read(text.split("NIC0\tPIX").next().unwrap()).unwrap_err();
    assert!(cut.to_string().contains("has no row"), "{cut}");
}

#[test]
fn inactive_links_have_no_speed() {
    let text = "GPU 0: A (UUID: GPU-a)\n\t Link 0: <inactive>\n\t Link 1: 25 GB/s\n";
    let DeviceDocument::Links(gpus) = read(text).unwrap() else { panic!() };
    let links = gpus[0].links.as_ref().unwrap();
    assert_eq!(links[0].gigabytes_per_second, Err(Absence::Said("inactive".to_owned())));
    assert_eq!(links[1].gigabytes_per_second, Ok(25.0));
    let broken = read(&text.replace("25 GB/s", "25")).unwrap_err();
    assert!(broken.to_string().starts_with("line 3: the unit is missing"), "{broken}");
}

#[test]
fn failures_of_the_tool_are_repeated_with_the_way_out() {
    for text in [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "Failed to initialize NVML: Driver/library version mismatch\n",
        "\nNo devices were found\n",
    ] {
        let error = read(text).unwrap_err();
        assert!(matches!(error, DeviceError::Tool { .. }), "{error}");
        assert!(error.to_string().contains(text.trim()), "{error}");
    }
}

#[test]
fn documents_that_attack_the_reader_are_refused() {
    for cut in ["<?xml version=\"1.0\"\n", "<nvidia_smi_log>\n<gpu>\n", "<nvidia_smi_log>\n<!--\n"]
    {
        assert_named(cut);
        assert!(read(cut).is_err(), "{cut}");
    }
    let deep = format!("<nvidia_smi_log>{}", "<a>".repeat(300_000));
    assert!(read(&deep).is_err());
    let closed =
        format!("<nvidia_smi_log>{}{}</nvidia_smi_log>", "<a>".repeat(200), "</a>".repeat(200));
    assert!(read(&closed).unwrap_err().to_string().contains("nested too deeply"));
    let bomb = "<!DOCTYPE nvidia_smi_log [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&b;\">]>\
                <nvidia_smi_log>&b;</nvidia_smi_log>";
    assert!(read(bomb).is_err());
    let file = "<!DOCTYPE nvidia_smi_log [<!ENTITY a SYSTEM \"/etc/passwd\">]><nvidia_smi_log><gpu>&a;</gpu></nvidia_smi_log>";
    if let Ok(DeviceDocument::Report(report)) = read(file) {
        assert!(!format!("{report:?}").contains("root:"));
    }
}

/// Beginnings that lead into each of the readers.
const BEGINNINGS: [&str; 9] = [
    "",
    "==============NVSMI LOG==============\nAttached GPUs : 1\nGPU 0\n    ",
    "<nvidia_smi_log><gpu id=\"0\">",
    "uuid, memory.total [MiB]\n",
    "gpu_uuid, pid\n",
    "GPU 0: A (UUID: GPU-a)\n",
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n",
    "# gpu pwr\n# Idx W\n",
    "# x\n# $ nvidia-smi -q\n########\n",
];

proptest! {
    #[test]
    fn no_bytes_panic_and_every_error_names_a_line_and_a_way_out(
        beginning in 0_usize..BEGINNINGS.len(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let text = format!("{}{}", BEGINNINGS[beginning], String::from_utf8_lossy(&bytes));
        assert_named(&text);
    }

    #[test]
    fn no_words_of_the_tool_panic(
        beginning in 0_usize..BEGINNINGS.len(),
        words in prop::collection::vec("GPU|MIG| : |\t|\n    |\n|Link|0|N/A|X|NV4|Processes|<a>|</gpu>|, |Device|UUID|#|-|\\(|\\)|MiB|%|\u{1b}\\[|é", 0..60),
    ) {
        assert_named(&format!("{}{}", BEGINNINGS[beginning], words.concat()));
    }

    #[test]
    fn a_query_that_is_cut_anywhere_invents_nothing(cut in 0_usize..900) {
        let text = query(&[]);
        let cut = cut.min(text.len());
        if let Ok(DeviceDocument::Report(report)) = read(&text[..cut]) {
            for gpu in &report.gpus {
                let total = &gpu.memory.total_mib;
                assert!(total.is_err() || *total == Ok(81559.0), "{total:?}");
                let busy = &gpu.utilization.gpu_percent;
                assert!(busy.is_err() || *busy == Ok(7.0), "{busy:?}");
            }
        }
    }
}

fn assert_named(text: &str) {
    let Err(error) = read(text) else { return };
    let said = error.to_string();
    let line =
        said.strip_prefix("line ").and_then(|rest| rest.split(':').next()).map(str::parse::<usize>);
    assert!(
        matches!(line, Some(Ok(line)) if line >= 1 && line <= text.lines().count().max(1)),
        "{said}"
    );
    assert!(said.contains("; "), "{said}");
}
