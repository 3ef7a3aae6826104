//! What a site and its evidence give to a plan: what `plan` and `simulate` share.

use std::path::Path;
use std::time::Duration;

use cotenant_core::capacity::MeasuredCapacity;
use cotenant_core::evidence::{ReclaimDrill, Run};
use cotenant_core::plan::PlanQuestion;
use cotenant_core::plan::schedule::Effort;
use cotenant_core::policy::reclaim::Rule;
use cotenant_core::sim::candidates::Basis;
use cotenant_core::sim::latency::{LatencyBasis, foretell};
use cotenant_core::sim::transition::Drilled;
use cotenant_core::site::{Inference, Workload};
use cotenant_core::units::Picoseconds;
use cotenant_records::evidence::ReadWhat;

use crate::cli::Drawing;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::site_file::SiteFile;
use crate::verbs::histories::{self, Histories};
use crate::verbs::judged;

/// When lent GPUs are asked back, for want of anything that a site could say of it: told as assumed.
pub(crate) const RECLAIM: Rule = Rule {
    high: 1.0,
    low: 0.7,
    high_for: Picoseconds(30 * Picoseconds::SECOND.0),
    low_for: Picoseconds(600 * Picoseconds::SECOND.0),
    turn_min: Picoseconds(900 * Picoseconds::SECOND.0),
    settle: Picoseconds(60 * Picoseconds::SECOND.0),
    gpus_per_change: 1,
};

/// [`RECLAIM`] in words.
pub(crate) const RECLAIM_TEXT: &str = "lent GPUs are asked back after 30 s in which replicas lack, one at \
     a time with a minute between, and lent again after ten minutes below 70 %, a quarter of an hour after \
     the last at the earliest";

/// A site with its histories and its evidence.
pub(crate) struct Planned<'a> {
    file: &'a SiteFile,
    name: String,
    pub(crate) histories: Histories,
    runs: Vec<Run>,
    capacities: Vec<MeasuredCapacity>,
}

impl<'a> Planned<'a> {
    /// Reads the histories of the site's demand and what was measured.
    pub(crate) fn read(
        file: &'a SiteFile,
        evidence: Option<&Path>,
        printer: Printer,
    ) -> Result<Self, Failure> {
        let histories = histories::of_site(&file.site, &file.folder(), printer)?;
        let evidence = evidence.map_or_else(|| file.evidence(), Path::to_path_buf);
        // With the gaps between tokens, on which a capacity may depend.
        let gaps = ReadWhat { gaps: true };
        let runs = if evidence.is_dir() { judged::runs(&evidence, gaps)? } else { Vec::new() };
        let capacities = cotenant_core::capacity::measured(&file.site, &runs);
        Ok(Self { file, name: file.name(), histories, runs, capacities })
    }

    /// The question that a plan answers.
    pub(crate) fn question(&self, drawing: &Drawing) -> PlanQuestion<'_> {
        PlanQuestion {
            site: &self.file.site,
            site_file: &self.name,
            as_of: drawing.as_of,
            histories: &self.histories.list,
            capacities: &self.capacities,
            drill_measured: self.longest_drill(),
            effort: Effort { steps_max: drawing.steps, seed: drawing.seed },
            weeks_drawn: drawing.weeks_drawn,
            seed: drawing.seed,
        }
    }

    /// The runs of the evidence that count.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// What its drills have shown.
    pub(crate) fn drilled(&self) -> Drilled {
        Drilled::of(&self.drills().cloned().collect::<Vec<_>>())
    }

    /// What is known of each inference workload's engine: from its tests, else from the shape of its
    /// model and the peak rates of its GPU.
    pub(crate) fn bases(&self, seed: u64) -> Vec<Basis> {
        let site = &self.file.site;
        let basis = |(workload, inference): (&Workload, &Inference)| {
            let tested = foretell(site, workload, inference, &self.runs, seed);
            let basis = tested.map(|forecast| forecast.basis).or_else(|untested| {
                LatencyBasis::of_shape(site, workload, inference, seed)
                    .map_err(|unknown| format!("{untested}; {unknown}"))
            });
            (workload.name.clone(), basis)
        };
        site.inference().map(basis).collect()
    }

    /// Every drill that was made.
    fn drills(&self) -> impl Iterator<Item = &ReclaimDrill> {
        self.runs.iter().flat_map(|run| &run.blocks).filter_map(|block| block.drill.as_ref())
    }

    /// The longest time from a signal to memory really free that any drill showed.
    fn longest_drill(&self) -> Option<Duration> {
        let longest = self.drills().filter_map(|it| it.memory_free_s.or(it.exit_s));
        longest.reduce(f64::max).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }
}
