//! How well tests of an engine under some loads tell those under others: each folder of evidence is
//! fitted on or predicted.
//!
//! ```text
//! cargo run --release -p cotenant-records --example predicted_loads -- \
//!     --max-num-seqs 16 fit=ev/chat-20 fit=ev/chat-60 predict=ev/chat-85 svg=predicted.svg
//! ```
//!
//! Words that are none of these say what the engine allows at once, as its command line does.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cotenant_core::evidence::{Aspect, Run};
use cotenant_core::sim::latency::{Figure, PredictedLoad, engine_limits, predict_loads};
use cotenant_records::evidence::{ReadWhat, Store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folders = |key: &str| -> Vec<String> {
        arguments.iter().filter_map(|word| word.strip_prefix(key).map(str::to_owned)).collect()
    };
    let mut fitted_on = Vec::new();
    for folder in folders("fit=") {
        fitted_on.extend(runs(&folder)?);
    }
    let mut predicted = Vec::new();
    for folder in folders("predict=") {
        let name = Path::new(&folder).file_name().map(|name| name.to_string_lossy().into_owned());
        predicted.push((name.unwrap_or_default(), runs(&folder)?));
    }
    let newest = fitted_on.first().ok_or("no fit=FOLDER")?;
    let told = newest.fingerprint.0.get(&Aspect::EngineArguments).cloned().unwrap_or_default();
    let mut words: Vec<&str> =
        arguments.iter().filter(|word| !word.contains('=')).map(String::as_str).collect();
    words.extend(told.split_whitespace());
    let limits = engine_limits(&words);
    println!("limits: {:?}", limits.spec);
    for sentence in &limits.assumed {
        println!("assumed: {sentence}");
    }
    let fit: Vec<&Run> = fitted_on.iter().collect();
    let (model, results) = predict_loads(limits.spec, &fit, &predicted, 1)?;
    println!("{model:#?}");
    println!("{}", table(&results));
    if let Some(path) = folders("svg=").first() {
        fs::write(path, picture(&results))?;
    }
    Ok(())
}

fn runs(folder: &str) -> Result<Vec<Run>, Box<dyn std::error::Error>> {
    let stored = Store::open(Path::new(folder))?.read_all(ReadWhat { gaps: false })?;
    Ok(stored.runs.into_iter().map(|stored| stored.run).collect())
}

const FIGURES: [Figure; 3] = [Figure::TtftMean, Figure::TokenMean, Figure::E2eMean];

fn table(results: &[PredictedLoad]) -> String {
    let mut text = String::from("| run | req/s | ρ |");
    for figure in FIGURES {
        let _ = write!(text, " {} measured | predicted | error |", figure.name());
    }
    text.push_str("\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    let mut errors: Vec<Vec<f64>> = vec![Vec::new(); FIGURES.len()];
    for result in results {
        let rho = result.rho.map_or_else(|| "–".to_owned(), |rho| format!("{rho:.2}"));
        let _ = write!(text, "| {} | {:.2} | {rho} |", result.name, result.rate_per_s);
        for (list, figure) in errors.iter_mut().zip(FIGURES) {
            let Some(it) = result.compared.iter().find(|it| it.figure == figure) else {
                text.push_str(" – | – | – |");
                continue;
            };
            list.push(it.error().abs());
            let _ = write!(
                text,
                " {:.1} ms | {:.1} ms | {:+.1} % |",
                it.measured_s * 1e3,
                it.predicted_s * 1e3,
                it.error() * 100.0
            );
        }
        text.push('\n');
    }
    for (list, figure) in errors.iter_mut().zip(FIGURES) {
        list.sort_by(f64::total_cmp);
        let middle = list.len() / 2;
        let median = list.get(middle).zip(list.get(list.len().saturating_sub(1) / 2));
        if let Some((high, low)) = median {
            let _ =
                writeln!(text, "median error of {}: {:.1} %", figure.name(), (high + low) * 50.0);
        }
    }
    text
}

/// Predicted over measured, both on a logarithmic axis, with the line of perfect prediction and a
/// band of 10 % around it.
fn picture(results: &[PredictedLoad]) -> String {
    const SIZE: f64 = 520.0;
    const EDGE: f64 = 60.0;
    let all = || results.iter().flat_map(|result| &result.compared);
    let shown = || all().filter(|it| FIGURES.contains(&it.figure));
    let times = || shown().flat_map(|it| [it.measured_s, it.predicted_s]);
    let low = times().fold(f64::INFINITY, f64::min).log10() - 0.1;
    let high = times().fold(0.0, f64::max).log10() + 0.1;
    let at = |time_s: f64| (time_s.log10() - low) / (high - low) * (SIZE - 2.0 * EDGE) + EDGE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{SIZE}\" height=\"{SIZE}\" \
         fill=\"#fff\"/>\n"
    );
    let (from, to) = (10_f64.powf(low), 10_f64.powf(high));
    let point = |x: f64, y: f64| format!("{:.1},{:.1}", at(x), SIZE - at(y));
    let _ = writeln!(
        svg,
        "<polygon points=\"{} {} {} {}\" fill=\"#e8eef7\"/>",
        point(from, from / 1.1),
        point(to, to / 1.1),
        point(to, to * 1.1),
        point(from, from * 1.1)
    );
    let _ = writeln!(
        svg,
        "<polyline points=\"{} {}\" stroke=\"#8a99ad\" fill=\"none\"/>",
        point(from, from),
        point(to, to)
    );
    for power in (low.ceil() as i32)..=(high.floor() as i32) {
        let time_s = 10_f64.powi(power);
        let label =
            if time_s < 1.0 { format!("{} ms", time_s * 1e3) } else { format!("{time_s} s") };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{label}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{label}</text>",
            at(time_s),
            SIZE - EDGE + 20.0,
            EDGE - 8.0,
            SIZE - at(time_s) + 4.0
        );
    }
    let colours = [
        (Figure::TtftMean, "#c2410c"),
        (Figure::TokenMean, "#15803d"),
        (Figure::E2eMean, "#1d4ed8"),
    ];
    for (row, (figure, colour)) in colours.into_iter().enumerate() {
        for it in shown().filter(|it| it.figure == figure) {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\" fill-opacity=\"0.75\"/>",
                at(it.measured_s),
                SIZE - at(it.predicted_s)
            );
        }
        let y = EDGE + 18.0 * row as f64;
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            EDGE + 10.0,
            y,
            EDGE + 20.0,
            y + 4.0,
            figure.name()
        );
    }
    let middle = SIZE / 2.0;
    let _ = writeln!(
        svg,
        "<text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">measured (band: 10 %)</text>\
         <text x=\"16\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {middle})\">predicted</text>\n</svg>",
        SIZE - 12.0
    );
    svg
}
