//! How inference and the jobs meet: hours together, and GPU-hours by what they are for.

use cotenant_core::plan::{Calendar, Holder};

use super::blocks::{gpu_hours, holder_at};
use super::legend::Legend;
use crate::format;
use crate::model::Value;
use crate::plan::model::{HolderKind, OverlapPart, OverlapView};

/// Hours and GPU-hours of the whole calendar.
struct Sums {
    both: f64,
    inference_alone: f64,
    jobs_alone: f64,
    neither: f64,
    by_holder: Vec<f64>,
    total: f64,
}

pub(super) fn overlap(calendar: &Calendar, legend: &Legend) -> OverlapView {
    let sums = sums(calendar, legend);
    let parts = sums
        .by_holder
        .iter()
        .enumerate()
        .map(|(holder, hours)| {
            let share = if sums.total > 0.0 { hours / sums.total } else { 0.0 };
            OverlapPart {
                holder: holder as u32,
                gpu_hours: gpu_hours(*hours),
                share: format::value_with_text(share, "share", format::share(share)),
            }
        })
        .collect();
    OverlapView {
        both: hours_value(sums.both),
        inference_alone: hours_value(sums.inference_alone),
        jobs_alone: hours_value(sums.jobs_alone),
        neither: hours_value(sums.neither),
        parts,
        total: gpu_hours(sums.total),
        sentences: sentences(&sums, legend),
    }
}

fn hours_value(hours: f64) -> Value {
    format::value_with_text(hours, "h", format!("{} h", format::trimmed(hours)))
}

fn sums(calendar: &Calendar, legend: &Legend) -> Sums {
    let mut sums = Sums {
        both: 0.0,
        inference_alone: 0.0,
        jobs_alone: 0.0,
        neither: 0.0,
        by_holder: vec![0.0; legend.views.len()],
        total: 0.0,
    };
    for (index, window) in calendar.grid.windows.iter().enumerate() {
        let (mut inference, mut jobs) = (false, false);
        for gpu in 0..calendar.gpus {
            let holder = holder_at(calendar, index, gpu);
            if let Some(sum) = sums.by_holder.get_mut(legend.place(holder) as usize) {
                *sum += window.hours();
            }
            sums.total += window.hours();
            inference |= matches!(holder, Holder::Inference(_) | Holder::HotReserve(_));
            jobs |= matches!(holder, Holder::Job(_) | Holder::Lent(_));
        }
        *match (inference, jobs) {
            (true, true) => &mut sums.both,
            (true, false) => &mut sums.inference_alone,
            (false, true) => &mut sums.jobs_alone,
            (false, false) => &mut sums.neither,
        } += window.hours();
    }
    sums
}

fn sentences(sums: &Sums, legend: &Legend) -> Vec<String> {
    let of = |kinds: &[HolderKind]| -> f64 {
        let views = legend.views.iter().zip(&sums.by_holder);
        views.filter(|(view, _)| kinds.contains(&view.kind)).map(|(_, hours)| hours).sum()
    };
    let hours = sums.both + sums.inference_alone + sums.jobs_alone + sums.neither;
    let lent = of(&[HolderKind::Lent]);
    let jobs = of(&[HolderKind::Job]) + lent;
    let mut sentences = vec![format!(
        "In {} of {} h inference and jobs hold GPUs of this place at the same time.",
        format::trimmed(sums.both),
        format::trimmed(hours),
    )];
    if jobs > 0.0 {
        sentences.push(format!(
            "Jobs get {}; {} of them on GPUs that inference may ask back.",
            gpu_hours(jobs).text,
            format::share(lent / jobs),
        ));
    }
    let hot = of(&[HolderKind::HotReserve]);
    if hot > 0.0 {
        sentences.push(format!("{} stand free for bursts.", gpu_hours(hot).text));
    }
    sentences
}
