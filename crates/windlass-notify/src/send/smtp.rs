//! Sends over SMTP: TLS from the first byte (`smtps`), or STARTTLS before any other command (`smtp`). Without TLS only
//! on this machine, if the operator allowed it.

use std::time::Duration;

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use windlass_outbound::{AddressGuard, ResolveError};

use super::http::bare;
use super::outcome::SendOutcome;
use super::parcel::{OutgoingMessage, PlaintextPolicy};
use super::target::{MailTarget, SendError};
use crate::render::Mail;

/// Time limit for one command.
const STEP_WITHIN: Duration = Duration::from_secs(10);

/// Time limit for the whole delivery.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn send(
    post: &MailTarget,
    mail: &Mail,
    parcel: OutgoingMessage<'_>,
    (guard, plain): (&AddressGuard, PlaintextPolicy),
) -> Result<SendOutcome, SendError> {
    let host = bare(post.url.host_str().ok_or(SendError::BadAddress)?);
    let is_wrapped = post.url.scheme() == "smtps";
    let port = post.url.port().unwrap_or(if is_wrapped { 465 } else { 587 });
    let found = guard.resolve_async(host, port).await?;
    let is_here = found.iter().all(|address| address.ip().is_loopback());
    let address = found.first().ok_or_else(|| ResolveError::NotFound { host: host.to_owned() })?;
    let parameters =
        || TlsParameters::new(host.to_owned()).map_err(|error| SendError::Tls { reason: error.to_string() });
    let tls = match (is_wrapped, is_here && plain == PlaintextPolicy::OnThisMachine) {
        (true, _) => Tls::Wrapper(parameters()?),
        (false, true) => Tls::None,
        (false, false) => Tls::Required(parameters()?),
    };
    // Connects to the address that was checked and not to the name, which may resolve to another address by now.
    let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(address.ip().to_string())
        .port(port)
        .tls(tls)
        .timeout(Some(STEP_WITHIN));
    if let Some((user, password)) = &post.login {
        transport = transport.credentials(Credentials::new(user.expose().clone(), password.expose().clone()));
    }
    let message = write(post, mail, parcel)?;
    Ok(match tokio::time::timeout(SEND_TIMEOUT, transport.build().send(message)).await {
        Ok(Ok(response)) => SendOutcome::Done { answer: format!("status {}", response.code()) },
        Ok(Err(error)) if error.is_permanent() => {
            SendOutcome::Permanent { reason: format!("it refuses the mail: {error}") }
        }
        // The reason goes only to the server's log: otherwise whoever may name a mail server could scan for open ports.
        Ok(Err(error)) if error.is_transient() || why(&error).contains("certificate") => SendOutcome::Retry {
            reason: format!("cannot send mail through {host}: {}", why(&error)),
            after: None,
        },
        Ok(Err(error)) => unreached(host, &why(&error)),
        Err(_) => unreached(host, "it did not respond in time"),
    })
}

fn unreached(host: &str, cause: &str) -> SendOutcome {
    tracing::info!(host, cause, "could not reach a mail server");
    SendOutcome::Retry { reason: format!("could not reach {host}"), after: None }
}

fn why(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        words = format!("{words}: {deeper}");
        cause = deeper.source();
    }
    words
}

fn write(post: &MailTarget, mail: &Mail, parcel: OutgoingMessage<'_>) -> Result<Message, SendError> {
    let refused = |reason: String| SendError::Mail { reason };
    let mailbox = |address: &str| address.parse::<Mailbox>().map_err(|error| refused(error.to_string()));
    let from = mailbox(&post.from)?;
    let domain = from.email.domain().to_owned();
    let mut builder = Message::builder()
        .from(from)
        .subject(mail.subject.clone())
        // The same for every attempt: mail servers and clients recognise duplicates by it.
        .message_id(Some(format!("<{}@{domain}>", parcel.delivery)));
    for address in &post.to {
        builder = builder.to(mailbox(address)?);
    }
    let body = MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone());
    let mut message = builder.multipart(body).map_err(|error| refused(error.to_string()))?;
    let mut note = |name: &str, value: &str| {
        if let Ok(name) = HeaderName::new_from_ascii(name.to_owned()) {
            message.headers_mut().insert_raw(HeaderValue::new(name, value.to_owned()));
        }
    };
    note("X-Windlass-Delivery", parcel.delivery);
    note("X-Windlass-Event", parcel.kind);
    note("Auto-Submitted", "auto-generated");
    Ok(message)
}
