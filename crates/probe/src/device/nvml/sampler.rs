//! Readings of every GPU and MIG device, with handles that stay open between them.

use cotenant_core::evidence::{GpuSample, Missing, Reading};
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::super::smi::Absence;
use super::absence::{absence, number, reading, thousandths};
use super::gpu::{LIMITS, limit_bits, unnamed_limits};
use super::mig::mig_mode;

/// Takes readings of the GPUs that were there when it was made. MIG devices are looked up again when one
/// of them stops to answer, and as long as a card in MIG mode has none.
#[derive(Debug)]
pub struct GpuSampler<'nvml> {
    cards: Vec<Card<'nvml>>,
}

#[derive(Debug)]
struct Card<'nvml> {
    uuid: String,
    device: Result<Device<'nvml>, Absence>,
    instances: Instances<'nvml>,
}

/// The MIG devices of a card.
#[derive(Debug)]
enum Instances<'nvml> {
    /// The card is not in MIG mode, or does not know it.
    Undivided,
    /// It is in MIG mode.
    Divided(Vec<Instance<'nvml>>),
}

#[derive(Debug)]
struct Instance<'nvml> {
    uuid: String,
    device: Device<'nvml>,
}

impl<'nvml> GpuSampler<'nvml> {
    /// Opens handles of all GPUs. One that gives none is in every sample, with the reason.
    ///
    /// # Errors
    /// The driver does not say how many GPUs there are.
    pub fn new(nvml: &'nvml Nvml) -> Reading<Self> {
        let count = nvml.device_count().map_err(|error| missing(&absence(&error)))?;
        Ok(Self { cards: (0..count).map(|index| Card::new(nvml, index)).collect() })
    }

    /// One sample of each GPU, each followed by those of its MIG devices. `now_ns` gives the time from the
    /// block's start, and is asked anew for each GPU.
    pub fn sample(&mut self, mut now_ns: impl FnMut() -> u64) -> Vec<GpuSample> {
        let mut samples = Vec::new();
        for card in &mut self.cards {
            card.sample(now_ns(), &mut samples);
        }
        samples
    }
}

impl<'nvml> Card<'nvml> {
    fn new(nvml: &'nvml Nvml, index: u32) -> Self {
        let device = nvml.device_by_index(index).map_err(|error| absence(&error));
        let uuid = device.as_ref().map_err(Clone::clone).and_then(|device| reading(device.uuid()));
        let instances = device.as_ref().map_or(Instances::Undivided, Instances::of);
        // A sample must be of something: one that tells no UUID goes by its number.
        Self { uuid: uuid.unwrap_or_else(|_| format!("GPU {index}")), device, instances }
    }

    fn sample(&mut self, at_ns: u64, samples: &mut Vec<GpuSample>) {
        let device = match &self.device {
            Ok(device) => device,
            Err(reason) => return samples.push(silent(at_ns, &self.uuid, &missing(reason))),
        };
        if let Instances::Divided(instances) = &self.instances
            && instances.is_empty()
        {
            self.instances = Instances::of(device);
        }
        let utilization_share = match &self.instances {
            Instances::Divided(_) => {
                Err(Missing("the driver has no utilisation of a card in MIG mode".to_owned()))
            }
            Instances::Undivided => share(device.utilization_rates().map(|rates| rates.gpu)),
        };
        // A card that was put into MIG mode while it is watched does not answer this anymore.
        let was_divided =
            matches!(self.instances, Instances::Undivided) && utilization_share.is_err();
        samples.push(GpuSample {
            at_ns,
            uuid: self.uuid.clone(),
            utilization_share,
            memory_used_bytes: memory_used(device),
            sm_clock_mhz: told(number(device.clock_info(Clock::SM))),
            memory_clock_mhz: told(number(device.clock_info(Clock::Memory))),
            power_w: told(thousandths(device.power_usage())),
            power_limit_w: told(thousandths(device.enforced_power_limit())),
            temperature_c: told(number(device.temperature(TemperatureSensor::Gpu))),
            clocks_limited_by: told(limit_bits(device)).map(names),
        });
        let Instances::Divided(instances) = &self.instances else {
            if was_divided {
                self.instances = Instances::of(device);
            }
            return;
        };
        let first = samples.len();
        samples.extend(instances.iter().map(|instance| instance.sample(at_ns)));
        let is_gone = samples[first..].iter().any(|sample| sample.memory_used_bytes.is_err());
        if is_gone {
            self.instances = Instances::of(device);
        }
    }
}

impl<'nvml> Instances<'nvml> {
    fn of(card: &Device<'nvml>) -> Self {
        if mig_mode(card).current != Ok(true) {
            return Self::Undivided;
        }
        let numbers = 0..card.mig_device_count().unwrap_or(0);
        let devices = numbers.filter_map(|number| card.mig_device_by_index(number).ok());
        let instance =
            |device: Device<'nvml>| device.uuid().ok().map(|uuid| Instance { uuid, device });
        Self::Divided(devices.filter_map(instance).collect())
    }
}

impl Instance<'_> {
    /// Memory is the instance's own; what the driver knows of the whole card alone stands in its sample.
    fn sample(&self, at_ns: u64) -> GpuSample {
        let whole =
            Missing("the driver tells it of the whole card, and not of a MIG device".to_owned());
        GpuSample {
            utilization_share: Err(Missing(
                "the driver has no utilisation of a MIG device".to_owned(),
            )),
            memory_used_bytes: memory_used(&self.device),
            ..silent(at_ns, &self.uuid, &whole)
        }
    }
}

fn silent(at_ns: u64, uuid: &str, reason: &Missing) -> GpuSample {
    GpuSample {
        at_ns,
        uuid: uuid.to_owned(),
        utilization_share: Err(reason.clone()),
        memory_used_bytes: Err(reason.clone()),
        sm_clock_mhz: Err(reason.clone()),
        memory_clock_mhz: Err(reason.clone()),
        power_w: Err(reason.clone()),
        power_limit_w: Err(reason.clone()),
        temperature_c: Err(reason.clone()),
        clocks_limited_by: Err(reason.clone()),
    }
}

fn missing(reason: &Absence) -> Missing {
    Missing(reason.to_string())
}

fn told<T>(value: Result<T, Absence>) -> Reading<T> {
    value.map_err(|reason| missing(&reason))
}

fn share(percent: Result<u32, NvmlError>) -> Reading<f64> {
    told(number(percent)).map(|percent| percent / 100.0)
}

fn memory_used(device: &Device<'_>) -> Reading<u64> {
    told(reading(device.memory_info())).map(|memory| memory.used)
}

/// The limits whose bits are set.
fn names(bits: u64) -> Vec<String> {
    let known = LIMITS.iter().filter(|(flag, _)| bits & flag.bits() != 0).map(|(_, limit)| limit);
    let unnamed = unnamed_limits(bits);
    known.chain(&unnamed).map(|limit| limit.name().to_owned()).collect()
}
