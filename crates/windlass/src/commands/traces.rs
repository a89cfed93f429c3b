//! Traces of `windlass serve`, if the program was built with them and a collector was named.

use tokio::runtime::Runtime;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::args::operate::ServeOptions;
use crate::exit::CommandError;

/// Where spans go.
pub(super) struct Traces {
    #[cfg(feature = "otlp")]
    telemetry: Option<windlass_server::Telemetry>,
}

#[cfg(feature = "otlp")]
impl Traces {
    /// The collector that the options name.
    pub(super) fn of(options: &ServeOptions, runtime: &Runtime) -> Result<Traces, CommandError> {
        // An empty variable is one that was taken away.
        let address = options.otlp_endpoint.as_deref().filter(|address| !address.is_empty());
        let handle = runtime.handle();
        let telemetry = address.map(|address| windlass_server::Telemetry::start(address, handle.clone()));
        let telemetry = telemetry.transpose().map_err(|error| {
            CommandError::usage(error.to_string(), "write --otlp-endpoint http://127.0.0.1:4318")
                .because(error)
        })?;
        Ok(Traces { telemetry })
    }

    /// What listens to spans.
    pub(super) fn layer<S>(&self) -> Option<impl Layer<S> + Send + Sync + use<S>>
    where
        S: tracing::Subscriber + for<'s> LookupSpan<'s> + Send + Sync,
    {
        self.telemetry.as_ref().map(windlass_server::Telemetry::layer)
    }

    /// Sends what is left.
    pub(super) async fn stop(self) {
        if let Some(telemetry) = self.telemetry {
            telemetry.stop().await;
        }
    }
}

#[cfg(not(feature = "otlp"))]
impl Traces {
    pub(super) fn of(_: &ServeOptions, _: &Runtime) -> Result<Traces, CommandError> {
        Ok(Traces {})
    }

    pub(super) fn layer<S>(&self) -> Option<impl Layer<S> + Send + Sync + use<S>>
    where
        S: tracing::Subscriber + for<'s> LookupSpan<'s> + Send + Sync,
    {
        None::<tracing_subscriber::layer::Identity>
    }

    pub(super) async fn stop(self) {}
}
