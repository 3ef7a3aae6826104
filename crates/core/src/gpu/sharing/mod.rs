//! What each way of sharing a GPU gives and does not give: rules as data, each with its source. That a
//! rule gives something is no proof that it binds on a given machine: an audit shows that.

mod isolation;
mod mig;
mod mps;
mod nccl;
mod principles;
pub mod sources;

pub use isolation::{Gives, Mechanism, RULES, Rule, rule};
pub use mig::{MIG_METRICS, MetricUnderMig, ModeChange, Persistence, graphics_on, mig_mode_change};
pub use mps::{
    DEVICE_PLUGIN_MPS_REPLICAS_MAX, MpsClientsMax, StaticPartitions, mps_clients_max, sm_chunk_sms,
    static_partitions,
};
pub use nccl::{NcclOnMig, nccl_on_mig};
pub use principles::{Principle, Statement};
