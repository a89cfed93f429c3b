//! Reading bodies, so large and no larger.

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures_util::StreamExt as _;

use super::error::HttpError;

/// The largest body: a fleet.yaml is not sent here, a policy or a resource is small.
const MAX_BODY: usize = 1024 * 1024;

/// How much of a body that is too large is read all the same. Whoever is cut off while sending sees a broken
/// connection and never the reason.
const MAX_READ: usize = 16 * MAX_BODY;

/// The whole body.
pub(crate) async fn read_whole(body: Body) -> Result<Bytes, HttpError> {
    let mut stream = body.into_data_stream();
    let (mut kept, mut length) = (Vec::new(), 0);
    while let Some(chunk) = stream.next().await {
        let chunk =
            chunk.map_err(|_| HttpError::bad_request("the body could not be read", "send it again"))?;
        length += chunk.len();
        if length > MAX_READ {
            break;
        }
        if length <= MAX_BODY {
            kept.extend_from_slice(&chunk);
        }
    }
    match length > MAX_BODY {
        true => {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            Err(HttpError::new(status, "body-too-large", "the body is too large", "a body may have 1 MiB"))
        }
        false => Ok(kept.into()),
    }
}
