//! What a GPU may be for: letters, colours and words, one entry for each kind and workload.

use cotenant_core::plan::{Calendar, Holder};

use crate::plan::model::{HolderKind, HolderView};

/// Colours for inference workloads; jobs take those after them.
const INFERENCE_COLORS: u32 = 2;
/// Colours for jobs. Further workloads share colours, and their letters tell them apart.
const JOB_COLORS: u32 = 6;
/// The colour of what no workload holds.
const NO_COLOR: u32 = INFERENCE_COLORS + JOB_COLORS;
/// The letter of the workloads for which none is left.
const SHARED_LETTER: char = '+';

/// The legend of one calendar, and the way from a holder into it.
pub(super) struct Legend {
    pub(super) views: Vec<HolderView>,
    keys: Vec<(HolderKind, Option<usize>)>,
    /// The workload of each tenant, by its place among the workloads.
    workload_of: Vec<usize>,
}

impl Legend {
    /// The entries that a calendar needs: inference first, then jobs in the order of the tenants.
    pub(super) fn new(calendar: &Calendar) -> Self {
        let mut workloads: Vec<(&str, bool)> = Vec::new();
        let mut workload_of = Vec::with_capacity(calendar.tenants.len());
        for tenant in &calendar.tenants {
            let place = workloads.iter().position(|(name, _)| *name == tenant.workload);
            workload_of.push(place.unwrap_or(workloads.len()));
            if place.is_none() {
                workloads.push((&tenant.workload, tenant.kind == "inference"));
            }
        }
        let mut legend = Self { views: Vec::new(), keys: Vec::new(), workload_of };
        let mut keys: Vec<_> = calendar
            .holders
            .iter()
            .flatten()
            .map(|holder| legend.key(*holder))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        // A workload's firm and loose entry stand side by side; what nobody holds comes last.
        keys.sort_by_key(|(kind, workload)| {
            let nobody = workload.is_none();
            let job = matches!(kind, HolderKind::Job | HolderKind::Lent);
            (nobody, job, *workload, *kind)
        });
        let letters = letters(&workloads.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let colors = colors(&workloads);
        legend.views = keys
            .iter()
            .map(|(kind, workload)| view(*kind, *workload, &workloads, &letters, &colors))
            .collect();
        legend.keys = keys;
        legend
    }

    fn key(&self, holder: Holder) -> (HolderKind, Option<usize>) {
        let workload = |tenant: u32| self.workload_of.get(tenant as usize).copied();
        match holder {
            Holder::Inference(tenant) => (HolderKind::Reserved, workload(tenant)),
            Holder::HotReserve(tenant) => (HolderKind::HotReserve, workload(tenant)),
            Holder::Job(tenant) => (HolderKind::Job, workload(tenant)),
            Holder::Lent(tenant) => (HolderKind::Lent, workload(tenant)),
            Holder::Idle => (HolderKind::Idle, None),
            Holder::Maintenance => (HolderKind::Maintenance, None),
        }
    }

    /// The place of a holder among the entries.
    pub(super) fn place(&self, holder: Holder) -> u32 {
        let key = self.key(holder);
        self.keys.iter().position(|known| *known == key).unwrap_or(0) as u32
    }
}

/// The tenant of a holder.
pub(super) fn tenant_of(holder: Holder) -> Option<u32> {
    match holder {
        Holder::Inference(tenant)
        | Holder::HotReserve(tenant)
        | Holder::Job(tenant)
        | Holder::Lent(tenant) => Some(tenant),
        Holder::Idle | Holder::Maintenance => None,
    }
}

fn view(
    kind: HolderKind,
    workload: Option<usize>,
    workloads: &[(&str, bool)],
    letters: &[char],
    colors: &[u32],
) -> HolderView {
    let name = workload.and_then(|place| workloads.get(place)).map(|(name, _)| *name);
    let letter = workload.and_then(|place| letters.get(place)).copied().unwrap_or(SHARED_LETTER);
    let color = workload.and_then(|place| colors.get(place)).copied().unwrap_or(NO_COLOR);
    let letter = match kind {
        HolderKind::Reserved | HolderKind::Job => letter,
        HolderKind::HotReserve | HolderKind::Lent => letter.to_ascii_lowercase(),
        HolderKind::Idle => '·',
        HolderKind::Maintenance => '#',
    };
    let text = match (kind, name.unwrap_or("another")) {
        (HolderKind::Reserved, name) => format!("{name}: reserved"),
        (HolderKind::HotReserve, name) => format!("{name}: kept free for bursts"),
        (HolderKind::Job, name) => format!("{name}: runs"),
        (HolderKind::Lent, name) => format!("{name}: on lent GPUs"),
        (HolderKind::Idle, _) => "idle".to_owned(),
        (HolderKind::Maintenance, _) => "maintenance".to_owned(),
    };
    HolderView { kind, workload: name.map(str::to_owned), letter: letter.to_string(), color, text }
}

/// A capital for each workload: a letter of its name where one is left, else any.
fn letters(names: &[&str]) -> Vec<char> {
    let mut used = std::collections::BTreeSet::new();
    names
        .iter()
        .map(|name| {
            let own =
                name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase());
            let letter = own.chain('A'..='Z').find(|letter| !used.contains(letter));
            let letter = letter.unwrap_or(SHARED_LETTER);
            used.insert(letter);
            letter
        })
        .collect()
}

fn colors(workloads: &[(&str, bool)]) -> Vec<u32> {
    let (mut inference, mut jobs) = (0, 0);
    workloads
        .iter()
        .map(|(_, is_inference)| {
            let (count, first, many) = if *is_inference {
                (&mut inference, 0, INFERENCE_COLORS)
            } else {
                (&mut jobs, INFERENCE_COLORS, JOB_COLORS)
            };
            let color = first + *count % many;
            *count += 1;
            color
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_of_the_name_and_never_twice() {
        assert_eq!(letters(&["chat", "code", "coc", "hat"]), ['C', 'O', 'A', 'H']);
        let names: Vec<String> = (0..40).map(|index| format!("job {index}")).collect();
        let all = letters(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), 27, "26 letters and the shared one");
    }

    #[test]
    fn inference_and_jobs_never_share_a_colour() {
        let colors = colors(&[("a", true), ("b", false), ("c", true), ("d", true), ("e", false)]);
        assert_eq!(colors, [0, 2, 1, 0, 3]);
    }
}
