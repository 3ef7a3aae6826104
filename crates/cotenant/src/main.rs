//! The `cotenant` binary: one file per verb, and one place that decides the exit code.

mod cli;
mod exit;
mod printer;
mod site_file;
mod verbs;

use std::panic::{UnwindSafe, catch_unwind, set_hook, take_hook};
use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Verb};
use exit::Code;
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
    ask_for_reports();
    bugs_have_a_code(run)
}

/// What the command line asks for.
fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let printer = Printer::new(cli.quiet);
    let outcome = match cli.verb {
        Verb::Try(options) => verbs::try_out::run(&options, &printer),
        Verb::Init(options) => verbs::init::run(&options, &printer),
        Verb::Check(options) => verbs::check::run(&options, &printer),
        Verb::Read(options) => verbs::read::run(&options, &printer),
        Verb::Demand(options) => verbs::demand::run(&options, &printer),
        Verb::Plan(options) => verbs::plan::run(&options, &printer),
        Verb::Simulate(options) => verbs::simulate::run(&options, &printer),
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

/// Makes every panic end with a request to report it, behind what the standard hook tells.
fn ask_for_reports() {
    let standard = take_hook();
    set_hook(Box::new(move |panic| {
        standard(panic);
        Printer::new(true).error_text(
            "\nbug: this should be impossible\n\n\
             hint: please report it with the command and the lines above",
        );
    }));
}

/// A panic is a bug of ours, and must not be taken for a code that answers a question.
fn bugs_have_a_code(work: impl FnOnce() -> ExitCode + UnwindSafe) -> ExitCode {
    catch_unwind(work).unwrap_or_else(|_| Code::Bug.into())
}

#[cfg(test)]
mod tests {
    use super::{Code, ExitCode, bugs_have_a_code};

    #[test]
    fn a_panic_has_the_code_of_a_bug() {
        // Exit codes can be shown, but not compared.
        let shown = |code: ExitCode| format!("{code:?}");
        let bug = bugs_have_a_code(|| panic!("a bug made for this test"));
        assert_eq!(shown(bug), shown(Code::Bug.into()));
        let answer = bugs_have_a_code(|| Code::Conditional.into());
        assert_eq!(shown(answer), shown(Code::Conditional.into()));
    }
}
