//! Resources as Slurm writes them: memory, TRES lists (`cpu=8,gres/gpu:h200=8`) and GRES lists
//! (`gpu:a100:4(S:0-1),shard:10`).

use super::refusal::shortened;
use super::stated::{Absence, Stated, absence_of, count, unreadable};

/// What an amount of memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPer {
    /// Each node: the suffix `n`.
    Node,
    /// Each processor: the suffix `c`.
    Cpu,
    /// Each GPU.
    Gpu,
    /// The whole job, or the file does not say.
    Job,
}

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// The amount, MiB; Slurm's `M` are MiB.
    pub mib: f64,
    /// What it is for.
    pub per: MemoryPer,
}

/// Slurm marks memory per processor by the highest bit of the number. Where a program prints the bare
/// number, 3000 MiB per processor reads 2147486648.
const PER_CPU_32: f64 = 2_147_483_648.0;

/// An amount of memory: `31000Mn`, `4G`, `320.5G`, `1T`; a bare number is MiB.
pub(super) fn memory(text: &str) -> Stated<Memory> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    let text = text.trim();
    let (amount, per) = match text.as_bytes().last() {
        Some(b'n') => (&text[..text.len() - 1], MemoryPer::Node),
        Some(b'c') => (&text[..text.len() - 1], MemoryPer::Cpu),
        _ => (text, MemoryPer::Job),
    };
    let Some(mib) = mib(amount) else { return unreadable(text) };
    if (PER_CPU_32..2.0 * PER_CPU_32).contains(&mib) {
        return Ok(Memory { mib: mib - PER_CPU_32, per: MemoryPer::Cpu });
    }
    Ok(Memory { mib, per })
}

/// MiB of an amount with a suffix of binary thousands; without one it is MiB already.
pub(super) fn mib(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 1.0 / 1024.0),
        b'M' | b'm' => (&text[..text.len() - 1], 1.0),
        b'G' | b'g' => (&text[..text.len() - 1], 1024.0),
        b'T' | b't' => (&text[..text.len() - 1], 1024.0 * 1024.0),
        b'P' | b'p' => (&text[..text.len() - 1], 1024.0 * 1024.0 * 1024.0),
        _ => (text, 1.0),
    };
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit());
    let number = digits.parse::<f64>().ok().filter(|_| is_number)?;
    Some(number * factor).filter(|mib| mib.is_finite())
}

/// One entry of a TRES list.
#[derive(Clone, Debug, PartialEq)]
pub struct Tres {
    /// `cpu`, `mem`, `node`, `billing`, `gres/gpu`, `gres/gpu:h200`.
    pub name: String,
    /// How much; memory in MiB.
    pub amount: Stated<f64>,
}

/// A TRES list: `cpu=12,gres/gpu=2,mem=31000M,node=1`.
pub(super) fn tres(text: &str) -> Stated<Vec<Tres>> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    let mut list = Vec::new();
    for part in text.trim().split(',') {
        list.push(match part.split_once('=') {
            Some((name, amount)) => {
                Tres { name: name.trim().to_owned(), amount: tres_amount(name, amount) }
            }
            // Some versions write generic resources as they are asked for: `gres/gpfs:ess:1`.
            None if part.starts_with("gres/") && text.contains('=') => {
                let entry = gres_entry(part);
                let name = match entry.model {
                    Some(model) => format!("gres/{}:{model}", entry.name),
                    None => format!("gres/{}", entry.name),
                };
                Tres { name, amount: entry.count.map(|count| count as f64) }
            }
            None => return unreadable(text),
        });
    }
    Ok(list)
}

fn tres_amount(name: &str, amount: &str) -> Stated<f64> {
    if amount.is_empty() {
        return Err(Absence::CutOff);
    }
    if let Some(absence) = absence_of(amount) {
        return Err(absence);
    }
    // Negative numbers are Slurm's marks for "not counted".
    match mib(amount) {
        Some(number) if name.trim() == "mem" => Ok(number),
        Some(number) if amount.ends_with(|last: char| last.is_ascii_digit()) => Ok(number),
        Some(number) => Ok(number * 1024.0 * 1024.0),
        None => unreadable(amount),
    }
}

/// One entry of a GRES list.
#[derive(Clone, Debug, PartialEq)]
pub struct Gres {
    /// `gpu`, `mps`, `shard`, `mig` or another name.
    pub name: String,
    /// The type: `a100`; `None` where the entry has none.
    pub model: Option<String>,
    /// How many; absent where the entry is cut off before its number.
    pub count: Stated<u64>,
    /// Which of them: `0-2` of `(IDX:0-2)`.
    pub indices: Option<String>,
    /// The sockets near which they are: `0-1` of `(S:0-1)`.
    pub sockets: Option<String>,
}

/// Most entries of a GRES list that are kept.
const GRES_MAX: usize = 4096;

/// A GRES list. `(null)` and nothing are a list that is not set.
pub(super) fn gres(text: &str) -> Stated<Vec<Gres>> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    let mut list = Vec::new();
    for part in outside_parentheses(text.trim()) {
        let part = part.trim();
        if !part.is_empty() && list.len() < GRES_MAX {
            list.push(gres_entry(part));
        }
    }
    Ok(list)
}

/// The parts between commas that are in no parentheses.
fn outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_u32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn gres_entry(entry: &str) -> Gres {
    // `gpu:(null):0(IDX:N/A)`: a type that does not exist stands in parentheses too.
    let entry = entry.replacen("(null)", "", usize::from(entry.contains(":(null):")));
    let (head, tail) =
        entry.split_once('(').map_or((entry.as_str(), ""), |(head, tail)| (head, tail));
    let tail = tail.trim_end_matches(')');
    let head = head
        .strip_prefix("gres/")
        .or_else(|| head.strip_prefix("gres:"))
        .unwrap_or(head)
        .replace('=', ":");
    let mut parts: Vec<&str> = head.split(':').filter(|part| *part != "no_consume").collect();
    let name = if parts.is_empty() { String::new() } else { parts.remove(0).to_owned() };
    let number = parts.last().and_then(|last| gres_count(last));
    if number.is_some() {
        parts.pop();
    }
    let model = parts.join(":");
    let word = |mark: &str| {
        tail.strip_prefix(mark)
            .filter(|rest| *rest != "N/A")
            .map(|rest| rest.trim_end_matches(')').to_owned())
    };
    Gres {
        name,
        model: Some(model).filter(|model| !model.is_empty()),
        count: number.ok_or(Absence::CutOff),
        indices: word("IDX:"),
        sockets: word("S:"),
    }
}

fn gres_count(text: &str) -> Option<u64> {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    // The last character may be of several bytes: what was no UTF-8 stands as one of three.
    let last = text.chars().next_back()?;
    let (digits, unit) = text.split_at(text.len() - last.len_utf8());
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// GPUs as a scheduler counts them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gpus {
    /// Whole GPUs.
    pub total: f64,
    /// MIG instances, which some clusters count under the same name.
    pub mig_instances: f64,
    /// By type: the type, and how many; without those whose type the file does not name.
    pub by_model: Vec<(String, f64)>,
    /// The list was cut off in the middle: there may be more.
    pub is_cut_off: bool,
}

impl Gpus {
    fn add(&mut self, model: Option<&str>, number: f64) {
        if model.is_some_and(is_mig_profile) {
            self.mig_instances += number;
        } else {
            self.total += number;
        }
        self.add_model(model, number);
    }

    /// As many for each of `nodes` nodes.
    pub(super) fn times(&mut self, nodes: f64) {
        self.total *= nodes;
        self.mig_instances *= nodes;
        for (_, number) in &mut self.by_model {
            *number *= nodes;
        }
    }

    /// Adds those of another list.
    pub(super) fn plus(&mut self, other: &Self) {
        self.total += other.total;
        self.mig_instances += other.mig_instances;
        self.is_cut_off |= other.is_cut_off;
        for (model, number) in &other.by_model {
            self.add_model(Some(model), *number);
        }
    }

    fn add_model(&mut self, model: Option<&str>, number: f64) {
        let Some(model) = model else { return };
        match self.by_model.iter_mut().find(|(name, _)| name == model) {
            Some((_, sum)) => *sum += number,
            None => self.by_model.push((model.to_owned(), number)),
        }
    }
}

/// Whether a type or resource names a MIG profile: `1g.5gb`, `nvidia_a100_3g.40gb`, `mig-2g.10gb`.
pub(super) fn is_mig_profile(model: &str) -> bool {
    let lower = model.to_ascii_lowercase();
    lower.match_indices("g.").any(|(at, _)| {
        let before = lower[..at].bytes().next_back().is_some_and(|byte| byte.is_ascii_digit());
        let after = lower[at + 2..].trim_start_matches(|one: char| one.is_ascii_digit());
        before && after.starts_with("gb") && after.len() < lower.len() - at - 2
    })
}

/// The GPUs of a GRES list.
pub(super) fn gpus_of_gres(list: &Stated<Vec<Gres>>) -> Stated<Gpus> {
    let list = list.as_ref().map_err(Clone::clone)?;
    let mut gpus = Gpus::default();
    let mut is_named = false;
    for entry in list {
        gpus.is_cut_off |= entry.count.is_err();
        if entry.name != "gpu" && entry.name != "mig" {
            continue;
        }
        let Ok(number) = entry.count else { continue };
        is_named = true;
        gpus.add(entry.model.as_deref(), number as f64);
    }
    match (is_named, gpus.is_cut_off) {
        (true, _) => Ok(gpus),
        (false, true) => Err(Absence::CutOff),
        (false, false) => Err(Absence::NoGpuNamed),
    }
}

/// The GPUs of a TRES list. `gres/gpu` counts all; the typed entries say which.
pub(super) fn gpus_of_tres(list: &Stated<Vec<Tres>>) -> Stated<Gpus> {
    let list = list.as_ref().map_err(Clone::clone)?;
    let mut gpus = Gpus::default();
    let mut all = None;
    for entry in list {
        let Ok(number) = entry.amount else { continue };
        if entry.name == "gres/gpu" {
            all = Some(number);
        } else if let Some(model) = entry.name.strip_prefix("gres/gpu:") {
            gpus.add(Some(model), number);
        } else if entry.name.starts_with("gres/mig") {
            gpus.mig_instances += number;
            gpus.add_model(entry.name.strip_prefix("gres/mig:"), number);
        }
    }
    if let Some(all) = all {
        // Types are listed only where the cluster accounts for them, so the sum may fall short.
        gpus.total = (all - gpus.mig_instances).max(gpus.total);
    } else if gpus.by_model.is_empty() {
        return Err(Absence::NoGpuNamed);
    }
    Ok(gpus)
}

/// Processors by state, as `sinfo` writes them: `16/0/0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuStates {
    /// Given to jobs.
    pub allocated: u64,
    /// Free.
    pub idle: u64,
    /// Neither: down or drained.
    pub other: u64,
    /// All.
    pub total: u64,
}

/// `allocated/idle/other/total`.
pub(super) fn cpu_states(text: &str) -> Stated<CpuStates> {
    let mut parts = text.trim().split('/');
    let mut next = || parts.next().and_then(|part| count(part).ok());
    match (next(), next(), next(), next(), next()) {
        (Some(allocated), Some(idle), Some(other), Some(total), None) => {
            Ok(CpuStates { allocated, idle, other, total })
        }
        _ => match absence_of(text) {
            Some(absence) => Err(absence),
            None => Err(Absence::Unreadable(shortened(text))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_per_processor_that_was_printed_with_its_mark_is_unmasked() {
        let read = memory("2147486648Mn").unwrap();
        assert_eq!(read, Memory { mib: 3000.0, per: MemoryPer::Cpu });
        assert_eq!(memory("31000Mn").unwrap(), Memory { mib: 31000.0, per: MemoryPer::Node });
        assert_eq!(memory("320.5G").unwrap().mib, 328_192.0);
    }

    #[test]
    fn a_count_that_ends_in_no_letter_of_one_byte_is_none() {
        assert_eq!(gres_count("1\u{fffd}"), None);
        assert_eq!(gres_count("\u{fffd}"), None);
        assert_eq!(gres_count("2K"), Some(2048));
    }

    #[test]
    fn a_gres_list_keeps_commas_inside_its_parentheses() {
        let list = gres("gpu:model_a:2(IDX:0,3),gpu:model_b:1(IDX:2),shard:h10");
        let read = list.as_ref().unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].indices.as_deref(), Some("0,3"));
        assert_eq!(read[2].count, Err(Absence::CutOff));
        let gpus = gpus_of_gres(&list).unwrap();
        assert_eq!((gpus.total, gpus.is_cut_off), (3.0, true));
        assert_eq!(gres("gpu:(null):0(IDX:N/A)").unwrap()[0].model, None);
        assert_eq!(gres("gpu:(null):0(IDX:N/A)").unwrap()[0].count, Ok(0));
    }

    #[test]
    fn typed_and_untyped_gpus_of_a_tres_list_are_the_same_gpus() {
        let gpus = gpus_of_tres(&tres("cpu=1,node=1,gres/gpu=8,gres/gpu:h200=8")).unwrap();
        assert_eq!(gpus.total, 8.0);
        assert_eq!(gpus.by_model, [("h200".to_owned(), 8.0)]);
        assert_eq!(gpus_of_tres(&tres("cpu=4,mem=8G,node=1")), Err(Absence::NoGpuNamed));
    }

    #[test]
    fn mig_profiles_are_told_from_cards() {
        for profile in ["nvidia_a100_1g.5gb", "a100_3g.40gb", "mig-7g.80gb"] {
            assert!(is_mig_profile(profile), "{profile}");
        }
        for card in ["NVlink_A100_40GB", "tesla_v100-sxm3-32gb", "h100", "g.gb", "1g.gb"] {
            assert!(!is_mig_profile(card), "{card}");
        }
        let gpus = gpus_of_gres(&gres("gpu:nvidia_a100_1g.5gb:21(S:0-1)")).unwrap();
        assert_eq!((gpus.total, gpus.mig_instances), (0.0, 21.0));
    }
}
