//! Tests of the report and its renderings, on made-up evidence.

#[cfg(test)]
mod any_report;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod renderings;
#[cfg(test)]
mod support;
