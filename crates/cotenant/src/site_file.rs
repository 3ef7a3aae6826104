//! Reading a site file from disk, with its problems told.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use cotenant_core::site::Site;
use cotenant_records::site::{self, Problem};
use sha2::{Digest as _, Sha256};

use crate::exit::Failure;
use crate::printer::Printer;

/// A site file that was read.
#[derive(Debug)]
pub(crate) struct SiteFile {
    /// Its path as the user wrote it.
    pub(crate) path: PathBuf,
    /// What it declares.
    pub(crate) site: Site,
    /// SHA-256 of its text, hexadecimal.
    pub(crate) digest: String,
}

impl SiteFile {
    /// Its name as it stands in commands that are printed.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The folder that relative paths start from.
    pub(crate) fn folder(&self) -> PathBuf {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
    }

    /// Where evidence lies: beside the site file.
    pub(crate) fn evidence(&self) -> PathBuf {
        self.folder().join("evidence")
    }
}

/// Reads a site file. Warnings are told; errors end the verb with all problems.
pub(crate) fn read(path: &Path, printer: &Printer) -> Result<SiteFile, Failure> {
    let (bytes, site, problems) = load(path)?;
    let name = path.display().to_string();
    let Some(site) = site.filter(|_| !site::has_errors(&problems)) else {
        let text = site::render(&problems, &name, &bytes, printer.error_color());
        return Err(Failure::Input(text));
    };
    if !problems.is_empty() {
        printer.note(&site::render(&problems, &name, &bytes, printer.error_color()));
    }
    let mut digest = String::new();
    for byte in Sha256::digest(&bytes) {
        let _ = write!(digest, "{byte:02x}");
    }
    Ok(SiteFile { path: path.to_owned(), site, digest })
}

/// The bytes, the site where there is one, and every problem.
type Loaded = (Vec<u8>, Option<Site>, Vec<Problem>);

/// Reads a site file without judging its problems.
pub(crate) fn load(path: &Path) -> Result<Loaded, Failure> {
    let name = path.display().to_string();
    let cannot = |error: std::io::Error| {
        Failure::input(format!(
            "cannot read {name}: {error}\n\nhint: `cotenant try` writes an example site file, and \
             `cotenant schema` describes one"
        ))
    };
    let file = File::open(path).map_err(cannot)?;
    // One byte more than is allowed is enough to know that it is too large.
    let limit = site::SITE_FILE_BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(cannot)?;
    let (site, problems) = site::read_site(&name, &bytes);
    Ok((bytes, site, problems))
}
