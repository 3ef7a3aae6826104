//! An engine that was found running is used, and never started, stopped or signalled.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use cotenant_probe::load::mock::{MockOptions, MockServer};
use cotenant_probe::load::{Target, TargetSpec};
use cotenant_probe::measure::{InferenceRig, Rig, RigError};
use cotenant_probe::supervisor::GuardianCommand;

fn rig(url: &str) -> Rig {
    let inference = InferenceRig {
        name: "chat".to_owned(),
        launch: None,
        // The mock answers every path.
        ready_url: format!("{url}/stats"),
        ready_within: Duration::from_secs(20),
        target: Target::new(TargetSpec::new(url, "mock")).unwrap(),
        metrics_url: None,
    };
    let guardian =
        GuardianCommand { program: support::helper(), arguments: vec!["guardian".to_owned()] };
    Rig::new(guardian, Some(inference), None).unwrap()
}

/// The engine is this very process: a signal to whoever listens on the port would end the test.
#[tokio::test]
async fn an_engine_that_was_found_running_outlives_the_measurement() {
    let mock = MockServer::start(MockOptions::default()).unwrap();
    let mut rig = rig(&mock.base_url());
    assert!(!rig.supervises_engine());
    // No start is reported, since none was made.
    assert_eq!(rig.engine_up().await.unwrap(), None);
    rig.engine_down().await.unwrap();
    assert_eq!(rig.engine_up().await.unwrap(), None);
    rig.shutdown().await;
    let url = format!("{}/stats", mock.base_url());
    let (status, _) = cotenant_probe::http::get(&url, Duration::from_secs(20)).await.unwrap();
    assert_eq!(status, 200);
}

#[tokio::test]
async fn an_engine_that_does_not_run_is_not_started() {
    let mock = MockServer::start(MockOptions::default()).unwrap();
    let url = mock.base_url();
    drop(mock);
    let mut rig = rig(&url);
    let error = rig.engine_up().await.unwrap_err();
    assert!(matches!(&error, RigError::NotRunning { name, .. } if name == "chat"), "{error}");
    rig.shutdown().await;
}
