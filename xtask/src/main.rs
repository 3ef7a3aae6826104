//! Workspace tasks: `cargo run --release -p xtask -- <task>`.

#[cfg(feature = "highs")]
mod judge;
mod references;
mod study;
mod tidy;
mod tree;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of this workspace that are no part of the product.
#[derive(Parser)]
#[command(name = "xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// How often the rule of the verdict errs, from samples whose truth is known.
    Study(study::StudyArguments),
    /// Pose questions of calendars to a solver of mixed integer programs, and see whether any bound or
    /// value of ours contradicts it.
    #[cfg(feature = "highs")]
    Judge(judge::JudgeArguments),
    /// Check what compilers cannot see: where things lie, what depends on what, whether the
    /// documents are true.
    Tidy(tidy::TidyArguments),
    /// Write the references that are made from the code.
    References(references::ReferencesArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Study(arguments) => study::run(&arguments),
        #[cfg(feature = "highs")]
        Task::Judge(arguments) => judge::run(&arguments),
        Task::Tidy(arguments) => tidy::run(&arguments),
        Task::References(arguments) => references::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write;
            // Where even stderr is gone nobody is left to tell.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
