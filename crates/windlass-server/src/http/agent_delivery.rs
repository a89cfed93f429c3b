//! Requests of agents for their assignments and the blobs behind them.

use std::ops::Range;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use windlass_control::ask::agent;
use windlass_control::caller::AgentCaller;
use windlass_store::StoredBlob;

use crate::http::request::{HandlerResult, header_text, json_ok};
use crate::state::Server;

pub(crate) async fn assignment(
    State(server): State<Server>,
    Extension(caller): Extension<AgentCaller>,
) -> HandlerResult {
    json_ok(&agent::assignment::assignment(&server, &caller).await?)
}

pub(crate) async fn blob(
    State(server): State<Server>,
    Extension(caller): Extension<AgentCaller>,
    Path(digest): Path<String>,
    headers: HeaderMap,
) -> HandlerResult {
    let found = agent::blob::blob(&server, &caller, &digest).await?;
    Ok(blob_response(found, &digest, header_text(&headers, "range")))
}

/// The bytes of a blob, shared by all responses that send it.
struct BlobBytes(Arc<StoredBlob>);

impl AsRef<[u8]> for BlobBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0.stored
    }
}

/// Which part of a body a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum RequestedPart {
    Whole,
    Part(Range<usize>),
    Outside,
}

/// Reads `bytes=N-` and `bytes=N-M`. Any other form is answered with the whole, as HTTP allows.
fn requested_part(range: Option<&str>, size: usize) -> RequestedPart {
    let bounds = range.and_then(|range| range.strip_prefix("bytes=")).and_then(|range| range.split_once('-'));
    let Some((first, last)) = bounds else { return RequestedPart::Whole };
    let Ok(first) = first.parse::<usize>() else { return RequestedPart::Whole };
    let end = match last.parse::<usize>() {
        Ok(last) => last.saturating_add(1).min(size),
        Err(_) if last.is_empty() => size,
        Err(_) => return RequestedPart::Whole,
    };
    if first >= size || first >= end { RequestedPart::Outside } else { RequestedPart::Part(first..end) }
}

fn blob_response(found: Arc<StoredBlob>, digest: &str, range: Option<&str>) -> Response {
    let bytes = Bytes::from_owner(BlobBytes(found));
    let size = bytes.len();
    let (status, body, content_range) = match requested_part(range, size) {
        RequestedPart::Whole => (StatusCode::OK, bytes, None),
        RequestedPart::Part(part) => {
            let shown = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            (StatusCode::PARTIAL_CONTENT, bytes.slice(part), Some(shown))
        }
        RequestedPart::Outside => {
            (StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new(), Some(format!("bytes */{size}")))
        }
    };
    let mut response = (status, Body::from(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/zstd"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let texts = [(header::ETAG, Some(format!("\"{digest}\""))), (header::CONTENT_RANGE, content_range)];
    for (name, text) in texts {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_resumes_where_it_ended_and_never_reads_outside() {
        for (range, expected) in [
            (None, RequestedPart::Whole),
            (Some("bytes=0-"), RequestedPart::Part(0..10)),
            (Some("bytes=4-"), RequestedPart::Part(4..10)),
            (Some("bytes=4-5"), RequestedPart::Part(4..6)),
            (Some("bytes=4-99"), RequestedPart::Part(4..10)),
            (Some("bytes=9-18446744073709551615"), RequestedPart::Part(9..10)),
            (Some("bytes=10-"), RequestedPart::Outside),
            (Some("bytes=5-4"), RequestedPart::Outside),
            (Some("bytes=-5"), RequestedPart::Whole),
            (Some("bytes=1-2,4-5"), RequestedPart::Whole),
            (Some("lines=1-"), RequestedPart::Whole),
            (Some("bytes=x-"), RequestedPart::Whole),
        ] {
            assert_eq!(requested_part(range, 10), expected, "{range:?}");
        }
        assert_eq!(requested_part(Some("bytes=0-"), 0), RequestedPart::Outside);
    }

    #[test]
    fn a_part_says_which_it_is_and_of_what() {
        let blob = Arc::new(StoredBlob { size: 100, stored: b"0123456789".to_vec() });
        let header = |response: &Response, name| response.headers().get(name).cloned();
        let whole = blob_response(Arc::clone(&blob), "blake3:ab", None);
        assert_eq!(whole.status(), StatusCode::OK);
        assert_eq!(header(&whole, "etag").unwrap(), "\"blake3:ab\"");
        let part = blob_response(Arc::clone(&blob), "blake3:ab", Some("bytes=7-"));
        assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
        assert_eq!(header(&part, "content-range").unwrap(), "bytes 7-9/10");
        let outside = blob_response(blob, "blake3:ab", Some("bytes=10-"));
        assert_eq!(outside.status(), StatusCode::RANGE_NOT_SATISFIABLE);
        assert_eq!(header(&outside, "content-range").unwrap(), "bytes */10");
    }
}
