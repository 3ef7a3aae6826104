//! Measured runs of real engines from `vllm-h100-ground-truth.csv`, as something that the simulator
//! can serve: stages become classes.
//!
//! The tool that measured them sends prompts of constant length (it keeps no history of a
//! conversation), with Poisson arrivals stretched to the stage's length, to users in turn; each
//! group of users shares a system prompt. Its time per token is the whole answer's over its tokens.

use std::collections::BTreeMap;

use cotenant_core::perf::{
    Architecture, Efficiencies, IntegerStep, PeakRates, StepModel, known_model, prior,
};
use cotenant_core::sim::calibration::{GroupTimes, ServedRun};
use cotenant_core::sim::engine::{Prefix, ReplicaSpec, Role, SimRequest};
use cotenant_core::units::Picoseconds;
use rand_distr::{Distribution as _, Exp1};
use rand_pcg::Pcg64;

type Row = BTreeMap<String, String>;

/// The step of a run's model on its GPUs, from logarithms of efficiencies.
pub(crate) fn model((shape, gpus): &(Architecture, u32), at: &[f64]) -> StepModel {
    let values: [f64; 12] = std::array::from_fn(|index| at[index].exp());
    let rates = PeakRates::of("h100-80-sxm").expect("in the catalogue");
    prior(shape, rates, *gpus, &Efficiencies::from_array(values))
}

/// The runs of the file: stages become classes.
pub(crate) fn runs(text: &str) -> (Vec<ServedRun>, Vec<(Architecture, u32)>) {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let rows = lines.map(|line| -> Row {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(line.split(',').map(str::to_owned))
            .collect()
    });
    let mut grouped: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows.filter(|row| row["stage"] != "-1") {
        grouped.entry(row["run"].clone()).or_default().push(row);
    }
    let shape = |rows: &Vec<Row>| {
        let shape = known_model(&rows[0]["model"]).expect("a known model");
        (shape, rows[0]["tp"].parse().expect("a count"))
    };
    let shapes = grouped.values().map(shape).collect();
    (grouped.into_iter().map(|(name, rows)| run(name, &rows)).collect(), shapes)
}

fn run(name: String, rows: &[Row]) -> ServedRun {
    let whole = |row: &Row, field: &str| row[field].parse::<u32>().expect("a whole number");
    let ms = |row: &Row, field: &str| row[field].parse::<f64>().ok().map(|ms| ms / 1e3);
    let first = &rows[0];
    let users = whole(first, "users_per_prompt");
    let sessions = users * whole(first, "system_prompts");
    let mut requests = Vec::new();
    let mut seen = Vec::new();
    let mut random = Pcg64::new(1, 7);
    let mut begins = 0.0;
    for row in rows {
        let class = whole(row, "stage") as u16;
        let rate: f64 = row["rate"].parse().expect("a rate");
        let duration: f64 = row["duration_s"].parse().expect("a duration");
        let count = (rate * duration) as usize;
        let gaps: Vec<f64> = (0..count).map(|_| Exp1.sample(&mut random)).collect();
        let stretch = duration / gaps.iter().sum::<f64>();
        let mut at = begins;
        for (index, gap) in gaps.iter().enumerate() {
            at += gap * stretch;
            let group = (index as u32 % sessions) / users;
            let system = whole(row, "system_prompt_len");
            requests.push(SimRequest {
                id: requests.len() as u64,
                at: Picoseconds::from_seconds(at),
                prompt_tokens: system + whole(row, "question_len"),
                output_tokens: whole(row, "output_len"),
                class,
                prefix: Some(Prefix { group, tokens: system }),
            });
        }
        begins += duration;
        seen.push(GroupTimes {
            class,
            requests: count as u64,
            ttft_s: ms(row, "ttft_mean"),
            e2e_s: ms(row, "e2e_mean"),
            token_s: None,
            normalised_token_s: ms(row, "itl_mean"),
        });
    }
    let spec = ReplicaSpec {
        step: IntegerStep::default(),
        kv_blocks: whole(first, "kv_blocks").into(),
        block_tokens: 16,
        sequences_max: whole(first, "max_num_seqs"),
        batched_tokens_max: whole(first, "max_num_batched_tokens"),
        requests_max: None,
        prefix_cache: true,
        role: Role::Both,
    };
    ServedRun { name, spec, requests, seen }
}
