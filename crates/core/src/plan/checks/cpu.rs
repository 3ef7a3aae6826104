//! CPU: what quota and affinity leave, against what programs see and start.

use super::arguments;
use super::draft::{counted, line_of, number, open, quoted};
use crate::plan::model::{Check, Outcome};
use crate::site::{Server, Site, SiteKind, Workload};

/// Variables that numerical libraries read for their number of threads.
const VARIABLES: [&str; 4] =
    ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"];

pub(super) fn checks(site: &Site) -> Vec<Check> {
    let check = |server: &Server, place: &str| {
        let declared = server.cpu_cores.is_some() || server.cpu_cores_visible.is_some();
        (declared && site.gpu_count() > 0 || server.cpu_cores_visible.is_some())
            .then(|| check(site, server, place))
    };
    match &site.kind {
        SiteKind::Server(server) => check(server, "the server").into_iter().collect(),
        SiteKind::Pool(pool) => pool
            .nodes
            .iter()
            .filter_map(|group| check(&group.server, &format!("a node of {}", group.name)))
            .collect(),
    }
}

/// Threads that a workload is told to start, and by what: an option of its command line, or a variable
/// of its environment. `None` where it is told nothing.
pub fn declared_threads(workload: &Workload) -> Option<(f64, &'static str)> {
    if let Some(threads) = arguments::number::<f64>(workload, &["--threads"]) {
        return Some((threads, "--threads"));
    }
    let launch = arguments::launch_of(workload)?;
    VARIABLES.into_iter().find_map(|name| {
        let threads = launch.env.get(name)?.parse().ok()?;
        Some((threads, name))
    })
}

fn check(site: &Site, server: &Server, place: &str) -> Check {
    let names = site.workloads.iter().map(|workload| workload.name.clone()).collect();
    let title = format!("Do the threads fit the cores that {place} really gives?");
    let mut check = open("cpu", title, names);
    check.sources = vec![
        "tobocop2/lilbee#660: 96 cores are visible, the quota is 7.65, and 48 threads collapse",
        "vllm-project/vllm#13247: a low GPU utilisation under a CPU limit is no spare GPU",
    ];
    if let Some(visible) = server.cpu_cores_visible {
        check.arithmetic.push(format!("visible to programs: {} cores", number(visible, 2)));
    }
    let Some(cores) = server.cpu_cores else {
        check.answer = "what quota and affinity leave is not declared; the visible cores say \
                        nothing of it"
            .into();
        check.missing.push("server: { cpu_cores: … }, from cpu.max and the affinity".to_owned());
        return check;
    };
    let whole = cores.floor();
    check.arithmetic.push(format!(
        "usable by quota and affinity: {} cores, so floor({}) = {} threads at full speed",
        number(cores, 2),
        number(cores, 2),
        number(whole, 0)
    ));
    let hidden = server.cpu_cores_visible.map(|visible| visible > cores);
    decide(site, whole, hidden, &mut check);
    check
}

fn decide(site: &Site, whole: f64, hidden: Option<bool>, check: &mut Check) {
    let mut all = 0.0;
    let mut silent: Vec<&Workload> = Vec::new();
    let mut over: Vec<String> = Vec::new();
    for workload in &site.workloads {
        match declared_threads(workload) {
            Some((threads, by)) => {
                check.arithmetic.push(format!(
                    "{}: {} threads by {by}",
                    workload.name,
                    number(threads, 0)
                ));
                all += threads;
                if threads > whole.max(1.0) {
                    over.push(quoted(&workload.name));
                }
            }
            None if arguments::launch_of(workload).is_some() => silent.push(workload),
            None => {}
        }
    }
    let most = counted(whole.max(1.0) as u64, "thread");
    if !over.is_empty() {
        check.outcome = Outcome::Fails;
        check.answer =
            format!("no: {} starts more threads than there are cores to run them", over.join(", "));
        check.would_be_conditional_on.push(format!("at most {most} for all workloads together"));
    } else if hidden == Some(true) && !silent.is_empty() {
        check.answer = "programs that count cores see more than they get, and the threads of some \
                        are not declared"
            .into();
        check.would_be_conditional_on.push(format!("at most {most} for all workloads together"));
        check.missing.extend(silent.iter().map(|workload| {
            line_of(
                &workload.name,
                &format!("launch: {{ env: {{ OMP_NUM_THREADS: \"{whole}\" }} }}"),
            )
        }));
    } else if hidden.is_none() && !silent.is_empty() {
        check.answer = "cannot be decided: how many cores programs see, and so how many threads \
                        they start, is not declared"
            .into();
        check.missing.push("server: { cpu_cores_visible: … }".to_owned());
    } else if all > whole {
        check.answer = format!(
            "the threads of all together, {}, are more than the cores: they take turns, and test C \
             shows what that costs",
            number(all, 0)
        );
        check
            .would_be_conditional_on
            .push("cpu.stat of every workload shows no throttling in test C".to_owned());
    } else {
        check.outcome = Outcome::Holds;
        check.answer = format!(
            "{} threads run at full speed, and nothing is known to start more",
            number(whole, 0)
        );
    }
}
