//! An engine that takes a fraction of the total: is that much free?
//!
//! The fraction counts from the whole GPU, whatever is free. What an engine allocates beside it
//! (captured graphs, by version) comes on top.

use super::amount::{Range, Scale};
use super::draft::{line_of, number, open, push_once, quoted};
use super::gpu_memory::outcome;
use super::need;
use super::placement::{self, Device, Tenant};
use crate::plan::model::{Check, Outcome};
use crate::site::{Site, Workload, WorkloadKind};

pub(super) fn checks(site: &Site) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for devices in placement::devices(site) {
        let of_tenant = |device: &Device<'_>| -> Vec<Check> {
            let tenants = device.tenants.iter();
            tenants.filter_map(|tenant| check(device, tenant.workload)).collect()
        };
        // One device answers in a pool: the alternatives differ in the total alone.
        checks.extend(
            devices
                .iter()
                .map(of_tenant)
                .max_by_key(|checks| checks.iter().map(|check| check.outcome).min())
                .into_iter()
                .flatten(),
        );
    }
    checks
}

fn check(device: &Device<'_>, workload: &Workload) -> Option<Check> {
    let fraction = need::fraction_of_total(workload)?;
    let name = quoted(&workload.name);
    let title =
        format!("Is {} of the total free for {name} on {}?", number(fraction, 4), device.name);
    let mut check = open("memory_fraction", title, device.names());
    check.sources = vec![
        "vllm-project/vllm#783: the fraction is of the total, not of what is free",
        "vllm-project/vllm#7553: captured graphs lie outside of the fraction in some versions",
    ];
    version_line(workload, &mut check);
    let Some(capacity) = &device.capacity else {
        check.answer = format!("the total of {} is not declared", device.name);
        check.missing.push(device.capacity_line.clone());
        return Some(check);
    };
    let others: Vec<&Tenant<'_>> =
        device.tenants.iter().filter(|tenant| tenant.workload.name != workload.name).collect();
    let scale = Scale::of(
        device
            .tenants
            .iter()
            .flat_map(|t| t.limit.into_iter().chain(need::declared_amounts(t.workload)))
            .chain(device.server.gpu_memory_taken)
            .chain(device.server.gpu_memory),
    );
    Question { device, workload, fraction, total: capacity.bytes.0 as f64, others, scale }
        .answer(&mut check);
    Some(check)
}

/// Versions of an engine count what lies inside of the fraction differently, so it is named.
fn version_line(workload: &Workload, check: &mut Check) {
    let WorkloadKind::Inference(inference) = &workload.kind else { return };
    match (&inference.runtime, &inference.version) {
        (Some(runtime), Some(version)) => check.arithmetic.push(format!(
            "{runtime} {version}: what lies outside of its fraction is that version's, and is \
             measured anew after an update"
        )),
        _ => check.missing.push(line_of(&workload.name, "inference: { runtime: …, version: … }")),
    }
}

struct Question<'a> {
    device: &'a Device<'a>,
    workload: &'a Workload,
    fraction: f64,
    total: f64,
    others: Vec<&'a Tenant<'a>>,
    scale: Scale,
}

impl Question<'_> {
    fn answer(&self, check: &mut Check) {
        let scale = self.scale;
        let budget = self.fraction * self.total;
        check.arithmetic.push(format!(
            "budget: {} × {} = {}",
            number(self.fraction, 4),
            scale.show(self.total),
            scale.show(budget)
        ));
        let beside = self.beside(check);
        let free = self.free(beside);
        let peak = self.workload.memory.and_then(|memory| memory.peak).map(|peak| peak.0 as f64);
        let graphs = need::graphs(self.workload);
        let claims = if let Some(peak) = peak {
            self.compare_with_peak(peak, budget, graphs, check);
            Range::exactly(peak)
        } else {
            let claims = Range::exactly(budget).plus(graphs);
            check.arithmetic.push(format!(
                "it claims the budget {} + graphs {} = {}",
                scale.show(budget),
                scale.range(graphs),
                scale.range(claims)
            ));
            claims
        };
        check.outcome = outcome(claims.plus(beside), self.total);
        let overshoots = peak.is_some_and(|peak| peak > budget);
        self.say(check, claims, free, overshoots);
        self.missing(check, claims, beside, peak.is_some());
        if check.outcome != Outcome::Holds {
            self.conditions(check, claims, beside, graphs);
        }
        if check.outcome == Outcome::Open && overshoots && !self.others.is_empty() {
            // What the knob seems to leave to a neighbour was measured not to be there.
            check.outcome = Outcome::Fails;
            check.answer = format!(
                "no: {} takes more than its budget and leaves {}, in which no neighbour is \
                 shown to fit",
                quoted(&self.workload.name),
                scale.show(self.total - claims.low)
            );
        }
    }

    /// What everybody else holds.
    fn beside(&self, check: &mut Check) -> Range {
        let taken = self.device.server.gpu_memory_taken.map_or(Range::ZERO, Range::bytes);
        let mut parts: Vec<String> = Vec::new();
        if self.device.server.gpu_memory_taken.is_some() {
            parts.push(format!("held by others {}", self.scale.range(taken)));
        }
        let mut beside = taken;
        for tenant in &self.others {
            let takes = self.takes(tenant);
            parts.push(format!("{} {}", tenant.workload.name, self.scale.range(takes)));
            beside = beside.plus(takes);
        }
        let free = self.free(beside);
        let total = self.scale.show(self.total);
        check.arithmetic.push(if parts.is_empty() {
            format!("free for it: {total}, the whole device")
        } else {
            format!("free for it: {total} − {} = {}", parts.join(" − "), self.scale.range(free))
        });
        beside
    }

    fn takes(&self, tenant: &Tenant<'_>) -> Range {
        let need = need::need(tenant.workload, self.device.server, Some(self.total));
        let total = need.map_or(Range::ZERO, |need| need.total);
        tenant.limit.map_or(total, |limit| total.capped(limit.0 as f64))
    }

    fn free(&self, beside: Range) -> Range {
        let low = beside.high.map_or(0.0, |high| (self.total - high).max(0.0));
        Range { low, high: Some((self.total - beside.low).max(0.0)) }
    }

    fn compare_with_peak(&self, peak: f64, budget: f64, graphs: Range, check: &mut Check) {
        let scale = self.scale;
        let word = if peak > budget { "beyond" } else { "below" };
        let origin = self.workload.memory.map_or("declared", |memory| memory.origin.name());
        check.arithmetic.push(format!(
            "{origin} peak {}: {} {word} its budget ({} − {})",
            scale.show(peak),
            scale.show((peak - budget).abs()),
            scale.show(peak),
            scale.show(budget)
        ));
        if graphs.is_exact() && graphs.low > 0.0 {
            check.arithmetic.push(format!(
                "of the peak, graphs take {}: {} without them",
                scale.show(graphs.low),
                scale.show(peak - graphs.low)
            ));
        }
        check.arithmetic.push(format!(
            "headroom on the device: {} − {} = {}",
            scale.show(self.total),
            scale.show(peak),
            scale.show(self.total - peak)
        ));
    }

    fn say(&self, check: &mut Check, claims: Range, free: Range, overshoots: bool) {
        let scale = self.scale;
        let name = quoted(&self.workload.name);
        check.answer = match check.outcome {
            Outcome::Fails => format!(
                "no: {name} claims {}, and at most {} is free: the fraction is of the total",
                scale.range(claims),
                scale.show(free.high.unwrap_or(0.0))
            ),
            Outcome::Holds if overshoots => format!(
                "it fits by {}, beyond its own budget: plan by the measured peak, not by the \
                 fraction; a neighbour that needs more than that fails",
                scale.show(free.low - claims.high.unwrap_or(claims.low))
            ),
            Outcome::Holds => format!(
                "yes: {name} claims {} of {} that is free",
                scale.range(claims),
                scale.range(free)
            ),
            Outcome::Open => format!(
                "cannot be decided: {name} claims {} of {} that is free",
                scale.range(claims),
                scale.range(free)
            ),
        };
    }

    fn missing(&self, check: &mut Check, claims: Range, beside: Range, has_peak: bool) {
        if claims.high.is_none() && !has_peak {
            let line = line_of(&self.workload.name, "memory: { graphs: … GiB }");
            push_once(&mut check.missing, line);
        }
        if beside.high.is_none() {
            for tenant in &self.others {
                if self.takes(tenant).high.is_none() {
                    let line = line_of(&tenant.workload.name, "memory: { peak: … GiB }");
                    push_once(&mut check.missing, line);
                }
            }
        }
    }

    /// The largest fraction that leaves room, in hundredths and rounded down, and the order of starts
    /// without which it holds only by luck. Where a neighbour's need is not known, what it may take.
    fn conditions(&self, check: &mut Check, claims: Range, beside: Range, graphs: Range) {
        let scale = self.scale;
        let first = format!(
            "{} looks at the free memory once, when it starts",
            quoted(&self.workload.name)
        );
        let Some(held) = beside.high else {
            check.would_be_conditional_on.push(format!(
                "its neighbours are started first and hard-capped at {} together{}: {first}",
                scale.show((self.total - claims.high.unwrap_or(claims.low)).max(0.0)),
                if claims.high.is_some() { "" } else { ", less what is not declared" }
            ));
            return;
        };
        // What was measured beyond the budget stays beyond a smaller one.
        let budget = self.fraction * self.total;
        let measured = self.workload.memory.and_then(|memory| memory.peak);
        let outside = match measured {
            Some(peak) => Range::exactly((peak.0 as f64 - budget).max(0.0)),
            None => graphs,
        };
        let room = (self.total - held - outside.low) / self.total;
        if room < 0.01 {
            check.would_be_conditional_on.push(format!(
                "another GPU for {}: beside {} of others nothing is left for it",
                quoted(&self.workload.name),
                scale.show(held)
            ));
            return;
        }
        check.would_be_conditional_on.push(format!(
            "fraction_of_total at most {}{}: ({} − {} − {} outside of the fraction) ÷ {} = {}, \
             rounded down",
            number((room * 100.0 + 1e-9).floor() / 100.0, 2),
            if outside.high.is_some() { "" } else { ", less what is not declared" },
            scale.show(self.total),
            scale.show(held),
            scale.show(outside.low),
            scale.show(self.total),
            number(room, 4)
        ));
        for tenant in &self.others {
            let takes = self.takes(tenant);
            check.would_be_conditional_on.push(format!(
                "{} is started first and hard-capped at {}: {first}",
                quoted(&tenant.workload.name),
                scale.show(takes.high.unwrap_or(takes.low))
            ));
        }
        if let Some(taken) = self.device.server.gpu_memory_taken {
            check.would_be_conditional_on.push(format!(
                "what holds {} outside of this file is there first and never grows",
                scale.show(taken.0 as f64)
            ));
        }
    }
}
