//! The queue in front of a server, in closed form. Rates are per unit of time, the same for all.

use super::checkpoint::{check_not_negative, check_positive};
use super::refusal::Refusal;

/// Erlang's loss probability B(c, a) of `servers` servers without a queue at an offered load of
/// a = λ/μ: B(0) = 1, B(c) = aB(c−1)/(c + aB(c−1)) (Erlang 1917; the recursion cannot overflow).
pub fn erlang_b(servers: u32, offered: f64) -> Result<f64, Refusal> {
    check_not_negative("offered load", offered)?;
    Ok((1..=servers)
        .fold(1.0, |blocked, server| offered * blocked / (f64::from(server) + offered * blocked)))
}

/// Erlang's probability C(c, a) that an arrival waits in M/M/c: B/(1 − ρ(1 − B)), ρ = a/c.
///
/// Refuses a load of the number of servers or more: the queue then grows without bound, and there
/// is no such probability.
pub fn erlang_c(servers: u32, offered: f64) -> Result<f64, Refusal> {
    let blocked = erlang_b(servers, offered)?;
    if offered >= f64::from(servers) {
        return Err(Refusal::OutOfRange {
            name: "offered load",
            value: offered,
            range: "below the number of servers",
        });
    }
    Ok(blocked / (1.0 - offered / f64::from(servers) * (1.0 - blocked)))
}

/// Probability that an arrival of M/M/c waits longer than `wait`: C·e^(−(cμ − λ)t).
pub fn wait_tail(servers: u32, arrivals: f64, service: f64, wait: f64) -> Result<f64, Refusal> {
    check_positive("service rate", service)?;
    check_not_negative("wait", wait)?;
    let waits = erlang_c(servers, arrivals / service)?;
    Ok(waits * (-(f64::from(servers) * service - arrivals) * wait).exp())
}

/// Mean wait of a queue with general arrivals and service, by Allen & Cunneen:
/// C/(cμ − λ) · (c_a² + c_s²)/2, with the squared coefficients of variation of the times between
/// arrivals and of service. Exact for M/M/c; an approximation elsewhere.
pub fn allen_cunneen_wait(
    servers: u32,
    arrivals: f64,
    service: f64,
    arrival_variation: f64,
    service_variation: f64,
) -> Result<f64, Refusal> {
    check_not_negative("variation of arrivals", arrival_variation)?;
    check_not_negative("variation of service", service_variation)?;
    let waits = wait_tail(servers, arrivals, service, 0.0)?;
    let spare = f64::from(servers) * service - arrivals;
    Ok(waits / spare * (arrival_variation + service_variation) / 2.0)
}

/// Steady state of M/M/c/K: c servers, at most K requests in service and waiting together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedQueue {
    /// Share of arrivals that are refused.
    pub blocked_share: f64,
    /// Mean number in the system.
    pub in_system: f64,
    /// Mean number waiting.
    pub waiting: f64,
    /// Mean time in the system of those admitted (Little's law on the admitted rate).
    pub time_in_system: f64,
    /// Mean wait of those admitted.
    pub wait: f64,
}

/// M/M/c/K by its birth–death chain. Defined at overload too: a bounded queue turns unbounded
/// latency into a stated share of refusals.
pub fn bounded_queue(
    servers: u32,
    capacity: u32,
    arrivals: f64,
    service: f64,
) -> Result<BoundedQueue, Refusal> {
    check_positive("arrival rate", arrivals)?;
    check_positive("service rate", service)?;
    if servers == 0 || capacity < servers {
        return Err(Refusal::OutOfRange {
            name: "capacity of the queue",
            value: f64::from(capacity),
            range: "at least the number of servers, which is at least 1",
        });
    }
    // Logarithms keep long queues from overflowing; the largest weight becomes 1.
    let mut logarithm = 0.0;
    let mut logarithms = vec![logarithm];
    for number in 1..=capacity {
        logarithm += (arrivals / (service * f64::from(number.min(servers)))).ln();
        logarithms.push(logarithm);
    }
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logarithms.iter().map(|value| (value - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mean = |value: &dyn Fn(f64) -> f64| {
        weights.iter().enumerate().map(|(n, weight)| weight * value(n as f64)).sum::<f64>() / total
    };
    let blocked_share = weights[capacity as usize] / total;
    let in_system = mean(&|number| number);
    let waiting = mean(&|number| (number - f64::from(servers)).max(0.0));
    let admitted = arrivals * (1.0 - blocked_share);
    Ok(BoundedQueue {
        blocked_share,
        in_system,
        waiting,
        time_in_system: in_system / admitted,
        wait: waiting / admitted,
    })
}
