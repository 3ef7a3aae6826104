//! The workloads: the engines that were found, or a placeholder, and a neighbour as an example.

use std::collections::HashMap;

use cotenant_core::evidence::Missing;
use cotenant_core::machine::{EngineFound, Machine};

use super::sheet::{Sheet, is_name, is_value, quoted};

/// The name of the workload that stands in where no engine was found.
pub(super) const PLACEHOLDER: &str = "inference";

/// A neighbour as an example: valid when its marks are taken away.
const NEIGHBOUR: [&str; 8] = [
    "- name: tune",
    "  training:",
    "    launch: { argv: [python, train.py] }",
    "    log: { format: auto }",
    "    objectives: { step_time_max: 2 s }",
    "    checkpoint: { interval: 30 min, duration: 40 s, resume_duration: 90 s }",
    "    preemption: { allowed: true, signal: TERM, notice: 90 s }",
    "  priority: 10",
];

/// The names of the workloads, in the order of the engines: the engine's name, with the port where several
/// are of one engine.
pub(super) fn names(machine: &Machine) -> Vec<String> {
    let engines = engines(machine);
    if engines.is_empty() {
        return vec![PLACEHOLDER.to_owned()];
    }
    let kind =
        |engine: &EngineFound| engine.engine.clone().unwrap_or_else(|_| PLACEHOLDER.to_owned());
    let mut count: HashMap<String, usize> = HashMap::new();
    for engine in engines {
        *count.entry(kind(engine)).or_default() += 1;
    }
    let name = |engine: &EngineFound| match (kind(engine), engine.port) {
        (kind, port) if count[&kind] > 1 => format!("{kind}-{port}"),
        (kind, _) => kind,
    };
    engines.iter().map(name).collect()
}

pub(super) fn engines(machine: &Machine) -> &[EngineFound] {
    machine.engines.as_ref().map_or(&[], |found| found.value.as_slice())
}

pub(super) fn workloads(sheet: &mut Sheet, machine: &Machine, names: &[String]) {
    sheet.line(0, "workloads:");
    let found = engines(machine);
    if found.is_empty() {
        placeholder(sheet, machine);
    }
    for (engine, name) in found.iter().zip(names) {
        inference(sheet, engine, name);
        sheet.blank();
    }
    sheet.remark(
        1,
        "A neighbour, as an example. Take the marks away and put your own in its place.",
    );
    for line in NEIGHBOUR {
        sheet.example(1, line);
    }
}

fn placeholder(sheet: &mut Sheet, machine: &Machine) {
    let why = match &machine.engines {
        Ok(found) => format!("no engine answers: {}", found.how),
        Err(Missing(why)) => why.clone(),
    };
    sheet.remark(1, &format!("FILL IN the engine; not found: {why}"));
    sheet.line(1, &format!("- name: {PLACEHOLDER}"));
    sheet.line(2, "inference:");
    sheet.line(3, "endpoint: http://127.0.0.1:8000");
    sheet.example(3, "metrics: http://127.0.0.1:8000/metrics");
    sheet.example(3, "runtime: vllm");
    sheet.example(3, "version: 0.33.0");
    what_nobody_finds(sheet);
    sheet.blank();
}

fn inference(sheet: &mut Sheet, engine: &EngineFound, name: &str) {
    for clue in &engine.clues {
        sheet.remark(1, &format!("port {}: {clue}", engine.port));
    }
    sheet.line(1, &format!("- name: {}", quoted(name)));
    match engine.models.as_slice() {
        [] => sheet.absent(2, "model: { name: llama }", "the engine names no model"),
        [model, others @ ..] => {
            if is_name(model) {
                sheet.line(2, &format!("model: {{ name: {} }}", quoted(model)));
            } else {
                sheet.absent(
                    2,
                    "model: { name: llama }",
                    &format!("«{model}» is no name of this file"),
                );
            }
            if !others.is_empty() {
                sheet.remark(2, &format!("it serves others too: {}", others.join(", ")));
            }
        }
    }
    sheet.line(2, "inference:");
    sheet.line(3, &format!("endpoint: {}", engine.endpoint));
    let mut field =
        |key: &str, value: &Result<String, Missing>, example: &str, is_url: bool| match value {
            Ok(value) if !is_value(value) => {
                sheet.absent(3, &format!("{key}: {example}"), "the engine says nothing");
            }
            Ok(value) if is_url => sheet.line(3, &format!("{key}: {value}")),
            Ok(value) => sheet.line(3, &format!("{key}: {}", quoted(value))),
            Err(Missing(why)) => sheet.absent(3, &format!("{key}: {example}"), why),
        };
    field("metrics", &engine.metrics, &format!("{}/metrics", engine.endpoint), true);
    field("runtime", &engine.engine, "vllm", false);
    field("version", &engine.version, "0.33.0", false);
    match &engine.arguments {
        Ok(arguments) => arguments_of(sheet, arguments),
        Err(Missing(why)) => sheet.absent(3, "arguments: [--max-num-seqs, \"128\"]", why),
    }
    what_nobody_finds(sheet);
}

/// The arguments behind the program, and behind the script where the program runs one.
fn arguments_of(sheet: &mut Sheet, line: &[String]) {
    let program = line.first().map_or("", |first| first.rsplit('/').next().unwrap_or(first));
    let skipped = if program.starts_with("python") { 2 } else { 1 };
    let arguments: Vec<&String> =
        line.iter().skip(skipped).filter(|argument| is_value(argument)).collect();
    if arguments.is_empty() {
        return sheet.remark(3, &format!("found: the command line of {program} has no arguments"));
    }
    sheet.remark(3, &format!("found: command line of {program}; values of secrets are left out"));
    sheet.line(3, "arguments:");
    for argument in arguments {
        // A bare number would be another kind of value to other readers of YAML.
        let is_number = argument.parse::<f64>().is_ok();
        let argument = if is_number { format!("\"{argument}\"") } else { quoted(argument) };
        sheet.line(4, &format!("- {argument}"));
    }
}

/// Objectives and demand are decisions, and no machine knows them. An error rate of 0 is refuted by one
/// failure and proven by no number of requests, so that no verdict passes on the placeholder.
fn what_nobody_finds(sheet: &mut Sheet) {
    sheet.remark(3, "FILL IN the load that it must carry: a placeholder, and not what was seen");
    sheet.line(3, "demand: { poisson: { rate: 1 req/s } }");
    sheet.line(3, "prompt_tokens: { p50: 400, p95: 3000 }");
    sheet.line(3, "output_tokens: { p50: 150, p95: 600 }");
    sheet.example(3, "peak_rate: 12 req/s");
    sheet.remark(
        3,
        "FILL IN what must hold: a placeholder that no number of requests proves, such as \
         { ttft_p95: 500 ms, itl_p95: 60 ms, error_rate: 0.1 % }",
    );
    sheet.line(3, "objectives: { error_rate: 0 % }");
}
