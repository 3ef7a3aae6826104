//! The workloads that a run is about.

use cotenant_core::protocol::Tests;
use cotenant_core::site::{Inference, Site, Training, Workload, WorkloadKind};

use crate::exit::Failure;

/// The workloads that a run is about.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) inference: (&'a Workload, &'a Inference),
    pub(crate) neighbour: Option<(&'a Workload, &'a Training)>,
}

impl<'a> Subject<'a> {
    /// Finds them in a site, by name or as the first of their kind.
    pub(crate) fn find(
        site: &'a Site,
        inference: Option<&str>,
        neighbour: Option<&str>,
        tests: Tests,
    ) -> Result<Self, Failure> {
        let names = || {
            let names: Vec<&str> = site.workloads.iter().map(|w| w.name.as_str()).collect();
            names.join(", ")
        };
        let found = site.inference().find(|(w, _)| inference.is_none_or(|name| w.name == name));
        let Some(inference) = found else {
            return Err(Failure::input(match inference {
                Some(name) => {
                    format!("no inference workload is called `{name}`; the site has {}", names())
                }
                None => "the site declares no inference workload".to_owned(),
            }));
        };
        let is_neighbour =
            |w: &&Workload| !matches!(w.kind, WorkloadKind::Inference(_)) && (tests.b || tests.c);
        let mut others = site.workloads.iter().filter(is_neighbour);
        let other = others.find(|w| neighbour.is_none_or(|name| w.name == name));
        let neighbour = match (other, neighbour) {
            (None, Some(name)) if tests.b || tests.c => {
                let has = names();
                return Err(Failure::input(format!(
                    "no neighbour is called `{name}`; the site has {has}"
                )));
            }
            (None, _) if tests.b || tests.c => {
                return Err(Failure::input(
                    "tests b and c need a workload beside inference, and the site declares none\n\n\
                     hint: `--tests a` measures inference alone",
                ));
            }
            (None, _) => None,
            (Some(workload), _) => match workload.job() {
                Some(job) => Some((workload, job)),
                None => {
                    return Err(Failure::input(format!(
                        "`{}` is of kind {}, and what it does is not read from a log so far\n\nhint: \
                         name a training or a render workload with --neighbour",
                        workload.name,
                        workload.kind.name()
                    )));
                }
            },
        };
        Ok(Self { inference, neighbour })
    }
}
