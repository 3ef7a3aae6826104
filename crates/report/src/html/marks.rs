//! Shapes that say the same as a colour: the marks of the rulings, the patterns of the conditions.

use maud::{Markup, html};

use crate::model::{SeriesKind, Word};

/// The class that gives a ruling its colour.
pub(crate) fn word_class(word: Word) -> &'static str {
    match word {
        Word::Pass => "pass",
        Word::Conditional => "conditional",
        Word::NotProven => "open",
        Word::Fail => "fail",
        Word::Invalid => "invalid",
    }
}

/// The mark of a ruling: a circle with a tick, a diamond, a broken circle with a question mark, an
/// octagon with a cross, a square with a bar.
pub(crate) fn mark(word: Word, size: u32) -> Markup {
    html! {
        svg class={ "mark " (word_class(word)) } width=(size) height=(size) viewBox="0 0 32 32"
            aria-hidden="true" {
            @match word {
                Word::Pass => {
                    circle class="solid" cx="16" cy="16" r="14" {}
                    path class="cut" d="M9.5 16.5l4.6 4.6 8.6-9.6" {}
                }
                Word::Conditional => {
                    path class="solid" d="M16 1.5L30.5 16 16 30.5 1.5 16z" {}
                    path class="cut" d="M10 16h12" {}
                }
                Word::NotProven => {
                    circle class="ring" cx="16" cy="16" r="13" {}
                    path class="line" d="M12 12.6a4 4 0 1 1 5.8 3.6c-1.2.6-1.8 1.3-1.8 2.6" {}
                    circle class="dot" cx="16" cy="23" r="1.5" {}
                }
                Word::Fail => {
                    path class="solid" d="M10.2 2h11.6L30 10.2v11.6L21.8 30H10.2L2 21.8V10.2z" {}
                    path class="cut" d="M11 11l10 10M21 11L11 21" {}
                }
                Word::Invalid => {
                    rect class="box" x="3.5" y="3.5" width="25" height="25" rx="2" {}
                    path class="line" d="M8 24L24 8" {}
                }
            }
        }
    }
}

/// A ruling in a line of text: mark and word.
pub(crate) fn ruling(word: Word) -> Markup {
    html! {
        span class={ "ruling " (word_class(word)) } { (mark(word, 14)) " " (word.text()) }
    }
}

/// The class that gives a condition its colour, fill and dash.
pub(crate) fn series_class(kind: SeriesKind) -> &'static str {
    match kind {
        SeriesKind::InferenceAlone => "sa",
        SeriesKind::TrainingAlone => "sb",
        SeriesKind::Together => "sc",
        SeriesKind::WithRemedy => "sr",
    }
}

/// A letter of a condition in its colour and pattern.
pub(crate) fn badge(kind: SeriesKind) -> Markup {
    html! {
        svg class={ "swatch " (series_class(kind)) } width="14" height="14" viewBox="0 0 14 14"
            aria-hidden="true" {
            rect class="fill" x="0.5" y="0.5" width="13" height="13" rx="2" {}
        }
    }
}

/// The patterns, once for the whole page. Each is a tint with strokes of the same colour.
pub(crate) fn patterns() -> Markup {
    let pattern = |id: &str, strokes: &str| {
        html! {
            pattern id=(id) class=(id) width="6" height="6" patternUnits="userSpaceOnUse" {
                rect class="tint" width="6" height="6" {}
                path class="stroke" d=(strokes) {}
            }
        }
    };
    html! {
        svg class="defs" width="0" height="0" aria-hidden="true" focusable="false" {
            defs {
                (pattern("p-b", "M-1 1l2-2M0 6l6-6M5 7l2-2"))
                (pattern("p-c", "M0 1.5h6M0 4.5h6"))
                (pattern("p-r", "M0 0l6 6M0 6l6-6"))
                (pattern("p-x", "M-1 5l2 2M0 0l6 6M5-1l2 2"))
                (pattern("p-2", "M-1 1l2-2M0 6l6-6M5 7l2-2"))
                (pattern("p-3", "M0 3h6"))
                (pattern("p-4", "M3 0v6M0 3h6"))
            }
        }
    }
}
