//! Sends over SMTP: TLS from the first byte (`smtps`), or STARTTLS before any other command (`smtp`). Without TLS only
//! on this machine, if the operator allowed it.

use std::time::Duration;

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use windlass_outbound::{AddressGuard, ResolveError};

use super::http::without_brackets;
use super::outcome::SendOutcome;
use super::outgoing_message::{OutgoingMessage, PlaintextPolicy};
use super::target::{MailTarget, SendError};
use crate::render::Mail;

/// Time limit for one command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for the whole delivery.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn send(
    mail_target: &MailTarget,
    mail: &Mail,
    outgoing: OutgoingMessage<'_>,
    (guard, plain): (&AddressGuard, PlaintextPolicy),
) -> Result<SendOutcome, SendError> {
    let host = without_brackets(mail_target.url.host_str().ok_or(SendError::BadAddress)?);
    let is_wrapped = mail_target.url.scheme() == "smtps";
    let port = mail_target.url.port().unwrap_or(if is_wrapped { 465 } else { 587 });
    let found = guard.resolve_async(host, port).await?;
    let is_on_this_machine = found.iter().all(|address| address.ip().is_loopback());
    let address = found.first().ok_or_else(|| ResolveError::NotFound { host: host.to_owned() })?;
    let parameters =
        || TlsParameters::new(host.to_owned()).map_err(|error| SendError::Tls { reason: error.to_string() });
    let tls = match (is_wrapped, is_on_this_machine && plain == PlaintextPolicy::OnThisMachine) {
        (true, _) => Tls::Wrapper(parameters()?),
        (false, true) => Tls::None,
        (false, false) => Tls::Required(parameters()?),
    };
    // Connects to the address that was checked and not to the name, which may resolve to another address by now.
    let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(address.ip().to_string())
        .port(port)
        .tls(tls)
        .timeout(Some(COMMAND_TIMEOUT));
    if let Some((user, password)) = &mail_target.login {
        transport = transport.credentials(Credentials::new(user.expose().clone(), password.expose().clone()));
    }
    let message = build_message(mail_target, mail, outgoing)?;
    Ok(match tokio::time::timeout(SEND_TIMEOUT, transport.build().send(message)).await {
        Ok(Ok(response)) => SendOutcome::Done { answer: format!("status {}", response.code()) },
        Ok(Err(error)) if error.is_permanent() => {
            SendOutcome::Permanent { reason: format!("it refuses the mail: {error}") }
        }
        // The reason goes only to the server's log: otherwise whoever may name a mail server could scan for open ports.
        Ok(Err(error)) if error.is_transient() || error_text(&error).contains("certificate") => {
            SendOutcome::Retry {
                reason: format!("cannot send mail through {host}: {}", error_text(&error)),
                after: None,
            }
        }
        Ok(Err(error)) => unreachable(host, &error_text(&error)),
        Err(_) => unreachable(host, "it did not respond in time"),
    })
}

fn unreachable(host: &str, cause: &str) -> SendOutcome {
    tracing::info!(host, cause, "could not reach a mail server");
    SendOutcome::Retry { reason: format!("could not reach {host}"), after: None }
}

fn error_text(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        words = format!("{words}: {deeper}");
        cause = deeper.source();
    }
    words
}

fn build_message(
    mail_target: &MailTarget,
    mail: &Mail,
    outgoing: OutgoingMessage<'_>,
) -> Result<Message, SendError> {
    let refused = |reason: String| SendError::Mail { reason };
    let mailbox = |address: &str| address.parse::<Mailbox>().map_err(|error| refused(error.to_string()));
    let from = mailbox(&mail_target.from)?;
    let domain = from.email.domain().to_owned();
    let mut builder = Message::builder()
        .from(from)
        .subject(mail.subject.clone())
        // The same for every attempt: mail servers and clients recognise duplicates by it.
        .message_id(Some(format!("<{}@{domain}>", outgoing.delivery)));
    for address in &mail_target.to {
        builder = builder.to(mailbox(address)?);
    }
    let body = MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone());
    let mut message = builder.multipart(body).map_err(|error| refused(error.to_string()))?;
    let mut note = |name: &str, value: &str| {
        if let Ok(name) = HeaderName::new_from_ascii(name.to_owned()) {
            message.headers_mut().insert_raw(HeaderValue::new(name, value.to_owned()));
        }
    };
    note("X-Windlass-Delivery", outgoing.delivery);
    note("X-Windlass-Event", outgoing.kind);
    note("Auto-Submitted", "auto-generated");
    Ok(message)
}
