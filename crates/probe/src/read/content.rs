//! The bytes of a file as text: compression and encoding are told by the first bytes, and nothing is
//! held in memory beyond a bound.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use cotenant_core::reading::{FileRefusal, RefusalCause};
use flate2::bufread::MultiGzDecoder;

/// Most bytes of text that are held at once. Traces and logs of lines may be longer: they are read as
/// a stream.
pub const WHOLE_BYTES_MAX: usize = 64 << 20;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Compressions that may lie inside each other.
const LAYERS_MAX: usize = 3;

/// A file that is open: its first bytes, and the rest.
pub(super) struct Content<'a> {
    /// How it is stored, from outside to inside.
    pub(super) packing: Vec<&'static str>,
    /// The text from its beginning on; all of it where `is_whole`.
    pub(super) head: Vec<u8>,
    /// Whether the head is all there is.
    pub(super) is_whole: bool,
    /// What follows the head.
    pub(super) rest: Box<dyn BufRead + 'a>,
    /// Whether half a unit of UTF-16 stood at the end and was left out.
    pub(super) half_unit: Rc<Cell<bool>>,
}

impl<'a> Content<'a> {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that is empty, damaged, or nothing that can be text.
    pub(super) fn open(name: &'a str, input: impl Read + 'a) -> Result<Self, FileRefusal> {
        let (mut packing, half_unit) = (Vec::new(), Rc::new(Cell::new(false)));
        let mut input: Box<dyn BufRead + 'a> =
            Box::new(BufReader::with_capacity(BUFFER_BYTES, input));
        for _ in 0..LAYERS_MAX {
            let start = beginning(&mut input).map_err(|error| broken(name, &packing, &error))?;
            match layer(&start) {
                Some(Layer::Gzip) => {
                    packing.push("gzip");
                    input = Box::new(BufReader::with_capacity(
                        BUFFER_BYTES,
                        MultiGzDecoder::new(Cursor::new(start).chain(input)),
                    ));
                }
                Some(Layer::Zstd) => {
                    packing.push("zstd");
                    let decoder = zstd::stream::read::Decoder::new(Cursor::new(start).chain(input))
                        .map_err(|error| broken(name, &packing, &error))?;
                    input = Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder));
                }
                Some(Layer::Utf16(unit, label)) => {
                    packing.push(label);
                    let rest = Cursor::new(start[2..].to_vec()).chain(input);
                    input = Box::new(BufReader::with_capacity(
                        BUFFER_BYTES,
                        Utf16 {
                            inner: rest,
                            unit,
                            pending: Vec::new(),
                            half: None,
                            half_unit: Rc::clone(&half_unit),
                        },
                    ));
                }
                None => {
                    input = Box::new(Cursor::new(start).chain(input));
                    break;
                }
            }
        }
        Self::fill(name, packing, input, half_unit)
    }

    fn fill(
        name: &'a str,
        packing: Vec<&'static str>,
        mut rest: Box<dyn BufRead + 'a>,
        half_unit: Rc<Cell<bool>>,
    ) -> Result<Self, FileRefusal> {
        let mut head = Vec::new();
        let taken = (&mut rest).take(WHOLE_BYTES_MAX as u64).read_to_end(&mut head);
        taken.map_err(|error| broken(name, &packing, &error))?;
        let is_whole = head.len() < WHOLE_BYTES_MAX
            || rest.fill_buf().map_err(|error| broken(name, &packing, &error))?.is_empty();
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        if head.iter().all(u8::is_ascii_whitespace) && is_whole {
            return Err(FileRefusal::new(
                name,
                if head.is_empty() { "an empty file" } else { "a file of blanks" },
                "it says nothing",
                "look whether the command that wrote it failed",
            ));
        }
        Ok(Self { packing, head, is_whole, rest, half_unit })
    }
}

/// What lies around the text.
enum Layer {
    Gzip,
    Zstd,
    Utf16(fn([u8; 2]) -> u16, &'static str),
}

fn layer(start: &[u8]) -> Option<Layer> {
    match start {
        [0x1f, 0x8b, ..] => Some(Layer::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Layer::Zstd),
        // Parallel compressors begin with a skippable frame.
        [low, 0x2a, 0x4d, 0x18] if low & 0xf0 == 0x50 => Some(Layer::Zstd),
        [0xff, 0xfe, ..] => Some(Layer::Utf16(u16::from_le_bytes, "UTF-16 LE")),
        [0xfe, 0xff, ..] => Some(Layer::Utf16(u16::from_be_bytes, "UTF-16 BE")),
        _ => None,
    }
}

/// The first four bytes, or as many as there are.
fn beginning(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(4);
    input.take(4).read_to_end(&mut start)?;
    Ok(start)
}

/// What an error of a reader means.
fn broken(name: &str, packing: &[&'static str], error: &io::Error) -> FileRefusal {
    let Some(layer) = packing.last() else {
        let mut refusal = FileRefusal::new(
            name,
            "a file that cannot be read",
            error.to_string(),
            "check the path, its permissions and the disk",
        );
        refusal.cause = RefusalCause::Machine;
        return refusal;
    };
    let why = if error.kind() == io::ErrorKind::UnexpectedEof {
        "it ends too early".to_owned()
    } else {
        format!("it is damaged: {error}")
    };
    let way_out = match *layer {
        "gzip" => "fetch it again, and check it with `gzip -t`",
        "zstd" => "fetch it again, and check it with `zstd -t`",
        _ => "save it again as UTF-8",
    };
    FileRefusal::new(name, format!("a file in {layer}"), why, way_out)
}

/// UTF-16 as UTF-8. Half a pair of surrogates is an error: what follows would be other letters than
/// were written. Half a unit at the end is left out, and told.
struct Utf16<R> {
    inner: R,
    unit: fn([u8; 2]) -> u16,
    pending: Vec<u8>,
    half: Option<u16>,
    half_unit: Rc<Cell<bool>>,
}

impl<R: Read> Utf16<R> {
    /// Decodes a stretch of the input into `pending`; whether there was any.
    fn refill(&mut self) -> io::Result<bool> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut bytes = Vec::with_capacity(8192);
        (&mut self.inner).take(8192).read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return match self.half.take() {
                Some(_) => Err(damaged("it ends in the middle of a character")),
                None => Ok(false),
            };
        }
        let mut pairs = bytes.chunks_exact(2);
        let units: Vec<u16> = self
            .half
            .take()
            .into_iter()
            .chain(pairs.by_ref().map(|pair| (self.unit)([pair[0], pair[1]])))
            .collect();
        // Stretches are even, so that only the last one can end in half a unit.
        if !pairs.remainder().is_empty() {
            self.half_unit.set(true);
        }
        let mut units = &units[..];
        if let [rest @ .., last @ 0xd800..=0xdbff] = units {
            self.half = Some(*last);
            units = rest;
        }
        for character in char::decode_utf16(units.iter().copied()) {
            let character =
                character.map_err(|_| damaged("it says that it is UTF-16 and is not"))?;
            self.pending.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(true)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.pending.is_empty() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.pending.len());
        buffer[..count].copy_from_slice(&self.pending[..count]);
        self.pending.drain(..count);
        Ok(count)
    }
}
