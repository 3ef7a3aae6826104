//! `cotenant engine`: the embedded reference workloads.

use crate::cli::{EngineOptions, EngineVerb};
use crate::exit::{Code, Failure};
use crate::printer::Printer;

pub(crate) fn run(options: EngineOptions, _printer: &Printer) -> Result<Code, Failure> {
    match options.verb {
        EngineVerb::Serve(arguments) => {
            cotenant_engine::serve(arguments).map_err(Failure::world)?;
        }
        EngineVerb::Train(arguments) => {
            cotenant_engine::train(arguments).map_err(Failure::world)?;
        }
    }
    Ok(Code::Answered)
}
