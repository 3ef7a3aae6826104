//! Runs a reference workload on its own: `cargo run -p cotenant-engine --example engine -- train --steps 20`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cotenant_engine::{EngineError, ServeArgs, TrainArgs, serve, train};

#[derive(Parser)]
#[command(name = "engine")]
struct Arguments {
    #[command(subcommand)]
    workload: Workload,
}

#[derive(Subcommand)]
enum Workload {
    /// Serve the reference model over the OpenAI API
    Serve(ServeArgs),
    /// Train the reference model
    Train(TrainArgs),
}

fn main() -> ExitCode {
    let result: Result<(), EngineError> = match Arguments::parse().workload {
        Workload::Serve(args) => serve(args),
        Workload::Train(args) => train(args).map(|_| ()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "an example has no printer of its own")]
            {
                eprintln!("error: {error}");
            }
            ExitCode::from(if error.is_input() { 2 } else { 3 })
        }
    }
}
