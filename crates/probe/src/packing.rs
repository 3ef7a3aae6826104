//! Files that are packed: gzip and zstd, told by their first bytes.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::MultiGzDecoder;

/// Why a file could not be unpacked.
#[derive(Debug)]
pub(crate) enum PackingError {
    /// It breaks off, or is no such file after all.
    Damaged {
        /// The packing, which is also the name of its tool.
        name: &'static str,
        /// What the decoder said.
        source: std::io::Error,
    },
    /// It holds more than is read.
    TooLarge,
}

/// What is inside, at most `bytes_max` bytes; a file that is not packed as it is.
pub(crate) fn unpacked(bytes: &[u8], bytes_max: u64) -> Result<Cow<'_, [u8]>, PackingError> {
    let unpacked = match bytes {
        [0x1f, 0x8b, ..] => Cow::Owned(bounded("gzip", MultiGzDecoder::new(bytes), bytes_max)?),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes)
                .map_err(|source| PackingError::Damaged { name: "zstd", source })?;
            Cow::Owned(bounded("zstd", decoder, bytes_max)?)
        }
        _ => Cow::Borrowed(bytes),
    };
    if unpacked.len() as u64 > bytes_max { Err(PackingError::TooLarge) } else { Ok(unpacked) }
}

/// One byte more than may be is read, so that too much can be told from just enough.
fn bounded(
    name: &'static str,
    decoder: impl Read,
    bytes_max: u64,
) -> Result<Vec<u8>, PackingError> {
    let mut unpacked = Vec::new();
    decoder
        .take(bytes_max + 1)
        .read_to_end(&mut unpacked)
        .map_err(|source| PackingError::Damaged { name, source })?;
    Ok(unpacked)
}
