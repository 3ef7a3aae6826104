//! `cotenant simulate --sweep`: the same site under other settings, side by side.

mod compute;
mod keep;
mod on_kubernetes;
mod on_slurm;
mod shards;

use std::fmt::{Debug, Write as _};
use std::path::Path;

use cotenant_core::plan::PlanQuestion;
use cotenant_core::sim::sweep::{PointOutcome, Sweep, SweepQuestion, pools_at};
use cotenant_records::sweep::PartHead;
use cotenant_report::{
    SweepInputs, TerminalOptions, build_sweep, render_sweep_html, render_sweep_terminal,
    sweep_to_json,
};
use sha2::{Digest as _, Sha256};

use crate::cli::{Cluster, SimulateFormat, SimulateOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;
use crate::site_file;
use crate::verbs::planned::{Planned, RECLAIM, RECLAIM_TEXT};
use crate::verbs::session::with_interrupt;
use crate::verbs::simulate::write_answer;

pub(super) fn run(options: &SimulateOptions, printer: &Printer) -> Result<Code, Failure> {
    let asked = &options.sweep;
    let sweep = Sweep::parse(&asked.sweep, asked.points_max).map_err(Failure::input)?;
    let file = site_file::read(&options.site, printer)?;
    let planned = Planned::read(&file, options.evidence.as_deref(), *printer)?;
    let drilled = planned.drilled();
    let bases = planned.bases(options.drawing.seed);
    let question = SweepQuestion {
        plan: planned.question(&options.drawing),
        drilled: &drilled,
        reclaim: Some(RECLAIM),
        sweep: &sweep,
        bases: &bases,
    };
    let key = key_of(&question);
    if asked.on == Some(Cluster::Kubernetes) {
        on_kubernetes::write(options, &sweep, printer)?;
        return Ok(Code::Answered);
    }
    if let Some(shard) = asked.shard {
        let number = shards::number(shard)?;
        let wanted: Vec<u64> = sweep.shard(number, shard.of).collect();
        let points = computed(options, &question, &key, &wanted, printer)?;
        let head = PartHead::new(&key, sweep.points(), number, shard.of);
        let out = options.out.as_deref().unwrap_or(Path::new("."));
        let path = shards::target(out, number, shard.of);
        shards::write(&path, &head, &points)?;
        printer.note(&format!("shard {number} of {} is in {}", shard.of, path.display()));
        return Ok(Code::Answered);
    }
    let points = if let Some(folder) = &asked.merge {
        let gathered = shards::gather(folder, &key)?;
        for remark in &gathered.remarks {
            printer.note(&format!("note: {remark}"));
        }
        shards::merged(options, folder, &sweep, gathered)?
    } else if asked.on == Some(Cluster::Slurm) {
        with_interrupt(async |interrupt| {
            on_slurm::points(options, &sweep, &key, &interrupt, printer).await
        })?
    } else {
        let wanted: Vec<u64> = (0..sweep.points()).collect();
        computed(options, &question, &key, &wanted, printer)?
    };
    let text = rendered(options, printer, &question, &points, &planned);
    write_answer(options.out.as_deref(), &text, printer)?;
    Ok(Code::Answered)
}

/// Some points, computed here.
fn computed(
    options: &SimulateOptions,
    question: &SweepQuestion<'_>,
    key: &str,
    wanted: &[u64],
    printer: &Printer,
) -> Result<Vec<PointOutcome>, Failure> {
    let folder = options.sweep.keep.as_deref();
    let kept = keep::Keep::open(folder, key, question.sweep.points(), printer)?;
    with_interrupt(async |interrupt| compute::points(question, wanted, kept, &interrupt, printer))
}

/// The report of all points, in the form that was asked for.
fn rendered(
    options: &SimulateOptions,
    printer: &Printer,
    question: &SweepQuestion<'_>,
    points: &[PointOutcome],
    planned: &Planned<'_>,
) -> String {
    let site = question.plan.site;
    let known = question.bases.iter().filter_map(|(_, basis)| basis.as_ref().ok());
    let of_engines = known.flat_map(|basis| basis.assumed.clone());
    let assumed: Vec<String> = [RECLAIM_TEXT.to_owned()].into_iter().chain(of_engines).collect();
    let report = build_sweep(&SweepInputs {
        site_name: &site.name,
        tool_version: concat!("cotenant ", env!("CARGO_PKG_VERSION")),
        gpus: site.gpu_count(),
        sweep: question.sweep,
        points,
        pools: &pools_at(question),
        gpu_hour: site.operations.cost.as_ref().and_then(|cost| cost.gpu_hour.as_ref()),
        assumed: &assumed,
        notes: &planned.histories.notes,
    });
    match options.format {
        SimulateFormat::Text => {
            let color = printer.color() && options.out.is_none();
            render_sweep_terminal(&report, &TerminalOptions { width: 80, color })
        }
        SimulateFormat::Json => sweep_to_json(&report),
        SimulateFormat::Html => render_sweep_html(&report),
    }
}

/// A digest of everything that points are computed from, the program's version included.
fn key_of(question: &SweepQuestion<'_>) -> String {
    let SweepQuestion { plan, drilled, reclaim, sweep, bases } = question;
    let PlanQuestion {
        site,
        site_file: _, // A name changes no number.
        as_of,
        histories,
        drill_measured,
        capacities,
        effort,
        weeks_drawn,
        seed,
    } = plan;
    let mut digest = Digest(Sha256::new());
    let mut add = |part: &dyn Debug| {
        // A digest takes whatever it is given.
        let _ = writeln!(digest, "{part:?}");
    };
    add(&env!("CARGO_PKG_VERSION"));
    let (site, histories, capacities): (&dyn Debug, &dyn Debug, &dyn Debug) =
        (site, histories, capacities);
    for part in [site, histories, capacities, as_of, drill_measured, effort] {
        add(part);
    }
    add(&(weeks_drawn, seed, drilled, reclaim, sweep));
    add(bases);
    let mut shown = String::new();
    for byte in digest.0.finalize() {
        let _ = write!(shown, "{byte:02x}");
    }
    shown
}

/// Text that goes into a digest as it comes, without standing in memory.
struct Digest(Sha256);

impl std::fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}
