//! Whether a CPU priority really binds: two busy processes on one CPU, one with each tenant's
//! priority, and the ratio of the CPU time that they get.
//!
//! The scheduler promises shares in proportion to weights, `w_n ÷ (w_n + w_i)` for the neighbour.
//! The promise holds between tasks of one group only: with `sched_autogroup_enabled` each session is
//! a group, and in different sessions two tasks get half each whatever their nice values say. Then
//! the knob is there and nothing is isolated, which is what an audit must find.

use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::EnforcementAudit;
use rustix::process::getpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity};

use super::client::{Supervisor, SupervisorError, Workload};
use super::launch::{Launch, Priority};
use super::weights::weight;
use crate::clock::monotonic_ns;
use crate::host::{ProcessTable, run_ns};

/// How long both processes are weighed at least, and how often again where other programs leave
/// them too little of the CPU.
const WEIGH: Duration = Duration::from_millis(600);
const WEIGHINGS_MAX: u32 = 5;
/// The spinners end by themselves after this time, seconds.
const SPIN_S: u64 = 10;
/// Longest run of one task before another one's turn: a scheduler slice (EEVDF's base slice is
/// 0.7 ms × (1 + log2 CPUs), at most 2.8 ms) and the tick that ends it (4 ms at 250 Hz, 10 ms at 100).
const SLICE_S: f64 = 0.01;
/// How far the neighbour's share may be off beside whole slices, relative to what is expected.
const RELATIVE_TOLERANCE: f64 = 0.15;

/// The two priorities that are audited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditedPriorities {
    /// The neighbour's: a trainer's.
    pub neighbour: Priority,
    /// That of inference.
    pub inference: Priority,
}

/// Weighs a neighbour of one priority against inference of another on one CPU for 0.6 s, and up to
/// 3 s where other programs use that CPU too. `mechanism` names what is audited, for people.
pub async fn audit_priority(
    supervisor: &Supervisor,
    mechanism: &str,
    priorities: AuditedPriorities,
) -> Result<EnforcementAudit, SupervisorError> {
    let spinner = |name: &str, priority| Launch { priority, ..supervisor.spinner(name, SPIN_S) };
    let neighbour = spinner("audit of the neighbour", priorities.neighbour);
    let inference = spinner("audit of inference", priorities.inference);
    audit_launches(supervisor, mechanism, neighbour, inference).await
}

/// The same with launches of the caller, which must each keep one CPU busy; their affinity is set
/// here.
pub async fn audit_launches(
    supervisor: &Supervisor,
    mechanism: &str,
    mut neighbour: Launch,
    mut inference: Launch,
) -> Result<EnforcementAudit, SupervisorError> {
    let cpu = last_usable_cpu()?;
    neighbour.affinity = Some(vec![cpu]);
    inference.affinity = Some(vec![cpu]);
    let inherited = getpriority_process(None).unwrap_or(0);
    let expected = f64::from(weight(neighbour.priority, inherited))
        / f64::from(weight(inference.priority, inherited));

    let neighbour = supervisor.start(neighbour).await?;
    let weighed = match supervisor.start(inference).await {
        Ok(inference) => {
            let weighed = weigh(neighbour, inference, expected).await;
            supervisor.stop(inference.id, Duration::ZERO).await.and(weighed)
        }
        Err(error) => Err(error),
    };
    supervisor.stop(neighbour.id, Duration::ZERO).await?;
    Ok(judge(mechanism, cpu, expected, weighed?))
}

/// CPU seconds that each got, and in how much time.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_field_names, reason = "the postfix is the unit")]
struct Weighed {
    neighbour_s: f64,
    inference_s: f64,
    elapsed_s: f64,
}

impl Weighed {
    fn both_s(self) -> f64 {
        self.neighbour_s + self.inference_s
    }

    /// How far the neighbour's share may be off: two slices (one at each end of the time, where a
    /// turn may be cut) and a relative part for what else the CPU does.
    fn tolerance(self, share_expected: f64) -> f64 {
        2.0 * SLICE_S / self.both_s() + RELATIVE_TOLERANCE * share_expected
    }

    /// Whether the tolerance tells the expected share from a half, which is what a mechanism that
    /// does not bind gives; where a half is expected, from what a nice value off by 4 gives.
    fn decides(self, share_expected: f64) -> bool {
        let distance = (0.5 - share_expected).abs();
        let distance = if distance < 1e-9 { 0.4 } else { distance };
        self.tolerance(share_expected) < 0.5 * distance
    }
}

/// The neighbour's share of what both get, from the ratio.
fn share_of(ratio: f64) -> f64 {
    ratio / (1.0 + ratio)
}

async fn weigh(
    neighbour: Workload,
    inference: Workload,
    expected: f64,
) -> Result<Weighed, SupervisorError> {
    // A program that was just started still loads itself; that is not the work that is weighed.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let (began_ns, before) = (monotonic_ns(), cpu_of(neighbour.pid, inference.pid)?);
    let mut weighings = 0;
    loop {
        tokio::time::sleep(WEIGH).await;
        weighings += 1;
        let (ended_ns, after) = (monotonic_ns(), cpu_of(neighbour.pid, inference.pid)?);
        let weighed = Weighed {
            neighbour_s: after.0.saturating_sub(before.0) as f64 / 1e9,
            inference_s: after.1.saturating_sub(before.1) as f64 / 1e9,
            elapsed_s: ended_ns.saturating_sub(began_ns) as f64 / 1e9,
        };
        if weighings == WEIGHINGS_MAX || weighed.decides(share_of(expected)) {
            return Ok(weighed);
        }
    }
}

/// CPU time of two processes with their descendants, nanoseconds.
fn cpu_of(first: u32, second: u32) -> Result<(u64, u64), SupervisorError> {
    let table = ProcessTable::scan(Path::new("/proc"))
        .map_err(|missing| SupervisorError::Refused(missing.0))?;
    let tree = |root: u32| -> Result<u64, SupervisorError> {
        let own = main_thread_ns(root)
            .ok_or_else(|| SupervisorError::Refused(format!("no CPU time of process {root}")))?;
        let below = table.descendants_of(root).into_iter();
        Ok(own + below.filter_map(|process| main_thread_ns(process.pid)).sum::<u64>())
    };
    Ok((tree(first)?, tree(second)?))
}

/// CPU time of a process's main thread, nanoseconds.
fn main_thread_ns(pid: u32) -> Option<u64> {
    run_ns(&format!("/proc/{pid}"))
}

fn last_usable_cpu() -> Result<usize, SupervisorError> {
    let set = sched_getaffinity(None)
        .map_err(|error| SupervisorError::Refused(format!("cannot read the affinity: {error}")))?;
    (0..CpuSet::MAX_CPU)
        .rev()
        .find(|cpu| set.is_set(*cpu))
        .ok_or_else(|| SupervisorError::Refused("the affinity names no CPU".to_owned()))
}

/// The neighbour's share of what both got must be the expected one within the tolerance. Too little
/// CPU time for both, or none (0 ÷ 0 compares as false), proves nothing and does not count as
/// binding.
fn judge(mechanism: &str, cpu: usize, expected: f64, weighed: Weighed) -> EnforcementAudit {
    let share_expected = share_of(expected);
    let share = weighed.neighbour_s / weighed.both_s();
    let tolerance = weighed.tolerance(share_expected);
    let decides = weighed.decides(share_expected);
    let undecided = if decides { "" } else { "; that is too little CPU time to prove anything" };
    let method = format!(
        "two busy processes on CPU {cpu} for {:.2} s got {:.1} ms (the neighbour's priority) and \
         {:.1} ms (that of inference); a share of {share_expected:.4} was expected and {share:.4} \
         measured, within {tolerance:.4} counts as binding{undecided}",
        weighed.elapsed_s,
        weighed.neighbour_s * 1e3,
        weighed.inference_s * 1e3,
    );
    EnforcementAudit {
        mechanism: mechanism.to_owned(),
        ratio_expected: expected,
        ratio_measured: weighed.neighbour_s / weighed.inference_s,
        binds: decides && (share - share_expected).abs() <= tolerance,
        method,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binds(expected: f64, neighbour_s: f64, inference_s: f64) -> bool {
        judge("x", 0, expected, Weighed { neighbour_s, inference_s, elapsed_s: 0.6 }).binds
    }

    #[test]
    fn half_each_binds_only_where_half_was_expected() {
        assert!(binds(1.0, 0.3, 0.3));
        for expected in [3.0 / 1024.0, 15.0 / 1024.0, 110.0 / 1024.0, 335.0 / 1024.0] {
            assert!(!binds(expected, 0.3, 0.3), "{expected}");
            let share = expected / (1.0 + expected);
            assert!(binds(expected, 0.6 * share, 0.6 * (1.0 - share)), "{expected}");
        }
    }

    #[test]
    fn a_starved_audit_proves_nothing() {
        assert!(!binds(3.0 / 1024.0, 0.0, 0.05));
        assert!(!binds(1.0, 0.0, 0.0));
        assert!(!binds(1.0, 0.05, 0.05));
        // A difference of one nice step is within what can be told apart: it is not claimed.
        assert!(!binds(820.0 / 1024.0, 0.267, 0.333));
    }

    #[test]
    fn a_neighbour_that_gets_less_than_its_weight_does_not_bind_either() {
        assert!(!binds(1.0, 0.1, 0.5));
    }
}
