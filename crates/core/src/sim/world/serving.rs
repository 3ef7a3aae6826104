//! What the world asks of a replica, whoever simulates it.

use crate::policy::admission::Ticket;
use crate::units::Picoseconds;

/// What runs beside a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Neighbour {
    /// Nothing.
    #[default]
    None,
    /// A job that starts, works, or saves beside its work.
    Working,
    /// A job that stands still and saves.
    Saving,
}

/// How full a replica is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Requests that run.
    pub running: u64,
    /// Requests that wait in it.
    pub waiting: u64,
    /// Requests that it runs at once, at the most.
    pub running_max: u64,
    /// The share of its memory for requests that is in use, 0 to 1.
    pub memory: f64,
}

/// A replica of an inference service. A new one is paused.
pub trait Serving {
    /// A request.
    type Request;

    /// Takes a request. It may be offered to one that is paused, and waits then.
    fn offer(&mut self, now: Picoseconds, request: Self::Request);

    /// When something next happens in it.
    fn next(&self) -> Option<Picoseconds>;

    /// Goes on to a time: all that ends until then.
    fn advance(&mut self, until: Picoseconds);

    /// When it begins something that everything else at that moment comes before, such as a pass
    /// that takes on what arrives now.
    fn begins(&self) -> Option<Picoseconds> {
        None
    }

    /// Begins it.
    fn begin(&mut self, _now: Picoseconds) {}

    /// Appends the numbers of the requests that it is done with, in the order in which that was,
    /// each once.
    fn take_finished(&mut self, finished: &mut Vec<u64>);

    /// Whether something runs beside it from now on.
    fn set_neighbour(&mut self, now: Picoseconds, neighbour: Neighbour);

    /// Serves from now on.
    fn resume(&mut self, now: Picoseconds);

    /// Holds nothing and serves nothing from now on. It is empty then.
    fn pause(&mut self, now: Picoseconds);

    /// Gives back the requests that wait, and those that run too where `running` says so: these have
    /// to begin again elsewhere.
    fn withdraw(&mut self, now: Picoseconds, running: bool) -> Vec<Self::Request>;

    /// How full it is.
    fn load(&self) -> Load;
}

/// A request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<R> {
    /// When.
    pub at: Picoseconds,
    /// At which service, by number.
    pub service: u32,
    /// What the admission queue is to know of it.
    pub ticket: Ticket,
    /// The request.
    pub request: R,
}

/// A replica without requests, for services whose demand is stated in replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nobody;

impl Serving for Nobody {
    type Request = std::convert::Infallible;
    fn offer(&mut self, _: Picoseconds, request: Self::Request) {
        match request {}
    }
    fn next(&self) -> Option<Picoseconds> {
        None
    }
    fn advance(&mut self, _: Picoseconds) {}
    fn take_finished(&mut self, _: &mut Vec<u64>) {}
    fn set_neighbour(&mut self, _: Picoseconds, _: Neighbour) {}
    fn resume(&mut self, _: Picoseconds) {}
    fn pause(&mut self, _: Picoseconds) {}
    fn withdraw(&mut self, _: Picoseconds, _: bool) -> Vec<Self::Request> {
        Vec::new()
    }
    fn load(&self) -> Load {
        Load::default()
    }
}
