//! The table of fields: everything that may stand in a site file, said once.
//!
//! The walk, the JSON Schema and the reference in the documentation read it. What a field feeds is
//! one of the six gates of the verdict, or `plan`, `stack` (the fingerprint of evidence), `report`
//! or `test` (how it is measured).

mod completion;
mod demand;
mod inference;
mod machine;
mod operations;
mod root;
mod sharing;
mod vocabulary;
mod workload;

pub(super) use root::SITE;
