//! The outputs of `nvidia-smi`.

use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading, FileRefusal, Table};

use super::look::{Claim, Look, Outcome, short};
use crate::device::smi::{
    Capture, ClockLimit, DeviceDocument, DeviceError, DeviceList, DeviceProcess, DeviceReport, Gpu,
    GpuLinks, Monitor, Problem, Reading, Source, Topology, read as read_smi,
};

const SEEMS: &str = "an output of nvidia-smi";

/// Columns of `--query-gpu` and `--query-compute-apps`, of which a table has at least two.
const COLUMNS: [&str; 16] = [
    "index",
    "name",
    "uuid",
    "gpu_uuid",
    "gpu_name",
    "gpu_bus_id",
    "driver_version",
    "pci.bus_id",
    "memory.total",
    "memory.used",
    "memory.free",
    "utilization.gpu",
    "utilization.memory",
    "temperature.gpu",
    "power.draw",
    "used_gpu_memory",
];
/// Of these, those that no other table has.
const OWN_COLUMNS: [&str; 8] = [
    "gpu_uuid",
    "pci.bus_id",
    "memory.total",
    "memory.used",
    "memory.free",
    "utilization.gpu",
    "power.draw",
    "used_gpu_memory",
];

/// Sentences by which the tool says that it failed.
const FAILURES: [&str; 5] = [
    "NVIDIA-SMI has failed",
    "Failed to initialize NVML",
    "No devices were found",
    "couldn't find libnvidia-ml",
    "Insufficient Permissions",
];

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    if look.json.is_some() || look.json_line.is_some() {
        return None;
    }
    clue(look).map(|clue| Claim::sure(clue, read))
}

fn clue(look: &Look<'_>) -> Option<String> {
    let text = look.sample();
    let (_, first) = look.first_line();
    let first = first.trim();
    // Trainers print the table at the head of their logs.
    let mut beginning = text.lines().filter(|line| !line.trim().is_empty()).take(3);
    if let Some(line) = text
        .lines()
        .find(|line| line.starts_with("# $ nvidia-smi"))
        .filter(|_| !text.contains("```"))
    {
        return Some(format!("has a section `{}`", short(line, 60)));
    }
    if text.contains("==NVSMI LOG==") {
        return Some("has `NVSMI LOG`, as `nvidia-smi -q` begins".to_owned());
    }
    if text.contains("<nvidia_smi_log") && text.contains('>') {
        return Some("has the element `nvidia_smi_log`".to_owned());
    }
    let is_gpu = |line: &str| {
        line.strip_prefix("GPU ").is_some_and(|rest| {
            rest.split_once(':').is_some_and(|(number, rest)| {
                number.parse::<u32>().is_ok() && rest.contains("(UUID:")
            })
        })
    };
    if is_gpu(first) || first.starts_with("Unable to determine the device handle") {
        return Some(format!("begins with `{}`", short(first, 50)));
    }
    if text.lines().take(20).any(|line| line.contains("CPU Affinity") && line.contains("GPU0")) {
        return Some("has the columns `GPU0` and `CPU Affinity`".to_owned());
    }
    let second = text.lines().filter(|line| !line.trim().is_empty()).nth(1).unwrap_or_default();
    if first.strip_prefix('#').is_some_and(|rest| rest.split_whitespace().next() == Some("gpu"))
        && second.starts_with('#')
    {
        return Some(format!("begins with the heading `{}`", short(first, 50)));
    }
    let names: Vec<&str> = first
        .split(',')
        .map(|cell| cell.trim().split(" [").next().unwrap_or_default().trim())
        .collect();
    let of = |known: &[&str]| names.iter().filter(|name| known.contains(name)).count();
    if of(&OWN_COLUMNS) >= 1 && of(&COLUMNS) >= 2 {
        return Some(format!("has the columns `{}`", short(first, 60)));
    }
    if let Some(line) = beginning.find(|line| {
        line.trim_start().starts_with("| NVIDIA-SMI ")
            || FAILURES.iter().any(|say| line.contains(say))
    }) {
        return Some(format!("has the line `{}`", short(line.trim_matches(['|', ' ']), 60)));
    }
    None
}

fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    look.require_whole(SEEMS)?;
    let document = read_smi(&look.text).map_err(|error| refused(look, &error))?;
    let mut reading = match &document {
        DeviceDocument::Capture(capture) => told_capture(look, capture),
        document => {
            let (kind, form) = kind_of(document);
            let mut reading = FileReading::new(look.name, kind, form);
            tell(&mut reading, document, "");
            reading
        }
    };
    reading.producer = Some("nvidia-smi".to_owned());
    Ok(reading.into())
}

fn refused(look: &Look<'_>, error: &DeviceError) -> FileRefusal {
    let (line, seems, why, way_out) = match error {
        DeviceError::Line { line, problem, text, way_out } => {
            (*line, SEEMS.to_owned(), format!("{problem}: «{text}»"), *way_out)
        }
        DeviceError::Tool { line, message, way_out } => (
            *line,
            "a failure of nvidia-smi".to_owned(),
            format!("the tool said «{message}»"),
            *way_out,
        ),
        DeviceError::Refused { line, kind, way_out } => {
            (*line, (*kind).to_owned(), "this form is not read".to_owned(), *way_out)
        }
    };
    look.refuse(seems, why, way_out).at(Some(line as u64))
}

fn kind_of(document: &DeviceDocument) -> (FileKind, String) {
    match document {
        DeviceDocument::Report(report) => (
            FileKind::GpuQuery,
            match &report.source {
                Source::Query => "nvidia-smi -q".to_owned(),
                Source::Xml { schema } => match schema {
                    Some(schema) => format!("nvidia-smi -q -x, schema {schema}"),
                    None => "nvidia-smi -q -x".to_owned(),
                },
                Source::Csv => "nvidia-smi --query-gpu --format=csv".to_owned(),
                // Asked of a machine and never written into a file.
                Source::Nvml => "NVML".to_owned(),
            },
        ),
        DeviceDocument::List(_) => (FileKind::GpuList, "nvidia-smi -L".to_owned()),
        DeviceDocument::Topologies(_) => (FileKind::GpuTopology, "nvidia-smi topo -m".to_owned()),
        DeviceDocument::Links(_) => (FileKind::GpuLinks, "nvidia-smi nvlink -s".to_owned()),
        DeviceDocument::Monitor(monitor) => (
            FileKind::GpuMonitor,
            if monitor.is_of_processes() { "nvidia-smi pmon" } else { "nvidia-smi dmon" }
                .to_owned(),
        ),
        DeviceDocument::Processes { .. } => {
            (FileKind::GpuProcesses, "nvidia-smi --query-compute-apps --format=csv".to_owned())
        }
        DeviceDocument::Capture(_) => (FileKind::GpuCapture, "sections".to_owned()),
    }
}

/// The sections of a capture: the first report in full, the rest as far as its tables go.
fn told_capture(look: &Look<'_>, capture: &Capture) -> FileReading {
    let mut reading =
        FileReading::new(look.name, FileKind::GpuCapture, "outputs one after the other");
    let mut sections = Table::new("Sections", &["line", "title", "command", "kind"]);
    for section in &capture.sections {
        let kind = match &section.content {
            Ok(document) => Figure::text(kind_of(document).0.name()),
            Err(error) => {
                reading.skip(format!("{}: {error}", section.command));
                Figure::absent("not read")
            }
        };
        sections.row(vec![
            Figure::count(section.line),
            Figure::text_or(Some(&section.title).filter(|title| !title.is_empty()), "none"),
            Figure::text(section.command.clone()),
            kind,
        ]);
    }
    reading.count("sections", capture.sections.len());
    let mut have_report = false;
    for section in &capture.sections {
        let Ok(document) = &section.content else { continue };
        let name = if section.title.is_empty() { &section.command } else { &section.title };
        if matches!(document, DeviceDocument::Report(_)) && !have_report {
            have_report = true;
            tell(&mut reading, document, "");
        } else {
            tables(&mut reading, document, &format!("{name}: "));
        }
    }
    reading.tables.insert(0, sections);
    reading
}

/// Facts and tables of one document.
fn tell(reading: &mut FileReading, document: &DeviceDocument, prefix: &str) {
    if let DeviceDocument::Report(report) = document {
        reading.version = report.driver.as_ref().ok().map(|driver| format!("driver {driver}"));
        reading.fact("printed at", text(&report.printed_at));
        reading.fact("driver", text(&report.driver));
        reading.fact("CUDA", text(&report.cuda));
        reading.fact("GPUs attached", count(&report.gpus_attached));
        reading.count("GPUs read", report.gpus.len());
        let parts = |gpu: &Gpu| gpu.mig_devices.as_ref().map_or(0, Vec::len);
        reading.count("MIG devices", report.gpus.iter().map(parts).sum::<usize>());
        for gpu in &report.unreachable {
            reading
                .note(format!("line {}: {} does not answer: {}", gpu.line, gpu.bus_id, gpu.reason));
        }
    }
    tables(reading, document, prefix);
}

fn tables(reading: &mut FileReading, document: &DeviceDocument, prefix: &str) {
    match document {
        DeviceDocument::Report(report) => report_tables(reading, report, prefix),
        DeviceDocument::List(list) => list_table(reading, list, prefix),
        DeviceDocument::Topologies(all) => {
            for topology in all {
                reading.table(topology_table(topology, prefix));
            }
            reading.count(format!("{prefix}matrices"), all.len());
        }
        DeviceDocument::Links(links) => reading.table(links_table(links, prefix)),
        DeviceDocument::Monitor(monitor) => reading.table(monitor_table(monitor, prefix)),
        DeviceDocument::Processes { processes, problems } => {
            reading.count(format!("{prefix}processes"), processes.len());
            reading.table(process_table(processes.iter().map(|one| (None, one)), prefix));
            notes(reading, problems);
        }
        DeviceDocument::Capture(_) => {}
    }
}

fn notes(reading: &mut FileReading, problems: &[Problem]) {
    for problem in problems {
        reading.note(format!("line {}: {}", problem.line, problem.message));
    }
}

fn report_tables(reading: &mut FileReading, report: &DeviceReport, prefix: &str) {
    let mut table = Table::new(
        format!("{prefix}GPUs"),
        &[
            "gpu",
            "model",
            "uuid",
            "memory",
            "used",
            "busy",
            "power",
            "power limit",
            "temperature",
            "SM clock",
            "MIG",
            "uncorrected ECC errors",
            "held down by",
        ],
    );
    let mut parts = Table::new(
        format!("{prefix}MIG devices"),
        &["gpu", "device", "instance", "profile", "uuid", "memory", "used", "SMs"],
    );
    for (place, gpu) in report.gpus.iter().enumerate() {
        let name = name_of(gpu, place);
        table.row(gpu_row(gpu, &name));
        for device in gpu.mig_devices.iter().flatten() {
            parts.row(vec![
                Figure::text(name.clone()),
                count(&device.index),
                count(&device.gpu_instance),
                text(&device.profile),
                text(&device.uuid),
                number(&device.memory.total_mib, "MiB"),
                number(&device.memory.used_mib, "MiB"),
                count(&device.sms),
            ]);
        }
    }
    reading.table(table);
    reading.table(parts);
    let processes = report.gpus.iter().enumerate().flat_map(|(place, gpu)| {
        let name = name_of(gpu, place);
        gpu.processes.iter().flatten().map(move |one| (Some(name.clone()), one))
    });
    reading.table(process_table(processes, prefix));
    notes(reading, &report.problems);
}

fn name_of(gpu: &Gpu, place: usize) -> String {
    gpu.index
        .as_ref()
        .map(ToString::to_string)
        .or_else(|_| gpu.bus_id.clone())
        .unwrap_or_else(|_| format!("number {} of the text", place + 1))
}

fn gpu_row(gpu: &Gpu, name: &str) -> Vec<Figure> {
    let in_mig_mode = gpu.mig.current == Ok(true);
    let busy = match &gpu.utilization.gpu_percent {
        Err(_) if in_mig_mode => {
            Figure::absent("a card in MIG mode has no utilisation, and that is not idleness")
        }
        other => number(other, "%"),
    };
    let power = [&gpu.power.draw_w, &gpu.power.average_w, &gpu.power.instant_w];
    let power = power.into_iter().find(|value| value.is_ok()).unwrap_or(&gpu.power.draw_w);
    let limits: Vec<String> = gpu.active_limits().map(limit_words).collect();
    vec![
        Figure::text(name),
        text(&gpu.name),
        text(&gpu.uuid),
        number(&gpu.memory.total_mib, "MiB"),
        number(&gpu.memory.used_mib, "MiB"),
        busy,
        number(power, "W"),
        number(&gpu.power.limit_w, "W"),
        number(&gpu.temperature.gpu_c, "°C"),
        number(&gpu.clocks.sm_mhz, "MHz"),
        match &gpu.mig.current {
            Ok(on) => Figure::text(if *on { "on" } else { "off" }),
            Err(absence) => Figure::absent(absence.to_string()),
        },
        number(&gpu.ecc.uncorrected, ""),
        if limits.is_empty() && gpu.clock_limits.is_empty() {
            Figure::absent("not printed")
        } else if limits.is_empty() {
            Figure::text("nothing")
        } else {
            Figure::text(limits.join(", "))
        },
    ]
}

fn limit_words(limit: &ClockLimit) -> String {
    match limit {
        ClockLimit::Idle => "idleness",
        ClockLimit::ApplicationClocks => "clocks set by an administrator",
        ClockLimit::SoftwarePowerCap => "the power limit",
        ClockLimit::HardwareSlowdown => "a slowdown by hardware",
        ClockLimit::HardwareThermal => "heat (hardware)",
        ClockLimit::HardwarePowerBrake => "the power brake",
        ClockLimit::SyncBoost => "slower GPUs of its group",
        ClockLimit::SoftwareThermal => "heat (driver)",
        ClockLimit::DisplayClocks => "a display",
        ClockLimit::Other(name) => name,
    }
    .to_owned()
}

fn list_table(reading: &mut FileReading, list: &DeviceList, prefix: &str) {
    reading.count(format!("{prefix}GPUs listed"), list.gpus.len());
    let parts = list.gpus.iter().map(|gpu| gpu.mig_devices.len()).sum::<usize>();
    reading.count(format!("{prefix}MIG devices listed"), parts);
    let mut table =
        Table::new(format!("{prefix}Devices"), &["gpu", "device", "model or profile", "uuid"]);
    for gpu in &list.gpus {
        table.row(vec![
            Figure::count(gpu.index),
            Figure::text("GPU"),
            Figure::text(gpu.name.clone()),
            Figure::text(gpu.uuid.clone()),
        ]);
        for device in &gpu.mig_devices {
            table.row(vec![
                Figure::count(gpu.index),
                Figure::text(format!("MIG {}", device.index)),
                Figure::text(device.profile.clone()),
                Figure::text(device.uuid.as_str()),
            ]);
        }
    }
    reading.table(table);
    for gpu in &list.unreachable {
        reading.note(format!("line {}: {} does not answer: {}", gpu.line, gpu.bus_id, gpu.reason));
    }
}

/// Rows of links stay together: the columns are as many as there are devices.
fn topology_table(topology: &Topology, prefix: &str) -> Table {
    let mut table = Table::new(
        format!("{prefix}Ways between {} devices", topology.devices.len()),
        &["device", "ways to the others", "CPUs", "NUMA nodes"],
    );
    for row in &topology.rows {
        let ways: Vec<String> = topology
            .devices
            .iter()
            .zip(&row.links)
            .filter(|(_, way)| *way != "X")
            .map(|(device, way)| format!("{device} {way}"))
            .collect();
        let cpus = row.cpus.as_ref().map(|ranges| {
            let one = |(from, to): &(u32, u32)| {
                if from == to { from.to_string() } else { format!("{from}-{to}") }
            };
            ranges.iter().map(one).collect::<Vec<_>>().join(",")
        });
        table.row(vec![
            Figure::text(row.device.clone()),
            Figure::text(ways.join(", ")),
            cpus.map_or_else(|absence| Figure::absent(absence.to_string()), Figure::text),
            text(&row.numa),
        ]);
    }
    table
}

fn links_table(gpus: &[GpuLinks], prefix: &str) -> Table {
    let mut table = Table::new(format!("{prefix}NVLinks"), &["gpu", "uuid", "link", "bandwidth"]);
    for gpu in gpus {
        match &gpu.links {
            Ok(links) => {
                for link in links {
                    table.row(vec![
                        Figure::count(gpu.index),
                        Figure::text(gpu.uuid.clone()),
                        Figure::count(link.link),
                        number(&link.gigabytes_per_second, "GB/s"),
                    ]);
                }
            }
            Err(absence) => table.row(vec![
                Figure::count(gpu.index),
                Figure::text(gpu.uuid.clone()),
                Figure::absent(absence.to_string()),
                Figure::absent(absence.to_string()),
            ]),
        }
    }
    table
}

/// Mean and maximum of each column that has numbers, GPU by GPU.
fn monitor_table(monitor: &Monitor, prefix: &str) -> Table {
    let mut table =
        Table::new(format!("{prefix}Columns"), &["gpu", "column", "rows", "mean", "max"]);
    let mut gpus: Vec<String> = Vec::new();
    for row in &monitor.rows {
        if let Ok(gpu) = monitor.text(row, "gpu")
            && !gpus.contains(&gpu)
            && gpus.len() < 256
        {
            gpus.push(gpu);
        }
    }
    let unlike_a_quantity = ["gpu", "pid", "type", "command", "Date", "Time"];
    for gpu in &gpus {
        let rows =
            || monitor.rows.iter().filter(|row| monitor.text(row, "gpu").as_ref() == Ok(gpu));
        for column in &monitor.columns {
            if unlike_a_quantity.contains(&column.name.as_str()) {
                continue;
            }
            let values: Vec<f64> =
                rows().filter_map(|row| monitor.number(row, &column.name).ok()).collect();
            let seen = rows().count();
            let absent = || Figure::absent(format!("no number in {seen} rows"));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let is_some = !values.is_empty();
            let figure = |value: f64| Figure::number(value, column.unit.clone());
            table.row(vec![
                Figure::text(gpu.clone()),
                Figure::text(column.name.clone()),
                Figure::count(seen),
                if is_some { figure(mean) } else { absent() },
                if is_some { figure(most) } else { absent() },
            ]);
        }
    }
    table
}

fn process_table<'p>(
    processes: impl Iterator<Item = (Option<String>, &'p DeviceProcess)>,
    prefix: &str,
) -> Table {
    let mut table = Table::new(
        format!("{prefix}Processes"),
        &["gpu", "pid", "kind", "name", "memory", "GPU instance"],
    );
    for (gpu, process) in processes {
        table.row(vec![
            gpu.map_or_else(|| text(&process.gpu_uuid), Figure::text),
            count(&process.pid),
            text(&process.kind),
            text(&process.name),
            number(&process.memory_mib, "MiB"),
            count(&process.gpu_instance),
        ]);
    }
    table
}

fn number(value: &Reading<f64>, unit: &'static str) -> Figure {
    match value {
        Ok(value) => Figure::number(*value, unit),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

fn count(value: &Reading<u32>) -> Figure {
    match value {
        Ok(value) => Figure::count(*value),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}

fn text(value: &Reading<String>) -> Figure {
    match value {
        Ok(value) => Figure::text(value.clone()),
        Err(absence) => Figure::absent(absence.to_string()),
    }
}
