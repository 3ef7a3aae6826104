//! When lent GPUs are asked back, and when they are lent again: two thresholds, a time for which each
//! must hold, and a time between two changes, so that it cannot flap.

use crate::units::Picoseconds;

/// When to change. Pressure is what inference asks for as a share of what it has: of its queue, its
/// running requests, its memory; whoever measures it says which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// GPUs are asked back at this pressure and above.
    pub high: f64,
    /// They are lent again at this pressure and below. Above [`Self::high`] it counts as that.
    pub low: f64,
    /// How long the pressure must stay high.
    pub high_for: Picoseconds,
    /// How long it must stay low.
    pub low_for: Picoseconds,
    /// The shortest time between a change and one in the other direction.
    pub turn_min: Picoseconds,
    /// The shortest time between two changes in the same direction: what was asked back must have
    /// had its time to help.
    pub settle: Picoseconds,
    /// GPUs that one change moves; zero counts as one.
    pub gpus_per_change: u32,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The pressure as it stands. What is no number changes nothing.
    Pressure(f64),
    /// So many GPUs are lent out now and could be asked back.
    Lent(u32),
    /// So many of those that were asked back are held as such: whoever stopped a job for one GPU has
    /// all of the job's, and a window that ends sets everything back.
    Taken(u32),
    /// The time has come that was asked for.
    Clock,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask so many GPUs back.
    TakeBack(u32),
    /// Lend so many again.
    LendAgain(u32),
    /// Send [`Event::Clock`] at this time.
    WakeAt(Picoseconds),
}

/// Where the pressure has been, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zone {
    High(Picoseconds),
    Low(Picoseconds),
    Between,
}

/// The state.
#[derive(Clone, Debug)]
pub struct Reclaim {
    rule: Rule,
    zone: Zone,
    lent: u32,
    taken: u32,
    last: Option<(Picoseconds, bool)>,
}

impl Reclaim {
    /// Nothing was asked back yet, and nothing is known of the pressure.
    pub fn new(rule: Rule) -> Self {
        Self { rule, zone: Zone::Between, lent: 0, taken: 0, last: None }
    }

    /// GPUs that were asked back and not lent again.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// Takes an event and appends what is to be done.
    pub fn step(&mut self, now: Picoseconds, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Pressure(pressure) => self.see(now, pressure),
            Event::Lent(gpus) => self.lent = gpus,
            Event::Taken(gpus) => self.taken = gpus,
            Event::Clock => {}
        }
        let (gpus, is_back, due) = match self.zone {
            Zone::High(since) if self.lent > 0 => (self.lent, true, since + self.rule.high_for),
            Zone::Low(since) if self.taken > 0 => (self.taken, false, since + self.rule.low_for),
            _ => return,
        };
        let due = due.max(self.allowed_from(is_back));
        if due > now {
            return actions.push(Action::WakeAt(due));
        }
        let gpus = gpus.min(self.rule.gpus_per_change.max(1));
        self.last = Some((now, is_back));
        if is_back {
            // What was asked back is no longer lent, though it may be long in coming.
            self.lent -= gpus;
            self.taken += gpus;
            actions.push(Action::TakeBack(gpus));
        } else {
            self.taken -= gpus;
            actions.push(Action::LendAgain(gpus));
        }
        let more = if is_back { self.lent } else { self.taken };
        if more > 0 {
            actions.push(Action::WakeAt(self.allowed_from(is_back).max(now + Picoseconds(1))));
        }
    }

    fn see(&mut self, now: Picoseconds, pressure: f64) {
        if pressure.is_nan() {
            return;
        }
        self.zone = match self.zone {
            Zone::High(since) if pressure >= self.rule.high => Zone::High(since),
            _ if pressure >= self.rule.high => Zone::High(now),
            Zone::Low(since) if pressure <= self.rule.low => Zone::Low(since),
            _ if pressure <= self.rule.low => Zone::Low(now),
            _ => Zone::Between,
        };
    }

    /// The first moment at which a change in a direction may follow the last one.
    fn allowed_from(&self, is_back: bool) -> Picoseconds {
        match self.last {
            None => Picoseconds::ZERO,
            Some((at, was_back)) if was_back == is_back => at + self.rule.settle,
            Some((at, _)) => at + self.rule.turn_min,
        }
    }
}
