//! Why a request to a forge failed.

use std::time::Duration;

use windlass_forge::api::{AddressError, ForgeError, Retryability};
use windlass_secrets::SecretError;

use crate::credential::CredentialRefusal;

/// What is wrong, what to do, and whether a retry can help. Never contains a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForgeProblem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) lasting: Retryability,
    pub(crate) retry_after: Option<Duration>,
}

impl ForgeProblem {
    /// A problem with the settings, which someone has to fix.
    pub(crate) fn setting(field: &str, message: &str, help: &str) -> ForgeProblem {
        ForgeProblem {
            code: "forge-settings",
            message: format!("{field}: {message}"),
            help: help.to_owned(),
            lasting: Retryability::Permanent,
            retry_after: None,
        }
    }

    /// The address of an API that cannot be used.
    pub(crate) fn address(error: &AddressError) -> ForgeProblem {
        ForgeProblem::setting("forge.api_url", &error.to_string(), error.help())
    }
}

impl From<ForgeError> for ForgeProblem {
    fn from(error: ForgeError) -> ForgeProblem {
        ForgeProblem {
            code: error.code(),
            message: error.to_string(),
            help: error.help().to_owned(),
            lasting: error.retryability(),
            retry_after: error.retry_after(),
        }
    }
}

impl From<CredentialRefusal> for ForgeProblem {
    fn from(CredentialRefusal { code, message, help }: CredentialRefusal) -> ForgeProblem {
        // An admin may bind the credential at any time.
        ForgeProblem { code, message, help, lasting: Retryability::Transient, retry_after: None }
    }
}

impl From<SecretError> for ForgeProblem {
    fn from(error: SecretError) -> ForgeProblem {
        let help = match &error {
            SecretError::Missing { .. } => "put the token there, or correct the path",
            error => error.help(),
        };
        ForgeProblem {
            code: error.code(),
            message: error.to_string(),
            help: help.to_owned(),
            // Vault may be available again soon.
            lasting: Retryability::Transient,
            retry_after: None,
        }
    }
}
