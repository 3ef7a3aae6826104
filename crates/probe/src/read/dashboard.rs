//! Grafana dashboards: which queries somebody looks at.

use std::io::BufRead;

use cotenant_core::reading::{Figure, FileKind, FileReading, Table};
use serde_json::Value;

use super::look::{Claim, Look, Outcome};

/// How deep panels may lie inside of rows.
const DEPTH_MAX: usize = 8;

pub(super) fn claim(look: &Look<'_>) -> Option<Claim> {
    let value = look.json.as_ref()?;
    // The API wraps a dashboard.
    let board = value.get("dashboard").unwrap_or(value);
    let has = |key: &str| board.get(key).is_some();
    let is_board = (has("panels") || has("rows"))
        && (has("schemaVersion") || has("__inputs") || has("templating"));
    is_board.then(|| Claim::sure("has `panels` and `schemaVersion`, as Grafana writes it", read))
}

#[expect(clippy::unnecessary_wraps, reason = "every reader has this shape")]
fn read(look: &Look<'_>, _: &mut dyn BufRead) -> Outcome {
    Ok(told(look).into())
}

fn told(look: &Look<'_>) -> FileReading {
    let nothing = Value::Null;
    let value = look.json.as_ref().unwrap_or(&nothing);
    let board = value.get("dashboard").unwrap_or(value);
    let mut reading = FileReading::new(look.name, FileKind::Dashboard, "JSON");
    reading.producer = Some("Grafana".to_owned());
    reading.version = board
        .get("__requires")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .find(|one| one.get("id").and_then(Value::as_str) == Some("grafana"))
        .and_then(|one| one.get("version"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    let title = board.get("title").and_then(Value::as_str);
    reading.fact("title", Figure::text_or(title, "the dashboard has no title"));
    let schema = board.get("schemaVersion").and_then(Value::as_f64);
    reading.fact("schema", Figure::number_or(schema, "", "not said"));
    let mut queries = Table::new("Queries", &["panel", "unit", "query"]);
    let mut panels = 0;
    walk(board, &mut queries, &mut panels, DEPTH_MAX);
    reading.count("panels", panels);
    reading.count("queries", queries.rows.len() as u64 + queries.rows_left_out);
    reading.table(queries);
    reading.note("a dashboard says what somebody looks at; it holds no measurement");
    reading
}

/// Panels stand in `panels` and, in old files and inside of rows, in `rows`.
fn walk(holder: &Value, queries: &mut Table, panels: &mut u64, depth: usize) {
    if depth == 0 {
        return;
    }
    for key in ["panels", "rows"] {
        for panel in holder.get(key).and_then(Value::as_array).into_iter().flatten() {
            let targets = panel.get("targets").and_then(Value::as_array);
            *panels += u64::from(targets.is_some());
            let word = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let unit = word(panel.pointer("/fieldConfig/defaults/unit"))
                .or_else(|| word(panel.pointer("/yaxes/0/format")));
            for target in targets.into_iter().flatten() {
                let Some(query) = word(target.get("expr")).filter(|text| !text.is_empty()) else {
                    continue;
                };
                queries.row(vec![
                    Figure::text_or(word(panel.get("title")), "no title"),
                    Figure::text_or(unit.clone(), "not said"),
                    Figure::text(query),
                ]);
            }
            walk(panel, queries, panels, depth - 1);
        }
    }
}
