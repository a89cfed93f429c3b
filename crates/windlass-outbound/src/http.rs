//! The HTTP client of every request that the server sends: one policy, and no connection to an address that the guard
//! refuses.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, Method, RequestBuilder, redirect};
use tokio_rustls::rustls::Error as TlsError;
use url::{Host, Url};

use crate::guard::{AddressGuard, ResolveError, run_lookup};

/// Which certificate authorities the client trusts.
#[derive(Clone, Copy, Debug)]
pub enum TlsTrust<'t> {
    /// The system's authorities.
    System,
    /// The system's authorities and these, in PEM.
    SystemAnd(&'t str),
    /// Only these authorities, in PEM.
    Only(&'t str),
}

/// Whether the client uses a proxy that the environment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxies {
    /// Use it. The proxy then resolves names, and must refuse addresses itself.
    Environment,
    /// Ignore it.
    Never,
}

/// The settings of a client.
#[derive(Clone, Copy, Debug)]
pub struct HttpOptions<'o> {
    /// Time limit for connecting.
    pub connect_timeout: Duration,
    /// Time limit for a whole request; `None` if the caller limits the time.
    pub timeout: Option<Duration>,
    /// The certificate authorities to trust.
    pub trust: TlsTrust<'o>,
    /// Whether to use a proxy from the environment.
    pub proxies: Proxies,
    /// The port of every request, if it is known; exceptions for one port then also apply to names.
    pub port: Option<u16>,
}

/// Why a client could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpClientError {
    /// The additional authority is not a readable certificate.
    #[error("the certificate authority is not a PEM certificate")]
    Authority,
    /// The TLS library returned an error.
    #[error("cannot set up TLS: {reason}")]
    Tls {
        /// The reason.
        reason: String,
    },
}

/// An HTTP client that connects only to addresses the guard allows, and follows no redirects.
#[derive(Clone, Debug)]
pub struct Http {
    client: Client,
    guard: AddressGuard,
}

impl Http {
    /// A client that applies the guard's rules.
    pub fn new(guard: &AddressGuard, options: HttpOptions<'_>) -> Result<Http, HttpClientError> {
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .connect_timeout(options.connect_timeout)
            .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(GuardedNames {
                guard: guard.clone(),
                port: options.port,
                proxies: proxy_hosts(options.proxies),
            });
        if let Some(within) = options.timeout {
            builder = builder.timeout(within);
        }
        if options.proxies == Proxies::Never {
            builder = builder.no_proxy();
        }
        let client = add_authorities(builder, options.trust)?
            .build()
            .map_err(|error| HttpClientError::Tls { reason: root_cause(&error).to_string() })?;
        Ok(Http { client, guard: guard.clone() })
    }

    /// Starts a request. Names are checked when they are resolved; an IP address in the URL is never resolved, so it is
    /// checked here.
    pub fn request(&self, method: Method, url: Url) -> Result<RequestBuilder, ResolveError> {
        let port = url.port_or_known_default();
        match url.host() {
            Some(Host::Ipv4(address)) => self.guard.check(&address.to_string(), port, address.into())?,
            Some(Host::Ipv6(address)) => self.guard.check(&address.to_string(), port, address.into())?,
            Some(Host::Domain(_)) => {}
            None => return Err(ResolveError::NotFound { host: String::new() }),
        }
        Ok(self.client.request(method, url))
    }

    /// The underlying client, for a library that makes its own requests to the one address that the operator named.
    pub fn into_client(self) -> Client {
        self.client
    }
}

/// Sets the certificate authorities of a client.
fn add_authorities(builder: ClientBuilder, trust: TlsTrust<'_>) -> Result<ClientBuilder, HttpClientError> {
    let read = |pem: &str| match reqwest::Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(HttpClientError::Authority),
    };
    Ok(match trust {
        TlsTrust::System => builder,
        TlsTrust::SystemAnd(pem) => read(pem)?.into_iter().fold(builder, ClientBuilder::add_root_certificate),
        TlsTrust::Only(pem) => builder.tls_certs_only(read(pem)?),
    })
}

/// Resolves names for the client at the moment of connecting.
struct GuardedNames {
    guard: AddressGuard,
    port: Option<u16>,
    /// Hosts of proxies. The operator named them, so they may be on this machine.
    proxies: Vec<String>,
}

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (guard, port) = match self.proxies.contains(&host.to_ascii_lowercase()) {
            true => (self.guard.with_rules(self.guard.rules().for_operator_host(&host, None)), None),
            false => (self.guard.clone(), self.port),
        };
        Box::pin(async move {
            let name = host.clone();
            let found = run_lookup(move || guard.addresses(&name, port)).await;
            let found = found.unwrap_or(Err(ResolveError::NotFound { host }))?;
            let addresses: Vec<SocketAddr> = found.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The hosts of the proxies that the environment names.
fn proxy_hosts(proxies: Proxies) -> Vec<String> {
    if proxies == Proxies::Never {
        return Vec::new();
    }
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let host_of = |text: String| {
        let url = Url::parse(&text)
            .ok()
            .filter(Url::has_host)
            .or_else(|| Url::parse(&format!("http://{text}")).ok());
        url.and_then(|url| url.host_str().map(str::to_ascii_lowercase))
    };
    names.iter().filter_map(|name| std::env::var(name).ok()).filter_map(host_of).collect()
}

/// Why the request was not sent, if the guard refused its host or the name has no address.
pub fn refusal_of(error: &reqwest::Error) -> Option<ResolveError> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref::<ResolveError>() {
            return Some(refusal.clone());
        }
        cause = error.source();
    }
    None
}

/// Why the client rejected the server's certificate; `None` for every other error. Detected by the error's type and
/// never by its text: the text contains the URL, and whoever registers a URL chooses its words.
pub fn refused_certificate(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(tls @ TlsError::InvalidCertificate(_)) = error.downcast_ref() {
            return Some(tls.to_string());
        }
        // The error inside an `io::Error` is not its `source()`, so it is looked at separately.
        if let Some(held) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            cause = Some(held);
            continue;
        }
        cause = error.source();
    }
    None
}

/// The causes of an error, without the URL.
pub fn causes_of(error: &reqwest::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if said.last() != Some(&text) {
            said.push(text);
        }
        cause = error.source();
    }
    match said.is_empty() {
        true => "the request failed".to_owned(),
        false => said.join(": "),
    }
}

/// The innermost cause.
fn root_cause(error: &reqwest::Error) -> &dyn Error {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use windlass_core::address_guard::AddressRules;

    use super::*;
    use crate::guard::Lookup;

    fn options() -> HttpOptions<'static> {
        HttpOptions {
            connect_timeout: Duration::from_secs(5),
            timeout: Some(Duration::from_secs(5)),
            trust: TlsTrust::System,
            proxies: Proxies::Never,
            port: None,
        }
    }

    /// A listener that would accept connections; `was_connected` reports whether it got one.
    fn listener() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    fn was_connected(listener: &TcpListener) -> bool {
        listener.accept().is_ok()
    }

    #[tokio::test]
    async fn no_spelling_of_this_machine_is_connected_to() {
        let (listener, port) = listener();
        let http = Http::new(&AddressGuard::new(AddressRules::default()), options()).unwrap();
        for host in [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "2130706433",
            "0177.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0",
            "localhost",
            "localhost.",
            "LOCALHOST",
            "１２７.0.0.1",
            "①27.0.0.1",
        ] {
            let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
            let refusal = match http.request(Method::GET, url) {
                Err(refusal) => refusal,
                Ok(request) => refusal_of(&request.send().await.unwrap_err()).unwrap(),
            };
            assert_ne!(refusal.code(), "", "{host}: {refusal}");
            assert!(!was_connected(&listener), "{host}");
        }
    }

    #[tokio::test]
    async fn a_word_in_an_address_is_not_classified_as_a_certificate_error() {
        let (listener, port) = listener();
        let rules = AddressRules::default().for_operator_host("127.0.0.1", Some(port));
        let http = Http::new(&AddressGuard::new(rules), options()).unwrap();
        let url = Url::parse(&format!("https://127.0.0.1:{port}/certificate.git")).unwrap();
        let send = || http.request(Method::GET, url.clone()).unwrap().send();
        let answer = async {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let (mut open, _) = listener.accept().await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut open, b"-ERR unknown command\r\n").await.unwrap();
            open
        };
        let (error, _open) = tokio::join!(send(), answer);
        let (no_tls, closed) = (error.unwrap_err(), send().await.unwrap_err());
        for error in [no_tls, closed] {
            assert_eq!(refused_certificate(&error), None);
            let causes = causes_of(&error);
            assert!(!causes.is_empty() && !causes.contains("certificate"), "{causes}");
        }
    }

    #[tokio::test]
    async fn compressed_responses_are_not_decompressed() {
        let (listener, port) = listener();
        let rules = AddressRules::default().for_operator_host("127.0.0.1", Some(port));
        let http = Http::new(&AddressGuard::new(rules), options()).unwrap();
        // Ten bytes that claim to be compressed: decompressing them would fail.
        let answer = async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let (mut open, _) = listener.accept().await.unwrap();
            let mut asked = [0; 4096];
            assert!(tokio::io::AsyncReadExt::read(&mut open, &mut asked).await.unwrap() > 0);
            let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 10\r\n\r\n0123456789";
            tokio::io::AsyncWriteExt::write_all(&mut open, head.as_bytes()).await.unwrap();
            open
        };
        let url = Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
        let (answer, _open) = tokio::join!(http.request(Method::GET, url).unwrap().send(), answer);
        assert_eq!(answer.unwrap().bytes().await.unwrap(), "0123456789");
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_a_forbidden_address_at_connect_time_is_refused() {
        let (listener, port) = listener();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let lookup: Lookup = Arc::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(vec!["127.0.0.1".parse().unwrap()])
        });
        let guard = AddressGuard::with_lookup(AddressRules::default(), lookup);
        let http = Http::new(&guard, options()).unwrap();
        let url = Url::parse(&format!("http://rebinding.example:{port}/")).unwrap();
        let error = http.request(Method::GET, url.clone()).unwrap().send().await.unwrap_err();
        assert_eq!(refusal_of(&error).unwrap().code(), "address-refused");
        assert!(!was_connected(&listener));
        assert_eq!(asked.load(Ordering::SeqCst), 1, "a name is resolved once and checked then");

        let named = Http::new(
            &guard.with_rules(guard.rules().for_operator_host("rebinding.example", Some(port))),
            options(),
        );
        let sent = tokio::time::timeout(
            Duration::from_millis(500),
            named.unwrap().request(Method::GET, url).unwrap().send(),
        );
        let _ = sent.await;
        assert!(was_connected(&listener), "the operator named it");
    }
}
