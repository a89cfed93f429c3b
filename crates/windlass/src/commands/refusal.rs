//! Why a call failed → what to tell, and what to do about it.

use std::error::Error;

use windlass_api::client::ClientError;

use crate::exit::CommandError;

/// What to tell about a call to `server` that failed.
pub(super) fn told(error: ClientError, server: &str) -> CommandError {
    match error {
        ClientError::Address(address) => CommandError::usage(
            format!("`{address}` is not the address of a server"),
            "write it like http://127.0.0.1:3000 or https://windlass.example.org",
        ),
        ClientError::Authority => CommandError::usage(
            format!("the CA file for {server} holds no certificate"),
            "it is PEM, beginning with -----BEGIN CERTIFICATE-----",
        ),
        ClientError::Unreachable { source, .. } => unreachable(&innermost(&source), server),
        ClientError::Refused { status: 401, body } => CommandError::NoServer {
            message: format!("not signed in to {server}: {}", body.message),
            help: sign_in_help(server),
        },
        ClientError::Refused { body, .. } => CommandError::Refused(Box::new(body)),
        ClientError::Answer(reason) => CommandError::told(
            format!("the answer of {server} is not understood: {reason}"),
            "is that a Windlass server, and of this version? `windlass --version` tells ours",
        ),
    }
}

/// What to do when nobody is signed in.
pub(super) fn sign_in_help(server: &str) -> String {
    format!("sign in with `windlass login {server}`, or set WINDLASS_TOKEN")
}

fn unreachable(cause: &str, server: &str) -> CommandError {
    let message = format!("could not reach {server}: {cause}");
    let help = match Cause::from_words(cause) {
        Cause::Certificate => {
            "its certificate is not trusted here: check that the name in the address is the certificate's, that the \
             clock is right, and that its authority is known: a private one is given with `windlass login --ca-file \
             FILE` or WINDLASS_CA_FILE"
        }
        Cause::Protocol => "that port does not speak TLS as expected: is it http:// rather than https://?",
        Cause::Name => "check the name in the address, and that this machine can resolve it",
        Cause::Time => {
            "it accepted the connection and did not answer in time: try again, or look at the server's log"
        }
        Cause::Connection => {
            "check the address; `windlass serve` starts a server, and --server or WINDLASS_SERVER names another"
        }
    };
    CommandError::NoServer { message, help: help.to_owned() }
}

/// What is in the way, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Certificate,
    Protocol,
    Name,
    Time,
    Connection,
}

impl Cause {
    /// The libraries below tell these apart only in words.
    fn from_words(text: &str) -> Cause {
        let text = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["certificate", "unknownissuer", "notvalidforname"]) {
            Cause::Certificate
        } else if has(&["corrupt message", "handshake", "invalidcontenttype", "tls", "invalid http version"])
        {
            Cause::Protocol
        } else if has(&["lookup", "resolve", "name or service", "nodename"]) {
            Cause::Name
        } else if has(&["timed out"]) {
            Cause::Time
        } else {
            Cause::Connection
        }
    }
}

fn innermost(error: &dyn Error) -> String {
    let mut cause = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        cause = source.to_string();
        next = source.source();
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_apart_by_the_words_libraries_use() {
        for (words, cause) in [
            ("invalid peer certificate: UnknownIssuer", Cause::Certificate),
            ("received corrupt message of type InvalidContentType", Cause::Protocol),
            ("failed to lookup address information: Name or service not known", Cause::Name),
            ("operation timed out", Cause::Time),
            ("Connection refused (os error 111)", Cause::Connection),
        ] {
            assert_eq!(Cause::from_words(words), cause, "{words}");
        }
    }
}
