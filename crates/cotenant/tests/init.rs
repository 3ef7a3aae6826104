//! `cotenant init` as a user meets it: on a machine without a GPU, on one whose driver is a double, beside
//! an engine. Whatever it writes, `check` must take.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use nvml_double::{hosts, install};
use serde_json::Value;
use tempfile::TempDir;

/// What the program said.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the program in a folder. The driver is the one named, else none.
fn cotenant(folder: &Path, driver: Option<&Path>, arguments: &[&str]) -> Said {
    let nothing = folder.join("no-such-library.so");
    let output = Command::new(env!("CARGO_BIN_EXE_cotenant"))
        .current_dir(folder)
        .env("COTENANT_NVML", driver.unwrap_or(&nothing))
        .env("NO_COLOR", "1")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The file that is written with this driver; `check` has taken it.
fn written(folder: &Path, driver: Option<&Path>, engines: &str) -> String {
    let said = cotenant(folder, driver, &["init", "--engines", engines]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("then: cotenant check site.yaml"), "{}", said.stderr);
    let text = fs::read_to_string(folder.join("site.yaml")).unwrap();
    let checked = cotenant(folder, None, &["check", "site.yaml"]);
    assert_eq!(checked.code, Some(0), "{}\n{text}", checked.stderr);
    // What is a placeholder is told as open.
    assert!(checked.stderr.contains("unprovable"), "{}", checked.stderr);
    text
}

/// What a second parser reads in it.
fn read(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn with_host(host: &str, engines: &str) -> String {
    let folder = TempDir::new().unwrap();
    let library = install(folder.path(), host).unwrap();
    written(folder.path(), Some(&library), engines)
}

#[test]
fn a_machine_without_a_gpu_gives_a_valid_file() {
    let folder = TempDir::new().unwrap();
    let text = written(folder.path(), None, "none");
    let site = read(&text);
    assert_eq!(site["server"]["gpu"], "none");
    assert_eq!(site["server"]["gpu_count"], 0);
    assert_eq!(site["sharing"]["mode"], "host_cpu");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(site["server"]["kernel"], kernel.trim());
    // The reason why there is no GPU stands beside it.
    let unwrapped = text.replace("\n  # ", " ");
    assert!(unwrapped.contains("found: no GPU can be read: NVML: "), "{text}");
    assert!(unwrapped.contains("no-such-library.so cannot be loaded"), "{text}");
    assert!(text.lines().all(|line| !line.contains('\t')), "{text}");
}

#[test]
fn a_file_that_exists_is_not_written_over() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("site.yaml"), "mine").unwrap();
    let said = cotenant(folder.path(), None, &["init", "--engines", "none"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("site.yaml exists"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("site.yaml")).unwrap(), "mine");
    // Printing needs no file, and --force is asked for.
    let printed = cotenant(folder.path(), None, &["init", "-", "--engines", "none"]);
    assert_eq!(printed.code, Some(0));
    assert!(printed.stdout.contains("\nworkloads:\n"), "{}", printed.stdout);
    assert_eq!(fs::read_to_string(folder.path().join("site.yaml")).unwrap(), "mine");
    let forced = cotenant(folder.path(), None, &["init", "--force", "--engines", "none"]);
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert_ne!(fs::read_to_string(folder.path().join("site.yaml")).unwrap(), "mine");
}

#[test]
fn eight_cards_are_written_with_their_model_and_uuids() {
    let text = with_host(hosts::H100_8, "none");
    let site = read(&text);
    let server = &site["server"];
    assert_eq!(server["gpu"], "h100-80-sxm");
    assert_eq!(server["gpu_count"], 8);
    assert_eq!(server["gpu_memory"], "81559 MiB");
    assert_eq!(server["driver"], "590.48.01");
    assert!(text.contains("  cuda: 13.1\n") || text.contains("  cuda: 13.1  #"), "{text}");
    let described: Value = serde_json::from_str(hosts::H100_8).unwrap();
    for (number, card) in described["gpus"].as_array().unwrap().iter().enumerate() {
        let uuid = card["uuid"].as_str().unwrap();
        assert!(text.contains(&format!("# GPU {number}: {uuid}, at ")), "{uuid}\n{text}");
    }
    assert!(site["sharing"]["mode"].get("whole_gpu").is_some(), "{text}");
}

#[test]
fn the_mig_layout_is_written_with_places_and_uuids() {
    let text = with_host(hosts::H100_8_MIG, "none");
    let site = read(&text);
    let layouts = site["sharing"]["mode"]["mig"].as_array().unwrap();
    let gpus: Vec<&Value> = layouts.iter().map(|layout| &layout["gpus"][0]).collect();
    assert_eq!(gpus, [&Value::from(4), &Value::from(5), &Value::from(6)]);
    let rows = |layout: &Value| {
        let instances = layout["instances"].as_array().unwrap();
        let row = |one: &Value| {
            (
                one["profile"].as_str().unwrap().to_owned(),
                one.get("placement").and_then(Value::as_u64),
            )
        };
        instances.iter().map(row).collect::<Vec<_>>()
    };
    let at = |profile: &str, start| (profile.to_owned(), start);
    assert_eq!(
        rows(&layouts[0]),
        [
            at("2g.20gb", Some(0)),
            at("1g.10gb", Some(2)),
            at("1g.10gb", Some(3)),
            at("3g.40gb", Some(4)),
        ]
    );
    assert_eq!(rows(&layouts[1]).len(), 7);
    // Two compute instances in one instance are one; places that the driver keeps back are left out.
    assert_eq!(rows(&layouts[2]), [at("3g.40gb", None), at("3g.40gb", None)]);
    assert!(text.contains("its placement: no permission"), "{text}");
    assert!(text.contains("GPU 7: MIG is on and no instance exists"), "{text}");
    assert!(text.contains("MIG on after its next reset"), "{text}");
    let described: Value = serde_json::from_str(hosts::H100_8_MIG).unwrap();
    for card in described["gpus"].as_array().unwrap() {
        let devices = card["mig"]["devices"].as_array();
        for device in devices.into_iter().flatten() {
            let uuid = device["uuid"].as_str().unwrap();
            assert!(text.contains(uuid), "{uuid}\n{text}");
        }
    }
}

#[test]
fn cards_that_are_lost_or_denied_are_told_and_not_counted() {
    let text = with_host(hosts::H100_8_FAULTS, "none");
    let site = read(&text);
    assert_eq!(site["server"]["gpu"], "h100-80-sxm");
    let count = site["server"]["gpu_count"].as_u64().unwrap();
    let warnings = text.matches("is not counted").count() as u64;
    assert_eq!(count + warnings, 8, "{text}");
    assert!(count <= 5, "GPUs 0 and 1 are lost and 2 may not be looked at: {text}");
    let plain = text.replace("\n  # ", " ");
    assert!(plain.contains("GPU 0 is not counted: the GPU is lost"), "{plain}");
    assert!(plain.contains("GPU 2 is not counted: no permission; run it as a user"), "{plain}");
    assert!(plain.contains("which the driver calls 3"), "{plain}");
}

#[test]
fn what_was_found_is_data_with_reasons() {
    let folder = TempDir::new().unwrap();
    let library = install(folder.path(), hosts::H100_8_FAULTS).unwrap();
    let said =
        cotenant(folder.path(), Some(&library), &["init", "--format", "json", "--engines", "none"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(found["version"], 1);
    let cards = found["gpus"]["cards"].as_array().unwrap();
    assert_eq!(cards.len(), 8);
    assert_eq!(cards[4]["sku"], "h100-80-sxm");
    assert!(cards[3]["processes"]["missing"].as_str().unwrap().contains("no permission"));
    assert!(cards[0]["unusable"].as_str().unwrap().contains("lost"));
    assert!(!folder.path().join("site.yaml").exists());
}

/// Answers as vLLM does, until the program that asks is done. Gives the lines that were asked.
fn vllm(listener: TcpListener) -> std::thread::JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut asked = Vec::new();
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            if first == "END" {
                break;
            }
            // The rest of the head, up to the empty line.
            for line in lines {
                if line.unwrap().is_empty() {
                    break;
                }
            }
            let (status, body) = match first.split(' ').nth(1).unwrap() {
                "/version" => ("200 OK", r#"{"version":"0.33.0"}"#),
                "/v1/models" => ("200 OK", r#"{"data":[{"id":"acme/tiny","owned_by":"vllm"}]}"#),
                "/metrics" => ("200 OK", "vllm:num_requests_running 0\n"),
                _ => ("404 Not Found", ""),
            };
            let length = body.len();
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
            asked.push(first);
        }
        asked
    })
}

#[test]
fn an_engine_on_the_loopback_becomes_a_workload_and_is_only_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = vllm(listener);
    let folder = TempDir::new().unwrap();
    let text = written(folder.path(), None, &address.port().to_string());
    TcpStream::connect(address).unwrap().write_all(b"END\n").unwrap();
    let asked = server.join().unwrap();
    assert!(!asked.is_empty() && asked.iter().all(|line| line.starts_with("GET /")), "{asked:?}");
    let site = read(&text);
    let workload = &site["workloads"][0];
    assert_eq!(workload["name"], "vllm");
    assert_eq!(workload["model"]["name"], "acme/tiny");
    let inference = &workload["inference"];
    assert_eq!(inference["endpoint"], format!("http://{address}"));
    assert_eq!(inference["metrics"], format!("http://{address}/metrics"));
    assert_eq!((&inference["runtime"], &inference["version"]), (&"vllm".into(), &"0.33.0".into()));
    assert!(text.contains("FILL IN what must hold"), "{text}");
}

#[test]
fn every_line_that_is_commented_out_is_good_when_the_mark_is_taken_away() {
    let folder = TempDir::new().unwrap();
    let text = written(folder.path(), None, "none");
    let (start, rest) = text.split_once("  # - name: tune\n").unwrap();
    let (block, rest) = rest.split_once("\n\n").unwrap();
    let block: Vec<&str> = block.lines().map(|line| line.strip_prefix("  # ").unwrap()).collect();
    let block = format!("  - name: tune\n  {}", block.join("\n  "));
    let operations = rest.replace("# operations:", "operations:").replace("#   ", "  ");
    let text = format!("{start}{block}\n\n{operations}");
    fs::write(folder.path().join("whole.yaml"), &text).unwrap();
    let checked = cotenant(folder.path(), None, &["check", "whole.yaml"]);
    assert_eq!(checked.code, Some(0), "{}\n{text}", checked.stderr);
    assert!(read(&text)["operations"]["reclaim_time"] == "5 min", "{text}");
}
