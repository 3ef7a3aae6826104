//! Tables of Slurm that have no heading. Their columns are told by what stands in them: first by the
//! layouts that collectors ask for, then column by column. A column that nothing tells is left unnamed.

use super::super::kind::Kind;
use super::super::stated::{count, duration_s, time};
use super::field::{Field, is_gres, is_job_id};
use super::fill::agrees;
use super::words::{is_long_job_state, is_node_state};

/// A layout that a known command prints.
pub(super) struct Layout {
    /// The command, as a reader would type it.
    pub(super) command: &'static str,
    pub(super) kind: Kind,
    /// The byte between cells; a blank for any run of blanks.
    pub(super) delimiter: char,
    pub(super) fields: &'static [Field],
}

use Field as F;

/// The layouts, those with more columns first.
pub(super) const LAYOUTS: &[Layout] = &[
    Layout {
        command: "sacct -P -n -o jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,\
                  eligible,start,end,elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,\
                  timelimit,nodelist,jobname",
        kind: Kind::SlurmAccounting,
        delimiter: '|',
        fields: &[
            F::JobId,
            F::Ignored,
            F::Cluster,
            F::Partition,
            F::Qos,
            F::Account,
            F::Ignored,
            F::IgnoredNumber,
            F::User,
            F::IgnoredNumber,
            F::SubmitTime,
            F::EligibleTime,
            F::StartTime,
            F::EndTime,
            F::Elapsed,
            F::ExitCode,
            F::JobState,
            F::NodeCount,
            F::Cpus,
            F::RequestedCpus,
            F::Memory,
            F::TresRequested,
            F::TresAllocated,
            F::Limit,
            F::NodeList,
            F::JobName,
        ],
    },
    Layout {
        command: "sacct -P -n -o jobid,partition,qos,account,group,gid,user,uid,submit,start,end,elapsed,\
                  elapsedraw,exitcode,state,alloctres,nodelist,jobname,workdir",
        kind: Kind::SlurmAccounting,
        delimiter: '|',
        fields: &[
            F::JobId,
            F::Partition,
            F::Qos,
            F::Account,
            F::Ignored,
            F::IgnoredNumber,
            F::User,
            F::IgnoredNumber,
            F::SubmitTime,
            F::StartTime,
            F::EndTime,
            F::Elapsed,
            F::IgnoredNumber,
            F::ExitCode,
            F::JobState,
            F::TresAllocated,
            F::NodeList,
            F::JobName,
            F::Ignored,
        ],
    },
    Layout {
        command: "squeue -h -o '%i|%P|%T|%r|%C|%D|%u|%a|%q|%V|%M|%N'",
        kind: Kind::SlurmQueue,
        delimiter: '|',
        fields: &[
            F::JobId,
            F::Partition,
            F::JobState,
            F::Reason,
            F::Cpus,
            F::NodeCount,
            F::User,
            F::Account,
            F::Qos,
            F::SubmitTime,
            F::Elapsed,
            F::NodeList,
        ],
    },
    Layout {
        command: "sacct -P -n -o jobid,user,account,alloccpus,elapsed,totalcpu,cputime,maxrss,reqmem",
        kind: Kind::SlurmAccounting,
        delimiter: '|',
        fields: &[
            F::JobId,
            F::User,
            F::Account,
            F::Cpus,
            F::Elapsed,
            F::IgnoredDuration,
            F::IgnoredDuration,
            F::MemoryMax,
            F::Memory,
        ],
    },
    Layout {
        command: "squeue -h -O JobID,Account,UserName,Partition,State,NumNodes,NumCPUs,tres-alloc",
        kind: Kind::SlurmQueue,
        delimiter: '|',
        fields: &[
            F::JobId,
            F::Account,
            F::User,
            F::Partition,
            F::JobState,
            F::NodeCount,
            F::Cpus,
            F::TresAllocated,
        ],
    },
    Layout {
        command: "sacct -P -n -o jobid,state,submit,start,elapsed,ncpus,partition",
        kind: Kind::SlurmAccounting,
        delimiter: '|',
        fields: &[
            F::JobId,
            F::JobState,
            F::SubmitTime,
            F::StartTime,
            F::Elapsed,
            F::Cpus,
            F::Partition,
        ],
    },
    Layout {
        command: "squeue -h -O JobID,(Account or UserName),State,NumNodes,NumCPUs,tres-alloc",
        kind: Kind::SlurmQueue,
        delimiter: '|',
        fields: &[F::JobId, F::UserOrAccount, F::JobState, F::NodeCount, F::Cpus, F::TresAllocated],
    },
    Layout {
        command: "squeue -h -o '%P|%T|%C|%r|%u'",
        kind: Kind::SlurmQueue,
        delimiter: '|',
        fields: &[F::Partition, F::JobState, F::Cpus, F::Reason, F::User],
    },
    Layout {
        command: "sinfo -h -o '%R|%D|%T|%b'",
        kind: Kind::SlurmNodes,
        delimiter: '|',
        fields: &[F::Partition, F::NodeCount, F::NodeState, F::Features],
    },
    Layout {
        command: "sinfo -h -N -o '%N|%E|%H|%T'",
        kind: Kind::SlurmNodes,
        delimiter: '|',
        fields: &[F::NodeName, F::NodeReason, F::NodeReasonTime, F::NodeState],
    },
    Layout {
        command: "squeue -h -o '%i,%T'",
        kind: Kind::SlurmQueue,
        delimiter: ',',
        fields: &[F::JobId, F::JobState],
    },
    Layout {
        command: "sinfo -h -N -o '%N,%T'",
        kind: Kind::SlurmNodes,
        delimiter: ',',
        fields: &[F::NodeName, F::NodeState],
    },
    Layout {
        command: "sinfo -h -o '%R,%C'",
        kind: Kind::SlurmNodes,
        delimiter: ',',
        fields: &[F::Partition, F::CpuStates],
    },
    Layout {
        command: "sinfo -h -N -O NodeList,AllocMem,Memory,CPUsState,StateLong,Partition,Gres,GresUsed",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[
            F::NodeName,
            F::MemoryAllocated,
            F::MemoryOfNode,
            F::CpuStates,
            F::NodeState,
            F::Partition,
            F::GresTotal,
            F::GresUsed,
        ],
    },
    Layout {
        command: "sinfo -h -N -O NodeList,AllocMem,Memory,CPUsState,StateLong,Partition",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[
            F::NodeName,
            F::MemoryAllocated,
            F::MemoryOfNode,
            F::CpuStates,
            F::NodeState,
            F::Partition,
        ],
    },
    Layout {
        command: "sinfo -h -N -O NodeList,AllocMem,Memory,CPUsState,StateLong",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::NodeName, F::MemoryAllocated, F::MemoryOfNode, F::CpuStates, F::NodeState],
    },
    Layout {
        command: "sinfo -h -O Nodes,StateLong,Gres,GresUsed",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::NodeCount, F::NodeState, F::GresTotal, F::GresUsed],
    },
    Layout {
        command: "sinfo -h -N -O NodeList,Gres,GresUsed,StateLong",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::NodeName, F::GresTotal, F::GresUsed, F::NodeState],
    },
    Layout {
        command: "sinfo -h -O Nodes,Partition,Gres,GresUsed",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::NodeCount, F::Partition, F::GresTotal, F::GresUsed],
    },
    Layout {
        command: "sinfo -h -O Nodes,Gres,GresUsed",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::NodeCount, F::GresTotal, F::GresUsed],
    },
    Layout {
        command: "sinfo -h -O Nodes,(Gres or GresUsed)",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::NodeCount, F::GresEither],
    },
    Layout {
        command: "sinfo -h -N -O NodeList,(Gres or GresUsed)",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::NodeName, F::GresEither],
    },
    Layout {
        command: "sinfo -h -o '%C'",
        kind: Kind::SlurmNodes,
        delimiter: ' ',
        fields: &[F::CpuStates],
    },
];

/// Whether nearly all rows fit a list of fields, and a telling cell is among them.
fn fits(fields: &[Field], rows: &[Vec<&str>]) -> bool {
    let allowed = rows.len() / 20;
    let mut misfits = 0;
    let mut is_told = false;
    for row in rows {
        if row.len() != fields.len()
            || !fields.iter().zip(row).all(|(field, cell)| field.fits(cell))
        {
            misfits += 1;
            if misfits > allowed {
                return false;
            }
            continue;
        }
        is_told |= fields.iter().zip(row).any(|(field, cell)| {
            (field.is_telling() && (is_gres(cell) || !cell.trim().starts_with('(')))
                || (*field == Field::JobId && cell.contains('.'))
        });
    }
    is_told && misfits < rows.len()
}

/// The known layout of rows.
pub(super) fn known(delimiter: char, rows: &[Vec<&str>]) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.delimiter == delimiter && fits(layout.fields, rows))
}

/// The fields of rows of no known layout, told column by column; `None` where nothing tells that they
/// are of Slurm.
pub(super) fn inferred(rows: &[Vec<&str>]) -> Option<(Kind, Vec<Field>)> {
    let width = rows.first()?.len();
    if width < 2 || rows.iter().filter(|row| row.len() != width).count() > rows.len() / 20 {
        return None;
    }
    let all = |column: usize, test: &dyn Fn(&str) -> bool| {
        let cells = || rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.trim());
        let filled = || cells().filter(|cell| !cell.is_empty());
        filled().next().is_some() && filled().filter(|cell| !test(cell)).count() <= rows.len() / 20
    };
    let first = |test: &dyn Fn(&str) -> bool| (0..width).find(|column| all(*column, test));
    let id = first(&is_job_id);
    let job_state = first(&is_long_job_state);
    let node_state = first(&is_node_state);
    let mut fields = vec![Field::Unnamed; width];
    let mut put = |column: Option<usize>, field| {
        if let Some(slot) = column.and_then(|column| fields.get_mut(column))
            && *slot == Field::Unnamed
        {
            *slot = field;
        }
    };
    let is_jobs = job_state.is_some() && id.is_some();
    if is_jobs {
        put(id, Field::JobId);
        put(job_state, Field::JobState);
        put(first(&|cell| Field::Reason.fits(cell)), Field::Reason);
        put(
            first(&|cell| super::field::is_exit_code(cell) && !cell.contains('.')),
            Field::ExitCode,
        );
        times(rows, width, &all, &mut fields);
        let lists: Vec<usize> = (0..width)
            .filter(|column| {
                all(*column, &|cell| Field::TresAllocated.fits(cell) && cell.contains('='))
            })
            .collect();
        match lists.as_slice() {
            [requested, allocated] => {
                fields[*requested] = Field::TresRequested;
                fields[*allocated] = Field::TresAllocated;
            }
            [one] => fields[*one] = Field::TresAllocated,
            _ => {}
        }
        return Some((Kind::SlurmAccounting, fields));
    }
    node_state?;
    let cpu_states = first(&|cell| Field::CpuStates.fits(cell));
    let lists: Vec<usize> =
        (0..width).filter(|column| all(*column, &|cell| Field::GresTotal.fits(cell))).collect();
    let has_gpus = lists
        .iter()
        .any(|column| rows.iter().any(|row| row.get(*column).is_some_and(|cell| is_gres(cell))));
    // A word such as "down" alone does not make a table of nodes.
    if cpu_states.is_none() && !has_gpus {
        return None;
    }
    put(node_state, Field::NodeState);
    put(cpu_states, Field::CpuStates);
    match lists.as_slice() {
        [total, used] => {
            fields[*total] = Field::GresTotal;
            fields[*used] = Field::GresUsed;
        }
        [one] => fields[*one] = Field::GresEither,
        _ => {}
    }
    Some((Kind::SlurmNodes, fields))
}

/// Whether all cells of a column pass a test.
type OfColumn<'a> = dyn Fn(usize, &dyn Fn(&str) -> bool) -> bool + 'a;

/// Which columns of times are which: where two agree with a length of time they are start and end.
fn times(rows: &[Vec<&str>], width: usize, all: &OfColumn<'_>, fields: &mut [Field]) {
    let columns: Vec<usize> = (0..width)
        .filter(|column| all(*column, &|cell| Field::StartTime.fits(cell)))
        .filter(|column| {
            rows.iter().any(|row| {
                row.get(*column).is_some_and(|cell| cell.len() > 8 && time(cell).is_ok())
            })
        })
        .collect();
    let lengths: Vec<usize> = (0..width)
        .filter(|column| {
            all(*column, &|cell| duration_s(cell).is_ok())
                && !all(*column, &|cell| count(cell).is_ok())
        })
        .collect();
    let pair = |start: usize, end: usize| {
        lengths.iter().copied().find(|length| pair_agrees(rows, start, end, *length))
    };
    for (index, start) in columns.iter().enumerate() {
        for end in &columns[index + 1..] {
            if let Some(length) = pair(*start, *end) {
                fields[*start] = Field::StartTime;
                fields[*end] = Field::EndTime;
                fields[length] = Field::Elapsed;
                let before: Vec<usize> =
                    columns.iter().copied().filter(|one| one < start).collect();
                match before.as_slice() {
                    [submit] => fields[*submit] = Field::SubmitTime,
                    [submit, eligible] => {
                        fields[*submit] = Field::SubmitTime;
                        fields[*eligible] = Field::EligibleTime;
                    }
                    _ => {}
                }
                return;
            }
        }
    }
}

/// Whether two columns of times lie as far apart as a third says, in at least three of four rows that
/// have all three.
pub(super) fn pair_agrees(rows: &[Vec<&str>], start: usize, end: usize, length: usize) -> bool {
    let (mut seen, mut agreeing) = (0_u32, 0_u32);
    for row in rows {
        let cell = |column: usize| row.get(column).copied().unwrap_or_default();
        if let (Ok(start), Ok(end), Ok(elapsed)) =
            (time(cell(start)), time(cell(end)), duration_s(cell(length)))
        {
            seen += 1;
            agreeing += u32::from(agrees(&start, &end, elapsed));
        }
    }
    seen > 0 && agreeing * 4 >= seen * 3
}
