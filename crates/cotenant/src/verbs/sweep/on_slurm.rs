//! A sweep as a job array of Slurm's: submitted, waited for, lost shards submitted again, merged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotenant_core::sim::sweep::{PointOutcome, Sweep};
use cotenant_probe::measure::Interrupt;
use cotenant_probe::slurm_array::{Slurm, SlurmArray};

use super::shards::{arguments, file_in, gather, lacking, merged, quoted};
use crate::cli::SimulateOptions;
use crate::exit::Failure;
use crate::printer::{Printer, Work};

/// Times that a shard is submitted at the most.
const ATTEMPTS_MAX: u32 = 3;
/// How often the queue is looked at.
const LOOK_EACH: Duration = Duration::from_secs(2);
/// Times in a row that the queue may not answer, as while a controller is started anew.
const SILENCE_MAX: u32 = 30;
/// How long a file may take to be seen here after the task that wrote it is gone.
const FILE_PATIENCE: Duration = Duration::from_secs(10);

/// Computes every point on Slurm, in shards that are kept in a folder.
pub(super) async fn points(
    options: &SimulateOptions,
    sweep: &Sweep,
    key: &str,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<Vec<PointOutcome>, Failure> {
    let Some(folder) = &options.sweep.keep else {
        return Err(Failure::input(
            "`--on slurm` needs a folder for the shards, which every node sees\n\nhint: add `--keep \
             FOLDER`",
        ));
    };
    let of = u32::try_from(sweep.points()).unwrap_or(u32::MAX).min(options.sweep.shards);
    let cannot = |error: std::io::Error| {
        Failure::world(format!("cannot keep shards in {}: {error}", folder.display()))
    };
    fs::create_dir_all(folder.join("logs")).map_err(cannot)?;
    let parts = folder.join("parts");
    fs::create_dir_all(&parts).map_err(cannot)?;
    let run = Run {
        slurm: Slurm::default(),
        name: format!("cotenant-sweep-{}", key.get(..12).unwrap_or(key)),
        script: script(options, folder, &parts, of)?,
        options: options.sweep.slurm_args.split_whitespace().map(str::to_owned).collect(),
        parts: &parts,
        of,
        printer,
        work: printer.work(u64::from(of)),
    };
    for attempt in 1..=ATTEMPTS_MAX {
        let open = lacking(&gather(&parts, key)?, sweep, of);
        if open.is_empty() {
            break;
        }
        run.say_attempt(attempt, &open);
        let array = run.slurm.submit(&run.name, &run.script, &open, &run.options);
        let array = array.map_err(|why| {
            Failure::world_hint(why, "the same command without `--on slurm` computes it here")
        })?;
        run.wait(&array, &open, interrupt).await?;
    }
    run.work.done();
    let gathered = gather(&parts, key)?;
    if let [first, ..] = lacking(&gathered, sweep, of)[..] {
        printer.error_text(&format!(
            "error: shards were submitted {ATTEMPTS_MAX} times and are still missing; what the first one \
             said is in {}",
            folder.join("logs").join(format!("{first}.out")).display()
        ));
    }
    merged(options, &parts, sweep, gathered)
}

/// Writes the script of one task, and gives its path.
fn script(
    options: &SimulateOptions,
    folder: &Path,
    parts: &Path,
    of: u32,
) -> Result<PathBuf, Failure> {
    let whole = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Failure::world(format!("no path to {}: {error}", path.display())))
    };
    let program = std::env::current_exe()
        .map_err(|error| Failure::world(format!("this program cannot find itself: {error}")))?;
    let mut words = vec![program.display().to_string(), "--quiet".to_owned()];
    words.extend(arguments(options, &whole(&options.site)?));
    words.extend(["--shard".to_owned(), format!("job/{of}"), "--out".to_owned()]);
    words.push(format!("{}/", whole(parts)?.display()));
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let here = whole(Path::new("."))?;
    // Evidence may be named from where the command was typed.
    let text = format!(
        "#!/bin/sh\n#SBATCH --output={}/%a.out\n#SBATCH --requeue\ncd {} || exit 1\nexec {}\n",
        quoted(&whole(&folder.join("logs"))?.display().to_string()),
        quoted(&here.display().to_string()),
        words.join(" ")
    );
    let path = folder.join("sweep.sbatch");
    fs::write(&path, text)
        .map_err(|error| Failure::world(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

struct Run<'a> {
    slurm: Slurm,
    name: String,
    script: PathBuf,
    options: Vec<String>,
    parts: &'a Path,
    of: u32,
    printer: &'a Printer,
    work: Work,
}

impl Run<'_> {
    fn say_attempt(&self, attempt: u32, open: &[u32]) {
        if attempt == 1 {
            let kept = self.of - open.len() as u32;
            if kept > 0 {
                self.printer.note(&format!("{kept} of {} shards are there already", self.of));
            }
        } else {
            let numbers: Vec<String> = open.iter().map(ToString::to_string).collect();
            self.work.say(&format!(
                "lost, submitted again ({attempt} of {ATTEMPTS_MAX}): shard {}",
                numbers.join(", ")
            ));
        }
    }

    /// Waits until no task of an array is left in the queue, and until the files of those that are gone
    /// are seen, or have had their time.
    async fn wait(
        &self,
        array: &SlurmArray,
        open: &[u32],
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        self.work.say(&format!("submitted job {} with {} tasks", array.id, open.len()));
        let began = Instant::now();
        let (mut silent, mut told) = (0, None);
        loop {
            pause(LOOK_EACH, interrupt).await.map_err(|()| self.given_up(array))?;
            let left: BTreeSet<u32> = match self.slurm.unfinished(array) {
                Ok(left) => left,
                Err(_) if silent < SILENCE_MAX => {
                    silent += 1;
                    continue;
                }
                Err(why) => {
                    return Err(Failure::world_hint(
                        format!("the queue cannot be looked at: {why}"),
                        format!("job {} goes on; the same command picks its shards up", array.id),
                    ));
                }
            };
            silent = 0;
            let done = open.len() - left.len();
            if told != Some(done) {
                told = Some(done);
                let each = began.elapsed().div_f64(done.max(1) as f64);
                let before = u64::from(self.of) - open.len() as u64;
                self.work.step(before + done as u64, "shards", each.mul_f64(left.len() as f64));
            }
            if left.is_empty() {
                break;
            }
        }
        let gone = Instant::now();
        let is_there = || open.iter().all(|shard| file_in(self.parts, *shard, self.of).exists());
        while !is_there() && gone.elapsed() < FILE_PATIENCE {
            pause(LOOK_EACH, interrupt).await.map_err(|()| self.given_up(array))?;
        }
        Ok(())
    }

    /// Takes away what was submitted, and says what is kept.
    fn given_up(&self, array: &SlurmArray) -> Failure {
        let job = match self.slurm.cancel(array) {
            Ok(()) => format!("job {} was taken away", array.id),
            Err(why) => format!("job {} goes on ({why})", array.id),
        };
        Failure::Interrupted(format!(
            "interrupted: {job}; finished shards are kept in {}, and the same command goes on from there",
            self.parts.display()
        ))
    }
}

/// Waits; an interrupt ends it early.
async fn pause(time: Duration, interrupt: &Interrupt) -> Result<(), ()> {
    let mut interrupt = interrupt.clone();
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        _ = interrupt.wait_for(|thrown| *thrown) => Err(()),
    }
}
