//! The runner of tests A, B and C: it brings workloads up and down, puts load on, looks, and hands
//! finished blocks over. What to run and what it means is decided elsewhere.

mod block;
mod burst;
mod caps;
mod child;
mod demand;
mod desk;
mod drill;
mod engine_api;
mod engine_log;
mod engine_sleep;
mod engine_watch;
mod fault;
mod first_token;
mod gpu_memory;
mod gpu_watch;
mod guard;
mod hand_over;
mod layout;
mod memory;
mod mig_manager;
mod pilot;
mod plan;
mod rig;
mod runner;
mod setup;
mod setup_hand_over;
mod slurm;
mod stack;
mod stress;

pub use block::{BlockError, Interrupt};
pub use burst::BurstLoad;
pub use caps::{CapAudits, audit_caps, audit_gpu_shares};
pub use demand::{DeclaredLoad, DemandError};
pub use engine_api::{declared_engine, ready_path, target_of};
pub use engine_sleep::EngineSwitch;
pub use fault::possible_faults;
pub use gpu_memory::GpuReader;
pub use hand_over::{EngineRest, HandOver};
pub use layout::{LayoutBy, LayoutCheck, LayoutOrder};
pub use mig_manager::MigManager;
pub use pilot::{
    InferencePilot, NeighbourPilot, audit_faults, pilot_inference, pilot_neighbour, pilot_record,
};
pub use plan::{BlockLimits, BurstRules, InferenceRig, Loads, NeighbourRig, Rules, Sink};
pub use rig::{Rig, RigError};
pub use runner::{Progress, RunError, Runner, expected};
pub use setup::{Places, SetupError, declared_priority, inference_rig, make_logs, neighbour_rig};
pub use setup_hand_over::hand_over;
pub use slurm::SlurmRig;
pub use stack::{EngineFacts, engine_facts, fingerprint, thread_notes};
pub use stress::{StressKit, calibrate};
