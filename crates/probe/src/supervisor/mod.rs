//! Starting, watching, signalling and stopping workloads, so that none is left behind.
//!
//! Three kinds of process take part, all of the same binary:
//!
//! - the *measuring process* holds a [`Supervisor`]: it asks, and receives [`Event`]s;
//! - the *guardian*, its child ([`guardian_main`]), starts the workloads and owns them. It is a child
//!   subreaper: an orphan below it becomes its child, also one that called `setsid` or forked twice;
//! - the *launcher* sets priority, CPU affinity and the parent-death signal and then becomes the
//!   workload.
//!
//! What ends the workloads:
//!
//! | what happens | what ends them |
//! |---|---|
//! | [`Supervisor::stop`] | SIGTERM to the group, patience, SIGKILL to everything that is left |
//! | [`Supervisor::shutdown`], drop, panic, exit, SIGKILL of the measuring process | the guardian reads the end of its input and kills all that is below it |
//! | SIGTERM, SIGINT or SIGHUP to the guardian | the same |
//! | SIGKILL of the guardian | the kernel kills the workloads' first processes (parent-death signal); what is below them becomes a child of the measuring process, a subreaper too, which kills it |
//!
//! A Ctrl-C goes to the terminal's group in front. The guardian and the workloads are in groups of
//! their own, so it reaches the measuring process alone, and that decides.
//!
//! No process is signalled that was not started here. A group is signalled only while its first
//! process has not been reaped, for until then its number cannot be given to another; any other
//! process is pinned by a pidfd and its start time compared before the signal is sent.
//!
//! # What is not covered
//!
//! - The guardian and the measuring process killed by SIGKILL at the same moment: first processes
//!   still die with the guardian, but what is below them is left to the system's reaper. Only a
//!   control group of its own would close this, and that needs rights that cannot be assumed.
//! - After a SIGKILL of the guardian alone, an orphan that has left the group *and* carries no mark
//!   in its environment (it was started with an empty one, or wrote over it) is not known to be ours
//!   and is left alone. Below a living guardian there is no such gap.
//! - A program that changes user at the exec (setuid) loses the parent-death signal, and may not be
//!   signalled by us at all; the guardian then says which processes would not end.
//! - With several workloads, an orphan without mark or group that was never seen before its parents
//!   went (the guardian looks about once a second) is not attributed to one of them: a stop leaves
//!   it, the end of the guardian kills it.
//! - A process blocked in the kernel (state D) ends when the kernel lets it; after 10 s a stop fails
//!   and says so.

mod audit;
mod book;
mod client;
mod events;
mod guardian;
mod launch;
mod launcher;
mod lines;
mod output;
mod protocol;
mod saturate;
mod spawn;
mod spin;
mod tree;
mod weights;
mod wire;

pub use audit::{AuditedPriorities, audit_launches, audit_priority};
pub use client::{GuardianCommand, Supervisor, SupervisorError, Workload};
pub use events::{Event, Events, LINES_WAITING_MAX};
pub use guardian::guardian_main;
pub use launch::{
    Exit, Launch, LeftProcess, Priority, Rest, Signal, StopOrder, StopReport, Stream,
};
pub use lines::{LINE_BYTES_MAX, LineCutter, LineText};
pub(crate) use saturate::{HAS_HIT_THE_LIMIT, Resource, Saturation};
