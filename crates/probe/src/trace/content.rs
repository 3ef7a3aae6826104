//! What a file is, told by its first bytes: plain text, gzip, zstd, or something that is no trace.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::Problem;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// What an error of the decompressor means, and the way out.
    pub(crate) fn broken(self, error: &io::Error) -> Problem {
        let (name, test) = match self {
            Self::None => {
                return Problem::new(
                    format!("cannot be read: {error}"),
                    "check the path and its permissions",
                );
            }
            Self::Gzip => ("gzip", "gzip -t"),
            Self::Zstd => ("zstd", "zstd -t"),
        };
        let problem = if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("the {name} file ends too early")
        } else {
            format!("the {name} file is damaged: {error}")
        };
        Problem::new(problem, format!("fetch it again and check it with `{test}`"))
    }
}

/// The decompressed stream of a file, whose compression is told by its first bytes. Files of
/// several gzip members or zstd frames are read to their end.
pub(crate) fn open<'a>(
    input: impl Read + 'a,
) -> Result<(Compression, Box<dyn BufRead + 'a>), Problem> {
    let mut head = BufReader::with_capacity(BUFFER_BYTES, input);
    let magic = head.fill_buf().map_err(|error| Compression::None.broken(&error))?;
    // A reader may give one byte at first; a file of one byte is compressed in no way.
    let compression = match magic {
        [] => {
            return Err(Problem::new("the file is empty", "give a trace with at least one row"));
        }
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        // Parallel compressors begin with a skippable frame.
        [low, 0x2a, 0x4d, 0x18, ..] if low & 0xf0 == 0x50 => Compression::Zstd,
        _ => Compression::None,
    };
    let mut input: Box<dyn BufRead + 'a> = match compression {
        Compression::None => Box::new(head),
        Compression::Gzip => {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(head)))
        }
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(head)
                .map_err(|error| Compression::Zstd.broken(&error))?;
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
        }
    };
    let bytes = input.fill_buf().map_err(|error| compression.broken(&error))?;
    refuse_what_is_no_text(bytes)?;
    Ok((compression, input))
}

fn refuse_what_is_no_text(bytes: &[u8]) -> Result<(), Problem> {
    let (what, hint) = match bytes {
        [b'P', b'K', 3, 4, ..] => {
            ("the file is a ZIP archive", "unpack it and give the file inside")
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            ("the file is compressed with xz", "unpack it: xz -d")
        }
        [b'B', b'Z', b'h', ..] => ("the file is compressed with bzip2", "unpack it: bzip2 -d"),
        [b'P', b'A', b'R', b'1', ..] => ("the file is Parquet", "convert it to CSV or JSONL"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            ("the file is UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8")
        }
        _ if memchr::memchr(0, bytes).is_some() => {
            ("the file is binary: it holds a zero byte", "give a CSV or JSONL trace")
        }
        _ => return Ok(()),
    };
    Err(Problem::new(what, hint))
}
