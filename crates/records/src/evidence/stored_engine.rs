//! The stored forms of what an engine and the GPUs said of themselves.

use cotenant_core::evidence::{EngineGauge, EngineHistogram, EngineObservation, GpuSample};

use super::mirror::{Maybe, Real, StoredReading, mirror_struct};

mirror_struct! {
    /// One histogram.
    StoredHistogram of EngineHistogram {
        metric: String,
        bounds: Vec<Real>,
        cumulative: Vec<Real>,
        count: Real,
        sum: Maybe<Real>,
    }
}

mirror_struct! {
    /// One gauge.
    StoredGauge of EngineGauge {
        metric: String,
        readings: Vec<(u64, Real)>,
    }
}

mirror_struct! {
    /// An engine's accounts of one block.
    StoredEngine of EngineObservation {
        engine: String,
        from_ns: u64,
        until_ns: u64,
        histograms: Vec<StoredHistogram>,
        counters: Vec<(String, Real)>,
        gauges: Vec<StoredGauge>,
        remarks: Vec<String>,
    }
}

mirror_struct! {
    /// One GPU at one instant.
    StoredGpuSample of GpuSample {
        at_ns: u64,
        uuid: String,
        utilization_share: StoredReading<Real>,
        memory_used_bytes: StoredReading<u64>,
        sm_clock_mhz: StoredReading<Real>,
        memory_clock_mhz: StoredReading<Real>,
        power_w: StoredReading<Real>,
        power_limit_w: StoredReading<Real>,
        temperature_c: StoredReading<Real>,
        clocks_limited_by: StoredReading<Vec<String>>,
    }
}
