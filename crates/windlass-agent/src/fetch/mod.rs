//! Fetching: the assignment, and each blob of it that is missing. Everything is verified before it is used.

use windlass_api::agent::{ASSIGNMENT, AssignmentResponse, RENEW, RenewRequest, RenewResponse};
use windlass_core::host::BlobDigest;

use crate::cache::{FinishedDownload, PartialBlob};
use crate::connection::{RequestError, Requests};
use crate::state::StateError;

/// The largest assignment with its document.
const MAX_ASSIGNMENT: usize = 16 * 1024 * 1024;
/// The largest renewal.
const MAX_RENEWAL: usize = 256 * 1024;
/// How many bytes of a blob are written at once.
const PART: usize = 256 * 1024;

/// Why a blob is not there.
#[derive(Debug)]
pub(crate) enum FetchError {
    /// The server did not send it.
    Request(RequestError),
    /// The disk did not take it.
    State(StateError),
    /// What the server sent is not what was approved.
    Tampered(BlobDigest),
}

impl From<RequestError> for FetchError {
    fn from(error: RequestError) -> FetchError {
        FetchError::Request(error)
    }
}

impl From<StateError> for FetchError {
    fn from(error: StateError) -> FetchError {
        FetchError::State(error)
    }
}

/// The assignment of the agent's node. `None` if it has none yet.
pub(crate) async fn assignment(requests: &Requests) -> Result<Option<AssignmentResponse>, RequestError> {
    requests.get(ASSIGNMENT, MAX_ASSIGNMENT).await
}

/// A new certificate.
pub(crate) async fn renewal(
    requests: &Requests,
    certificate_request: String,
) -> Result<RenewResponse, RequestError> {
    let agent_version = env!("CARGO_PKG_VERSION").to_owned();
    let response: RenewResponse =
        requests.post(RENEW, &RenewRequest { certificate_request, agent_version }, MAX_RENEWAL).await?;
    match response.trust.authorities.is_empty() || response.trust.assignment_keys.is_empty() {
        true => Err(RequestError::Malformed("it names nobody to trust".to_owned())),
        false => Ok(response),
    }
}

/// Fetches a blob into the cache, from where an earlier download broke. A blob that was put together from two downloads and
/// is wrong is fetched once more as a whole: the server may have compressed it differently.
pub(crate) async fn blob(requests: &Requests, partial: PartialBlob) -> Result<(), FetchError> {
    loop {
        let from = partial.length();
        let whole = download(requests, &partial, from).await?;
        let finishing = partial.clone();
        match whole {
            Whole::Yes => match on_disk(move || finishing.finish()).await? {
                FinishedDownload::Stored => return Ok(()),
                FinishedDownload::Incomplete => {
                    return Err(RequestError::Unreachable("the blob ended early".to_owned()).into());
                }
                FinishedDownload::Tampered if from == 0 => {
                    return Err(FetchError::Tampered(partial.digest()));
                }
                FinishedDownload::Tampered => {}
            },
            Whole::TooLong => {
                on_disk(move || finishing.discard()).await?;
                if from == 0 {
                    return Err(FetchError::Tampered(partial.digest()));
                }
            }
            Whole::NothingMore => match on_disk(move || finishing.finish()).await? {
                FinishedDownload::Stored => return Ok(()),
                FinishedDownload::Tampered => {}
                FinishedDownload::Incomplete => {
                    let discarded = partial.clone();
                    on_disk(move || discarded.discard()).await?;
                }
            },
        }
    }
}

/// Whether a download came to its end.
enum Whole {
    Yes,
    /// The server sent more than the blob can have.
    TooLong,
    /// The server says that there is nothing after what the agent has.
    NothingMore,
}

async fn download(requests: &Requests, partial: &PartialBlob, from: u64) -> Result<Whole, FetchError> {
    let Some(mut part) = requests.blob(&partial.digest(), from).await? else {
        return match from {
            0 => Err(RequestError::Malformed("the server has no byte of a blob".to_owned()).into()),
            _ => Ok(Whole::NothingMore),
        };
    };
    if part.from != 0 && part.from != from {
        return Err(RequestError::Malformed("another part of the blob than was asked for".to_owned()).into());
    }
    let mut offset = part.from;
    let mut waiting: Vec<u8> = Vec::new();
    loop {
        let next = part.next().await;
        if let Ok(Some(bytes)) = &next {
            waiting.extend_from_slice(bytes);
            if offset + waiting.len() as u64 > partial.compressed_limit() {
                return Ok(Whole::TooLong);
            }
        }
        let is_last = !matches!(next, Ok(Some(_)));
        // What came before a break is kept: the next attempt goes on after it.
        if !waiting.is_empty() && (is_last || waiting.len() >= PART) {
            let (bytes, writing) = (std::mem::take(&mut waiting), partial.clone());
            let length = bytes.len() as u64;
            on_disk(move || writing.write(offset, &bytes)).await?;
            offset += length;
        }
        match next {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(Whole::Yes),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs what waits for the disk. A panic goes on here: it is a test that stops the agent.
pub(crate) async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and with it this task.
            Err(_) => std::future::pending().await,
        },
    }
}
