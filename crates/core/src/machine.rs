//! What was found on a machine: the facts from which a site file can be begun.
//!
//! Nothing here is judged and nothing is filled in: each fact has where it comes from, or the reason why
//! it is not known.

use crate::evidence::{Missing, Reading};
use crate::gpu::Sku;
use crate::site::SchedulerKind;
use crate::units::Bytes;

/// A fact with where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    /// The fact.
    pub value: T,
    /// Where it comes from, as a fragment of a sentence.
    pub how: String,
}

impl<T> Found<T> {
    /// A fact from a source.
    pub fn new(value: T, how: impl Into<String>) -> Self {
        Self { value, how: how.into() }
    }
}

/// A fact, or why it is not known.
pub type Finding<T> = Reading<Found<T>>;

/// A machine as far as it says what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: Finding<String>,
    /// The time zone of its clock on the wall (IANA).
    pub time_zone: Finding<String>,
    /// Release of the kernel.
    pub kernel: Finding<String>,
    /// Model of its CPU.
    pub cpu_model: Finding<String>,
    /// Cores that may be used, after affinity and quota.
    pub cores_usable: Finding<f64>,
    /// Cores that programs see.
    pub cores_visible: Finding<u32>,
    /// Memory that may be used, after the control group's limit.
    pub memory: Finding<Bytes>,
    /// The NUMA nodes.
    pub numa: Finding<Vec<NumaFound>>,
    /// Filesystems that can hold checkpoints.
    pub filesystems: Finding<Vec<Filesystem>>,
    /// The GPUs.
    pub gpus: Gpus,
    /// Version of NCCL.
    pub nccl: Finding<String>,
    /// The MPS control daemon; `None` where none runs.
    pub mps: Finding<Option<MpsFound>>,
    /// What places work on the machine.
    pub scheduler: Finding<SchedulerFound>,
    /// Engines that answer on the loopback.
    pub engines: Finding<Vec<EngineFound>>,
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq)]
pub struct NumaFound {
    /// Its number.
    pub node: u32,
    /// Its CPUs as the kernel lists them (`0-47,96-143`); empty where it has none.
    pub cpus: String,
    /// Its memory.
    pub memory: Reading<Bytes>,
}

/// A filesystem that can hold checkpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Filesystem {
    /// Where it is mounted.
    pub point: String,
    /// Its kind: `ext4`, `xfs`, `nfs4`.
    pub kind: String,
    /// What is mounted.
    pub source: String,
    /// What it lies on: `NVMe`, `solid state`, `rotating disk`, `network`.
    pub disk: Reading<String>,
    /// Size, and what a process without privileges may still write.
    pub space: Reading<(Bytes, Bytes)>,
}

/// The GPUs, as far as something told of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpus {
    /// Who told of them, or why nobody did.
    pub source: Reading<String>,
    /// Version of the driver.
    pub driver: Finding<String>,
    /// The newest CUDA that the driver serves.
    pub cuda: Finding<String>,
    /// Every card, in the driver's order.
    pub cards: Vec<Card>,
    /// What a person must know of them.
    pub problems: Vec<String>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The driver's number for it; its place on the bus where no driver numbered it.
    pub index: u32,
    /// The product's name in the driver's words.
    pub name: Reading<String>,
    /// Device and vendor as PCI knows them.
    pub pci_device: Reading<String>,
    /// The one model of the catalogue that it is.
    pub sku: Option<&'static Sku>,
    /// The UUID.
    pub uuid: Reading<String>,
    /// The place on the bus.
    pub bus_id: Reading<String>,
    /// Memory of the whole card.
    pub memory: Reading<Bytes>,
    /// Whether it is in MIG mode now.
    pub mig: Reading<bool>,
    /// What MIG mode will be after the next reset, where that is a change.
    pub mig_after_reset: Option<bool>,
    /// The GPU instances, by their place where it is known.
    pub instances: Reading<Vec<MigFound>>,
    /// `Default`, `Exclusive_Process` or `Prohibited`.
    pub compute_mode: Reading<String>,
    /// Whether the driver stays loaded without a client.
    pub persistence: Reading<bool>,
    /// Watts that its sensor reads now.
    pub power_w: Reading<f64>,
    /// The NUMA node that is near.
    pub numa: Reading<u32>,
    /// Processes on it: id, and kind as the driver names it.
    pub processes: Reading<Vec<(u32, String)>>,
    /// Why it cannot be counted on: it is lost, or does not let itself be looked at.
    pub unusable: Option<String>,
}

/// One GPU instance of a card in MIG mode.
#[derive(Clone, Debug, PartialEq)]
pub struct MigFound {
    /// The profile of the GPU instance: `3g.40gb`.
    pub profile: Reading<String>,
    /// Where it begins on the card's grid.
    pub start: Reading<u32>,
    /// The MIG devices in it: the compute instance's name and its UUID.
    pub devices: Vec<(Reading<String>, Reading<String>)>,
}

/// A running MPS control daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpsFound {
    /// Control daemons.
    pub daemons: Vec<u32>,
    /// Servers.
    pub servers: Vec<u32>,
}

/// What places work on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerFound {
    /// Which it is.
    pub kind: SchedulerKind,
    /// Its version.
    pub version: Reading<String>,
    /// What it says of this machine, each as a line for people.
    pub notes: Vec<String>,
}

/// An engine that answers on the loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFound {
    /// The port.
    pub port: u16,
    /// The base URL without `/v1`.
    pub endpoint: String,
    /// Which engine it is: `vLLM`.
    pub engine: Reading<String>,
    /// Its version.
    pub version: Reading<String>,
    /// The models that it serves.
    pub models: Vec<String>,
    /// The URL of its metrics.
    pub metrics: Reading<String>,
    /// What pointed at the engine, and what pointed at another one.
    pub clues: Vec<String>,
    /// The command line of the process that listens, without secrets.
    pub arguments: Reading<Vec<String>>,
    /// Indexes into [`Gpus::cards`] on which its processes run.
    pub cards: Reading<Vec<usize>>,
}

impl Gpus {
    /// The cards that one server record describes, with their places in [`Gpus::cards`]: those that can
    /// be used and are of the commonest model. They are numbered anew from 0, in the driver's order.
    pub fn described(&self) -> Vec<(usize, &Card)> {
        let usable = || self.cards.iter().enumerate().filter(|(_, card)| card.unusable.is_none());
        let count = |name: &str| usable().filter(|(_, card)| card.model() == name).count();
        let mut best: Option<(&str, usize)> = None;
        for (_, card) in usable() {
            let seen = count(card.model());
            // The first of several that are equally common.
            if best.is_none_or(|(_, most)| seen > most) {
                best = Some((card.model(), seen));
            }
        }
        let Some((model, _)) = best else { return Vec::new() };
        usable().filter(|(_, card)| card.model() == model).collect()
    }
}

impl Card {
    /// What the card is called where cards are compared and where a site file names it: the catalogue's
    /// name where the driver's own name leads to it, so that a measurement knows the two as the same, and
    /// else the driver's.
    pub fn model(&self) -> &str {
        match (&self.name, self.sku) {
            (Ok(name), Some(sku)) if crate::gpu::find(name) == Some(sku) => sku.id,
            (Ok(name), _) => name,
            (Err(_), Some(sku)) => sku.id,
            (Err(_), None) => self.pci_device.as_deref().unwrap_or("unknown"),
        }
    }
}

/// A finding that is not there, for a reason.
pub fn missing<T>(why: impl Into<String>) -> Reading<T> {
    Err(Missing(why.into()))
}
