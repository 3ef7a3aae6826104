//! What the tests of whole site files share: reading one, and values in few words.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cotenant_core::site::{Launch, Ready, Site};
use cotenant_core::units::{Bytes, Share};
use cotenant_records::site::{read_site, render};

pub(crate) fn good(name: &str) -> Site {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/good").join(name);
    read(&std::fs::read_to_string(path).unwrap())
}

pub(crate) fn read(text: &str) -> Site {
    let (site, problems) = read_site("site.yaml", text.as_bytes());
    assert!(problems.is_empty(), "{}", render(&problems, "site.yaml", text.as_bytes(), false));
    site.unwrap()
}

pub(crate) const GIB: u64 = 1 << 30;

pub(crate) fn gib(count: u64) -> Option<Bytes> {
    Some(Bytes(count * GIB))
}

pub(crate) fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

pub(crate) fn seconds(value: f64) -> Option<Duration> {
    Some(Duration::from_secs_f64(value))
}

pub(crate) fn share(value: f64) -> Option<Share> {
    Share::new(value)
}

pub(crate) fn launch(argv: &[&str]) -> Launch {
    Launch {
        argv: argv.iter().map(ToString::to_string).collect(),
        cwd: None,
        env: BTreeMap::new(),
        ready: Ready { path: "/health".to_owned(), time_limit: Duration::from_mins(10) },
    }
}

pub(crate) fn berlin() -> jiff::tz::TimeZone {
    jiff::tz::TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap()
}

pub(crate) fn at(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}
