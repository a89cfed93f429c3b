//! A request and its answer, followed from the first to the last byte: what the connection is doing, whether the body
//! comes fast enough, and whether the answer is taken fast enough.

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

use crate::connections::{Connection, PeerAddress, RequestsCome};

/// The body of a request came too slowly.
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

/// A request that is under way. It ends when nobody holds it any more: not the handler, not the answer's body.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    connection: Arc<Connection>,
    /// Which one it is on its connection.
    number: u64,
    progress: Mutex<RequestProgress>,
}

impl ActiveRequest {
    fn begin(connection: &Arc<Connection>, version: Version) -> ActiveRequest {
        let number = connection.request_began(RequestsCome::over(version));
        ActiveRequest {
            connection: Arc::clone(connection),
            number,
            progress: Mutex::new(RequestProgress::Receiving),
        }
    }

    /// Goes on to what comes after `from`, unless it is there already.
    fn advance(&self, from: RequestProgress, to: RequestProgress, step: RequestStep) {
        // One word, which is whole whatever the thread that held it last did.
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if *progress == from {
            *progress = to;
            self.connection.step(step);
        }
    }

    /// All of the request is there, or nobody reads the rest.
    fn received(&self) {
        self.advance(RequestProgress::Receiving, RequestProgress::Answering, RequestStep::Received);
    }

    /// The answer is there. From here on it is the client that is waited for.
    fn head_sent(&self) {
        self.received();
        self.advance(RequestProgress::Answering, RequestProgress::Sending, RequestStep::HeadSent);
        self.connection.answer_began(self.number);
    }

    /// Someone who is signed in sent the request.
    pub(crate) fn signed_in(&self) {
        self.connection.step(RequestStep::SignedIn);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let progress = *self.progress.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.connection.request_ended(self.number, progress);
    }
}

/// The body of a request, which must come at a certain rate.
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
            exchange.received();
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
                    self.exchange.received();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                self.exchange.received();
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
        self.exchange.received();
    }
}

/// The body of an answer: while it is sent, the request is under way, and it is noted how long the client takes for it.
/// Whoever takes nothing makes hyper not ask for more, so being late is found by the connection and not here.
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
        self.exchange.connection.answer_asked(number);
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let length = frame.data_ref().map_or(0, Bytes::len);
            self.exchange.connection.answer_handed_over(number, u64::try_from(length).unwrap_or(u64::MAX));
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
