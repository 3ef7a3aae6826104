//! What a test is going to rely on, shown to bind before it does.

use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::evidence::{EnforcementAudit, Remedy};
use cotenant_core::site::{Site, Workload, WorkloadKind};
use cotenant_probe::measure::{self, CapAudits, Rules, declared_priority};
use cotenant_probe::supervisor::{AuditedPriorities, Priority, SupervisorError, audit_priority};

use super::interrupt::or_interrupted;
use super::{Session, absolute, block_failure};
use crate::exit::Failure;

/// Load around the kill of an audit: time for so many requests, between these bounds.
const AUDIT_REQUESTS: f64 = 10.0;
const AUDIT_RANGE_S: (f64, f64) = (2.0, 30.0);

impl Session<'_> {
    /// What the test is going to rely on, shown to bind before it does.
    pub(crate) async fn audits(
        &mut self,
        rules: &Rules,
        load: &cotenant_probe::load::Schedule,
        remedy: Option<Remedy>,
    ) -> Result<Vec<EnforcementAudit>, Failure> {
        let mut interrupt = self.interrupt.clone();
        let mut audits = Vec::new();
        if self.rig.supervises_engine() {
            // Killing the neighbour beside a production endpoint is not ours to do.
            let audit = measure::audit_faults(&mut self.rig, rules, load, &mut interrupt)
                .await
                .map_err(block_failure)?;
            if audit.is_none() {
                self.printer.note(
                    "audit of «a fault of the neighbour does not reach inference»: not decided: no \
                     request was in flight or came after it",
                );
            }
            audits.extend(audit);
        }
        let mut priority = declared_priority(&self.file.site);
        if remedy == Some(Remedy::IdlePriority) {
            priority = Priority { nice: None, idle: true };
        }
        if priority != Priority::default() {
            audits.push(self.audit_priority(priority).await?);
        }
        if self.rig.supervises_engine() {
            audits.extend(self.audit_caps().await?);
        } else if self.declares_limits() {
            self.printer.note(
                "audit of the declared limits: not made beside an engine that was not started here, \
                 for it takes CPU, memory and disk of this host; `--tests audit --no-guard WHY` makes it",
            );
        }
        Ok(audits)
    }

    /// Whether the site relies on limits that an audit would meet with a load.
    fn declares_limits(&self) -> bool {
        let sharing = &self.file.site.sharing;
        let of_neighbour =
            self.subject.neighbour.is_some_and(|(w, _)| sharing.caps.contains_key(&w.name));
        of_neighbour || sharing.saturating_load.is_some()
    }

    /// Shows whether what the site declares to hold the neighbour, or to divide a GPU, binds. What
    /// could not be decided is told, and is no audit.
    pub(crate) async fn audit_caps(&mut self) -> Result<Vec<EnforcementAudit>, Failure> {
        let Some((workload, _)) = self.subject.neighbour else { return Ok(Vec::new()) };
        let sharing = &self.file.site.sharing;
        let folder = absolute(&self.file.folder())?;
        let mut found = CapAudits::default();
        if let Some(caps) = sharing.caps.get(&workload.name) {
            let caps = measure::audit_caps(&mut self.rig, caps, &folder);
            found = or_interrupted(&self.interrupt, caps).await?.map_err(Failure::world)?;
        }
        if let Some(load) = &sharing.saturating_load {
            let environments = environments(&self.file.site);
            let mode = &sharing.mode;
            let gpu = measure::audit_gpu_shares(&self.rig, mode, load, &environments, &folder);
            let gpu = or_interrupted(&self.interrupt, gpu).await?;
            found.audits.extend(gpu.audits);
            found.undecided.extend(gpu.undecided);
        }
        for (mechanism, reason) in &found.undecided {
            self.printer.note(&format!("audit of «{mechanism}»: not decided: {reason}"));
        }
        Ok(found.audits)
    }

    /// Shows whether a priority of the neighbour binds.
    pub(crate) async fn audit_priority(
        &self,
        priority: Priority,
    ) -> Result<EnforcementAudit, Failure> {
        let mechanism = if priority.idle {
            Remedy::IdlePriority.name().to_owned()
        } else {
            format!("trainer at nice {}", priority.nice.unwrap_or(0))
        };
        let priorities = AuditedPriorities { neighbour: priority, inference: Priority::default() };
        audit_priority(self.rig.supervisor(), &mechanism, priorities)
            .await
            .map_err(|error: SupervisorError| Failure::world(error))
    }
}

/// How long the neighbour and inference run beside each other in an audit. A closed loop has no rate of
/// its own, and is always busy.
pub(crate) fn audit_length(rate_per_s: Option<f64>) -> Duration {
    let wanted_s = rate_per_s.map_or(0.0, |rate| AUDIT_REQUESTS / rate.max(1e-3));
    Duration::from_secs_f64(wanted_s.clamp(AUDIT_RANGE_S.0, AUDIT_RANGE_S.1))
}

/// The variables that each workload is started with: they say which part of a GPU it gets.
fn environments(site: &Site) -> BTreeMap<String, Vec<(String, String)>> {
    let launch = |workload: &Workload| match &workload.kind {
        WorkloadKind::Inference(inference) => inference.launch.clone(),
        _ => workload.job().and_then(|job| job.launch.clone()),
    };
    let variables = |workload| launch(workload).map(|launch| launch.env.into_iter().collect());
    site.workloads
        .iter()
        .map(|workload| (workload.name.clone(), variables(workload).unwrap_or_default()))
        .collect()
}
