//! What `nvidia-smi` prints, in each of its forms, as one model.
//!
//! `-q` and `-q -x` are trees, a row of `--query-gpu` is a flat one: each becomes the same
//! `tree::Node`, and one table of names (`fill`) makes a [`DeviceReport`] of it. The listings, the
//! matrix of `topo -m`, the links and the monitors have readers of their own. [`read`] tells them apart
//! by content.
//!
//! A value that is not there is an [`Absence`] with its reason, never a zero. A value that is there in a
//! form that is not understood is kept as it was printed, and told in [`DeviceReport::problems`] with
//! its line.

mod capture;
mod csv;
mod error;
mod fill;
mod list;
mod model;
mod monitor;
mod nvlink;
mod read;
mod reading;
mod topology;
mod tree;
mod unreachable;

pub use capture::{Capture, Section};
pub use error::DeviceError;
pub use list::{DeviceList, ListedGpu, ListedMigDevice, MigUuid};
pub use model::{
    ClockLimit, Clocks, DeviceProcess, DeviceReport, Ecc, Gpu, LimitState, Memory, MigDevice,
    MigPlacement, Power, Problem, Source, Switch, Temperature, Unreachable, Utilization,
};
pub use monitor::{Column, Monitor, MonitorRow};
pub use nvlink::{GpuLinks, NvLink};
pub use read::{DeviceDocument, read};
pub use reading::{Absence, Reading, Unit};
pub use topology::{Topology, TopologyRow};
