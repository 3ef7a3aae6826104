//! The `cotenant` binary: one file per verb, and one place that decides the exit code.

mod cli;
mod exit;
mod printer;
mod site_file;
mod verbs;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Verb};
use printer::Printer;

fn main() -> ExitCode {
    // The guardian speaks a protocol on its standard streams, and no option belongs to it.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|verb| verb == verbs::GUARDIAN) {
        // A program's arguments may be any bytes; what the guardian was sent is text.
        let rest: Vec<String> =
            arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
        return cotenant_probe::supervisor::guardian_main(&rest);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let printer = Printer::new(cli.quiet);
    let outcome = match cli.verb {
        Verb::Try(options) => verbs::try_out::run(&options, &printer),
        Verb::Check(options) => verbs::check::run(&options, &printer),
        Verb::Schema(options) => verbs::schema::run(&options, &printer),
        Verb::Measure(options) => verbs::measure::run(&options, &printer),
        Verb::Verdict(options) => verbs::verdict::run(&options, &printer),
        Verb::Status(options) => verbs::status::run(&options, &printer),
        Verb::Exclude(options) => verbs::exclude::run(&options, &printer),
        Verb::Engine(options) => verbs::engine::run(options, &printer),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(failure) => exit::failed(&failure, &printer),
    }
}
