//! The words of Slurm: states of jobs and nodes, and reasons.

use super::super::model::Wait;
use super::super::stated::{Absence, Stated, absence_of};

/// States of jobs and their short forms, as `squeue` prints them.
const JOB_STATES: &[(&str, &str)] = &[
    ("BOOT_FAIL", "BF"),
    ("CANCELLED", "CA"),
    ("COMPLETED", "CD"),
    ("COMPLETING", "CG"),
    ("CONFIGURING", "CF"),
    ("DEADLINE", "DL"),
    ("FAILED", "F"),
    ("LAUNCH_FAILED", "LF"),
    ("NODE_FAIL", "NF"),
    ("OUT_OF_MEMORY", "OOM"),
    ("PENDING", "PD"),
    ("POWER_UP_NODE", "PN"),
    ("PREEMPTED", "PR"),
    ("RECONFIG_FAIL", "RC"),
    ("REQUEUED", "RQ"),
    ("REQUEUE_FED", "RF"),
    ("REQUEUE_HOLD", "RH"),
    ("RESIZING", "RS"),
    ("RESV_DEL_HOLD", "RD"),
    ("REVOKED", "RV"),
    ("RUNNING", "R"),
    ("SIGNALING", "SI"),
    ("SPECIAL_EXIT", "SE"),
    ("STAGE_OUT", "SO"),
    ("STOPPED", "ST"),
    ("SUSPENDED", "S"),
    ("TIMEOUT", "TO"),
    ("UPDATE_DB", "UD"),
    ("EXPEDITING", "EX"),
];

/// States in which a job has not ended.
const LIVE: &[&str] = &[
    "COMPLETING",
    "CONFIGURING",
    "PENDING",
    "POWER_UP_NODE",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "RUNNING",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
];

/// States of a job, and who cancelled it.
pub(super) struct JobState {
    pub(super) states: Vec<String>,
    pub(super) cancelled_by: Option<String>,
}

/// A state as `sacct` and `squeue` write it: long, short, cut off by `+`, or with who cancelled it.
pub(super) fn job_state(text: &str) -> Option<JobState> {
    let text = text.trim();
    let (head, by) = match text.split_once(" by ") {
        Some((head, by)) => (head, Some(by.trim().to_owned())),
        None => (text, None),
    };
    let mut states = Vec::new();
    for word in head.split([',', ' ']).filter(|word| !word.is_empty()) {
        states.push(job_word(word)?.to_owned());
    }
    let is_cancelled = states.iter().any(|state| state == "CANCELLED");
    (!states.is_empty() && (by.is_none() || is_cancelled))
        .then_some(JobState { states, cancelled_by: by })
}

fn job_word(word: &str) -> Option<&'static str> {
    if let Some((long, _)) = JOB_STATES.iter().find(|(long, short)| *long == word || *short == word)
    {
        return Some(long);
    }
    // sacct cuts its columns and says so by a plus.
    let cut = word.strip_suffix('+').filter(|cut| cut.len() >= 4)?;
    let mut fitting = JOB_STATES.iter().filter(|(long, _)| long.starts_with(cut));
    match (fitting.next(), fitting.next()) {
        (Some((long, _)), None) => Some(long),
        _ => None,
    }
}

/// Whether a text is a state of a job in its long form.
pub(super) fn is_long_job_state(text: &str) -> bool {
    let first = text.trim().split([' ', ',']).next().unwrap_or_default();
    JOB_STATES.iter().any(|(long, _)| *long == first) && job_state(text).is_some()
}

/// Whether a job of these states has not ended.
pub(super) fn is_live(states: &[String]) -> bool {
    states.iter().any(|state| LIVE.contains(&state.as_str()))
}

/// States of nodes as `sinfo` prints them, long and short.
const NODE_STATES: &[&str] = &[
    "alloc",
    "allocated",
    "blocked",
    "boot",
    "comp",
    "completing",
    "down",
    "drain",
    "drained",
    "draining",
    "drng",
    "fail",
    "failg",
    "failing",
    "futr",
    "future",
    "idle",
    "inval",
    "maint",
    "mix",
    "mixed",
    "no_respond",
    "npc",
    "perfctrs",
    "planned",
    "plnd",
    "pow_dn",
    "pow_up",
    "power_down",
    "power_up",
    "powered_down",
    "powering_down",
    "powering_up",
    "reboot",
    "reboot_issued",
    "reboot_requested",
    "reserved",
    "resv",
    "unk",
    "unknown",
    "error",
    "maintenance",
    "reboot*",
    "resume",
];

/// Marks that `sinfo` adds to a state.
const NODE_MARKS: &[(char, &str)] = &[
    ('*', "NOT_RESPONDING"),
    ('~', "POWERED_DOWN"),
    ('#', "POWERING_UP"),
    ('!', "POWER_DOWN_PENDING"),
    ('%', "POWERING_DOWN"),
    ('$', "MAINTENANCE"),
    ('@', "REBOOT_REQUESTED"),
    ('^', "REBOOT_ISSUED"),
    ('-', "PLANNED"),
    ('+', "CUT_OFF"),
];

/// A state of a node as `sinfo` and `scontrol` write it: `mixed-`, `drained*`, `IDLE+DRAIN`.
pub(super) fn node_states(text: &str) -> Stated<Vec<String>> {
    if let Some(absence) = absence_of(text) {
        return Err(absence);
    }
    let mut states = Vec::new();
    for part in text.trim().split('+').filter(|part| !part.is_empty()) {
        let bare =
            part.trim_end_matches(|one: char| NODE_MARKS.iter().any(|(mark, _)| *mark == one));
        if !bare.is_empty() {
            states.push(bare.to_ascii_uppercase());
        }
        for mark in part[bare.len()..].chars() {
            if let Some((_, word)) = NODE_MARKS.iter().find(|(one, _)| *one == mark) {
                states.push((*word).to_owned());
            }
        }
    }
    if states.is_empty() { Err(Absence::NotSet) } else { Ok(states) }
}

/// Whether a text is a state of a node as `sinfo` prints it.
pub(super) fn is_node_state(text: &str) -> bool {
    let text = text.trim();
    let bare = text.trim_end_matches(|one: char| NODE_MARKS.iter().any(|(mark, _)| *mark == one));
    let first = bare.split('+').next().unwrap_or_default().to_ascii_lowercase();
    NODE_STATES.contains(&first.as_str())
}

/// Reasons, by what they say. The class of a reason is told from its words as Slurm 26.05 has them.
const REASONS: &[(&str, Wait)] = &[
    ("Priority", Wait::Order),
    ("Resources", Wait::Placement),
    ("ReqNodeNotAvail", Wait::Placement),
    ("Nodes required for job are DOWN", Wait::Placement),
    ("BadConstraints", Wait::Placement),
    ("Constraints", Wait::Placement),
    ("NodeDown", Wait::Placement),
    ("PartitionDown", Wait::Placement),
    ("PartitionInactive", Wait::Placement),
    ("PartitionConfig", Wait::Configuration),
    ("PartitionTimeLimit", Wait::Quota),
    ("PartitionNodeLimit", Wait::Quota),
    ("Licenses", Wait::Placement),
    ("Cleaning", Wait::Placement),
    ("Prolog", Wait::Placement),
    ("MaxPoweredUpNodes", Wait::Placement),
    ("NvidiaImexChannels", Wait::Placement),
    ("BurstBufferResources", Wait::Placement),
    ("BurstBufferStageIn", Wait::Placement),
    ("FrontEndDown", Wait::Placement),
    ("SchedDefer", Wait::Order),
    ("Reservation", Wait::Reservation),
    ("ReservationDeleted", Wait::Reservation),
    ("InvalidReservation", Wait::Reservation),
    ("JobHeldUser", Wait::Owner),
    ("JobHeldAdmin", Wait::Owner),
    ("Dependency", Wait::Owner),
    ("DependencyNeverSatisfied", Wait::Owner),
    ("BeginTime", Wait::Owner),
    ("JobArrayTaskLimit", Wait::Owner),
    ("JobHoldMaxRequeue", Wait::Owner),
    ("DeadLine", Wait::Owner),
    ("launch failed requeued held", Wait::Owner),
    ("job requeued in held state", Wait::Owner),
    ("AccountingPolicy", Wait::Quota),
    ("AccountNotAllowed", Wait::Configuration),
    ("InvalidAccount", Wait::Configuration),
    ("InvalidQOS", Wait::Configuration),
    ("QOSNotAllowed", Wait::Configuration),
    ("None", Wait::NotEvaluated),
    ("NodeFail", Wait::Unclear),
    ("JobLaunchFailure", Wait::Unclear),
    ("NonZeroExitCode", Wait::Unclear),
    ("RaisedSignal", Wait::Unclear),
    ("SystemFailure", Wait::Unclear),
    ("TimeLimit", Wait::Unclear),
    ("OutOfMemory", Wait::Unclear),
    ("InactiveLimit", Wait::Unclear),
    ("Preempted", Wait::Unclear),
    ("FedJobLock", Wait::Unclear),
    ("NoReason", Wait::Unclear),
    ("Quota", Wait::Quota),
];

/// The class of a reason: a suffix after a comma tells which nodes, and does not change it.
pub(super) fn wait_of(reason: &str) -> Wait {
    let bare = reason.trim().trim_matches(['(', ')']);
    let head = bare.split(',').next().unwrap_or_default().trim();
    if let Some((_, wait)) = REASONS.iter().find(|(word, _)| *word == head) {
        return *wait;
    }
    let is_limit = [
        "Assoc",
        "QOS",
        "MaxGRES",
        "MaxCPU",
        "MaxMem",
        "MaxNode",
        "MaxJobs",
        "MaxSubmit",
        "MaxBilling",
    ]
    .iter()
    .any(|prefix| head.starts_with(prefix))
        || head.starts_with("Max") && (head.contains("PerUser") || head.contains("PerAccount"));
    match is_limit {
        true if head.contains("Minutes") || head.contains("RunMins") => Wait::Budget,
        true => Wait::Quota,
        false => Wait::Unclear,
    }
}

/// Whether a text is one of Slurm's reasons.
pub(super) fn is_reason(text: &str) -> bool {
    let bare = text.trim().trim_matches(['(', ')']);
    let head = bare.split(',').next().unwrap_or_default().trim();
    REASONS.iter().any(|(word, _)| *word == head) || wait_of(text) != Wait::Unclear
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_long_short_and_cut_off() {
        let read = job_state("CANCELLED by 380693").unwrap();
        assert_eq!(
            (read.states, read.cancelled_by),
            (vec!["CANCELLED".to_owned()], Some("380693".to_owned()))
        );
        assert_eq!(job_state("CG").unwrap().states, ["COMPLETING"]);
        assert_eq!(job_state("OUT_OF_ME+").unwrap().states, ["OUT_OF_MEMORY"]);
        assert!(job_state("COMP+").is_none(), "two states begin so");
        assert!(job_state("RUNNING by 1").is_none());
        assert_eq!(node_states("drained*").unwrap(), ["DRAINED", "NOT_RESPONDING"]);
        assert_eq!(node_states("MIXED+DRAIN+PLANNED").unwrap(), ["MIXED", "DRAIN", "PLANNED"]);
        assert_eq!(node_states("mixed-").unwrap(), ["MIXED", "PLANNED"]);
    }

    #[test]
    fn a_limit_a_budget_and_a_missing_place_are_told_apart() {
        for (reason, wait) in [
            ("QOSMaxGRESPerUser", Wait::Quota),
            ("AssocGrpGRESMinutes", Wait::Budget),
            ("AssocGrpGRES", Wait::Quota),
            ("Resources", Wait::Placement),
            ("(ReqNodeNotAvail, UnavailableNodes:gpu4)", Wait::Placement),
            (
                "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
                Wait::Placement,
            ),
            ("Priority", Wait::Order),
            ("Dependency", Wait::Owner),
            ("SomethingNew", Wait::Unclear),
        ] {
            assert_eq!(wait_of(reason), wait, "{reason}");
        }
    }
}
