//! What DCGM's exporter says of cards and of the MIG instances on them.
//!
//! Under MIG each row carries the **parent's** UUID and tells instances apart by `GPU_I_ID` and
//! `GPU_I_PROFILE`. Power, temperature and clocks are the card's and are repeated on the row of each
//! instance: they are kept once, for a sum over rows would count them as often as there are instances. The
//! exporter reads the card anew for each row, so that such rows differ a little; the first counts.
//! `DCGM_FI_DEV_*_UTIL` does not measure an instance; the `DCGM_FI_PROF_*` shares do.
//!
//! DCGM writes a value that it does not have as a number near 2⁶³, 2³¹ or 1.4·10¹⁴ (`dcgm_structs.h`,
//! "blank values"); those are absences.

use super::smi::{Absence, Gpu, MigDevice, Problem, Reading};
use crate::exposition::{Exposition, Sample};

/// One card, by its UUID.
#[derive(Clone, Debug, PartialEq)]
pub struct DcgmCard {
    /// The UUID, `GPU-…`.
    pub uuid: String,
    /// Its number on its host.
    pub index: Reading<u32>,
    /// The product's name.
    pub model: Reading<String>,
    /// Power, watts; of the card.
    pub power_w: Reading<f64>,
    /// Temperature of the GPU, °C.
    pub gpu_c: Reading<f64>,
    /// Temperature of the memory, °C.
    pub memory_c: Reading<f64>,
    /// Clock of the multiprocessors, MHz.
    pub sm_mhz: Reading<f64>,
    /// Share of time in which a kernel ran, percent; absent under MIG.
    pub utilization_percent: Reading<f64>,
    /// How the card as a whole is used, where rows without an instance say so.
    pub usage: DcgmUsage,
    /// The MIG instances, in the order of the scrape.
    pub instances: Vec<DcgmInstance>,
}

/// One GPU instance of a card.
#[derive(Clone, Debug, PartialEq)]
pub struct DcgmInstance {
    /// The GPU instance's id, which the driver assigns anew with each layout.
    pub gpu_instance: u32,
    /// The profile's name, `1g.5gb`.
    pub profile: Reading<String>,
    /// How it is used.
    pub usage: DcgmUsage,
}

/// How a card or an instance is used. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct DcgmUsage {
    /// Share of time in which the graphics or compute engine was active.
    pub engine_active: Reading<f64>,
    /// Share of multiprocessors and time with at least one warp.
    pub sm_active: Reading<f64>,
    /// Share of time in which the tensor pipe was active.
    pub tensor_active: Reading<f64>,
    /// Share of time in which the memory interface was active.
    pub dram_active: Reading<f64>,
    /// Memory in use, MiB.
    pub memory_used_mib: Reading<f64>,
    /// Memory that is free, MiB.
    pub memory_free_mib: Reading<f64>,
}

impl DcgmUsage {
    const NOTHING: Self = Self {
        engine_active: Err(Absence::NotPrinted),
        sm_active: Err(Absence::NotPrinted),
        tensor_active: Err(Absence::NotPrinted),
        dram_active: Err(Absence::NotPrinted),
        memory_used_mib: Err(Absence::NotPrinted),
        memory_free_mib: Err(Absence::NotPrinted),
    };

    fn field(&mut self, name: &str) -> Option<&mut Reading<f64>> {
        Some(match name {
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE" => &mut self.engine_active,
            "DCGM_FI_PROF_SM_ACTIVE" => &mut self.sm_active,
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" => &mut self.tensor_active,
            "DCGM_FI_PROF_DRAM_ACTIVE" => &mut self.dram_active,
            "DCGM_FI_DEV_FB_USED" => &mut self.memory_used_mib,
            "DCGM_FI_DEV_FB_FREE" => &mut self.memory_free_mib,
            _ => return None,
        })
    }
}

impl DcgmCard {
    fn new(uuid: &str, sample: &Sample<'_>) -> Self {
        let number = sample.label("gpu").and_then(|text| text.parse().ok());
        let model = sample.label("modelName").map(str::to_owned);
        Self {
            uuid: uuid.to_owned(),
            index: number.ok_or(Absence::NotPrinted),
            model: model.ok_or(Absence::NotPrinted),
            power_w: Err(Absence::NotPrinted),
            gpu_c: Err(Absence::NotPrinted),
            memory_c: Err(Absence::NotPrinted),
            sm_mhz: Err(Absence::NotPrinted),
            utilization_percent: Err(Absence::NotPrinted),
            usage: DcgmUsage::NOTHING,
            instances: Vec::new(),
        }
    }

    /// Fields that are the card's, whichever row they stand on.
    fn field(&mut self, name: &str) -> Option<&mut Reading<f64>> {
        Some(match name {
            "DCGM_FI_DEV_POWER_USAGE" => &mut self.power_w,
            "DCGM_FI_DEV_GPU_TEMP" => &mut self.gpu_c,
            "DCGM_FI_DEV_MEMORY_TEMP" => &mut self.memory_c,
            "DCGM_FI_DEV_SM_CLOCK" => &mut self.sm_mhz,
            _ => return None,
        })
    }

    fn instance(&mut self, gpu_instance: u32, profile: Option<&str>) -> &mut DcgmInstance {
        let found = self.instances.iter().position(|one| one.gpu_instance == gpu_instance);
        let place = found.unwrap_or_else(|| {
            self.instances.push(DcgmInstance {
                gpu_instance,
                profile: profile.map(str::to_owned).ok_or(Absence::NotPrinted),
                usage: DcgmUsage::NOTHING,
            });
            self.instances.len() - 1
        });
        &mut self.instances[place]
    }

    /// The MIG devices of this card with what DCGM says of the GPU instance that each is in; nothing where
    /// the card is another. Devices that share an instance get the same usage.
    pub fn join<'a>(&'a self, gpu: &'a Gpu) -> Vec<(&'a MigDevice, &'a DcgmInstance)> {
        let devices = match (&gpu.uuid, &gpu.mig_devices) {
            (Ok(uuid), Ok(devices)) if *uuid == self.uuid => devices.as_slice(),
            _ => &[],
        };
        let instance = |device: &MigDevice| {
            self.instances.iter().find(|one| device.gpu_instance == Ok(one.gpu_instance))
        };
        devices.iter().filter_map(|device| Some((device, instance(device)?))).collect()
    }
}

/// The cards of a scrape, in its order, and what contradicts itself in it. Families that are not DCGM's
/// are passed over; a scrape without DCGM's has no cards.
pub fn cards(scrape: &Exposition<'_>) -> (Vec<DcgmCard>, Vec<Problem>) {
    let (mut cards, mut problems) = (Vec::new(), Vec::new());
    let of_dcgm = scrape.families.iter().filter(|family| family.name.starts_with("DCGM_FI_"));
    for sample in of_dcgm.flat_map(|family| &family.samples) {
        if let Err(message) = add(&mut cards, sample) {
            problems.push(Problem {
                line: sample.line,
                message: format!("{}: {message}", sample.name),
            });
        }
    }
    (cards, problems)
}

fn add(cards: &mut Vec<DcgmCard>, sample: &Sample<'_>) -> Result<(), &'static str> {
    let uuid = sample.label("UUID").or_else(|| sample.label("gpu_uuid"));
    let uuid = uuid.ok_or("the row names no UUID and is left out; keep the exporter's labels")?;
    let place = cards.iter().position(|card| card.uuid == uuid).unwrap_or_else(|| {
        cards.push(DcgmCard::new(uuid, sample));
        cards.len() - 1
    });
    let card = &mut cards[place];
    let value = reading(sample.value);
    if let Some(field) = card.field(&sample.name) {
        if *field == Err(Absence::NotPrinted) {
            *field = value;
        }
        return Ok(());
    }
    let instance = match sample.label("GPU_I_ID") {
        None => None,
        Some(text) => {
            let id = text.parse().map_err(|_| "GPU_I_ID is no number; the row is left out")?;
            Some(card.instance(id, sample.label("GPU_I_PROFILE")))
        }
    };
    match instance {
        Some(instance) => {
            instance.usage.field(&sample.name).map_or(Ok(()), |field| put(field, value))
        }
        None if sample.name == "DCGM_FI_DEV_GPU_UTIL" => put(&mut card.utilization_percent, value),
        None => card.usage.field(&sample.name).map_or(Ok(()), |field| put(field, value)),
    }
}

/// Sets a field once; a second row may only repeat it.
fn put(field: &mut Reading<f64>, value: Reading<f64>) -> Result<(), &'static str> {
    match field {
        Err(Absence::NotPrinted) => *field = value,
        known if *known == value => {}
        _ => {
            return Err(
                "two rows of one card or instance disagree and the first counts; look whether two exporters are joined",
            );
        }
    }
    Ok(())
}

/// DCGM's blank values: sixteen numbers from each of these on.
const BLANKS: [f64; 3] = [9_223_372_036_854_775_792.0, 2_147_483_632.0, 140_737_488_355_328.0];

fn reading(value: f64) -> Reading<f64> {
    let is_blank = BLANKS.iter().any(|blank| (*blank..=blank + 15.0).contains(&value));
    if is_blank || !value.is_finite() { Err(Absence::NotAvailable) } else { Ok(value) }
}
