//! Points computed on all cores, and kept as they come.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use cotenant_core::sim::sweep::{PointOutcome, SweepQuestion, simulate_point};
use cotenant_probe::measure::Interrupt;

use super::keep::Keep;
use crate::exit::Failure;
use crate::printer::Printer;

/// How often Ctrl-C is looked for while points are computed.
const LOOK_EACH: Duration = Duration::from_millis(100);
/// How often a line is printed where there is no terminal.
const LINE_EACH: Duration = Duration::from_secs(10);

/// The wanted points in their order: those that were kept as they are, the others computed.
pub(super) fn points(
    question: &SweepQuestion<'_>,
    wanted: &[u64],
    mut kept: Keep,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<Vec<PointOutcome>, Failure> {
    let mut found: BTreeMap<u64, PointOutcome> = BTreeMap::new();
    for index in wanted {
        if let Some(point) = kept.take(*index) {
            found.insert(*index, point);
        }
    }
    let open: Vec<u64> = wanted.iter().copied().filter(|it| !found.contains_key(it)).collect();
    if !found.is_empty() {
        printer.note(&format!("{} of {} points were kept", found.len(), wanted.len()));
    }
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(open.len());
    let work = printer.work(open.len() as u64);
    let began = Instant::now();
    let gathered = thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, open, next, stopped) = (sender.clone(), &open, &next, &stopped);
            scope.spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    let Some(index) = open.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    // Whoever gathers is gone where the work was stopped.
                    if sender.send(simulate_point(question, *index)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let gathered = (|| {
            let mut told = began;
            let mut done = 0_u64;
            loop {
                if *interrupt.borrow() {
                    return Err(kept.interrupted(found.len(), wanted.len()));
                }
                let point = match receiver.recv_timeout(LOOK_EACH) {
                    Ok(point) => point,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                };
                kept.add(&point)?;
                found.insert(point.index, point);
                done += 1;
                if printer.is_drawn() || told.elapsed() >= LINE_EACH {
                    told = Instant::now();
                    let each = began.elapsed().div_f64(done as f64);
                    let left = each.mul_f64((open.len() as u64 - done) as f64);
                    work.step(done, "points", left);
                }
            }
        })();
        // What is being computed is finished and thrown away; nothing new begins.
        stopped.store(true, Ordering::Relaxed);
        gathered
    });
    work.done();
    gathered?;
    Ok(found.into_values().collect())
}
