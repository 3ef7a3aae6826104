//! Text and files to core types and back: the site file with every problem in its place, and evidence on disk.

pub mod evidence;
pub mod machine;
pub mod site;
