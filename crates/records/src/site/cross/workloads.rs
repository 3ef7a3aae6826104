//! Rules inside one workload.

use std::time::Duration;

use cotenant_core::units::format_duration;

use super::entries::{key_span, value_span, workloads};
use crate::site::scalar;
use crate::site::tree::Node;
use crate::site::view::View;
use crate::site::{Problem, Span};

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    for workload in workloads(root) {
        let view = workload.view;
        if let Some(inference) = view.group("inference") {
            tokens(inference, problems);
            objectives(inference, "an inference workload", problems);
            lengths(view, inference, problems);
            peak_rate(inference, problems);
            guard(inference, problems);
            capacity(inference, problems);
            columns(inference, problems);
        }
        if let Some(training) = view.group("training") {
            objectives(training, "a training workload", problems);
            preemption(training, problems);
            log(workload.name, training, problems);
        }
        for class in view.list("classes") {
            tokens(class, problems);
            quantiles(class, problems);
        }
        class_shares(view, problems);
    }
}

/// The median is at most the 95th percentile.
fn tokens(view: View<'_>, problems: &mut Vec<Problem>) {
    for key in ["prompt_tokens", "output_tokens"] {
        let Some(group) = view.group(key) else { continue };
        let Some((p50, p95)) = group.whole("p50").zip(group.whole("p95")) else { continue };
        if p50 > p95 {
            problems.push(
                Problem::error(
                    "quantiles",
                    format!("{key}: the median is above the 95th percentile"),
                )
                .at(value_span(group, "p50"), "half are above this")
                .beside(value_span(group, "p95"), "one in twenty is above this")
                .hint("swap the two"),
            );
        }
        if p95 == 0 {
            problems.push(
                Problem::error("tokens", format!("{key}: all are empty"))
                    .at(value_span(group, "p95"), "")
                    .hint("write the real lengths; one token is the least"),
            );
        }
    }
}

/// "None may fail" is refuted by one failure and proven by no number of requests.
fn no_failure_at_all(objectives: View<'_>, problems: &mut Vec<Problem>) {
    if objectives.share("error_rate").is_some_and(|share| share.value() == 0.0) {
        problems.push(
            Problem::warning("unprovable", "no number of requests proves that none ever fails")
                .at(value_span(objectives, "error_rate"), "the verdict stays NOT PROVEN")
                .hint("write the share that may fail, such as `error_rate: 0.1 %`"),
        );
    }
}

/// Without an objective there is no question to answer.
fn objectives(view: View<'_>, what: &str, problems: &mut Vec<Problem>) {
    let Some(group) = view.group("objectives") else { return };
    if group.0.entries().is_empty() {
        problems.push(
            Problem::error("no-objective", format!("{what} has no objective"))
                .at(key_span(view, "objectives"), "at least one is needed")
                .hint("without an objective there is nothing to pass"),
        );
    }
    no_failure_at_all(group, problems);
    if let Some(share) = group.node("on_time_share")
        && !group.group("deadline").is_some_and(|deadline| deadline.has("weekly"))
    {
        problems.push(
            Problem::error("on-time-share", "`on_time_share` needs a recurring deadline")
                .at(share.span, "a share of which occurrences?")
                .hint("add `deadline: { weekly: Fri 18:00 }`, or remove the line"),
        );
    }
    quantiles(view, problems);
}

/// A guard ends a test; where it is tighter than what is judged, no test ever lasts until its verdict.
fn guard(inference: View<'_>, problems: &mut Vec<Problem>) {
    let groups = inference.group("guard").zip(inference.group("objectives"));
    let Some((guard, objectives)) = groups else { return };
    let mut tighter = |key: &str, is_tighter: bool| {
        if is_tighter {
            problems.push(
                Problem::warning("tight-guard", format!("the guard's `{key}` is tighter than the objective"))
                    .at(value_span(guard, key), "the test ends here")
                    .beside(value_span(objectives, key), "and would be judged here")
                    .hint("give the guard a wider bound: an objective is judged by a test, a guard ends one"),
            );
        }
    };
    for key in ["ttft_p95", "e2e_p95"] {
        let both = guard.duration(key).zip(objectives.duration(key));
        tighter(key, both.is_some_and(|(guard, objective)| guard < objective));
    }
    let both = guard.share("error_rate").zip(objectives.share("error_rate"));
    tighter("error_rate", both.is_some_and(|(guard, objective)| guard.value() < objective.value()));
}

/// A higher quantile is at least a lower one, and the whole answer takes at least its first token.
fn quantiles(view: View<'_>, problems: &mut Vec<Problem>) {
    let Some(group) = view.group("objectives") else { return };
    for (small, large, why) in [
        ("ttft_p95", "ttft_p99", "the 99th percentile is never below the 95th"),
        ("ttft_p95", "e2e_p95", "the last byte never comes before the first token"),
    ] {
        let Some((low, high)) = group.duration(small).zip(group.duration(large)) else { continue };
        if low > high {
            problems.push(
                Problem::error("quantiles", format!("`{small}` is above `{large}`"))
                    .at(value_span(group, small), format_duration(low))
                    .beside(value_span(group, large), format_duration(high))
                    .hint(format!("{why}, so the looser one says nothing")),
            );
        }
    }
}

/// Arrivals without lengths are no load.
fn lengths(workload: View<'_>, inference: View<'_>, problems: &mut Vec<Problem>) {
    let Some((demand, _)) = inference.variant("demand") else { return };
    if demand == "trace" {
        return;
    }
    let missing: Vec<&str> = ["prompt_tokens", "output_tokens"]
        .into_iter()
        .filter(|key| {
            let mut classes = workload.list("classes").peekable();
            let by_class = classes.peek().is_some() && classes.all(|class| class.has(key));
            !inference.has(key) && !by_class
        })
        .collect();
    if missing.is_empty() {
        return;
    }
    let names: Vec<String> = missing.iter().map(|key| format!("`{key}`")).collect();
    problems.push(
        Problem::error("missing", format!("an inference workload lacks {}", names.join(" and ")))
            .at(key_span(inference, "demand"), "a trace has lengths, other demands do not")
            .hint(format!("add `{}: {{ p50: 200, p95: 900 }}`", missing[0])),
    );
}

/// The peak is at least the mean.
fn peak_rate(inference: View<'_>, problems: &mut Vec<Problem>) {
    let Some(peak) = inference.rate("peak_rate") else { return };
    let Some((name, settings)) = inference.variant("demand") else { return };
    let (node, key) = match name {
        "poisson" | "gamma" | "constant" => (settings, "rate"),
        _ => return,
    };
    if let Some(mean) = node.rate(key).filter(|mean| mean.per_second > peak.per_second * 1.000_001)
    {
        problems.push(
            Problem::error("peak-rate", "the mean rate is above the peak rate")
                .at(value_span(inference, "peak_rate"), format!("peak {peak}"))
                .beside(value_span(node, key), format!("mean {mean}"))
                .hint("`peak_rate` is the highest rate for which the objectives must hold"),
        );
    }
}

/// Shares of classes are parts of one whole.
fn class_shares(workload: View<'_>, problems: &mut Vec<Problem>) {
    let shares: Vec<(f64, Span)> = workload
        .list("classes")
        .filter_map(|class| Some((class.share("share")?.value(), value_span(class, "share"))))
        .collect();
    let sum: f64 = shares.iter().map(|(share, _)| share).sum();
    let all_have_one = shares.len() == workload.list("classes").count();
    let is_off = sum > 1.0 + 1e-6 || (all_have_one && sum < 1.0 - 1e-6);
    if let Some(((_, last), rest)) = shares.split_last().filter(|_| is_off) {
        let message = format!("the shares of the classes add up to {:.1} %", sum * 100.0);
        let mut problem = Problem::error("class-shares", message).at(*last, "with this one");
        for (_, span) in rest {
            problem = problem.beside(*span, "");
        }
        problems.push(problem.hint("make them add up to 100 %"));
    }
}

/// A job that is stopped before it has saved loses work, whatever the file says.
fn preemption(training: View<'_>, problems: &mut Vec<Problem>) {
    if let Some(checkpoint) = training.group("checkpoint")
        && matches!(checkpoint.text("signal"), Some("KILL" | "SIGKILL"))
    {
        problems.push(
            Problem::error("signal", "a job cannot answer SIGKILL with a checkpoint")
                .at(value_span(checkpoint, "signal"), "ends the job at once")
                .hint("write the signal that your trainer handles, such as `USR1`"),
        );
    }
    let Some(preemption) = training.group("preemption") else { return };
    let loses_nothing = preemption.text("lost_work") == Some("none");
    if loses_nothing && matches!(preemption.text("signal"), Some("KILL" | "SIGKILL")) {
        problems.push(
            Problem::error("signal", "a job cannot save when it is stopped with SIGKILL")
                .at(value_span(preemption, "signal"), "ends the job at once")
                .beside(value_span(preemption, "lost_work"), "says that nothing is lost")
                .hint("write `lost_work: since_checkpoint`, or a signal that the trainer handles"),
        );
    }
    let checkpoint = training.group("checkpoint");
    let duration = checkpoint.and_then(|group| group.duration("duration"));
    let Some((duration, notice)) = duration.zip(preemption.duration("notice")) else { return };
    let Some(checkpoint) = checkpoint.filter(|_| duration > notice) else { return };
    let labels = |problem: Problem| {
        problem
            .at(value_span(preemption, "notice"), format!("stopped after {}", show(notice)))
            .beside(value_span(checkpoint, "duration"), format!("takes {}", show(duration)))
    };
    problems.push(if loses_nothing {
        labels(Problem::error("notice", "the notice is too short for a checkpoint"))
            .beside(value_span(preemption, "lost_work"), "says that nothing is lost")
            .hint("lengthen the notice, or write `lost_work: since_checkpoint`")
    } else {
        labels(Problem::warning("notice", "the notice is too short for a checkpoint"))
            .hint("each preemption loses the work since the last periodic checkpoint")
    });
}

fn show(duration: Duration) -> String {
    format_duration(duration)
}

/// A capacity without a figure turns no demand into GPUs.
fn capacity(inference: View<'_>, problems: &mut Vec<Problem>) {
    const FIGURES: [&str; 5] = ["requests", "requests_in_flight", "kv_tokens", "prefill", "output"];
    let Some(group) = inference.group("capacity") else { return };
    if FIGURES.into_iter().any(|key| group.has(key)) {
        return;
    }
    problems.push(
        Problem::error("missing", "the capacity of a replica says nothing of what it carries")
            .at(key_span(inference, "capacity"), "how much of what?")
            .hint(format!(
                "add one of {}, such as `requests: 4 req/s`",
                scalar::alternatives(&FIGURES)
            )),
    );
}

/// A public trace has the columns that it has.
fn columns(inference: View<'_>, problems: &mut Vec<Problem>) {
    let Some(("trace", trace)) = inference.variant("demand") else { return };
    if !trace.has("columns") {
        return;
    }
    let Some(format @ ("azure" | "mooncake" | "burstgpt")) = trace.text("format") else { return };
    problems.push(
        Problem::error("columns", format!("the columns of `{format}` cannot be chosen"))
            .at(key_span(trace, "columns"), "names columns")
            .beside(value_span(trace, "format"), "has columns of its own")
            .hint("write `format: csv` or `format: jsonl`, or remove `columns`"),
    );
}

/// Steps are counted by their number, so their lines must hold it; a job whose log is not read
/// shows nothing of its steps.
fn log(name: &str, training: View<'_>, problems: &mut Vec<Problem>) {
    let Some(log) = training.group("log") else {
        if training.group("launch").is_some() && !training.has("log") {
            problems.push(
                Problem::warning("no-log", format!("nothing can be read of the steps of `{name}`"))
                    .at(key_span(training, "launch"), "launched, and its log is not read")
                    .hint(
                        "add `log: { step: \"step={step} loss={loss}\" }` with the line that your \
                         trainer prints, or `log: { format: cotenant }` for the embedded one",
                    ),
            );
        }
        return;
    };
    for key in ["step", "resumed"] {
        if log.text(key).is_some_and(|template| !template.contains("{step}")) {
            problems.push(
                Problem::error("template", format!("the template of `{key}` lacks {{step}}"))
                    .at(value_span(log, key), "which step is it?")
                    .hint("the number of the step shows whether a resume continues"),
            );
        }
    }
}
