//! Request traces as demand: real ones, and files that are wrong in every way that was thought of.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

mod demand_support;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use cotenant_core::demand::{History, WorkUnit};
use cotenant_core::site::{Demand, TraceColumns, TraceDemand, TraceFormat};
use cotenant_probe::demand::{Source, read};
use cotenant_probe::trace::stream;
use demand_support::{at, file, message, options, reading, real_data, trace};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Requests per second, summed over the history.
fn requests(history: &History) -> f64 {
    let series = history.series(WorkUnit::Requests).unwrap();
    series.values.iter().flatten().sum::<f64>() * series.step.as_secs_f64()
}

/// Whether two histories show the same in every unit, gaps included.
fn is_same(one: &History, other: &History) -> bool {
    one.all_series() == other.all_series()
        && one.gaps() == other.gaps()
        && one.counts() == other.counts()
        && one.tokens() == other.tokens()
}

fn declared(file: &str, format: TraceFormat) -> TraceDemand {
    TraceDemand {
        file: file.to_owned(),
        format,
        rate_factor: None,
        window: None,
        begins: None,
        columns: None,
    }
}

/// Instants are kept: the second of each arrival is the second that the file writes.
#[test]
fn azure_dates_are_instants() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{AZURE}\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109\r\n"
    );
    let read = reading(&trace(&file(folder.path(), "a.csv", text))).unwrap();
    assert!(read.time_of_week_known);
    assert_eq!((read.rows, read.rows_out_of_order), (2, 0));
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!(series.start, at("2023-11-16T18:15:46Z"));
    assert_eq!(
        series.values.iter().flatten().copied().collect::<Vec<_>>(),
        [1.0, 0.0, 0.0, 0.0, 1.0]
    );
    assert!(read.notes.iter().any(|note| note.ends_with("are read as UTC")), "{:?}", read.notes);
    // 2024 writes a zone.
    let text = format!(
        "{AZURE}\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10T02:00:01.5+02:00,1,2\n"
    );
    let read = reading(&trace(&file(folder.path(), "b.csv", text))).unwrap();
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!((series.start, series.values.len()), (at("2024-05-10T00:00:00Z"), 2));
    assert_eq!(read.notes, [] as [&str; 0]);
}

#[test]
fn times_that_are_relative_need_a_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n7.5,10,1\n9.5,20,2\n";
    let path = file(folder.path(), "v.csv", rows);
    let read = reading(&trace(&path)).unwrap();
    assert!(!read.time_of_week_known);
    assert_eq!(read.history.span().0, at("2024-01-01T00:00:00Z"));
    assert!(read.notes[0].contains("time of week unknown"), "{:?}", read.notes);
    let Source::Trace(mut begun) = trace(&path) else { panic!() };
    begun.begins = Some(at("2026-03-29T00:59:59Z"));
    let read = reading(&Source::Trace(begun)).unwrap();
    assert!(read.time_of_week_known);
    let series = read.history.series(WorkUnit::Requests).unwrap();
    assert_eq!((series.start, series.values.len()), (at("2026-03-29T00:59:59Z"), 3));
    // Stamps of Unix time are instants by themselves.
    let unix = "time_s,prompt_tokens,output_tokens\n1700000000.25,1,1\n";
    let read = reading(&trace(&file(folder.path(), "u.csv", unix))).unwrap();
    assert!(read.time_of_week_known);
    assert_eq!(read.history.span().0.as_second(), 1_700_000_000);
}

/// The header as the dataset's own file has it, and the newer one with two more columns; failed
/// requests have 0 response tokens, second 0 is a midnight.
#[test]
fn burstgpt_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let old = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
               5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,230,1317,Conversation log\n\
               118,GPT-4,417,276,693,API log\n118,ChatGPT,0,0,0,Conversation log\n";
    let read = reading(&trace(&file(folder.path(), "b.csv", old))).unwrap();
    let counts = read.history.counts();
    assert_eq!((counts.requests, counts.refused), (4.0, 1.0));
    assert_eq!(read.history.span().0, at("2024-01-01T00:00:05Z"));
    assert!(!read.time_of_week_known);
    let new = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
               5,7,2.5,ChatGPT,472,18,490,Conversation log\n8.0,,4,ChatGPT,1,2,3,API log\n";
    let read = reading(&trace(&file(folder.path(), "n.csv", new))).unwrap();
    // The first request says that it stayed for 2.5 s, so it fills the second after its own.
    let flight = read.history.series(WorkUnit::RequestsInFlight).unwrap();
    assert_eq!(flight.start, at("2024-01-01T00:00:05Z"));
    assert_eq!(flight.values[1], Some(1.0));
}

#[test]
fn other_formats_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, expected) in [
        (
            "m",
            "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, [1]]}\n\
               {\"timestamp\": 2999, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": []}",
            2.0,
        ),
        ("s", "{\"input_toks\": 2358, \"output_toks\": 531, \"arrival_time_ns\": 46926808}\n", 1.0),
        (
            "x",
            "{\"timestamp\": 6011, \"requests\": [{\"Prompt Length\": 178, \"Output Length\": 8, \"prompt\": \"a\"}, \
               {\"Prompt Length\": 1, \"Output Length\": 2}]}\n",
            2.0,
        ),
        (
            "g",
            "prompt_tokens,time_s,output_tokens,status\n1,0.5,2,200\n1,0.75,0,429\n1,1,2,timeout\n",
            3.0,
        ),
    ] {
        let read = reading(&trace(&file(folder.path(), name, text))).unwrap();
        assert_eq!(requests(&read.history), expected, "{name}");
    }
    // Columns that the site file names; dates are told by content, a unit by the column's name.
    let mut demand = declared("own.csv", TraceFormat::Csv);
    file(
        folder.path(),
        "own.csv",
        "when,in,out\n2024-02-29T23:59:59Z,1,2\n2024-03-01T00:00:00Z,1,2\n",
    );
    demand.columns = Some(TraceColumns {
        time: Some("when".to_owned()),
        prompt_tokens: Some("in".to_owned()),
        output_tokens: Some("out".to_owned()),
    });
    demand.rate_factor = Some(2.5);
    let source = Source::of(&Demand::Trace(demand.clone()), folder.path()).unwrap();
    let read = reading(&source).unwrap();
    assert_eq!(read.history.span().0, at("2024-02-29T23:59:59Z"));
    assert_eq!(requests(&read.history), 5.0);
    file(
        folder.path(),
        "own.jsonl",
        "{\"t_ms\": 1500, \"in\": 1, \"out\": 2}\n{\"t_ms\": \"2500\", \"in\": 1.0, \"out\": 2}\n",
    );
    demand.file = "own.jsonl".to_owned();
    demand.format = TraceFormat::JsonLines;
    demand.columns.as_mut().unwrap().time = Some("t_ms".to_owned());
    let source = Source::of(&Demand::Trace(demand), folder.path()).unwrap();
    assert_eq!(
        reading(&source).unwrap().history.series(WorkUnit::Requests).unwrap().values.len(),
        2
    );
}

#[test]
fn compression_is_told_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let first = format!("{AZURE}\n2023-11-16 18:15:46,374,44\n");
    let second = "2023-11-16 18:15:49,1,1\n";
    let plain = reading(&trace(&file(folder.path(), "p", format!("{first}{second}")))).unwrap();
    let members = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9];
    let frame = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    let frames = [frame(&first), frame(second)].concat();
    for (name, bytes) in
        [("g", members), ("z", frames.clone()), ("k", [skippable.to_vec(), frames].concat())]
    {
        let read = reading(&trace(&file(folder.path(), name, bytes))).unwrap();
        assert!(is_same(&read.history, &plain.history), "{name}");
    }
}

/// Each file that is wrong, and the whole of what is said about it.
#[test]
fn a_bad_file_has_its_line_and_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let good = format!("{AZURE}\n2023-11-16 18:15:46,374,44\n");
    let long: String = (0..4000).fold(good.clone(), |mut text, row| {
        let _ =
            writeln!(text, "2023-11-16 18:{:02}:{:02}.{row:07},{row},7", row / 60 % 60, row % 60);
        text
    });
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 200].to_vec();
    let rows = |rest: &str| format!("{good}{rest}").into_bytes();
    let cases: [(&str, Vec<u8>, &str); 23] = [
        ("empty.csv", vec![], "empty.csv: the file is empty; give a trace with at least one row"),
        (
            "header.csv",
            format!("{AZURE}\n").into_bytes(),
            "header.csv: the file has no rows; give a trace with at least one request",
        ),
        (
            "cut.gz",
            cut(gzip(long.as_bytes())),
            "cut.gz:LINE: the gzip file ends too early; fetch it again and check it with `gzip -t`",
        ),
        (
            "cut.zst",
            cut(zstd::encode_all(long.as_bytes(), 1).unwrap()),
            "cut.zst:LINE: the zstd file ends too early; fetch it again and check it with `zstd -t`",
        ),
        (
            "mixed.csv",
            rows("2023-11-16 18:15:47,1,1\r\n"),
            "mixed.csv:3: the line ends otherwise than the lines before it; two files were joined or \
             one was edited by hand: make all line ends the same, for example with dos2unix",
        ),
        (
            "negative.csv",
            rows("2023-11-16 18:15:47,-3,1\n"),
            "negative.csv:3, column ContextTokens: a negative number of tokens (found \"-3\"); mend or \
             remove the row",
        ),
        (
            "half.csv",
            rows("2023-11-16 18:15:47,3"),
            "half.csv:3: the row has 2 cells, the header 3, and the line is the last one and has no \
             end (found \"2023-11-16 18:15:47,3\"); the file was cut here: fetch it again, or remove \
             the line",
        ),
        (
            "count.csv",
            rows("2023-11-16 18:15:47,3,4,5\n"),
            "count.csv:3: the row has 4 cells, the header 3 (found \"2023-11-16 18:15:47,3,4,5\"); the \
             file may be cut or edited: mend or remove the row",
        ),
        (
            "again.csv",
            rows(&format!("{AZURE}\n2023-11-16 18:15:47,3,4\n")),
            "again.csv:3: the header stands there again; two files were joined: remove the line",
        ),
        (
            "twice.csv",
            b"TIMESTAMP,ContextTokens,ContextTokens,GeneratedTokens\n2023-11-16 18:15:47,3,4,5\n"
                .to_vec(),
            "twice.csv:1, column ContextTokens: the header names this column twice; rename one of the \
             two",
        ),
        (
            "latin.csv",
            [good.as_bytes(), b"2023-11-16 18:15:47,3,\xe44\n"].concat(),
            "latin.csv:3: the line is not UTF-8 text (found \"2023-11-16 18:15:47,3,\u{fffd}4\"); convert \
             the file, for example: iconv -f LATIN1 -t UTF-8",
        ),
        (
            "wide.csv",
            good.encode_utf16().fold(vec![0xff, 0xfe], |mut bytes, unit| {
                bytes.extend(unit.to_le_bytes());
                bytes
            }),
            "wide.csv: the file is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8",
        ),
        (
            "binary.csv",
            vec![0x7f, b'E', b'L', b'F', 0, 1, 2],
            "binary.csv: the file is binary: it holds a zero byte; give a CSV or JSONL trace",
        ),
        (
            "archive.csv",
            b"PK\x03\x04rest".to_vec(),
            "archive.csv: the file is a ZIP archive; unpack it and give the file inside",
        ),
        (
            "blank.csv",
            rows("\n2023-11-16 18:15:47,1,1\n"),
            "blank.csv:3: the line is empty; remove it",
        ),
        (
            "date.csv",
            rows("2023-11-31 18:15:47,1,1\n"),
            "date.csv:3, column TIMESTAMP: not a date and time (found \"2023-11-31 18:15:47\"); write it \
             as 2023-11-16 18:15:46.6805900, or name the column's unit if it is a number",
        ),
        (
            "kinds.csv",
            b"time_s,prompt_tokens,output_tokens\n1.5,1,1\n2023-11-16 18:15:47,1,1\n".to_vec(),
            "kinds.csv:3, column time_s: the rows before this one write time otherwise: numbers and \
             dates are mixed (found \"2023-11-16 18:15:47\"); write all times as seconds or all as dates",
        ),
        (
            "status.csv",
            b"time_s,prompt_tokens,output_tokens,status\n1.5,1,1,maybe\n".to_vec(),
            "status.csv:2, column status: the status is none that is known (found \"maybe\"); write `ok`, \
             `refused` or `timeout` (or 200, 429, 503, 504)",
        ),
        (
            "half.jsonl",
            b"{\"timestamp\":0,\"input_length\":1,\"output_length\":2}\n{\"timestamp\":5,\"inp"
                .to_vec(),
            "half.jsonl:2: not JSON: EOF while parsing a string in column 19, and the line is the last \
             one and has no end (found \"{\\\"timestamp\\\":5,\\\"inp\"); the file was cut here: fetch it \
             again, or remove the line",
        ),
        (
            "key.jsonl",
            b"{\"timestamp\":0,\"input_length\":1,\"output_length\":2,\"timestamp\":1}\n".to_vec(),
            "key.jsonl:1: the key `timestamp` stands there twice (found \
             \"{\\\"timestamp\\\":0,\\\"input_length\\\":1,\\\"output_length\\\":2,\\\"timestamp\\\":1}\"); one \
             JSON object a line",
        ),
        (
            "word.jsonl",
            b"{\"timestamp\":0,\"input_length\":1,\"output_length\":2,\"status\":true}\n".to_vec(),
            "word.jsonl:1, column status: neither a number nor a word (found \
             \"{\\\"timestamp\\\":0,\\\"input_length\\\":1,\\\"output_length\\\":2,\\\"status\\\":true}\"); write a \
             plain one, or null",
        ),
        (
            "far.csv",
            b"time_s,prompt_tokens,output_tokens\n170141183460469231731687303715,1,1\n".to_vec(),
            "far.csv:2, column time_s: neither a number of seconds nor a date (found \
             \"170141183460469231731687303715\"); write it as 12.5 or as 2023-11-16 18:15:46.6805900",
        ),
        (
            "unit.csv",
            b"time_s,prompt_tokens,output_tokens\n1700000000000000,1,1\n".to_vec(),
            "unit.csv:2: the time lies outside of the years 1677 to 2262; the unit of its times is another \
             one: name the column so that it ends in _ms, _us or _ns",
        ),
    ];
    for (name, bytes, expected) in cases {
        let error = reading(&trace(&file(folder.path(), name, bytes))).unwrap_err();
        let mut said = message(&error, folder.path());
        if let Some((before, rest)) = expected.split_once("LINE") {
            // Where the decompressor stops depends on its blocks.
            let (line, _) = said[before.len()..].split_once(':').unwrap();
            assert!((2..=4001).contains(&line.parse::<u32>().unwrap()), "{said}");
            said = format!("{before}LINE{}", &said[before.len() + line.len()..]);
            assert!(said.ends_with(rest), "{said}");
        }
        assert_eq!(said, expected);
    }
    let nowhere = reading(&trace(&folder.path().join("none.csv"))).unwrap_err();
    assert_eq!(
        message(&nowhere, folder.path()),
        "none.csv: cannot be opened: No such file or directory (os error 2); check the path and its \
         permissions"
    );
    let said = reading(&trace(folder.path())).unwrap_err().to_string();
    assert!(
        said.ends_with("is a folder and not a file; check the path and its permissions"),
        "{said}"
    );
}

#[test]
fn progress_reaches_the_end_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "t.csv", format!("{AZURE}\n2023-11-16 18:15:46,374,44\n"));
    let mut last = None;
    read(&trace(&path), &options(), &mut |progress| last = Some(progress)).unwrap();
    let last = last.unwrap();
    assert_eq!(last.done, last.total);
    assert_eq!(last.total, std::fs::metadata(&path).unwrap().len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The order of rows changes nothing but the count of rows that went back.
    #[test]
    fn order_means_nothing(
        seconds in prop::collection::vec(0_u32..10_000, 2..60),
        seed in any::<u64>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorted = seconds.clone();
        sorted.sort_unstable();
        let mut shuffled = seconds;
        // A fixed shuffle of the seed's making.
        for index in (1..shuffled.len()).rev() {
            let pick = (seed.rotate_left(index as u32) % (index as u64 + 1)) as usize;
            shuffled.swap(index, pick);
        }
        let write = |name: &str, seconds: &[u32]| {
            let mut text = String::from("time_s,prompt_tokens,output_tokens\n");
            for second in seconds {
                let _ = writeln!(text, "{},{},{}", 1_700_000_000 + second, second % 977, second % 13);
            }
            reading(&trace(&file(folder.path(), name, text))).unwrap()
        };
        let (one, other) = (write("sorted", &sorted), write("shuffled", &shuffled));
        prop_assert_eq!(one.rows_out_of_order, 0);
        let back = shuffled.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
        prop_assert_eq!(other.rows_out_of_order, back);
        prop_assert_eq!(other.notes.iter().any(|n| n.contains("after later ones")), back > 0);
        prop_assert!(is_same(&one.history, &other.history));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A file that is cut, or has one byte changed, is refused or read whole: no row is lost.
    #[test]
    fn a_damaged_file_is_refused_or_read_whole(
        at in 0_usize..400,
        byte in prop::option::of(any::<u8>()),
        json in any::<bool>(),
    ) {
        let mut text = if json { String::new() } else { format!("{AZURE}\n") };
        for row in 0..8 {
            let _ = if json {
                writeln!(text, "{{\"timestamp\": {row}5, \"input_length\": 7, \"output_length\": 1{row}}}")
            } else {
                writeln!(text, "2023-11-16 18:15:4{row}.6805900,37{row},{row}")
            };
        }
        let mut bytes = text.into_bytes();
        let at = at % bytes.len();
        match byte {
            Some(byte) => bytes[at] = byte,
            None => bytes.truncate(at),
        }
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        let mut rows = 0_usize;
        if let Ok(summary) = stream("t", bytes.as_slice(), None, |_| rows += 1) {
            prop_assert_eq!(rows, lines - usize::from(!json));
            prop_assert_eq!(summary.rows as usize, rows);
            let ends = bytes.last() == Some(&b'\n');
            prop_assert_eq!(summary.last_line_has_no_end, !ends);
        }
    }
}

/// The vidur files are the Azure traces by another hand, with times from 0 in seconds.
#[test]
fn two_writings_of_one_trace_give_one_history() {
    let Some(data) = real_data() else { return };
    let folder = data.join("1-llm-traces");
    for (azure, vidur, begins, rows) in [
        (
            "azure2023/AzureLLMInferenceTrace_code.csv",
            "vidur/splitwise_code.csv",
            "2023-11-16T18:17:03.97996Z",
            8_819,
        ),
        (
            "azure2023/AzureLLMInferenceTrace_conv.csv",
            "vidur/splitwise_conv.csv",
            "2023-11-16T18:15:46.68059Z",
            19_366,
        ),
    ] {
        let one = reading(&trace(&folder.join(azure))).unwrap();
        let Source::Trace(mut rebased) = trace(&folder.join(vidur)) else { panic!() };
        rebased.begins = Some(at(begins));
        let other = reading(&Source::Trace(rebased)).unwrap();
        assert_eq!((one.rows, other.rows), (rows, rows));
        assert!(is_same(&one.history, &other.history), "{azure}");
        assert_eq!(requests(&one.history), rows as f64);
    }
}

/// What the folder's description says of the real traces, seen through the history.
#[test]
fn real_traces_have_the_figures_of_their_description() {
    let Some(data) = real_data() else { return };
    let folder = data.join("1-llm-traces");
    for (name, rows, seconds, [p50, p95, o50, o95]) in [
        ("azure2023/AzureLLMInferenceTrace_code.csv", 8_819, 3436.0, [1469, 7315, 13, 90]),
        ("azure2023/AzureLLMInferenceTrace_conv.csv", 19_366, 3502.0, [1020, 4083, 129, 451]),
        ("mooncake/conversation_trace.jsonl.gz", 12_031, 3537.0, [6909, 39552, 350, 698]),
    ] {
        let source = Source::of_file(&folder.join(name)).unwrap();
        let read = reading(&source).unwrap();
        assert_eq!(read.rows, rows, "{name}");
        assert!((read.history.days() * 86_400.0 - seconds).abs() <= 2.0, "{name}");
        let tokens = read.history.tokens();
        let (prompt, output) = (tokens.prompt.unwrap(), tokens.output.unwrap());
        for (found, stated) in
            [(prompt.p50, p50), (prompt.p95, p95), (output.p50, o50), (output.p95, o95)]
        {
            // Quantiles above 2,048 come from buckets that are 0.1 % wide.
            assert!(found.abs_diff(stated) <= 1 + stated / 300, "{name}: {found} against {stated}");
        }
    }
    // The description counts 2,022 rows; each holds a list, and 8 minutes.
    let aibrix = reading(&trace(&folder.join("aibrix/8min_up_and_down.jsonl.gz"))).unwrap();
    assert!(aibrix.rows >= 2_022, "{}", aibrix.rows);
    assert!((aibrix.history.days() * 1440.0 - 8.0).abs() < 0.5, "{}", aibrix.history.days());
    // A list of lengths without arrivals is no demand.
    let lengths =
        folder.join("vidur/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv.gz");
    let error = reading(&Source::of_file(&lengths).unwrap()).unwrap_err().to_string();
    assert!(error.contains(":1: the columns are of no known trace"), "{error}");
}

#[test]
fn a_site_that_declares_no_source_has_none() {
    let think_time = Duration::from_secs(1);
    assert_eq!(Source::of(&Demand::Closed { users: 3, think_time }, Path::new("/")), None);
    assert_eq!(Source::of(&Demand::Table(Vec::new()), Path::new("/")), None);
    let saved = Source::of(&Demand::SavedQuery("a.json".to_owned()), Path::new("/site"));
    assert_eq!(saved.unwrap().name(), "/site/a.json");
}
