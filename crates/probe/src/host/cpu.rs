//! CPU of the whole machine: `/proc/stat`, `/proc/loadavg`, clocks.
//!
//! Source of the fields: `proc_stat(5)`, `proc_loadavg(5)`, kernel `Documentation/cpu-freq`.

use cotenant_core::evidence::{Missing, Reading};

use super::root::{Root, in_file};

/// What `/proc/stat` says of the whole machine. Ticks are of `sysconf(_SC_CLK_TCK)`, of all CPUs
/// together, since boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCpu {
    /// user + nice + system + irq + softirq. Guests are part of user; idle and iowait are not busy.
    pub busy_ticks: u64,
    /// Time that the hypervisor gave to others while a CPU here had work.
    pub steal_ticks: u64,
    /// Number of CPUs that are on line.
    pub cpus: u32,
    /// Runnable tasks, where it is said.
    pub runnable: Option<u32>,
}

/// Reads the text of `/proc/stat`.
pub fn parse_machine_cpu(text: &str) -> Reading<MachineCpu> {
    let all = text
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .ok_or_else(|| Missing("no line of all CPUs".to_owned()))?;
    let times: Vec<u64> = all
        .split_ascii_whitespace()
        .map(|field| field.parse().map_err(|_| Missing(format!("{field:?} is no CPU time"))))
        .collect::<Reading<_>>()?;
    // Fields: user nice system idle iowait irq softirq steal (since Linux 2.6.11).
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = times[..] else {
        return Err(Missing(format!("{} CPU times where 8 are needed", times.len())));
    };
    let busy = [user, nice, system, irq, softirq];
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let runnable = text.lines().find_map(|line| line.strip_prefix("procs_running "));
    Ok(MachineCpu {
        busy_ticks: busy.into_iter().fold(0, u64::saturating_add),
        steal_ticks: steal,
        cpus: text.lines().filter(is_cpu).count() as u32,
        runnable: runnable.and_then(|count| count.trim().parse().ok()),
    })
}

/// Runnable tasks from the text of `/proc/loadavg`: the number before the slash.
pub fn parse_runnable(text: &str) -> Reading<u32> {
    let field = text.split_ascii_whitespace().nth(3);
    let count = field.and_then(|field| field.split_once('/')?.0.parse().ok());
    count.ok_or_else(|| Missing("no count of runnable tasks".to_owned()))
}

/// Mean of the `cpu MHz` lines of `/proc/cpuinfo`, MHz. Only x86 writes them.
pub fn parse_clock_mhz(text: &str) -> Reading<f64> {
    let clocks: Vec<f64> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim() == "cpu MHz")
        .filter_map(|(_, value)| value.trim().parse().ok())
        .filter(|mhz: &f64| mhz.is_finite() && *mhz > 0.0)
        .collect();
    mean(&clocks).ok_or_else(|| Missing("no clock of a CPU".to_owned()))
}

/// Mean clock of all CPUs, MHz: from the frequency driver where there is one, else from
/// `/proc/cpuinfo` (where a virtual machine may state a constant).
pub(super) fn clock_mhz(root: &Root) -> Reading<f64> {
    let cpus = std::fs::read_dir(root.path("/sys/devices/system/cpu")).into_iter().flatten();
    let khz: Vec<f64> = cpus
        .filter_map(|cpu| {
            let path = cpu.ok()?.path().join("cpufreq/scaling_cur_freq");
            std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
        })
        .map(|khz| khz as f64)
        .collect();
    match mean(&khz) {
        Some(khz) => Ok(khz / 1e3),
        None => in_file("/proc/cpuinfo", parse_clock_mhz(&root.read("/proc/cpuinfo")?)),
    }
}

/// Runnable tasks now: from `/proc/stat` where it says so, else from `/proc/loadavg`.
pub(super) fn run_queue(root: &Root, machine: &Reading<MachineCpu>) -> Reading<u32> {
    match machine {
        Ok(MachineCpu { runnable: Some(count), .. }) => Ok(*count),
        _ => in_file("/proc/loadavg", parse_runnable(&root.read("/proc/loadavg")?)),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "cpu  100 20 30 5000 40 5 6 7 50 1\ncpu0 50 10 15 2500 20 2 3 3 0 0\n\
                        cpu1 50 10 15 2500 20 3 3 4 0 0\nintr 5 1\nprocs_running 3\n";

    #[test]
    fn busy_leaves_out_idle_waiting_and_stolen_time() {
        let machine = parse_machine_cpu(STAT).unwrap();
        assert_eq!((machine.busy_ticks, machine.steal_ticks), (161, 7));
        assert_eq!((machine.cpus, machine.runnable), (2, Some(3)));
    }

    #[test]
    fn a_short_or_torn_line_is_missing() {
        for text in ["", "cpu 1 2 3", "cpu  1 2 x 4 5 6 7 8", "cpu0 1 2 3 4 5 6 7 8"] {
            assert!(parse_machine_cpu(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_load_average_gives_the_run_queue() {
        assert_eq!(parse_runnable("0.12 0.46 0.33 3/93 9282\n"), Ok(3));
        assert!(parse_runnable("0.12 0.46").is_err());
    }

    #[test]
    fn clocks_are_averaged_and_never_zero() {
        assert_eq!(parse_clock_mhz("cpu MHz\t\t: 2000.0\nx: y\ncpu MHz : 3000\n"), Ok(2500.0));
        assert!(parse_clock_mhz("processor : 0\nBogoMIPS : 50\n").is_err());
        assert!(parse_clock_mhz("cpu MHz : 0\ncpu MHz : NaN\n").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*", numbers in "[0-9 \n]{0,200}") {
            for text in [text.clone(), format!("cpu {numbers}"), format!("cpu MHz: {text}")] {
                let _ = (parse_machine_cpu(&text), parse_runnable(&text), parse_clock_mhz(&text));
            }
        }
    }
}
