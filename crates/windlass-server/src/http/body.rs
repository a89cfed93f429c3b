//! Reads request bodies, up to a limit.

use axum::body::{Body, Bytes};
use futures_util::StreamExt as _;
use windlass_control::refusal::{Refusal, RefusalKind};

use crate::connections::exchange::BodyTooSlow;

/// The largest body. No fleet.yaml is sent here, and a policy or a resource is small.
const MAX_BODY: usize = 1024 * 1024;

/// How much more of a too large body the server reads and discards. A client that is cut off while it sends would see a
/// broken connection instead of the error.
const MAX_DRAINED_BYTES: usize = 15 * MAX_BODY;

/// Reads the whole body.
pub(crate) async fn read_whole(body: Body) -> Result<Bytes, Refusal> {
    read_reserving(body, MAX_BODY, |_| Ok(())).await
}

/// Reads the whole body, up to a limit of its own. Calls `reserve` before it keeps each chunk.
pub(super) async fn read_reserving(
    body: Body,
    limit: usize,
    mut reserve: impl FnMut(usize) -> Result<(), Refusal>,
) -> Result<Bytes, Refusal> {
    let mut stream = body.into_data_stream();
    let (mut kept, mut length) = (Vec::new(), 0);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| unreadable(&error))?;
        length += chunk.len();
        if length > limit + MAX_DRAINED_BYTES {
            break;
        }
        if length <= limit {
            reserve(chunk.len())?;
            kept.extend_from_slice(&chunk);
        }
    }
    match length > limit {
        true => {
            let kind = RefusalKind::TooLarge;
            let help = format!("the limit is {} MiB", limit >> 20);
            Err(Refusal::new(kind, "body-too-large", "the body is too large", help))
        }
        false => Ok(kept.into()),
    }
}

/// The refusal for a body that could not be read to its end.
fn unreadable(error: &axum::Error) -> Refusal {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<BodyTooSlow>() {
            let (message, help) =
                ("the request body arrived too slowly", "send it again over a faster connection");
            return Refusal::new(RefusalKind::TooSlow, "body-too-slow", message, help);
        }
        cause = error.source();
    }
    Refusal::bad_request("the body could not be read", "send it again")
}
