//! Hosts that are described here.

/// Eight H100 SXM under load, joined by NVSwitch, MIG off.
pub const H100_8: &str = include_str!("../hosts/h100-8.json");

/// The same host with four cards in MIG mode, in mixed profiles.
pub const H100_8_MIG: &str = include_str!("../hosts/h100-8-mig.json");

/// One H100 with four MIG devices under load, as the capture `linux-x86_64__nvidia-h100-mig__590.48.01`
/// of nvidia_gpu_exporter shows it; written down by hand.
pub const H100_MIG_CAPTURE: &str = include_str!("../hosts/h100-mig-capture.json");

/// Two H100 that compute, one of them with most of its memory in use.
pub const H100_2_COMPUTE: &str = include_str!("../hosts/h100-2-compute.json");

/// Eight H100 of which one is lost from the start, one is lost later, one may not be looked at, one is
/// throttled, and one has a limit that no name is known for.
pub const H100_8_FAULTS: &str = include_str!("../hosts/h100-8-faults.json");
