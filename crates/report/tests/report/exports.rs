//! Exports of a plan: their texts, and the rules of the tools that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use cotenant_core::plan::Holder;
use cotenant_core::site::{
    MigGpu, MigInstance, MpsMode, SharingMode, SlicePeriod, TimeSlicing, WholeGpu,
};
use cotenant_core::units::{Bytes, Share};
use cotenant_report::{
    Export, ExportFormat, ExportOptions, ExportRefusal, PlanReport, export, plan_from_json,
    plan_to_json,
};
use jiff::civil::date;
use proptest::prelude::*;
use serde::Deserialize;

use crate::made_up_plans::{plan_samples, sharing_of, week};

const OPTIONS: ExportOptions<'_> =
    ExportOptions { node: Some("gpu1"), account: None, namespace: "gpu-operator" };

fn shared_by(mode: SharingMode) -> PlanReport {
    let mut sample = plan_samples().swap_remove(0);
    sample.sharing = sharing_of(mode);
    sample.report()
}

fn written(report: &PlanReport, format: ExportFormat) -> Export {
    export(report, format, &OPTIONS).unwrap()
}

fn instance(profile: &str, workload: Option<&str>) -> MigInstance {
    MigInstance {
        profile: profile.to_owned(),
        placement: None,
        workload: workload.map(str::to_owned),
    }
}

fn mig() -> PlanReport {
    shared_by(SharingMode::Mig(vec![
        MigGpu {
            gpus: vec![0, 1],
            instances: vec![
                instance("3g.71gb", Some("chat")),
                instance("2g.35gb", Some("fine-tune")),
                instance("1g.18gb", None),
                instance("1g.18gb", None),
            ],
        },
        MigGpu { gpus: vec![2], instances: vec![instance("1g.18gb+me", Some("chat"))] },
    ]))
}

fn mps(percentages: &[(&str, f64)]) -> PlanReport {
    shared_by(SharingMode::Mps(MpsMode::Default {
        percentages: percentages
            .iter()
            .map(|(name, share)| ((*name).to_owned(), Share::new(*share).unwrap()))
            .collect(),
        memory_limits: BTreeMap::from([("chat".to_owned(), Bytes(100 << 30))]),
    }))
}

fn mps_static() -> PlanReport {
    shared_by(SharingMode::Mps(MpsMode::Static {
        partitions: BTreeMap::from([("chat".to_owned(), 10), ("fine-tune".to_owned(), 6)]),
        memory_limits: BTreeMap::new(),
    }))
}

fn time_slicing(replicas: Option<u32>) -> PlanReport {
    shared_by(SharingMode::TimeSlicing(TimeSlicing {
        replicas,
        slice: Some(SlicePeriod::Short),
        ..TimeSlicing::default()
    }))
}

#[test]
fn files_are_as_they_were() {
    let week = plan_samples()[0].report();
    let head = |text: &str, lines: usize| text.lines().take(lines).collect::<Vec<_>>().join("\n");
    for (name, text) in [
        ("csv", head(&written(&week, ExportFormat::Csv).text, 12)),
        ("ical", head(&written(&week, ExportFormat::Ical).text, 34)),
        ("slurm", head(&written(&week, ExportFormat::Slurm).text, 24)),
        ("slurm-mig", head(&written(&mig(), ExportFormat::Slurm).text, 16)),
        ("slurm-mps", head(&written(&mps(&[("chat", 0.6)]), ExportFormat::Slurm).text, 12)),
        ("slurm-shard", head(&written(&time_slicing(Some(4)), ExportFormat::Slurm).text, 12)),
        ("mig-parted", written(&mig(), ExportFormat::MigParted).text),
        ("gpu-operator", written(&mig(), ExportFormat::GpuOperator).text),
        ("device-plugin-mig", written(&mig(), ExportFormat::DevicePlugin).text),
        ("device-plugin-slices", written(&time_slicing(Some(4)), ExportFormat::DevicePlugin).text),
        (
            "device-plugin-mps",
            written(&mps(&[("chat", 0.6), ("fine-tune", 0.4)]), ExportFormat::DevicePlugin).text,
        ),
        ("mps", written(&mps(&[("chat", 0.6), ("fine-tune", 0.4)]), ExportFormat::Mps).text),
        ("mps-static", written(&mps_static(), ExportFormat::Mps).text),
    ] {
        insta::assert_snapshot!(format!("export-{name}"), text);
    }
}

#[test]
fn a_saved_plan_exports_the_same_bytes() {
    let report = mig();
    let saved = plan_from_json(&plan_to_json(&report)).unwrap();
    for format in ExportFormat::ALL {
        assert_eq!(export(&report, format, &OPTIONS), export(&saved, format, &OPTIONS));
    }
}

#[test]
fn each_export_says_what_it_cannot_express() {
    for report in [mig(), mps(&[("a", 0.5), ("b", 0.5)]), time_slicing(Some(2))] {
        for format in ExportFormat::ALL {
            if let Ok(file) = export(&report, format, &OPTIONS) {
                assert!(!file.limits.is_empty(), "{}", format.name());
            }
        }
    }
}

#[test]
fn formats_are_found_by_their_names() {
    for format in ExportFormat::ALL {
        assert_eq!(ExportFormat::parse(format.name()), Some(format));
    }
    assert_eq!(ExportFormat::parse("pdf"), None);
}

/// What a plan cannot be written as, and whether the message tells the way out.
#[test]
fn refusals_name_the_way_out() {
    let whole = shared_by(SharingMode::WholeGpu(WholeGpu::default()));
    let nothing = plan_samples()[2].report();
    for (report, format, says) in [
        (&whole, ExportFormat::MigParted, "declare `sharing: mig`"),
        (&whole, ExportFormat::GpuOperator, "declare `sharing: mig`"),
        (&whole, ExportFormat::DevicePlugin, "whole GPUs need no such file"),
        (&whole, ExportFormat::Mps, "declare `sharing: mps`"),
        (&nothing, ExportFormat::Csv, "needs a calendar"),
        (&nothing, ExportFormat::Ical, "needs a calendar"),
        (&nothing, ExportFormat::Slurm, "needs a calendar"),
        (&time_slicing(None), ExportFormat::DevicePlugin, "declare `replicas:`"),
        (&time_slicing(Some(1)), ExportFormat::DevicePlugin, "at least 2"),
        (&mps_static(), ExportFormat::DevicePlugin, "the `mps` export"),
    ] {
        let error = export(report, format, &OPTIONS).unwrap_err().to_string();
        assert!(error.contains(says), "{}: {error}", format.name());
    }
    let week = plan_samples()[0].report();
    let error = export(&week, ExportFormat::Slurm, &ExportOptions::default()).unwrap_err();
    assert!(matches!(error, ExportRefusal::Missing { .. }), "{error}");
}

#[test]
fn layouts_that_no_tool_takes_are_refused() {
    let layout = |gpus: &[u32], profiles: &[&str]| MigGpu {
        gpus: gpus.to_vec(),
        instances: profiles.iter().map(|profile| instance(profile, None)).collect(),
    };
    for (layouts, says) in [
        (vec![layout(&[0], &["1g.18gb"]), layout(&[0], &["3g.71gb"])], "two layouts"),
        (vec![layout(&[8], &["1g.18gb"])], "not one of 8 GPUs"),
        (vec![layout(&[0], &[])], "without an instance"),
    ] {
        let report = shared_by(SharingMode::Mig(layouts));
        let error = export(&report, ExportFormat::MigParted, &OPTIONS).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn more_replicas_than_the_plugin_takes_are_refused() {
    let names: Vec<String> = (0..49).map(|index| format!("w{index:02}")).collect();
    let shares: Vec<_> = names.iter().map(|name| (name.as_str(), 0.02)).collect();
    let error = export(&mps(&shares), ExportFormat::DevicePlugin, &OPTIONS).unwrap_err();
    // The 49 workloads and chat, which has a memory limit alone.
    assert!(error.to_string().contains("50 replicas"), "{error}");
}

#[test]
fn csv_has_a_line_for_each_window_and_gpu() {
    let sample = plan_samples().swap_remove(0);
    let calendar = sample.plan.calendar.as_ref().unwrap();
    let text = written(&sample.report(), ExportFormat::Csv).text;
    assert!(text.ends_with("\r\n"));
    let mut lines = text.split("\r\n");
    let head: Vec<_> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|title| *title == name).unwrap();
    let lines: Vec<Vec<&str>> =
        lines.filter(|line| !line.is_empty()).map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 336 * 8);
    for (index, fields) in lines.iter().enumerate() {
        let (window, gpu) = (index / 8, index % 8);
        assert_eq!(fields[column("gpu")], gpu.to_string());
        assert_eq!(
            fields[column("start_utc")].parse::<jiff::Timestamp>().unwrap(),
            calendar.grid.windows[window].start
        );
        let holder = match calendar.holders[window][gpu] {
            Holder::Inference(_) => "reserved",
            Holder::HotReserve(_) => "hot_reserve",
            Holder::Job(_) => "job",
            Holder::Lent(_) => "lent",
            Holder::Idle => "idle",
            Holder::Maintenance => "maintenance",
        };
        assert_eq!(fields[column("holder")], holder);
    }
}

/// The events of an iCalendar text, unfolded, each as its properties.
fn events(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut events = Vec::new();
    for line in text.replace("\r\n ", "").split("\r\n") {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        match (name, value) {
            ("BEGIN", "VEVENT") => events.push(BTreeMap::new()),
            _ => {
                if let Some(event) = events.last_mut() {
                    event.insert(name.to_owned(), value.to_owned());
                }
            }
        }
    }
    events
}

#[test]
fn ical_lines_are_short_and_its_events_are_the_calendar_s() {
    let sample = plan_samples().swap_remove(0);
    let calendar = sample.plan.calendar.as_ref().unwrap();
    let text = written(&sample.report(), ExportFormat::Ical).text;
    assert!(text.starts_with("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"));
    assert!(text.ends_with("END:VCALENDAR\r\n"));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "no bare line feed");
    for line in text.split("\r\n") {
        assert!(line.len() <= 75, "{line:?}");
    }
    let events = events(&text);
    let uids: BTreeSet<_> = events.iter().map(|event| &event["UID"]).collect();
    assert_eq!(uids.len(), events.len(), "each event has a UID of its own");
    let mut gpu_hours = 0.0;
    for event in &events {
        let time = |name: &str| {
            jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", &event[name])
                .unwrap()
                .to_zoned_datetime(jiff::tz::TimeZone::UTC)
                .unwrap()
                .timestamp()
        };
        let hours = time("DTEND").duration_since(time("DTSTART")).as_secs_f64() / 3600.0;
        let gpus: f64 = event["SUMMARY"]
            .split(" · ")
            .nth(1)
            .and_then(|text| text.split(' ').next())
            .unwrap()
            .parse()
            .unwrap();
        gpu_hours += hours * gpus;
    }
    let held = calendar.holders.iter().flatten().filter(|holder| **holder != Holder::Idle);
    let expected = held.count() as f64 * 0.5;
    assert!((gpu_hours - expected).abs() < 1e-6, "{gpu_hours} of {expected}");
}

/// What `nvidia-mig-parted` takes (api/spec/v1), and nothing else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MigParted {
    version: String,
    #[serde(rename = "mig-configs")]
    mig_configs: BTreeMap<String, Vec<MigRule>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MigRule {
    devices: Vec<u32>,
    mig_enabled: bool,
    mig_devices: BTreeMap<String, u32>,
}

fn check_mig_parted(text: &str) -> MigParted {
    let spec: MigParted = serde_saphyr::from_str(text).unwrap();
    assert_eq!(spec.version, "v1");
    for rule in spec.mig_configs.values().flatten() {
        assert_eq!(rule.mig_enabled, !rule.mig_devices.is_empty(), "{rule:?}");
        assert!(rule.mig_devices.values().all(|count| *count > 0));
    }
    spec
}

#[test]
fn mig_parted_reads_the_declared_layout() {
    let spec = check_mig_parted(&written(&mig(), ExportFormat::MigParted).text);
    let rules = &spec.mig_configs["cotenant-made-up-server"];
    assert_eq!(rules[0].devices, [0, 1]);
    assert_eq!(rules[0].mig_devices["1g.18gb"], 2);
    assert_eq!(rules[1].mig_devices["1g.18gb+me"], 1);
    assert_eq!(rules[2].devices, [3, 4, 5, 6, 7], "the others stay whole");
    assert!(!rules[2].mig_enabled);
}

#[test]
fn the_config_map_holds_what_mig_parted_reads() {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ConfigMap {
        api_version: String,
        kind: String,
        metadata: BTreeMap<String, String>,
        data: BTreeMap<String, String>,
    }
    let text = written(&mig(), ExportFormat::GpuOperator).text;
    let map: ConfigMap = serde_saphyr::from_str(&text).unwrap();
    assert_eq!((map.api_version.as_str(), map.kind.as_str()), ("v1", "ConfigMap"));
    let name = &map.metadata["name"];
    assert!(name.len() <= 63 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
    let spec = check_mig_parted(&map.data["config.yaml"]);
    assert!(spec.mig_configs.contains_key(name));
}

/// What the device plugin takes, and nothing else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DevicePlugin {
    version: String,
    flags: Option<BTreeMap<String, String>>,
    sharing: Option<PluginSharing>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PluginSharing {
    time_slicing: Option<Replicated>,
    mps: Option<Replicated>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Replicated {
    rename_by_default: bool,
    fail_requests_greater_than_one: Option<bool>,
    resources: Vec<ReplicatedResource>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplicatedResource {
    name: String,
    replicas: u32,
}

#[test]
fn the_device_plugin_is_told_one_way_of_sharing() {
    let read = |report: &PlanReport| -> DevicePlugin {
        let text = written(report, ExportFormat::DevicePlugin).text;
        let config: DevicePlugin = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(config.version, "v1");
        config
    };
    let slices = read(&time_slicing(Some(4))).sharing.unwrap();
    let shared = slices.time_slicing.unwrap();
    assert!(slices.mps.is_none(), "time-slicing or MPS, never both");
    assert_eq!(shared.resources[0].name, "nvidia.com/gpu");
    assert_eq!(shared.resources[0].replicas, 4);
    assert_eq!(shared.fail_requests_greater_than_one, Some(true));
    assert!(shared.rename_by_default);

    let even = mps(&[("chat", 0.5), ("fine-tune", 0.5)]);
    let shared = read(&even).sharing.unwrap();
    assert!(shared.time_slicing.is_none());
    assert_eq!(shared.mps.unwrap().resources[0].replicas, 2);
    let limits = written(&even, ExportFormat::DevicePlugin).limits.join(" ");
    assert!(!limits.contains("cannot express it"), "even shares are expressed: {limits}");
    let limits = written(&mps(&[("a", 0.7), ("chat", 0.3)]), ExportFormat::DevicePlugin).limits;
    assert_eq!(limits.iter().filter(|limit| limit.contains("cannot express it")).count(), 2);

    let config = read(&mig());
    assert!(config.sharing.is_none(), "no MPS beside MIG");
    assert_eq!(config.flags.unwrap()["migStrategy"], "mixed");
}

/// Whether a shell reads the script; it runs nothing.
fn shell_reads(script: &str) -> bool {
    use std::io::Write as _;
    let mut shell = Command::new("sh")
        .args(["-n"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a POSIX system has sh");
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    shell.wait().unwrap().success()
}

#[test]
fn a_shell_reads_the_scripts_whatever_the_names() {
    assert!(!shell_reads("if true; then"), "the check can fail");
    let mut sample = plan_samples().swap_remove(0);
    for tenant in &mut sample.plan.calendar.as_mut().unwrap().tenants {
        tenant.workload = "it's $(rm) `x` \"q\"\nnew".to_owned();
        tenant.name = tenant.workload.clone();
    }
    assert!(shell_reads(&written(&sample.report(), ExportFormat::Slurm).text));
    assert!(shell_reads(&written(&mps_static(), ExportFormat::Mps).text));
    assert!(shell_reads(&written(&mps(&[("it's", 0.4)]), ExportFormat::Mps).text));
}

#[test]
fn reservations_ask_for_the_gpus_that_are_held() {
    let report = plan_samples()[0].report();
    let text = written(&report, ExportFormat::Slurm).text;
    let lines: Vec<_> = text.lines().filter(|line| line.contains("create reservation")).collect();
    let holds = &report.calendar.as_ref().unwrap().holds;
    assert_eq!(lines.len(), holds.len());
    for (line, hold) in lines.iter().zip(holds) {
        let start = hold.from.at.trim_end_matches('Z');
        assert!(line.starts_with("TZ=UTC scontrol"), "{line}");
        assert!(line.contains(&format!("StartTime={start} ")), "{line}");
        match hold.tenant {
            Some(_) => {
                let gpus = hold.gpus.len() + hold.loose_gpus.len();
                assert!(line.contains(&format!("Licenses=cotenant_gpu:{gpus} ")), "{line}");
            }
            None => assert!(line.contains("Nodes='gpu1'"), "{line}"),
        }
    }
    let names: BTreeSet<_> =
        lines.iter().filter_map(|line| line.split("ReservationName=").nth(1)).collect();
    assert_eq!(names.len(), lines.len(), "each reservation has a name of its own");
}

/// The fields of a CSV text (RFC 4180), line by line.
fn csv_fields(text: &str) -> Vec<Vec<String>> {
    let mut lines = vec![vec![String::new()]];
    let mut letters = text.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        let line = lines.last_mut().unwrap();
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                line.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => line.push(String::new()),
            '\r' if !quoted && letters.peek() == Some(&'\n') => {
                letters.next();
                lines.push(vec![String::new()]);
            }
            letter => line.last_mut().unwrap().push(letter),
        }
    }
    assert!(!quoted, "every quote is closed");
    lines.pop();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_name_survives_the_files(name in any::<String>(), site in "\\PC{0,90}") {
        let mut sample = plan_samples().swap_remove(0);
        sample.plan = week(date(2026, 11, 2), 2, 60);
        for tenant in &mut sample.plan.calendar.as_mut().unwrap().tenants {
            tenant.name = format!("{name} {}", tenant.name);
        }
        let mut report = sample.report();
        report.site = site;
        let tenants = &report.calendar.as_ref().unwrap().tenants;

        let lines = csv_fields(&written(&report, ExportFormat::Csv).text);
        prop_assert_eq!(lines.len(), 1 + 48 * 8);
        for line in &lines {
            prop_assert_eq!(line.len(), lines[0].len());
        }
        prop_assert_eq!(&lines[1][6], &tenants[0].name);

        let text = written(&report, ExportFormat::Ical).text;
        for line in text.split("\r\n") {
            prop_assert!(line.len() <= 75, "{line:?}");
            prop_assert!(!line.contains(char::is_control), "{line:?}");
        }
        let events = events(&text);
        prop_assert_eq!(events.len(), report.calendar.as_ref().unwrap().holds.len());
        let uids: BTreeSet<_> = events.iter().map(|event| &event["UID"]).collect();
        prop_assert_eq!(uids.len(), events.len());

        // A line of the script is a comment or a command of ours, whatever is in a name.
        for line in written(&report, ExportFormat::Slurm).text.lines() {
            let ours = ["#", "set -eu", "TZ=UTC scontrol create reservation"];
            prop_assert!(line.is_empty() || ours.iter().any(|head| line.starts_with(head)));
        }
    }
}
