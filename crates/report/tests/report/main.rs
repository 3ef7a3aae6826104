//! Tests of the report and its renderings, on made-up evidence.

#[cfg(test)]
mod any_report;
#[cfg(test)]
mod demand;
#[cfg(test)]
mod export_tools;
#[cfg(test)]
mod exports;
#[cfg(test)]
#[path = "support/plans.rs"]
mod made_up_plans;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod renderings;
#[cfg(test)]
mod support;
mod transitions;
#[cfg(test)]
mod why;
