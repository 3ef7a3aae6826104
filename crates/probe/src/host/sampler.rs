//! One sample a second: every source on its own, each rate since that source's last good reading.

use std::collections::BTreeMap;

use cotenant_core::evidence::{HostSample, Missing, Pressure, Reading};

use super::accounting::Accounts;
use super::cgroup::{CgroupState, between, read_cgroup};
use super::cpu::{MachineCpu, clock_mhz, parse_machine_cpu, run_queue};
use super::disk::{Transferred, read_disks};
use super::memory::parse_memory;
use super::network::read_network;
use super::pressure::{PressureTotals, parse_pressure, shares};
use super::process::{ProcessStat, ProcessTable};
use super::root::{Root, in_file};
use crate::clock::monotonic_ns;

/// A workload to be sampled.
#[derive(Clone, Copy, Debug)]
pub struct SampledWorkload<'a> {
    /// Its name in the sample.
    pub name: &'a str,
    /// Its first processes, which lead their groups. Their descendants, the other processes of
    /// their groups, and what was once seen to be of them count too.
    pub roots: &'a [u32],
}

/// Takes samples. Rates are since the previous sample, so the first has none.
#[derive(Debug)]
pub struct Sampler {
    root: Root,
    own: Vec<u32>,
    ticks_per_s: f64,
    page_bytes: u64,
    machine: Previous<MachineCpu>,
    cgroup: Previous<CgroupState>,
    pressure: [Previous<PressureTotals>; 3],
    disks: Previous<BTreeMap<String, Transferred>>,
    network: Previous<BTreeMap<String, Transferred>>,
    /// When processes were last looked at: nanoseconds, and ticks after boot.
    looked: Option<(u64, u64)>,
    own_accounts: Accounts,
    workloads: BTreeMap<String, Accounts>,
}

impl Sampler {
    /// A sampler of this machine; `own` are the processes of Cotenant itself (this one, the
    /// guardian). What descends from them and is of no workload is counted as Cotenant's, too.
    pub fn new(own: &[u32]) -> Self {
        Self::with_root(Root::of_this_machine(), own)
    }

    /// The same with the kernel's files below `root`.
    pub fn with_root(root: Root, own: &[u32]) -> Self {
        Self {
            root,
            own: own.to_vec(),
            ticks_per_s: rustix::param::clock_ticks_per_second() as f64,
            page_bytes: rustix::param::page_size() as u64,
            machine: Previous::default(),
            cgroup: Previous::default(),
            pressure: Default::default(),
            disks: Previous::default(),
            network: Previous::default(),
            looked: None,
            own_accounts: Accounts::default(),
            workloads: BTreeMap::new(),
        }
    }

    /// Takes a sample now; `at_ns` (from the block's start) is only written down. It never fails: a
    /// source that cannot be read is a reading that names the file and the reason.
    ///
    /// A workload of which no process is left has used nothing and holds nothing: that is a reading.
    pub fn sample(&mut self, at_ns: u64, workloads: &[SampledWorkload<'_>]) -> HostSample {
        self.sample_at(monotonic_ns(), at_ns, workloads)
    }

    /// The same at a given time of the monotonic clock, nanoseconds.
    pub fn sample_at(
        &mut self,
        now_ns: u64,
        at_ns: u64,
        workloads: &[SampledWorkload<'_>],
    ) -> HostSample {
        let machine = self.read_machine();
        let (machine_cpu_cores, steal_cores) = self.machine_cores(now_ns, &machine);
        let processes = self.processes(now_ns, workloads);
        let memory = self.root.read("/proc/meminfo");
        let memory = |name: &str| {
            in_file("/proc/meminfo", memory.clone().and_then(|text| parse_memory(&text, name)))
        };
        let disks = read_disks(&self.root);
        let network = read_network(&self.root);
        let (disk_read, disk_written) = rates(&mut self.disks, now_ns, disks);
        let (received, transmitted) = rates(&mut self.network, now_ns, network);
        let cgroup = read_cgroup(&self.root);
        HostSample {
            at_ns,
            machine_cpu_cores,
            steal_cores,
            workload_cpu_cores: processes.workload_cpu_cores,
            workload_memory_bytes: processes.workload_memory_bytes,
            own_cpu_cores: processes.own_cpu_cores,
            cgroup_cpu: self
                .cgroup
                .since(now_ns, cgroup, |before, after, _| between(before, after)),
            pressure_cpu: self.pressure(0, "cpu", now_ns),
            pressure_memory: self.pressure(1, "memory", now_ns),
            pressure_io: self.pressure(2, "io", now_ns),
            memory_available_bytes: memory("MemAvailable"),
            dirty_bytes: memory("Dirty"),
            disk_read_bytes_per_s: disk_read,
            disk_write_bytes_per_s: disk_written,
            network_receive_bytes_per_s: received,
            network_transmit_bytes_per_s: transmitted,
            cpu_clock_mhz: clock_mhz(&self.root),
            run_queue: run_queue(&self.root, &machine),
        }
    }

    fn read_machine(&self) -> Reading<MachineCpu> {
        let path = "/proc/stat";
        in_file(path, parse_machine_cpu(&self.root.read(path)?))
    }

    fn machine_cores(
        &mut self,
        now_ns: u64,
        machine: &Reading<MachineCpu>,
    ) -> (Reading<f64>, Reading<f64>) {
        let ticks_per_s = self.ticks_per_s;
        let both = self.machine.since(now_ns, machine.clone(), |before, after, elapsed_s| {
            let cores = |field: fn(&MachineCpu) -> u64| {
                field(after).saturating_sub(field(before)) as f64 / ticks_per_s / elapsed_s
            };
            (cores(|machine| machine.busy_ticks), cores(|machine| machine.steal_ticks))
        });
        (both.clone().map(|cores| cores.0), both.map(|cores| cores.1))
    }

    fn pressure(&mut self, index: usize, resource: &str, now_ns: u64) -> Reading<Pressure> {
        let path = format!("/proc/pressure/{resource}");
        let read = self.root.read(&path);
        let totals = in_file(&path, read.and_then(|text| parse_pressure(&text)));
        // Of the whole machine "all tasks wait for CPU" has no meaning: the kernel writes a zero
        // since 5.13 for the sake of readers (`Documentation/accounting/psi.rst`).
        let totals = totals.map(|totals| PressureTotals {
            full_us: totals.full_us.filter(|_| resource != "cpu"),
            ..totals
        });
        self.pressure[index]
            .since(now_ns, totals, |before, after, elapsed_s| shares(*before, *after, elapsed_s))
    }

    fn processes(&mut self, now_ns: u64, workloads: &[SampledWorkload<'_>]) -> Processes {
        let table = match ProcessTable::scan(&self.root.path("/proc")) {
            Ok(table) => table,
            Err(missing) => return Processes::missing(workloads, &missing),
        };
        let first = Missing("the first sample has none before it to compare with".to_owned());
        let elapsed_s = self.looked.map(|(then_ns, _)| seconds(then_ns, now_ns));
        let since_ticks = self.looked.map_or(0, |(_, ticks)| ticks);
        let ticks_per_s = self.ticks_per_s;
        let cores = |ticks: u64| match elapsed_s {
            Some(elapsed_s) if elapsed_s > 0.0 => Ok(ticks as f64 / ticks_per_s / elapsed_s),
            Some(_) => Err(Missing("no time has passed since the previous sample".to_owned())),
            None => Err(first.clone()),
        };

        let mut processes = Processes::default();
        let mut taken: Vec<u32> = Vec::new();
        for workload in workloads {
            let accounts = self.workloads.entry(workload.name.to_owned()).or_default();
            let members = members(&table, workload.roots, accounts, &self.own);
            let memory_bytes: u64 =
                members.iter().map(|process| process.resident_pages * self.page_bytes).sum();
            let used = accounts.used_ticks(&members, since_ticks);
            taken.extend(members.iter().map(|process| process.pid));
            let name = workload.name.to_owned();
            processes.workload_cpu_cores.push((name.clone(), cores(used)));
            processes.workload_memory_bytes.push((name, Ok(memory_bytes)));
        }
        let own: Vec<&ProcessStat> = own_processes(&table, &self.own)
            .into_iter()
            .filter(|process| !taken.contains(&process.pid))
            .collect();
        // Workloads that ended are among the guardian's waited-for children: they are not its own.
        let used = self.own_accounts.own_ticks(&own, since_ticks);
        processes.own_cpu_cores = if own.is_empty() {
            Err(Missing(format!("no process of {:?} is in /proc", self.own)))
        } else {
            cores(used)
        };
        self.looked = Some((now_ns, self.boot_ticks()));
        processes
    }

    /// Ticks since boot, the unit of a process's start; 0 where the kernel does not say, and then
    /// every process that was not there counts in full.
    fn boot_ticks(&self) -> u64 {
        let uptime = self.root.read("/proc/uptime").unwrap_or_default();
        let seconds = uptime.split_ascii_whitespace().next().and_then(|text| text.parse().ok());
        seconds.map_or(0, |seconds: f64| (seconds * self.ticks_per_s) as u64)
    }
}

/// The processes of a workload: its roots, their groups and descendants, and what was seen before
/// to be of it and has lost its parents since.
fn members<'a>(
    table: &'a ProcessTable,
    roots: &[u32],
    accounts: &Accounts,
    own: &[u32],
) -> Vec<&'a ProcessStat> {
    let grouped = table.iter().filter(|process| roots.contains(&process.group));
    let remembered = accounts.identities().filter_map(|identity| table.find(identity));
    let heads: Vec<&ProcessStat> = roots
        .iter()
        .filter_map(|root| table.get(*root))
        .chain(grouped)
        .chain(remembered)
        .filter(|process| !own.contains(&process.pid))
        .collect();
    with_descendants(table, heads, own)
}

fn own_processes<'a>(table: &'a ProcessTable, own: &[u32]) -> Vec<&'a ProcessStat> {
    let heads = own.iter().filter_map(|pid| table.get(*pid)).collect();
    with_descendants(table, heads, &[])
}

fn with_descendants<'a>(
    table: &'a ProcessTable,
    heads: Vec<&'a ProcessStat>,
    without: &[u32],
) -> Vec<&'a ProcessStat> {
    let mut found: BTreeMap<u32, &ProcessStat> = BTreeMap::new();
    for head in heads {
        if found.insert(head.pid, head).is_none() {
            let below = table.descendants_of(head.pid).into_iter();
            found.extend(below.map(|process| (process.pid, process)));
        }
    }
    found.into_values().filter(|process| !without.contains(&process.pid)).collect()
}

/// What a look at the processes gives.
#[derive(Debug)]
struct Processes {
    workload_cpu_cores: Vec<(String, Reading<f64>)>,
    workload_memory_bytes: Vec<(String, Reading<u64>)>,
    own_cpu_cores: Reading<f64>,
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            workload_cpu_cores: Vec::new(),
            workload_memory_bytes: Vec::new(),
            own_cpu_cores: Err(Missing("not looked at".to_owned())),
        }
    }
}

impl Processes {
    fn missing(workloads: &[SampledWorkload<'_>], missing: &Missing) -> Self {
        let names = || workloads.iter().map(|workload| workload.name.to_owned());
        Self {
            workload_cpu_cores: names().map(|name| (name, Err(missing.clone()))).collect(),
            workload_memory_bytes: names().map(|name| (name, Err(missing.clone()))).collect(),
            own_cpu_cores: Err(missing.clone()),
        }
    }
}

/// The last good reading of a source that counts up.
#[derive(Debug)]
struct Previous<T>(Option<(u64, T)>);

impl<T> Default for Previous<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Previous<T> {
    /// What happened since the last good reading, and remembers this one. After a reading that is
    /// missing the next is over the whole time since the last good one.
    fn since<U>(
        &mut self,
        now_ns: u64,
        current: Reading<T>,
        rate: impl FnOnce(&T, &T, f64) -> U,
    ) -> Reading<U> {
        let current = current?;
        let rate = match &self.0 {
            Some((then_ns, before)) if *then_ns < now_ns => {
                Ok(rate(before, &current, seconds(*then_ns, now_ns)))
            }
            Some(_) => Err(Missing("no time has passed since the previous sample".to_owned())),
            None => Err(Missing("the first sample has none before it to compare with".to_owned())),
        };
        self.0 = Some((now_ns, current));
        rate
    }
}

/// Bytes per second inward and outward, of the devices that were there both times: one that appears
/// brings the count of its whole life, one that goes takes it away.
fn rates(
    previous: &mut Previous<BTreeMap<String, Transferred>>,
    now_ns: u64,
    current: Reading<BTreeMap<String, Transferred>>,
) -> (Reading<f64>, Reading<f64>) {
    let both = previous.since(now_ns, current, |before, after, elapsed_s| {
        let rate = |field: fn(&Transferred) -> u64| {
            let common = after.iter().filter_map(|(name, after)| Some((before.get(name)?, after)));
            let bytes: u64 =
                common.map(|(before, after)| field(after).saturating_sub(field(before))).sum();
            bytes as f64 / elapsed_s
        };
        (rate(|device| device.inward_bytes), rate(|device| device.outward_bytes))
    });
    (both.clone().map(|rates| rates.0), both.map(|rates| rates.1))
}

fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}
