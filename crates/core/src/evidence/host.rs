//! Readings of the host, one a second. A source that cannot be read is a reading that says so:
//! it is never a zero.

/// Why a reading is missing, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub String);

/// A value, or the reason why there is none.
pub type Reading<T> = Result<T, Missing>;

/// One second of the host. Shares are of one second of the whole machine unless said.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSample {
    /// Nanoseconds from the block's start.
    pub at_ns: u64,
    /// Busy CPU of the whole machine since the previous sample, in cores.
    pub machine_cpu_cores: Reading<f64>,
    /// CPU stolen by the hypervisor since the previous sample, in cores.
    pub steal_cores: Reading<f64>,
    /// CPU of each supervised workload since the previous sample, in cores, by workload name.
    pub workload_cpu_cores: Vec<(String, Reading<f64>)>,
    /// Resident memory of each supervised workload, bytes, by workload name.
    pub workload_memory_bytes: Vec<(String, Reading<u64>)>,
    /// CPU of Cotenant itself since the previous sample, in cores.
    pub own_cpu_cores: Reading<f64>,
    /// CPU quota and throttling of the cgroup this process is in.
    pub cgroup_cpu: Reading<CgroupCpu>,
    /// Pressure stall information: CPU.
    pub pressure_cpu: Reading<Pressure>,
    /// Pressure stall information: memory.
    pub pressure_memory: Reading<Pressure>,
    /// Pressure stall information: io.
    pub pressure_io: Reading<Pressure>,
    /// Memory available without swapping, bytes.
    pub memory_available_bytes: Reading<u64>,
    /// Dirty page cache, bytes.
    pub dirty_bytes: Reading<u64>,
    /// Bytes read from block devices since the previous sample, per second.
    pub disk_read_bytes_per_s: Reading<f64>,
    /// Bytes written to block devices since the previous sample, per second.
    pub disk_write_bytes_per_s: Reading<f64>,
    /// Bytes received on all interfaces but loopback since the previous sample, per second.
    pub network_receive_bytes_per_s: Reading<f64>,
    /// Bytes sent on all interfaces but loopback since the previous sample, per second.
    pub network_transmit_bytes_per_s: Reading<f64>,
    /// Mean clock of the CPUs, MHz.
    pub cpu_clock_mhz: Reading<f64>,
    /// Runnable processes at the moment of the sample.
    pub run_queue: Reading<u32>,
}

impl HostSample {
    /// CPU used by processes that are neither Cotenant nor a supervised workload, in cores.
    pub fn foreign_cpu_cores(&self) -> Reading<f64> {
        let mut foreign = self.machine_cpu_cores.clone()? - self.own_cpu_cores.clone()?;
        for (_, cores) in &self.workload_cpu_cores {
            foreign -= cores.clone()?;
        }
        Ok(foreign.max(0.0))
    }
}

/// CPU bandwidth control of a cgroup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgroupCpu {
    /// Quota in cores; `None` where there is no limit.
    pub quota_cores: Option<f64>,
    /// Share of the enforcement periods since the previous sample in which it was throttled.
    pub throttled_share: f64,
    /// Time throttled since the previous sample, seconds.
    pub throttled_s: f64,
}

/// Pressure since the previous sample: share of the time in which some or all tasks stalled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pressure {
    /// At least one task waited, share of time.
    pub some_share: f64,
    /// All tasks waited, share of time; `None` where the kernel does not say.
    pub full_share: Option<f64>,
}
