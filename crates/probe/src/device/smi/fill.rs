//! From a tree of names to the model: one table of names for `-q`, `-q -x` and `--query-gpu`.
//!
//! Names differ between the three forms and between versions, so each field lists all of its names;
//! the first that is there counts. Names of `--query-gpu` have dots, the others are paths.

use super::error::DeviceError;
use super::model::{
    ClockLimit, Clocks, DeviceProcess, DeviceReport, Ecc, Gpu, LimitState, Memory, MigDevice,
    Power, Problem, Source, Switch, Temperature, Utilization,
};
use super::reading::{Absence, Reading, Unit};
use super::tree::{self, Node};
use super::unreachable::unreachable;

const WAY_OUT: &str =
    "give what `nvidia-smi -q` or `nvidia-smi -q -x` printed, from its first line";

/// Reads what `nvidia-smi -q` prints.
///
/// # Errors
/// A text that describes no GPU.
pub(super) fn read_query(text: &str) -> Result<DeviceReport, DeviceError> {
    report(&tree::of_text(text)?, Source::Query)
}

/// Reads what `nvidia-smi -q -x` prints.
///
/// # Errors
/// XML that is not well formed, with its line, and a document that describes no GPU.
pub(super) fn read_xml(text: &str) -> Result<DeviceReport, DeviceError> {
    let (root, schema) = tree::of_xml(text)?;
    report(&root, Source::Xml { schema })
}

fn report(root: &Node, source: Source) -> Result<DeviceReport, DeviceError> {
    let mut filler = Filler::default();
    // From R610 on the driver's version is called the kernel module's, and the old line says that it will go.
    let attached = filler.count(root, &["attached_gpus"]);
    let mut report = DeviceReport {
        source,
        printed_at: text(root, &["timestamp"]),
        driver: text(root, &["kmd_version", "driver_version"]),
        cuda: text(root, &["cuda_umd_version", "cuda_version"]),
        gpus_attached: attached,
        gpus: Vec::new(),
        unreachable: Vec::new(),
        topology: Err(Absence::NotPrinted),
        problems: Vec::new(),
    };
    for node in &root.children {
        if let Some(lost) = unreachable(&node.label, node.line) {
            report.unreachable.push(lost);
        } else if node.name == "gpu" || node.label.starts_with("GPU ") {
            report.gpus.push(filler.gpu(node));
        }
    }
    if report.gpus.is_empty() && report.unreachable.is_empty() && report.gpus_attached != Ok(0) {
        return Err(DeviceError::line(1, "no GPU is described", "", WAY_OUT));
    }
    let described = report.gpus.len() + report.unreachable.len();
    if let Ok(attached) = report.gpus_attached
        && attached as usize != described
    {
        filler.problems.push(Problem {
            line: root.child("attached_gpus").map_or(1, |node| node.line),
            message: format!(
                "{attached} GPUs are attached and {described} described: the text is cut off, or a GPU \
                 does not answer; print it again, and look for Xid lines in the kernel's log"
            ),
        });
    }
    report.problems = filler.problems;
    Ok(report)
}

/// The value at the first of some paths that is printed.
fn text(node: &Node, paths: &[&str]) -> Reading<String> {
    let found = find(node, paths)?;
    match Absence::of(&found.text) {
        Some(absence) => Err(absence),
        None => Ok(found.text.clone()),
    }
}

fn find<'a>(node: &'a Node, paths: &[&str]) -> Reading<&'a Node> {
    let mut reason = Absence::NotPrinted;
    for path in paths {
        match node.at(path) {
            Ok(found) => return Ok(found),
            // A section that is absent as a whole knows more than a name that is not used here.
            Err(Absence::NotPrinted) => {}
            Err(other) => reason = other,
        }
    }
    Err(reason)
}

/// Makes the model, and keeps what it did not understand.
#[derive(Default)]
pub(super) struct Filler {
    pub problems: Vec<Problem>,
}

impl Filler {
    /// A value that is printed and not understood: it is told, and kept as it was printed.
    fn odd<T>(&mut self, node: &Node, problem: &str) -> Reading<T> {
        let shown: String = node.text.chars().take(80).collect();
        self.problems.push(Problem {
            line: node.line,
            message: format!(
                "{}: {problem}: «{shown}»; it is left out, look at the line or print it again",
                node.label
            ),
        });
        Err(Absence::Said(shown))
    }

    fn number(&mut self, node: &Node, paths: &[&str], unit: Unit) -> Reading<f64> {
        let found = find(node, paths)?;
        if let Some(absence) = Absence::of(&found.text) {
            return Err(absence);
        }
        match unit.parse(&found.text) {
            Ok(value) => Ok(value),
            Err(problem) => self.odd(found, &problem),
        }
    }

    fn count(&mut self, node: &Node, paths: &[&str]) -> Reading<u32> {
        let found = find(node, paths)?;
        if let Some(absence) = Absence::of(&found.text) {
            return Err(absence);
        }
        match found.text.parse() {
            Ok(value) => Ok(value),
            Err(_) => self.odd(found, "a whole number was expected"),
        }
    }

    fn flag(&mut self, node: &Node, paths: &[&str]) -> Reading<bool> {
        let found = find(node, paths)?;
        if let Some(absence) = Absence::of(&found.text) {
            return Err(absence);
        }
        match found.text.trim_end_matches('*').trim() {
            "Enabled" | "Active" | "Yes" | "On" => Ok(true),
            "Disabled" | "Not Active" | "No" | "Off" => Ok(false),
            _ => self.odd(found, "Enabled or Disabled was expected"),
        }
    }

    /// One GPU of a tree, or one row of `--query-gpu`.
    pub(super) fn gpu(&mut self, node: &Node) -> Gpu {
        let bus_id = match text(node, &["pci/bus_id", "pci/pci_bus_id", "pci.bus_id", "id"]) {
            Err(Absence::NotPrinted) => {
                node.label.strip_prefix("GPU ").map(str::to_owned).ok_or(Absence::NotPrinted)
            }
            other => other,
        };
        let mig = self.switch(
            node,
            &["mig_mode/current", "mig_mode/current_mig", "mig.mode.current"],
            &["mig_mode/pending", "mig_mode/pending_mig", "mig.mode.pending"],
        );
        Gpu {
            line: node.line,
            index: self.count(node, &["index"]),
            uuid: text(node, &["gpu_uuid", "uuid"]),
            name: text(node, &["product_name", "name"]),
            bus_id,
            pci_device: text(node, &["pci/device_id", "pci/pci_device_id", "pci.device_id"]),
            memory: self.memory(node, "fb_memory_usage"),
            utilization: self.utilization(node),
            power: self.power(node),
            temperature: self.temperature(node),
            clocks: self.clocks(node),
            performance_state: text(node, &["performance_state", "pstate"]),
            clock_limits: self.clock_limits(node),
            persistence: self.flag(node, &["persistence_mode"]),
            compute_mode: text(node, &["compute_mode"]),
            mig_devices: self.mig_devices(node, &mig),
            mig,
            mig_profiles: Err(Absence::NotPrinted),
            ecc: self.ecc(node),
            recovery: recovery(node),
            processes: self.processes(node),
            links: Err(Absence::NotPrinted),
        }
    }

    fn switch(&mut self, node: &Node, current: &[&str], pending: &[&str]) -> Switch {
        Switch { current: self.flag(node, current), pending: self.flag(node, pending) }
    }

    fn memory(&mut self, node: &Node, section: &str) -> Memory {
        let mut of = |field: &str| {
            let path = format!("{section}/{field}");
            let flat = format!("memory.{field}");
            self.number(node, &[&path, &flat], Unit::Mebibytes)
        };
        Memory {
            total_mib: of("total"),
            reserved_mib: of("reserved"),
            used_mib: of("used"),
            free_mib: of("free"),
        }
    }

    fn utilization(&mut self, node: &Node) -> Utilization {
        let mut of = |field: &str| {
            let text = format!("utilization/{field}");
            let xml = format!("utilization/{field}_util");
            let flat = format!("utilization.{field}");
            self.number(node, &[&text, &xml, &flat], Unit::Percent)
        };
        Utilization {
            gpu_percent: of("gpu"),
            memory_percent: of("memory"),
            encoder_percent: of("encoder"),
            decoder_percent: of("decoder"),
        }
    }

    fn power(&mut self, node: &Node) -> Power {
        // Drivers before 535 have one section of power, later ones tell GPU and module apart.
        let mut of = |names: &[&str], flat: &str| {
            let mut paths: Vec<String> = Vec::new();
            for section in ["gpu_power_readings", "power_readings"] {
                paths.extend(names.iter().map(|name| format!("{section}/{name}")));
            }
            paths.push(flat.to_owned());
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            self.number(node, &paths, Unit::Watts)
        };
        Power {
            draw_w: of(&["power_draw"], "power.draw"),
            average_w: of(&["average_power_draw"], "power.draw.average"),
            instant_w: of(
                &["instantaneous_power_draw", "instant_power_draw"],
                "power.draw.instant",
            ),
            limit_w: of(
                &[
                    "current_power_limit",
                    // Where a ceiling and a base are told apart, the ceiling is the limit.
                    "gpu_ceiling_power_limit/current_power_limit",
                    "enforced_power_limit",
                    "power_limit",
                ],
                "enforced.power.limit",
            ),
            default_limit_w: of(
                &["default_power_limit", "gpu_ceiling_power_limit/default_power_limit"],
                "power.default_limit",
            ),
            limit_min_w: of(&["min_power_limit"], "power.min_limit"),
            limit_max_w: of(&["max_power_limit"], "power.max_limit"),
        }
    }

    fn temperature(&mut self, node: &Node) -> Temperature {
        let mut of = |paths: &[&str]| self.number(node, paths, Unit::Celsius);
        Temperature {
            gpu_c: of(&["temperature/gpu_current_temp", "temperature/gpu_temp", "temperature.gpu"]),
            gpu_margin_c: of(&[
                "temperature/gpu_t.limit_temp",
                "temperature/gpu_current_t.limit_temp",
                "temperature/gpu_temp_tlimit",
                "temperature.gpu.tlimit",
            ]),
            memory_c: of(&[
                "temperature/memory_current_temp",
                "temperature/memory_temp",
                "temperature.memory",
            ]),
        }
    }

    fn clocks(&mut self, node: &Node) -> Clocks {
        let mut of = |section: &str, text: &str, xml: &str, flat: &[&str]| {
            let (text, xml) = (format!("{section}/{text}"), format!("{section}/{xml}"));
            let mut paths = vec![text.as_str(), xml.as_str()];
            paths.extend(flat);
            self.number(node, &paths, Unit::Megahertz)
        };
        let now = "clocks";
        let most = "max_clocks";
        Clocks {
            graphics_mhz: of(
                now,
                "graphics",
                "graphics_clock",
                &["clocks.current.graphics", "clocks.gr"],
            ),
            sm_mhz: of(now, "sm", "sm_clock", &["clocks.current.sm", "clocks.sm"]),
            memory_mhz: of(now, "memory", "mem_clock", &["clocks.current.memory", "clocks.mem"]),
            video_mhz: of(now, "video", "video_clock", &["clocks.current.video", "clocks.video"]),
            sm_max_mhz: of(most, "sm", "sm_clock", &["clocks.max.sm"]),
            memory_max_mhz: of(
                most,
                "memory",
                "mem_clock",
                &["clocks.max.memory", "clocks.max.mem"],
            ),
        }
    }

    fn clock_limits(&mut self, node: &Node) -> Vec<LimitState> {
        let sections = ["clocks_event_reasons", "clocks_throttle_reasons"];
        let mut states = Vec::new();
        for section in node.children.iter().filter(|child| sections.contains(&child.name.as_str()))
        {
            self.clock_limits_below(section, &mut states);
        }
        for cell in &node.children {
            let name = sections.iter().find_map(|head| {
                cell.name.strip_prefix(head).and_then(|rest| rest.strip_prefix('.'))
            });
            match name {
                // Two bit masks of the same facts.
                None | Some("supported" | "active") => {}
                Some(name) => states.push(self.clock_limit(cell, name)),
            }
        }
        states
    }

    /// Thermal slowdown and power brake stand below the slowdown in `-q`, beside it in the others.
    fn clock_limits_below(&mut self, section: &Node, states: &mut Vec<LimitState>) {
        for child in &section.children {
            let name = child
                .name
                .strip_prefix("clocks_event_reason_")
                .or_else(|| child.name.strip_prefix("clocks_throttle_reason_"))
                .unwrap_or(&child.name);
            states.push(self.clock_limit(child, name));
            self.clock_limits_below(child, states);
        }
    }

    fn clock_limit(&mut self, node: &Node, name: &str) -> LimitState {
        let limit = match name {
            "idle" | "gpu_idle" => ClockLimit::Idle,
            "applications_clocks_setting" => ClockLimit::ApplicationClocks,
            "sw_power_cap" => ClockLimit::SoftwarePowerCap,
            "hw_slowdown" => ClockLimit::HardwareSlowdown,
            "hw_thermal_slowdown" => ClockLimit::HardwareThermal,
            "hw_power_brake_slowdown" => ClockLimit::HardwarePowerBrake,
            "sync_boost" => ClockLimit::SyncBoost,
            "sw_thermal_slowdown" => ClockLimit::SoftwareThermal,
            "display_clock_setting" | "display_clocks_setting" => ClockLimit::DisplayClocks,
            _ => {
                self.problems.push(Problem {
                    line: node.line,
                    message: format!(
                        "{}: no limit of clocks that is known; it is kept under its own name, and \
                         stands for no other",
                        node.label
                    ),
                });
                ClockLimit::Other(node.label.clone())
            }
        };
        LimitState { limit, is_active: self.own_flag(node) }
    }

    fn own_flag(&mut self, node: &Node) -> Reading<bool> {
        match node.text.as_str() {
            "Active" => Ok(true),
            "Not Active" => Ok(false),
            text => match Absence::of(text) {
                Some(absence) => Err(absence),
                None => self.odd(node, "Active or Not Active was expected"),
            },
        }
    }

    fn ecc(&mut self, node: &Node) -> Ecc {
        let mode = self.switch(
            node,
            &["ecc_mode/current", "ecc_mode/current_ecc", "ecc.mode.current"],
            &["ecc_mode/pending", "ecc_mode/pending_ecc", "ecc.mode.pending"],
        );
        let errors = find(node, &["ecc_errors/volatile"]);
        let (corrected, uncorrected) = match errors {
            Ok(errors) => (
                self.errors(errors, "single_bit", |name| name.ends_with("_correctable")),
                self.errors(errors, "double_bit", |name| name.contains("_uncorrectable")),
            ),
            Err(_) => (
                self.number(node, &["ecc.errors.corrected.volatile.total"], Unit::Count),
                self.number(node, &["ecc.errors.uncorrected.volatile.total"], Unit::Count),
            ),
        };
        Ecc { mode, corrected, uncorrected }
    }

    /// The total of an old section, or the sum of the counters of a new one.
    fn errors(&mut self, errors: &Node, old: &str, is_of: fn(&str) -> bool) -> Reading<f64> {
        if let Some(section) = errors.child(old) {
            return self.number(section, &["total"], Unit::Count);
        }
        let mut sum = Err(Absence::NotPrinted);
        for counter in errors.children.iter().filter(|child| is_of(&child.name)) {
            let value = self.number(errors, &[&counter.name], Unit::Count)?;
            sum = Ok(sum.unwrap_or(0.0) + value);
        }
        sum
    }

    fn mig_devices(&mut self, node: &Node, mig: &Switch) -> Reading<Vec<MigDevice>> {
        let inside = node.child("mig_devices").unwrap_or(node);
        let devices: Vec<MigDevice> = inside
            .children
            .iter()
            .filter(|child| child.name == "mig_device")
            .map(|device| self.mig_device(device))
            .collect();
        // A row of a table has no room for devices; a tree that knows the mode would have told them.
        let is_tree = node.child("mig_mode").is_some() || node.child("mig_devices").is_some();
        match &mig.current {
            _ if !devices.is_empty() => Ok(devices),
            Err(absence) if *absence != Absence::NotPrinted => Err(absence.clone()),
            _ if is_tree => Ok(devices),
            _ => Err(Absence::NotPrinted),
        }
    }

    fn mig_device(&mut self, node: &Node) -> MigDevice {
        let shared = "device_attributes/shared";
        let section = if node.child("fb_memory_usage").is_some() {
            "fb_memory_usage"
        } else {
            "shared_fb_memory_usage"
        };
        MigDevice {
            index: self.count(node, &["index"]),
            gpu_instance: self.count(node, &["gpu_instance_id"]),
            compute_instance: self.count(node, &["compute_instance_id"]),
            profile: Err(Absence::NotPrinted),
            placement: Err(Absence::NotPrinted),
            uuid: text(node, &["uuid", "mig_uuid"]),
            memory: self.memory(node, section),
            sms: self.count(node, &[&format!("{shared}/multiprocessor_count")]),
            copy_engines: self.count(node, &[&format!("{shared}/copy_engine_count")]),
        }
    }

    fn processes(&mut self, node: &Node) -> Reading<Vec<DeviceProcess>> {
        let section = find(node, &["processes"])?;
        if section.children.is_empty() {
            return match section.text.as_str() {
                "None" | "" => Ok(Vec::new()),
                text => Err(Absence::of(text).unwrap_or_else(|| Absence::Said(text.to_owned()))),
            };
        }
        let mut processes = Vec::new();
        // In `-q` the instances stand before the process that runs in them.
        let mut before = Node::default();
        for child in &section.children {
            match child.name.as_str() {
                "process_info" => processes.push(self.process(child)),
                "process_id" => {
                    before.children.extend(child.children.iter().cloned());
                    before.children.push(Node { children: Vec::new(), ..child.clone() });
                    processes.push(self.process(&before));
                    before = Node::default();
                }
                _ => before.children.push(child.clone()),
            }
        }
        Ok(processes)
    }

    /// One process: of a tree, or a row of `--query-compute-apps`.
    pub(super) fn process(&mut self, node: &Node) -> DeviceProcess {
        DeviceProcess {
            pid: self.count(node, &["pid", "process_id"]),
            kind: text(node, &["type"]),
            name: text(node, &["process_name", "name"]),
            memory_mib: self.number(node, &["used_memory", "used_gpu_memory"], Unit::Mebibytes),
            gpu_instance: self.count(node, &["gpu_instance_id"]),
            compute_instance: self.count(node, &["compute_instance_id"]),
            gpu_uuid: text(node, &["gpu_uuid"]),
        }
    }
}

/// Newer drivers name the action, older ones say whether a reset is required.
fn recovery(node: &Node) -> Reading<Option<String>> {
    match text(node, &["gpu_recovery_action"]) {
        Ok(action) => Ok((action != "None").then_some(action)),
        Err(Absence::NotPrinted) => text(node, &["gpu_reset_status/reset_required"])
            .map(|required| (required == "Yes").then(|| "Reset".to_owned())),
        Err(absence) => Err(absence),
    }
}
