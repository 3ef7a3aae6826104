//! A site file begun from what was found: it is valid whatever a source says, and it holds what was found.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use cotenant_core::gpu;
use cotenant_core::machine::{
    Card, EngineFound, Filesystem, Found, Gpus, Machine, MigFound, MpsFound, NumaFound,
    SchedulerFound, missing,
};
use cotenant_core::site::{SchedulerKind, SharingMode, Site};
use cotenant_core::units::Bytes;
use cotenant_records::machine::machine_to_json;
use cotenant_records::site::{draft, has_errors, open_points, read_site};
use proptest::prelude::*;

fn card(index: u32) -> Card {
    Card {
        index,
        name: Ok("NVIDIA H100 80GB HBM3".into()),
        pci_device: Ok("0x233010DE".into()),
        sku: gpu::find("NVIDIA H100 80GB HBM3"),
        uuid: Ok(format!("GPU-0000000{index}-1d4e-4c5a-9b1f-7a0c33d0e810")),
        bus_id: Ok(format!("00000000:{index}B:00.0")),
        memory: Ok(Bytes(81_559 << 20)),
        mig: Ok(false),
        mig_after_reset: None,
        instances: Ok(Vec::new()),
        compute_mode: Ok("Default".into()),
        persistence: Ok(true),
        power_w: Ok(100.0),
        numa: Ok(index / 2),
        processes: Ok(Vec::new()),
        unusable: None,
    }
}

fn engine(port: u16) -> EngineFound {
    EngineFound {
        port,
        endpoint: format!("http://127.0.0.1:{port}"),
        engine: Ok("vllm".into()),
        version: Ok("0.33.0".into()),
        models: vec!["meta-llama/Llama-3.1-8B-Instruct".into()],
        metrics: Ok(format!("http://127.0.0.1:{port}/metrics")),
        clues: vec!["/v1/models is owned by vllm".into()],
        arguments: Ok(["python3", "/usr/bin/vllm", "serve", "--max-num-seqs", "128"]
            .map(str::to_owned)
            .to_vec()),
        cards: Ok(vec![0, 2]),
    }
}

/// A server with four cards of which one is lost, and an engine on two of them.
fn machine() -> Machine {
    let mut cards: Vec<Card> = (0..4).map(card).collect();
    cards[1].name = missing("the GPU is lost");
    cards[1].unusable = Some("the GPU is lost; look for Xid lines in the kernel's log".into());
    let found = |text: &str, how: &str| Ok(Found::new(text.to_owned(), how));
    Machine {
        name: found("gpu-01", "/proc/sys/kernel/hostname"),
        time_zone: found("Europe/Berlin", "/etc/localtime leads to it"),
        kernel: found("6.8.0-85-generic", "/proc/sys/kernel/osrelease"),
        cpu_model: found("Xeon", "/proc/cpuinfo"),
        cores_usable: Ok(Found::new(7.65, "affinity allows 96, the quota is 7.65 cores")),
        cores_visible: Ok(Found::new(96, "/proc/stat")),
        memory: Ok(Found::new(Bytes(64 << 30), "the control group's limit")),
        numa: Ok(Found::new(
            vec![
                NumaFound { node: 0, cpus: "0-23,48-71".into(), memory: Ok(Bytes(256 << 30)) },
                NumaFound { node: 1, cpus: "24-47,72-95".into(), memory: missing("not told") },
            ],
            "/sys/devices/system/node",
        )),
        filesystems: Ok(Found::new(
            vec![Filesystem {
                point: "/scratch".into(),
                kind: "xfs".into(),
                source: "/dev/nvme0n1p1".into(),
                disk: Ok("NVMe".into()),
                space: Ok((Bytes(2 << 40), Bytes(1 << 40))),
            }],
            "/proc/self/mountinfo",
        )),
        gpus: Gpus {
            source: Ok("NVML".into()),
            driver: found("590.48.01", "NVML"),
            cuda: found("13.1", "NVML"),
            cards,
            problems: vec!["GPU 1: the GPU is lost".into()],
        },
        nccl: missing("no libnccl.so.2 was seen"),
        mps: Ok(Found::new(None, "no process nvidia-cuda-mps-control is seen")),
        scheduler: Ok(Found::new(
            SchedulerFound {
                kind: SchedulerKind::Slurm,
                version: Ok("25.05.3".into()),
                notes: vec!["state: IDLE".into()],
            },
            "`scontrol show node gpu-01`",
        )),
        engines: Ok(Found::new(vec![engine(8000)], "3 ports on the loopback were asked")),
    }
}

/// The site that is read from the file that is begun; nothing but the placeholder is remarked upon.
fn site(machine: &Machine) -> Site {
    let text = draft(machine);
    let (site, problems) = read_site("site.yaml", text.as_bytes());
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
    assert!(!has_errors(&problems), "{problems:#?}\n{text}");
    assert!(codes.iter().all(|code| *code == "unprovable"), "{problems:#?}\n{text}");
    site.unwrap()
}

#[test]
fn a_server_is_begun_as_a_person_would_read_it() {
    insta::assert_snapshot!(draft(&machine()));
}

#[test]
fn what_was_found_is_what_is_read() {
    let site = site(&machine());
    let server = site.server().unwrap();
    assert_eq!(server.gpu.as_deref(), Some("h100-80-sxm"));
    assert_eq!(server.gpu_count, 3);
    assert_eq!(server.cpu_cores, Some(7.65));
    assert_eq!(server.memory, Some(Bytes(64 << 30)));
    // The driver's GPUs 2 and 3 are the second and the third that can be counted on.
    assert_eq!((&server.numa[0].gpus[..], &server.numa[1].gpus[..]), (&[0][..], &[1, 2][..]));
    let SharingMode::WholeGpu(held) = &site.sharing.mode else { panic!("{:?}", site.sharing) };
    assert_eq!(format!("{:?}", held.gpus), "{\"vllm\": [0, 1]}");
    assert!(open_points(&machine()).iter().any(|point| point.starts_with("sharing")));
}

#[test]
fn a_layout_is_written_card_by_card() {
    let mut machine = machine();
    let instance = |profile: &str, start| MigFound {
        profile: Ok(profile.into()),
        start: Ok(start),
        devices: vec![(Ok(profile.into()), Ok(format!("MIG-{start}")))],
    };
    machine.gpus.cards[2].mig = Ok(true);
    machine.gpus.cards[2].instances = Ok(vec![instance("3g.40gb", 0), instance("1g.10gb+me", 4)]);
    let SharingMode::Mig(layouts) = site(&machine).sharing.mode else { panic!("no layout") };
    assert_eq!(layouts.len(), 1);
    assert_eq!(layouts[0].gpus, [1]);
    let rows: Vec<_> =
        layouts[0].instances.iter().map(|one| (one.profile.as_str(), one.placement)).collect();
    assert_eq!(rows, [("3g.40gb", Some(0)), ("1g.10gb+me", Some(4))]);
    let text = draft(&machine);
    assert!(text.contains("# MIG-4\n"), "{text}");
}

#[test]
fn every_other_machine_gives_a_valid_file_too() {
    let mut mps = machine();
    mps.mps = Ok(Found::new(Some(MpsFound { daemons: vec![7], servers: vec![] }), "process 7"));
    assert!(matches!(site(&mps).sharing.mode, SharingMode::Mps(_)));

    let mut two = machine();
    two.engines = Ok(Found::new(vec![engine(8000), engine(8001)], "asked"));
    let names: Vec<String> = site(&two).workloads.iter().map(|one| one.name.clone()).collect();
    assert_eq!(names, ["vllm-8000", "vllm-8001"]);
    // Two engines on one card is no whole GPU, and the file says so.
    assert!(draft(&two).contains("WARNING: several engines"), "{}", draft(&two));

    let mut lost = machine();
    for card in &mut lost.gpus.cards {
        card.unusable = Some("the GPU is lost".into());
    }
    assert_eq!(site(&lost).server().unwrap().gpu, None);
    assert!(draft(&lost).contains("WARNING: 4 GPUs are there"), "{}", draft(&lost));

    let mut mixed = machine();
    mixed.gpus.cards[3].name = Ok("NVIDIA A100-SXM4-40GB".into());
    mixed.gpus.cards[3].sku = gpu::find("NVIDIA A100-SXM4-40GB");
    assert_eq!(site(&mixed).server().unwrap().gpu_count, 2);
    assert!(draft(&mixed).contains("it is another model"), "{}", draft(&mixed));

    let nothing = || missing::<Found<String>>("no such file");
    let silent = Machine {
        name: nothing(),
        time_zone: nothing(),
        kernel: nothing(),
        cpu_model: nothing(),
        cores_usable: missing("no such file"),
        cores_visible: missing("no such file"),
        memory: missing("no such file"),
        numa: missing("no such file"),
        filesystems: missing("no such file"),
        gpus: Gpus {
            source: missing("no driver"),
            driver: nothing(),
            cuda: nothing(),
            cards: Vec::new(),
            problems: Vec::new(),
        },
        nccl: nothing(),
        mps: missing("no process can be seen"),
        scheduler: missing("no process can be seen"),
        engines: missing("no port was to be asked"),
    };
    assert_eq!(site(&silent).workloads.len(), 1);
    assert!(machine_to_json(&silent).contains("\"missing\": \"no driver\""));
}

proptest! {
    /// Names of hosts, models and versions come from outside, and none of them breaks the file.
    #[test]
    fn no_text_of_a_source_breaks_the_file(text in "\\PC{0,40}|[:#\"'\\[\\]{}&*!|>%@`\\\\ \n\t-]{0,20}") {
        let mut machine = machine();
        let found = |how: &str| Ok(Found::new(text.clone(), how));
        machine.name = found(&text);
        machine.time_zone = found(&text);
        machine.kernel = found(&text);
        machine.gpus.driver = found(&text);
        for card in &mut machine.gpus.cards {
            card.uuid = Ok(text.clone());
            card.bus_id = missing(text.clone());
        }
        machine.gpus.problems.push(text.clone());
        if let Ok(engines) = &mut machine.engines {
            let engine = &mut engines.value[0];
            engine.models = vec![text.clone(), text.clone()];
            engine.clues.push(text.clone());
            engine.arguments = Ok(vec!["vllm".into(), text.clone()]);
        }
        let written = draft(&machine);
        let (site, problems) = read_site("site.yaml", written.as_bytes());
        prop_assert!(!has_errors(&problems) && site.is_some(), "{:#?}\n{}", problems, written);
    }
}
