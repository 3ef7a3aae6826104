//! Whether the limits that a site relies on bind: each is met by a load that wants more than it
//! allows, in the place of the neighbour.
//!
//! A limit that is declared, or even set, is a claim. The load runs in the neighbour's own control
//! groups, found from its running process; what it gets there is compared with what the same load
//! gets outside. Where the two cannot be told apart (the machine has no more to give, nobody may join
//! the group, filling the disk would take inference's too) nothing is concluded: an audit that could
//! not be made is no audit that failed.

mod audits;
mod bench;
mod cpu;
mod disk;
mod gpu;
mod memory;

use cotenant_core::evidence::EnforcementAudit;

pub use audits::{CapAudits, audit_caps, audit_gpu_shares};
pub(super) use bench::Bench;
pub(super) use disk::refuse_common_disk;

/// What is known of one cap: an audit, or the reason why there is none.
type Audited = Result<EnforcementAudit, String>;
