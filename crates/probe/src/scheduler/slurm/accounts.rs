//! `sshare` and `sacctmgr`: shares, qualities of service and associations, as tables with bars.

use super::super::cluster::{Quota, Share};
use super::super::kind::Kind;
use super::super::model::Place;
use super::super::reading::Reading;
use super::super::refusal::ReadError;
use super::super::resources::tres;
use super::super::stated::{Absence, Stated, count, duration_s, number, word};

/// Which table a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Accounts {
    /// `sshare` with its heading, or seven columns without.
    Shares,
    /// `sacctmgr show qos` or `show assoc` with its heading.
    Limits,
    /// `sacctmgr` without its heading: which limit is which, nothing says.
    Unnamed,
}

/// Which table of shares or limits a text is. The name decides only for rows of bare numbers.
pub(in super::super) fn kind_of(file: &str, text: &str) -> Option<(Kind, Accounts)> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(200)
        .map(|line| line.split('|').collect())
        .collect();
    let first = rows.first()?;
    if first.len() < 3 {
        return None;
    }
    let has = |name: &str| first.iter().any(|cell| cell.trim() == name);
    if has("RawShares") || (has("FairShare") && has("Account")) {
        return Some((Kind::SlurmShares, Accounts::Shares));
    }
    let is_limits = (has("GrpTRES")
        || has("MaxTRES")
        || has("MaxTRESPU")
        || has("GrpTRESMins")
        || has("MaxWall"))
        && (has("Name") || has("Account"));
    if is_limits {
        return Some((Kind::SlurmAccounts, Accounts::Limits));
    }
    if rows.iter().all(|row| is_share(row)) {
        return Some((Kind::SlurmShares, Accounts::Shares));
    }
    unnamed(file, &rows).then_some((Kind::SlurmAccounts, Accounts::Unnamed))
}

/// Account, user, shares, share, use, share of use, factor.
fn is_share(row: &[&str]) -> bool {
    let fraction = |cell: &str| {
        cell.is_empty()
            || (cell.split_once('.').is_some_and(|(_, digits)| digits.len() == 6)
                && cell.parse::<f64>().is_ok())
    };
    matches!(row, [account, _, shares, share, usage, usage_share, factor]
        if !account.trim().is_empty()
            && (shares.is_empty() || *shares == "parent" || count(shares).is_ok())
            && !share.is_empty() && fraction(share)
            && (usage.is_empty() || count(usage).is_ok())
            && fraction(usage_share) && fraction(factor))
}

/// Rows of a name and limits: a list of resources among numbers, or a row of the root account alone.
fn unnamed(file: &str, rows: &[Vec<&str>]) -> bool {
    let width = rows.first().map_or(0, Vec::len);
    let is_even = width >= 4 && rows.iter().all(|row| row.len() == width);
    let is_limit = |cell: &&str| {
        cell.is_empty() || count(cell).is_ok() || (cell.contains('=') && tres(cell).is_ok())
    };
    let are_limits = rows.iter().all(|row| {
        row.iter().skip(2).all(is_limit)
            && row.iter().take(2).any(|cell| !cell.trim().is_empty() && count(cell).is_err())
    });
    let has_root = rows.iter().any(|row| {
        row.iter().take(2).any(|cell| *cell == "root")
            && row.iter().skip(2).all(|cell| cell.is_empty())
    });
    let has_list = rows.iter().any(|row| row.iter().any(|cell| cell.contains('=')));
    is_even && are_limits && (has_root || has_list || file.contains("sacctmgr"))
}

/// Reads such a table.
pub(in super::super) fn read(
    file: &str,
    text: &str,
    kind: Kind,
    form: Accounts,
) -> Result<Reading, ReadError> {
    let mut reading = Reading::new(file, kind);
    match form {
        Accounts::Shares => shares(&mut reading, text),
        Accounts::Limits => limits(&mut reading, text),
        Accounts::Unnamed => {
            return Err(ReadError::file(
                file,
                "limits of sacctmgr without their heading: which number limits what, the file does not say",
                "leave out `-n` (`--noheader`): sacctmgr -P show qos, sacctmgr -P show assoc",
            ));
        }
    }
    Ok(reading)
}

fn shares(reading: &mut Reading, text: &str) {
    const PLAIN: [&str; 7] =
        ["Account", "User", "RawShares", "NormShares", "RawUsage", "UsageShare", "FairShare"];
    let mut names: Vec<&str> = Vec::new();
    for (line_number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split('|').collect();
        if names.is_empty() {
            if cells.iter().any(|cell| cell.trim() == "RawShares") {
                names = cells.iter().map(|cell| cell.trim()).collect();
                continue;
            }
            names = PLAIN.to_vec();
            reading.caveat(
                "the table has no heading; its sixth column is the share of use, normalised or effective, \
                 and the file does not say which",
            );
        }
        if cells.len() < names.len().saturating_sub(1) {
            reading.skip(
                Place::Line(line_number),
                format!("{} cells where there are {} columns", cells.len(), names.len()),
                line,
            );
            continue;
        }
        let get = |name: &str| {
            names.iter().position(|one| *one == name).and_then(|at| cells.get(at)).copied()
        };
        let with = |names: &[&str]| {
            names.iter().find_map(|name| get(name).filter(|cell| !cell.trim().is_empty()))
        };
        let stated = |names: &[&str], read: fn(&str) -> Stated<f64>| match with(names) {
            Some(cell) => read(cell),
            None if names.iter().any(|name| get(name).is_some()) => Err(Absence::NotSet),
            None => Err(Absence::NotInFile),
        };
        let share = Share {
            place: Place::Line(line_number),
            account: get("Account").map_or(Err(Absence::NotInFile), word),
            user: get("User").map_or(Err(Absence::NotInFile), word),
            shares: match get("RawShares") {
                Some("parent") => Err(Absence::NotSet),
                Some(cell) => count(cell),
                None => Err(Absence::NotInFile),
            },
            share: stated(&["NormShares"], number),
            usage: stated(&["RawUsage"], number),
            usage_share: stated(&["UsageShare", "EffectvUsage", "NormUsage"], number),
            factor: stated(&["FairShare"], number),
        };
        Reading::keep(&mut reading.shares, &mut reading.records_left_out, share);
    }
}

/// Columns that are lists of resources.
const LISTS: &[&str] = &[
    "GrpTRES",
    "GrpTRESMins",
    "GrpTRESRunMins",
    "MaxTRES",
    "MaxTRESPerNode",
    "MaxTRESMins",
    "MaxTRESPU",
    "MaxTRESPA",
    "MinTRES",
    "MaxTRESRunMinsPA",
    "MaxTRESRunMinsPU",
];

/// Columns that are counts of jobs.
const COUNTS: &[&str] = &[
    "GrpJobs",
    "GrpSubmit",
    "MaxJobs",
    "MaxSubmit",
    "MaxJobsPU",
    "MaxSubmitPU",
    "MaxJobsPA",
    "MaxSubmitPA",
];

fn limits(reading: &mut Reading, text: &str) {
    let mut names: Vec<&str> = Vec::new();
    for (line_number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split('|').collect();
        if names.is_empty() {
            names = cells.iter().map(|cell| cell.trim()).collect();
            continue;
        }
        let place = Place::Line(line_number);
        let get = |name: &str| {
            names
                .iter()
                .position(|one| *one == name)
                .and_then(|at| cells.get(at))
                .map_or("", |cell| cell.trim())
        };
        let is_qos = names.contains(&"Name");
        let owner_kind = if is_qos { "quality of service" } else { "account" };
        let owner = match (is_qos, get("User")) {
            (true, _) => get("Name").to_owned(),
            (false, "") => get("Account").to_owned(),
            (false, user) => format!("{}/{user}", get("Account")),
        };
        let mut keep = |limit_kind: &str, resource: &str, limit: Stated<f64>| {
            let quota = Quota {
                place,
                owner_kind,
                owner: owner.clone(),
                limit_kind: limit_kind.to_owned(),
                resource: resource.to_owned(),
                flavor: None,
                limit,
                used: Err(Absence::NotInFile),
                borrowing: Err(Absence::NotInFile),
                lending: Err(Absence::NotInFile),
            };
            Reading::keep(&mut reading.quotas, &mut reading.records_left_out, quota);
        };
        for name in LISTS {
            if let Ok(list) = tres(get(name)) {
                for entry in list {
                    keep(name, &entry.name, entry.amount);
                }
            }
        }
        for name in COUNTS {
            if let Ok(jobs) = count(get(name)) {
                keep(name, "jobs", Ok(jobs as f64));
            }
        }
        for name in ["MaxWall", "GrpWall"] {
            if let Ok(seconds) = duration_s(get(name)) {
                keep(name, "minutes", Ok(seconds as f64 / 60.0));
            }
        }
        for name in ["Priority", "Preempt", "PreemptMode", "GraceTime", "Share"] {
            let value = get(name);
            if !value.is_empty() {
                let setting = super::super::cluster::Setting {
                    place,
                    key: format!("{owner} {name}"),
                    value: Ok(value.to_owned()),
                };
                reading.keep_setting(setting);
            }
        }
    }
}
