//! The file as a whole, and what of it is left to a person.

use cotenant_core::machine::Machine;

use super::sheet::Sheet;
use super::{server, sharing, workloads};

/// The text of a site file for a machine.
pub fn draft(machine: &Machine) -> String {
    let mut sheet = Sheet::default();
    sheet.remark(
        0,
        "A site file begun by `cotenant init` from the machine it ran on. «found» says where a value \
         comes from. What was not found is commented out, with the reason. Lines under FILL IN are \
         placeholders: nobody declared them, and no verdict can PASS on them.",
    );
    sheet.blank();
    server::head(&mut sheet, machine);
    sheet.blank();
    server::server(&mut sheet, machine);
    sheet.blank();
    let names = workloads::names(machine);
    workloads::workloads(&mut sheet, machine, &names);
    sheet.blank();
    sharing::sharing(&mut sheet, machine, &names);
    sheet.blank();
    sheet.remark(
        0,
        "How the place is operated: who accepts its failures and its maintenance, when, and what a lent GPU \
         costs. Gates that need it stay NOT PROVEN without it; docs/site-file.md has every field.",
    );
    for line in [
        "operations:",
        "  failure_domain: { accepted: true, accepted_by: Head of Platform }",
        "  maintenance: { windows: [\"Sun 02:00-06:00\"], accepted_by: Head of Platform }",
        "  reclaim_time: 5 min",
    ] {
        sheet.example(0, line);
    }
    sheet.text()
}

/// What a person has to write before the file means their site, in the order of the file.
pub fn open_points(machine: &Machine) -> Vec<String> {
    let mut points = Vec::new();
    if machine.time_zone.is_err() {
        points.push("time_zone: UTC is a guess".to_owned());
    }
    match machine.engines.as_ref().map(|engines| engines.value.len()) {
        Ok(0) | Err(_) => points.push(
            "workloads: no engine was found; write the endpoint, the demand and the objectives"
                .to_owned(),
        ),
        Ok(_) => points.push("workloads: the demand and the objectives of each engine".to_owned()),
    }
    points.push("workloads: the neighbour that is to share, and how it is started".to_owned());
    if !machine.gpus.described().is_empty() {
        points.push("sharing: which workload holds which GPU".to_owned());
    }
    points
}
