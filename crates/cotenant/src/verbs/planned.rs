//! What a site and its evidence give to a plan: what `plan` and `simulate` share.

use std::path::Path;
use std::time::Duration;

use cotenant_core::capacity::MeasuredCapacity;
use cotenant_core::evidence::{ReclaimDrill, Run};
use cotenant_core::plan::PlanQuestion;
use cotenant_core::plan::schedule::Effort;
use cotenant_records::evidence::ReadWhat;

use crate::cli::Drawing;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::site_file::SiteFile;
use crate::verbs::histories::{self, Histories};
use crate::verbs::judged;

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

    /// Every drill that was made.
    pub(crate) fn drills(&self) -> impl Iterator<Item = &ReclaimDrill> {
        self.runs.iter().flat_map(|run| &run.blocks).filter_map(|block| block.drill.as_ref())
    }

    /// The longest time from a signal to memory really free that any drill showed.
    fn longest_drill(&self) -> Option<Duration> {
        let longest = self.drills().filter_map(|it| it.memory_free_s.or(it.exit_s));
        longest.reduce(f64::max).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }
}
