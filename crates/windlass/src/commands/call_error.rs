//! Why a call failed → what to tell, and what to do about it.

use windlass_api::client::ClientError;
use windlass_core::display::error_chain;

use crate::exit::CommandError;

/// What to tell about a call to `server` that failed.
pub(super) fn call_error(error: ClientError, server: &str) -> CommandError {
    match error {
        ClientError::Address(address) => CommandError::usage(
            format!("`{address}` is not a server address"),
            "write it like http://127.0.0.1:3000 or https://windlass.example.org",
        ),
        ClientError::Authority => CommandError::usage(
            format!("the CA file for {server} contains no certificate"),
            "use a PEM file, which begins with -----BEGIN CERTIFICATE-----",
        ),
        ClientError::Unreachable { source, .. } => {
            let help = Obstacle::from_words(&error_chain(&source)).help();
            CommandError::no_server(format!("could not reach {server}"), help).because(source)
        }
        ClientError::Refused { status: 401, body } => {
            let message = format!("not signed in to {server}: {}", body.message);
            CommandError::no_server(message, sign_in_help(server))
        }
        ClientError::Refused { body, .. } => CommandError::Refused(Box::new(body)),
        ClientError::Answer(reason) => CommandError::failed(
            format!("cannot parse the response of {server}: {reason}"),
            "check that it is a Windlass server of this version; `windlass --version` prints this one's",
        ),
    }
}

/// What to do when nobody is signed in.
pub(super) fn sign_in_help(server: &str) -> String {
    format!("sign in with `windlass login {server}`, or set WINDLASS_TOKEN")
}

/// What is in the way, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    Certificate,
    Protocol,
    Name,
    Time,
    Connection,
}

impl Obstacle {
    /// The libraries below tell these apart only in words.
    fn from_words(text: &str) -> Obstacle {
        let text = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["certificate", "unknownissuer", "notvalidforname"]) {
            Obstacle::Certificate
        } else if has(&["corrupt message", "handshake", "invalidcontenttype", "tls", "invalid http version"])
        {
            Obstacle::Protocol
        } else if has(&["lookup", "resolve", "name or service", "nodename"]) {
            Obstacle::Name
        } else if has(&["timed out"]) {
            Obstacle::Time
        } else {
            Obstacle::Connection
        }
    }

    /// What to do about it.
    const fn help(self) -> &'static str {
        match self {
            Obstacle::Certificate => {
                "its certificate is not trusted: check the host name, the clock and the certificate authority; for a \
                    private authority use `windlass login --ca-file FILE` or WINDLASS_CA_FILE"
            }
            Obstacle::Protocol => {
                "the TLS handshake failed: if the port serves plain HTTP, write http:// instead of https://"
            }
            Obstacle::Name => "check the name in the address, and that this machine can resolve it",
            Obstacle::Time => {
                "it accepted the connection but did not respond in time: try again, or check the server's log"
            }
            Obstacle::Connection => {
                "check the address; use --server or WINDLASS_SERVER for another server, or start one with `windlass \
                    serve`"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_apart_by_the_words_libraries_use() {
        for (words, cause) in [
            ("invalid peer certificate: UnknownIssuer", Obstacle::Certificate),
            ("received corrupt message of type InvalidContentType", Obstacle::Protocol),
            ("failed to lookup address information: Name or service not known", Obstacle::Name),
            ("operation timed out", Obstacle::Time),
            ("Connection refused (os error 111)", Obstacle::Connection),
        ] {
            assert_eq!(Obstacle::from_words(words), cause, "{words}");
        }
    }
}
