//! Checks by which the house keeps itself. Clippy and rustdoc check the code; this checks what they
//! cannot see: where things lie, what depends on what, and that the documents are true.
//!
//! Each rule is a function from the tracked files to faults, with a test that shows it can fail.

mod documents;
mod layout;
mod manifests;
mod rooms;
mod words;

use std::path::PathBuf;

use anyhow::bail;

use crate::references;
use crate::tree::{Fault, Tree, root};

/// Options of `tidy`.
#[derive(clap::Args)]
pub(crate) struct TidyArguments {
    /// A built `cotenant`, to compare `docs/cli.md` with its `--help`.
    #[arg(long)]
    binary: Option<PathBuf>,
}

type Rule = fn(&Tree) -> Vec<Fault>;

const RULES: &[Rule] = &[
    layout::long_files,
    layout::mod_files,
    words::unfinished,
    words::machine_paths,
    manifests::lints,
    manifests::versions,
    manifests::idle,
    manifests::unused,
    rooms::dependencies,
    rooms::core_sources,
    rooms::renderers,
    documents::links,
    documents::mentions,
    documents::dependency_table,
    documents::exit_codes,
];

/// Checks every rule and every generated reference, and tells all faults at once.
pub(crate) fn run(arguments: &TidyArguments) -> anyhow::Result<()> {
    use std::io::Write as _;

    let root = root();
    let tree = Tree::read(&root)?;
    let mut faults: Vec<Fault> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    faults.extend(references::outdated(&root, arguments.binary.as_deref())?);

    let mut out = std::io::stdout().lock();
    for remark in layout::nearly_long_files(&tree) {
        writeln!(out, "remark: {remark}")?;
    }
    if arguments.binary.is_none() {
        writeln!(out, "remark: docs/cli.md is not compared, for want of --binary")?;
    }
    for fault in &faults {
        writeln!(out, "{fault}")?;
    }
    if faults.is_empty() {
        writeln!(out, "tidy: {} files in order", tree.paths.len())?;
        return Ok(());
    }
    bail!("{} faults", faults.len());
}
