//! Tracks a request and its response from the first to the last byte: the state of the connection, whether the client
//! sends the body fast enough, and whether it reads the response fast enough.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::Version;
use axum::response::Response;
use axum::{BoxError, Router};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tower::{Service, ServiceExt as _};
use windlass_core::inbound::connections::{RequestProgress, RequestStep};
use windlass_core::inbound::transfer_time::max_transfer_time;

use crate::connections::{Connection, PeerAddress, RequestOverlap};

/// The body of a request arrived too slowly.
#[derive(Debug, thiserror::Error)]
#[error("the request body arrived too slowly")]
pub(crate) struct BodyTooSlow;

/// Answers the requests of one connection.
#[derive(Clone)]
pub(super) struct ConnectionRequests {
    router: Router,
    peer: PeerAddress,
    connection: Arc<Connection>,
}

impl ConnectionRequests {
    pub(super) fn new(router: Router, peer: PeerAddress, connection: Arc<Connection>) -> ConnectionRequests {
        ConnectionRequests { router, peer, connection }
    }
}

impl<B> Service<axum::http::Request<B>> for ConnectionRequests
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: axum::http::Request<B>) -> Self::Future {
        let exchange = Arc::new(ActiveRequest::begin(&self.connection, request.version()));
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(self.peer);
        parts.extensions.insert(Arc::clone(&exchange));
        let allowance = self.connection.connections.timeouts.body;
        let body = Body::new(PacedBody::new(body, allowance, Arc::clone(&exchange)));
        let answered = self.router.clone().oneshot(Request::from_parts(parts, body));
        Box::pin(async move {
            let response = answered.await?;
            exchange.head_sent();
            Ok(response.map(|body| Body::new(FollowedBody { body, exchange })))
        })
    }
}

/// A request in progress. It ends when the handler and the body of the response have dropped it.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    connection: Arc<Connection>,
    /// Its number on the connection.
    number: u64,
    progress: Mutex<RequestProgress>,
}

impl ActiveRequest {
    fn begin(connection: &Arc<Connection>, version: Version) -> ActiveRequest {
        let number = connection.request_began(RequestOverlap::over(version));
        ActiveRequest {
            connection: Arc::clone(connection),
            number,
            progress: Mutex::new(RequestProgress::Receiving),
        }
    }

    /// Moves from `from` to `to`, if it is still at `from`.
    fn advance(&self, from: RequestProgress, to: RequestProgress, step: RequestStep) {
        // Valid even if a thread panicked while it held the lock: the value is written in one assignment.
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if *progress == from {
            *progress = to;
            self.connection.step(step);
        }
    }

    /// The whole request was received, or the handler does not read the rest.
    fn mark_received(&self) {
        self.advance(RequestProgress::Receiving, RequestProgress::Answering, RequestStep::Received);
    }

    /// The response is ready. From now on the server waits for the client.
    fn head_sent(&self) {
        self.mark_received();
        self.advance(RequestProgress::Answering, RequestProgress::Sending, RequestStep::HeadSent);
        self.connection.response_began(self.number);
    }

    /// A signed-in person sent the request.
    pub(crate) fn mark_signed_in(&self) {
        self.connection.step(RequestStep::SignedIn);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let progress = *self.progress.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.connection.request_ended(self.number, progress);
    }
}

/// The body of a request, which must arrive at a minimum rate.
struct PacedBody<B> {
    body: B,
    exchange: Arc<ActiveRequest>,
    began: Instant,
    allowance: Duration,
    received: u64,
    deadline: Pin<Box<Sleep>>,
}

impl<B: HttpBody> PacedBody<B> {
    fn new(body: B, allowance: Duration, exchange: Arc<ActiveRequest>) -> PacedBody<B> {
        if body.is_end_stream() {
            exchange.mark_received();
        }
        let began = Instant::now();
        let deadline = Box::pin(tokio::time::sleep_until(began + allowance));
        PacedBody { body, exchange, began, allowance, received: 0, deadline }
    }
}

impl<B> HttpBody for PacedBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                self.received += u64::try_from(length).unwrap_or(u64::MAX);
                let until = self.began + max_transfer_time(self.received, self.allowance);
                self.deadline.as_mut().reset(until);
                if self.body.is_end_stream() {
                    self.exchange.mark_received();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                self.exchange.mark_received();
                Poll::Ready(None)
            }
            Poll::Pending => match self.deadline.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Some(Err(Box::new(BodyTooSlow)))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for PacedBody<B> {
    fn drop(&mut self) {
        self.exchange.mark_received();
    }
}

/// The body of a response. It keeps the request active until it is sent, and records how long the client takes to read
/// it. If the client reads nothing, hyper does not poll for more, so the connection detects the timeout, not this body.
struct FollowedBody {
    body: Body,
    exchange: Arc<ActiveRequest>,
}

impl HttpBody for FollowedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let number = self.exchange.number;
        self.exchange.connection.response_client_ready(number);
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let length = frame.data_ref().map_or(0, Bytes::len);
            self.exchange.connection.response_bytes_sent(number, u64::try_from(length).unwrap_or(u64::MAX));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
