//! The line that stands in the place of a GPU that does not answer.

use super::model::Unreachable;
use super::reading::Absence;

const HEAD: &str = "Unable to determine the device handle for";

/// `Unable to determine the device handle for GPU0000:53:00.0: GPU is lost.  Reboot the system …`; `None`
/// for any other line.
pub(super) fn unreachable(text: &str, line: usize) -> Option<Unreachable> {
    let rest = text.trim().strip_prefix(HEAD)?.trim();
    let rest = rest.strip_prefix("GPU").or_else(|| rest.strip_prefix("gpu")).unwrap_or(rest).trim();
    let (place, said) = rest.split_once(": ").unwrap_or((rest, ""));
    let said = said.trim();
    // Advice follows the reason after two spaces.
    let reason = said.split("  ").next().unwrap_or(said).trim_end_matches('.');
    let reason = Absence::of(reason).unwrap_or_else(|| {
        Absence::Said(if reason.is_empty() { text.trim() } else { reason }.to_owned())
    });
    Some(Unreachable { line, bus_id: place.trim_end_matches(':').to_owned(), reason })
}

/// Whether a line is one.
pub(super) fn is_unreachable(text: &str) -> bool {
    text.trim_start().starts_with(HEAD)
}
