//! The records of both forms.

use cotenant_core::site::{
    Batch, Demand, DiskSpace, HostCaps, Inference, InferenceObjectives, Operations, Pool, Render,
    Server, SharingMode, Site, SiteKind, Training, Workload, WorkloadKind,
};
use cotenant_core::units::{format_count, format_duration};
use jiff::tz::TimeZone;

use super::model::{FilledForm, FormRow, FormSection};
use super::rows::{
    amounts, bytes, capacity, demand, guard, indexes, interval, joined, launch, layout_change,
    lost_work, mode_settings, parallelism, reserve, route, row, show, steps, time, tokens, windows,
    yes_no,
};

/// Title of the one record that a site file cannot fill.
pub(super) const RESULT: &str = "Result";

/// The site in its two short forms, with blanks where it is silent.
pub fn filled_form(site: &Site) -> FilledForm {
    let machine = machine_sections(site);
    let workloads: Vec<FormSection> =
        site.workloads.iter().map(|workload| workload_section(workload, &site.time_zone)).collect();
    let mut calendar: Vec<FormSection> =
        machine.iter().map(|rows| titled("System", rows)).collect();
    calendar.extend(workloads.iter().cloned());
    calendar.push(calendar_section(site));
    calendar.push(sharing_section(site));
    calendar.push(result_section());
    let mut intake: Vec<FormSection> = machine.iter().map(|rows| titled("Server", rows)).collect();
    intake.extend(workloads);
    intake.push(operations_section(site));
    FilledForm { calendar, intake }
}

fn titled(title: &str, section: &FormSection) -> FormSection {
    let title = match section.title.as_str() {
        "" => title.to_owned(),
        name => format!("{title}: {name}"),
    };
    FormSection { title, rows: section.rows.clone() }
}

/// One record of a server, or one for each group of nodes and one for the pool's queues.
fn machine_sections(site: &Site) -> Vec<FormSection> {
    let head = [
        row("site", Some(site.name.clone())),
        row("time zone", site.time_zone.iana_name().map(str::to_owned)),
        row("kind", Some(site.kind.name().to_owned())),
    ];
    match &site.kind {
        SiteKind::Server(server) => {
            let rows = head.into_iter().chain(server_rows(server)).collect();
            vec![FormSection { title: String::new(), rows }]
        }
        SiteKind::Pool(pool) => pool_sections(pool, &head),
    }
}

fn pool_sections(pool: &Pool, head: &[FormRow]) -> Vec<FormSection> {
    let mut sections: Vec<FormSection> = pool
        .nodes
        .iter()
        .map(|group| {
            let count = row("nodes", Some(group.count.to_string()));
            let rows = head.iter().cloned().chain([count]).chain(server_rows(&group.server));
            FormSection { title: group.name.clone(), rows: rows.collect() }
        })
        .collect();
    for queue in &pool.queues {
        let gpus = |count: Option<u32>| count.map(|count| format!("{count} GPUs"));
        let classes = queue.priority_classes.iter();
        let rows = vec![
            row("quota", gpus(queue.quota)),
            row("cohort", queue.cohort.clone()),
            row("borrowing limit", gpus(queue.borrowing_limit)),
            row("lending limit", gpus(queue.lending_limit)),
            row("weight", show(queue.weight.as_ref())),
            row(
                "priority classes",
                joined(classes.map(|class| format!("{} {}", class.name, class.value))),
            ),
            row("workloads", joined(&queue.workloads)),
        ];
        sections.push(FormSection { title: format!("queue {}", queue.name), rows });
    }
    for serving in &pool.serving_pools {
        let rows = vec![
            row("workload", serving.workload.clone()),
            row("role", Some(serving.role.name().to_owned())),
            row("replicas, least", show(serving.replicas_min.as_ref())),
            row("replicas, most", show(serving.replicas_max.as_ref())),
            row("GPUs of a replica", show(serving.gpus_per_replica.as_ref())),
            row("queue", serving.queue.clone()),
        ];
        sections.push(FormSection { title: format!("serving pool {}", serving.name), rows });
    }
    sections
}

fn server_rows(server: &Server) -> Vec<FormRow> {
    let has_gpu = server.gpu.is_some();
    let mut rows = vec![
        row("GPU", Some(server.gpu.clone().unwrap_or_else(|| "none".to_owned()))),
        row("GPU count", Some(server.gpu_count.to_string())),
    ];
    if has_gpu {
        rows.extend([
            row("GPU memory", bytes(server.gpu_memory)),
            row("GPU memory held by others", bytes(server.gpu_memory_taken)),
            row("driver", server.driver.clone()),
            row("CUDA", server.cuda.clone()),
            row("NCCL", server.nccl.clone()),
        ]);
    }
    let scheduler = server.scheduler.as_ref().map(|scheduler| match &scheduler.version {
        Some(version) => format!("{} {version}", scheduler.kind.name()),
        None => scheduler.kind.name().to_owned(),
    });
    let storage = server.storage.and_then(|storage| {
        amounts([
            ("read", show(storage.read_bandwidth.as_ref())),
            ("write", show(storage.write_bandwidth.as_ref())),
        ])
    });
    let network = server.network.and_then(|network| {
        let rdma = network.rdma.map(|rdma| if rdma { "RDMA" } else { "no RDMA" }.to_owned());
        joined([show(network.bandwidth.as_ref()), rdma].into_iter().flatten())
    });
    let numa = joined(server.numa.iter().map(|node| {
        format!("node {}: {} cores, {} GPUs", node.node, node.cpus.len(), node.gpus.len())
    }));
    rows.extend([
        row("kernel", server.kernel.clone()),
        row("scheduler", scheduler),
        row("usable CPU cores", show(server.cpu_cores.as_ref())),
        row("visible CPU cores", show(server.cpu_cores_visible.as_ref())),
        row("host memory", bytes(server.memory)),
        row("storage", storage),
        row("network", network),
        row("NUMA", numa),
    ]);
    rows
}

fn workload_section(workload: &Workload, zone: &TimeZone) -> FormSection {
    let (kind, own_rows) = match &workload.kind {
        WorkloadKind::Inference(inference) => {
            ("Inference", inference_rows(workload, inference, zone))
        }
        WorkloadKind::Training(training) => ("Training", training_rows(training)),
        WorkloadKind::Batch(batch) => ("Batch", batch_rows(batch)),
        WorkloadKind::Render(render) => ("Render", render_rows(render)),
    };
    let mut rows = common_rows(workload);
    rows.extend(own_rows);
    FormSection { title: format!("{kind}: {}", workload.name), rows }
}

fn common_rows(workload: &Workload) -> Vec<FormRow> {
    let model = workload.model.as_ref().map(|model| {
        let heads = |count: Option<u32>, what: &str| count.map(|count| format!("{count} {what}"));
        let parts = [
            model.parameters.map(|count| format!("{} parameters", format_count(count))),
            heads(model.layers, "layers"),
            heads(model.kv_heads, "KV heads"),
            heads(model.head_size, "values in a head"),
            model.dtype.map(|dtype| dtype.name().to_owned()),
        ];
        let parts = joined(parts.into_iter().flatten());
        parts.map_or_else(|| model.name.clone(), |parts| format!("{}: {parts}", model.name))
    });
    let memory = workload.memory.and_then(|memory| {
        let parts = amounts([
            ("weights", bytes(memory.weights)),
            ("KV", bytes(memory.kv)),
            ("workspace", bytes(memory.workspace)),
            ("graphs", bytes(memory.graphs)),
            ("peak", bytes(memory.peak)),
            ("of the GPU's total", show(memory.fraction_of_total.as_ref())),
            ("on the host", bytes(memory.host)),
            ("processes", show(memory.processes.as_ref())),
            ("sleeps at level", show(memory.sleep_level.as_ref())),
            ("checkpoint on the host", bytes(memory.checkpoint_transient)),
        ])?;
        Some(format!("{parts} ({})", memory.origin.name()))
    });
    let allocation = workload.allocation.and_then(|allocation| {
        amounts([
            ("normal", show(allocation.normal.as_ref())),
            ("useful from", show(allocation.minimum_useful.as_ref())),
            ("all at once:", yes_no(allocation.gang)),
            ("runs at least", time(allocation.minimum_run)),
        ])
    });
    let limits = workload.limits.and_then(|limits| {
        amounts([
            ("at once", show(limits.concurrent.as_ref())),
            ("waiting", show(limits.queued.as_ref())),
        ])
    });
    let faults = workload.faults.and_then(|faults| {
        amounts([
            ("per month", Some(faults.per_month.to_string())),
            ("back after", time(faults.recovery)),
        ])
    });
    let reaction = workload.on_out_of_memory;
    vec![
        row("owner", workload.owner.clone()),
        row("model", model),
        row("memory", memory),
        row("GPU allocation", allocation),
        row("priority", show(workload.priority.as_ref())),
        row("weight of its lateness", show(workload.weight.as_ref())),
        row("faults of its own", faults),
        row("admission limits", limits),
        row("on out of memory", reaction.map(|reaction| reaction.name().replace('_', " "))),
    ]
}

fn inference_rows(workload: &Workload, inference: &Inference, zone: &TimeZone) -> Vec<FormRow> {
    let runtime = inference.runtime.as_ref().map(|runtime| {
        let version = inference.version.as_deref().unwrap_or("version ____");
        let arguments = inference.arguments.join(" ");
        format!("{runtime} {version} {arguments}").trim_end().to_owned()
    });
    let mut rows = vec![
        row("runtime and version", runtime),
        row("endpoint", Some(inference.endpoint.clone())),
        row("metrics", inference.metrics_endpoint.clone()),
        row("launch", launch(inference.launch.as_ref())),
        row("may sleep", inference.sleep.map(|sleep| format!("at level {}", sleep.level))),
        row("demand by time", Some(demand(&inference.demand, zone))),
        row("concurrency", show(inference.concurrency.as_ref())),
        row("prompt tokens", tokens(inference.prompt_tokens)),
        row("output tokens", tokens(inference.output_tokens)),
        row("peak rate", show(inference.peak_rate.as_ref())),
    ];
    rows.extend(objective_rows(&inference.objectives));
    rows.push(row("capacity of a replica", capacity(inference.capacity.as_ref())));
    rows.push(row("time in the engine, mean", time(inference.service_time)));
    rows.push(row(
        "minimum reserved",
        inference.minimum_reserved.map(|gpus| format!("{gpus} GPUs")),
    ));
    rows.push(row("burst reserve", reserve(inference.burst_reserve)));
    rows.push(row("guard of a test", inference.guard.as_ref().map(guard)));
    rows.extend(workload.classes.iter().map(|class| {
        let objectives = class.objectives.iter().flat_map(InferenceObjectives::latency);
        let objectives = objectives
            .map(|objective| format!("{} {}", objective.name, format_duration(objective.target)));
        let parts = [
            Some(class.name.clone()),
            show(class.share.as_ref()),
            tokens(class.prompt_tokens).map(|tokens| format!("prompt {tokens}")),
            tokens(class.output_tokens).map(|tokens| format!("output {tokens}")),
            joined(objectives),
        ];
        row("request class", joined(parts.into_iter().flatten()))
    }));
    rows
}

fn objective_rows(objectives: &InferenceObjectives) -> Vec<FormRow> {
    vec![
        row("TTFT p95, at most", time(objectives.ttft_p95)),
        row("TTFT p99, at most", time(objectives.ttft_p99)),
        row("ITL p95, at most", time(objectives.itl_p95)),
        row("TPOT p95, at most", time(objectives.tpot_p95)),
        row("E2E p95, at most", time(objectives.e2e_p95)),
        row("queue length, at most", show(objectives.queue_length.as_ref())),
        row("queue time, at most", time(objectives.queue_time)),
        row("error rate, at most", show(objectives.error_rate.as_ref())),
        row("throughput, at least", show(objectives.throughput.as_ref())),
        row("availability, at least", show(objectives.availability.as_ref())),
    ]
}

fn training_rows(training: &Training) -> Vec<FormRow> {
    let at = training.throughput_alone.iter();
    let work = training.work.as_ref();
    let work = work.map(|work| format!("{} {}", format_count(work.amount), work.unit));
    let steps = training.steps.map(|steps| format!("{} steps", format_count(steps)));
    let objectives = &training.objectives;
    let checkpoint = training.checkpoint.clone().unwrap_or_default();
    let preemption = training.preemption.as_ref();
    vec![
        row("type", training.training_type.as_ref().map(|kind| kind.name().to_owned())),
        row("parallelism", parallelism(training.parallelism.as_ref())),
        row("launch", launch(training.launch.as_ref())),
        row("step time alone", time(training.step_time_alone)),
        row(
            "throughput alone",
            joined(at.map(|at| format!("{} GPUs: {}", at.gpus, at.throughput))),
        ),
        row("work", joined([steps, work].into_iter().flatten())),
        row("jobs per week", show(training.jobs_per_week.as_ref())),
        row("duration", time(training.duration)),
        row("deadline", show(objectives.deadline.as_ref())),
        row("on time, at least", show(objectives.on_time_share.as_ref())),
        row("step time, at most", time(objectives.step_time_max)),
        row("throughput, at least", show(objectives.throughput_min.as_ref())),
        row("checkpoint interval", interval(checkpoint.interval)),
        row("checkpoint duration", time(checkpoint.duration)),
        row("resume duration", time(checkpoint.resume_duration)),
        row("asynchronous", yes_no(checkpoint.asynchronous)),
        row("host memory while saving", bytes(checkpoint.host_memory)),
        row("checkpoint size", bytes(checkpoint.size)),
        row("preemption allowed", yes_no(preemption.map(|preemption| preemption.allowed))),
        row(
            "signal",
            preemption
                .and_then(|preemption| preemption.signal)
                .map(|signal| signal.name().to_owned()),
        ),
        row("notice", time(preemption.and_then(|preemption| preemption.notice))),
        row("lost work", lost_work(preemption.and_then(|preemption| preemption.lost_work))),
        row(
            "time to an unannounced loss",
            time(preemption.and_then(|preemption| preemption.mean_time_to_loss)),
        ),
        row(
            "failed preemptions, at most",
            show(preemption.and_then(|preemption| preemption.failure_share_max).as_ref()),
        ),
        row(
            "job of Slurm's",
            preemption
                .and_then(|preemption| preemption.slurm.as_ref())
                .map(|job| format!("{}, output in {}", job.submit.join(" "), job.output)),
        ),
    ]
}

fn batch_rows(batch: &Batch) -> Vec<FormRow> {
    vec![
        row("route", Some(route(&batch.route))),
        row("items", batch.items.map(format_count)),
        row("throughput alone", show(batch.throughput_alone.as_ref())),
        row("deadline", show(batch.deadline.as_ref())),
        row("class", batch.class.clone()),
    ]
}

fn render_rows(render: &Render) -> Vec<FormRow> {
    let engine = joined([render.engine.clone(), render.version.clone()].into_iter().flatten());
    let job = &render.job;
    let preemption = job.preemption.as_ref();
    vec![
        row("engine and version", engine.map(|engine| engine.replace(", ", " "))),
        row("needs", render.needs.map(|needs| needs.name().to_owned())),
        row("launch", launch(job.launch.as_ref())),
        row("frames", job.steps.map(format_count)),
        row("frame time alone", time(job.step_time_alone)),
        row("frame time, at most", time(job.objectives.step_time_max)),
        row("scene memory", bytes(render.scene_memory)),
        row("restart unit", render.restart_unit.map(|unit| unit.name().to_owned())),
        row("deadline", show(job.objectives.deadline.as_ref())),
        row("preemption allowed", yes_no(preemption.map(|preemption| preemption.allowed))),
        row("notice", time(preemption.and_then(|preemption| preemption.notice))),
    ]
}

/// Who may hold what when, as far as the site file says.
fn calendar_section(site: &Site) -> FormSection {
    let demand_windows =
        site.inference().filter_map(|(workload, inference)| match &inference.demand {
            Demand::Table(_) | Demand::Rates(_) | Demand::SavedQuery(_) => {
                Some(format!("{}: {}", workload.name, demand(&inference.demand, &site.time_zone)))
            }
            _ => None,
        });
    let held = match &site.sharing.mode {
        mode @ SharingMode::Temporal(_) => mode_settings(mode),
        _ => None,
    };
    let maintenance = site.operations.maintenance.as_ref();
    let transition = site.operations.transition.clone().unwrap_or_default();
    let shape = site.operations.calendar.unwrap_or_default();
    let shape = amounts([
        ("windows of", time(shape.window)),
        ("from", show(shape.begins.as_ref())),
        ("weeks", show(shape.weeks.as_ref())),
    ]);
    let rows = vec![
        row("shape", shape),
        row("windows", held),
        row("demand by time", joined(demand_windows)),
        row(
            "maintenance windows",
            maintenance.and_then(|maintenance| windows(&maintenance.windows)),
        ),
        row("transition to training", steps(&transition.to_training)),
        row("transition to inference", steps(&transition.to_inference)),
        row("layout for training", layout_change(transition.layout_for_training.as_ref())),
        row("layout for inference", layout_change(transition.layout_for_inference.as_ref())),
        row("measured where", transition.source),
        row("reclaim of a GPU, at most", time(site.operations.reclaim_time)),
    ];
    FormSection { title: "Calendar".to_owned(), rows }
}

fn sharing_section(site: &Site) -> FormSection {
    let versions = site.sharing.versions.iter();
    let mut rows = vec![
        row("mode", Some(site.sharing.mode.name().replace('_', " "))),
        row("settings", mode_settings(&site.sharing.mode)),
        row("versions", joined(versions.map(|(name, version)| format!("{name} {version}")))),
    ];
    let per_gpu = site.sharing.mps_server_per_gpu;
    if per_gpu.is_some() || matches!(site.sharing.mode, SharingMode::Mps(_)) {
        let server = |per_gpu| if per_gpu { "one for each GPU" } else { "one for the node" };
        rows.push(row("MPS server", per_gpu.map(server).map(str::to_owned)));
    }
    if !site.sharing.caps.is_empty() {
        rows.push(row("caps", joined(site.sharing.caps.iter().map(caps_of))));
    }
    if let Some(load) = &site.sharing.saturating_load {
        rows.push(row("saturating load", Some(load.argv.join(" "))));
    }
    FormSection { title: "Sharing mode".to_owned(), rows }
}

fn caps_of((name, caps): (&String, &HostCaps)) -> String {
    let space = |space: &DiskSpace| format!("{} in {}", space.size, space.folder);
    let parts = [
        caps.cpu_cores.map(|cores| format!("{cores} cores")),
        caps.cpus.as_ref().map(|cpus| format!("CPUs {}", indexes(cpus))),
        caps.memory.map(|memory| format!("memory {memory}")),
        caps.disk_write.map(|rate| format!("writes {rate}")),
        caps.disk_space.as_ref().map(space),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{name}: {}", parts.join(", "))
}

/// What only evidence can fill.
fn result_section() -> FormSection {
    let labels =
        ["test A, inference alone", "test B, training alone", "test C, together", "verdict"];
    FormSection {
        title: RESULT.to_owned(),
        rows: labels.into_iter().map(|label| row(label, None)).collect(),
    }
}

fn operations_section(site: &Site) -> FormSection {
    let operations: &Operations = &site.operations;
    let domain = operations.failure_domain.as_ref();
    let maintenance = operations.maintenance.as_ref();
    let transition = operations.transition.clone().unwrap_or_default();
    let cost = operations.cost.clone().unwrap_or_default();
    let mut rows = vec![
        row("node availability", show(operations.node_availability.as_ref())),
        row("failure domain accepted", yes_no(domain.map(|domain| domain.accepted))),
        row("failure domain: by whom", domain.and_then(|domain| domain.accepted_by.clone())),
        row(
            "maintenance windows",
            maintenance.and_then(|maintenance| windows(&maintenance.windows)),
        ),
        row(
            "maintenance: accepted by",
            maintenance.and_then(|maintenance| maintenance.accepted_by.clone()),
        ),
        row("risk tolerance", show(operations.risk_tolerance.as_ref())),
        row("transition to training", steps(&transition.to_training)),
        row("transition to inference", steps(&transition.to_inference)),
        row("layout for training", layout_change(transition.layout_for_training.as_ref())),
        row("layout for inference", layout_change(transition.layout_for_inference.as_ref())),
        row("reclaim of a GPU, at most", time(operations.reclaim_time)),
        row("price of a GPU-hour", show(cost.gpu_hour.as_ref())),
        row("price of a kWh", show(cost.energy.as_ref())),
    ];
    for workload in &site.workloads {
        let name = &workload.name;
        let cycle = operations.change_cycle_of(name).and_then(|cycle| {
            amounts([
                ("driver each", time(cycle.driver)),
                ("CUDA each", time(cycle.cuda)),
                ("framework each", time(cycle.framework)),
                ("reboot each", time(cycle.reboot)),
                ("in", windows(&cycle.windows)),
            ])
        });
        rows.push(row(format!("change cycle of {name}"), cycle));
        let need = operations.isolation.iter().find(|need| need.workload == *name);
        let properties = need.map(|need| {
            joined(need.properties.iter().map(|property| property.name()))
                .unwrap_or_else(|| "nothing is required".to_owned())
        });
        rows.push(row(format!("isolation of {name}"), properties));
    }
    FormSection { title: "Operations".to_owned(), rows }
}
