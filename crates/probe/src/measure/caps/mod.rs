//! Whether the limits that a site relies on bind: each is met by a load that wants more than it
//! allows, in the place of the neighbour.
//!
//! A limit that is declared, or even set, is a claim. The load runs in the neighbour's own control
//! groups, found from its running process; what it gets there is compared with what the same load
//! gets outside. Where the two cannot be told apart (the machine has no more to give, nobody may join
//! the group, filling the disk would take inference's too) nothing is concluded: an audit that could
//! not be made is no audit that failed.

mod cpu;
mod disk;
mod gpu;
mod memory;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_core::evidence::EnforcementAudit;
use cotenant_core::site::{HostCaps, SaturatingLoad, SharingMode};
use cotenant_core::verdict::audit_of_cap;

pub(super) use disk::refuse_common_disk;

use super::rig::{Rig, RigError};
use crate::clock::monotonic_ns;
use crate::host::{ControlGroup, Root};
use crate::supervisor::{Launch, Saturation, Supervisor, Workload};

/// What came of the audits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapAudits {
    /// Audits that decided.
    pub audits: Vec<EnforcementAudit>,
    /// Caps about which nothing could be said, each with the reason and the way out.
    pub undecided: Vec<(String, String)>,
}

/// What is known of one cap: an audit, or the reason why there is none.
type Audited = Result<EnforcementAudit, String>;

/// Audits every cap of the neighbour. It is started where it does not run, and stopped then.
///
/// `folder` is where its disk is written to when no folder is declared.
///
/// # Errors
/// The neighbour does not start, or the guardian has ended.
pub async fn audit_caps(
    rig: &mut Rig,
    caps: &HostCaps,
    folder: &Path,
) -> Result<CapAudits, RigError> {
    let Some(name) = rig.neighbour.as_ref().map(|neighbour| neighbour.name.clone()) else {
        return Ok(CapAudits::default());
    };
    let starts = rig.running.is_none();
    if starts {
        rig.neighbour_up(None, 1).await?;
    }
    let mut found = CapAudits::default();
    for cap in caps.names() {
        let Some(running) = rig.running else { break };
        let bench = Bench {
            supervisor: &rig.supervisor,
            desk: &rig.desk,
            neighbour: running.workload,
            root: Root::of_this_machine(),
            mechanism: audit_of_cap(&name, cap),
        };
        let audited = match cap {
            HostCaps::CPU => cpu::audit_time(&bench, caps.cpu_cores.unwrap_or(0.0)).await,
            HostCaps::CPUS => {
                cpu::audit_set(&bench, caps.cpus.as_deref().unwrap_or_default()).await
            }
            HostCaps::MEMORY => memory::audit(&bench, caps.memory.map_or(0, |bytes| bytes.0)).await,
            HostCaps::DISK_WRITE => {
                let place = caps.disk_space.as_ref().map_or(folder, |s| Path::new(&s.folder));
                let rate = caps.disk_write.map_or(0.0, |rate| rate.0);
                disk::audit_rate(&bench, rate, place).await
            }
            _ => match &caps.disk_space {
                Some(space) => {
                    let place = PathBuf::from(&space.folder);
                    disk::audit_space(&bench, space.size.0, &place, folder).await
                }
                None => continue,
            },
        };
        match audited {
            Ok(audit) => found.audits.push(audit),
            Err(reason) => found.undecided.push((bench.mechanism, reason)),
        }
        if rig.neighbour_has_ended() {
            // The kernel may take the neighbour where its memory is full; that is no failure of the
            // audit, and the next cap needs it again.
            rig.neighbour_killed().await?;
            rig.neighbour_up(None, 1).await?;
        }
    }
    if starts {
        rig.neighbour_down(monotonic_ns(), None).await?;
    }
    Ok(found)
}

/// Audits what divides a GPU between the two, with the site's own saturating load.
///
/// # Errors
/// The guardian has ended.
pub async fn audit_gpu_shares(
    rig: &Rig,
    mode: &SharingMode,
    load: &SaturatingLoad,
    environments: &BTreeMap<String, Vec<(String, String)>>,
    folder: &Path,
) -> CapAudits {
    gpu::audit(rig, mode, load, environments, folder).await
}

/// What an audit, or a fault, works with.
pub(super) struct Bench<'a> {
    pub(super) supervisor: &'a Supervisor,
    pub(super) desk: &'a super::desk::Desk,
    pub(super) neighbour: Workload,
    pub(super) root: Root,
    pub(super) mechanism: String,
}

impl Bench<'_> {
    /// The neighbour's control group.
    pub(super) fn group(&self, controller: &str) -> Result<ControlGroup, String> {
        ControlGroup::of(&self.root, self.neighbour.pid, controller).map_err(|missing| missing.0)
    }

    /// Starts a load in some groups; none is outside.
    pub(super) async fn start(
        &self,
        groups: &[&ControlGroup],
        seconds: u64,
        resource: crate::supervisor::Resource,
    ) -> Result<Workload, String> {
        let join = groups.iter().map(|group| self.root.path(&group.procs())).collect();
        let saturation = Saturation { join, seconds, resource };
        let launch: Launch = self.supervisor.saturation(&self.mechanism, &saturation);
        let load = self.supervisor.start(launch).await.map_err(|error| error.to_string())?;
        // A load that may not join says so at once.
        let ended = self.ended(load, Duration::from_millis(150)).await;
        match ended {
            Some(code) if code == 1 => Err(format!(
                "no load can be put in the place of the neighbour ({}); run as a user who may",
                self.last_line(load)
            )),
            _ => Ok(load),
        }
    }

    /// Ends a load that has not ended by itself.
    async fn stop(&self, load: Workload) -> Result<(), String> {
        if self.desk.look(load.id, |watched| watched.exit.is_some()) {
            return Ok(());
        }
        let stopped = self.supervisor.stop(load.id, Duration::ZERO).await;
        stopped.map(|_| ()).map_err(|error| error.to_string())
    }

    /// The exit code of a load, where it ends within a time; a signal is 128 and its number.
    async fn ended(&self, load: Workload, patience: Duration) -> Option<i32> {
        use crate::supervisor::Exit;
        self.desk
            .wait(load.id, patience, |watched| {
                watched.exit.map(|(_, exit)| match exit {
                    Exit::Code(code) => code,
                    Exit::Signal(signal) => 128 + signal,
                })
            })
            .await
    }

    fn last_line(&self, load: Workload) -> String {
        self.desk.look(load.id, |watched| watched.last_lines.back().cloned().unwrap_or_default())
    }

    /// An audit of this bench. Ratios are relative to what the same load gets without the limit.
    fn concluded(&self, limit: f64, got: f64, free: f64, binds: bool, method: String) -> Audited {
        Ok(EnforcementAudit {
            mechanism: self.mechanism.clone(),
            ratio_expected: limit / free,
            ratio_measured: got / free,
            binds,
            method,
        })
    }
}
