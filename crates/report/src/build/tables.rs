//! Tables of detail.

use std::collections::BTreeSet;

use cotenant_core::evidence::{Aspect, Run};
use cotenant_core::verdict::Unit;

use super::burst;
use super::facts;
use super::formulas::formulas;
use super::inputs::ReportInputs;
use super::observed;
use super::pool::{Placed, Pool};
use super::transitions;
use crate::format;
use crate::model::{Column, Table, Value};

/// All tables, in the order in which they are shown.
pub(super) fn tables(inputs: &ReportInputs<'_>, pool: &Pool<'_>, drills: Table) -> Vec<Table> {
    let mut tables = vec![
        transitions::costs(inputs.runs),
        drills,
        transitions::checkpoints(inputs.runs, inputs.checkpoint),
        transitions::intervals(inputs.runs, inputs.checkpoint),
        burst::bursts(inputs.runs),
    ];
    tables.extend(observed::tables(pool));
    tables.extend([
        clients(pool),
        audits(inputs.runs),
        rejected(pool),
        excluded(inputs),
        origins(inputs),
        runs(inputs.runs),
        fingerprint(inputs.runs),
        formulas(),
    ]);
    tables
}

fn column(key: &str, title: &str, numeric: bool) -> Column {
    Column { key: key.to_owned(), title: title.to_owned(), numeric }
}

fn table(key: &str, title: &str, note: &str, columns: Vec<Column>, empty: &str) -> Table {
    Table {
        key: key.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        columns,
        rows: Vec::new(),
        empty: empty.to_owned(),
    }
}

fn clients(pool: &Pool<'_>) -> Table {
    let mut table = table(
        "clients",
        "Health of the load client",
        "The client judges itself: its lateness must be small beside what it measures.",
        vec![
            column("block", "block", false),
            column("sent", "sent / planned", true),
            column("lateness_p50_s", "late p50", true),
            column("lateness_p99_s", "late p99", true),
            column("lateness_max_s", "late max", true),
            column("cpu_s", "own CPU", true),
            column("run_queue_wait_s", "run-queue wait", true),
            column("streams_open_max", "streams open", true),
        ],
        "not seen: no block of A or C",
    );
    for placed in &pool.blocks {
        let Some(client) = &placed.block.client else { continue };
        let time = |seconds: f64| format::measured(seconds, Unit::Seconds);
        table.rows.push(vec![
            Value::words(placed.label()),
            Value::words(format!(
                "{} / {}",
                format::count(client.requests_sent.into()),
                format::count(client.requests_planned.into())
            )),
            time(client.lateness_p50_s),
            time(client.lateness_p99_s),
            time(client.lateness_max_s),
            time(client.cpu_s),
            client.run_queue_wait_s.map_or_else(|| Value::missing("the kernel hides it"), time),
            format::counted(client.streams_open_max.into()),
        ]);
    }
    table
}

fn audits(runs: &[Run]) -> Table {
    let mut table = table(
        "audits",
        "Audits of enforcement",
        "A mechanism that is configured and does not bind enforces nothing. The ratio is neighbour ÷ \
         inference.",
        vec![
            column("run", "run", false),
            column("mechanism", "mechanism", false),
            column("expected", "ratio expected", true),
            column("measured", "ratio measured", true),
            column("binds", "binds", false),
            column("method", "how it was measured", false),
        ],
        "not seen: no run audited a mechanism",
    );
    for run in runs {
        for audit in &run.audits {
            table.rows.push(vec![
                Value::words(&run.id),
                Value::words(&audit.mechanism),
                format::value_with_text(
                    audit.ratio_expected,
                    "ratio",
                    format::trimmed(audit.ratio_expected),
                ),
                format::value_with_text(
                    audit.ratio_measured,
                    "ratio",
                    format::number(audit.ratio_measured),
                ),
                Value::words(if audit.binds { "yes" } else { "NO" }),
                Value::words(&audit.method),
            ]);
        }
    }
    table
}

fn rejected(pool: &Pool<'_>) -> Table {
    let mut table = table(
        "rejected",
        "Blocks left out, and remarks",
        "Only causes outside both tenants leave a block out, and they are decided without looking at \
         its latencies.",
        vec![
            column("run", "run", false),
            column("block", "block", false),
            column("state", "state", false),
            column("reason", "reason", false),
        ],
        "No block was left out, and none carries a remark.",
    );
    for placed in &pool.blocks {
        if let Some(reason) = &placed.rejected {
            table.rows.push(block_row(placed, "left out", reason));
        }
        for remark in &placed.block.remarks {
            table.rows.push(block_row(placed, "remark", remark));
        }
    }
    table
}

fn block_row(placed: &Placed<'_>, state: &str, reason: &str) -> Vec<Value> {
    vec![
        Value::words(&placed.run.id),
        Value::words(placed.label()),
        Value::words(state),
        Value::words(reason),
    ]
}

fn excluded(inputs: &ReportInputs<'_>) -> Table {
    let mut table = table(
        "excluded",
        "Runs left out",
        "All valid blocks of one fingerprint count together; a run is left out for a recorded reason \
         alone.",
        vec![column("run", "run", false), column("reason", "reason", false)],
        "No run was left out.",
    );
    table.rows = inputs
        .verdict
        .excluded
        .iter()
        .map(|(run, reason)| vec![Value::words(run), Value::words(reason)])
        .collect();
    table
}

fn origins(inputs: &ReportInputs<'_>) -> Table {
    let mut table = table(
        "origins",
        "Where each number comes from",
        "Only measured and imported numbers can pass a performance gate.",
        vec![
            column("gate", "gate", false),
            column("finding", "finding", false),
            column("origin", "origin", false),
            column("evidence", "rests on", false),
        ],
        "There is no finding.",
    );
    for gate in &inputs.verdict.gates {
        for finding in &gate.findings {
            let origin = finding.origin.map_or("nothing yet", |origin| origin.name());
            let evidence = finding.evidence.join(", ");
            table.rows.push(vec![
                Value::words(gate.kind.name()),
                Value::words(format!("{}, {}", finding.subject, finding.strategy.name())),
                Value::words(origin),
                Value::words(if evidence.is_empty() { "–".to_owned() } else { evidence }),
            ]);
        }
    }
    for comparison in &inputs.verdict.comparisons {
        table.rows.push(vec![
            Value::words("description"),
            Value::words(format!("{}, {}", comparison.name, comparison.strategy.name())),
            Value::words("measured"),
            Value::words(format::plural(u64::from(comparison.pairs), "pair", "pairs")),
        ]);
    }
    table
}

fn runs(runs: &[Run]) -> Table {
    let mut table = table(
        "runs",
        "Runs",
        "The pilot fixed the warm-up cut and the shape of the test before the first block.",
        vec![
            column("run", "run", false),
            column("started", "started", false),
            column("origin", "origin", false),
            column("workloads", "workloads", false),
            column("blocks", "blocks done / planned", true),
            column("seed", "seed", true),
            column("warm_up_s", "warm-up cut", true),
            column("engine", "engine", false),
            column("load", "digest of the load", false),
        ],
        "not seen: there is no run",
    );
    for run in runs {
        let workloads = if run.neighbour.is_empty() {
            run.inference.clone()
        } else {
            format!("{} beside {}", run.inference, run.neighbour)
        };
        table.rows.push(vec![
            Value::words(&run.id),
            Value::words(facts::instant(run.started)),
            Value::words(run.origin.name()),
            Value::words(workloads),
            Value::words(format!(
                "{} / {}",
                format::count(run.blocks.len() as u64),
                format::count(run.schedule.len() as u64)
            )),
            Value::words(run.seed.to_string()),
            format::value_with_text(run.pilot.warm_up_s, "s", format::time(run.pilot.warm_up_s)),
            Value::words(if run.engine_supervised {
                "started by the test"
            } else {
                "found running"
            }),
            Value::words(run.load.digest.chars().take(16).collect::<String>()),
        ]);
    }
    table
}

fn fingerprint(runs: &[Run]) -> Table {
    let mut table = table(
        "fingerprint",
        "Fingerprint",
        "What must not change for this evidence to hold. A change makes the named tests stale, and \
         test C always.",
        vec![
            column("aspect", "aspect", false),
            column("value", "value", false),
            column("stales", "a change makes stale", false),
        ],
        "not seen: there is no run",
    );
    if runs.is_empty() {
        return table;
    }
    for aspect in Aspect::ALL {
        let values: BTreeSet<_> =
            runs.iter().filter_map(|run| run.fingerprint.0.get(&aspect)).collect();
        let value = if values.is_empty() {
            Value::missing("no run observed it")
        } else {
            let texts: Vec<_> = values.into_iter().map(String::as_str).collect();
            Value::words(texts.join("  |  "))
        };
        let stales = match (aspect.stales_inference(), aspect.stales_training()) {
            (true, true) => "A, B, C",
            (true, false) => "A, C",
            (false, true) => "B, C",
            (false, false) => "C",
        };
        table.rows.push(vec![Value::words(aspect.name()), value, Value::words(stales)]);
    }
    table
}
