//! Tables of detail.

use maud::{Markup, html};

use crate::format::glue;
use crate::model::{State, Table, Value};

/// A table with its heading, or what stands in its place.
pub(crate) fn detail(table: &Table) -> Markup {
    html! {
        section class="detail" id=(table.key) {
            h3 { (table.title) }
            @if !table.note.is_empty() { p class="note" { (table.note) } }
            @if table.rows.is_empty() {
                p class="missing" { (table.empty) }
            } @else {
                div class="scroll" tabindex="0" role="region" aria-label=(table.title) {
                    table {
                        thead { tr {
                            @for column in &table.columns {
                                th scope="col" class=(if column.numeric { "num" } else { "" }) {
                                    (column.title)
                                }
                            }
                        } }
                        tbody {
                            @for row in &table.rows { tr {
                                @for (index, value) in row.iter().enumerate() {
                                    @let numeric = table
                                        .columns
                                        .get(index)
                                        .is_some_and(|column| column.numeric);
                                    @if index == 0 {
                                        th scope="row" { (cell(value)) }
                                    } @else {
                                        td class=(if numeric { "num" } else { "" }) { (cell(value)) }
                                    }
                                }
                            } }
                        }
                    }
                }
            }
        }
    }
}

/// A value; what is missing is paler and says why.
pub(crate) fn cell(value: &Value) -> Markup {
    html! {
        @match value.state {
            State::Missing => span class="missing" { (glue(&value.text)) },
            State::Unbounded => span class="unbounded" { (value.text) "\u{a0}∞" },
            State::Words => span class="words" { (glue(&value.text)) },
            State::Known => (glue(&value.text)),
        }
    }
}
