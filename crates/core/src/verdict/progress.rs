//! How fast training gets on beside inference: the mean time of a step, and what is finished in a
//! second.

use crate::evidence::Condition;
use crate::stats::Side;
use crate::units::RatePerSecond;

use super::completion::{Judged, Look, begun, rates, target, withhold};
use super::findings::Seconds;
use super::inference::count;
use super::means::Weighted;
use super::phases::Phases;
use super::{Finding, Ruling, Unit, means, series};

impl<'a> Look<'a> {
    /// Mean time of a step.
    pub(super) fn step_time(self, most: f64) -> Judged<'a> {
        let word = self.case.step_word();
        let objective = format!("{word}_time_max");
        let mut finding = begun(self.case, self.strategy, self.together, &objective);
        finding.target = Some(target(&objective, most, Unit::Seconds));
        let means: Vec<Option<f64>> = self
            .together
            .iter()
            .map(|member| series::mean(&series::step_durations(member.block)))
            .collect();
        let without = means.iter().filter(|mean| mean.is_none()).count();
        // A block without a finished step says that a step takes at least as long as the block.
        let values: Vec<f64> = means
            .iter()
            .zip(self.together)
            .map(|(mean, member)| mean.unwrap_or_else(|| member.block.judged_s()))
            .collect();
        let phases = Phases::new(self.case, Condition::C, self.together);
        let ways = phases.means(&values);
        let show = |value: f64| Seconds(value).to_string();
        let aim = means::Aim { limit: most, side: Side::AtMost, tests: "b,c" };
        means::decide(self.case, &mut finding, &ways, phases.obstacle.as_ref(), aim, show);
        if without > 0 {
            let why =
                format!("in {without} of {} no {word} was finished; ", count(means.len(), "block"));
            let missing = self.case.measure(
                "b,c",
                format!("longer blocks, so that each holds some {word}s"),
                Some(2.0 * means.len() as f64 * self.case.pair_minutes()),
            );
            withhold(&mut finding, &why, missing);
        }
        self.failing(finding, ways, most, Side::AtMost)
    }

    /// Finished work over time.
    pub(super) fn throughput(self, least: &RatePerSecond) -> Judged<'a> {
        let mut finding = begun(self.case, self.strategy, self.together, "throughput_min");
        let tokens = least.is_tokens();
        let unit = if tokens { Unit::TokensPerSecond } else { Unit::Count };
        finding.target = Some(target("throughput_min", least.per_second, unit));
        let each: Vec<f64> = self
            .together
            .iter()
            .filter_map(|member| series::tokens_per_step(member.block))
            .collect();
        let each = match series::mean(&each) {
            _ if least.unit.starts_with("step") => 1.0,
            Some(mean) if tokens => mean,
            _ => {
                finding.explanation =
                    format!("the trainer's log counts no `{}`, so it was not seen", least.unit);
                finding.missing.push(
                    self.case
                        .declare("a throughput that the log shows", "throughput_min: 4000 tok/s"),
                );
                return (finding, None);
            }
        };
        let values: Vec<f64> = rates(self.together).iter().map(|rate| rate * each).collect();
        let phases = Phases::new(self.case, Condition::C, self.together);
        let ways = phases.means(&values);
        let limit = least.per_second;
        let show = |value: f64| format!("{value:.2} {}/s", least.unit);
        let aim = means::Aim { limit, side: Side::AtLeast, tests: "b,c" };
        means::decide(self.case, &mut finding, &ways, phases.obstacle.as_ref(), aim, show);
        self.failing(finding, ways, limit, Side::AtLeast)
    }

    /// What fails beside more load than is declared may hold beside the declared one.
    fn failing(
        self,
        mut finding: Finding,
        ways: Vec<Weighted>,
        limit: f64,
        side: Side,
    ) -> Judged<'a> {
        if !self.tie.above.is_empty() && finding.ruling == Ruling::NotProven {
            finding.explanation = format!(
                "inference was under more load than is declared ({}); {}",
                self.tie.above.join("; "),
                finding.explanation
            );
            finding.missing.push(self.case.at_declared_load());
            return (finding, None);
        }
        let beyond = move |level: f64| means::is_beyond(&ways, limit, side, level);
        (finding, Some(Box::new(beyond)))
    }
}
