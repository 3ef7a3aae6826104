//! Demand and reserve in words, and by hour of the day.

use maud::{Markup, html};

use crate::format::glue;
use crate::plan::model::ReserveView;

pub(super) fn reserves(reserves: &[ReserveView]) -> Markup {
    html! {
        @if !reserves.is_empty() {
            section id="reserve" {
                h2 { "Demand and reserve" }
                @for reserve in reserves { (one(reserve)) }
            }
        }
    }
}

fn one(reserve: &ReserveView) -> Markup {
    html! {
        article class="reserve" {
            h3 { (reserve.workload) }
            p class="note" { (glue(&reserve.summary)) " It needs " (glue(&reserve.peak_text)) "." }
            @if !reserve.weekdays.is_empty() {
                div class="scroll" tabindex="0" role="region" aria-label={
                    (reserve.workload) ": GPUs by hour of the day"
                } { (hours(reserve)) }
            }
            @if !reserve.remarks.is_empty() {
                ul class="remarks" { @for remark in &reserve.remarks { li { (glue(remark)) } } }
            }
        }
    }
}

fn hours(reserve: &ReserveView) -> Markup {
    html! {
        table class="hours" {
            caption { "GPUs by hour of the day, the highest of each hour" }
            thead { tr {
                th scope="col" colspan="2" {}
                @for hour in &reserve.hours { th scope="col" class="num" { (hour) } }
            } }
            @for day in &reserve.weekdays {
                tbody {
                    @for (index, (name, gpus)) in
                        [("reserved", &day.reserved), ("kept free", &day.hot), ("lendable", &day.lent)]
                            .into_iter()
                            .enumerate()
                    {
                        tr {
                            @if index == 0 { th scope="rowgroup" rowspan="3" { (day.label) } }
                            th scope="row" { (name) }
                            @for gpus in gpus {
                                td class="num" {
                                    @match gpus {
                                        Some(0) => "·",
                                        Some(gpus) => (gpus),
                                        None => "",
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
