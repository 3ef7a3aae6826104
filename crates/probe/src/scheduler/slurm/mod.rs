//! Slurm: tables, `key=value` records, JSON, statistics and settings.

pub(super) mod accounts;
pub(super) mod conf;
mod field;
mod fill;
pub(super) mod json;
mod json_cluster;
mod json_job;
mod layout;
pub(super) mod pairs;
pub(super) mod sdiag;
pub(super) mod table;
pub(super) mod template;
mod words;
