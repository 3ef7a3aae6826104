//! Text and files to core types and back: the site file with every problem in its place, evidence on disk, and points of
//! sweeps.

pub mod evidence;
pub mod machine;
pub mod site;
pub mod sweep;
