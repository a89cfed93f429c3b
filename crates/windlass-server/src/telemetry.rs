//! Sends traces to a collector, with OTLP over HTTP, if one is configured. Without one, nothing here runs, and a span costs
//! one comparison of levels.
//!
//! Only spans of the target `windlass_control::spans::SPANS` are sent. Their fields are ids, routes, counts and
//! constants of the code: never the content of a request, a response, a form or a file.

#[cfg(feature = "otlp")]
pub use exporting::{Telemetry, TelemetryError};

/// Makes a span part of the trace that the request's headers name (W3C Trace Context).
#[cfg(feature = "otlp")]
pub(crate) fn continue_trace(span: &tracing::Span, headers: &axum::http::HeaderMap) {
    use opentelemetry::propagation::TextMapPropagator as _;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;
    if span.is_disabled() || !headers.contains_key("traceparent") {
        return;
    }
    let headers = opentelemetry_http::HeaderExtractor(headers);
    let context = opentelemetry_sdk::propagation::TraceContextPropagator::new().extract(&headers);
    // Fails if no layer records the span; then there is no trace to continue.
    let _ = span.set_parent(context);
}

/// Renames a span that has started: the route of a request is known only when it ends.
#[cfg(feature = "otlp")]
pub(crate) fn rename(span: &tracing::Span, name: String) {
    use opentelemetry::trace::TraceContextExt as _;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;
    span.context().span().update_name(name);
}

/// Does nothing: without a collector, nothing uses the name.
#[cfg(not(feature = "otlp"))]
pub(crate) fn rename(_: &tracing::Span, _: String) {}

/// Does nothing: without a collector, there is no trace to continue.
#[cfg(not(feature = "otlp"))]
pub(crate) fn continue_trace(_: &tracing::Span, _: &axum::http::HeaderMap) {}

#[cfg(feature = "otlp")]
mod exporting {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use opentelemetry::KeyValue;
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_http::Bytes;
    use opentelemetry_http::HttpClient;
    use opentelemetry_http::HttpError;
    use opentelemetry_http::Request;
    use opentelemetry_http::Response;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_otlp::WithExportConfig as _;
    use opentelemetry_otlp::WithHttpConfig as _;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tokio::runtime::Handle;
    use tracing::Subscriber;
    use tracing_subscriber::Layer;
    use tracing_subscriber::filter::LevelFilter;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::registry::LookupSpan;
    use url::Url;
    use windlass_core::address_guard::AddressRules;
    use windlass_outbound::AddressGuard;
    use windlass_outbound::Http;
    use windlass_outbound::HttpOptions;
    use windlass_outbound::Proxies;
    use windlass_outbound::TlsTrust;

    use windlass_control::spans::SPANS;

    /// The longest time for one export. If the collector takes longer, the spans are dropped.
    const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

    /// Why traces cannot be sent as configured.
    #[derive(Debug, thiserror::Error)]
    pub enum TelemetryError {
        /// The address is not valid.
        #[error("`{0}` is not a collector address")]
        Address(String),
        /// The exporter could not be created.
        #[error("cannot send traces: {0}")]
        Exporter(String),
    }

    /// The exporter of spans to a collector.
    pub struct Telemetry {
        provider: SdkTracerProvider,
    }

    impl Telemetry {
        /// Prepares to send spans to `{address}/v1/traces`. It sends nothing yet, so that a server starts while its
        /// collector is down. Requests run on this runtime.
        pub fn start(address: &str, runtime: Handle) -> Result<Telemetry, TelemetryError> {
            let wrong = || TelemetryError::Address(address.to_owned());
            let url = Url::parse(address).map_err(|_| wrong())?;
            if !matches!(url.scheme(), "http" | "https") || url.host().is_none() || url.query().is_some() {
                return Err(wrong());
            }
            let failed = |error: &dyn std::error::Error| TelemetryError::Exporter(error.to_string());
            let options = HttpOptions {
                connect_timeout: EXPORT_TIMEOUT,
                timeout: Some(EXPORT_TIMEOUT),
                trust: TlsTrust::System,
                proxies: Proxies::Environment,
                port: None,
            };
            // The operator named this host, so it may be on this machine.
            let rules = AddressRules::default().for_operator_host(url.host_str().unwrap_or_default(), None);
            let http =
                Http::new(&AddressGuard::new(rules), options).map_err(|error| failed(&error))?.into_client();
            let exporter = SpanExporter::builder()
                .with_http()
                .with_http_client(Collector { http, runtime, is_failing: Arc::default() })
                .with_endpoint(format!("{}/v1/traces", url.as_str().trim_end_matches('/')))
                .with_timeout(EXPORT_TIMEOUT)
                .build()
                .map_err(|error| failed(&error))?;
            let resource = Resource::builder()
                .with_service_name("windlass")
                .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
                .build();
            let provider =
                SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
            Ok(Telemetry { provider })
        }

        /// The layer that records spans.
        pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
        where
            S: Subscriber + for<'s> LookupSpan<'s> + Send + Sync,
        {
            tracing_opentelemetry::layer()
                .with_tracer(self.provider.tracer("windlass"))
                .with_location(false)
                .with_threads(false)
                .with_tracked_inactivity(false)
                .with_filter(Targets::new().with_target(SPANS, LevelFilter::TRACE))
        }

        /// Sends the remaining spans, and stops.
        pub async fn stop(self) {
            // The shutdown blocks until the exporter's thread ends, and that thread needs this runtime.
            let ended =
                tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(EXPORT_TIMEOUT));
            let _ = ended.await;
        }
    }

    /// The HTTP client of the exporter, whose thread has no runtime of its own: requests run on the server's runtime.
    #[derive(Debug)]
    struct Collector {
        http: reqwest::Client,
        runtime: Handle,
        is_failing: Arc<AtomicBool>,
    }

    type SendFuture<'s> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 's>>;

    impl HttpClient for Collector {
        fn send_bytes<'s, 'f>(&'s self, request: Request<Bytes>) -> SendFuture<'f>
        where
            's: 'f,
            Self: 'f,
        {
            let (http, is_failing) = (self.http.clone(), Arc::clone(&self.is_failing));
            let sent = self.runtime.spawn(async move { http.send_bytes(request).await });
            Box::pin(async move {
                let answer = match sent.await {
                    Ok(answer) => answer,
                    Err(stopped) => Err(stopped.into()),
                };
                let fault = match &answer {
                    Ok(response) if response.status().is_success() => None,
                    Ok(response) => Some(format!("status {}", response.status())),
                    Err(error) => Some(error.to_string()),
                };
                log_collector_state(&is_failing, fault.as_deref());
                answer
            })
        }
    }

    /// Logs when a collector begins to fail and when it accepts spans again.
    fn log_collector_state(is_failing: &AtomicBool, fault: Option<&str>) {
        match (is_failing.swap(fault.is_some(), Ordering::Relaxed), fault) {
            (false, Some(fault)) => {
                tracing::warn!(fault, "the collector does not accept spans; they are lost");
            }
            (true, None) => tracing::info!("the collector accepts spans again"),
            _ => {}
        }
    }
}
