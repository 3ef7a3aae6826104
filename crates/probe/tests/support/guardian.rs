//! The process that the supervisor's tests start: as guardian, and as a measuring process that is
//! to die in some way.

use std::io::Write as _;
use std::process::ExitCode;

use cotenant_probe::supervisor::{GuardianCommand, Launch, Supervisor, guardian_main};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else { return ExitCode::from(2) };
    match command.as_str() {
        "guardian" => guardian_main(rest),
        "measure" => measure(rest),
        _ => ExitCode::from(2),
    }
}

/// Starts the shell script given, says which guardian owns it, then dies as told or waits to be
/// killed.
fn measure(arguments: &[String]) -> ExitCode {
    let [manner, script] = arguments else { return ExitCode::from(2) };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    runtime.block_on(async {
        let command = GuardianCommand::this_program("guardian");
        let Ok((supervisor, mut events)) = Supervisor::spawn(command) else {
            return ExitCode::FAILURE;
        };
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let launch = Launch { name: "script".to_owned(), argv, ..Launch::default() };
        let started = supervisor.start(launch).await;
        let line = format!("guardian {} {}\n", supervisor.guardian_pid(), started.is_ok());
        let told = std::io::stdout().write_all(line.as_bytes());
        assert!(told.is_ok() && manner != "panic", "the measuring process panics");
        while events.recv().await.is_some() {}
        ExitCode::SUCCESS
    })
}
