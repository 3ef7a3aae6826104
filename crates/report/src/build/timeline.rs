//! Blocks in order of time.

use cotenant_core::evidence::Phase;

use super::axes::{coordinate, linear};
use super::pool::{Placed, Pool};
use crate::format;
use crate::model::{TimelineBlock, TimelineChart, TimelineLane};

/// One lane for each run, in order of time.
pub(super) fn timeline(pool: &Pool<'_>) -> TimelineChart {
    let mut lanes: Vec<(&str, Vec<&Placed<'_>>)> = Vec::new();
    for placed in &pool.blocks {
        match lanes.iter_mut().find(|(run, _)| *run == placed.run.id) {
            Some((_, blocks)) => blocks.push(placed),
            None => lanes.push((&placed.run.id, vec![placed])),
        }
    }
    let lanes: Vec<_> = lanes.into_iter().map(|(run, blocks)| lane(run, &blocks)).collect();
    let largest =
        lanes.iter().flat_map(|lane| &lane.blocks).map(|block| block.to_min).fold(0.0, f64::max);
    let intro = "Blocks in order of time. A paler edge is warm-up or drill and is not judged.";
    let mut sentences = vec![intro];
    sentences.extend(lanes.iter().flat_map(|lane| &lane.blocks).map(|block| block.text.as_str()));
    let description = sentences.join(" ");
    TimelineChart {
        title: "Blocks in order of time".to_owned(),
        description,
        x: linear("minutes from the first block", largest, format::trimmed),
        missing: lanes.is_empty().then(|| "not seen: no block was finished".to_owned()),
        lanes,
    }
}

fn lane(run: &str, blocks: &[&Placed<'_>]) -> TimelineLane {
    let first = blocks.iter().map(|placed| placed.block.started).min();
    let minutes = |placed: &Placed<'_>, ns: u64| {
        let from_first =
            first.map_or(0.0, |first| placed.block.started.duration_since(first).as_secs_f64());
        coordinate((from_first + ns as f64 / 1e9) / 60.0)
    };
    let block = |placed: &&Placed<'_>| {
        let block = placed.block;
        let checkpoint = block.observed_phase() == Phase::Checkpoint;
        TimelineBlock {
            index: block.plan.index,
            kind: placed.kind,
            from_min: minutes(placed, 0),
            to_min: minutes(placed, block.ended_ns),
            judged_from_min: minutes(placed, block.judged_from_ns.min(block.ended_ns)),
            judged_to_min: minutes(placed, block.judged_until_ns.min(block.ended_ns)),
            checkpoint,
            rejected: placed.rejected.clone(),
            text: text(placed, checkpoint),
        }
    };
    TimelineLane { run: run.to_owned(), blocks: blocks.iter().map(block).collect() }
}

fn text(placed: &Placed<'_>, checkpoint: bool) -> String {
    let mut parts = vec![format!("Block {}: {}", placed.block.plan.index, placed.kind.letter())];
    parts.push(format!("{} judged", format::time(placed.block.judged_s())));
    if checkpoint {
        parts.push("with a checkpoint".to_owned());
    }
    parts.extend(placed.rejected.as_ref().map(|reason| format!("left out: {reason}")));
    parts.extend(placed.block.remarks.iter().cloned());
    parts.join(", ") + "."
}
