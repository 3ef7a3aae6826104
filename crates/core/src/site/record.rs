//! The whole site.

use super::{Inference, Operations, Server, Sharing, SiteKind, Training, Workload, WorkloadKind};

/// One server or one pool with everything that is declared about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The site's name, as reports show it.
    pub name: String,
    /// The zone in which every local time of the site file is meant.
    pub time_zone: jiff::tz::TimeZone,
    /// The instant for which the site is judged, where the file fixes it.
    pub as_of: Option<jiff::Timestamp>,
    /// One server or one pool.
    pub kind: SiteKind,
    /// The workloads, in the order of the file. Names are unique.
    pub workloads: Vec<Workload>,
    /// How the workloads share.
    pub sharing: Sharing,
    /// How the place is operated.
    pub operations: Operations,
}

impl Site {
    /// The server, where the site is one.
    pub fn server(&self) -> Option<&Server> {
        match &self.kind {
            SiteKind::Server(server) => Some(server),
            SiteKind::Pool(_) => None,
        }
    }

    /// GPUs of the whole site. No GPU claim can come of a site that has none.
    pub fn gpu_count(&self) -> u32 {
        match &self.kind {
            SiteKind::Server(server) => server.gpu_count,
            SiteKind::Pool(pool) => pool.nodes.iter().fold(0, |sum, node| {
                sum.saturating_add(node.count.saturating_mul(node.server.gpu_count))
            }),
        }
    }

    /// The workload with this name.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The inference workloads with what is particular to them, in the order of the file.
    pub fn inference(&self) -> impl Iterator<Item = (&Workload, &Inference)> {
        self.workloads.iter().filter_map(|workload| match &workload.kind {
            WorkloadKind::Inference(inference) => Some((workload, inference.as_ref())),
            _ => None,
        })
    }

    /// The training workloads with what is particular to them, in the order of the file.
    pub fn training(&self) -> impl Iterator<Item = (&Workload, &Training)> {
        self.workloads.iter().filter_map(|workload| match &workload.kind {
            WorkloadKind::Training(training) => Some((workload, training.as_ref())),
            _ => None,
        })
    }
}
