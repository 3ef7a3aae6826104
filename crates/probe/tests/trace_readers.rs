//! Trace readers: real traces, and files that are wrong in every way that was thought of.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cotenant_probe::trace::{
    ColumnMap, ReadOptions, TimeUnit, Trace, TraceError, TraceFormat, TraceRequest, read, read_file,
};
use flate2::Compression;
use flate2::write::GzEncoder;

fn parse(text: &str) -> Result<Trace, Box<TraceError>> {
    read("t", text.as_bytes(), &ReadOptions::default())
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text:?}");
}

fn row(at_ns: u64, prompt_tokens: u32, output_tokens: u32) -> TraceRequest {
    TraceRequest { at: Duration::from_nanos(at_ns), prompt_tokens, output_tokens }
}

const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";

#[test]
fn azure_as_it_is_written() {
    let text = format!(
        "{AZURE}\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109"
    );
    let trace = parse(&text).unwrap();
    assert_eq!(trace.requests, [row(0, 374, 44), row(4_314_579_000, 396, 109)]);
    assert_eq!(trace.format.to_string(), "Azure CSV");
    // 2024 writes a zone.
    let text = format!(
        "{AZURE}\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10T02:00:00.5+02:00,1,2\n"
    );
    assert_eq!(parse(&text).unwrap().requests, [row(0, 2162, 5), row(490_070_000, 1, 2)]);
}

#[test]
fn mooncake_as_it_is_written() {
    let text = "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0]}\n\
                {\"timestamp\": 2999, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": []}";
    let trace = parse(text).unwrap();
    assert_eq!(trace.requests, [row(0, 6758, 500), row(2_999_000_000, 7, 5)]);
    assert_eq!(trace.format.to_string(), "Mooncake JSONL");
}

#[test]
fn columns_that_are_named() {
    for (unit, first, second) in [
        (TimeUnit::Seconds, "1700000000.5", "1700000001.750000001"),
        (TimeUnit::Milliseconds, "500", "1750.000001"),
        (TimeUnit::Microseconds, "500000", "1750000.001"),
        (TimeUnit::Nanoseconds, "500000000", "1750000001"),
        (TimeUnit::DateTime, "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:01.750000001Z"),
    ] {
        let map = ColumnMap::new("when", unit, "in", "out");
        let csv = format!("x,out,\"when\",in\n,2,{first},1\n\"a,\"\"b\"\"\",4.0,{second},3\n");
        let options = ReadOptions { format: Some(TraceFormat::Csv(map.clone())), sort: false };
        let expected = [row(0, 1, 2), row(1_250_000_001, 3, 4)];
        assert_eq!(read("t", csv.as_bytes(), &options).unwrap().requests, expected, "{unit:?}");
        let json = format!(
            "{{\"when\":\"{first}\",\"in\":1,\"out\":2}}\n{{\"when\":\"{second}\",\"in\":3,\"out\":4}}\n"
        );
        let options = ReadOptions { format: Some(TraceFormat::JsonLines(map)), sort: false };
        assert_eq!(read("t", json.as_bytes(), &options).unwrap().requests, expected, "{unit:?}");
    }
}

#[test]
fn gzip_is_told_by_its_first_bytes() {
    let text = format!("{AZURE}\n2023-11-16 18:15:46,374,44\n");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let trace = read("t.csv", packed.as_slice(), &ReadOptions::default()).unwrap();
    assert_eq!(trace.requests, [row(0, 374, 44)]);
    let cut = &packed[..packed.len() - 9];
    let error = read("t.gz", cut, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the gzip file ends too early") && error.contains("gzip -t"), "{error}");
    let mut flipped = packed.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 0xff;
    let error = read("t.gz", flipped.as_slice(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("damaged"), "{error}");
}

#[test]
fn a_bad_row_has_its_place_its_text_and_a_way_out() {
    refused("", "t: the file is empty; give a trace with at least one row");
    refused(AZURE, "t: the file has no rows; give a trace with at least one request");
    refused(
        &format!("{AZURE}\n2023-11-16 18:15:46,374,44\n2023-11-16 18:15:47,-3,44\n"),
        "t:3, column ContextTokens: a negative number of tokens (found \"-3\"); mend or remove the row",
    );
    refused(
        &format!("{AZURE}\n2023-11-16 18:15:46,374,\n"),
        "t:2, column GeneratedTokens: the cell is empty (found \"\"); mend or remove the row",
    );
    refused(
        &format!("{AZURE}\n2023-11-16 18:15:46,374,4.5\n"),
        "t:2, column GeneratedTokens: not a whole number of tokens (at most 4294967295) \
         (found \"4.5\"); mend or remove the row",
    );
    refused(
        &format!("{AZURE}\n2023-11-31 18:15:46,374,4\n"),
        "t:2, column TIMESTAMP: not a date and time (found \"2023-11-31 18:15:46\"); write it as \
         2023-11-16 18:15:46.6805900, or name the column's unit if it is a number",
    );
    refused(
        &format!("{AZURE}\n2023-11-16 18:15:46,374\n"),
        "t:2: the row has 2 cells, the header 3 (found \"2023-11-16 18:15:46,374\"); the file may \
         be cut or edited: mend or remove the row",
    );
    refused(
        &format!("{AZURE}\r\n2023-11-16 18:15:46,374,1\n"),
        "t:2: the line ends otherwise than the lines before it; two files were joined or one was \
         edited by hand: make all line ends the same, for example with dos2unix",
    );
    refused(
        &format!("{AZURE}\n\n2023-11-16 18:15:46,374,1\n"),
        "t:2: the line is empty; remove it",
    );
    refused(
        &format!("{AZURE}\n\"2023-11-16 18:15:46,374,1\n"),
        "t:2: a quoted cell has no end on its line (found \"\\\"2023-11-16 18:15:46,374,1\"); one \
         request a line: remove line breaks inside cells",
    );
    let unknown = parse("a,b,c\n1,2,3\n").unwrap_err().to_string();
    assert!(unknown.starts_with("t:1: the columns are of no known trace: a, b, c"), "{unknown}");
    let json =
        parse("{\"timestamp\":0,\"input_length\":1,\"output_length\":2}\n{\"timestamp\":0\n");
    let json = json.unwrap_err().to_string();
    assert!(json.starts_with("t:2: not JSON"), "{json}");
    let lacks = "{\"timestamp\":0,\"input_length\":1,\"output_length\":2}\n{\"timestamp\":5}\n";
    assert!(parse(lacks).unwrap_err().to_string().contains("column input_length: the row lacks"));
    let binary = read("t", [0xfe, 0xed, 0, 1, 2].as_slice(), &ReadOptions::default());
    assert!(binary.unwrap_err().to_string().contains("the file is binary"));
    let latin = read("t", [0xfe, 0xed, b'\n'].as_slice(), &ReadOptions::default());
    assert!(latin.unwrap_err().to_string().contains("not UTF-8"));
    let nowhere = read_file(Path::new("/no/such/file"), &ReadOptions::default()).unwrap_err();
    assert!(nowhere.to_string().contains("cannot be opened"), "{nowhere}");
}

#[test]
fn times_that_go_back_are_sorted_only_where_asked() {
    let text = "arrived_at,num_prefill_tokens,num_decode_tokens\n3.0,1,1\n1.0,2,2\n2.0,3,3\n";
    let error = parse(text).unwrap_err().to_string();
    assert!(error.starts_with("t:3: the row arrived before the row above it"), "{error}");
    let sort = ReadOptions { sort: true, ..ReadOptions::default() };
    let trace = read("t", text.as_bytes(), &sort).unwrap();
    assert_eq!(trace.rows_out_of_order, 1);
    assert_eq!(trace.requests, [row(0, 2, 2), row(1_000_000_000, 3, 3), row(2_000_000_000, 1, 1)]);
}

/// The folder of real traces, or `None` with the reason printed.
fn real_traces() -> Option<PathBuf> {
    let shared = std::env::var_os("COTENANT_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let traces = shared.join("data/1-llm-traces");
    if traces.is_dir() {
        return Some(traces);
    }
    assert!(
        std::env::var_os("COTENANT_REQUIRE_SHARED").is_none_or(|value| value != "1"),
        "COTENANT_REQUIRE_SHARED=1, but there is no {}",
        traces.display()
    );
    eprintln!("skipped: no folder of real traces at {}", traces.display());
    None
}

/// Number of rows, mean rate, and the median and 95th percentile (⌈qn⌉-th order statistic) of
/// prompts and answers.
fn summary(trace: &Trace) -> (usize, f64, [u32; 4]) {
    let count = trace.requests.len();
    let rate = count as f64 / trace.span().as_secs_f64();
    let quantile = |q: f64, of: fn(&TraceRequest) -> u32| {
        let mut values: Vec<u32> = trace.requests.iter().map(of).collect();
        values.sort_unstable();
        values[(q * count as f64).ceil() as usize - 1]
    };
    let prompt = |request: &TraceRequest| request.prompt_tokens;
    let output = |request: &TraceRequest| request.output_tokens;
    let lengths = [
        quantile(0.5, prompt),
        quantile(0.95, prompt),
        quantile(0.5, output),
        quantile(0.95, output),
    ];
    (count, rate, lengths)
}

/// What the folder's own description says of each trace.
#[test]
fn real_traces_have_the_figures_of_their_description() {
    let Some(folder) = real_traces() else { return };
    let expected = [
        ("azure2023/AzureLLMInferenceTrace_code.csv", 8819, 2.57, 3436, [1469, 7315, 13, 90]),
        ("azure2023/AzureLLMInferenceTrace_conv.csv", 19366, 5.53, 3502, [1020, 4083, 129, 451]),
        ("mooncake/conversation_trace.jsonl.gz", 12031, 3.40, 3537, [6909, 39552, 350, 698]),
    ];
    for (file, rows, rate, span_s, lengths) in expected {
        let trace = read_file(&folder.join(file), &ReadOptions::default()).unwrap();
        let (count, mean_rate, found) = summary(&trace);
        assert_eq!(count, rows, "{file}");
        assert!((mean_rate - rate).abs() < 0.006, "{file}: {mean_rate}");
        assert!(trace.span().as_secs().abs_diff(span_s) <= 1, "{file}: {:?}", trace.span());
        for (found, stated) in found.into_iter().zip(lengths) {
            assert!(found.abs_diff(stated) <= 1 + stated / 500, "{file}: {found} against {stated}");
        }
    }
    let lengths = "llmservingsim/sharegpt-llama-3.1-8b-300-sps10_lengths.jsonl";
    let trace = read_file(&folder.join(lengths), &ReadOptions::default()).unwrap();
    assert_eq!(trace.requests.len(), 300);
}

/// The vidur files are the Azure traces by another hand, with times from 0 in seconds.
#[test]
fn two_writings_of_one_trace_agree() {
    let Some(folder) = real_traces() else { return };
    for (azure, vidur) in [
        ("azure2023/AzureLLMInferenceTrace_code.csv", "vidur/splitwise_code.csv"),
        ("azure2023/AzureLLMInferenceTrace_conv.csv", "vidur/splitwise_conv.csv"),
    ] {
        let one = read_file(&folder.join(azure), &ReadOptions::default()).unwrap();
        let other = read_file(&folder.join(vidur), &ReadOptions::default()).unwrap();
        assert_eq!(one.requests.len(), other.requests.len());
        for (one, other) in one.requests.iter().zip(&other.requests) {
            assert!(one.at.abs_diff(other.at) <= Duration::from_micros(1), "{one:?} {other:?}");
            assert_eq!(
                (one.prompt_tokens, one.output_tokens),
                (other.prompt_tokens, other.output_tokens)
            );
        }
    }
}
