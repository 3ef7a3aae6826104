//! `cotenant try`: the whole method on this machine, with the embedded workloads.

mod example;
mod story;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotenant_core::evidence::{Condition, Remedy};
use cotenant_core::protocol::{BlockShape, Budget, Fit, Tests};
use cotenant_core::verdict::{GateKind, Ruling, Strategy, Verdict};
use cotenant_probe::measure::Interrupt;
use cotenant_probe::supervisor::Priority;
use cotenant_records::evidence::RunStatus;
use cotenant_report::{TerminalOptions, render_html, render_terminal, to_json};

use crate::cli::TryOptions;
use crate::exit::{Code, Failure};
use crate::printer::{Printer, minutes};
use crate::site_file::{self, SiteFile};
use crate::verbs::judged::{Judged, Judging, judged};
use crate::verbs::session::{Piloted, Session, Subject, begin, with_interrupt};

use example::{Example, Load};

/// Shortest demonstration: a pilot, and three pairs of the shortest blocks.
const LEAST: Duration = Duration::from_secs(75);
/// Time kept for the last judgement and the page.
const CLOSING: Duration = Duration::from_secs(4);
/// Load that goes on while the trainer is told to stop.
const TAIL: Duration = Duration::from_millis(800);
/// Rest, start and exit around a block, before any was seen.
const AROUND: Duration = Duration::from_millis(1_500);
/// C blocks after which a first look may say that sharing as it is has failed.
const FIRST_LOOK: usize = 3;
/// Shortest judged interval.
const JUDGED_MIN: Duration = Duration::from_secs(3);

pub(crate) fn run(options: &TryOptions, printer: &Printer) -> Result<Code, Failure> {
    let began = Instant::now();
    let total = Duration::from_secs_f64(options.minutes * 60.0);
    if total < LEAST {
        return Err(Failure::input(format!(
            "{} is too short: starting, a pilot and three pairs of blocks take {}\n\nhint: give \
             more time with --minutes",
            minutes(total),
            minutes(LEAST)
        )));
    }
    if let Some(trace) = &options.trace {
        // Told before a minute of calibration, and before an old demonstration is removed.
        fs::File::open(trace)
            .map_err(|error| Failure::input(format!("cannot read {}: {error}", trace.display())))?;
    }
    prepare_folder(&options.out)?;
    with_interrupt(async |interrupt| {
        Box::pin(Try { options, printer: *printer, began, total, interrupt }.run()).await
    })
}

/// The folder must be ours to write into: new, empty, or one that `try` made before.
fn prepare_folder(out: &Path) -> Result<(), Failure> {
    let cannot =
        |error: std::io::Error| Failure::world(format!("cannot use {}: {error}", out.display()));
    let foreign = out.exists()
        && fs::read_dir(out).map_err(cannot)?.next().is_some()
        && !out.join(example::MARKER).exists();
    if foreign {
        return Err(Failure::input(format!(
            "{} holds something that `try` did not make\n\nhint: name another folder with --out",
            out.display()
        )));
    }
    if out.exists() {
        // A new demonstration: another site file, so the old evidence is about something else.
        for name in example::OWN {
            let path = out.join(name);
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(cannot(error)),
            }
        }
    }
    fs::create_dir_all(out).map_err(cannot)?;
    fs::write(
        out.join(example::MARKER),
        "Made by `cotenant try`, which may replace what is here.\n",
    )
    .map_err(cannot)
}

struct Try<'a> {
    options: &'a TryOptions,
    printer: Printer,
    began: Instant,
    total: Duration,
    interrupt: Interrupt,
}

impl Try<'_> {
    async fn run(&self) -> Result<Code, Failure> {
        let (printer, out) = (&self.printer, &self.options.out);
        printer.note(&format!(
            "cotenant try: real inference and real training on this machine's CPU, in about {}\n\
             A demonstration of the method: no GPU claim comes of it.",
            minutes(self.total)
        ));
        let mut example = Example::new()?;
        // First with a load that is only a guess: one request at a time says what the machine can do.
        self.write(&example)?;
        let file = site_file::read(&out.join("site.yaml"), printer)?;
        let capacity_s = self.calibrate(&file).await?;
        example.load = match &self.options.trace {
            None => Load::poisson(capacity_s),
            Some(path) => Load::trace(path, out, capacity_s)?,
        };
        printer.note(&format!(
            "one request alone takes {:.0} ms, so the load is {}",
            capacity_s * 1e3,
            example.load.sentence()
        ));
        self.write(&example)?;
        let file = site_file::read(&out.join("site.yaml"), printer)?;
        let piloted = self.pilot(&file).await?;
        example.set_objectives(&piloted).map_err(Failure::world)?;
        printer.note(&example.objectives_sentence());
        self.write(&example)?;
        let file = site_file::read(&out.join("site.yaml"), printer)?;
        self.prove(&file, &piloted).await?;
        self.conclude(&file, &example)
    }

    fn write(&self, example: &Example) -> Result<(), Failure> {
        let path = self.options.out.join("site.yaml");
        fs::write(&path, example.yaml())
            .map_err(|error| Failure::world(format!("cannot write {}: {error}", path.display())))
    }

    fn session<'f>(&self, file: &'f SiteFile) -> Result<Session<'f>, Failure> {
        let all = Tests { a: true, b: true, c: true };
        let subject = Subject::find(&file.site, None, None, all)?;
        let interrupt = self.interrupt.clone();
        Session::open(file, subject, self.options.seed, interrupt, self.printer)
    }

    fn left(&self) -> Duration {
        self.total.saturating_sub(self.began.elapsed()).saturating_sub(CLOSING)
    }

    /// Median time of one request with the machine to itself, seconds.
    async fn calibrate(&self, file: &SiteFile) -> Result<f64, Failure> {
        let mut session = self.session(file)?;
        let result = async {
            session.engine_up().await?;
            story::service_time(&mut session).await
        }
        .await;
        session.close().await;
        result
    }

    async fn pilot(&self, file: &SiteFile) -> Result<Piloted, Failure> {
        self.printer.note("pilot: inference alone, then the trainer, then what isolates them");
        let mut session = self.session(file)?;
        let alone = (self.total / 12).clamp(Duration::from_secs(8), Duration::from_mins(1));
        let result = async {
            session.engine_up().await?;
            session.pilot(alone, Duration::from_secs(3), None).await
        }
        .await;
        session.close().await;
        result
    }

    /// Tests A, B and C, and a remedy where sharing as it is breaks an objective.
    async fn prove(&self, file: &SiteFile, piloted: &Piloted) -> Result<(), Failure> {
        let mut session = self.session(file)?;
        let result = async {
            session.engine_up().await?;
            self.as_declared(&mut session, file, piloted).await?;
            let verdict = self.judge(file, &[], &[])?.verdict;
            if failed_together(&verdict) {
                self.with_remedy(&mut session, file, piloted).await?;
            }
            Ok(())
        }
        .await;
        session.close().await;
        result
    }

    async fn as_declared(
        &self,
        session: &mut Session<'_>,
        file: &SiteFile,
        piloted: &Piloted,
    ) -> Result<(), Failure> {
        let all = Tests { a: true, b: true, c: true };
        let fit = if let Ok(fit) = self.fit(file, session, piloted, all, self.left(), None) {
            fit
        } else {
            self.printer
                .note("the machine was slow to start, so this takes longer than was asked for");
            self.fit(file, session, piloted, all, LEAST, None)?
        };
        let plan = session.plan(all, &fit, piloted, None, 0.0)?;
        let schedule = plan.schedule.clone();
        let writer = begin(&file.evidence(), &plan, &piloted.audits)?;
        self.printer.note(&format!(
            "tests A (inference alone), B (training alone) and C (both), in random order: {} \
             blocks of {:.1} s",
            schedule.len(),
            fit.shape.judged.as_secs_f64()
        ));
        let remedy_needs = block_length(&fit.shape) * 5;
        let mut finished = 0;
        let status = session
            .run(writer, &mut |count| {
                finished = count;
                let done = &schedule[..count.min(schedule.len())];
                let blocks = |condition| done.iter().filter(|b| b.condition == condition).count();
                let worth_a_look = blocks(Condition::C) >= FIRST_LOOK
                    && blocks(Condition::A) > 0
                    && blocks(Condition::B) > 0
                    && self.left() >= remedy_needs;
                // Looking early can only end in FAIL, never in PASS.
                !(worth_a_look
                    && self.judge(file, &[], &[]).is_ok_and(|j| failed_together(&j.verdict)))
            })
            .await?;
        if status == RunStatus::Interrupted {
            self.printer.note(&format!(
                "together as they are, an objective is broken after {finished} blocks: the rest of \
                 the time goes to a remedy"
            ));
        }
        Ok(())
    }

    async fn with_remedy(
        &self,
        session: &mut Session<'_>,
        file: &SiteFile,
        piloted: &Piloted,
    ) -> Result<(), Failure> {
        let remedy = Remedy::IdlePriority;
        let tests = Tests { a: true, b: false, c: true };
        let together = Tests { a: false, ..tests };
        let began = Instant::now();
        let audit = session.audit_priority(Priority { nice: None, idle: true }).await?;
        let budget = self.left().saturating_sub(began.elapsed());
        // Pairs with inference alone, where the time allows them; else only what must be judged.
        let paired =
            self.fit(file, session, piloted, tests, budget, Some(6)).map(|fit| (tests, fit));
        let fitting = paired.or_else(|_| {
            self.fit(file, session, piloted, together, budget, None).map(|fit| (together, fit))
        });
        let Ok((tests, fit)) = fitting else {
            self.printer.note("no time is left to test a remedy");
            return Ok(());
        };
        let plan = session.plan(tests, &fit, piloted, Some(remedy), 0.0)?;
        let writer = begin(&file.evidence(), &plan, &[audit])?;
        self.printer.note(&format!(
            "the same with the {}: {} blocks of {:.1} s",
            remedy.name(),
            plan.schedule.len(),
            fit.shape.judged.as_secs_f64()
        ));
        session.run(writer, &mut |_| true).await?;
        Ok(())
    }

    /// Fits blocks into a time. All runs of a demonstration have blocks of one length.
    fn fit(
        &self,
        file: &SiteFile,
        session: &Session<'_>,
        piloted: &Piloted,
        tests: Tests,
        time: Duration,
        pairs_min: Option<u32>,
    ) -> Result<Fit, Failure> {
        let shape =
            BlockShape { warm_up: piloted.warm_up, judged: Duration::from_secs(10), tail: TAIL };
        let rate_per_s = session.load(shape)?.tested(4).map_err(Failure::input)?.rate_per_s;
        let judged = (self.total / 30).clamp(JUDGED_MIN, Duration::from_secs(20));
        let budget = Budget {
            time,
            tests,
            rate_per_s,
            // A pilot of a few seconds may see no steady state; a third of a block is enough.
            warm_up: piloted.warm_up.min(judged / 3),
            tail: TAIL,
            around: AROUND,
            judged: Some(judged),
        };
        let fit = budget.fit().filter(|fit| pairs_min.is_none_or(|least| fit.pairs >= least));
        fit.ok_or_else(|| {
            Failure::input(format!(
                "three pairs of blocks do not fit into the {} that are left for {}\n\nhint: give \
                 more time with --minutes",
                minutes(time),
                file.name()
            ))
        })
    }

    #[expect(clippy::unused_self, reason = "one demonstration judges its own evidence")]
    fn judge(
        &self,
        file: &SiteFile,
        notes: &[String],
        next_steps: &[cotenant_report::NextStepInput],
    ) -> Result<Judged, Failure> {
        judged(&Judging { file, evidence: &file.evidence(), as_of: None, notes, next_steps })
    }

    fn conclude(&self, file: &SiteFile, example: &Example) -> Result<Code, Failure> {
        let next = story::next_steps(&self.options.out);
        let judged = self.judge(file, &example.notes(), &next)?;
        let page = self.options.out.join("report.html");
        let json = self.options.out.join("report.json");
        for (path, text) in [(&page, render_html(&judged.report)), (&json, to_json(&judged.report))]
        {
            fs::write(path, text).map_err(|error| {
                Failure::world(format!("cannot write {}: {error}", path.display()))
            })?;
        }
        let options = TerminalOptions { width: 80, color: self.printer.color() };
        self.printer.data(&render_terminal(&judged.report, &options))?;
        self.printer.note(&format!("\nthe page: {}", page.display()));
        Ok(Code::of_test(&judged.verdict).unwrap_or_else(|| Code::of(&judged.verdict)))
    }
}

fn block_length(shape: &BlockShape) -> Duration {
    shape.load() + AROUND
}

/// Whether a performance gate fails in test C as the site declares it (and not already alone, which
/// no remedy of sharing would mend).
fn failed_together(verdict: &Verdict) -> bool {
    let performance = |kind| matches!(kind, GateKind::Inference | GateKind::Completion);
    let findings = || {
        verdict
            .gates
            .iter()
            .filter(|gate| performance(gate.kind))
            .flat_map(|gate| &gate.findings)
            .filter(|finding| finding.ruling == Ruling::Fail)
    };
    findings().any(|finding| finding.strategy == Strategy::AsDeclared)
        && !findings().any(|finding| finding.strategy == Strategy::Alone)
}

/// This program's own path, for commands that are written down.
pub(crate) fn own_path() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::world(format!("cannot find this program's own file: {error}")))
}
