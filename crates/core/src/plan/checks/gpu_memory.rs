//! Do weights, cache, workspace and graphs fit, with the peaks of all tenants at once?

use super::amount::{Range, Scale, sum};
use super::draft::{counted, number, open, push_once, quoted};
use super::need::{self, Need};
use super::placement::{self, Device, Tenant};
use crate::plan::model::{Check, Outcome};
use crate::site::{Site, WorkloadKind};
use crate::units::Bytes;

/// One check for each set of workloads that is on a device at once.
pub(super) fn checks(site: &Site) -> Vec<Check> {
    // In a pool the group of servers that fits best answers: a workload needs only one.
    let best = |devices: Vec<Device<'_>>| {
        let of_groups = devices.iter().map(|device| check(site, device));
        of_groups.reduce(|best, other| if other.outcome > best.outcome { other } else { best })
    };
    placement::devices(site).into_iter().filter_map(best).collect()
}

/// A tenant and what it takes on the device.
struct Row<'a> {
    tenant: Tenant<'a>,
    need: Need,
    /// What it takes under the limit that the mode of sharing sets.
    takes: Range,
}

fn check(site: &Site, device: &Device<'_>) -> Check {
    let fits = if device.tenants.len() > 1 { "fit together" } else { "fit" };
    let verb = if device.tenants.len() > 1 { "Do" } else { "Does" };
    let title = format!("{verb} {} {fits} on {}?", device.who(), device.name);
    let mut check = open("gpu_memory", title, device.names());
    check.sources = vec![
        "key-value cache: 2 × layers × kv_heads × head_size × bytes for each token; real allocations \
         of the engine count, not the size of a file",
    ];
    let capacity = device.capacity.as_ref();
    let rows = rows(device, capacity.map(|capacity| capacity.bytes.0 as f64));
    let taken = device.server.gpu_memory_taken.map_or(Range::ZERO, Range::bytes);
    let amounts = rows.iter().flat_map(|row| {
        row.tenant.limit.into_iter().chain(need::declared_amounts(row.tenant.workload))
    });
    let declared = [device.server.gpu_memory, device.server.gpu_memory_taken];
    let scale = Scale::of(amounts.chain(declared.into_iter().flatten()));

    check.arithmetic.extend(rows.iter().flat_map(|row| row_lines(row, scale)));
    let together = sum(rows.iter().map(|row| row.takes)).plus(taken);
    check.arithmetic.push(sum_line(&rows, device, together, scale));
    check.missing.extend(
        rows.iter().filter(|row| row.takes.high.is_none()).filter_map(|row| row.need.missing()),
    );
    if let Some(over) = over_limit(&rows, scale) {
        check.outcome = Outcome::Fails;
        check.answer = over;
        return check;
    }
    let Some(capacity) = capacity else {
        check.answer = format!(
            "cannot be decided: what {} holds is not declared; {} would take {}",
            device.name,
            device.who(),
            scale.amount(together)
        );
        check.missing.insert(0, device.capacity_line.clone());
        return check;
    };
    let holds = capacity.bytes.0 as f64;
    let shown = scale.show(holds);
    check.arithmetic.push(format!("{} holds {shown} ({})", device.name, capacity.how));
    check.outcome = outcome(together, holds);
    check.answer = answer(device, check.outcome, together, holds, scale);
    match check.outcome {
        Outcome::Fails if rows.len() > 1 => {
            lease(site, &rows, holds - taken.low, scale, &mut check);
        }
        Outcome::Fails => smaller(&rows, holds - taken.low, scale, &mut check),
        Outcome::Open => check.would_be_conditional_on.push(format!(
            "the measured peak of {} on one device stays at or below {}",
            device.who(),
            scale.show(holds - taken.low)
        )),
        Outcome::Holds => {}
    }
    if check.outcome == Outcome::Holds {
        let is_measured = rows.iter().all(|row| !row.need.is_declared_only(row.tenant.workload));
        check.answer.push_str(if is_measured { "" } else { ", by figures that nobody measured" });
        residue(device, holds - together.high.unwrap_or(holds), scale, &mut check);
    }
    check
}

fn rows<'a>(device: &Device<'a>, capacity: Option<f64>) -> Vec<Row<'a>> {
    let row = |tenant: &Tenant<'a>| {
        let need = need::need(tenant.workload, device.server, capacity)?;
        let limit = tenant.limit.map(|limit| limit.0 as f64);
        let takes = limit.map_or(need.total, |limit| need.total.capped(limit));
        Some(Row { tenant: *tenant, need, takes })
    };
    device.tenants.iter().filter_map(row).collect()
}

fn row_lines(row: &Row<'_>, scale: Scale) -> Vec<String> {
    let mut lines = vec![row.need.line(scale)];
    if let Some(limit) = row.tenant.limit {
        lines.push(format!(
            "{}: limited to {}, so it takes {}",
            row.tenant.workload.name,
            scale.show(limit.0 as f64),
            scale.range(row.takes)
        ));
    }
    lines
}

fn sum_line(rows: &[Row<'_>], device: &Device<'_>, together: Range, scale: Scale) -> String {
    let mut parts: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row.tenant.workload.name, scale.range(row.takes)))
        .collect();
    match device.server.gpu_memory_taken {
        Some(taken) => parts.push(format!("held by others {}", scale.show(taken.0 as f64))),
        None => parts.push("held by others: none is declared".to_owned()),
    }
    format!("together: {} = {}", parts.join(" + "), scale.range(together))
}

/// The rule of every check on amounts.
pub(super) fn outcome(needed: Range, there: f64) -> Outcome {
    if needed.low > there {
        Outcome::Fails
    } else if needed.high.is_some_and(|high| high <= there) {
        Outcome::Holds
    } else {
        Outcome::Open
    }
}

fn answer(
    device: &Device<'_>,
    outcome: Outcome,
    needed: Range,
    holds: f64,
    scale: Scale,
) -> String {
    let shown = format!("{} on {}", scale.show(holds), device.name);
    let verb = if device.tenants.len() > 1 { "take" } else { "takes" };
    let who = format!("{} {verb}", device.who());
    match outcome {
        Outcome::Fails => format!(
            "no: {who} {} of {shown}: {} is missing",
            scale.show(needed.low),
            scale.show(needed.low - holds)
        ),
        Outcome::Holds => {
            let high = needed.high.unwrap_or(needed.low);
            format!(
                "{who} at most {} of {shown}, {} stays free",
                scale.show(high),
                scale.show(holds - high)
            )
        }
        Outcome::Open => format!("cannot be decided: {who} {} of {shown}", scale.amount(needed)),
    }
}

/// A workload that its own limit refuses.
fn over_limit(rows: &[Row<'_>], scale: Scale) -> Option<String> {
    let row = rows
        .iter()
        .find(|row| row.tenant.limit.is_some_and(|limit| row.need.total.low > limit.0 as f64))?;
    Some(format!(
        "no: {} needs {} and is limited to {}; its next allocation fails",
        quoted(&row.tenant.workload.name),
        scale.show(row.need.total.low),
        scale.show(row.tenant.limit.unwrap_or(Bytes(0)).0 as f64)
    ))
}

/// What would make memory sets hold that do not fit together: turns, if each fits alone.
fn lease(site: &Site, rows: &[Row<'_>], room: f64, scale: Scale, check: &mut Check) {
    if let Some(row) = rows.iter().find(|row| row.takes.low > room) {
        check.would_be_conditional_on.push(format!(
            "{} made smaller or moved: even alone it needs {} of {}",
            quoted(&row.tenant.workload.name),
            scale.show(row.takes.low),
            scale.show(room)
        ));
        return;
    }
    check.answer.push_str("; at once they cannot, in turns they can");
    check.would_be_conditional_on.push(format!(
        "an exclusive lease: {} hold the device in turns, never at once (`sharing: {{ mode: \
         {{ temporal: … }} }}`)",
        super::draft::listed(&check.workloads.iter().map(|name| quoted(name)).collect::<Vec<_>>())
    ));
    let serving: Vec<&Row<'_>> = rows
        .iter()
        .filter(|row| matches!(row.tenant.workload.kind, WorkloadKind::Inference(_)))
        .collect();
    for row in serving {
        let name = quoted(&row.tenant.workload.name);
        check.would_be_conditional_on.push(format!(
            "requests to {name} are held, or refused by a stated limit, while another one has the lease"
        ));
        check.would_be_conditional_on.push(format!(
            "status polls touch no GPU: one that wakes {name} loads it onto the running neighbour"
        ));
        check.arithmetic.extend(reload(site, row, scale));
    }
}

/// Time to read the weights back, where the storage is declared.
fn reload(site: &Site, row: &Row<'_>, scale: Scale) -> Option<String> {
    let weights = row.tenant.workload.memory.and_then(|memory| memory.weights.or(memory.peak))?;
    let read = site.server()?.storage?.read_bandwidth?;
    (read.0 > 0.0).then(|| {
        format!(
            "each change of hands reads {} again: {} ÷ {read} = {} s at the least",
            quoted(&row.tenant.workload.name),
            scale.show(weights.0 as f64),
            number(weights.0 as f64 / read.0, 1)
        )
    })
}

/// What would make one workload fit that does not fit alone.
fn smaller(rows: &[Row<'_>], room: f64, scale: Scale, check: &mut Check) {
    let [row] = rows else { return };
    let workload = row.tenant.workload;
    let name = quoted(&workload.name);
    if let Some(cache) = row.need.cache {
        let left = room - (row.takes.low - cache.low);
        if left >= cache.request_low && cache.request_low > 0.0 {
            check.would_be_conditional_on.push(format!(
                "at most {} in one replica of {name}: {} ÷ {} for each",
                counted((left / cache.request_low).floor() as u64, "request"),
                scale.show(left),
                scale.show(cache.request_low)
            ));
            return;
        }
    }
    if room > 0.0 {
        check.would_be_conditional_on.push(format!(
            "{name} spread over at least {} for each copy, or less memory: {} ÷ {} of room",
            counted((row.takes.low / room).ceil() as u64, "such device"),
            scale.show(row.takes.low),
            scale.show(room)
        ));
    }
}

/// An engine that sleeps keeps something on the GPU, and how much is measured, not assumed.
fn residue(device: &Device<'_>, room: f64, scale: Scale, check: &mut Check) {
    for workload in &device.resting {
        let level = workload.memory.and_then(|memory| memory.sleep_level);
        let name = quoted(&workload.name);
        match level {
            Some(level) => {
                check.outcome = Outcome::Open;
                check.would_be_conditional_on.push(format!(
                    "{name} asleep at level {level} leaves at most {} on the device, which is \
                     measured: sleep frees most of the memory, not all",
                    scale.show(room)
                ));
                check.answer = format!(
                    "{} fits while {name} is off the device; what {name} leaves there asleep is not known",
                    device.who()
                );
            }
            None if matches!(workload.kind, WorkloadKind::Inference(_)) => {
                push_once(
                    &mut check.arithmetic,
                    format!(
                        "{name} is taken to leave nothing behind: no sleep level is declared, so it exits"
                    ),
                );
            }
            None => {}
        }
    }
}
