//! The look of each holder: a colour of its workload, solid where it holds, hatched where it gives
//! way.

use maud::{Markup, html};

use crate::plan::model::{HolderKind, HolderView};

/// Colours in the palette of the page, with the one of what no workload holds.
const COLORS: u32 = 9;

/// The class that gives a holder its colour.
pub(super) fn color_class(color: u32) -> String {
    format!("k{}", color.min(COLORS - 1))
}

/// The classes of a holder's area.
pub(super) fn holder_class(holder: &HolderView) -> String {
    let look = match holder.kind {
        HolderKind::Reserved | HolderKind::Job => "firm",
        HolderKind::HotReserve => "hot",
        HolderKind::Lent => "lent",
        HolderKind::Idle => "idle",
        HolderKind::Maintenance => "closed",
    };
    format!("{look} {}", color_class(holder.color))
}

/// The hatches, once for the page: strokes to the right for what is kept free, to the left for what
/// is lent.
pub(super) fn hatches() -> Markup {
    html! {
        svg class="defs" width="0" height="0" aria-hidden="true" focusable="false" {
            defs {
                @for color in 0..COLORS {
                    @for (name, strokes) in
                        [("hot", "M-1 1l2-2M0 6l6-6M5 7l2-2"), ("lent", "M-1 5l2 2M0 0l6 6M5-1l2 2")]
                    {
                        pattern id={ (name) (color) } class=(color_class(color)) width="6"
                            height="6" patternUnits="userSpaceOnUse" {
                            rect class=(name) width="6" height="6" {}
                            path d=(strokes) {}
                        }
                    }
                }
            }
        }
    }
}

/// The fill of a holder, as an attribute: a hatch is one by its name.
pub(super) fn fill(holder: &HolderView) -> String {
    let color = holder.color.min(COLORS - 1);
    match holder.kind {
        HolderKind::Reserved | HolderKind::Job => "var(--k)".to_owned(),
        HolderKind::HotReserve => format!("url(#hot{color})"),
        HolderKind::Lent => format!("url(#lent{color})"),
        HolderKind::Idle => "var(--wash)".to_owned(),
        HolderKind::Maintenance => "url(#p-x)".to_owned(),
    }
}

/// A square of the legend.
pub(super) fn swatch(holder: &HolderView) -> Markup {
    html! {
        svg class={ "swatch cell " (holder_class(holder)) } width="16" height="16"
            viewBox="0 0 16 16" aria-hidden="true" {
            rect class="area" x="0.5" y="0.5" width="15" height="15" rx="2" fill=(fill(holder)) {}
        }
    }
}

/// The legend.
pub(super) fn legend(holders: &[HolderView]) -> Markup {
    html! {
        ul class="key" {
            @for holder in holders {
                li { (swatch(holder)) b { (holder.letter) } " " (holder.text) }
            }
        }
    }
}
