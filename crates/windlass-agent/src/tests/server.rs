//! A server that speaks the protocol of `windlass_api::agent`, in memory, with faults that tests ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::timeout;
use windlass_api::agent::*;
use windlass_api::types::{ErrorBody, ErrorEnvelope};
use windlass_core::host::BlobDigest;
use windlass_core::id::{AccountId, AgentId};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::target_assignment::{SignedAssignment, TargetAssignment};

use super::authority::Authority;
use super::merged::MergedReports;
use crate::connection::Dial;

type Body = BoxBody<Bytes, io::Error>;

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Before the request is looked at.
    Received,
    /// After it took effect, before the response.
    Handled,
    /// In the middle of the response.
    Half,
}

/// What tests see and change.
pub(super) struct ServerState {
    pub(super) authority: Arc<Authority>,
    /// Tokens that were not used yet.
    pub(super) tokens: BTreeSet<String>,
    pub(super) enrolments: u64,
    /// How many more enrolments wait for a person, and the certificate requests that came with them.
    pub(super) pending_joins: u64,
    pub(super) join_requests: BTreeSet<String>,
    pub(super) revoked: bool,
    /// The authority before, whose certificates are accepted too.
    pub(super) previous_authority: Option<Arc<Authority>>,
    pub(super) renewals: u64,
    pub(super) renew_after: u64,
    /// Certificates of fewer renewals than this are expired: they may only renew.
    pub(super) expired_before: u64,
    pub(super) assignment: Option<AssignmentResponse>,
    /// The generation that the stream names.
    pub(super) announced: u64,
    pub(super) blobs: BTreeMap<BlobDigest, Vec<u8>>,
    pub(super) reports: Vec<ReportBody>,
    pub(super) merged: MergedReports,
    /// Method and path of each request, with its range.
    pub(super) requests: Vec<String>,
    pub(super) connections: u64,
    /// Whether streams are open and say nothing.
    pub(super) silent: bool,
    /// Whether connections are refused.
    pub(super) away: bool,
    /// Status that reports get, instead of being stored.
    pub(super) refuse_reports: Option<u16>,
    /// Cut the connection at this place, counted over all requests.
    pub(super) cut_at: Option<usize>,
    pub(super) places: usize,
    /// How many bytes of each blob response are sent; the response then ends as if that were all.
    pub(super) blob_limit: Option<usize>,
    streams: Vec<mpsc::UnboundedSender<StreamMessage>>,
    kills: Vec<Arc<Notify>>,
}

#[derive(Clone)]
pub(super) struct FakeServer {
    state: Arc<Mutex<ServerState>>,
    changed: Arc<watch::Sender<u64>>,
}

/// The agent of these tests.
pub(super) fn identity(enrolment: u64) -> AgentIdentity {
    AgentIdentity {
        agent_id: AgentId::new(format!("agent-{enrolment}")),
        account_id: AccountId::new("account-1"),
        account: "acme".to_owned(),
        target: ResourceKey::new(Kind::Node, "web-1"),
        enrolment,
    }
}

impl FakeServer {
    pub(super) fn new() -> FakeServer {
        let state = ServerState {
            authority: Arc::new(Authority::new()),
            tokens: BTreeSet::new(),
            enrolments: 0,
            pending_joins: 0,
            join_requests: BTreeSet::new(),
            revoked: false,
            previous_authority: None,
            renewals: 0,
            renew_after: 57_600,
            expired_before: 0,
            assignment: None,
            announced: 0,
            blobs: BTreeMap::new(),
            reports: Vec::new(),
            merged: MergedReports::default(),
            requests: Vec::new(),
            connections: 0,
            silent: false,
            away: false,
            refuse_reports: None,
            cut_at: None,
            places: 0,
            blob_limit: None,
            streams: Vec::new(),
            kills: Vec::new(),
        };
        FakeServer { state: Arc::new(Mutex::new(state)), changed: Arc::new(watch::Sender::new(0)) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap()
    }

    /// Waits until a condition holds. Time passes only while everything waits.
    pub(super) async fn until(&self, what: &str, condition: impl Fn(&ServerState) -> bool) {
        let mut changed = self.changed.subscribe();
        let reached = async {
            while !condition(&self.lock()) {
                changed.changed().await.unwrap();
            }
        };
        if timeout(Duration::from_secs(6 * 3600), reached).await.is_err() {
            let state = self.lock();
            let last: Vec<_> = state.requests.iter().rev().take(10).collect();
            panic!("never: {what}\nlast requests {last:?}\nlast report {:#?}", state.reports.last());
        }
    }

    /// The key that an operator pastes.
    pub(super) fn enrolment_key(&self, token: &str) -> String {
        let mut state = self.lock();
        state.tokens.insert(token.to_owned());
        let key = EnrolmentKey {
            server: "https://windlass.example.com:3443".to_owned(),
            authority: state.authority.pin(),
            token: SecretText::new(token),
        };
        format!("windlass1.{}", URL_SAFE_NO_PAD.encode(serde_json::to_vec(&key).unwrap()))
    }

    /// Signs an assignment and tells the agent about it.
    pub(super) fn assign(&self, assignment: &TargetAssignment, document: &[u8]) {
        self.offer(assignment.generation, assignment, document);
    }

    /// Names a generation on the stream, and has this assignment for whoever asks.
    pub(super) fn offer(&self, announced: u64, assignment: &TargetAssignment, document: &[u8]) {
        let text = String::from_utf8(assignment.to_bytes()).unwrap();
        let signature = self.lock().authority.sign(text.as_bytes());
        let document = String::from_utf8(document.to_vec()).unwrap();
        let response =
            AssignmentResponse { assignment: SignedAssignment { assignment: text, signature }, document };
        self.offer_response(announced, response);
    }

    pub(super) fn offer_response(&self, announced: u64, response: AssignmentResponse) {
        let mut state = self.lock();
        state.assignment = Some(response);
        state.announced = announced;
        drop(state);
        self.tell(&StreamMessage::Assignment { generation: announced });
    }

    /// Writes a line on every stream.
    pub(super) fn tell(&self, message: &StreamMessage) {
        self.lock().streams.retain(|stream| stream.send(message.clone()).is_ok());
    }

    /// Refuses connections, and cuts those that are open.
    pub(super) fn leave(&self) {
        self.lock().away = true;
        self.cut();
    }

    pub(super) fn come_back(&self) {
        self.lock().away = false;
    }

    pub(super) fn cut(&self) {
        for kill in self.lock().kills.drain(..) {
            kill.notify_one();
        }
    }

    fn note(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// How agents reach this server.
    pub(super) fn dial(&self) -> Dial {
        let server = self.clone();
        Dial::new(move |_| {
            let server = server.clone();
            async move {
                let (agent, own) = tokio::io::duplex(64 * 1024);
                {
                    let mut state = server.lock();
                    if state.away {
                        return Err(io::ErrorKind::ConnectionRefused.into());
                    }
                    state.connections += 1;
                }
                server.note();
                tokio::spawn(server.serve(own));
                Ok(Box::new(agent) as Box<_>)
            }
        })
    }

    /// Listens on a port of this machine, too. Returns the server's address.
    pub(super) async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                server.lock().connections += 1;
                tokio::spawn(server.clone().serve(stream));
            }
        });
        format!("https://{address}")
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let kill = Arc::new(Notify::new());
        let acceptor = {
            let mut state = self.lock();
            state.kills.push(kill.clone());
            state.authority.acceptor(state.previous_authority.as_deref())
        };
        let Ok(tls) = acceptor.accept(stream).await else { return };
        let is_agent = tls.get_ref().1.peer_certificates().is_some();
        let renewals = self.lock().renewals;
        let server = self.clone();
        let killed = kill.clone();
        let service = service_fn(move |request| {
            let (server, kill) = (server.clone(), kill.clone());
            async move { Ok::<_, Infallible>(server.respond(request, is_agent, renewals, kill).await) }
        });
        let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(tls), service);
        tokio::select! {
            _ = connection => {}
            () = killed.notified() => {}
        }
    }

    /// Passes a place at which the connection may be cut.
    async fn pass(&self, kill: &Notify, cut: Cut) {
        let is_cut = {
            let mut state = self.lock();
            let place = state.places;
            state.places += 1;
            state.cut_at == Some(place)
        };
        if is_cut {
            self.lock().requests.push(format!("cut: {cut:?}"));
            kill.notify_one();
            std::future::pending::<()>().await;
        }
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        is_agent: bool,
        renewals: u64,
        kill: Arc<Notify>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let range = parts.headers.get("range").map(|range| format!(" {}", range.to_str().unwrap()));
        let shown = format!("{} {}{}", parts.method, parts.uri.path(), range.clone().unwrap_or_default());
        self.lock().requests.push(shown);
        self.note();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        self.pass(&kill, Cut::Received).await;
        let path = parts.uri.path();
        let is_expired = renewals < self.lock().expired_before;
        let response = match (&parts.method, path) {
            (&Method::POST, ENROLL) => self.enroll(&body),
            _ if !is_agent => refuse(401, "unauthorized"),
            _ if self.lock().revoked => refuse(403, AGENT_REVOKED),
            (&Method::POST, RENEW) => self.renew(&body),
            _ if is_expired => refuse(401, CERTIFICATE_EXPIRED),
            (&Method::GET, STREAM) => return self.stream(),
            (&Method::GET, ASSIGNMENT) => self.assignment(),
            (&Method::POST, REPORT) => self.report(&body),
            (&Method::GET, path) => {
                let digest =
                    path.strip_prefix(BLOBS).and_then(|rest| BlobDigest::parse(rest.trim_start_matches('/')));
                self.blob(digest.expect("a digest"), range.as_deref())
            }
            _ => refuse(404, "not-found"),
        };
        self.note();
        self.pass(&kill, Cut::Handled).await;
        self.in_halves(response, kill).await
    }

    /// Sends the response in two parts, with a place between them.
    async fn in_halves(&self, response: Response<Full<Bytes>>, kill: Arc<Notify>) -> Response<Body> {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let halves = [bytes.slice(..bytes.len() / 2), bytes.slice(bytes.len() / 2..)];
        let server = self.clone();
        let frames = futures_util::stream::unfold(
            (0, halves, server, kill),
            |(sent, halves, server, kill)| async move {
                if sent == 2 {
                    return None;
                }
                if sent == 1 {
                    // The first half has to be on its way before the connection is cut.
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    server.pass(&kill, Cut::Half).await;
                }
                let frame = Ok(Frame::data(halves[sent].clone()));
                Some((frame, (sent + 1, halves, server, kill)))
            },
        );
        Response::from_parts(parts, BodyExt::boxed(StreamBody::new(Box::pin(frames) as SyncStream)))
    }

    fn enroll(&self, body: &[u8]) -> Response<Full<Bytes>> {
        let request: EnrollRequest = serde_json::from_slice(body).unwrap();
        let mut state = self.lock();
        state.join_requests.insert(request.certificate_request.clone());
        if state.pending_joins > 0 {
            state.pending_joins -= 1;
            return refuse(409, JOIN_PENDING);
        }
        if !state.tokens.remove(request.token.expose()) {
            return refuse(403, ENROLMENT_REFUSED);
        }
        state.enrolments += 1;
        let certificate = state.issued(&request.certificate_request);
        let (identity, trust) = (identity(state.enrolments), state.authority.trust());
        json(&EnrollResponse { identity, certificate, trust })
    }

    fn renew(&self, body: &[u8]) -> Response<Full<Bytes>> {
        let request: RenewRequest = serde_json::from_slice(body).unwrap();
        let mut state = self.lock();
        state.renewals += 1;
        let certificate = state.issued(&request.certificate_request);
        json(&RenewResponse { certificate, trust: state.authority.trust() })
    }

    fn stream(&self) -> Response<Body> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.lock();
        let hello = StreamMessage::Hello {
            generation: state.announced,
            renew_after_seconds: state.renew_after,
            silence_seconds: 60,
        };
        sender.send(hello).unwrap();
        state.streams.push(sender);
        drop(state);
        let server = self.clone();
        let lines = futures_util::stream::unfold((receiver, server), |(mut receiver, server)| async move {
            // A sign of life, as the real server gives one.
            let next = timeout(Duration::from_secs(20), receiver.recv()).await;
            let message = next.unwrap_or(Some(StreamMessage::Ping))?;
            while server.lock().silent {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let mut line = serde_json::to_vec(&message).unwrap();
            line.push(b'\n');
            Some((Ok(Frame::data(Bytes::from(line))), (receiver, server)))
        });
        Response::new(BodyExt::boxed(StreamBody::new(Box::pin(lines) as SyncStream)))
    }

    fn assignment(&self) -> Response<Full<Bytes>> {
        match &self.lock().assignment {
            Some(assignment) => json(assignment),
            None => refuse(404, "not-found"),
        }
    }

    fn blob(&self, digest: BlobDigest, range: Option<&str>) -> Response<Full<Bytes>> {
        let state = self.lock();
        let Some(bytes) = state.blobs.get(&digest) else { return refuse(404, "not-found") };
        let from: usize = range.map_or(0, |range| {
            range.trim().trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap()
        });
        if from >= bytes.len() {
            return refuse(416, "range");
        }
        let to = state.blob_limit.map_or(bytes.len(), |limit| bytes.len().min(from + limit));
        let mut response = Response::new(Full::new(Bytes::copy_from_slice(&bytes[from..to])));
        if from > 0 {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
            response.headers_mut().insert("content-range", range.parse().unwrap());
        }
        response
    }

    fn report(&self, body: &[u8]) -> Response<Full<Bytes>> {
        assert!(body.len() <= MAX_REPORT_BYTES);
        let report: ReportBody = serde_json::from_slice(body).unwrap();
        assert!(report.events.len() <= MAX_EVENTS && report.drift.len() <= MAX_DRIFTED_ITEMS);
        let mut state = self.lock();
        if let Some(status) = state.refuse_reports {
            return refuse(status, "refused");
        }
        let sequence = report.sequence;
        let newer = state.merged.merge(&report);
        state.reports.push(report);
        json(&ReportReceipt { sequence, send_complete: false, newer })
    }
}

type SyncStream =
    std::pin::Pin<Box<dyn futures_util::Stream<Item = Result<Frame<Bytes>, io::Error>> + Send + Sync>>;

impl ServerState {
    fn issued(&self, request: &str) -> IssuedCertificate {
        IssuedCertificate {
            pem: self.authority.issue(request),
            valid_for_seconds: self.renew_after * 3 / 2,
            renew_after_seconds: self.renew_after,
        }
    }
}

fn json(value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    Response::new(Full::new(serde_json::to_vec(value).unwrap().into()))
}

fn refuse(status: u16, code: &str) -> Response<Full<Bytes>> {
    let error = ErrorBody {
        code: code.to_owned(),
        message: format!("refused: {code}"),
        help: String::new(),
        details: Vec::new(),
        request_id: String::new(),
    };
    let mut response = json(&ErrorEnvelope { error });
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}
