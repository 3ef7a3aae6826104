//! `cotenant init`: a site file from what is found on this machine.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use cotenant_core::evidence::Missing;
use cotenant_core::machine::Machine;
use cotenant_probe::machine::{Surroundings, survey};
use cotenant_records::machine::machine_to_json;
use cotenant_records::site;

use crate::cli::{CheckFormat, InitOptions};
use crate::exit::{Code, Failure};
use crate::printer::Printer;

pub(crate) fn run(options: &InitOptions, printer: &Printer) -> Result<Code, Failure> {
    let prints = options.file.as_os_str() == "-";
    let writes = options.format == CheckFormat::Text && !prints;
    // Said before the machine is looked at: the look takes seconds.
    if writes && !options.force && options.file.symlink_metadata().is_ok() {
        return Err(exists(&options.file));
    }
    let around = Surroundings { ports: options.engines.clone(), ..Surroundings::of_this_machine() };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let machine = runtime.map_err(Failure::world)?.block_on(survey(&around));
    if options.format == CheckFormat::Json {
        printer.data(&machine_to_json(&machine))?;
        return Ok(Code::Answered);
    }
    let text = site::draft(&machine);
    let name = options.file.display().to_string();
    let (_, problems) = site::read_site(&name, text.as_bytes());
    if site::has_errors(&problems) {
        let told = site::render(&problems, &name, text.as_bytes(), printer.error_color());
        return Err(Failure::Bug(format!("the file that was begun is not valid\n\n{told}")));
    }
    if prints {
        printer.data(&text)?;
    } else {
        write(&options.file, &text, options.force)?;
    }
    printer.note(&summary(&machine));
    if !prints {
        let next = format!("\nwrote {name}; fill in what it marks, then: cotenant check {name}");
        printer.note(&next);
    }
    Ok(Code::Answered)
}

fn exists(path: &Path) -> Failure {
    let name = path.display();
    Failure::input(format!(
        "{name} exists\n\nhint: name another file, print with `cotenant init -`, or write over it with \
         --force"
    ))
}

/// Writes the file. Without `force`, one that appeared meanwhile is not written over either.
fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let opened = if force {
        File::create(path)
    } else {
        OpenOptions::new().write(true).create_new(true).open(path)
    };
    let written = opened.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => Failure::world_hint(
            format!("cannot write {}: {error}", path.display()),
            "print it with `cotenant init -`",
        ),
    })
}

/// What was found, in a few lines, and what is to be written by hand.
fn summary(machine: &Machine) -> String {
    let described = machine.gpus.described();
    let gpus = match described.first() {
        Some((_, first)) => {
            let divided = described.iter().filter(|(_, card)| card.mig == Ok(true)).count();
            let mig = if divided > 0 { format!(", {divided} in MIG mode") } else { String::new() };
            let left = machine.gpus.cards.len() - described.len();
            let left = if left > 0 { format!(", {left} not counted") } else { String::new() };
            format!("{} × {}{mig}{left}", described.len(), first.model())
        }
        None if machine.gpus.cards.is_empty() => "none".to_owned(),
        None => format!("{}, none of which can be counted on", machine.gpus.cards.len()),
    };
    let cores = match &machine.cores_usable {
        Ok(found) => format!("{:.4} cores can be used", found.value).replace(".0000", ""),
        Err(Missing(why)) => why.clone(),
    };
    let memory = match &machine.memory {
        Ok(found) => found.value.to_string(),
        Err(Missing(why)) => why.clone(),
    };
    let scheduler = match &machine.scheduler {
        Ok(found) => found.value.kind.name().to_owned(),
        Err(Missing(why)) => why.clone(),
    };
    let engines = match &machine.engines {
        Ok(found) if found.value.is_empty() => format!("none; {}", found.how),
        Ok(found) => {
            let each = found.value.iter().map(|engine| {
                let kind = engine.engine.as_deref().unwrap_or("unknown engine");
                let version = engine.version.as_deref().unwrap_or_default();
                format!("{kind} {version}").trim().to_owned() + &format!(" at {}", engine.endpoint)
            });
            each.collect::<Vec<_>>().join(", ")
        }
        Err(Missing(why)) => format!("none; {why}"),
    };
    let mut lines = vec!["found".to_owned()];
    let rows = [
        ("GPUs", gpus),
        ("CPU", cores),
        ("memory", memory),
        ("scheduler", scheduler),
        ("engines", engines),
    ];
    lines.extend(rows.iter().map(|(label, text)| row(label, text)));
    let cards = machine.gpus.cards.iter();
    let unusable = cards.filter_map(|card| Some((card.index, card.unusable.as_ref()?)));
    lines.extend(unusable.map(|(index, why)| row("warning", &format!("GPU {index}: {why}"))));
    lines.extend(machine.gpus.problems.iter().map(|problem| row("warning", problem)));
    lines.push("to be filled in".to_owned());
    lines.extend(site::open_points(machine).iter().map(|point| row("", point)));
    lines.join("\n")
}

/// A label and a text beside it, in 80 columns.
fn row(label: &str, text: &str) -> String {
    const START: usize = 13;
    const WIDTH: usize = 80;
    let mut out = format!("  {label:<11}");
    let mut column = START;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > START && column + 1 + width > WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', START));
            column = START;
        }
        if column > START {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}
