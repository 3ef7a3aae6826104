//! What divides a GPU: the site's own saturating load, once in the place of each workload.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cotenant_core::evidence::EnforcementAudit;
use cotenant_core::site::{IsolationProperty, MpsMode, SaturatingLoad, SharingMode};
use cotenant_core::stats::quantile;

use super::{Audited, CapAudits};
use crate::measure::desk::Watched;
use crate::measure::rig::Rig;
use crate::supervisor::{Launch, Workload};

/// Longest wait for the first rates of both, and how many of each are taken.
const PATIENCE: Duration = Duration::from_mins(1);
const RATES: usize = 5;

pub(super) async fn audit(
    rig: &Rig,
    mode: &SharingMode,
    load: &SaturatingLoad,
    environments: &BTreeMap<String, Vec<(String, String)>>,
    folder: &Path,
) -> CapAudits {
    let mut found = CapAudits::default();
    let mechanism = IsolationProperty::Sms.name().to_owned();
    match weighed(rig, mode, load, environments, folder).await {
        Ok(audit) => found.audits.push(audit),
        Err(reason) => found.undecided.push((mechanism, reason)),
    }
    found
}

async fn weighed(
    rig: &Rig,
    mode: &SharingMode,
    load: &SaturatingLoad,
    environments: &BTreeMap<String, Vec<(String, String)>>,
    folder: &Path,
) -> Audited {
    let names = rig.inference.as_ref().zip(rig.neighbour.as_ref());
    let Some((inference, neighbour)) = names.map(|(i, n)| (i.name.clone(), n.name.clone())) else {
        return Err("two workloads are needed to see how a GPU is divided".to_owned());
    };
    let expected = share_of(mode, &neighbour)? / share_of(mode, &inference)?;
    let launch = |name: &str| Launch {
        name: format!("saturating load in the place of {name}"),
        argv: load.argv.clone(),
        cwd: Some(folder.to_owned()),
        env: environments.get(name).cloned().unwrap_or_default(),
        ..Launch::default()
    };
    let start = |launch| async { rig.supervisor.start(launch).await.map_err(|e| e.to_string()) };
    let first = start(launch(&neighbour)).await?;
    let second = match start(launch(&inference)).await {
        Ok(second) => second,
        Err(error) => {
            let _ = rig.supervisor.stop(first.id, Duration::ZERO).await;
            return Err(error);
        }
    };
    let rates = rates_of_both(rig, load, first, second).await;
    for started in [first, second] {
        // What has ended by itself is no error here: its rates are there or they are not.
        let _ = rig.supervisor.stop(started.id, Duration::ZERO).await;
    }
    let (of_neighbour, of_inference) = rates?;
    let measured = of_neighbour / of_inference;
    Ok(EnforcementAudit {
        mechanism: IsolationProperty::Sms.name().to_owned(),
        ratio_expected: expected,
        ratio_measured: measured,
        binds: nearer_than_half(expected, measured),
        method: format!(
            "the saturating load ran in both places at once: {of_neighbour:.4} in that of \
             {neighbour}, {of_inference:.4} in that of {inference} (medians of {RATES} lines)"
        ),
    })
}

/// Whether a ratio of two rates lies nearer to the expected one than to halves, which is what two
/// loads get where nothing divides them; compared as the share of both.
fn nearer_than_half(expected: f64, measured: f64) -> bool {
    let share = |ratio: f64| ratio / (1.0 + ratio);
    let (expected, measured) = (share(expected), share(measured));
    (measured - expected).abs() < (measured - 0.5).abs() || (expected - 0.5).abs() < 1e-9
}

/// The part of a GPU's arithmetic that a mode gives to a workload.
fn share_of(mode: &SharingMode, name: &str) -> Result<f64, String> {
    let share = match mode {
        SharingMode::Mps(MpsMode::Default { percentages, .. }) => {
            percentages.get(name).map(|share| share.value())
        }
        SharingMode::Mps(MpsMode::Static { partitions, .. }) => {
            partitions.get(name).map(|chunks| f64::from(*chunks))
        }
        SharingMode::TimeSlicing(slicing) => slicing.booked.get(name).map(|share| share.value()),
        _ => None,
    };
    share.filter(|share| *share > 0.0).ok_or_else(|| {
        format!("the sharing mode {} states no part of a GPU for `{name}`", mode.name())
    })
}

/// Medians of the rates that both print while both run.
async fn rates_of_both(
    rig: &Rig,
    load: &SaturatingLoad,
    first: Workload,
    second: Workload,
) -> Result<(f64, f64), String> {
    let mut medians = Vec::new();
    for started in [first, second] {
        let rates = rig
            .desk
            .wait(started.id, PATIENCE, |watched| {
                let lines = watched.last_lines.iter();
                let rates: Vec<f64> = lines.filter_map(|line| rate_in(&load.rate, line)).collect();
                let enough = rates.len() > RATES;
                (enough || watched.exit.is_some()).then_some(rates)
            })
            .await;
        // The first line may be from before both ran.
        let Some(rates) = rates.filter(|rates| rates.len() > RATES) else {
            let words = rig.desk.look(started.id, Watched::last_words);
            return Err(format!(
                "the saturating load printed no {} lines like `{}` within {} s; {words}",
                RATES + 1,
                load.rate,
                PATIENCE.as_secs()
            ));
        };
        medians.push(quantile(&rates[1..], 0.5).map_err(|refusal| refusal.to_string())?);
    }
    match medians.as_slice() {
        [one, other] if *other > 0.0 => Ok((*one, *other)),
        _ => Err("the saturating load printed a rate of zero".to_owned()),
    }
}

/// The number where `{rate}` stands in a template, in a line that has the words around it.
fn rate_in(template: &str, line: &str) -> Option<f64> {
    let (before, after) = template.split_once("{rate}")?;
    let tail = &line[line.find(before)? + before.len()..];
    let number = tail.trim_start();
    let end =
        number.find(|c: char| !(c.is_ascii_digit() || ".eE+-".contains(c))).unwrap_or(number.len());
    let (number, rest) = number.split_at(end);
    let value: f64 = number.parse().ok()?;
    (rest.starts_with(after) && value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_where_the_template_has_it() {
        assert_eq!(rate_in("{rate} it/s", "step 3: 23.1 it/s"), None);
        assert_eq!(rate_in(": {rate} it/s", "step 3: 23.1 it/s"), Some(23.1));
        assert_eq!(rate_in("{rate} it/s", "13.2 it/s"), Some(13.2));
        assert_eq!(rate_in("{rate}", "nothing"), None);
        assert_eq!(rate_in("rate={rate}", "rate=-3"), None);
    }

    /// Two loads capped at 30 and 70 %: without a cap 23.1 and 23.1 it/s; with a cap that is set and
    /// does nothing 21.4 and 25.2; with one that works 13.2 and 34.9 (HAMi-core, issue 314).
    #[test]
    fn a_knob_that_is_present_is_not_one_that_binds() {
        let expected = 30.0 / 70.0;
        assert!(!nearer_than_half(expected, 23.1 / 23.1));
        assert!(!nearer_than_half(expected, 21.4 / 25.2));
        assert!(nearer_than_half(expected, 13.2 / 34.9));
    }
}
