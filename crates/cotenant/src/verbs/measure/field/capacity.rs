//! `--tests capacity`: the highest rate at which inference alone meets its objectives.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::capacity::{Look, SearchRule, Step, look, next_step};
use cotenant_core::evidence::{Block, Condition, Phase, PlannedBlock, Situation};
use cotenant_core::protocol::{BlockShape, FieldTest, Fit, Tests};
use cotenant_core::site::{Demand, Inference, LatencyMetric, Workload};
use cotenant_probe::load::Schedule;
use cotenant_probe::measure::{DeclaredLoad, Loads};
use cotenant_records::evidence::{ReadWhat, RunWriter, Store, StoredRun};

use super::super::{AROUND, new_seed};
use super::Place;
use crate::exit::Failure;
use crate::printer::minutes;
use crate::verbs::judged::evidence_failure;
use crate::verbs::session::{Course, Session, Subject, begin, shape_of};

/// Requests in a look at the declared rate that are aimed at.
const REQUESTS_WANTED: f64 = 120.0;
/// A look lasts this many times the longest wait that an objective allows: what an overload adds up
/// to must be able to show.
const WAITS_IN_A_LOOK: f64 = 10.0;
/// Bounds of a look that is chosen here.
const JUDGED_RANGE: (Duration, Duration) = (Duration::from_secs(3), Duration::from_mins(2));
/// Looks where no time is given.
const LOOKS_WANTED: u32 = 30;
/// Fewest looks that are planned: fewer rarely bound anything.
const LOOKS_MIN: u32 = 12;
/// Range of rates that is searched, as multiples of the declared one.
const FACTORS: (f64, f64) = (1.0 / 64.0, 64.0);
/// The interval at which a search ends: high ÷ low − 1.
const RESOLUTION: f64 = 0.10;

const ALONE: Tests = Tests { a: true, b: false, c: false };

/// Runs a search from its start.
pub(super) async fn run(place: Place<'_>) -> Result<(), Failure> {
    let options = place.options;
    let site = &place.file.site;
    let subject = Subject::find(site, options.inference.as_deref(), None, ALONE)?;
    let (workload, inference) = subject.inference;
    check(workload, inference)?;
    super::super::guard::may_overload(inference, &workload.name, options)?;
    let seed = options.seed.unwrap_or_else(new_seed);
    let mut session =
        Session::open(place.file, subject, seed, place.interrupt.clone(), place.printer)?;
    let result = async {
        session.engine_up().await?;
        place.printer.note("pilot: inference alone at the declared rate");
        let pilot = Duration::from_secs_f64(options.pilot_seconds);
        let piloted = session.pilot(pilot, pilot / 2, None).await?;
        let shape = shape(place, &session, piloted.warm_up)?;
        let load = session.load(shape)?;
        let first = load.rate_per_s().filter(|rate| *rate > 0.0).ok_or_else(|| {
            Failure::input(format!("`{}` declares no rate to begin with", workload.name))
        })?;
        let most = load.factor_max().unwrap_or(f64::INFINITY).min(FACTORS.1);
        let rule = SearchRule {
            first_per_s: first * most.min(1.0),
            least_per_s: first * FACTORS.0,
            most_per_s: first * most,
            looks_max: looks(place, shape)?,
            resolution: RESOLUTION,
        };
        let fit = Fit { pairs: rule.looks_max, training_blocks: 0, shape };
        let mut plan = session.plan(ALONE, &fit, &piloted, None, 0.0)?;
        plan.load.rate_per_s = first;
        plan.schedule = (0..rule.looks_max).map(planned).collect();
        plan.options = written(&rule);
        plan.options.extend(super::super::guard::unguarded(options));
        let writer = begin(place.evidence, &plan, &piloted.audits)?;
        place.printer.note(&format!(
            "run {}: at most {} looks of {}, about {} in all, from {first:.2} req/s on",
            writer.id(),
            rule.looks_max,
            minutes(shape.judged),
            minutes((shape.load() + AROUND) * rule.looks_max)
        ));
        go(&mut session, writer, rule, &load, Vec::new(), Vec::new()).await
    }
    .await;
    session.close().await;
    result
}

/// Goes on with a search that was interrupted.
pub(super) async fn resume(place: Place<'_>, run: &StoredRun) -> Result<(), Failure> {
    let id = run.run.id.clone();
    let rule = read(&run.options).ok_or_else(|| {
        Failure::world(format!("run {id} does not say by which rule it was searched"))
    })?;
    let subject = Subject::find(&place.file.site, Some(&run.run.inference), None, ALONE)?;
    let (workload, inference) = subject.inference;
    let store = Store::open(place.evidence).map_err(|error| evidence_failure(&error))?;
    // The gaps between tokens are an objective's, so they are read with the blocks.
    let stored =
        store.read_run(&id, ReadWhat { gaps: true }).map_err(|error| evidence_failure(&error))?;
    let (mut looks, mut void) = (Vec::new(), Vec::new());
    for block in &stored.run.blocks {
        let rate = block.load_factor * stored.run.load.rate_per_s;
        if block.is_valid() {
            looks.push(look(workload, inference, block, rate));
        } else {
            void.push(rate);
        }
    }
    let mut session =
        Session::open(place.file, subject, run.run.seed, place.interrupt.clone(), place.printer)?;
    let result = async {
        session.engine_up().await?;
        let now = cotenant_probe::clock::wall_clock();
        let (mut writer, finished) =
            store.resume_run(&id, now).map_err(|error| evidence_failure(&error))?;
        writer.add_fingerprint(&session.fingerprint()).map_err(|error| evidence_failure(&error))?;
        place.printer.note(&format!(
            "run {id} goes on: {} of at most {} looks are made",
            finished.len(),
            rule.looks_max
        ));
        let load = session.load(shape_of(writer.plan()))?;
        go(&mut session, writer, rule, &load, looks, void).await
    }
    .await;
    session.close().await;
    result
}

/// What cannot be searched, with the way out.
fn check(workload: &Workload, inference: &Inference) -> Result<(), Failure> {
    let name = &workload.name;
    let with_classes = workload.classes.iter().filter_map(|class| class.objectives.as_ref());
    let has_limit = with_classes.chain([&inference.objectives]).any(|objectives| {
        !objectives.latency().is_empty()
            || objectives.error_rate.is_some()
            || objectives.queue_length.is_some()
    });
    if !has_limit {
        return Err(Failure::input(format!(
            "`{name}` declares no objective that a higher rate could break\n\nhint: declare one, such \
             as `objectives: {{ ttft_p95: 500 ms }}`"
        )));
    }
    match &inference.demand {
        Demand::Closed { .. } => Err(Failure::input(format!(
            "the demand of `{name}` is a closed loop, whose rate follows from the answers: no rate can \
             be searched\n\nhint: declare an open one, such as `demand: {{ poisson: {{ rate: 8 req/s \
             }} }}`"
        ))),
        Demand::Ramp { .. } => Err(Failure::input(format!(
            "the demand of `{name}` is a ramp, under which a queue grows because the rate does\n\n\
             hint: declare a steady one, such as `demand: {{ poisson: {{ rate: 8 req/s }} }}`"
        ))),
        _ => Ok(()),
    }
}

/// The lengths inside a look.
fn shape(
    place: Place<'_>,
    session: &Session<'_>,
    warm_up: Duration,
) -> Result<BlockShape, Failure> {
    let any = BlockShape { warm_up, judged: JUDGED_RANGE.1, tail: Duration::ZERO };
    if let Some(seconds) = place.options.block_seconds {
        return Ok(BlockShape { judged: Duration::from_secs_f64(seconds), ..any });
    }
    let rate = session.load(any)?.rate_per_s().unwrap_or(1.0).max(1e-3);
    let (_, inference) = session.subject.inference;
    let wait = inference.objectives.latency();
    let wait = wait
        .iter()
        .filter(|objective| matches!(objective.metric, LatencyMetric::Ttft | LatencyMetric::E2e))
        .map(|objective| objective.target.as_secs_f64())
        .fold(0.0, f64::max);
    let wanted = (REQUESTS_WANTED / rate).max(WAITS_IN_A_LOOK * wait);
    let judged = Duration::try_from_secs_f64(wanted).unwrap_or(JUDGED_RANGE.1);
    Ok(BlockShape { judged: judged.clamp(JUDGED_RANGE.0, JUDGED_RANGE.1), ..any })
}

/// How many looks fit into the time that is given.
fn looks(place: Place<'_>, shape: BlockShape) -> Result<u32, Failure> {
    let Some(given) = place.options.minutes else { return Ok(LOOKS_WANTED) };
    let each = shape.load() + AROUND;
    let fits = (given * 60.0 / each.as_secs_f64()).floor() as u32;
    if fits < LOOKS_MIN {
        return Err(Failure::input(format!(
            "{LOOKS_MIN} looks of {} do not fit into {given} min\n\nhint: about {} are needed \
             (`--minutes {:.0}`), or shorter looks (`--block-seconds`)",
            minutes(shape.load()),
            minutes(each * LOOKS_MIN),
            (each * LOOKS_MIN).as_secs_f64() / 60.0 + 0.5
        )));
    }
    Ok(fits)
}

fn planned(number: u32) -> PlannedBlock {
    PlannedBlock {
        index: number,
        condition: Condition::A,
        pair: number,
        remedy: None,
        phase: Phase::Steady,
        situation: Situation::Search(number),
    }
}

/// The rule as it stands in the run's plan, written before the first look.
fn written(rule: &SearchRule) -> BTreeMap<String, String> {
    let numbers = [
        ("search_first_per_s", rule.first_per_s),
        ("search_least_per_s", rule.least_per_s),
        ("search_most_per_s", rule.most_per_s),
        ("search_looks_max", f64::from(rule.looks_max)),
        ("search_resolution", rule.resolution),
    ];
    let mut options: BTreeMap<String, String> =
        numbers.into_iter().map(|(name, number)| (name.to_owned(), number.to_string())).collect();
    options.insert("tests".to_owned(), FieldTest::Capacity.name().to_owned());
    options
        .insert("search_rule".to_owned(), "double or halve, bisect, look at the ends".to_owned());
    options
}

fn read(options: &BTreeMap<String, String>) -> Option<SearchRule> {
    let number = |name: &str| options.get(name)?.parse::<f64>().ok();
    Some(SearchRule {
        first_per_s: number("search_first_per_s")?,
        least_per_s: number("search_least_per_s")?,
        most_per_s: number("search_most_per_s")?,
        looks_max: number("search_looks_max")? as u32,
        resolution: number("search_resolution")?,
    })
}

/// A search under way: the load of each look follows from the looks before it.
struct Hunt<'a> {
    rule: SearchRule,
    load: &'a DeclaredLoad,
    /// The declared rate, requests per second.
    declared_per_s: f64,
    subject: Subject<'a>,
    looks: RefCell<Vec<Look>>,
    /// Rates of looks that do not count.
    void: RefCell<Vec<f64>>,
    /// The rate that is looked at now.
    rate: Cell<f64>,
}

impl Hunt<'_> {
    fn step(&self) -> Step {
        next_step(&self.rule, &self.looks.borrow(), &self.void.borrow())
    }

    fn take(&self, block: &Block) {
        let rate = block.load_factor * self.declared_per_s;
        let (workload, inference) = self.subject.inference;
        if block.is_valid() {
            self.looks.borrow_mut().push(look(workload, inference, block, rate));
        } else {
            self.void.borrow_mut().push(rate);
        }
    }

    /// Why the search is over, where it is.
    fn decided(&self) -> Option<String> {
        match self.step() {
            Step::Done(ending) => Some(ending.sentence().to_owned()),
            Step::Look(_) => None,
        }
    }
}

impl Loads for Hunt<'_> {
    fn of_pair(&self, pair: u32) -> Result<Schedule, String> {
        if let Step::Look(rate) = self.step() {
            self.rate.set(rate);
        }
        self.load
            .schedule_at(pair, self.rate.get() / self.declared_per_s)
            .map_err(|error| error.to_string())
    }

    fn factor_of(&self, _pair: u32) -> f64 {
        self.rate.get() / self.declared_per_s
    }
}

async fn go(
    session: &mut Session<'_>,
    writer: RunWriter,
    rule: SearchRule,
    load: &DeclaredLoad,
    looks: Vec<Look>,
    void: Vec<f64>,
) -> Result<(), Failure> {
    let hunt = Hunt {
        rule,
        load,
        declared_per_s: writer.plan().load.rate_per_s,
        subject: session.subject,
        looks: RefCell::new(looks),
        void: RefCell::new(void),
        rate: Cell::new(rule.first_per_s),
    };
    if let Some(reason) = hunt.decided() {
        // Killed between the last look and the end of its record.
        let now = cotenant_probe::clock::wall_clock();
        return writer.finish_decided(&reason, now).map_err(|error| evidence_failure(&error));
    }
    let course = Course {
        loads: &hunt,
        burst: None,
        seen: &mut |block| hunt.take(block),
        go_on: &mut |_| hunt.decided().is_none(),
        decided: &|| hunt.decided(),
    };
    session.run_along(writer, course).await.map(|_| ())
}
