//! MLPerf Inference's published tables: one row a result (6.0), or a column a benchmark under several
//! rows of headings (5.x).

use super::csv;
use super::model::{BenchmarkFile, ImportedBenchmark, ImportedMetric, Tool};
use super::refusal::{Claim, Refusal};
use super::rules::push;

const RESULT: &str = "Avg. Result at System Name";

/// Whether the first lines are such a table, and its delimiter.
pub(super) fn delimiter_of(body: &str) -> Option<char> {
    let header = body.lines().take(8).find(|line| line.trim_start().starts_with("Public ID"))?;
    Some(if header.contains('\t') { '\t' } else { ',' })
}

/// A table.
pub(super) fn table(
    file: &str,
    body: &str,
    delimiter: char,
    caveats: Vec<String>,
) -> Result<BenchmarkFile, Box<Refusal>> {
    let rows = csv::rows(file, body, delimiter)?;
    let at = rows
        .iter()
        .position(|row| row.cells.first().is_some_and(|cell| cell.trim() == "Public ID"))
        .ok_or_else(|| {
            Refusal::file(file, "no row begins with Public ID", "give the whole table")
        })?;
    let header: Vec<&str> = rows[at].cells.iter().map(|cell| cell.trim()).collect();
    let benchmarks = if header.contains(&RESULT) {
        flat(file, &header, &rows[at + 1..])?
    } else {
        wide(file, &rows, at)?
    };
    let version = benchmarks.first().and_then(|benchmark: &ImportedBenchmark| {
        let id = benchmark.name.split('-').next()?;
        Some(id.trim_start_matches('v').to_owned())
    });
    Ok(BenchmarkFile {
        file: file.to_owned(),
        tool: Tool::MlperfInference,
        form: "results",
        version,
        benchmarks,
        caveats,
    })
}

/// What one result is.
struct Published<'a> {
    id: &'a str,
    organisation: &'a str,
    system: &'a str,
    accelerator: &'a str,
    accelerators: &'a str,
    model: &'a str,
    scenario: &'a str,
    unit: &'a str,
}

fn one(
    file: &str,
    row: &csv::Row,
    result: &Published<'_>,
    cell: &str,
) -> Result<ImportedBenchmark, Box<Refusal>> {
    let value = csv::amount(file, row, RESULT, cell)?;
    let mut benchmark =
        ImportedBenchmark::named(format!("{} {} {}", result.id, result.model, result.scenario));
    benchmark.model = Some(result.model.to_owned());
    benchmark.hardware = Some(format!("{} × {}", result.accelerators, result.accelerator));
    for (name, value) in [
        ("organisation", result.organisation),
        ("system", result.system),
        ("scenario", result.scenario),
        ("unit", result.unit),
    ] {
        benchmark.facts.push((name.to_owned(), value.to_owned()));
    }
    if result.unit.ends_with("/s") {
        let field = format!("line {}, {} {}", row.line, result.model, result.scenario);
        push(&mut benchmark, ImportedMetric::Throughput, None, value, None, field);
        if let Some(point) = benchmark.points.last_mut() {
            result.unit.clone_into(&mut point.unit);
        }
    } else {
        benchmark.facts.push((result.unit.to_owned(), value.to_string()));
    }
    let rule = if result.scenario == "Offline" {
        "an offline result gives all queries at once: it is no load that users make"
    } else {
        "only the highest rate that kept MLPerf's own limits is published, no latency"
    };
    benchmark.refusals.push(
        Refusal::new(
            file,
            Claim::Objectives,
            rule,
            "use it to compare devices; measure latency on your own: cotenant measure --tests a",
        )
        .line(row.line),
    );
    Ok(benchmark)
}

/// One row a result.
fn flat(
    file: &str,
    header: &[&str],
    rows: &[csv::Row],
) -> Result<Vec<ImportedBenchmark>, Box<Refusal>> {
    let mut benchmarks = Vec::new();
    for row in rows {
        let of = |name: &str| {
            let at = header.iter().position(|cell| cell.starts_with(name));
            at.and_then(|at| row.cells.get(at)).map_or("", |cell| cell.trim())
        };
        let cell = of(RESULT);
        if cell.is_empty() {
            continue;
        }
        let result = Published {
            id: of("Public ID"),
            organisation: of("Organization"),
            system: of("System Name"),
            accelerator: of("Accelerator (click"),
            accelerators: of("Total Accelerators"),
            model: of("Model MLC"),
            scenario: of("Scenario"),
            unit: of("Units"),
        };
        benchmarks.push(one(file, row, &result, cell)?);
    }
    Ok(benchmarks)
}

/// A column a benchmark: models, scenarios and units stand above, the last of them in the header.
fn wide(
    file: &str,
    rows: &[csv::Row],
    header_at: usize,
) -> Result<Vec<ImportedBenchmark>, Box<Refusal>> {
    let broken = |what: &str| Refusal::file(file, what, "give the whole table as it was published");
    let [models, scenarios, header] = match header_at {
        0 | 1 => return Err(broken("models and scenarios must stand above the row of Public ID")),
        at => [&rows[at - 2].cells, &rows[at - 1].cells, &rows[at].cells],
    };
    let body = &rows[header_at + 1..];
    let label_at = body
        .iter()
        .find_map(|row| row.cells.iter().position(|cell| cell.trim() == RESULT))
        .ok_or_else(|| broken("no row of results is in the table"))?;
    let cell =
        |cells: &[String], at: usize| cells.get(at).map_or(String::new(), |c| c.trim().into());
    let column = |name: &str| header.iter().position(|cell| cell.trim().starts_with(name));
    let mut system: Option<&csv::Row> = None;
    let mut benchmarks = Vec::new();
    for row in body {
        if !cell(&row.cells, 0).is_empty() {
            system = Some(row);
        }
        if cell(&row.cells, label_at) != RESULT {
            continue;
        }
        let Some(of_system) = system else { continue };
        let of = |name: &str| column(name).map_or(String::new(), |at| cell(&of_system.cells, at));
        let (id, organisation, system_name) =
            (of("Public ID"), of("Organization"), of("System Name"));
        let (accelerator, accelerators) = (of("Accelerator"), of("# of Accelerators"));
        let mut model = String::new();
        for at in label_at + 1..header.len() {
            let named = cell(models, at);
            if !named.is_empty() {
                model = named;
            }
            let value = cell(&row.cells, at);
            if value.is_empty() {
                continue;
            }
            let (scenario, unit) = (cell(scenarios, at), cell(header, at));
            let result = Published {
                id: &id,
                organisation: &organisation,
                system: &system_name,
                accelerator: &accelerator,
                accelerators: &accelerators,
                model: &model,
                scenario: &scenario,
                unit: &unit,
            };
            benchmarks.push(one(file, row, &result, &value)?);
        }
    }
    Ok(benchmarks)
}
