//! How long a client may take to send a body or to receive a response.
//!
//! Only time in which the server waits for the client counts: a response that the server is slow to produce costs the
//! client nothing, so that event streams need no rule of their own.

use std::time::Duration;

/// The lowest rate of a transfer, in bytes per second.
const MIN_BYTES_PER_SECOND: u64 = 1024;

/// How long a client may take for this many bytes.
pub fn max_transfer_time(bytes: u64, allowance: Duration) -> Duration {
    allowance.saturating_add(Duration::from_secs(bytes / MIN_BYTES_PER_SECOND))
}

/// How long a client has kept a response waiting. Times are relative to any fixed moment.
#[derive(Clone, Copy, Debug)]
pub struct ResponsePace {
    allowance: Duration,
    bytes: u64,
    waited: Duration,
    waiting_since: Option<Duration>,
}

impl ResponsePace {
    /// The head of a response is sent.
    pub fn begin(allowance: Duration, now: Duration) -> ResponsePace {
        ResponsePace { allowance, bytes: 0, waited: Duration::ZERO, waiting_since: Some(now) }
    }

    /// The client has taken everything: the next part depends on the server.
    pub fn client_ready(&mut self, now: Duration) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += now.saturating_sub(since);
        }
    }

    /// This many more bytes are sent to the client.
    pub fn bytes_sent(&mut self, bytes: u64, now: Duration) {
        self.client_ready(now);
        self.bytes = self.bytes.saturating_add(bytes);
        self.waiting_since = Some(now);
    }

    /// The time at which the client is too late; `None` while the client waits for the server.
    pub fn deadline(&self) -> Option<Duration> {
        let left = max_transfer_time(self.bytes, self.allowance).saturating_sub(self.waited);
        self.waiting_since.map(|since| since.saturating_add(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_client_that_takes_nothing_is_too_late_after_the_allowance() {
        let pace = ResponsePace::begin(at(20), at(100));
        assert_eq!(pace.deadline(), Some(at(120)));
    }

    #[test]
    fn bytes_read_extend_the_deadline_and_pauses_add_up() {
        let mut pace = ResponsePace::begin(at(20), at(0));
        pace.client_ready(at(15));
        pace.bytes_sent(2048, at(15));
        assert_eq!(pace.deadline(), Some(at(22)), "20 s and 2 s for 2 KiB, of which 15 s are gone");
        pace.client_ready(at(21));
        pace.bytes_sent(10, at(21));
        assert_eq!(pace.deadline(), Some(at(22)), "a few bytes now and then buy nothing");
    }

    #[test]
    fn waiting_for_the_server_costs_the_client_nothing() {
        let mut pace = ResponsePace::begin(at(20), at(0));
        pace.client_ready(at(1));
        assert_eq!(pace.deadline(), None);
        pace.bytes_sent(0, at(86_400));
        assert_eq!(pace.deadline(), Some(at(86_419)));
    }
}
