//! A drill of a real job of Slurm's: requeued, held, its memory free, released, and resumed.
//!
//! Skipped, with a word, where `scontrol ping` finds no controller. A private Slurm on one machine is
//! enough; its nodes must be this machine, so that the job's processes can be seen to go:
//!
//! ```text
//! SLURM_CONF=…/slurm.conf cargo test -p cotenant-probe --test slurm_drill
//! ```
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod drill_support;
mod support;

use std::process::Command;
use std::time::Duration;

use cotenant_probe::measure::{NeighbourRig, SlurmRig};
use drill_support::{CONTINUE, SAVE, drill_with, neighbour, trainer};
use tempfile::TempDir;

#[tokio::test]
async fn a_requeued_job_gives_the_machine_back_and_goes_on() {
    let ping = Command::new("scontrol").arg("ping").output();
    if !ping.is_ok_and(|ping| ping.status.success()) {
        eprintln!("skipped: `scontrol ping` finds no Slurm controller");
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = trainer(CONTINUE, &format!("{SAVE}; exit 0"), ":");
    let script = format!("#!/bin/sh\ncd {}\n{script}\n", folder.path().display());
    std::fs::write(folder.path().join("train.sh"), script).unwrap();
    // The step is what Slurm signals; the batch shell waits for it.
    let batch = "#!/bin/sh\nexec srun --unbuffered sh train.sh\n";
    std::fs::write(folder.path().join("train.sbatch"), batch).unwrap();
    let output = folder.path().join("job-%j.out");
    let submit = [
        "sbatch",
        "--parsable",
        "--requeue",
        "--open-mode=append",
        "--output",
        output.to_str().unwrap(),
        "train.sbatch",
    ];
    let slurm = SlurmRig {
        submit: submit.map(str::to_owned).to_vec(),
        output: "job-%j.out".to_owned(),
        folder: folder.path().to_owned(),
    };
    let rig = NeighbourRig {
        slurm: Some(slurm),
        // Slurm lets a requeued job wait for about two minutes before it may begin again.
        ready_within: Duration::from_mins(5),
        memory_patience: Duration::from_secs(20),
        ..neighbour(folder.path(), "exit 1", Duration::from_secs(30))
    };
    let done = drill_with(folder, rig, 1, None).await;
    assert!(done.error.is_none(), "{:?}", done.error);
    let drill = &done.drills[0];
    assert_eq!((drill.failure.as_ref(), drill.driver.as_str()), (None, "scontrol requeuehold"));
    let (exit, free) = (drill.exit_s.unwrap(), drill.memory_free_s.unwrap());
    assert!(0.0 < exit && exit <= free && free <= drill.first_token_s.unwrap(), "{drill:?}");
    let resume = &done.resumes[0];
    assert_eq!(resume.failure, None, "{resume:?}");
    assert_eq!(Some(resume.first_step), drill.checkpoint_step.map(|step| step + 1));
    eprintln!(
        "requeue: exit {exit:.2} s, memory free {free:.2} s, first step {:?}",
        resume.first_step_s
    );
}
