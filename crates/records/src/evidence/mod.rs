//! Evidence on disk, to core's types and back.
//!
//! An evidence folder holds a ledger and one folder for each run:
//!
//! ```text
//! evidence/
//!   ledger.jsonl             what happened to which run, each line chained to the one before it
//!   ledger.head.json         how long the ledger is
//!   20261130T143207Z-abc/
//!     schedule.json          what is fixed before the first block
//!     block-0000-A.jsonl.zst one sealed file for each finished block
//!     block-0000-A.gaps.zst  its times between chunks, apart
//!     block-0003-C.resume.json   the resume after its drill, known later
//!     run.json               the record: every file with its length, counts and digest
//!     logs/                  whatever workloads printed; not sealed
//! ```
//!
//! A file is there completely or not at all, and is never rewritten, but for the record and the
//! head. Reading verifies everything that it gives, and names the file that is wrong. This protects
//! from accidents and carelessness: a crash, a bad disk, a lost or edited file, a run left out
//! because nobody liked it. It does not protect from a forger who computes every digest anew.
//!
//! One version of the format is read and written. Within a version no unknown field is accepted: a
//! file that says more than this program understands would be understood wrongly.

mod block_file;
mod digest;
mod error;
mod files;
mod folder;
mod gaps_file;
mod ledger;
mod lines;
mod lock;
mod mirror;
mod plan;
mod request_columns;
mod sealed;
mod store;
mod stored_block;
mod stored_engine;
mod stored_run;
mod stored_situation;
mod writer;

pub use error::EvidenceError;
pub use plan::{Exclusion, LostRun, ReadWhat, RunPlan, RunStatus, StoredEvidence, StoredRun};
pub use store::Store;
pub use writer::RunWriter;
