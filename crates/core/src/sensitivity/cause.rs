//! The likeliest cause, in words. It is said of the model and never proves anything: two resources
//! that are pressed together cannot be told apart by their sum.

use crate::evidence::Stressor;

use super::model::{Cause, Effect, Part, PartState, Prediction};

/// Least share of the measured difference that makes a resource one of several causes.
const SHARE_SEVERAL: f64 = 0.2;
/// Share from which it is the likeliest cause alone.
const SHARE_ALONE: f64 = 0.5;

/// Names the cause and says why.
pub(super) fn name(
    prediction: Option<&Prediction>,
    measured: Option<&Effect>,
    unexplained: Option<&Effect>,
) -> (Cause, String) {
    let Some(measured) = measured else {
        return (Cause::Unknown, told_without_c(prediction));
    };
    let Some((lower, _)) = measured.interval else {
        let text = "one pair of A and C gives no interval, so nothing can be said of a cause";
        return (Cause::Unknown, text.to_owned());
    };
    if lower <= 1.0 {
        let text =
            format!("C measures {} A, which may be chance: nothing to explain", of(measured));
        return (Cause::NothingToExplain, text);
    }
    let Some(prediction) = prediction else {
        let text =
            format!("C measures {} A; what the neighbour presses on is not known", of(measured));
        return (Cause::Unknown, text);
    };
    let share = |part: &Part| part.effect.ratio.ln() / measured.ratio.ln();
    let mut likely: Vec<&Part> = prediction
        .parts
        .iter()
        .filter(|part| matches!(part.state, PartState::Tested | PartState::Beyond))
        .filter(|part| part.effect.interval.is_some_and(|(lower, _)| lower > 1.0))
        .filter(|part| share(part) >= SHARE_SEVERAL)
        .collect();
    likely.sort_by(|one, other| other.effect.ratio.total_cmp(&one.effect.ratio));
    let names: Vec<Stressor> = likely.iter().map(|part| part.stressor).collect();
    let (cause, mut text) = match likely.first() {
        None => {
            (Cause::None, format!("C measures {} A; no tested resource explains it", of(measured)))
        }
        Some(first) if share(first) >= SHARE_ALONE => {
            let text = format!(
                "C measures {} A; the likeliest cause is {}, with {}",
                of(measured),
                first.stressor.name(),
                times(&first.effect)
            );
            (Cause::Resource(first.stressor), text)
        }
        Some(_) => {
            let told: Vec<String> = likely
                .iter()
                .map(|part| format!("{} ({})", part.stressor.name(), times(&part.effect)))
                .collect();
            let text =
                format!("C measures {} A; parts of it are {}", of(measured), told.join(", "));
            (Cause::Several(names), text)
        }
    };
    text.push_str(&rest(prediction, unexplained));
    (cause, text)
}

fn told_without_c(prediction: Option<&Prediction>) -> String {
    match prediction {
        Some(prediction) => format!(
            "C has not been measured; the neighbour's pressures predict {}{}",
            if prediction.is_floor { "at least " } else { "" },
            times(&prediction.effect)
        ),
        None => "neither what the neighbour presses on nor C has been measured".to_owned(),
    }
}

/// What is said of the part that the prediction does not explain.
fn rest(prediction: &Prediction, unexplained: Option<&Effect>) -> String {
    let Some(unexplained) = unexplained else { return String::new() };
    let mut text = String::new();
    match unexplained.interval {
        Some((lower, _)) if lower > 1.0 => {
            text = format!("; {} remains unexplained", times(unexplained));
            if prediction.more_at_most > 1.005 {
                text += &of_which(prediction.more_at_most);
            }
        }
        Some((_, upper)) if upper < 1.0 => {
            text = format!(
                "; the prediction is {} too large: beside inference the neighbour presses less than \
                 alone, or its pressures overlap",
                times(&Effect { ratio: 1.0 / unexplained.ratio, interval: None })
            );
        }
        Some(_) => text.push_str("; what remains may be chance"),
        None => {}
    }
    let beyond: Vec<&str> = prediction
        .parts
        .iter()
        .filter(|part| part.state == PartState::Beyond)
        .map(|part| part.stressor.name())
        .collect();
    if !beyond.is_empty() {
        let names = beyond.join(" and ");
        text += "; the neighbour's pressure on ";
        text += &names;
        text += " is beyond what was tested";
    }
    text
}

/// What resources without a counter could make of the unexplained part.
fn of_which(more_at_most: f64) -> String {
    format!(", of which resources without a counter could be ×{more_at_most:.2} at most")
}

fn times(effect: &Effect) -> String {
    match effect.interval {
        Some((lower, upper)) => format!("×{:.2} ({lower:.2} to {upper:.2})", effect.ratio),
        None => format!("×{:.2}", effect.ratio),
    }
}

fn of(effect: &Effect) -> String {
    format!("{} of", times(effect))
}
