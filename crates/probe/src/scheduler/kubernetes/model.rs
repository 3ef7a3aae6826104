//! Objects of Kubernetes and Kueue, as far as they say who holds GPUs and who waits for them.

use super::super::model::{Place, Wait};
use super::super::stated::{Absence, SchedulerTime, Stated};

/// An amount of a resource of Kubernetes: `nvidia.com/gpu`, `nvidia.com/mig-1g.5gb`.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    /// The resource.
    pub resource: String,
    /// How much; memory in bytes, processors in cores.
    pub value: Stated<f64>,
}

/// A condition of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Its type: `Ready`, `QuotaReserved`.
    pub kind: String,
    /// Whether it holds: `True`, `False`, `Unknown`.
    pub status: Stated<String>,
    /// The reason, one word.
    pub reason: Stated<String>,
    /// The message.
    pub message: Stated<String>,
    /// When it last changed.
    pub changed: Stated<SchedulerTime>,
}

/// Why no node was found for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unschedulable {
    /// Nodes that would have taken it.
    pub nodes_available: u64,
    /// All nodes.
    pub nodes_total: u64,
    /// How many nodes were refused for what, in the scheduler's words. One node may stand under several.
    pub reasons: Vec<NodesRefused>,
    /// What the scheduler says of preemption, nodes counted.
    pub preemption: Vec<NodesRefused>,
    /// What of the message was not understood.
    pub rest: Option<String>,
}

/// Nodes that were refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodesRefused {
    /// How many; `None` where the message counts none.
    pub nodes: Option<u64>,
    /// The reason in the scheduler's words.
    pub reason: String,
    /// What kind of reason it is.
    pub class: RefusalClass,
}

/// What kind of reason keeps a pod from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalClass {
    /// Too few free GPUs or GPU parts.
    Gpu,
    /// Too little of something else: processors, memory, places for pods.
    OtherResource,
    /// Labels of the node: affinity and selectors.
    Selector,
    /// A taint that the pod does not tolerate.
    Taint,
    /// The node takes no new pods.
    Unschedulable,
    /// Where volumes are.
    Volume,
    /// Where other pods of the same kind are.
    Spreading,
    /// Claims of devices (DRA).
    Claim,
    /// Words of preemption.
    Preemption,
    /// None of these.
    Other,
}

impl RefusalClass {
    /// In words of a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "too few GPUs",
            Self::OtherResource => "too little of another resource",
            Self::Selector => "labels of the node",
            Self::Taint => "a taint",
            Self::Unschedulable => "node takes no new pods",
            Self::Volume => "a volume",
            Self::Spreading => "other pods",
            Self::Claim => "a device claim",
            Self::Preemption => "preemption",
            Self::Other => "another reason",
        }
    }
}

/// A pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// Where it stands.
    pub place: Place,
    /// The namespace.
    pub namespace: Stated<String>,
    /// The name.
    pub name: Stated<String>,
    /// The phase: `Pending`, `Running`, `Succeeded`, `Failed`; from a table, the status column.
    pub phase: Stated<String>,
    /// The node.
    pub node: Stated<String>,
    /// Containers that are ready.
    pub containers_ready: Stated<u64>,
    /// Containers, without those that prepare.
    pub containers: Stated<u64>,
    /// Restarts of all containers.
    pub restarts: Stated<u64>,
    /// Who places it.
    pub scheduler: Stated<String>,
    /// The class of its priority.
    pub priority_class: Stated<String>,
    /// The priority.
    pub priority: Stated<f64>,
    /// The queue of Kueue that a label names.
    pub queue: Stated<String>,
    /// When it was made.
    pub created: Stated<SchedulerTime>,
    /// When it started.
    pub started: Stated<SchedulerTime>,
    /// GPUs that it asks for, by resource: the most that it holds at once, preparing containers included.
    pub gpus: Vec<Amount>,
    /// GPU shares that annotations ask for, which the pod's resources do not show: name and value.
    pub gpu_annotations: Vec<(String, String)>,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// What containers wait for, or how they ended: `CrashLoopBackOff`, `Error`.
    pub container_reasons: Vec<String>,
    /// Exit codes of containers that ended.
    pub exit_codes: Vec<i64>,
    /// Why no node was found.
    pub unschedulable: Stated<Unschedulable>,
}

impl Pod {
    pub(in super::super) fn at(place: Place) -> Self {
        Self {
            place,
            namespace: Err(Absence::NotInFile),
            name: Err(Absence::NotInFile),
            phase: Err(Absence::NotInFile),
            node: Err(Absence::NotInFile),
            containers_ready: Err(Absence::NotInFile),
            containers: Err(Absence::NotInFile),
            restarts: Err(Absence::NotInFile),
            scheduler: Err(Absence::NotInFile),
            priority_class: Err(Absence::NotInFile),
            priority: Err(Absence::NotInFile),
            queue: Err(Absence::NotInFile),
            created: Err(Absence::NotInFile),
            started: Err(Absence::NotInFile),
            gpus: Vec::new(),
            gpu_annotations: Vec::new(),
            conditions: Vec::new(),
            container_reasons: Vec::new(),
            exit_codes: Vec::new(),
            unschedulable: Err(Absence::NotInFile),
        }
    }
}

/// A node of Kubernetes.
#[derive(Clone, Debug, PartialEq)]
pub struct KubernetesNode {
    /// Where it stands.
    pub place: Place,
    /// The name.
    pub name: Stated<String>,
    /// Whether it is ready: `True`, `False`, `Unknown`; from a table, the status column.
    pub ready: Stated<String>,
    /// It takes no new pods.
    pub is_cordoned: Stated<bool>,
    /// Taints: key, value and effect.
    pub taints: Vec<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// Processors, memory and GPUs that it has.
    pub capacity: Vec<Amount>,
    /// Of that, what pods may have.
    pub allocatable: Vec<Amount>,
    /// The GPU's name by its label.
    pub gpu_product: Stated<String>,
    /// GPUs by the label that discovery sets.
    pub gpu_count: Stated<u64>,
    /// Memory of a GPU by its label, MiB.
    pub gpu_memory_mib: Stated<f64>,
    /// How often each GPU is offered.
    pub gpu_replicas: Stated<u64>,
    /// How GPUs are shared: `none`, `time-slicing`, `mps`.
    pub gpu_sharing: Stated<String>,
    /// The MIG strategy: `none`, `single`, `mixed`.
    pub mig_strategy: Stated<String>,
    /// The MIG layout that is asked for.
    pub mig_config: Stated<String>,
    /// How far it is: `pending`, `rebooting`, `success`, `failed`.
    pub mig_config_state: Stated<String>,
    /// The kubelet's version.
    pub version: Stated<String>,
}

impl KubernetesNode {
    pub(in super::super) fn at(place: Place) -> Self {
        Self {
            place,
            name: Err(Absence::NotInFile),
            ready: Err(Absence::NotInFile),
            is_cordoned: Err(Absence::NotInFile),
            taints: Vec::new(),
            conditions: Vec::new(),
            capacity: Vec::new(),
            allocatable: Vec::new(),
            gpu_product: Err(Absence::NotInFile),
            gpu_count: Err(Absence::NotInFile),
            gpu_memory_mib: Err(Absence::NotInFile),
            gpu_replicas: Err(Absence::NotInFile),
            gpu_sharing: Err(Absence::NotInFile),
            mig_strategy: Err(Absence::NotInFile),
            mig_config: Err(Absence::NotInFile),
            mig_config_state: Err(Absence::NotInFile),
            version: Err(Absence::NotInFile),
        }
    }

    /// What of a resource pods may have.
    pub fn allocatable_of(&self, resource: &str) -> Option<f64> {
        amount_of(&self.allocatable, resource)
    }
}

/// The number of a resource in a list.
pub fn amount_of(amounts: &[Amount], resource: &str) -> Option<f64> {
    amounts.iter().find(|one| one.resource == resource).and_then(|one| one.value.clone().ok())
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where it stands.
    pub place: Place,
    /// `Normal` or `Warning`.
    pub kind: Stated<String>,
    /// The reason, one word: `FailedScheduling`.
    pub reason: Stated<String>,
    /// What it is about: `pod/trainer-0`.
    pub object: Stated<String>,
    /// Who says it.
    pub from: Stated<String>,
    /// The message.
    pub message: Stated<String>,
    /// When it was last seen.
    pub last_seen: Stated<SchedulerTime>,
    /// How long ago it was last seen, as a table says it, seconds.
    pub age_s: Stated<u64>,
    /// How often.
    pub count: Stated<u64>,
    /// Why no node was found.
    pub unschedulable: Stated<Unschedulable>,
}

impl Event {
    pub(in super::super) fn at(place: Place) -> Self {
        Self {
            place,
            kind: Err(Absence::NotInFile),
            reason: Err(Absence::NotInFile),
            object: Err(Absence::NotInFile),
            from: Err(Absence::NotInFile),
            message: Err(Absence::NotInFile),
            last_seen: Err(Absence::NotInFile),
            age_s: Err(Absence::NotInFile),
            count: Err(Absence::NotInFile),
            unschedulable: Err(Absence::NotInFile),
        }
    }
}

/// Quota that a workload of Kueue lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaShort {
    /// The pod set.
    pub pod_set: Option<String>,
    /// The resource.
    pub resource: String,
    /// The flavour.
    pub flavor: String,
    /// How much more is needed, as written; `None` where the request never fits.
    pub more_needed: Option<String>,
    /// What was asked for and the most that there is, as written, where the request never fits.
    pub over_capacity: Option<(String, String)>,
}

/// A workload of Kueue.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Where it stands.
    pub place: Place,
    /// The namespace.
    pub namespace: Stated<String>,
    /// The name.
    pub name: Stated<String>,
    /// The local queue.
    pub queue: Stated<String>,
    /// The cluster queue in which it holds quota.
    pub cluster_queue: Stated<String>,
    /// The priority.
    pub priority: Stated<f64>,
    /// The class of its priority.
    pub priority_class: Stated<String>,
    /// When it was made.
    pub created: Stated<SchedulerTime>,
    /// Whether quota is reserved for it.
    pub has_quota: Stated<bool>,
    /// Whether it is admitted.
    pub is_admitted: Stated<bool>,
    /// Whether it ended.
    pub is_finished: Stated<bool>,
    /// Why it was evicted: `Preempted`, `PodsReadyTimeout`.
    pub evicted: Stated<String>,
    /// How it was preempted: `InClusterQueue`, `InCohortReclamation`.
    pub preempted: Stated<String>,
    /// Whether all its pods are ready.
    pub pods_ready: Stated<bool>,
    /// Why it waits; not set for one that does not wait.
    pub wait: Stated<Wait>,
    /// The message behind that.
    pub wait_message: Stated<String>,
    /// Quota that it lacks.
    pub quota_short: Vec<QuotaShort>,
    /// Its admission checks: name and state.
    pub checks: Vec<(String, String)>,
    /// What it asks for or holds, all pods together, by resource.
    pub requests: Vec<Amount>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

impl Workload {
    pub(in super::super) fn at(place: Place) -> Self {
        Self {
            place,
            namespace: Err(Absence::NotInFile),
            name: Err(Absence::NotInFile),
            queue: Err(Absence::NotInFile),
            cluster_queue: Err(Absence::NotInFile),
            priority: Err(Absence::NotInFile),
            priority_class: Err(Absence::NotInFile),
            created: Err(Absence::NotInFile),
            has_quota: Err(Absence::NotInFile),
            is_admitted: Err(Absence::NotInFile),
            is_finished: Err(Absence::NotInFile),
            evicted: Err(Absence::NotInFile),
            preempted: Err(Absence::NotInFile),
            pods_ready: Err(Absence::NotInFile),
            wait: Err(Absence::NotInFile),
            wait_message: Err(Absence::NotInFile),
            quota_short: Vec::new(),
            checks: Vec::new(),
            requests: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

/// A queue of Kueue.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Where it stands.
    pub place: Place,
    /// `ClusterQueue`, `LocalQueue` or `Cohort`.
    pub kind: &'static str,
    /// The namespace of a local queue.
    pub namespace: Stated<String>,
    /// The name.
    pub name: Stated<String>,
    /// The cluster queue of a local one, the cohort of a cluster queue, or the parent of a cohort.
    pub parent: Stated<String>,
    /// Whether it admits.
    pub is_active: Stated<bool>,
    /// Why not, or that it does.
    pub active_reason: Stated<String>,
    /// Workloads that wait.
    pub pending: Stated<u64>,
    /// Workloads that hold quota and are not admitted yet.
    pub reserving: Stated<u64>,
    /// Workloads that are admitted.
    pub admitted: Stated<u64>,
}

/// A flavour of Kueue: which nodes a quota is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flavor {
    /// Where it stands.
    pub place: Place,
    /// The name.
    pub name: Stated<String>,
    /// Labels of its nodes.
    pub node_labels: Vec<(String, String)>,
    /// Taints of its nodes.
    pub node_taints: Vec<String>,
}

/// An object whose kind is known and of which only name and conditions are read.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherObject {
    /// Where it stands.
    pub place: Place,
    /// Its kind: `Service`, `ProvisioningRequest`.
    pub kind: String,
    /// The namespace.
    pub namespace: Stated<String>,
    /// The name.
    pub name: Stated<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}
