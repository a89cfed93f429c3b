//! Fake forges: each answers the requests of Windlass like the real one, and records every request.
//!
//! The real ones are too large for tests, or not available. The responses in `answer.rs` follow their documentation.

mod answer;
mod state;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub use self::state::{FakeComment, ForgeFlavour, ReceivedRequest};

use self::state::{ForgeState, PreparedAnswer};

/// A running fake forge. It has a repository `acme/fleet` and an organisation `acme`.
pub struct FakeForge {
    flavour: ForgeFlavour,
    address: SocketAddr,
    state: Arc<Mutex<ForgeState>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeForge {
    /// The valid token.
    pub const TOKEN: &'static str = state::TOKEN;
    /// The login of the token's user.
    pub const LOGIN: &'static str = state::LOGIN;
    /// The id of that user.
    pub const USER_ID: i64 = state::USER_ID;

    /// Starts a fake forge.
    pub fn start(flavour: ForgeFlavour) -> FakeForge {
        let state: Arc<Mutex<ForgeState>> = Arc::default();
        let (stop, stopped) = oneshot::channel();
        let (address_sender, address_receiver) = std::sync::mpsc::channel();
        let shared = (flavour, Arc::clone(&state));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                let address = listener.local_addr().expect("an address");
                address_sender.send(address).expect("someone waits for it");
                let router = Router::new().fallback(handle_request).with_state(shared);
                let serving = axum::serve(listener, router).with_graceful_shutdown(async {
                    let _ = stopped.await;
                });
                let _ = serving.await;
            });
        });
        let address = address_receiver.recv().expect("it listens");
        FakeForge { flavour, address, state, stop: Some(stop), thread: Some(thread) }
    }

    fn state(&self) -> MutexGuard<'_, ForgeState> {
        lock(&self.state)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The kind of forge, as settings spell it.
    pub fn kind(&self) -> &'static str {
        match self.flavour {
            ForgeFlavour::GitHub => "github",
            ForgeFlavour::Gitea => "gitea",
            ForgeFlavour::GitLab => "gitlab",
        }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state().requests.clone()
    }

    /// Clears the recorded requests.
    pub fn clear_requests(&self) {
        self.state().requests.clear();
    }

    /// Sets the response to the next request, whatever it is. Several are used in order.
    pub fn prepare(&self, status: u16, headers: &[(&str, &str)], body: Value) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.state().prepared.push_back(PreparedAnswer { status, headers, body });
    }

    /// Answers every request with 500 from now on.
    pub fn fail_all_requests(&self) {
        self.state().is_down = true;
    }

    /// Answers normally again.
    pub fn recover(&self) {
        self.state().is_down = false;
    }

    /// Makes the token an administrator's.
    pub fn make_admin(&self) {
        self.state().is_admin = true;
    }

    /// Removes the write permission of the token's user.
    pub fn revoke_write_permission(&self) {
        self.state().may_only_read = true;
    }

    /// Adds a comment by a user.
    pub fn write_comment(&self, number: u64, author: i64, body: &str) {
        let mut state = self.state();
        answer::add_comment(&mut state, &number.to_string(), author, body);
    }

    /// Every comment.
    pub fn comments(&self) -> Vec<FakeComment> {
        self.state().comments.clone()
    }

    /// Removes every comment.
    pub fn remove_comments(&self) {
        self.state().comments.clear();
    }

    /// Commit and body of every status that was set, in order.
    pub fn statuses(&self) -> Vec<(String, Value)> {
        self.state().statuses.clone()
    }

    /// The repositories that were created, as `owner/name`.
    pub fn repositories(&self) -> Vec<String> {
        self.state().repositories.clone()
    }
}

impl Drop for FakeForge {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state is consistent even if another thread panicked while it held the lock.
fn lock(state: &Mutex<ForgeState>) -> MutexGuard<'_, ForgeState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn handle_request(
    State((flavour, state)): State<(ForgeFlavour, Arc<Mutex<ForgeState>>)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let received = ReceivedRequest {
        method: method.to_string(),
        path: uri.path().to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        headers: headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let mut state = lock(&state);
    state.requests.push(received.clone());
    if let Some(prepared) = state.prepared.pop_front() {
        return respond(prepared);
    }
    let (status, body) = match state.is_down {
        true => (500, json!({"message": "something went wrong"})),
        false => answer::answer(flavour, &mut state, &received),
    };
    respond(PreparedAnswer { status, headers: Vec::new(), body })
}

fn respond(prepared: PreparedAnswer) -> Response {
    let status = StatusCode::from_u16(prepared.status).expect("a status");
    let mut response = (status, axum::Json(prepared.body)).into_response();
    for (name, value) in prepared.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        response.headers_mut().insert(name, HeaderValue::from_str(&value).expect("a value"));
    }
    response
}
