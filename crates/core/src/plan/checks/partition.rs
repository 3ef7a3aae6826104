//! What a partition of a GPU does not give: graphics, and training over several instances.

use super::capacity;
use super::draft::{line_of, listed, open, quoted};
use crate::gpu::sharing::{NcclOnMig, nccl_on_mig};
use crate::gpu::{self, Architecture, Version};
use crate::plan::model::{Check, Outcome};
use crate::site::{MigGpu, RenderNeeds, Server, SharingMode, Site, Workload, WorkloadKind};

pub(super) fn checks(site: &Site) -> Vec<Check> {
    let (SharingMode::Mig(layout), Some(server)) = (&site.sharing.mode, site.server()) else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    for workload in &site.workloads {
        let profiles = profiles_of(layout, workload);
        if profiles.is_empty() {
            continue;
        }
        checks.extend(graphics(server, workload, &profiles));
        checks.extend(collectives(server, workload, profiles.len()));
    }
    checks
}

/// The profile of each instance that a workload has, one for each GPU that is laid out so.
fn profiles_of<'a>(layout: &'a [MigGpu], workload: &Workload) -> Vec<&'a str> {
    let is_its =
        |instance: &&crate::site::MigInstance| instance.workload.as_deref() == Some(&workload.name);
    layout
        .iter()
        .flat_map(|part| {
            let of_gpu: Vec<&str> =
                part.instances.iter().filter(is_its).map(|i| i.profile.as_str()).collect();
            of_gpu.repeat(part.gpus.len())
        })
        .collect()
}

/// A compute partition gives no graphics path.
fn graphics(server: &Server, workload: &Workload, profiles: &[&str]) -> Option<Check> {
    let WorkloadKind::Render(render) = &workload.kind else { return None };
    let name = quoted(&workload.name);
    let title = format!("Do the instances of {name} give the graphics that it needs?");
    let mut check = open("partition", title, vec![workload.name.clone()]);
    check.sources = vec![
        "NVIDIA, Multi-Instance GPU User Guide: no graphics API in an instance, but for profiles \
         that end in +gfx",
    ];
    let mut without: Vec<String> = profiles
        .iter()
        .filter(|profile| !capacity::draws(server, profile))
        .map(|profile| (*profile).to_owned())
        .collect();
    without.sort_unstable();
    without.dedup();
    match render.needs {
        Some(RenderNeeds::Compute) => {
            check.outcome = Outcome::Holds;
            check.answer = format!("{name} needs compute alone, which every instance gives");
        }
        None => {
            check.answer = format!("the file does not say whether {name} draws or only computes");
            check.missing.push(line_of(&workload.name, "render: { needs: compute }, or graphics"));
        }
        Some(RenderNeeds::Graphics) if without.is_empty() => {
            check.outcome = Outcome::Holds;
            check.answer = format!("every instance of {name} can draw");
        }
        Some(RenderNeeds::Graphics) => {
            check.outcome = Outcome::Fails;
            check.answer = format!("no: {name} must draw, and {} only computes", listed(&without));
            check.would_be_conditional_on.push(
                "a profile that ends in +gfx, where the model has one, or a whole GPU".to_owned(),
            );
        }
    }
    Some(check)
}

/// Training that spans instances needs collectives between them.
fn collectives(server: &Server, workload: &Workload, instances: usize) -> Option<Check> {
    let WorkloadKind::Training(training) = &workload.kind else { return None };
    let ranks = training.parallelism.as_ref().map_or(1, crate::site::Parallelism::gpus);
    if instances < 2 && ranks < 2 {
        return None;
    }
    let name = quoted(&workload.name);
    let title = format!("Can {name} train over several MIG instances?");
    let mut check = open("partition", title, vec![workload.name.clone()]);
    check.sources = vec![
        "NCCL: not with MIG before 2.31; experimental since",
        "NVIDIA/nccl#1716: no P2P between instances",
    ];
    check.arithmetic.push(format!("{ranks} ranks over {instances} instances of its own"));
    let sku = server.gpu.as_deref().and_then(gpu::find);
    // Of a model that the catalogue does not know only what fails on every generation is said.
    let architecture = sku.map_or(Architecture::Hopper, |sku| sku.architecture);
    let version = |text: &Option<String>| text.as_deref().and_then(Version::parse);
    let nccl = version(&server.nccl);
    match nccl_on_mig(architecture, nccl, version(&server.cuda)) {
        NcclOnMig::NotSupported(why) => {
            check.outcome = Outcome::Fails;
            check.answer = format!("no: {name} spans instances, and {why}");
            check.would_be_conditional_on.push("a whole GPU for each rank".to_owned());
        }
        NcclOnMig::Experimental(conditions) => {
            check.answer = format!(
                "{name} over several instances is an experiment, for tests and development"
            );
            check.would_be_conditional_on.extend(conditions.iter().map(|it| (*it).to_owned()));
            if sku.is_none() {
                check.missing.push("server: { gpu: … }, the exact model".to_owned());
            }
        }
        NcclOnMig::Unknown(what) => {
            check.answer =
                format!("cannot be decided: {name} over several instances depends on {what}");
            check.missing.push("server: { nccl: … }, the exact version".to_owned());
        }
    }
    Some(check)
}
