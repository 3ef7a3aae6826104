//! When sharing stops paying: one pool beside dedicated ones, along the rate and along the hours by which
//! jobs may move.

use super::axes::{AxisKind, Setting, Sweep};
use super::point::{SweepQuestion, changed};
use crate::plan::{PoolNeeds, pool_needs};

/// What pools need at one rate and one shift.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolsAt {
    /// What the demand is multiplied by.
    pub rate: f64,
    /// Hours by which deadlines are moved.
    pub shift_hours: f64,
    /// What pools need there, or why nothing can be said, as a sentence.
    pub needs: Result<PoolNeeds, String>,
}

/// What pools need at each rate and each shift of a sweep, both ascending; at the site's own where it has
/// no such axis. All other axes stand as the site declares them: the number of GPUs is what is asked for.
pub fn pools_at(question: &SweepQuestion<'_>) -> Vec<PoolsAt> {
    let mut found = Vec::new();
    for shift in values(question.sweep, AxisKind::Shift, 0.0) {
        for rate in values(question.sweep, AxisKind::Rate, 1.0) {
            let settings = [&Setting::Rate(rate), &Setting::Shift(shift)];
            let needs = changed(question, &settings)
                .and_then(|changed| pool_needs(&changed.question(&question.plan)));
            found.push(PoolsAt { rate, shift_hours: shift, needs });
        }
    }
    found
}

fn values(sweep: &Sweep, kind: AxisKind, otherwise: f64) -> Vec<f64> {
    let axis = sweep.axes.iter().find(|axis| axis.kind == kind);
    let mut values: Vec<f64> = axis
        .map(|axis| axis.values.iter().filter_map(Setting::number).collect())
        .unwrap_or_default();
    if values.is_empty() {
        values.push(otherwise);
    }
    values.sort_by(f64::total_cmp);
    values
}

/// The first rate, upwards, at which one pool no longer needs fewer GPUs than dedicated ones, after one at
/// which it does; `None` where it never stops. The rates are those of one shift, ascending.
pub fn stops_paying(pools: &[PoolsAt]) -> Option<f64> {
    let pays = |at: &PoolsAt| at.needs.as_ref().ok().and_then(PoolNeeds::sharing_pays);
    let paying = pools.iter().skip_while(|at| pays(at) != Some(true));
    paying.skip_while(|at| pays(at) != Some(false)).map(|at| at.rate).next()
}

/// The highest rate up to which a place's GPUs are enough, for pools of the kind that is picked; `None`
/// where they are not even at the lowest. The rates are those of one shift, ascending.
pub fn enough_up_to(
    pools: &[PoolsAt],
    gpus: u32,
    pick: impl Fn(&PoolNeeds) -> Option<u32>,
) -> Option<f64> {
    let is_enough =
        |at: &&PoolsAt| at.needs.as_ref().ok().and_then(&pick).is_some_and(|needed| needed <= gpus);
    pools.iter().take_while(is_enough).last().map(|at| at.rate)
}
