//! CSV (RFC 4180): one line for each window and GPU.

use super::target::ExportRefusal;
use crate::plan::PlanReport;
use crate::plan::model::{BlockView, CalendarView};

const HEAD: &str = "start_utc,end_utc,start_local,gpu,holder,workload,tenant,kind";

pub(super) fn csv(report: &PlanReport) -> Result<(String, Vec<String>), ExportRefusal> {
    let Some(calendar) = &report.calendar else {
        return Err(ExportRefusal::NoCalendar { format: "csv" });
    };
    let cells = cells(calendar);
    let mut text = String::from(HEAD);
    text.push_str("\r\n");
    for (index, window) in calendar.windows.iter().enumerate() {
        let end = calendar.windows.get(index + 1).map_or(&calendar.until, |next| &next.start);
        for (gpu, block) in cells.iter().filter_map(|row| row.get(index)).enumerate() {
            let Some(block) = block else { continue };
            let holder = calendar.holders.get(block.holder as usize);
            let tenant = block.tenant.and_then(|tenant| calendar.tenants.get(tenant as usize));
            let fields = [
                window.start.at.as_str(),
                &end.at,
                &window.start.text,
                &gpu.to_string(),
                holder.map_or("", |holder| holder.kind.name()),
                tenant.map_or("", |tenant| &tenant.workload),
                tenant.map_or("", |tenant| &tenant.name),
                tenant.map_or("", |tenant| &tenant.kind),
            ];
            text.push_str(&fields.map(field).join(","));
            text.push_str("\r\n");
        }
    }
    let limits = vec![
        "CSV has no place for demand, bounds, promises and conditions: they are in the JSON."
            .to_owned(),
    ];
    Ok((text, limits))
}

/// The block of each GPU in each window.
fn cells(calendar: &CalendarView) -> Vec<Vec<Option<&BlockView>>> {
    let mut cells = vec![vec![None; calendar.windows.len()]; calendar.gpus as usize];
    for block in &calendar.blocks {
        let rows = cells.iter_mut().skip(block.gpu as usize).take(block.gpus as usize);
        for row in rows {
            let windows = row.iter_mut().take(block.until as usize).skip(block.from as usize);
            for cell in windows {
                *cell = Some(block);
            }
        }
    }
    cells
}

/// A field; in quotes where it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) || text.starts_with(' ') || text.ends_with(' ') {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_quoted_where_they_must() {
        for (text, is) in
            [("a", "a"), ("a, b", "\"a, b\""), ("a\"b", "\"a\"\"b\""), ("a\nb", "\"a\nb\"")]
        {
            assert_eq!(field(text), is);
        }
    }
}
