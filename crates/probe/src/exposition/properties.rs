//! What must hold for any bytes and any scrape.

use std::borrow::Cow;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn escape(text: &str, quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if quotes { text.replace('"', "\\\"") } else { text }
}

fn labels_text(labels: &Labels<'_>) -> String {
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value, true))).collect();
    labels.join(",")
}

fn time_text(time_s: f64, open: bool) -> String {
    if open { format!(" {time_s}") } else { format!(" {}", (time_s * 1000.0).round() as i64) }
}

/// Writes a scrape as an exporter would.
fn print(scrape: &Exposition<'_>, line_end: &str) -> String {
    let open = scrape.format == Format::OpenMetrics;
    let mut text = String::new();
    for family in &scrape.families {
        let name = &family.name;
        if let Some(help) = &family.help {
            let _ = write!(text, "# HELP {name} {}{line_end}", escape(help, open));
        }
        let word = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::GaugeHistogram => "gaugehistogram",
            Kind::Summary => "summary",
            Kind::StateSet => "stateset",
            Kind::Info => "info",
            Kind::Unknown => "unknown",
        };
        let _ = write!(text, "# TYPE {name} {word}{line_end}");
        for sample in &family.samples {
            let _ =
                write!(text, "{}{{{}}} {}", sample.name, labels_text(&sample.labels), sample.value);
            if let Some(time_s) = sample.time_s {
                text += &time_text(time_s, open);
            }
            if let Some(exemplar) = &sample.exemplar {
                let _ = write!(text, " # {{{}}} {}", labels_text(&exemplar.labels), exemplar.value);
                if let Some(time_s) = exemplar.time_s {
                    text += &time_text(time_s, true);
                }
            }
            text += line_end;
        }
    }
    if open {
        text += "# EOF";
    }
    text
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("NaN differs from itself", |value| !value.is_nan()),
        Just(f64::INFINITY),
        (-1000..1000_i32).prop_map(f64::from),
    ]
}

fn any_labels() -> impl Strategy<Value = Labels<'static>> {
    prop::collection::btree_map("[a-z_][a-z0-9_]{0,5}", "[ -~\n\\\\\"äΩ{},=#]{1,8}", 0..4).prop_map(
        |labels| {
            labels
                .into_iter()
                .map(|(name, value)| (Cow::Owned(format!("z{name}")), Cow::Owned(value)))
                .collect()
        },
    )
}

fn any_exemplar() -> impl Strategy<Value = Exemplar<'static>> {
    (any_labels(), any_value(), prop::option::of(0..4_000_000_000_u32))
        .prop_map(|(labels, value, time)| Exemplar { labels, value, time_s: time.map(f64::from) })
}

type Point = (Labels<'static>, f64, Option<i64>, Option<Exemplar<'static>>);

fn any_points() -> impl Strategy<Value = Vec<Point>> {
    let time_ms = prop::option::of(-1_000_000_000_000..4_000_000_000_000_i64);
    let point = (any_labels(), any_value(), time_ms, prop::option::of(any_exemplar()));
    prop::collection::vec(point, 0..5)
}

fn any_scrape() -> impl Strategy<Value = Exposition<'static>> {
    let kinds = prop::sample::select(vec![
        Kind::Counter,
        Kind::Gauge,
        Kind::Histogram,
        Kind::GaugeHistogram,
        Kind::Summary,
        Kind::Info,
        Kind::Unknown,
    ]);
    let help = prop::option::of("[!-~][ -~\n\\\\]{0,10}[!-~]");
    let family = (kinds, help, any_points());
    (any::<bool>(), prop::collection::vec(family, 0..5)).prop_map(|(open, families)| {
        let format = if open { Format::OpenMetrics } else { Format::Prometheus };
        let families = families
            .into_iter()
            .enumerate()
            .map(|(index, (kind, help, points))| family_of(index, kind, help, points, open))
            .collect();
        Exposition { format, families, notes: vec![], notes_left_out: 0 }
    })
}

fn family_of(
    index: usize,
    kind: Kind,
    help: Option<String>,
    points: Vec<Point>,
    open: bool,
) -> Family<'static> {
    let name = format!("f{index}:x");
    let suffix = match kind {
        Kind::Counter if open => "_total",
        Kind::Histogram | Kind::GaugeHistogram => "_bucket",
        Kind::Info if open => "_info",
        _ => "",
    };
    let samples = points
        .into_iter()
        .enumerate()
        .map(|(at, (mut labels, value, time_ms, exemplar))| {
            let bound = match kind {
                Kind::Histogram | Kind::GaugeHistogram => "le",
                Kind::Summary => "quantile",
                _ => "at",
            };
            labels.push((bound.into(), at.to_string().into()));
            Sample {
                name: format!("{name}{suffix}").into(),
                labels,
                value,
                time_s: time_ms.map(|milliseconds| milliseconds as f64 / 1000.0),
                exemplar: exemplar.filter(|_| open),
                line: 0,
            }
        })
        .collect();
    let help = help.map(Cow::Owned);
    Family { name: name.into(), kind, typed: true, help, unit: None, samples }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), open: bool) {
        let format = if open { Format::OpenMetrics } else { Format::Prometheus };
        let _ = parse(&bytes, format, Strictness::Strict);
        let _ = parse(&bytes, format, Strictness::Lenient);
    }

    #[test]
    fn no_text_near_the_format_makes_it_panic_and_a_lenient_reading_accounts_for_every_line(
        lines in prop::collection::vec(
            "(# (HELP|TYPE|UNIT|EOF) ?)?[a-c_:]{0,3}(_bucket|_sum|_total)?[{\"\\\\]?[a-b]?=?\"?[0-9.einfNa+-]{0,5}[\"},# ]{0,3}[0-9. ]{0,4}",
            0..12,
        ),
        open: bool,
    ) {
        let format = if open { Format::OpenMetrics } else { Format::Prometheus };
        let text = lines.join("\n") + "\n";
        let strict = parse(text.as_bytes(), format, Strictness::Strict);
        let lenient = parse(text.as_bytes(), format, Strictness::Lenient);
        if let Ok(lenient) = &lenient {
            let valued = lines.iter().filter(|line| {
                let line = line.trim_matches([' ', '\t']);
                !line.is_empty() && !line.starts_with('#')
            });
            let noted = lenient.notes.len() + lenient.notes_left_out;
            prop_assert!(lenient.sample_count() <= valued.clone().count());
            prop_assert!(lenient.sample_count() + noted >= valued.count());
            for family in &lenient.families {
                let _ = (histograms(family), summaries(family));
            }
            // Strict refuses exactly where lenient has something to note.
            prop_assert_eq!(strict.is_ok(), noted == 0);
        }
    }

    #[test]
    fn what_is_printed_is_read_back(scrape in any_scrape(), carriage_return: bool) {
        let text = print(&scrape, if carriage_return { "\r\n" } else { "\n" });
        let mut read = parse(text.as_bytes(), scrape.format, Strictness::Strict).unwrap();
        for sample in read.families.iter_mut().flat_map(|family| &mut family.samples) {
            sample.line = 0;
        }
        prop_assert_eq!(read, scrape);
    }
}

#[test]
fn limits_bound_what_a_scrape_can_take() {
    let long = format!("a{{b=\"{}\"}} 1\nc 2\n", "x".repeat(LINE_BYTES_MAX));
    let scrape = parse(long.as_bytes(), Format::Prometheus, Strictness::Lenient).unwrap();
    assert_eq!(scrape.sample_count(), 1);
    assert_eq!(scrape.notes.len(), 1);

    let labels: Vec<String> = (0..=LABELS_MAX).map(|index| format!("l{index}=\"\"")).collect();
    let many = format!("a{{{}}} 1\n", labels.join(","));
    let refused = parse(many.as_bytes(), Format::Prometheus, Strictness::Strict).unwrap_err();
    assert!(refused.to_string().starts_with("line 1: more than 128 labels"), "{refused}");

    let junk = "?\n".repeat(NOTES_MAX + 7);
    let scrape = parse(junk.as_bytes(), Format::Prometheus, Strictness::Lenient).unwrap();
    assert_eq!((scrape.notes.len(), scrape.notes_left_out), (NOTES_MAX, 7));
}
