//! Sends requests within the fetch limits, and classifies their errors.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use gix::protocol::transport::client::AuthenticationRequired;
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Method, Response, StatusCode};
use tokio::runtime::Runtime;
use url::Url;
use windlass_outbound::{
    Http as HttpClient, HttpClientError, HttpOptions, Proxies, TlsTrust, causes_of, refusal_of,
    refused_certificate,
};

use crate::git::error::{RemoteProblem, quote_remote_text};
use crate::git::fetch_options::FetchOptions;
use crate::git::limits::FetchGuard;

/// A host that takes longer to answer counts as down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a wait checks whether the fetch was stopped.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Enough for `repo` → `repo.git` and one move.
const MAX_REDIRECTS: usize = 3;

/// The HTTP side of a fetch.
#[derive(Clone)]
pub(in crate::git) struct HttpTransport(pub(super) Rc<TransportState>);

pub(super) struct TransportState {
    runtime: Runtime,
    client: HttpClient,
    pub(super) fetch_guard: Arc<FetchGuard>,
    host: String,
    pub(super) moved_to: RefCell<Option<String>>,
}

impl HttpTransport {
    /// Creates a transport.
    pub(in crate::git) fn new(
        options: &FetchOptions<'_>,
        fetch_guard: &Arc<FetchGuard>,
    ) -> Result<HttpTransport, RemoteProblem> {
        let (url, local) =
            (options.url, |error: io::Error| RemoteProblem::Local { reason: error.to_string() });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(local)?;
        let settings = HttpOptions {
            connect_timeout: CONNECT_TIMEOUT,
            timeout: None,
            trust: options.extra_ca_pem.map_or(TlsTrust::System, TlsTrust::SystemAnd),
            proxies: Proxies::Environment,
            port: Some(url.effective_port()),
        };
        let client = HttpClient::new(options.guard, settings)
            .map_err(|error: HttpClientError| RemoteProblem::Tls { reason: error.to_string() })?;
        Ok(HttpTransport(Rc::new(TransportState {
            runtime,
            client,
            fetch_guard: Arc::clone(fetch_guard),
            host: url.host().to_owned(),
            moved_to: RefCell::new(None),
        })))
    }

    /// Waits for the network until the fetch is stopped.
    pub(super) fn wait<T>(&self, work: impl Future<Output = reqwest::Result<T>>) -> io::Result<T> {
        let inside = &self.0;
        let result = inside.runtime.block_on(async {
            let mut work = std::pin::pin!(work);
            loop {
                tokio::select! {
                    result = &mut work => break Some(result),
                    () = tokio::time::sleep(STOP_POLL_INTERVAL) => {
                        if inside.fetch_guard.is_stopped() {
                            break None;
                        }
                    }
                }
            }
        });
        match result {
            None => Err(io::Error::other("stopped")),
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => {
                let refusal = refusal_of(&error).map(RemoteProblem::from);
                Err(self.fail(refusal.unwrap_or_else(|| classify_reqwest_error(&error, &inside.host))))
            }
        }
    }

    pub(super) fn fail(&self, problem: RemoteProblem) -> io::Error {
        let said = problem.to_string();
        self.0.fetch_guard.fail(problem);
        io::Error::other(said)
    }

    pub(super) fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> io::Result<Response> {
        let unusable =
            |_| self.fail(RemoteProblem::Protocol { reason: "its address is not a URL".to_owned() });
        let url = Url::parse(url).map_err(unusable)?;
        let request =
            self.0.client.request(method.clone(), url).map_err(|refusal| self.fail(refusal.into()))?;
        self.wait(request.headers(headers.clone()).body(body).send())
    }

    /// Sends a request and follows redirects within the same server.
    pub(super) fn get_with_redirects(
        &self,
        url: &str,
        base: &str,
        headers: &HeaderMap,
    ) -> io::Result<Response> {
        let tail = url.strip_prefix(base).unwrap_or_default();
        let mut at = url.to_owned();
        for _ in 0..MAX_REDIRECTS {
            let response = self.send(&Method::GET, &at, headers, Vec::new())?;
            if !response.status().is_redirection() {
                return self.accept(response);
            }
            at = redirect_target(&at, &response, tail).map_err(|problem| self.fail(problem))?;
            *self.0.moved_to.borrow_mut() = at.strip_suffix(tail).map(str::to_owned);
        }
        Err(self.fail(RemoteProblem::Protocol { reason: "it redirects too often".to_owned() }))
    }

    pub(super) fn accept(&self, response: Response) -> io::Result<Response> {
        let problem = match response.status() {
            status if status.is_success() => return Ok(response),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let reason = format!("the server returned {}", response.status());
                self.0.fetch_guard.fail(RemoteProblem::Auth { reason });
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    AuthenticationRequired { www_authenticate: Vec::new() },
                ));
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => RemoteProblem::RepositoryMissing,
            status => RemoteProblem::Protocol { reason: format!("the server returned {status}") },
        };
        Err(self.fail(problem))
    }
}

/// The target of a redirect, if it is allowed.
fn redirect_target(from: &str, response: &Response, tail: &str) -> Result<String, RemoteProblem> {
    let refuse = |reason: String| RemoteProblem::Protocol { reason };
    let target = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|target| Url::parse(from).ok()?.join(target).ok())
        .ok_or_else(|| refuse("it redirects without a location".to_owned()))?;
    let origin = Url::parse(from).map(|from| from.origin()).ok();
    let shown = format!("{}://{}{}", target.scheme(), target.host_str().unwrap_or_default(), target.path());
    if origin != Some(target.origin()) || !target.username().is_empty() {
        let reason = format!(
            "it redirects to {}, which was not registered; register that URL",
            quote_remote_text(&shown)
        );
        return Err(refuse(reason));
    }
    if !target.as_str().ends_with(tail) {
        return Err(refuse(format!(
            "it redirects to {}, which is not a git server",
            quote_remote_text(&shown)
        )));
    }
    Ok(target.into())
}

/// Classifies an HTTP error. Only a rejected certificate reveals that the host speaks TLS.
fn classify_reqwest_error(error: &reqwest::Error, host: &str) -> RemoteProblem {
    if let Some(reason) = refused_certificate(error) {
        return RemoteProblem::Tls { reason: quote_remote_text(&reason) };
    }
    let reason = quote_remote_text(&causes_of(error));
    if error.is_connect() || error.is_timeout() || error.is_request() {
        RemoteProblem::Connect { host: host.to_owned(), detail: reason }
    } else {
        RemoteProblem::Protocol { reason }
    }
}
