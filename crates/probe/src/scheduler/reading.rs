//! What was read of a file.

use super::cluster::{Fault, License, Partition, Quota, Reservation, Setting, Share, Statistic};
use super::kind::Kind;
use super::kubernetes::model::{Event, Flavor, KubernetesNode, OtherObject, Pod, Queue, Workload};
use super::model::{Job, Node, Place};
use super::refusal::shortened;

/// Most records of one kind that are kept of a file; those beyond are counted in
/// [`Reading::records_left_out`].
pub const RECORDS_MAX: usize = 1 << 18;

/// Most passages that are kept as samples of what was skipped.
pub const SKIPPED_SHOWN_MAX: usize = 32;

/// A passage that was not read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it stands.
    pub place: Place,
    /// Why it was not read.
    pub why: String,
    /// Its beginning.
    pub text: String,
}

/// Everything that was read of a file of a scheduler. Lists are empty where the file has none of that
/// kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The file's name, as given.
    pub file: String,
    /// What it is.
    pub kind: Kind,
    /// The version that the file names: of Slurm and its data parser, or of the objects.
    pub version: Option<String>,
    /// Jobs and steps of Slurm.
    pub jobs: Vec<Job>,
    /// Nodes of Slurm.
    pub nodes: Vec<Node>,
    /// Partitions.
    pub partitions: Vec<Partition>,
    /// Reservations.
    pub reservations: Vec<Reservation>,
    /// Licences.
    pub licenses: Vec<License>,
    /// Limits of Slurm and of Kueue.
    pub quotas: Vec<Quota>,
    /// Fair shares.
    pub shares: Vec<Share>,
    /// Numbers that the scheduler says of itself.
    pub statistics: Vec<Statistic>,
    /// Settings.
    pub settings: Vec<Setting>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Nodes of Kubernetes.
    pub kubernetes_nodes: Vec<KubernetesNode>,
    /// Events.
    pub events: Vec<Event>,
    /// Workloads of Kueue.
    pub workloads: Vec<Workload>,
    /// Queues of Kueue.
    pub queues: Vec<Queue>,
    /// Flavours of Kueue.
    pub flavors: Vec<Flavor>,
    /// Other objects of Kubernetes.
    pub others: Vec<OtherObject>,
    /// Faults that a log of the host tells of.
    pub faults: Vec<Fault>,
    /// Passages that were not read: the first of them.
    pub skipped: Vec<Skipped>,
    /// All passages that were not read.
    pub skipped_total: u64,
    /// Records that were understood and not kept, since there were too many.
    pub records_left_out: u64,
    /// What a reader should know.
    pub caveats: Vec<String>,
}

impl Reading {
    pub(super) fn new(file: &str, kind: Kind) -> Self {
        Self {
            file: file.to_owned(),
            kind,
            version: None,
            jobs: Vec::new(),
            nodes: Vec::new(),
            partitions: Vec::new(),
            reservations: Vec::new(),
            licenses: Vec::new(),
            quotas: Vec::new(),
            shares: Vec::new(),
            statistics: Vec::new(),
            settings: Vec::new(),
            pods: Vec::new(),
            kubernetes_nodes: Vec::new(),
            events: Vec::new(),
            workloads: Vec::new(),
            queues: Vec::new(),
            flavors: Vec::new(),
            others: Vec::new(),
            faults: Vec::new(),
            skipped: Vec::new(),
            skipped_total: 0,
            records_left_out: 0,
            caveats: Vec::new(),
        }
    }

    /// How many records were read.
    pub fn records(&self) -> usize {
        self.jobs.len()
            + self.nodes.len()
            + self.partitions.len()
            + self.reservations.len()
            + self.licenses.len()
            + self.quotas.len()
            + self.shares.len()
            + self.statistics.len()
            + self.settings.len()
            + self.pods.len()
            + self.kubernetes_nodes.len()
            + self.events.len()
            + self.workloads.len()
            + self.queues.len()
            + self.flavors.len()
            + self.others.len()
            + self.faults.len()
    }

    pub(super) fn skip(&mut self, place: Place, why: impl Into<String>, text: &str) {
        self.skipped_total += 1;
        if self.skipped.len() < SKIPPED_SHOWN_MAX {
            self.skipped.push(Skipped { place, why: why.into(), text: shortened(text) });
        }
    }

    pub(super) fn caveat(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.caveats.contains(&text) && self.caveats.len() < 64 {
            self.caveats.push(text);
        }
    }

    /// Keeps a record, or counts it where there are too many.
    pub(super) fn keep<T>(list: &mut Vec<T>, left_out: &mut u64, record: T) {
        if list.len() < RECORDS_MAX {
            list.push(record);
        } else {
            *left_out += 1;
        }
    }

    pub(super) fn keep_job(&mut self, job: Job) {
        Self::keep(&mut self.jobs, &mut self.records_left_out, job);
    }

    pub(super) fn keep_node(&mut self, node: Node) {
        Self::keep(&mut self.nodes, &mut self.records_left_out, node);
    }

    pub(super) fn keep_setting(&mut self, setting: Setting) {
        Self::keep(&mut self.settings, &mut self.records_left_out, setting);
    }
}
