//! What is to be expected.

use crate::demand::model::{ForecastView, UnitView};
use crate::terminal::layout::{Columns, row};
use crate::terminal::paper::Paper;

/// The forecasts: in full for the first unit, in a sentence for the others.
pub(super) fn forecasts(paper: &mut Paper, units: &[&UnitView]) {
    if units.is_empty() {
        return;
    }
    paper.heading("What is to be expected in the week after");
    for (place, unit) in units.iter().enumerate() {
        match &unit.forecast {
            Some(view) if place == 0 => in_full(paper, unit, view),
            Some(view) => paper.paragraph("• ", &format!("{}: {}.", unit.name, view.sentence)),
            None => {}
        }
    }
    // Units that lack a forecast for the same reason are told together.
    for group in units.chunk_by(|left, right| left.forecast_missing == right.forecast_missing) {
        let Some(why) = group.first().and_then(|unit| unit.forecast_missing.as_ref()) else {
            continue;
        };
        let names: Vec<&str> = group.iter().map(|unit| unit.name.as_str()).collect();
        paper.paragraph("", &format!("No forecast of {}: {why}.", names.join(", ")));
    }
}

fn in_full(paper: &mut Paper, unit: &UnitView, view: &ForecastView) {
    paper.paragraph("", &format!("{}: {}.", unit.name, view.sentence));
    paper.blank();
    let right = |width: usize| Columns { width, right: true };
    let columns = [Columns { width: 15, right: false }, right(7), right(8), right(6), right(13)];
    let bound = format!("{} bound", view.level.text);
    let head = ["", "mean", "highest", "at", bound.as_str()].map(str::to_owned);
    for line in row(&columns, &head) {
        paper.line(&line);
    }
    for day in &view.days {
        let cells = [&day.label, &day.mean.text, &day.highest.text, &day.clock, &day.upper.text];
        for line in row(&columns, &cells.map(Clone::clone)) {
            paper.line(&line);
        }
    }
    paper.paragraph("", &format!("In {}; the bound is of the mean of a window.", view.printed_in));
}
