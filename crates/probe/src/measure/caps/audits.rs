//! One audit after the other, beside a neighbour that runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cotenant_core::evidence::EnforcementAudit;
use cotenant_core::site::{HostCaps, SaturatingLoad, SharingMode};
use cotenant_core::verdict::audit_of_cap;

use super::{Bench, cpu, disk, gpu, memory};
use crate::clock::monotonic_ns;
use crate::host::Root;
use crate::measure::rig::{Rig, RigError};

/// What came of the audits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapAudits {
    /// Audits that decided.
    pub audits: Vec<EnforcementAudit>,
    /// Caps about which nothing could be said, each with the reason and the way out.
    pub undecided: Vec<(String, String)>,
}

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
