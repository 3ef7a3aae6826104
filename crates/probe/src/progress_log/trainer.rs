//! A trainer's lines as events: steps, checkpoints, the resume, and the moment at which it obeys a
//! signal.

use super::{Template, TemplateError};

/// The templates of a trainer's lines. Fields that are understood: `step`, `loss`, `tokens`,
/// `bytes`, and a duration as `step_s`, `step_ms`, `duration_s`, `seconds` or `ms`: its unit is in its name and is
/// never guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainerPatterns {
    /// A finished step.
    pub step: Template,
    /// A finished checkpoint.
    pub checkpoint: Option<Template>,
    /// Restored state.
    pub resumed: Option<Template>,
    /// The signal was acted upon.
    pub stopping: Option<Template>,
}

impl TrainerPatterns {
    /// The lines of the embedded trainer.
    ///
    /// # Errors
    /// None of these templates is refused; the result is the parser's.
    pub fn embedded() -> Result<Self, TemplateError> {
        Ok(Self {
            step: Template::parse("step={step} loss={loss} step_s={step_s} tokens={tokens}")?,
            checkpoint: Some(Template::parse(
                "checkpoint step={step} seconds={seconds} bytes={bytes}",
            )?),
            resumed: Some(Template::parse("resumed step={step} seconds={seconds}")?),
            stopping: Some(Template::parse("stopping step={step}")?),
        })
    }
}

/// Something that a trainer's line tells.
#[derive(Clone, Debug, PartialEq)]
pub enum TrainerEvent {
    /// A step is finished.
    Step {
        /// The counter that was printed.
        step: u64,
        /// Printed duration, seconds.
        duration_s: Option<f64>,
        /// Printed loss.
        loss: Option<f64>,
        /// Printed tokens or samples.
        tokens: Option<u64>,
    },
    /// A checkpoint is complete.
    Checkpoint {
        /// The step whose state it holds.
        step: Option<u64>,
        /// Printed duration, seconds.
        duration_s: Option<f64>,
        /// Printed size, bytes.
        bytes: Option<u64>,
    },
    /// State was restored.
    Resumed {
        /// The step whose state was restored.
        step: Option<u64>,
        /// Printed duration, seconds.
        duration_s: Option<f64>,
    },
    /// The trainer has begun to stop.
    Stopping,
}

/// Reads a trainer's lines.
#[derive(Clone, Debug)]
pub struct TrainerLog {
    patterns: TrainerPatterns,
}

impl TrainerLog {
    /// A reader with these templates.
    pub fn new(patterns: TrainerPatterns) -> Self {
        Self { patterns }
    }

    /// Its templates.
    pub fn patterns(&self) -> &TrainerPatterns {
        &self.patterns
    }

    /// What a line tells, if anything. More particular lines are tried first, since a checkpoint
    /// line often holds the text of a step line.
    pub fn read(&self, line: &str) -> Option<TrainerEvent> {
        fn fields<'t, 'l>(
            template: Option<&'t Template>,
            line: &'l str,
        ) -> Option<Vec<(&'t str, &'l str)>> {
            template?.fields(line)
        }
        if let Some(fields) = fields(self.patterns.checkpoint.as_ref(), line) {
            return Some(TrainerEvent::Checkpoint {
                step: count(&fields, "step"),
                duration_s: duration_s(&fields),
                bytes: count(&fields, "bytes"),
            });
        }
        if let Some(fields) = fields(self.patterns.resumed.as_ref(), line) {
            return Some(TrainerEvent::Resumed {
                step: count(&fields, "step"),
                duration_s: duration_s(&fields),
            });
        }
        if fields(self.patterns.stopping.as_ref(), line).is_some() {
            return Some(TrainerEvent::Stopping);
        }
        let fields = self.patterns.step.fields(line)?;
        Some(TrainerEvent::Step {
            step: count(&fields, "step")?,
            duration_s: duration_s(&fields),
            loss: number(&fields, "loss"),
            tokens: count(&fields, "tokens"),
        })
    }
}

fn text<'l>(fields: &[(&str, &'l str)], name: &str) -> Option<&'l str> {
    fields.iter().find(|(field, _)| *field == name).map(|(_, text)| text.trim())
}

fn number(fields: &[(&str, &str)], name: &str) -> Option<f64> {
    text(fields, name)?.replace(',', "").parse().ok().filter(|value: &f64| !value.is_nan())
}

fn count(fields: &[(&str, &str)], name: &str) -> Option<u64> {
    text(fields, name)?.replace(',', "").parse().ok()
}

fn duration_s(fields: &[(&str, &str)]) -> Option<f64> {
    let seconds =
        [("step_s", 1.0), ("duration_s", 1.0), ("seconds", 1.0), ("step_ms", 1e-3), ("ms", 1e-3)]
            .into_iter()
            .find_map(|(name, unit_s)| number(fields, name).map(|value| value * unit_s))?;
    (seconds >= 0.0 && seconds.is_finite()).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> TrainerLog {
        TrainerLog::new(TrainerPatterns::embedded().unwrap())
    }

    #[test]
    fn the_embedded_trainers_lines() {
        assert_eq!(
            log().read("step=12 loss=5.43210 step_s=0.123456 tokens=512 tokens_per_s=4147.2"),
            Some(TrainerEvent::Step {
                step: 12,
                duration_s: Some(0.123_456),
                loss: Some(5.4321),
                tokens: Some(512),
            })
        );
        assert_eq!(
            log().read("checkpoint step=12 seconds=0.045 bytes=1234567 path=/tmp/x"),
            Some(TrainerEvent::Checkpoint {
                step: Some(12),
                duration_s: Some(0.045),
                bytes: Some(1_234_567),
            })
        );
        assert_eq!(
            log().read("resumed step=12 seconds=0.020"),
            Some(TrainerEvent::Resumed { step: Some(12), duration_s: Some(0.02) })
        );
        assert_eq!(log().read("stopping step=13 reason=SIGTERM"), Some(TrainerEvent::Stopping));
        assert_eq!(log().read("warning: nothing"), None);
    }

    #[test]
    fn units_come_from_the_name_and_thousands_are_read() {
        let patterns = TrainerPatterns {
            step: Template::parse("iter {step}: loss {loss}, time {step_ms}ms, tok {tokens}")
                .unwrap(),
            checkpoint: None,
            resumed: None,
            stopping: None,
        };
        assert_eq!(
            TrainerLog::new(patterns).read("[rank0] iter 3: loss 2.5, time 1,250.5ms, tok 5,868"),
            Some(TrainerEvent::Step {
                step: 3,
                duration_s: Some(1.2505),
                loss: Some(2.5),
                tokens: Some(5868),
            })
        );
    }

    #[test]
    fn a_loss_that_is_not_a_number_is_not_seen() {
        let event = log().read("step=1 loss=nan step_s=0.1 tokens=5");
        assert!(matches!(event, Some(TrainerEvent::Step { loss: None, .. })), "{event:?}");
    }
}
