//! One file per verb.

pub(crate) mod check;
pub(crate) mod demand;
pub(crate) mod engine;
pub(crate) mod exclude;
pub(crate) mod histories;
pub(crate) mod init;
pub(crate) mod judged;
pub(crate) mod measure;
pub(crate) mod plan;
pub(crate) mod planned;
pub(crate) mod read;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod sweep;
pub(crate) mod try_out;
pub(crate) mod verdict;

/// The hidden first argument that makes this program a guardian.
pub(crate) const GUARDIAN: &str = "guardian";
