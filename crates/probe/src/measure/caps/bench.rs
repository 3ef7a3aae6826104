//! What audits and faults work with: a load in the place of the neighbour, watched.

use std::time::Duration;

use cotenant_core::evidence::EnforcementAudit;

use crate::host::{ControlGroup, Root};
use crate::measure::desk::Desk;
use crate::supervisor::{Exit, Launch, Resource, Saturation, Supervisor, Workload};

/// What an audit, or a fault, works with.
pub(in super::super) struct Bench<'a> {
    pub(in super::super) supervisor: &'a Supervisor,
    pub(in super::super) desk: &'a Desk,
    pub(in super::super) neighbour: Workload,
    pub(in super::super) root: Root,
    pub(in super::super) mechanism: String,
}

impl Bench<'_> {
    /// The neighbour's control group.
    pub(in super::super) fn group(&self, controller: &str) -> Result<ControlGroup, String> {
        ControlGroup::of(&self.root, self.neighbour.pid, controller).map_err(|missing| missing.0)
    }

    /// Starts a load in some groups; none is outside.
    pub(in super::super) async fn start(
        &self,
        groups: &[&ControlGroup],
        seconds: u64,
        resource: Resource,
    ) -> Result<Workload, String> {
        let join = groups.iter().map(|group| self.root.path(&group.procs())).collect();
        let saturation = Saturation { join, seconds, resource };
        let launch: Launch = self.supervisor.saturation(&self.mechanism, &saturation);
        let load = self.supervisor.start(launch).await.map_err(|error| error.to_string())?;
        // A load that may not join says so at once.
        let ended = self.ended(load, Duration::from_millis(150)).await;
        match ended {
            Some(1) => Err(format!(
                "no load can be put in the place of the neighbour ({}); run as a user who may",
                self.last_line(load)
            )),
            _ => Ok(load),
        }
    }

    /// Ends a load that has not ended by itself.
    pub(super) async fn stop(&self, load: Workload) -> Result<(), String> {
        if self.desk.look(load.id, |watched| watched.exit.is_some()) {
            return Ok(());
        }
        let stopped = self.supervisor.stop(load.id, Duration::ZERO).await;
        stopped.map(|_| ()).map_err(|error| error.to_string())
    }

    /// The exit code of a load, where it ends within a time; a signal is 128 and its number.
    pub(super) async fn ended(&self, load: Workload, patience: Duration) -> Option<i32> {
        self.desk
            .wait(load.id, patience, |watched| {
                watched.exit.map(|(_, exit)| match exit {
                    Exit::Code(code) => code,
                    Exit::Signal(signal) => 128 + signal,
                })
            })
            .await
    }

    pub(super) fn last_line(&self, load: Workload) -> String {
        self.desk.look(load.id, |watched| watched.last_lines.back().cloned().unwrap_or_default())
    }

    /// An audit of this bench. Ratios are relative to what the same load gets without the limit.
    pub(super) fn concluded(
        &self,
        limit: f64,
        got: f64,
        free: f64,
        binds: bool,
        method: String,
    ) -> EnforcementAudit {
        EnforcementAudit {
            mechanism: self.mechanism.clone(),
            ratio_expected: limit / free,
            ratio_measured: got / free,
            binds,
            method,
        }
    }
}
