//! A thread that reads the GPUs at a fixed pace.
//!
//! Calls of NVML take from microseconds to, where a driver is busy, many milliseconds, and a driver whose
//! GPU hangs never returns. On the thread of the load client they would make it late, so they have a
//! thread of their own, which whoever waits for it leaves behind when it does not answer.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use cotenant_core::evidence::{GpuSample, Missing, Reading};

use super::library::NvmlLibrary;
use super::sampler::GpuSampler;
use crate::clock::monotonic_ns;

/// How long the driver may take to open its GPUs; without persistence mode that is seconds for each.
const OPENING: Duration = Duration::from_mins(1);

/// How long the last samples are waited for.
const CLOSING: Duration = Duration::from_secs(5);

/// A watch over the GPUs of this machine.
#[derive(Debug)]
pub struct GpuWatch {
    /// Dropped to tell the thread to end.
    end: Sender<()>,
    samples: Receiver<Vec<GpuSample>>,
    taken: Vec<GpuSample>,
    started_ns: u64,
    every: Duration,
    rounds: u64,
}

/// What a watch has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// The samples, in order of time.
    pub samples: Vec<GpuSample>,
    /// What a reader of them must know.
    pub remarks: Vec<String>,
}

impl GpuWatch {
    /// Opens the GPUs, and reads them every `every` from then on. Times of samples count from `zero_ns` of
    /// the monotonic clock.
    ///
    /// # Errors
    /// There is no library, or it does not start; with the reason.
    pub fn start(library: &NvmlLibrary, zero_ns: u64, every: Duration) -> Reading<Self> {
        let (end, ended) = channel::<()>();
        let (opened, opening) = channel();
        let (sender, samples) = channel();
        let (of_thread, path) = (library.clone(), library.path().display().to_string());
        let watch = move || {
            let nvml = match of_thread.open() {
                Ok(nvml) => nvml,
                Err(reason) => return drop(opened.send(Err(Missing(reason.to_string())))),
            };
            let mut sampler = match GpuSampler::new(&nvml) {
                Ok(sampler) => sampler,
                Err(reason) => return drop(opened.send(Err(reason))),
            };
            if opened.send(Ok(())).is_ok() {
                read_until(&ended, &mut sampler, zero_ns, every, &sender);
            }
        };
        std::thread::Builder::new()
            .name("gpu-watch".to_owned())
            .spawn(watch)
            .map_err(|error| Missing(format!("no thread can be started: {error}")))?;
        match opening.recv_timeout(OPENING) {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return Err(reason),
            Err(_) => {
                let seconds = OPENING.as_secs();
                return Err(Missing(format!("{path} did not answer within {seconds} s")));
            }
        }
        let started_ns = monotonic_ns();
        Ok(Self { end, samples, taken: Vec::new(), started_ns, every, rounds: 0 })
    }

    /// Ends the watch and gives everything that was seen, after waiting for a reading that is under way
    /// for at most five seconds.
    pub fn finish(mut self) -> Watched {
        drop(self.end);
        let mut remarks = Vec::new();
        loop {
            match self.samples.recv_timeout(CLOSING) {
                Ok(round) => {
                    self.rounds += 1;
                    self.taken.extend(round);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    remarks.push(format!(
                        "the driver did not end a reading of the GPUs within {} s; later samples are \
                         missing",
                        CLOSING.as_secs()
                    ));
                    break;
                }
            }
        }
        let elapsed_ns = monotonic_ns().saturating_sub(self.started_ns);
        let due = elapsed_ns / self.every.as_nanos().max(1) as u64;
        // Two may be cut off by the beginning and the end.
        if remarks.is_empty() && self.rounds + 2 < due {
            remarks.push(format!(
                "the GPUs were read {} times where {due} were due: calls of the driver take long",
                self.rounds
            ));
        }
        Watched { samples: self.taken, remarks }
    }
}

/// Reads at once, and then at each due time; one that has passed while a reading took long is left out.
fn read_until(
    ended: &Receiver<()>,
    sampler: &mut GpuSampler<'_>,
    zero_ns: u64,
    every: Duration,
    sender: &Sender<Vec<GpuSample>>,
) {
    let every_ns = (every.as_nanos() as u64).max(1);
    let first_ns = monotonic_ns();
    loop {
        let round = sampler.sample(|| monotonic_ns().saturating_sub(zero_ns));
        if sender.send(round).is_err() {
            return;
        }
        let since_ns = monotonic_ns().saturating_sub(first_ns);
        let wait = Duration::from_nanos(every_ns - since_ns % every_ns);
        match ended.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
