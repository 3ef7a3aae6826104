//! What an engine's log owns of its own start: the parts that it prints with their times.
//!
//! Only parts that do not contain each other: vLLM's "init engine" contains compiling and capturing
//! graphs, and "Model loading" the loading of weights, so those are not added beside them.

use cotenant_core::evidence::ChangePart;

/// Text that begins a part, its name, and the text behind its seconds.
const PARTS: [(&str, &str, &str); 2] = [
    ("Model loading took", "model loading", " second"),
    ("init engine (", "init engine", " second"),
];

/// The part that a line tells, if it tells one.
pub(super) fn start_part(line: &str) -> Option<ChangePart> {
    PARTS.into_iter().find_map(|(begin, name, unit)| {
        let (_, rest) = line.split_once(begin)?;
        let (before, _) = rest.split_once(unit)?;
        let seconds: f64 = before.split_whitespace().next_back()?.parse().ok()?;
        let sane = seconds.is_finite() && seconds >= 0.0;
        sane.then(|| ChangePart { name: name.to_owned(), seconds, logged: true })
    })
}

/// Adds a part. Ranks that do the same at once print it once each: the longest counts.
pub(super) fn add_part(parts: &mut Vec<ChangePart>, part: ChangePart) {
    match parts.iter_mut().find(|known| known.name == part.name) {
        Some(known) => known.seconds = known.seconds.max(part.seconds),
        None => parts.push(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_start_are_read_once_each() {
        let lines = [
            "INFO 06-30 10:00:01 [gpu_model_runner.py:1593] Model loading took 6.0160 GiB and 3.305 seconds",
            "(VllmWorker TP1 pid=9) INFO [gpu_model_runner.py:1] Model loading took 6.0160 GiB and 4.1 seconds",
            "INFO 06-30 10:00:09 [gpu_model_runner.py:2048] Graph capturing finished in 17 secs, took 0.48 GiB",
            "INFO 06-30 10:00:10 [core.py:171] init engine (profile, create kv cache, warmup model) took 34.10 seconds",
            "Model loading took forever",
        ];
        let mut parts = Vec::new();
        lines
            .iter()
            .filter_map(|line| start_part(line))
            .for_each(|part| add_part(&mut parts, part));
        let told: Vec<(&str, f64)> =
            parts.iter().map(|part| (part.name.as_str(), part.seconds)).collect();
        assert_eq!(told, [("model loading", 4.1), ("init engine", 34.1)]);
    }
}
