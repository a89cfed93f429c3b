//! The open connection of a simulated agent.

use std::io::Read;

use tokio::task::JoinHandle;
use windlass_api::agent::{AssignmentResponse, REPORT, ReportBody, ReportReceipt, StreamMessage};
use windlass_core::host::BlobDigest;

use super::error::SimulationError;
use crate::connection::{ConnectionWork, Line, News, RequestError, Requests};
use crate::fetch;

/// The largest receipt.
const MAX_RECEIPT: usize = 64 * 1024;
/// What compression may add to content that cannot be compressed.
const MAX_COMPRESSION_EXCESS: u64 = 64 * 1024;

/// A connection with an open stream. It is closed when it is dropped.
#[derive(Debug)]
pub struct SimulatedConnection {
    requests: Requests,
    news: News,
    work: JoinHandle<()>,
}

impl Drop for SimulatedConnection {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl SimulatedConnection {
    pub(super) async fn new(
        requests: Requests,
        work: ConnectionWork,
    ) -> Result<SimulatedConnection, RequestError> {
        let work = tokio::spawn(work);
        match requests.stream().await {
            Ok(body) => Ok(SimulatedConnection { requests, news: News::new(body), work }),
            Err(error) => {
                work.abort();
                Err(error)
            }
        }
    }

    /// The next message of the stream; none when the server closed it. May be dropped at any time without losing one.
    pub async fn next(&mut self) -> Result<Option<StreamMessage>, SimulationError> {
        loop {
            match self.news.next().await? {
                Some(Line::Message(message)) => return Ok(Some(message)),
                Some(Line::Unknown) => {}
                None => return Ok(None),
            }
        }
    }

    pub(super) async fn assignment(&self) -> Result<Option<AssignmentResponse>, RequestError> {
        fetch::assignment(&self.requests).await
    }

    /// A blob of at most so many bytes, verified.
    pub(super) async fn blob(&self, digest: BlobDigest, limit: u64) -> Result<Vec<u8>, SimulationError> {
        let tampered = || SimulationError::Tampered(digest);
        let mut part = self.requests.blob(&digest, 0).await?.ok_or_else(tampered)?;
        let mut compressed = Vec::new();
        while let Some(bytes) = part.next().await? {
            compressed.extend_from_slice(&bytes);
            if compressed.len() as u64 > limit.saturating_add(MAX_COMPRESSION_EXCESS) {
                return Err(tampered());
            }
        }
        let mut bytes = Vec::new();
        let decoder = zstd::stream::read::Decoder::new(compressed.as_slice()).map_err(|_| tampered())?;
        decoder.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|_| tampered())?;
        match bytes.len() as u64 <= limit && BlobDigest::of(&bytes) == digest {
            true => Ok(bytes),
            false => Err(tampered()),
        }
    }

    pub(super) async fn report(&self, report: &ReportBody) -> Result<ReportReceipt, RequestError> {
        self.requests.post(REPORT, report, MAX_RECEIPT).await
    }
}
