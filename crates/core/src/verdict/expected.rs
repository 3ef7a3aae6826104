//! What the site declares of the stack and the load, in the words that evidence has for it. Evidence
//! of something else than what is declared today says nothing about today.

use crate::evidence::{Aspect, Fingerprint};
use crate::site::{Demand, Inference, Launch, SharingMode, Site, TraceWindow, Training, Workload};

/// What evidence must be about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    /// Name of the inference workload.
    pub(super) inference: Option<String>,
    /// Name of the neighbour.
    pub(super) neighbour: Option<String>,
    /// Declared aspects of the stack.
    aspects: Vec<(Aspect, String)>,
    /// How the sharing mode is told: its name, and the name with its settings.
    sharing: Option<(String, String)>,
}

impl Expected {
    /// Reads it off the site, for one pair of workloads.
    pub(crate) fn new(
        site: &Site,
        inference: Option<(&Workload, &Inference)>,
        neighbour: Option<&Workload>,
        training: Option<&Training>,
    ) -> Self {
        let server = site.server();
        let of_server =
            |read: fn(&crate::site::Server) -> Option<&String>| server.and_then(read).cloned();
        let arguments = |launch: &Launch| launch.argv.iter().skip(1).cloned().collect::<Vec<_>>();
        let engine = inference.map(|(_, inference)| match &inference.launch {
            Some(launch) => arguments(launch).join(" "),
            None => inference.arguments.join(" "),
        });
        let trainer = training.and_then(|t| t.launch.as_ref()).map(|l| arguments(l).join(" "));
        let aspects = [
            (Aspect::Device, of_server(|server| server.gpu.as_ref())),
            (Aspect::Driver, of_server(|server| server.driver.as_ref())),
            (Aspect::Cuda, of_server(|server| server.cuda.as_ref())),
            (Aspect::Nccl, of_server(|server| server.nccl.as_ref())),
            (Aspect::EngineArguments, engine),
            (Aspect::TrainerArguments, trainer),
        ];
        let mode = &site.sharing.mode;
        let sharing = (*mode != SharingMode::CandidatesAll)
            .then(|| (mode.name().to_owned(), format!("{}: {mode:?}", mode.name())));
        Self {
            inference: inference.map(|(workload, _)| workload.name.clone()),
            neighbour: neighbour.map(|workload| workload.name.clone()),
            aspects: aspects
                .into_iter()
                .filter_map(|(aspect, value)| Some((aspect, value.filter(|v| !v.is_empty())?)))
                .collect(),
            sharing,
        }
    }

    /// In what a stack differs from the declared one, among the aspects that matter. An aspect that
    /// was not observed, or is not declared, is no difference.
    pub(crate) fn differences(
        &self,
        print: &Fingerprint,
        matters: impl Fn(Aspect) -> bool,
    ) -> Vec<String> {
        let mut differences: Vec<String> = self
            .aspects
            .iter()
            .filter(|(aspect, _)| matters(*aspect))
            .filter_map(|(aspect, declared)| {
                let there = print.0.get(aspect).filter(|there| *there != declared)?;
                Some(format!("{aspect}: {there} there, {declared} declared"))
            })
            .collect();
        let told = print.0.get(&Aspect::Sharing).filter(|_| matters(Aspect::Sharing));
        if let Some((told, (mode, settings))) = told.zip(self.sharing.as_ref()) {
            // Evidence may name the mode alone, or the mode and its settings.
            let same_mode = told.split([':', ' ']).next() == Some(mode.as_str());
            let has_settings = told.starts_with(&format!("{mode}: "));
            if !same_mode {
                differences.push(format!("sharing mode: {told} there, {mode} declared"));
            } else if has_settings && !told.starts_with(settings.as_str()) {
                differences.push(format!(
                    "sharing mode: other settings of {mode} there than are declared"
                ));
            }
        }
        differences
    }
}

/// Words that the description of a tested load must hold for it to be of the declared kind: bursts
/// make tails, so a smoother load of the same rate proves nothing.
pub(crate) fn load_words(demand: &Demand) -> Vec<String> {
    match demand {
        Demand::Trace(trace) => {
            let part = match trace.window {
                None => "whole".to_owned(),
                Some(TraceWindow::Busiest(length)) => format!("busiest {} s", length.as_secs_f64()),
                Some(TraceWindow::From { start, length }) => {
                    format!("{} s from {} s", length.as_secs_f64(), start.as_secs_f64())
                }
            };
            vec![
                format!("trace {}", trace.file),
                part,
                format!("rate factor {}", trace.rate_factor.unwrap_or(1.0)),
            ]
        }
        Demand::Poisson { .. }
        | Demand::Query(_)
        | Demand::SavedQuery(_)
        | Demand::Rates(_)
        | Demand::Table(_) => vec!["poisson".to_owned()],
        Demand::Gamma { burstiness, .. } => {
            vec!["gamma".to_owned(), format!("burstiness {burstiness}")]
        }
        Demand::Constant { .. } => vec!["constant".to_owned()],
        Demand::Ramp { from, to, .. } => {
            vec!["ramp".to_owned(), format!("{} to {}", from.per_second, to.per_second)]
        }
        Demand::Closed { users, think_time } => vec![
            "closed loop".to_owned(),
            format!("{users} users"),
            format!("think time {} s", think_time.as_secs_f64()),
        ],
    }
}
