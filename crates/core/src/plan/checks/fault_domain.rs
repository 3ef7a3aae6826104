//! Who dies with whom: a neighbour's faults become inference's bad minutes.

use super::draft::{counted, line_of, number, open, quoted};
use super::placement;
use crate::plan::model::{Check, Outcome};
use crate::site::{Inference, IsolationProperty, SharingMode, Site, Workload, WorkloadKind};

/// Minutes of the month that budgets are counted in: 30 days.
pub(super) const MINUTES_PER_MONTH: f64 = 30.0 * 24.0 * 60.0;

/// One check for each inference workload that shares the fate of a neighbour.
pub(super) fn checks(site: &Site) -> Vec<Check> {
    if !matches!(site.sharing.mode, SharingMode::Mps(_) | SharingMode::TimeSlicing(_)) {
        return Vec::new();
    }
    site.inference().filter_map(|(workload, inference)| check(site, workload, inference)).collect()
}

/// Workloads that are on some device with this one.
fn neighbours<'a>(site: &'a Site, workload: &Workload) -> Vec<&'a Workload> {
    let devices: Vec<_> = placement::devices(site).into_iter().flatten().collect();
    site.workloads
        .iter()
        .filter(|other| other.name != workload.name)
        .filter(|other| devices.iter().any(|device| device.holds(workload) && device.holds(other)))
        .collect()
}

fn check(site: &Site, workload: &Workload, inference: &Inference) -> Option<Check> {
    let neighbours = neighbours(site, workload);
    if neighbours.is_empty() {
        return None;
    }
    let name = quoted(&workload.name);
    let mut names = vec![workload.name.clone()];
    names.extend(neighbours.iter().map(|other| other.name.clone()));
    let title = format!("Do the faults of its neighbours fit the availability of {name}?");
    let mut check = open("fault_domain", title, names);
    let domain = domain(site, &mut check);
    let bad = bad_minutes(&neighbours, &mut check);
    let budget =
        inference.objectives.availability.map(|share| (1.0 - share.value()) * MINUTES_PER_MONTH);
    match budget {
        Some(budget) => check.arithmetic.push(format!(
            "budget of {name}: (1 − {}) × 30 d = {} min a month",
            inference.objectives.availability.map_or_else(String::new, |share| share.to_string()),
            number(budget, 1)
        )),
        None => check
            .missing
            .push(line_of(&workload.name, "inference: { objectives: { availability: … % } }")),
    }
    let required = site.operations.isolation_of(&workload.name);
    let is_required = required.contains(&IsolationProperty::Faults);
    decide(&mut check, &name, bad, budget, domain, is_required);
    Some(check)
}

/// Whether admission is refused beyond the GPU of the fault, as far as the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// A fault touches its GPU alone.
    OneGpu,
    /// New processes are refused on all GPUs of the server process.
    AllGpus,
    /// The file does not say.
    Unknown,
}

fn domain(site: &Site, check: &mut Check) -> Admission {
    if matches!(site.sharing.mode, SharingMode::TimeSlicing(_)) {
        check.sources = vec![
            "README of the Kubernetes device plugin, «With CUDA Time-Slicing»: one crash may take \
             all workloads of the GPU with it",
        ];
        check.arithmetic.push(
            "fault domain: all workloads of the GPU, since time-slicing isolates no faults"
                .to_owned(),
        );
        return Admission::OneGpu;
    }
    check.sources = vec![
        "NVIDIA, Multi-Process Service, «Error Containment»: a fatal fault is reported to all \
         clients of the GPU, which must exit",
        "https://forums.developer.nvidia.com/t/238139: until they have exited, new processes are \
         refused on every GPU of that server (cudaErrorMpsServerNotReady)",
    ];
    check.arithmetic.push("fault domain: all MPS clients of the GPU die together".to_owned());
    let gpus = u64::from(most_gpus_of_a_server(site));
    let shared = format!(
        "admission domain: {} of one MPS server; new processes are refused on all of them until \
         every affected client has exited",
        counted(gpus, "GPU")
    );
    match site.sharing.mps_server_per_gpu {
        _ if gpus <= 1 => Admission::OneGpu,
        Some(true) => {
            check
                .arithmetic
                .push("admission domain: one GPU, each has its own MPS server".to_owned());
            Admission::OneGpu
        }
        Some(false) => {
            check.arithmetic.push(shared);
            Admission::AllGpus
        }
        None => {
            check.arithmetic.push(format!("{shared}, unless each GPU has a server of its own"));
            check.missing.push("sharing: { mps_server: per_gpu }, or per_node".to_owned());
            Admission::Unknown
        }
    }
}

fn most_gpus_of_a_server(site: &Site) -> u32 {
    match &site.kind {
        crate::site::SiteKind::Server(server) => server.gpu_count,
        crate::site::SiteKind::Pool(pool) => {
            pool.nodes.iter().map(|group| group.server.gpu_count).max().unwrap_or(0)
        }
    }
}

/// Expected bad minutes in 30 days: at least, and whether that is all.
fn bad_minutes(neighbours: &[&Workload], check: &mut Check) -> (f64, bool) {
    let mut minutes = 0.0;
    let mut is_all = true;
    for neighbour in neighbours {
        let Some(faults) = neighbour.faults else {
            is_all = false;
            let what = match &neighbour.kind {
                WorkloadKind::Inference(_) => "faults: { per_month: …, recovery: … min }",
                _ => "faults: { per_month: …, recovery: … min } (its crashes by its own fault)",
            };
            check.missing.push(line_of(&neighbour.name, what));
            continue;
        };
        let Some(recovery) = faults.recovery else {
            is_all = false;
            check.missing.push(line_of(&neighbour.name, "faults: { recovery: … min }"));
            continue;
        };
        let of_neighbour = faults.per_month * recovery.as_secs_f64() / 60.0;
        check.arithmetic.push(format!(
            "{}: {} faults a month × {} = {} bad minutes a month for everybody on its GPU",
            neighbour.name,
            number(faults.per_month, 2),
            crate::units::format_duration(recovery),
            number(of_neighbour, 1)
        ));
        minutes += of_neighbour;
    }
    (minutes, is_all)
}

fn decide(
    check: &mut Check,
    name: &str,
    (bad, is_all): (f64, bool),
    budget: Option<f64>,
    domain: Admission,
    is_required: bool,
) {
    let minutes = format!("{} bad minutes a month", number(bad, 1));
    if domain != Admission::OneGpu && !is_required {
        check.would_be_conditional_on.push("one MPS server for each GPU".to_owned());
    }
    if is_required {
        check.outcome = Outcome::Fails;
        check.answer =
            format!("no: {name} must be protected from faults, and a neighbour's fault stops it");
        check
            .would_be_conditional_on
            .push("a mode that contains faults: whole GPUs, or MIG instances".to_owned());
    } else if budget.is_some_and(|budget| bad > budget) {
        check.outcome = Outcome::Fails;
        check.answer = format!(
            "no: {minutes} by the neighbours of {name} alone, {} are allowed",
            number(budget.unwrap_or(0.0), 1)
        );
        check.would_be_conditional_on.push(format!(
            "at most {} bad minutes a month by faults of neighbours",
            number(budget.unwrap_or(0.0), 1)
        ));
    } else if budget.is_some() && is_all && domain == Admission::OneGpu {
        check.outcome = Outcome::Holds;
        check.answer = format!(
            "{minutes} by the neighbours of {name} are within its budget, if nothing else fails"
        );
    } else if domain == Admission::AllGpus {
        check.answer = format!(
            "a fault on one GPU stops what is on it and refuses new processes on all; {minutes} are \
             expected at the least"
        );
    } else if bad == 0.0 && !is_all {
        check.answer = format!(
            "cannot be decided: a fault of its neighbours stops {name}, and how often one happens is \
             not declared"
        );
    } else {
        check.answer =
            format!("cannot be decided: the neighbours of {name} cost it at least {minutes}");
    }
}
