//! One shared pool beside dedicated ones, when sharing stops paying, and what moving work is worth.

use cotenant_core::plan::PoolNeeds;
use cotenant_core::sim::sweep::{
    AxisKind, PointFigures, PoolsAt, Setting, enough_up_to, lines, stops_paying,
};
use cotenant_core::units::Money;

use super::build::{SweepInputs, column, gpu_hours, money, share};
use crate::format;
use crate::model::{Table, Value};

/// At which rates one pool needs fewer GPUs than dedicated ones, and up to which the place's are enough.
pub(super) fn pays(pools: &[PoolsAt], gpus: u32) -> String {
    // Where work is moved too, the question is asked of the work as it stands.
    let shift = pools.iter().map(|at| at.shift_hours).min_by(|a, b| a.abs().total_cmp(&b.abs()));
    let asked: Vec<PoolsAt> =
        pools.iter().filter(|at| Some(at.shift_hours) == shift).cloned().collect();
    let pays: Vec<Option<bool>> =
        asked.iter().map(|at| at.needs.as_ref().ok().and_then(PoolNeeds::sharing_pays)).collect();
    let why = asked.iter().find_map(|at| at.needs.as_ref().err());
    let times = |rate: f64| format!("{} × the demand", format::trimmed(rate));
    let paying = asked.iter().zip(&pays).filter(|(_, pays)| **pays == Some(true));
    let first = if let Some(rate) = stops_paying(&asked) {
        format!(
            "Sharing stops paying at {}: there one pool needs as many GPUs as dedicated ones",
            times(rate)
        )
    } else if let Some((at, _)) = paying.clone().next() {
        let where_paid = if paying.count() == asked.len() {
            match asked.len() {
                1 => format!("Sharing pays at {}", times(at.rate)),
                _ => "Sharing pays at every rate that was looked at".to_owned(),
            }
        } else {
            format!("Sharing pays from {} on", times(at.rate))
        };
        format!("{where_paid}: one pool needs fewer GPUs than dedicated ones")
    } else if let Some(why) = why {
        format!("Whether sharing pays is not known: {why}")
    } else if pays.contains(&None) {
        "Whether sharing pays is not known: a deadline holds on no number of GPUs".to_owned()
    } else {
        "Sharing saves no GPU at any rate that was looked at".to_owned()
    };
    format!("{first}. {}", enough(&asked, gpus))
}

/// Up to which rate the GPUs of the place are enough.
fn enough(asked: &[PoolsAt], gpus: u32) -> String {
    let limit = |pick: fn(&PoolNeeds) -> Option<u32>| match enough_up_to(asked, gpus, pick) {
        Some(rate) => format!("up to {} × the demand", format::trimmed(rate)),
        None => "at no rate that was looked at".to_owned(),
    };
    format!(
        "The {} of the place are enough for one pool {}, for dedicated ones {}.",
        format::plural(gpus.into(), "GPU", "GPUs"),
        limit(|needs| needs.shared),
        limit(PoolNeeds::dedicated)
    )
}

/// GPUs, GPU-hours and money of dedicated and shared pools.
pub(super) fn pools(inputs: &SweepInputs<'_>) -> Table {
    let mut columns = vec![
        column("rate", "rate", true),
        column("shift_hours", "shift", true),
        column("dedicated", "dedicated", true),
        column("shared", "shared", true),
        column("saturated", "saturated", true),
        column("saved_gpu_hours", "saved GPU-h", true),
    ];
    if inputs.gpu_hour.is_some() {
        columns.push(column("saved", "saved", true));
    }
    let row = |at: &PoolsAt| pool_row(inputs.gpu_hour, at, columns.len());
    let rows = inputs.pools.iter().map(row).collect();
    Table {
        key: "pools".to_owned(),
        title: "One shared pool beside dedicated pools, GPUs".to_owned(),
        note: pools_note(inputs),
        columns,
        rows,
        empty: "no pool was looked at".to_owned(),
    }
}

fn pools_note(inputs: &SweepInputs<'_>) -> String {
    let own = inputs.pools.iter().min_by(|a, b| {
        let far = |at: &PoolsAt| (at.rate - 1.0).abs() + at.shift_hours.abs();
        far(a).total_cmp(&far(b))
    });
    let parts = own.and_then(|at| Some((at, at.needs.as_ref().ok()?))).map(|(at, needs)| {
        let mut parts: Vec<String> =
            needs.inference.iter().map(|(name, gpus)| format!("{name} {gpus}")).collect();
        parts.extend(needs.jobs.iter().map(|(name, gpus)| match gpus {
            Some(gpus) => format!("{name} {gpus}"),
            None => format!("{name} on no number"),
        }));
        format!(" Dedicated at rate {}: {}.", format::trimmed(at.rate), parts.join(" + "))
    });
    format!(
        "Dedicated: each workload in a pool of its own, inference at its highest reserve, jobs as their \
         deadlines need, those without one as one of them needs to run. Shared: one pool with GPUs lent \
         at quiet hours, as independent short peaks allow. Saturated: one pool where all inference stands \
         at its highest all the time, so that only jobs take turns. Each is the least number for which a \
         schedule was found; GPUs are paid for whether they are used or not. Saved: dedicated less \
         shared, in one calendar.{}",
        parts.unwrap_or_default()
    )
}

fn pool_row(price: Option<&Money>, at: &PoolsAt, width: usize) -> Vec<Value> {
    let mut cells = vec![
        format::value_with_text(at.rate, "times", format::trimmed(at.rate)),
        format::value_with_text(at.shift_hours, "h", format::trimmed(at.shift_hours)),
    ];
    let needs = match &at.needs {
        Ok(needs) => needs,
        Err(why) => {
            while cells.len() < width {
                cells.push(Value::missing(why));
            }
            return cells;
        }
    };
    let unmet = "a deadline holds on no number of GPUs";
    let gpus = |gpus: Option<u32>| {
        gpus.map_or_else(|| Value::missing(unmet), |gpus| format::counted(gpus.into()))
    };
    cells.extend([gpus(needs.dedicated()), gpus(needs.shared), gpus(needs.saturated())]);
    let saved = saved_gpu_hours(needs);
    cells.push(saved.map_or_else(|| Value::missing(unmet), gpu_hours));
    if let Some(price) = price {
        let saved = saved.map(|hours| money(hours * price.amount, price));
        cells.push(saved.unwrap_or_else(|| Value::missing(unmet)));
    }
    cells
}

fn saved_gpu_hours(needs: &PoolNeeds) -> Option<f64> {
    let gpus = needs.dedicated()?.saturating_sub(needs.shared?);
    Some(f64::from(gpus) * needs.hours)
}

/// What moving deadlines changes, beside not moving them.
pub(super) fn shift(inputs: &SweepInputs<'_>) -> Table {
    let place = inputs.sweep.axes.iter().position(|axis| axis.kind == AxisKind::Shift);
    let mut columns = vec![
        column("settings", "elsewhere", false),
        column("shift_hours", "shift", true),
        column("on_time_share", "on time", true),
        column("gpu_hours_kept", "kept", true),
        column("gpu_hours_lost", "lost", true),
        column("pool", "pool GPUs", true),
        column("worth_gpu_hours", "worth GPU-h", true),
    ];
    if inputs.gpu_hour.is_some() {
        columns.push(column("worth", "worth", true));
    }
    let mut rows = Vec::new();
    for line in place.map(|place| lines(inputs.sweep, place)).unwrap_or_default() {
        let label: Vec<String> =
            line.fixed.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let label = if label.is_empty() { "–".to_owned() } else { label.join(", ") };
        for index in &line.points {
            rows.push(shift_row(inputs, &label, *index));
        }
    }
    Table {
        key: "shift".to_owned(),
        title: "What moving work by some hours is worth".to_owned(),
        note: "Pool GPUs: what one shared pool needs with the deadlines moved by so many hours. Worth: how \
               much less that is in one calendar than with the deadlines where they are."
            .to_owned(),
        columns,
        rows,
        empty: "no deadline was moved: `--sweep shift=0,6,24` does it".to_owned(),
    }
}

fn shift_row(inputs: &SweepInputs<'_>, label: &str, index: u64) -> Vec<Value> {
    let settings = inputs.sweep.settings(index);
    let setting = |pick: fn(&Setting) -> Option<f64>, otherwise: f64| {
        settings.iter().find_map(|it| pick(it)).unwrap_or(otherwise)
    };
    let hours = setting(|it| if let Setting::Shift(hours) = it { Some(*hours) } else { None }, 0.0);
    let rate = setting(|it| if let Setting::Rate(rate) = it { Some(*rate) } else { None }, 1.0);
    let point = inputs.points.iter().find(|point| point.index == index);
    let figures = point.map(|point| point.figures.as_ref());
    let of = |value: fn(&PointFigures) -> Value| match figures {
        Some(Ok(figures)) => value(figures),
        Some(Err(why)) => Value::missing(why),
        None => Value::missing("it was not computed"),
    };
    let needs = |hours: f64| {
        let at = inputs.pools.iter().find(|at| at.shift_hours == hours && at.rate == rate)?;
        let needs = at.needs.as_ref().ok()?;
        Some((needs.shared?, needs.hours))
    };
    let worth = needs(0.0)
        .zip(needs(hours))
        .map(|((before, length), (after, _))| (f64::from(before) - f64::from(after)) * length);
    let unknown = "it is beside `shift=0`, which is not among the values or has no pool";
    let mut cells = vec![
        Value::words(label),
        format::value_with_text(hours, "h", format::trimmed(hours)),
        of(|it| it.on_time_share_least().map_or_else(|| Value::missing("no deadline"), share)),
        of(|it| gpu_hours(it.gpu_hours_kept)),
        of(|it| gpu_hours(it.gpu_hours_lost)),
        needs(hours).map_or_else(
            || Value::missing("a deadline holds on no number of GPUs"),
            |(gpus, _)| format::counted(gpus.into()),
        ),
        worth.map_or_else(|| Value::missing(unknown), gpu_hours),
    ];
    if let Some(price) = inputs.gpu_hour {
        let worth = worth.map(|worth| money(worth * price.amount, price));
        cells.push(worth.unwrap_or_else(|| Value::missing(unknown)));
    }
    cells
}
