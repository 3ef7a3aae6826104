//! Servers and pools.

use cotenant_core::site::{
    Network, NodeGroup, NumaNode, Pool, PriorityClass, Queue, Scheduler, SchedulerKind, Server,
    ServingPool, ServingRole, Storage,
};

use crate::site::view::View;

pub(super) fn server(view: View<'_>) -> Option<Server> {
    let gpu = view.string("gpu").filter(|gpu| gpu != "none");
    Some(Server {
        gpu_count: if gpu.is_some() { view.whole("gpu_count")? } else { 0 },
        gpu,
        gpu_memory: view.bytes("gpu_memory"),
        gpu_memory_taken: view.bytes("gpu_memory_taken"),
        driver: view.string("driver"),
        cuda: view.string("cuda"),
        nccl: view.string("nccl"),
        kernel: view.string("kernel"),
        scheduler: scheduler(view),
        cpu_cores: view.number("cpu_cores"),
        cpu_cores_visible: view.number("cpu_cores_visible"),
        memory: view.bytes("memory"),
        storage: view.group("storage").map(|group| Storage {
            read_bandwidth: group.bandwidth("read_bandwidth"),
            write_bandwidth: group.bandwidth("write_bandwidth"),
        }),
        network: view.group("network").map(|group| Network {
            bandwidth: group.bandwidth("bandwidth"),
            rdma: group.flag("rdma"),
        }),
        numa: view.list("numa").map(numa_node).collect::<Option<_>>()?,
    })
}

fn scheduler(view: View<'_>) -> Option<Scheduler> {
    let (holder, key) = match view.group("scheduler") {
        Some(group) => (group, "name"),
        None => (view, "scheduler"),
    };
    let kind = holder.word(key, &SchedulerKind::ALL, SchedulerKind::name)?;
    let version = view.group("scheduler").and_then(|group| group.string("version"));
    Some(Scheduler { kind, version })
}

fn numa_node(view: View<'_>) -> Option<NumaNode> {
    Some(NumaNode {
        node: view.whole("node")?,
        cpus: view.indexes("cpus").unwrap_or_default(),
        gpus: view.indexes("gpus").unwrap_or_default(),
        memory: view.bytes("memory"),
    })
}

pub(super) fn pool(view: View<'_>) -> Option<Pool> {
    Some(Pool {
        nodes: view.list("nodes").map(node_group).collect::<Option<_>>()?,
        queues: view.list("queues").map(queue).collect::<Option<_>>()?,
        serving_pools: view.list("serving_pools").map(serving_pool).collect::<Option<_>>()?,
    })
}

fn node_group(view: View<'_>) -> Option<NodeGroup> {
    Some(NodeGroup {
        name: view.string("name")?,
        count: view.whole("count")?,
        server: server(view.group("server")?)?,
    })
}

fn queue(view: View<'_>) -> Option<Queue> {
    let class = |item: View<'_>| {
        Some(PriorityClass { name: item.string("name")?, value: item.integer("value")? })
    };
    Some(Queue {
        name: view.string("name")?,
        quota: view.whole("quota"),
        cohort: view.string("cohort"),
        borrowing_limit: view.whole("borrowing_limit"),
        lending_limit: view.whole("lending_limit"),
        weight: view.number("weight"),
        priority_classes: view.list("priority_classes").map(class).collect::<Option<_>>()?,
        workloads: view.texts("workloads"),
    })
}

fn serving_pool(view: View<'_>) -> Option<ServingPool> {
    Some(ServingPool {
        name: view.string("name")?,
        workload: view.string("workload"),
        role: view.word("role", &ServingRole::ALL, ServingRole::name).unwrap_or_default(),
        replicas_min: view.whole("replicas_min"),
        replicas_max: view.whole("replicas_max"),
        gpus_per_replica: view.whole("gpus_per_replica"),
        queue: view.string("queue"),
    })
}
