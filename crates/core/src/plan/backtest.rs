//! The history, replayed under the plan, an oracle and three rules that people use instead.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::grid::{MINUTES_PER_WEEK, minute_of_week};
use super::model::{Backtest, BacktestRow};

/// What inference asked for, step by step, and what the plan would have done.
pub struct BacktestQuestion<'a> {
    /// The start of the first step.
    pub start: Timestamp,
    /// The length of a step, seconds.
    pub step_s: u64,
    /// GPUs that inference needed in each step; `None` is a gap, which is not judged.
    pub needs: &'a [Option<u32>],
    /// GPUs of the place.
    pub gpus: u32,
    /// The site's time zone.
    pub time_zone: &'a TimeZone,
    /// What the plan holds by time of week.
    pub holds: &'a [Held],
    /// Time to get a lent GPU back, seconds.
    pub reclaim_s: f64,
    /// GPUs that are never lent, whatever the hour.
    pub minimum_reserved: u32,
    /// Time that a GPU loses when work starts on it and when it stops, hours.
    pub transition_hours: f64,
}

/// What the plan holds for inference in one window of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Reserved for the demand as it stands.
    pub reserved: u32,
    /// Kept free for bursts that a reclaim would be too slow for.
    pub hot: u32,
    /// Lent, and reclaimed when the peak comes.
    pub lent: u32,
}

/// The share of all GPUs in use below which the threshold rule lends. It is the rule that people
/// use, and is here to be compared with; nothing of the plan rests on it.
const THRESHOLD: f64 = 0.5;
/// How far back the threshold rule looks, seconds.
const THRESHOLD_LOOKS_BACK_S: u64 = 15 * 60;
/// Local hours between which the night shift lends.
const NIGHT: (u32, u32) = (22, 6);

/// A way of operating: how many GPUs work may hold at a step.
trait Rule {
    fn name(&self) -> &'static str;
    fn what(&self) -> String;
    fn lends(&mut self, at: usize, need: u32, minute_of_week: u32) -> u32;
}

/// Replays the history; the plan comes first. `None` where no step was seen.
pub fn backtest(question: &BacktestQuestion<'_>) -> Option<Backtest> {
    question.needs.iter().flatten().next()?;
    let peak = question.holds.iter().map(|held| held.reserved + held.hot + held.lent).max();
    let mut rules: Vec<Box<dyn Rule + '_>> = vec![
        Box::new(ThePlan { question }),
        Box::new(Oracle::new(question)),
        Box::new(StaticSplit { lends: question.gpus.saturating_sub(peak.unwrap_or(0)) }),
        Box::new(NightShift { question }),
        Box::new(UtilisationThreshold::new(question)),
    ];
    let rows = rules.iter_mut().map(|rule| replay(question, rule.as_mut())).collect();
    Some(Backtest { from: question.start, until: time_of(question, question.needs.len()), rows })
}

fn time_of(question: &BacktestQuestion<'_>, index: usize) -> Timestamp {
    let seconds = question.step_s.saturating_mul(index as u64);
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    question.start.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

/// Steps that a reclaim takes; at least one where it takes any time at all.
fn reclaim_steps(question: &BacktestQuestion<'_>) -> usize {
    (question.reclaim_s / question.step_s as f64 - 1e-9).ceil().max(0.0) as usize
}

fn replay(question: &BacktestQuestion<'_>, rule: &mut dyn Rule) -> BacktestRow {
    let reclaim = reclaim_steps(question);
    let hours = question.step_s as f64 / 3600.0;
    // GPUs on the way back to inference, by the step at which they are there.
    let mut returning: std::collections::VecDeque<(usize, u32)> = std::collections::VecDeque::new();
    let (mut held, mut on_the_way) = (0_u32, 0_u32);
    let (mut violated, mut seen, mut evictions) = (0_u64, 0_u64, 0_u64);
    let (mut harvested, mut moves) = (0.0, 0.0);
    for (at, need) in question.needs.iter().enumerate() {
        while returning.front().is_some_and(|(ready, _)| *ready <= at) {
            on_the_way -= returning.pop_front().map_or(0, |(_, gpus)| gpus);
        }
        let Some(need) = *need else {
            // What happens in a gap is not known: after it everybody starts anew.
            returning.clear();
            (held, on_the_way) = (0, 0);
            continue;
        };
        seen += 1;
        let minute = minute_of_week(time_of(question, at), question.time_zone);
        let may_hold = rule.lends(at, need, minute).min(question.gpus);
        if may_hold < held {
            let gpus = held - may_hold;
            evictions += 1;
            moves += f64::from(gpus);
            held = may_hold;
            if reclaim > 0 {
                returning.push_back((at + reclaim, gpus));
                on_the_way += gpus;
            }
        } else {
            // What is on its way back is not lent again before it is there.
            held = held.max(may_hold.saturating_sub(on_the_way));
        }
        if need > question.gpus - held - on_the_way {
            violated += 1;
        }
        harvested += f64::from(held) * hours;
    }
    let lost = moves * question.transition_hours;
    BacktestRow {
        name: rule.name().to_owned(),
        what: rule.what(),
        violation_minutes: violated as f64 * question.step_s as f64 / 60.0,
        violation_share: violated as f64 / seen.max(1) as f64,
        evictions,
        gpu_hours_harvested: (harvested - lost).max(0.0),
        gpu_hours_lost: lost,
    }
}

struct ThePlan<'a> {
    question: &'a BacktestQuestion<'a>,
}

impl ThePlan<'_> {
    fn held(&self, minute_of_week: u32) -> Held {
        let count = self.question.holds.len();
        let at = minute_of_week as usize * count / MINUTES_PER_WEEK as usize;
        self.question.holds.get(at).copied().unwrap_or_default()
    }
}

impl Rule for ThePlan<'_> {
    fn name(&self) -> &'static str {
        "this plan"
    }

    fn what(&self) -> String {
        "holds reservation and hot reserve by time of week; takes lent GPUs back when demand eats \
         into the hot reserve"
            .into()
    }

    fn lends(&mut self, _at: usize, need: u32, minute_of_week: u32) -> u32 {
        let held = self.held(minute_of_week);
        let planned = self.question.gpus.saturating_sub(held.reserved + held.hot);
        let free = self.question.gpus.saturating_sub(need.saturating_add(held.hot));
        planned.min(free)
    }
}

/// Knows the future: it lends whatever nobody will ask for before it could be back, and for as long
/// as is worth the change of hands.
///
/// A GPU that any rule holds at a step and gives back later is away until a reclaim after that step,
/// so a rule without a violation holds no more than the largest need from there to the end of a
/// reclaim leaves. The times at which at least k GPUs are left are the k-th GPU's; each unbroken one
/// of them is worth its length less the change of hands that ends it, whatever the others do.
struct Oracle {
    lends: Vec<u32>,
}

impl Oracle {
    fn new(question: &BacktestQuestion<'_>) -> Self {
        let reclaim = reclaim_steps(question);
        let needs = question.needs;
        // The largest need of the steps from each one to the end of a reclaim, by a queue of
        // candidates that falls from front to back.
        let mut lends = vec![0; needs.len()];
        let mut candidates: std::collections::VecDeque<usize> = std::collections::VecDeque::new();
        let need_at = |index: usize| needs[index].unwrap_or(0);
        for at in (0..needs.len()).rev() {
            if needs[at].is_none() {
                candidates.clear();
                continue;
            }
            while candidates.back().is_some_and(|other| need_at(*other) <= need_at(at)) {
                candidates.pop_back();
            }
            candidates.push_back(at);
            while candidates.front().is_some_and(|other| *other > at + reclaim) {
                candidates.pop_front();
            }
            let most = candidates.front().map_or(0, |index| need_at(*index));
            lends[at] = question.gpus.saturating_sub(most);
        }
        let seen: Vec<bool> = needs.iter().map(Option::is_some).collect();
        Self { lends: worth_it(question, &lends, &seen) }
    }
}

/// Leaves the times of each GPU out that are too short for the change of hands that ends them. What
/// a gap or the end of the history ends costs nothing, as in the replay.
fn worth_it(question: &BacktestQuestion<'_>, lends: &[u32], seen: &[bool]) -> Vec<u32> {
    let steps_min = question.transition_hours * 3600.0 / question.step_s as f64;
    let mut kept = vec![0; lends.len()];
    // For each GPU that is lent, the step since which it is; their number is what is lent now.
    let mut since: Vec<usize> = Vec::new();
    for at in 0..=lends.len() {
        let is_seen = seen.get(at).copied().unwrap_or(false);
        let now = if is_seen { lends[at] as usize } else { 0 };
        while since.len() > now {
            let from = since.pop().unwrap_or(at);
            if !is_seen || (at - from) as f64 > steps_min {
                kept[from..at].iter_mut().for_each(|lent| *lent += 1);
            }
        }
        since.resize(now, at);
    }
    kept
}

impl Rule for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn what(&self) -> String {
        "knows the future: no rule can harvest more without a violation".into()
    }

    fn lends(&mut self, at: usize, _need: u32, _minute_of_week: u32) -> u32 {
        self.lends.get(at).copied().unwrap_or(0)
    }
}

struct StaticSplit {
    lends: u32,
}

impl Rule for StaticSplit {
    fn name(&self) -> &'static str {
        "static split"
    }

    fn what(&self) -> String {
        format!("gives {} GPUs to work for good: what the highest planned peak leaves", self.lends)
    }

    fn lends(&mut self, _at: usize, _need: u32, _minute_of_week: u32) -> u32 {
        self.lends
    }
}

struct NightShift<'a> {
    question: &'a BacktestQuestion<'a>,
}

impl Rule for NightShift<'_> {
    fn name(&self) -> &'static str {
        "night shift"
    }

    fn what(&self) -> String {
        format!(
            "work holds all but {} GPUs from {}:00 to {}:00, and none by day",
            self.question.minimum_reserved, NIGHT.0, NIGHT.1
        )
    }

    fn lends(&mut self, _at: usize, _need: u32, minute_of_week: u32) -> u32 {
        let hour = minute_of_week / 60 % 24;
        if hour >= NIGHT.0 || hour < NIGHT.1 {
            self.question.gpus.saturating_sub(self.question.minimum_reserved)
        } else {
            0
        }
    }
}

struct UtilisationThreshold<'a> {
    question: &'a BacktestQuestion<'a>,
    recent: std::collections::VecDeque<u32>,
    sum: u64,
}

impl<'a> UtilisationThreshold<'a> {
    fn new(question: &'a BacktestQuestion<'a>) -> Self {
        Self { question, recent: std::collections::VecDeque::new(), sum: 0 }
    }
}

impl Rule for UtilisationThreshold<'_> {
    fn name(&self) -> &'static str {
        "utilisation threshold"
    }

    fn what(&self) -> String {
        format!(
            "lends every unused GPU while less than {:.0} % of all were in use over {} minutes",
            THRESHOLD * 100.0,
            THRESHOLD_LOOKS_BACK_S / 60
        )
    }

    fn lends(&mut self, _at: usize, need: u32, _minute_of_week: u32) -> u32 {
        self.recent.push_back(need);
        self.sum += u64::from(need);
        let window = (THRESHOLD_LOOKS_BACK_S / self.question.step_s).max(1) as usize;
        if self.recent.len() > window {
            self.sum -= u64::from(self.recent.pop_front().unwrap_or(0));
        }
        let mean = self.sum as f64 / self.recent.len() as f64;
        if mean < THRESHOLD * f64::from(self.question.gpus) {
            self.question.gpus.saturating_sub(need)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static UTC: TimeZone = TimeZone::UTC;

    fn question<'a>(needs: &'a [Option<u32>], holds: &'a [Held]) -> BacktestQuestion<'a> {
        BacktestQuestion {
            start: "2026-11-30T00:00:00Z".parse().unwrap(),
            step_s: 60,
            needs,
            gpus: 8,
            time_zone: &UTC,
            holds,
            reclaim_s: 120.0,
            minimum_reserved: 1,
            transition_hours: 0.05,
        }
    }

    #[test]
    fn an_oracle_never_violates_and_a_quiet_day_is_lent_whole() {
        let needs: Vec<_> = (0..600).map(|step| Some(1 + step % 7)).collect();
        let holds = [Held { reserved: 8, hot: 0, lent: 0 }];
        let result = backtest(&question(&needs, &holds)).unwrap();
        assert_eq!(result.rows[0].name, "this plan");
        assert!(result.rows[0].violation_share.abs() < 1e-12, "all is held, nothing can be short");
        assert!(result.rows[1].violation_share.abs() < 1e-12, "{:?}", result.rows[1]);
        let quiet = vec![Some(0); 60];
        let free = [Held::default()];
        let result = backtest(&question(&quiet, &free)).unwrap();
        assert!((result.rows[0].gpu_hours_harvested - 8.0).abs() < 1e-9);
        assert!((result.rows[1].gpu_hours_harvested - 8.0).abs() < 1e-9);
    }

    #[test]
    fn a_burst_shorter_than_a_reclaim_violates_without_a_hot_reserve() {
        let mut needs = vec![Some(2); 60];
        needs[30] = Some(4);
        let without = [Held { reserved: 2, hot: 0, lent: 2 }];
        let result = backtest(&question(&needs, &without)).unwrap();
        assert!((result.rows[0].violation_minutes - 1.0).abs() < 1e-9, "{:?}", result.rows[0]);
        assert_eq!(result.rows[0].evictions, 1);
        let with = [Held { reserved: 2, hot: 2, lent: 0 }];
        let result = backtest(&question(&needs, &with)).unwrap();
        assert!(result.rows[0].violation_minutes.abs() < 1e-12);
    }

    #[test]
    fn gaps_are_not_judged() {
        let mut needs = vec![None; 60];
        assert!(backtest(&question(&needs, &[Held::default()])).is_none());
        needs[0] = Some(9);
        let result = backtest(&question(&needs, &[Held::default()])).unwrap();
        assert!((result.rows[0].violation_share - 1.0).abs() < 1e-12, "9 of 8 GPUs are short");
    }
}
