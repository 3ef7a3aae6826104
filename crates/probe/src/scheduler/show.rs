//! A reading as plain tables: what a program that prints or stores needs, without knowing each kind of
//! record.

use super::cluster::{Fault, License, Partition, Quota, Reservation, Setting, Share, Statistic};
use super::kubernetes::model::{
    Amount, Condition, Event, Flavor, KubernetesNode, OtherObject, Pod, Queue, Unschedulable,
    Workload,
};
use super::model::{Job, Node, Place};
use super::reading::Reading;
use super::resources::Gpus;
use super::stated::{Absence, SchedulerTime, Stated};

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Text.
    Text(String),
    /// A number; its unit ends the column's name.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// Nothing, and why.
    Absent(Absence),
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Self::Absent(absence) => write!(f, "– ({absence})"),
        }
    }
}

/// A record: where it stands, and its cells in the order of the section's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it stands.
    pub place: Place,
    /// The cells.
    pub cells: Vec<Shown>,
}

/// All records of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// "jobs", "pods".
    pub name: &'static str,
    /// The columns, with their units last.
    pub columns: Vec<&'static str>,
    /// The records.
    pub rows: Vec<Row>,
}

impl Section {
    /// The columns of which at least one row says something.
    pub fn filled(&self) -> Vec<usize> {
        let says = |column: &usize| {
            self.rows.iter().any(|row| {
                row.cells
                    .get(*column)
                    .is_some_and(|cell| *cell != Shown::Absent(Absence::NotInFile))
            })
        };
        (0..self.columns.len()).filter(says).collect()
    }
}

trait Show {
    fn show(&self) -> Shown;
}

impl Show for String {
    fn show(&self) -> Shown {
        if self.is_empty() { Shown::Absent(Absence::NotSet) } else { Shown::Text(self.clone()) }
    }
}

impl Show for &'static str {
    fn show(&self) -> Shown {
        if self.is_empty() {
            Shown::Absent(Absence::NotSet)
        } else {
            Shown::Text((*self).to_owned())
        }
    }
}

impl Show for f64 {
    fn show(&self) -> Shown {
        Shown::Number(*self)
    }
}

impl Show for u64 {
    fn show(&self) -> Shown {
        Shown::Number(*self as f64)
    }
}

impl Show for bool {
    fn show(&self) -> Shown {
        Shown::Flag(*self)
    }
}

impl Show for SchedulerTime {
    fn show(&self) -> Shown {
        Shown::Text(self.to_string())
    }
}

impl Show for Vec<String> {
    fn show(&self) -> Shown {
        self.join("+").show()
    }
}

impl Show for Gpus {
    fn show(&self) -> Shown {
        Shown::Number(self.total)
    }
}

impl Show for super::model::Wait {
    fn show(&self) -> Shown {
        Shown::Text(self.name().to_owned())
    }
}

impl Show for super::model::Exit {
    fn show(&self) -> Shown {
        Shown::Text(format!("{}:{}", self.code, self.signal))
    }
}

impl Show for super::resources::CpuStates {
    fn show(&self) -> Shown {
        let Self { allocated, idle, other, total } = self;
        Shown::Text(format!("{allocated}/{idle}/{other}/{total}"))
    }
}

impl Show for Unschedulable {
    fn show(&self) -> Shown {
        let reasons = self.reasons.iter().map(|one| {
            let nodes = one.nodes.map_or_else(|| "?".to_owned(), |nodes| nodes.to_string());
            format!("{nodes} × {} ({})", one.reason, one.class.name())
        });
        Shown::Text(format!(
            "{} of {} nodes: {}",
            self.nodes_available,
            self.nodes_total,
            reasons.collect::<Vec<_>>().join("; ")
        ))
    }
}

impl Show for Vec<Amount> {
    fn show(&self) -> Shown {
        let one = |amount: &Amount| match &amount.value {
            Ok(value) => format!("{}={value}", amount.resource),
            Err(absence) => format!("{} {absence}", amount.resource),
        };
        self.iter().map(one).collect::<Vec<_>>().join(", ").show()
    }
}

impl Show for Vec<Condition> {
    fn show(&self) -> Shown {
        let one = |condition: &Condition| {
            let status = condition.status.clone().unwrap_or_else(|absence| absence.to_string());
            match &condition.reason {
                Ok(reason) => format!("{}={status} ({reason})", condition.kind),
                Err(_) => format!("{}={status}", condition.kind),
            }
        };
        self.iter().map(one).collect::<Vec<_>>().join(", ").show()
    }
}

impl<T: Show> Show for Stated<T> {
    fn show(&self) -> Shown {
        match self {
            Ok(value) => value.show(),
            Err(absence) => Shown::Absent(absence.clone()),
        }
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> Shown {
        self.as_ref().map_or(Shown::Absent(Absence::NotSet), Show::show)
    }
}

/// A section of one kind of record: each column, and how its cell comes of a record.
macro_rules! section {
    ($sections:ident, $name:literal, $list:expr, $record:ident : $kind:ty, { $($column:literal => $cell:expr),* $(,)? }) => {
        if !$list.is_empty() {
            let row = |$record: &$kind| Row { place: $record.place, cells: vec![$($cell.show()),*] };
            $sections.push(Section {
                name: $name,
                columns: vec![$($column),*],
                rows: $list.iter().map(row).collect(),
            });
        }
    };
}

impl Reading {
    /// Everything that was read, as tables.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        self.slurm_sections(&mut sections);
        self.cluster_sections(&mut sections);
        self.kubernetes_sections(&mut sections);
        sections
    }

    fn slurm_sections(&self, sections: &mut Vec<Section>) {
        section!(sections, "jobs", self.jobs, job: Job, {
            "id" => job.id, "name" => job.name, "user" => job.user, "account" => job.account,
            "partition" => job.partition, "qos" => job.qos, "cluster" => job.cluster, "state" => job.states,
            "cancelled_by" => job.cancelled_by, "reason" => job.reason, "waits_for" => job.wait,
            "submitted" => job.submitted, "eligible" => job.eligible, "started" => job.started,
            "start_expected" => job.start_expected, "ended" => job.ended, "end_expected" => job.end_expected,
            "elapsed_s" => job.elapsed_s, "limit_s" => job.limit_s, "nodes" => job.nodes,
            "node_count" => job.node_count, "cpus" => job.cpus, "gpus_requested" => job.gpus_requested,
            "gpus_allocated" => job.gpus_allocated, "exit" => job.exit, "restarts" => job.restarts,
            "priority" => job.priority,
        });
        section!(sections, "nodes", self.nodes, node: Node, {
            "name" => node.name, "count" => node.count, "partition" => node.partition, "state" => node.states,
            "reason" => node.reason, "reason_time" => node.reason_time, "cpus" => node.cpus,
            "cpus_alloc_idle_other_total" => node.cpu_states, "memory_mib" => node.memory_mib,
            "memory_allocated_mib" => node.memory_allocated_mib, "memory_free_mib" => node.memory_free_mib,
            "gpus" => node.gpus, "gpus_used" => node.gpus_used, "features" => node.features,
            "version" => node.version, "reservation" => node.reservation,
        });
        section!(sections, "partitions", self.partitions, one: Partition, {
            "name" => one.name, "default" => one.is_default, "state" => one.state, "nodes" => one.nodes,
            "node_count" => one.node_count, "cpus" => one.cpus, "gpus" => one.gpus, "limit_s" => one.limit_s,
            "limit_default_s" => one.limit_default_s, "priority_tier" => one.priority_tier,
            "preempt_mode" => one.preempt_mode, "grace_s" => one.grace_s,
        });
        section!(sections, "reservations", self.reservations, one: Reservation, {
            "name" => one.name, "start" => one.start, "end" => one.end, "duration_s" => one.duration_s,
            "nodes" => one.nodes, "node_count" => one.node_count, "flags" => one.flags, "state" => one.state,
            "users" => one.users, "accounts" => one.accounts, "partition" => one.partition, "gpus" => one.gpus,
        });
    }

    fn cluster_sections(&self, sections: &mut Vec<Section>) {
        section!(sections, "licences", self.licenses, one: License, {
            "name" => one.name, "total" => one.total, "used" => one.used, "free" => one.free,
            "reserved" => one.reserved,
        });
        section!(sections, "limits", self.quotas, one: Quota, {
            "of" => one.owner_kind, "owner" => one.owner, "limit" => one.limit_kind, "resource" => one.resource,
            "flavor" => one.flavor, "amount" => one.limit, "used" => one.used, "may_borrow" => one.borrowing,
            "may_lend" => one.lending,
        });
        section!(sections, "shares", self.shares, one: Share, {
            "account" => one.account, "user" => one.user, "shares" => one.shares, "share" => one.share,
            "usage" => one.usage, "usage_share" => one.usage_share, "factor" => one.factor,
        });
        section!(sections, "statistics", self.statistics, one: Statistic, {
            "group" => one.group, "name" => one.name, "value" => one.value, "unit" => one.unit,
        });
        section!(sections, "settings", self.settings, one: Setting, {
            "key" => one.key, "value" => one.value,
        });
        section!(sections, "faults", self.faults, one: Fault, {
            "time" => one.time, "source" => one.source, "code" => one.code, "device" => one.device,
            "message" => one.message,
        });
    }

    fn kubernetes_sections(&self, sections: &mut Vec<Section>) {
        section!(sections, "pods", self.pods, pod: Pod, {
            "namespace" => pod.namespace, "name" => pod.name, "phase" => pod.phase, "node" => pod.node,
            "containers_ready" => pod.containers_ready, "containers" => pod.containers,
            "restarts" => pod.restarts, "gpus" => pod.gpus, "created" => pod.created, "started" => pod.started,
            "priority" => pod.priority, "priority_class" => pod.priority_class, "queue" => pod.queue,
            "scheduler" => pod.scheduler, "container_reasons" => pod.container_reasons,
            "unschedulable" => pod.unschedulable, "conditions" => pod.conditions,
        });
        section!(sections, "kubernetes_nodes", self.kubernetes_nodes, node: KubernetesNode, {
            "name" => node.name, "ready" => node.ready, "cordoned" => node.is_cordoned, "taints" => node.taints,
            "allocatable" => node.allocatable, "capacity" => node.capacity, "gpu_product" => node.gpu_product,
            "gpu_count" => node.gpu_count, "gpu_memory_mib" => node.gpu_memory_mib,
            "gpu_replicas" => node.gpu_replicas, "gpu_sharing" => node.gpu_sharing,
            "mig_strategy" => node.mig_strategy, "mig_config" => node.mig_config,
            "mig_config_state" => node.mig_config_state, "version" => node.version,
        });
        section!(sections, "events", self.events, event: Event, {
            "kind" => event.kind, "reason" => event.reason, "object" => event.object, "from" => event.from,
            "last_seen" => event.last_seen, "age_s" => event.age_s, "count" => event.count,
            "unschedulable" => event.unschedulable, "message" => event.message,
        });
        section!(sections, "workloads", self.workloads, one: Workload, {
            "namespace" => one.namespace, "name" => one.name, "queue" => one.queue,
            "cluster_queue" => one.cluster_queue, "has_quota" => one.has_quota, "admitted" => one.is_admitted,
            "finished" => one.is_finished, "pods_ready" => one.pods_ready, "waits_for" => one.wait,
            "wait_message" => one.wait_message, "evicted" => one.evicted, "preempted" => one.preempted,
            "priority" => one.priority, "requests" => one.requests, "created" => one.created,
        });
        section!(sections, "queues", self.queues, one: Queue, {
            "kind" => one.kind, "namespace" => one.namespace, "name" => one.name, "parent" => one.parent,
            "active" => one.is_active, "active_reason" => one.active_reason, "pending" => one.pending,
            "reserving" => one.reserving, "admitted" => one.admitted,
        });
        section!(sections, "flavors", self.flavors, one: Flavor, {
            "name" => one.name,
            "node_labels" => one.node_labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>(),
            "node_taints" => one.node_taints,
        });
        section!(sections, "objects", self.others, one: OtherObject, {
            "kind" => one.kind, "namespace" => one.namespace, "name" => one.name,
            "conditions" => one.conditions,
        });
    }
}
