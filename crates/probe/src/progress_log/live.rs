//! The log of a running trainer, by templates or as a known format, as the events that a test needs.

use super::formats::{CheckpointPhase, Format, LogEvent, LogReader};
use super::{Template, TrainerEvent, TrainerLog};

/// Reads a running trainer's lines.
#[derive(Clone, Debug)]
pub enum ProgressReader {
    /// By templates.
    Templates(TrainerLog),
    /// As a known format, with templates for what it does not print.
    Known {
        /// The format's reader.
        reader: Box<LogReader>,
        /// A finished checkpoint.
        checkpoint: Option<Template>,
        /// Restored state.
        resumed: Option<Template>,
    },
}

impl ProgressReader {
    /// What a line tells that arrived at `at_ns`, nanoseconds on a clock that goes on evenly. Each
    /// step comes once, whoever printed it; its time may be the difference of the arrivals.
    pub fn read(&mut self, line: &str, at_ns: u64) -> Vec<TrainerEvent> {
        let (reader, checkpoint, resumed) = match self {
            Self::Templates(log) => return log.read(line).into_iter().collect(),
            Self::Known { reader, checkpoint, resumed } => (reader, checkpoint, resumed),
        };
        for (template, is_checkpoint) in [(&*checkpoint, true), (&*resumed, false)] {
            if let Some(event) = template.as_ref().and_then(|t| told(t, line, is_checkpoint)) {
                return vec![event];
            }
        }
        reader.read(line, Some(at_ns)).into_iter().filter_map(event).collect()
    }

    /// The form of its step lines, for a message.
    pub fn describe(&self) -> String {
        match self {
            Self::Templates(log) => format!("of the form `{}`", log.patterns().step),
            Self::Known { reader, .. } => match reader.format() {
                Some(format) => format!("of the format `{}`", format.name()),
                None => "of a format that is known (`log.format: auto`)".to_owned(),
            },
        }
    }

    /// Whether the end of a checkpoint can be seen in the log.
    pub fn says_checkpoints(&self) -> bool {
        match self {
            Self::Templates(log) => log.patterns().checkpoint.is_some(),
            Self::Known { reader, checkpoint, .. } => {
                checkpoint.is_some() || reader.format().is_some_and(Format::says_checkpoints)
            }
        }
    }
}

/// A line of a template beside a known format, read by the reader of templates.
fn told(template: &Template, line: &str, is_checkpoint: bool) -> Option<TrainerEvent> {
    template.fields(line)?;
    let patterns = super::TrainerPatterns {
        step: template.clone(),
        checkpoint: is_checkpoint.then(|| template.clone()),
        resumed: (!is_checkpoint).then(|| template.clone()),
        stopping: None,
    };
    TrainerLog::new(patterns).read(line)
}

fn event(event: LogEvent) -> Option<TrainerEvent> {
    match event {
        LogEvent::Step(step) => Some(TrainerEvent::Step {
            step: step.line.step,
            duration_s: step.step_s,
            loss: step.line.loss,
            tokens: step.line.tokens,
        }),
        LogEvent::Checkpoint(checkpoint) if checkpoint.phase == CheckpointPhase::Complete => {
            Some(TrainerEvent::Checkpoint {
                step: checkpoint.step,
                duration_s: checkpoint.duration_s,
                bytes: checkpoint.bytes,
            })
        }
        // A frame is the step of a renderer; its time holds the time that saving it took.
        LogEvent::Frame(frame) => Some(TrainerEvent::Step {
            step: frame.frame,
            duration_s: Some(frame.time_s),
            loss: None,
            tokens: None,
        }),
        LogEvent::Resumed { step, duration_s } => Some(TrainerEvent::Resumed { step, duration_s }),
        LogEvent::Stopping => Some(TrainerEvent::Stopping),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::TrainerPatterns;
    use super::*;

    #[test]
    fn a_known_format_and_a_template_together() {
        let mut reader = ProgressReader::Known {
            reader: Box::new(LogReader::auto()),
            checkpoint: Some(Template::parse("state of {step} is on disk in {seconds} s").unwrap()),
            resumed: None,
        };
        assert_eq!(reader.read("hello", 0), []);
        let first = reader.read("[rank0]: iter 3: loss 2.5, time 1,250.50ms, mfu 1.0%", 1);
        let step = |step, duration_s| TrainerEvent::Step {
            step,
            duration_s,
            loss: Some(2.5),
            tokens: None,
        };
        assert_eq!(first, [step(3, Some(1.2505))]);
        assert_eq!(
            reader.read("state of 3 is on disk in 1.5 s", 2),
            [TrainerEvent::Checkpoint { step: Some(3), duration_s: Some(1.5), bytes: None }]
        );
        assert!(reader.describe().contains("nanogpt"), "{}", reader.describe());
    }

    #[test]
    fn a_frame_is_a_step() {
        let mut reader = ProgressReader::Known {
            reader: Box::new(LogReader::new(Format::Cycles)),
            checkpoint: None,
            resumed: None,
        };
        let lines = [
            "Fra:12 Mem:19.40M (Peak 19.84M) | Time:00:00.42 | Mem:5.41M, Peak:5.41M | Scene, ViewLayer | Finished",
            "Saved: '/tmp/frames/partial-000012.png'",
            " Time: 00:00.43 (Saving: 00:00.01)",
        ];
        let events: Vec<TrainerEvent> =
            lines.iter().flat_map(|line| reader.read(line, 1)).collect();
        let step =
            TrainerEvent::Step { step: 12, duration_s: Some(0.43), loss: None, tokens: None };
        assert_eq!(events, [step]);
        assert!(!reader.says_checkpoints());
    }

    #[test]
    fn templates_stay_as_they_are() {
        let log = TrainerLog::new(TrainerPatterns::embedded().unwrap());
        let mut reader = ProgressReader::Templates(log.clone());
        for line in ["step=1 loss=2 step_s=0.1 tokens=5", "stopping step=3", "nothing"] {
            assert_eq!(reader.read(line, 7), log.read(line).into_iter().collect::<Vec<_>>());
        }
    }
}
