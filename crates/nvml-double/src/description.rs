//! The host that the library answers as: a JSON file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// A host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What the description shows, for people.
    #[serde(default)]
    pub about: String,
    /// The driver's version.
    pub driver: String,
    /// The version of NVML.
    pub nvml: String,
    /// The CUDA version as a number, 13010 for 13.1.
    pub cuda: Option<i32>,
    /// Calls without a device that fail, by function: `"nvmlInit_v2": "driver_not_loaded"`.
    #[serde(default)]
    pub errors: BTreeMap<String, String>,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
}

/// What a GPU computes, for kernels that are run on the double of the CUDA driver.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// Its multiprocessors.
    pub multiprocessors: i32,
    /// Its second-level cache.
    pub l2_mib: i32,
    /// Operations a second: a kernel of arithmetic takes as long as that says.
    pub flop_per_s: f64,
    /// Bytes a second: the same for a copy.
    pub bytes_per_s: f64,
}

/// One GPU. What is left out is not supported.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The product's name.
    pub name: String,
    /// The UUID.
    pub uuid: String,
    /// The place on the bus.
    pub bus_id: String,
    /// Device and vendor, `0x233010DE`.
    pub pci_device: String,
    /// Memory.
    pub memory_mib: Memory,
    /// What it computes; without it CUDA does not see it.
    pub compute: Option<Compute>,
    /// Shares of GPU and memory, percent.
    pub utilization_percent: Option<(u32, u32)>,
    /// Shares of encoder and decoder, percent.
    pub video_percent: Option<(u32, u32)>,
    /// Power of `nvmlDeviceGetPowerUsage`, W.
    pub power_w: Option<f64>,
    /// The mean over a second, W.
    pub power_average_w: Option<f64>,
    /// Of the moment, W.
    pub power_instant_w: Option<f64>,
    /// The limit in force, W.
    pub power_limit_w: Option<f64>,
    /// Default, lowest and highest limit, W.
    pub power_limits_w: Option<(f64, f64, f64)>,
    /// Temperature, °C.
    pub temperature_c: Option<u32>,
    /// Degrees left until a slowdown, °C.
    pub margin_c: Option<i32>,
    /// Temperature of the memory, °C.
    pub memory_temperature_c: Option<u32>,
    /// Clocks, MHz.
    pub clocks_mhz: Option<Clocks>,
    /// The highest clocks, MHz.
    pub clocks_max_mhz: Option<Clocks>,
    /// The performance state.
    pub performance_state: Option<u32>,
    /// Bits of what holds clocks down.
    pub clock_limits: Option<u64>,
    /// Bits of what the card can tell of that.
    pub clock_limits_supported: Option<u64>,
    /// Persistence mode.
    pub persistence: Option<bool>,
    /// Compute mode, by its number.
    pub compute_mode: Option<u32>,
    /// Error correction.
    pub ecc: Option<Ecc>,
    /// What must be done to make it usable again, by its number.
    pub recovery: Option<u32>,
    /// MIG.
    pub mig: Option<Mig>,
    /// The processes.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// NVLinks.
    pub nvlink: Option<NvLinks>,
    /// The PCIe switch that it hangs on; GPUs with the same one reach each other over it.
    pub pcie_switch: Option<u32>,
    /// The first and the last CPU near to it.
    pub cpus: Option<(u32, u32)>,
    /// The NUMA node whose memory is near.
    pub numa: Option<u32>,
    /// The NUMA node that the GPU's own memory is, as on Grace Hopper.
    pub gpu_numa: Option<u32>,
    /// Calls that fail, by function; `*` is every one, `handle` that which gives the handle.
    #[serde(default)]
    pub errors: BTreeMap<String, String>,
    /// Calls after which the GPU is lost.
    pub lost_after_calls: Option<u64>,
}

/// Memory, MiB.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// What driver and firmware keep.
    pub reserved: u64,
    /// What is in use.
    pub used: u64,
    /// What is free; the driver rounds each by itself.
    pub free: u64,
}

/// Clocks, MHz.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Graphics.
    pub graphics: u32,
    /// Multiprocessors.
    pub sm: u32,
    /// Memory.
    pub memory: u32,
    /// Video engines.
    pub video: u32,
}

/// Error correction.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ecc {
    /// Whether it is on.
    pub current: bool,
    /// Whether it will be.
    pub pending: bool,
    /// Errors corrected since the driver was loaded.
    pub corrected: u64,
    /// Errors not corrected.
    pub uncorrected: u64,
}

/// MIG of one card.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mig {
    /// Whether it is on.
    pub current: bool,
    /// Whether it will be.
    pub pending: bool,
    /// Whether the driver tells where instances lie, as it does to administrators alone.
    #[serde(default)]
    pub is_administrator: bool,
    /// The profiles that the card offers.
    #[serde(default)]
    pub profiles: Vec<MigProfile>,
    /// The devices.
    #[serde(default)]
    pub devices: Vec<MigDevice>,
}

/// A profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigProfile {
    /// The name, `1g.10gb`.
    pub name: String,
    /// The id with which an instance is made.
    pub id: u32,
    /// The number with which it is asked for.
    pub number: u32,
    /// Compute slices.
    pub slices: u32,
    /// Multiprocessors.
    pub sms: u32,
    /// Copy engines.
    pub copy_engines: u32,
    /// Decoders, which JPEG decoders equal in number.
    pub decoders: u32,
    /// Optical flow accelerators.
    #[serde(default)]
    pub optical_flow: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Instances on one card, at most; as many as there are places, where it is left out.
    pub instances: Option<u32>,
    /// Where it may begin.
    pub starts: Vec<u32>,
    /// Units that it takes.
    pub size: u32,
}

/// A MIG device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigDevice {
    /// Its number on the card; its place in the list, where it is left out.
    pub index: Option<u32>,
    /// The UUID.
    pub uuid: String,
    /// The profile of its GPU instance.
    pub profile: String,
    /// Whether the driver puts the profile behind the product's name.
    #[serde(default = "yes")]
    pub is_named: bool,
    /// The GPU instance.
    pub gpu_instance: u32,
    /// The compute instance.
    pub compute_instance: u32,
    /// Compute slices of the compute instance; all of them, where it is left out.
    pub compute_slices: Option<u32>,
    /// Where the GPU instance begins.
    pub start: u32,
    /// Memory.
    pub memory_mib: Memory,
}

fn yes() -> bool {
    true
}

/// A process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// `C`, `G` or `M`.
    pub kind: char,
    /// Its name; left out, nobody may know it.
    pub name: Option<String>,
    /// Memory, MiB.
    pub memory_mib: Option<u64>,
    /// The GPU instance.
    pub gpu_instance: Option<u32>,
    /// The compute instance.
    pub compute_instance: Option<u32>,
}

/// NVLinks of one GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLinks {
    /// How many.
    pub count: u32,
    /// Links that are not active, by number.
    #[serde(default)]
    pub inactive: Vec<u32>,
    /// Speed of each, MB/s.
    pub megabytes_per_s: u32,
    /// The bus ids at the other ends, in turn; none means switches.
    #[serde(default)]
    pub to: Vec<String>,
}

impl Host {
    /// Reads a description, with what stands under `each` given to every GPU that does not say it itself.
    ///
    /// # Errors
    /// What is wrong, with its place.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut document: Value = serde_json::from_str(text)?;
        let each = document.as_object_mut().and_then(|host| host.remove("each"));
        if let (Some(Value::Object(each)), Some(gpus)) =
            (each, document.get_mut("gpus").and_then(Value::as_array_mut))
        {
            for gpu in gpus.iter_mut().filter_map(Value::as_object_mut) {
                for (key, value) in &each {
                    gpu.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        serde_json::from_value(document)
    }
}
