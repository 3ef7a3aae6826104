//! Work of which only the completion matters: batch and rendering.

use super::{Deadline, Launch, Training};
use crate::units::{Bytes, RatePerSecond};

/// What is particular to a batch workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Through what it runs.
    pub route: BatchRoute,
    /// Items of the whole batch.
    pub items: Option<u64>,
    /// Throughput with the machine to itself.
    pub throughput_alone: Option<RatePerSecond>,
    /// When it must be done.
    pub deadline: Option<Deadline>,
    /// The service class that it belongs to.
    pub class: Option<String>,
}

/// Through what a batch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchRoute {
    /// As requests through the engine of an inference workload, by its name.
    Serving(String),
    /// As a job of its own.
    Job(Launch),
}

/// What is particular to a render workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Render {
    /// The renderer as written: `cycles`, `optix`, `vulkan`.
    pub engine: Option<String>,
    /// Its exact version.
    pub version: Option<String>,
    /// What it needs of the GPU. A compute partition gives no graphics path.
    pub needs: Option<RenderNeeds>,
    /// Geometry, textures and acceleration structures on the GPU.
    pub scene_memory: Option<Bytes>,
    /// What is done again after a stop.
    pub restart_unit: Option<RestartUnit>,
    /// The job in the terms of training, in which progress is measured and judged: a step is a frame.
    /// Its launch, frames (`steps`), time of a frame alone (`step_time_alone`), deadline, longest mean
    /// time of a frame (`objectives.step_time_max`), preemption and log. A frame that is saved needs no
    /// checkpoint, so it has none.
    pub job: Training,
}

/// What a renderer needs of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RenderNeeds {
    /// Compute alone.
    Compute,
    /// A graphics path.
    Graphics,
}

impl RenderNeeds {
    /// Every need.
    pub const ALL: [Self; 2] = [Self::Compute, Self::Graphics];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Graphics => "graphics",
        }
    }
}

/// What a renderer does again after a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RestartUnit {
    /// The whole frame.
    Frame,
    /// One tile.
    Tile,
}

impl RestartUnit {
    /// Every unit.
    pub const ALL: [Self; 2] = [Self::Frame, Self::Tile];

    /// The name in the site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Tile => "tile",
        }
    }
}
