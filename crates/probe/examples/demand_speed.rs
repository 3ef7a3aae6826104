//! How fast a request trace becomes a history: ten million rows as the Azure traces of 2024 write
//! them, plain, zstd and gzip, and as JSON lines.
//!
//! ```text
//! cargo run --release -p cotenant-probe --example demand_speed [rows] [folder]
//! cargo run --release -p cotenant-probe --example demand_speed read FILE [service seconds]
//! ```
//!
//! The files (about 1.5 GB) are made in a folder of their own, which is gone afterwards unless it is
//! named, and each is read in a process of its own: the figures are that process's wall time, CPU
//! time and peak resident memory, from /proc. One request stays in the engine for eight seconds, so
//! that demand in flight is reckoned too.
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cotenant_core::demand::WorkUnit;
use cotenant_probe::clock;
use cotenant_probe::demand::{ReadOptions, Source, read};
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

type Anything = Box<dyn Error>;

/// The week of the Azure traces of 2024: from 10 May 2024 on, nanoseconds of Unix time.
const BEGINS_NS: i64 = 1_715_299_200_000_000_000;
const DAYS: f64 = 9.0;

fn main() -> Result<(), Anything> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |place: usize| arguments.get(place).map(String::as_str);
    if argument(0) == Some("read") {
        let file = argument(1).ok_or("which file?")?;
        return read_one(Path::new(file), argument(2).unwrap_or("8").parse()?);
    }
    let rows = argument(0).unwrap_or("10000000").parse()?;
    let temporary = tempfile::tempdir()?;
    let folder = argument(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder)?;
    write_all(rows, &folder)?;
    for name in ["trace.csv", "trace.csv.zst", "trace.csv.gz", "trace.jsonl"] {
        let file = folder.join(name);
        let status =
            Command::new(std::env::current_exe()?).arg("read").arg(&file).arg("8").status()?;
        if !status.success() {
            return Err(format!("{name}: the reader ended with {status}").into());
        }
    }
    Ok(())
}

/// Writes the same requests in four ways. Their rate follows the day: arrivals of a Poisson process
/// in an order of time that a sine bends.
fn write_all(rows: u64, folder: &Path) -> Result<(), Anything> {
    let create = |name: &str| File::create(folder.join(name)).map(BufWriter::new);
    let mut plain = create("trace.csv")?;
    let mut zstd = zstd::Encoder::new(create("trace.csv.zst")?, 3)?;
    let mut gzip = GzEncoder::new(create("trace.csv.gz")?, Compression::fast());
    let mut json = create("trace.jsonl")?;
    let header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    for file in [&mut plain as &mut dyn Write, &mut zstd, &mut gzip] {
        file.write_all(header.as_bytes())?;
    }
    let mut random = Pcg64::seed_from_u64(20_240_510);
    let mut line = String::new();
    for row in 0..rows {
        let place = (row as f64 + random.random::<f64>()) / rows as f64;
        let days = DAYS * place + 0.1 * (std::f64::consts::TAU * DAYS * place).sin();
        let at = jiff::Timestamp::from_nanosecond(
            i128::from(BEGINS_NS) + (days.max(0.0) * 86_400e9) as i128,
        )?;
        let prompt = (2_f64.powf(8.0 + 5.0 * random.random::<f64>())) as u32;
        let output = (2_f64.powf(2.0 + 7.0 * random.random::<f64>())) as u32;
        line.clear();
        let second = at.strftime("%Y-%m-%d %H:%M:%S.%6f");
        std::fmt::write(&mut line, format_args!("{second}+00:00,{prompt},{output}\n"))?;
        for file in [&mut plain as &mut dyn Write, &mut zstd, &mut gzip] {
            file.write_all(line.as_bytes())?;
        }
        let ms = at.as_millisecond();
        writeln!(
            json,
            "{{\"timestamp\": {ms}, \"input_length\": {prompt}, \"output_length\": {output}}}"
        )?;
    }
    plain.flush()?;
    json.flush()?;
    zstd.finish()?.flush()?;
    gzip.finish()?.flush()?;
    Ok(())
}

fn read_one(path: &Path, service_s: u64) -> Result<(), Anything> {
    let begun = Instant::now();
    let options = ReadOptions {
        service: Some(Duration::from_secs(service_s)),
        now: clock::wall_clock(),
        patience: Duration::from_secs(30),
    };
    let read = read(&Source::of_file(path)?, &options, &mut |_| ())?;
    let wall_s = begun.elapsed().as_secs_f64();
    let series = read.history.series(WorkUnit::Requests).ok_or("no rates")?;
    let seen: f64 = series.values.iter().flatten().sum::<f64>() * series.step.as_secs_f64();
    println!(
        "{:<14} {:>6.0} MB, {} rows in {:>5.2} s ({:.2} million rows/s), CPU {:.2} s, peak {:.0} MB, {:.0} \
         requests in {} steps of {} s",
        path.file_name().unwrap_or_default().to_string_lossy(),
        fs::metadata(path)?.len() as f64 / 1e6,
        read.rows,
        wall_s,
        read.rows as f64 / wall_s / 1e6,
        cpu_s()?,
        peak_bytes()? as f64 / 1e6,
        seen,
        series.values.len(),
        series.step.as_secs(),
    );
    Ok(())
}

/// User and system time of this process.
fn cpu_s() -> Result<f64, Anything> {
    let text = fs::read_to_string("/proc/self/stat")?;
    // The name in parentheses may hold anything; what follows it is numbers (proc(5)).
    let after = text.rsplit_once(')').ok_or("no name in /proc/self/stat")?.1;
    let ticks: Vec<f64> = after.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

fn peak_bytes() -> Result<u64, Anything> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
