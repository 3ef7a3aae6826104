//! What bursts did: how soon the neighbour yielded, and when either was as before.

use cotenant_core::evidence::{Block, Condition, Disturbance, Run, Situation};
use cotenant_core::verdict::Unit;

use crate::format;
use crate::model::{Column, Table, Value};

/// One row a burst, those with and without the neighbour side by side.
pub(super) fn bursts(runs: &[Run]) -> Table {
    let rows = runs.iter().flat_map(|run| run.blocks.iter().filter_map(|block| row(run, block)));
    let column = |key: &str, title: &str, numeric: bool| Column {
        key: key.to_owned(),
        title: title.to_owned(),
        numeric,
    };
    Table {
        key: "bursts".to_owned(),
        title: "Bursts: time to yield, time to recover".to_owned(),
        note: "From the beginning of each burst, but «gone» from the word to go, and «at pace» from \
               the burst's end. The neighbour yields when the guard's bounds, or those of the \
               objectives, are broken. Inference is back where requests were well from then on; its \
               row without the neighbour says what the burst does by itself."
            .to_owned(),
        columns: vec![
            column("run", "run", false),
            column("block", "block", true),
            column("beside", "beside", false),
            column("factor", "load", true),
            column("late", "late requests", true),
            column("told_s", "told to go after", true),
            column("gone_s", "gone", true),
            column("inference_s", "inference back after", true),
            column("neighbour_s", "neighbour at pace after", true),
            column("remarks", "seen", false),
        ],
        rows: rows.collect(),
        empty: "not seen: no burst was made (`--tests burst`)".to_owned(),
    }
}

fn row(run: &Run, block: &Block) -> Option<Vec<Value>> {
    if block.plan.situation != Situation::Burst {
        return None;
    }
    let burst = block.observed.disturbance.as_ref()?;
    let with_neighbour = block.plan.condition == Condition::C;
    let seconds = |from_ns: u64, at_ns: u64| {
        format::measured(at_ns.saturating_sub(from_ns) as f64 / 1e9, Unit::Seconds)
    };
    let told_ns = block.drill.as_ref().map(|drill| drill.signal_ns);
    let of_neighbour = |value: Option<Value>, missing: &str| match (value, with_neighbour) {
        (Some(value), _) => value,
        (None, false) => Value::words("–"),
        (None, true) => Value::missing(missing),
    };
    let stayed = "it did not have to go";
    let gone = told_ns.zip(burst.yielded_ns).map(|(told, gone)| seconds(told, gone));
    let (not_gone, not_back) = match told_ns {
        Some(_) => ("its memory was not seen to be free", "not before the block ended"),
        None => (stayed, stayed),
    };
    let back = burst.ended_ns.zip(burst.neighbour_recovered_ns);
    Some(vec![
        Value::words(run.id.clone()),
        format::counted(block.plan.index.into()),
        Value::words(if with_neighbour { run.neighbour.as_str() } else { "nothing" }),
        format::value_with_text(block.load_factor, "ratio", format!("×{:.1}", block.load_factor)),
        late(burst),
        of_neighbour(told_ns.map(|at_ns| seconds(burst.began_ns, at_ns)), stayed),
        of_neighbour(gone, not_gone),
        match burst.inference_recovered_ns {
            Some(at_ns) if at_ns <= burst.began_ns => Value::words("never late"),
            Some(at_ns) => seconds(burst.began_ns, at_ns),
            None => Value::missing("not before the load ended"),
        },
        of_neighbour(back.map(|(ended_ns, at_ns)| seconds(ended_ns, at_ns)), not_back),
        Value::words(remarks(block, burst)),
    ])
}

fn late(burst: &Disturbance) -> Value {
    match burst.requests_late {
        Some((late, all)) => format::value_with_text(
            late as f64,
            "count",
            format!("{} of {}", format::count(late), format::count(all)),
        ),
        None => Value::missing("no bound was looked at"),
    }
}

/// What was told of the block, and why it does not count, if it does not.
fn remarks(block: &Block, burst: &Disturbance) -> String {
    let faults = block.faults.iter().map(|fault| format!("left out: {}", fault.sentence()));
    let failure = block.drill.as_ref().and_then(|drill| drill.failure.clone());
    let told = faults.chain(failure).chain(burst.remarks.iter().cloned());
    told.collect::<Vec<_>>().join("; ")
}
