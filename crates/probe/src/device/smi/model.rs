//! What is known of a machine's GPUs, whichever text said it, or the driver itself.

use cotenant_core::gpu::ListedProfile;

use super::nvlink::NvLink;
use super::reading::{Absence, Reading};
use super::topology::Topology;

/// Where a report comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `nvidia-smi -q`.
    Query,
    /// `nvidia-smi -q -x`, with the schema that the document names (`nvsmi_device_v12`), if it does.
    Xml {
        /// The schema's name without `.dtd`.
        schema: Option<String>,
    },
    /// `nvidia-smi --query-gpu=… --format=csv`.
    Csv,
    /// The driver's own library, asked on this machine.
    Nvml,
}

/// Everything that one text, or the driver, says of a machine's GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceReport {
    /// Where it comes from.
    pub source: Source,
    /// When it was printed, as it was printed: local time without a zone. Of a text alone.
    pub printed_at: Reading<String>,
    /// The driver's version.
    pub driver: Reading<String>,
    /// The newest CUDA version that the driver serves.
    pub cuda: Reading<String>,
    /// How many GPUs the driver says are attached.
    pub gpus_attached: Reading<u32>,
    /// The GPUs, in the order of the text.
    pub gpus: Vec<Gpu>,
    /// GPUs that are named only because they could not be reached.
    pub unreachable: Vec<Unreachable>,
    /// How GPUs reach each other, CPUs and memory: from NVML, or from `topo -m` joined to a text.
    pub topology: Reading<Box<Topology>>,
    /// What was there and not understood, and what contradicts itself.
    pub problems: Vec<Problem>,
}

/// A GPU of which the tool could say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// The line that says so, from 1.
    pub line: usize,
    /// Its place on the bus as printed.
    pub bus_id: String,
    /// Why.
    pub reason: Absence,
}

/// Something in a report that a reader must know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1; 0 where no text was read.
    pub line: usize,
    /// What is wrong, and the way out.
    pub message: String,
}

/// A mode as it is, and as it will be after the next reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Whether it is on now.
    pub current: Reading<bool>,
    /// Whether it is on after the next reset or reload.
    pub pending: Reading<bool>,
}

impl Switch {
    /// Whether a change waits for a reset: `nvidia-smi` marks it with a star (`Disabled*`).
    pub fn is_pending_change(&self) -> bool {
        matches!((&self.current, &self.pending), (Ok(now), Ok(then)) if now != then)
    }
}

/// Memory of a GPU or of a MIG device, MiB.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// All of it. Under MIG this is the whole card's on a card, the instance's on a MIG device.
    pub total_mib: Reading<f64>,
    /// What driver and firmware keep.
    pub reserved_mib: Reading<f64>,
    /// What is in use.
    pub used_mib: Reading<f64>,
    /// What is free.
    pub free_mib: Reading<f64>,
}

/// Shares of time in which something ran, percent. Absent on a card in MIG mode: there is no number,
/// and that is not idleness.
#[derive(Clone, Debug, PartialEq)]
pub struct Utilization {
    /// A kernel was running.
    pub gpu_percent: Reading<f64>,
    /// The memory was being read or written.
    pub memory_percent: Reading<f64>,
    /// Video encoder.
    pub encoder_percent: Reading<f64>,
    /// Video decoder.
    pub decoder_percent: Reading<f64>,
}

/// Power of the GPU (not of the module around it), watts.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// What is drawn, where the driver prints one number. It is a mean over a second on Ampere and
    /// later, apart from GA100, and of the moment elsewhere.
    pub draw_w: Reading<f64>,
    /// The mean over a second.
    pub average_w: Reading<f64>,
    /// Of the moment.
    pub instant_w: Reading<f64>,
    /// The limit in force.
    pub limit_w: Reading<f64>,
    /// The limit that the card comes with.
    pub default_limit_w: Reading<f64>,
    /// The lowest limit that can be set.
    pub limit_min_w: Reading<f64>,
    /// The highest limit that can be set.
    pub limit_max_w: Reading<f64>,
}

/// Temperatures, °C.
#[derive(Clone, Debug, PartialEq)]
pub struct Temperature {
    /// Of the GPU.
    pub gpu_c: Reading<f64>,
    /// Degrees that are left until the GPU slows down for heat.
    pub gpu_margin_c: Reading<f64>,
    /// Of the memory.
    pub memory_c: Reading<f64>,
}

/// Clocks, MHz.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocks {
    /// Graphics.
    pub graphics_mhz: Reading<f64>,
    /// Streaming multiprocessors.
    pub sm_mhz: Reading<f64>,
    /// Memory.
    pub memory_mhz: Reading<f64>,
    /// Video engines.
    pub video_mhz: Reading<f64>,
    /// The highest of the multiprocessors.
    pub sm_max_mhz: Reading<f64>,
    /// The highest of the memory.
    pub memory_max_mhz: Reading<f64>,
}

/// What holds clocks down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockLimit {
    /// Nothing runs.
    Idle,
    /// Clocks were set by an administrator.
    ApplicationClocks,
    /// The power limit.
    SoftwarePowerCap,
    /// Any slowdown by hardware.
    HardwareSlowdown,
    /// Heat, by hardware.
    HardwareThermal,
    /// The power brake from outside, such as the power supply.
    HardwarePowerBrake,
    /// Other GPUs of a group are slower.
    SyncBoost,
    /// Heat, by the driver.
    SoftwareThermal,
    /// A display.
    DisplayClocks,
    /// A name that is not known, as printed.
    Other(String),
}

impl ClockLimit {
    /// What holds the clocks down, in a few words.
    pub fn name(&self) -> &str {
        match self {
            Self::Idle => "idle",
            Self::ApplicationClocks => "clocks set by an administrator",
            Self::SoftwarePowerCap => "power cap",
            Self::HardwareSlowdown => "slowdown by hardware",
            Self::HardwareThermal => "thermal slowdown by hardware",
            Self::HardwarePowerBrake => "power brake",
            Self::SyncBoost => "a slower GPU of the group",
            Self::SoftwareThermal => "thermal slowdown",
            Self::DisplayClocks => "display",
            Self::Other(name) => name,
        }
    }
}

/// Whether a limit of clocks is active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitState {
    /// Which.
    pub limit: ClockLimit,
    /// Whether it holds clocks down now.
    pub is_active: Reading<bool>,
}

/// Error correction of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Ecc {
    /// Whether it is on.
    pub mode: Switch,
    /// Errors corrected since the driver was loaded; absent where any part of the sum is.
    pub corrected: Reading<f64>,
    /// Errors that could not be corrected since the driver was loaded; absent where any part is.
    pub uncorrected: Reading<f64>,
}

/// Where a GPU instance lies on its card's grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigPlacement {
    /// The unit in which it begins.
    pub start: u32,
    /// Units that it takes.
    pub size: u32,
}

/// One MIG device.
#[derive(Clone, Debug, PartialEq)]
pub struct MigDevice {
    /// Its number on its card.
    pub index: Reading<u32>,
    /// The GPU instance. The driver assigns it: it is no identity across a new layout.
    pub gpu_instance: Reading<u32>,
    /// The compute instance inside.
    pub compute_instance: Reading<u32>,
    /// The profile's name, `3g.40gb`; of texts only a listing (`-L`) prints it.
    pub profile: Reading<String>,
    /// Where its GPU instance lies; NVML alone says it, to an administrator.
    pub placement: Reading<MigPlacement>,
    /// The UUID; of texts only a listing prints it. It changes when the instance is made anew.
    pub uuid: Reading<String>,
    /// Memory of the GPU instance, which compute instances share.
    pub memory: Memory,
    /// Streaming multiprocessors.
    pub sms: Reading<u32>,
    /// Copy engines.
    pub copy_engines: Reading<u32>,
}

/// A process on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceProcess {
    /// The process id, in the namespace of the driver.
    pub pid: Reading<u32>,
    /// `C` computes, `G` draws, `M+C` computes through MPS.
    pub kind: Reading<String>,
    /// The name as printed, which may be cut.
    pub name: Reading<String>,
    /// Memory in use, MiB.
    pub memory_mib: Reading<f64>,
    /// The GPU instance it runs in.
    pub gpu_instance: Reading<u32>,
    /// The compute instance it runs in.
    pub compute_instance: Reading<u32>,
    /// The UUID of the card, where the text names it: under MIG that of the parent.
    pub gpu_uuid: Reading<String>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// The line on which it begins, from 1; 0 where no text was read.
    pub line: usize,
    /// Its number for `nvidia-smi -i`; `-q` does not print it (the minor number is another).
    pub index: Reading<u32>,
    /// The UUID, `GPU-…`.
    pub uuid: Reading<String>,
    /// The product's name.
    pub name: Reading<String>,
    /// The place on the bus, `00000000:53:00.0`.
    pub bus_id: Reading<String>,
    /// Device and vendor as PCI knows them, `0x233010DE`.
    pub pci_device: Reading<String>,
    /// Memory.
    pub memory: Memory,
    /// Utilisation.
    pub utilization: Utilization,
    /// Power.
    pub power: Power,
    /// Temperatures.
    pub temperature: Temperature,
    /// Clocks.
    pub clocks: Clocks,
    /// The performance state, `P0` to `P15`.
    pub performance_state: Reading<String>,
    /// What may hold clocks down, each with its state, in the order of the text.
    pub clock_limits: Vec<LimitState>,
    /// Whether the driver stays loaded without a client.
    pub persistence: Reading<bool>,
    /// `Default`, `Exclusive_Process` or `Prohibited`.
    pub compute_mode: Reading<String>,
    /// MIG mode.
    pub mig: Switch,
    /// The MIG devices.
    pub mig_devices: Reading<Vec<MigDevice>>,
    /// The profiles that the card can be divided into, and where they may lie; NVML alone says it here
    /// (of texts, `nvidia-smi mig -lgip` and `-lgipp` do).
    pub mig_profiles: Reading<Vec<ListedProfile>>,
    /// Error correction.
    pub ecc: Ecc,
    /// What the driver says must be done to make the GPU usable again; `None` means nothing.
    pub recovery: Reading<Option<String>>,
    /// The processes on it.
    pub processes: Reading<Vec<DeviceProcess>>,
    /// NVLink, from `nvlink -s`.
    pub links: Reading<Vec<NvLink>>,
}

impl Gpu {
    /// Whether it has fallen off the bus. It is there in every list, and says nothing.
    pub fn is_lost(&self) -> bool {
        let lost = Some(&Absence::Lost);
        self.name.as_ref().err() == lost
            || self.memory.total_mib.as_ref().err() == lost
            || self.temperature.gpu_c.as_ref().err() == lost
    }

    /// The limits of clocks that are active.
    pub fn active_limits(&self) -> impl Iterator<Item = &ClockLimit> {
        self.clock_limits.iter().filter(|state| state.is_active == Ok(true)).map(|one| &one.limit)
    }
}
