//! The points that nothing beats in everything: the Pareto front.

use std::collections::BTreeMap;

use super::axes::{Setting, Sweep};
use super::point::PointOutcome;

/// What is wanted of a point, all of it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The least share of deadlines that held: more is better.
    OnTime,
    /// GPU-hours of work that was kept: more is better.
    Kept,
    /// The share of time in which inference was short: less is better.
    Short,
    /// GPUs: fewer are better.
    Gpus,
}

impl Aim {
    /// What the points of a sweep are compared by: deadlines where any point has one, else work.
    pub fn of(points: &[PointOutcome]) -> Vec<Self> {
        let figures = points.iter().filter_map(|point| point.figures.as_ref().ok());
        let has_deadlines = figures.clone().any(|it| it.on_time_share_least().is_some());
        let first = if has_deadlines { Self::OnTime } else { Self::Kept };
        vec![first, Self::Short, Self::Gpus]
    }

    /// In words, with the better direction.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnTime => "deadlines held (more)",
            Self::Kept => "GPU-hours of work kept (more)",
            Self::Short => "time short of replicas (less)",
            Self::Gpus => "GPUs (fewer)",
        }
    }

    /// A figure of which less is better; `None` where the point has none.
    fn cost(self, point: &PointOutcome) -> Option<f64> {
        let figures = point.figures.as_ref().ok()?;
        match self {
            // A point without a deadline keeps all that it has.
            Self::OnTime => Some(-figures.on_time_share_least().unwrap_or(1.0)),
            Self::Kept => Some(-figures.gpu_hours_kept),
            Self::Short => Some(figures.short_share()),
            Self::Gpus => Some(f64::from(figures.gpus)),
        }
    }
}

/// The places of the points of the front, ascending: those to which no other point is as good in every aim
/// and better in one. Points without figures are never among them; points alike are all on it or none.
pub fn front(points: &[PointOutcome], aims: &[Aim]) -> Vec<usize> {
    let costs: Vec<Option<Vec<f64>>> =
        points.iter().map(|point| aims.iter().map(|aim| aim.cost(point)).collect()).collect();
    // Whoever beats a point comes before it in this order, so each is compared with the front so far.
    let mut order: Vec<usize> = (0..points.len()).filter(|place| costs[*place].is_some()).collect();
    let cost = |place: usize| costs[place].as_deref().unwrap_or_default();
    order.sort_by(|a, b| {
        let pairs = cost(*a).iter().zip(cost(*b));
        pairs.map(|(a, b)| a.total_cmp(b)).find(|it| it.is_ne()).unwrap_or(a.cmp(b))
    });
    let mut front: Vec<usize> = Vec::new();
    for place in order {
        if !front.iter().any(|other| beats(cost(*other), cost(place))) {
            front.push(place);
        }
    }
    front.sort_unstable();
    front
}

/// The fronts of a sweep, as one list of places: demand is nobody's choice, so that a point is compared with
/// those of the same rate alone. The points are all of the sweep's, in the order of their index.
pub fn fronts(sweep: &Sweep, points: &[PointOutcome], aims: &[Aim]) -> Vec<usize> {
    let rate = |place: &usize| {
        let settings = points.get(*place).map(|point| sweep.settings(point.index));
        let rates = settings.iter().flatten().find_map(|it| match it {
            Setting::Rate(rate) => Some(rate.to_bits()),
            _ => None,
        });
        rates.unwrap_or(0)
    };
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for place in 0..points.len() {
        groups.entry(rate(&place)).or_default().push(place);
    }
    let mut all: Vec<usize> = Vec::new();
    for places in groups.values() {
        let group: Vec<PointOutcome> = places.iter().map(|place| points[*place].clone()).collect();
        all.extend(front(&group, aims).into_iter().filter_map(|place| places.get(place)));
    }
    all.sort_unstable();
    all
}

/// As good everywhere, and better somewhere.
fn beats(one: &[f64], other: &[f64]) -> bool {
    one.iter().zip(other).all(|(one, other)| one <= other)
        && one.iter().zip(other).any(|(one, other)| one < other)
}
