//! The times between chunks of a block's requests: many, small and alike, so they are binary.
//!
//! One line of JSON (the header), then for each request two variable-length integers, the step of
//! its index from the request before (zigzag) and twice the number of its gaps plus one where every
//! chunk was a single token; then each gap in microseconds as the zigzag step from the gap before
//! it (the first from 0). Variable-length integers are LEB128: seven bits a byte, low bits first.
//! The file has no digest of its own content: its block's header lists the digest of the whole file.

use std::io::{self, Write};
use std::path::Path;

use cotenant_core::evidence::{Block, ChunkGaps};
use serde::{Deserialize, Serialize};

use super::EvidenceError;
use super::block_file::Place;
use super::files::{self, SealedFile, gaps_name};
use super::lines::{Content, encoder};
use super::sealed::{VERSION, check_label, unreadable};

/// The format's name in the header.
const FORMAT: &str = "cotenant gaps";
/// Most requests with gaps in one block.
const REQUESTS_MAX: u64 = 1 << 22;
/// Most gaps in one block: half a gibibyte.
const GAPS_MAX: u64 = 1 << 27;

/// A gaps file as its block lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GapsEntry {
    pub sealed: SealedFile,
    /// Requests that have gaps.
    pub requests: u64,
    /// Gaps of all of them.
    pub gaps: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    run: String,
    schedule_sha256: String,
    index: u32,
    requests: u64,
    gaps: u64,
}

/// Writes a block's gaps under their temporary name; `None` where it has none.
pub(super) fn write_unfinished(
    place: Place<'_>,
    block: &Block,
) -> Result<Option<GapsEntry>, EvidenceError> {
    if block.gaps.is_empty() {
        return Ok(None);
    }
    let requests = block.gaps.len() as u64;
    let gaps = block.gaps.iter().map(|gaps| gaps.gaps_us.len() as u64).sum();
    if requests > REQUESTS_MAX || gaps > GAPS_MAX {
        let why = format!("a block may hold {GAPS_MAX} gaps of {REQUESTS_MAX} requests");
        return Err(EvidenceError::refused(place.folder, why));
    }
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        run: place.run.to_owned(),
        schedule_sha256: place.schedule_sha256.to_owned(),
        index: block.plan.index,
        requests,
        gaps,
    };
    let sealed = files::write_unfinished(place.folder, &gaps_name(&block.plan), |out| {
        let mut out = io::BufWriter::new(encoder(out)?);
        serde_json::to_writer(&mut out, &header)?;
        out.write_all(b"\n")?;
        write_gaps(&mut out, &block.gaps)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        Ok(())
    })?;
    Ok(Some(GapsEntry { sealed, requests, gaps }))
}

fn write_gaps(out: &mut impl Write, all: &[ChunkGaps]) -> io::Result<()> {
    let mut request_before = 0_u32;
    for ChunkGaps { request, single_token, gaps_us } in all {
        put(out, zigzag(i64::from(*request) - i64::from(request_before)))?;
        put(out, (gaps_us.len() as u64) << 1 | u64::from(*single_token))?;
        request_before = *request;
        let mut gap_before = 0_u32;
        for gap in gaps_us {
            put(out, zigzag(i64::from(*gap) - i64::from(gap_before)))?;
            gap_before = *gap;
        }
    }
    Ok(())
}

/// Reads a block's gaps from the bytes that are the file.
pub(super) fn read(
    place: Place<'_>,
    index: u32,
    entry: &GapsEntry,
    compressed: &[u8],
) -> Result<Vec<ChunkGaps>, EvidenceError> {
    let path = &place.folder.join(&entry.sealed.file);
    let mut content = Content::open(path, compressed, false)?;
    let mut line = Vec::new();
    if !content.next_line(&mut line)? {
        return Err(EvidenceError::truncated(path, "it is empty"));
    }
    check_label(path, FORMAT, None, &line)?;
    let header: Header =
        serde_json::from_slice(&line).map_err(|error| unreadable(path, Some(1), &error))?;
    check_header(place, path, index, entry, &header)?;
    if header.requests > REQUESTS_MAX || header.gaps > GAPS_MAX {
        return Err(content.too_large("the number of its gaps", GAPS_MAX));
    }
    let all = read_gaps(&mut content, path, &header)?;
    content.finish()?;
    Ok(all)
}

fn check_header(
    place: Place<'_>,
    path: &Path,
    index: u32,
    entry: &GapsEntry,
    header: &Header,
) -> Result<(), EvidenceError> {
    let same_run = header.run == place.run && header.schedule_sha256 == place.schedule_sha256;
    if !same_run || header.index != index {
        let why = format!("it has the gaps of block {} of run {}", header.index, header.run);
        return Err(EvidenceError::inconsistent(path, why));
    }
    if (header.requests, header.gaps) != (entry.requests, entry.gaps) {
        let why = format!("its block says that it has {} gaps, not {}", entry.gaps, header.gaps);
        return Err(EvidenceError::inconsistent(path, why));
    }
    Ok(())
}

fn read_gaps(
    content: &mut Content<'_>,
    path: &Path,
    header: &Header,
) -> Result<Vec<ChunkGaps>, EvidenceError> {
    let wrong = |why: &str| EvidenceError::malformed(path, None, why);
    let mut all = Vec::with_capacity(header.requests as usize);
    let (mut request, mut gaps_left) = (0_u32, header.gaps);
    for _ in 0..header.requests {
        request = step(request, get(content, path)?).ok_or_else(|| wrong("a request's index"))?;
        let count_and_flag = get(content, path)?;
        let count = count_and_flag >> 1;
        gaps_left = gaps_left
            .checked_sub(count)
            .ok_or_else(|| wrong("it has more gaps than its header says"))?;
        let mut gaps_us = Vec::with_capacity(count as usize);
        let mut gap = 0_u32;
        for _ in 0..count {
            gap = step(gap, get(content, path)?).ok_or_else(|| wrong("a gap below 0"))?;
            gaps_us.push(gap);
        }
        all.push(ChunkGaps { request, single_token: count_and_flag & 1 == 1, gaps_us });
    }
    if gaps_left > 0 {
        return Err(wrong("it has fewer gaps than its header says"));
    }
    Ok(all)
}

/// `before` moved by a zigzag step, if that is a 32-bit number.
fn step(before: u32, zigzag: u64) -> Option<u32> {
    u32::try_from(i64::from(before).checked_add(unzigzag(zigzag))?).ok()
}

/// Signed to unsigned, small to small: 0, −1, 1, −2 … become 0, 1, 2, 3 …
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn put(out: &mut impl Write, mut value: u64) -> io::Result<()> {
    let (mut bytes, mut length) = ([0_u8; 10], 0);
    loop {
        bytes[length] = value as u8 & 0x7f;
        value >>= 7;
        if value == 0 {
            break;
        }
        bytes[length] |= 0x80;
        length += 1;
    }
    out.write_all(&bytes[..=length])
}

fn get(content: &mut Content<'_>, path: &Path) -> Result<u64, EvidenceError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = content.next_byte()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(EvidenceError::malformed(path, None, "a number of more than 64 bits"))
}
