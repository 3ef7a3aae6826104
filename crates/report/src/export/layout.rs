//! The layout of partitioned GPUs, as `nvidia-mig-parted` reads it (`version: v1`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::names::{comments, slug, yaml};
use super::target::ExportRefusal;
use crate::plan::PlanReport;
use crate::plan::model::SharingView;

/// The configuration's name, which is also the value of a node's label.
pub(super) fn config_name(report: &PlanReport) -> String {
    format!("cotenant-{}", slug(&report.site))
}

pub(super) fn mig_parted(report: &PlanReport) -> Result<(String, Vec<String>), ExportRefusal> {
    let rules = rules(report, "mig-parted")?;
    let limits = limits(&report.sharing);
    let name = config_name(report);
    let mut text = comments("", &limits);
    let _ = writeln!(text, "# nvidia-mig-parted apply -f FILE -c {name}");
    text.push_str(&spec(&name, &rules, ""));
    Ok((text, limits))
}

/// GPUs with the same counts of profiles; a GPU without any is not partitioned.
pub(super) type Rules = Vec<(Vec<u32>, BTreeMap<String, u32>)>;

/// One rule for each layout, and one for the GPUs that stay whole.
pub(super) fn rules(report: &PlanReport, format: &'static str) -> Result<Rules, ExportRefusal> {
    let sharing = &report.sharing;
    if sharing.mig.is_empty() {
        return Err(ExportRefusal::OtherSharing {
            format,
            about: "the layout of partitioned GPUs",
            declared: sharing.mode.clone(),
            way_out: "declare `sharing: mig` with its instances",
        });
    }
    let mut seen = BTreeSet::new();
    let mut rules = Vec::new();
    for layout in &sharing.mig {
        for gpu in &layout.gpus {
            if !seen.insert(*gpu) {
                let why = format!("GPU {gpu} has two layouts");
                return Err(ExportRefusal::Invalid { format, why });
            }
            if *gpu >= sharing.gpu_count {
                let why = format!("GPU {gpu} is not one of {} GPUs", sharing.gpu_count);
                return Err(ExportRefusal::Invalid { format, why });
            }
        }
        if layout.instances.is_empty() {
            let why = "a partitioned GPU without an instance is unusable".to_owned();
            return Err(ExportRefusal::Invalid { format, why });
        }
        let mut counts = BTreeMap::new();
        for instance in &layout.instances {
            *counts.entry(instance.profile.clone()).or_insert(0) += 1;
        }
        rules.push((layout.gpus.clone(), counts));
    }
    let whole: Vec<u32> = (0..sharing.gpu_count).filter(|gpu| !seen.contains(gpu)).collect();
    if !whole.is_empty() {
        rules.push((whole, BTreeMap::new()));
    }
    Ok(rules)
}

/// What the format cannot say of this layout.
pub(super) fn limits(sharing: &SharingView) -> Vec<String> {
    let mut limits = vec![
        "mig-parted has no time: this layout holds for the whole calendar, and who holds an \
         instance when is in the JSON and in the iCalendar file."
            .to_owned(),
    ];
    let instances = || sharing.mig.iter().flat_map(|layout| &layout.instances);
    if instances().any(|instance| instance.placement.is_some()) {
        limits.push(
            "It counts profiles and takes no placement: the driver places the instances itself."
                .to_owned(),
        );
    }
    if instances().any(|instance| instance.workload.is_some()) {
        limits.push("It does not say which workload runs in which instance.".to_owned());
    }
    limits
}

/// The text of the configuration, each line after `indent`.
pub(super) fn spec(name: &str, rules: &Rules, indent: &str) -> String {
    let mut text = format!("{indent}version: v1\n{indent}mig-configs:\n{indent}  {name}:\n");
    for (gpus, counts) in rules {
        let numbers: Vec<_> = gpus.iter().map(u32::to_string).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{indent}    - devices: [{}]", numbers.join(", "));
        let _ = writeln!(text, "{indent}      mig-enabled: {}", !counts.is_empty());
        if counts.is_empty() {
            let _ = writeln!(text, "{indent}      mig-devices: {{}}");
            continue;
        }
        let _ = writeln!(text, "{indent}      mig-devices:");
        for (profile, count) in counts {
            let _ = writeln!(text, "{indent}        {}: {count}", yaml(profile));
        }
    }
    text
}
