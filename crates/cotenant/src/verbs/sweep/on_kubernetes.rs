//! A sweep as an Indexed Job of Kubernetes': written, and applied by nobody but the user.

use std::path::Path;

use cotenant_core::sim::sweep::Sweep;
use cotenant_report::{IndexedJob, SWEEP_MOUNT, indexed_job_yaml};

use super::shards::{arguments, quoted};
use crate::cli::SimulateOptions;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::verbs::simulate::write_answer;

/// Times that a lost shard is begun again.
const RETRIES: u32 = 2;

/// Writes the Job, and says what to do next.
pub(super) fn write(
    options: &SimulateOptions,
    sweep: &Sweep,
    printer: &Printer,
) -> Result<(), Failure> {
    let asked = &options.sweep;
    let needed = |what: &Option<String>, option: &str, why: &str| {
        what.clone().ok_or_else(|| {
            Failure::input(format!("`--on kubernetes` needs {why}\n\nhint: add `{option}`"))
        })
    };
    let image =
        needed(&asked.image, "--image REGISTRY/COTENANT:TAG", "an image with this program")?;
    let claim = needed(
        &asked.volume_claim,
        "--volume-claim NAME",
        "a claim of a volume that all pods may write to",
    )?;
    if options.evidence.as_ref().is_some_and(|folder| folder.is_absolute()) {
        return Err(Failure::input(
            "`--evidence` is an absolute path, which is not there in a pod\n\nhint: leave it away: \
             `evidence` beside the site file is copied with it",
        ));
    }
    let file =
        options.site.file_name().map_or_else(|| "site.yaml".into(), |it| it.to_string_lossy());
    let shards = u32::try_from(sweep.points()).unwrap_or(u32::MAX).min(asked.shards);
    let mut command = vec!["cotenant".to_owned(), "--quiet".to_owned()];
    command.extend(arguments(options, Path::new(&*file)));
    command.extend(["--shard".to_owned(), format!("job/{shards}")]);
    command.extend(["--out".to_owned(), "parts/".to_owned()]);
    let stem =
        Path::new(&*file).file_stem().map_or_else(|| "site".into(), |it| it.to_string_lossy());
    let name = format!("cotenant-sweep-{stem}");
    let yaml = indexed_job_yaml(&IndexedJob {
        name: &name,
        image: &image,
        claim: &claim,
        shards,
        retries: RETRIES,
        command: &command,
    });
    write_answer(options.out.as_deref(), &yaml, printer)?;
    let yaml_file =
        options.out.as_ref().map_or_else(|| "job.yaml".into(), |it| it.to_string_lossy());
    let mut merge = arguments(options, &options.site);
    merge.extend(["--merge".to_owned(), "parts".to_owned()]);
    let merge: Vec<String> = merge.iter().map(|word| quoted(word)).collect();
    printer.note(&format!(
        "nothing was applied. Next:\n  1. copy {file} with its demand files and `evidence` to the root of \
         the volume of {claim} (it is {SWEEP_MOUNT} in the pods)\n  2. kubectl apply -f {yaml_file}\n  3. \
         wait until all {shards} indexes are complete, and copy the folder `parts` back\n  4. cotenant {}",
        merge.join(" ")
    ));
    Ok(())
}
