//! The training loop: one line a step, checkpoints, and signals acted upon at step boundaries.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use candle_core::{Device, Tensor};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};

use super::adamw::AdamW;
use super::arguments::TrainArgs;
use super::checkpoint::{CheckpointDirectory, RunSettings, State};
use super::data;
use crate::model::{DecoderWeights, initial_tensors, training_loss};
use crate::{EngineError, threads};

/// How a training run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrainExit {
    /// All steps are done.
    Completed {
        /// Number of steps done, those before a resume included.
        step: u64,
    },
    /// A signal asked for the end, and the run stopped at a step boundary.
    Stopped {
        /// Number of steps done, those before a resume included.
        step: u64,
        /// Name of the signal.
        reason: &'static str,
    },
}

/// Trains the reference model until `--steps` are done or SIGTERM or SIGINT arrives, writing its lines to stdout.
///
/// When `--threads` is not what the process was started with, the process replaces itself once (same program, arguments,
/// process id and streams) so that the limit binds. Lines:
///
/// ```text
/// started parameters=1114496 batch=4 sequence=128 steps=1000000
/// starting step=0 reason=no_checkpoint
/// skipped path=DIR reason=weights.safetensors has 4096 of 4460544 bytes
/// resumed step=12 seconds=0.020
/// step=13 loss=5.43210 step_s=0.123456 tokens=512 tokens_per_s=4147.2
/// checkpoint step=13 seconds=0.045 bytes=13373568 path=DIR
/// stopping step=13 reason=SIGTERM
/// ```
///
/// `loss` is in nats per byte, before the step's update; `step_s` runs from making the batch to the end of the update and
/// excludes checkpoints. SIGUSR1 asks for a checkpoint at the next step boundary.
///
/// # Errors
/// [`EngineError`]; see its variants.
pub fn train(args: TrainArgs) -> Result<TrainExit, EngineError> {
    args.check()?;
    args.model.config(args.model_size)?;
    threads::bind(args.model.threads.unwrap_or_else(threads::default_threads))?;
    let signals = Signals::register()?;
    let mut output = std::io::stdout();
    threads::inside_pool(move || run(&args, &signals, &mut output))
}

/// What the signal handlers have noted.
#[derive(Debug, Default)]
struct Signals {
    /// Number of the signal that asks to stop; zero for none.
    stop: Arc<AtomicUsize>,
    checkpoint: Arc<AtomicBool>,
}

impl Signals {
    fn register() -> Result<Self, EngineError> {
        let signals = Self::default();
        let register = || -> std::io::Result<()> {
            for signal in [SIGTERM, SIGINT] {
                signal_hook::flag::register_usize(
                    signal,
                    Arc::clone(&signals.stop),
                    signal as usize,
                )?;
            }
            signal_hook::flag::register(SIGUSR1, Arc::clone(&signals.checkpoint))?;
            Ok(())
        };
        register().map_err(EngineError::io("install the signal handlers"))?;
        Ok(signals)
    }

    fn stop_reason(&self) -> Option<&'static str> {
        match self.stop.load(Ordering::Relaxed) {
            0 => None,
            number if number == SIGINT as usize => Some("SIGINT"),
            _ => Some("SIGTERM"),
        }
    }

    fn take_checkpoint_request(&self) -> bool {
        self.checkpoint.swap(false, Ordering::Relaxed)
    }
}

/// Writes one line and flushes it, so that a supervisor sees it when it happens.
fn line(output: &mut dyn Write, text: std::fmt::Arguments<'_>) -> Result<(), EngineError> {
    writeln!(output, "{text}")
        .and_then(|()| output.flush())
        .map_err(EngineError::io("write to standard output"))
}

fn run(
    args: &TrainArgs,
    signals: &Signals,
    output: &mut (dyn Write + Send),
) -> Result<TrainExit, EngineError> {
    let device = args.model.open_device()?;
    let mut run = Run::prepare(args, device, output)?;
    while run.step < args.steps {
        if let Some(reason) = signals.stop_reason() {
            line(output, format_args!("stopping step={} reason={reason}", run.step))?;
            run.checkpoint(output)?;
            return Ok(TrainExit::Stopped { step: run.step, reason });
        }
        run.train_step(output)?;
        let due = args.checkpoint_every > 0 && run.step.is_multiple_of(args.checkpoint_every);
        if signals.take_checkpoint_request() || due {
            run.checkpoint(output)?;
        }
    }
    if run.checkpoint_step != Some(run.step) {
        run.checkpoint(output)?;
    }
    Ok(TrainExit::Completed { step: run.step })
}

/// Steps over which the learning rate rises to its full value; a large model would diverge without.
const WARM_UP_STEPS: u64 = 20;

/// The learning rate of a step: a function of the step alone, so that a resumed run needs no more state.
fn warmed_up(learning_rate: f64, step: u64) -> f64 {
    learning_rate * (step as f64 / WARM_UP_STEPS as f64).min(1.0)
}

/// A run between two steps.
struct Run {
    settings: RunSettings,
    directory: Option<CheckpointDirectory>,
    device: Device,
    weights: DecoderWeights,
    optimiser: AdamW,
    /// Number of steps done.
    step: u64,
    loss: Option<f32>,
    /// Step of the newest checkpoint that this process wrote or read.
    checkpoint_step: Option<u64>,
}

impl Run {
    fn prepare(
        args: &TrainArgs,
        device: Device,
        output: &mut dyn Write,
    ) -> Result<Self, EngineError> {
        let started = Instant::now();
        let model = args.model.config(args.model_size)?;
        let settings = RunSettings {
            model,
            seed: args.model.seed,
            batch: args.batch,
            sequence: args.sequence,
            learning_rate: args.learning_rate,
        };
        let directory = args
            .checkpoint_dir
            .as_deref()
            .map(|path| CheckpointDirectory::open(path, args.keep as usize))
            .transpose()?;
        line(
            output,
            format_args!(
                "started parameters={} batch={} sequence={} steps={}",
                model.parameters(),
                args.batch,
                args.sequence,
                args.steps
            ),
        )?;
        let state = read_state(args, directory.as_ref(), &settings, &device, output)?;
        let optimiser = match &state {
            Some(state) => {
                AdamW::with_moments(&state.parameters, &state.first_moments, &state.second_moments)?
            }
            None => AdamW::new(&initial_tensors(&model, args.model.seed, &device)?)?,
        };
        let weights = DecoderWeights::from_tensors(&model, &optimiser.parameters())?;
        if let Some(state) = &state {
            let seconds = started.elapsed().as_secs_f64();
            line(output, format_args!("resumed step={} seconds={seconds:.3}", state.step))?;
        }
        Ok(Self {
            settings,
            directory,
            device,
            weights,
            optimiser,
            step: state.as_ref().map_or(0, |state| state.step),
            loss: state.as_ref().and_then(|state| state.loss),
            checkpoint_step: state.as_ref().map(|state| state.step),
        })
    }

    fn train_step(&mut self, output: &mut dyn Write) -> Result<(), EngineError> {
        let started = Instant::now();
        let step = self.step + 1;
        let (rows, sequence) = (self.settings.batch as usize, self.settings.sequence as usize);
        let text = data::batch(self.settings.seed, step, rows, sequence);
        let part = |start: usize| -> candle_core::Result<Tensor> {
            let ids: Vec<u32> = text
                .iter()
                .flat_map(|row| row[start..start + sequence].iter().map(|&byte| u32::from(byte)))
                .collect();
            Tensor::from_vec(ids, (rows, sequence), &self.device)
        };
        let loss = training_loss(&self.settings.model, &self.weights, &part(0)?, &part(1)?)?;
        let gradients = loss.backward()?;
        let learning_rate = warmed_up(self.settings.learning_rate, step);
        self.optimiser.update(&gradients, learning_rate, step)?;
        let loss = loss.to_scalar::<f32>()?;
        let seconds = started.elapsed().as_secs_f64();
        let tokens = rows * sequence;
        line(
            output,
            format_args!(
                "step={step} loss={loss:.5} step_s={seconds:.6} tokens={tokens} tokens_per_s={:.1}",
                tokens as f64 / seconds
            ),
        )?;
        if !loss.is_finite() {
            return Err(EngineError::LossNotFinite { step, loss });
        }
        self.step = step;
        self.loss = Some(loss);
        Ok(())
    }

    fn checkpoint(&mut self, output: &mut dyn Write) -> Result<(), EngineError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let started = Instant::now();
        let (first_moments, second_moments) = self.optimiser.moments();
        let state = State {
            step: self.step,
            loss: self.loss,
            parameters: self.optimiser.parameters(),
            first_moments,
            second_moments,
        };
        let written = directory.save(&state, &self.settings)?;
        self.checkpoint_step = Some(self.step);
        line(
            output,
            format_args!(
                "checkpoint step={} seconds={:.3} bytes={} path={}",
                self.step,
                started.elapsed().as_secs_f64(),
                written.bytes,
                written.path.display()
            ),
        )
    }
}

/// The state to go on from, if `--resume` asks for one and there is one.
fn read_state(
    args: &TrainArgs,
    directory: Option<&CheckpointDirectory>,
    settings: &RunSettings,
    device: &Device,
    output: &mut dyn Write,
) -> Result<Option<State>, EngineError> {
    let Some(directory) = directory else { return Ok(None) };
    if !args.resume {
        if directory.is_empty()? {
            return Ok(None);
        }
        // A later resume would otherwise take the older run's checkpoint for this one's.
        return Err(EngineError::Arguments(
            "the checkpoint directory already has checkpoints: pass --resume, or choose another --checkpoint-dir"
                .to_owned(),
        ));
    }
    let (state, skipped) = directory.load_newest(settings, device)?;
    for skipped in skipped {
        line(
            output,
            format_args!("skipped path={} reason={}", skipped.path.display(), skipped.reason),
        )?;
    }
    if state.is_none() {
        line(output, format_args!("starting step=0 reason=no_checkpoint"))?;
    }
    Ok(state)
}
