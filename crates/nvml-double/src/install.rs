//! How the library gets to where a test wants it.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The file that cargo builds from this crate.
const FILE: &str = "libnvml_double.so";

/// The names of the driver's libraries.
const NAME: &str = "libnvidia-ml.so.1";
const CUDA_NAME: &str = "libcuda.so.1";

/// The shared library that cargo built beside the running test or example.
///
/// # Errors
/// It is nowhere near the running program.
pub fn library() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    // A test lies in `deps`, as the library does; an example and a program lie one folder away.
    let near = program.ancestors().skip(1).take(2);
    let places = near.flat_map(|folder| [folder.join(FILE), folder.join("deps").join(FILE)]);
    let found = places.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| {
        let message = format!(
            "{FILE} is not beside {}; build it with `cargo build -p cotenant-nvml-double`",
            program.display()
        );
        Error::new(ErrorKind::NotFound, message)
    })
}

/// Puts the library into a folder, under the driver's name, with the host that it is to be. Gives the
/// path of the library.
///
/// # Errors
/// A file that cannot be read or written.
pub fn install(folder: &Path, host: &str) -> std::io::Result<PathBuf> {
    install_as(NAME, folder, host)
}

/// The same under the name of the CUDA driver's library.
///
/// # Errors
/// A file that cannot be read or written.
pub fn install_cuda(folder: &Path, host: &str) -> std::io::Result<PathBuf> {
    install_as(CUDA_NAME, folder, host)
}

fn install_as(name: &str, folder: &Path, host: &str) -> std::io::Result<PathBuf> {
    let path = folder.join(name);
    // A copy and no link: the linker takes two names of one file for one library.
    std::fs::copy(library()?, &path)?;
    std::fs::write(folder.join(format!("{name}.json")), host)?;
    Ok(path)
}
