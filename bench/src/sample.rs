//! Repeated measurements.

use std::time::Duration;

use serde::Serialize;

/// The times of several runs. The best shows what the code can do; the median includes the load of the machine.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) best_ms: f64,
    pub(crate) median_ms: f64,
    pub(crate) runs: usize,
}

impl Sample {
    /// A sample of at least one measurement.
    pub(crate) fn of(mut times: Vec<Duration>) -> Sample {
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Sample { best_ms: ms(times[0]), median_ms: ms(times[times.len() / 2]), runs: times.len() }
    }
}
