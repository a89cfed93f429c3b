//! Why a forge could not be told something.

use std::time::Duration;

use windlass_forge::api::{AddressError, ForgeError, Lasting};
use windlass_secrets::SecretError;

use crate::credential::NotTold;

/// What is wrong, what to do, and whether trying again can help. Never holds a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) lasting: Lasting,
    pub(crate) retry_after: Option<Duration>,
}

impl Trouble {
    /// Something about the settings, which someone has to change.
    pub(crate) fn setting(field: &str, message: &str, help: &str) -> Trouble {
        Trouble {
            code: "forge-settings",
            message: format!("{field}: {message}"),
            help: help.to_owned(),
            lasting: Lasting::UntilChanged,
            retry_after: None,
        }
    }

    /// The address of an API that cannot be used.
    pub(crate) fn address(error: &AddressError) -> Trouble {
        Trouble::setting("forge.api_url", &error.to_string(), error.help())
    }
}

impl From<ForgeError> for Trouble {
    fn from(error: ForgeError) -> Trouble {
        Trouble {
            code: error.code(),
            message: error.to_string(),
            help: error.help().to_owned(),
            lasting: error.lasting(),
            retry_after: error.retry_after(),
        }
    }
}

impl From<NotTold> for Trouble {
    fn from(NotTold { code, message, help }: NotTold) -> Trouble {
        // An admin may bind the credential at any time.
        Trouble { code, message, help, lasting: Lasting::Passing, retry_after: None }
    }
}

impl From<SecretError> for Trouble {
    fn from(error: SecretError) -> Trouble {
        let help = match &error {
            SecretError::Missing { .. } => "put the token there, or correct the path",
            error => error.help(),
        };
        Trouble {
            code: error.code(),
            message: error.to_string(),
            help: help.to_owned(),
            // Vault may be back soon.
            lasting: Lasting::Passing,
            retry_after: None,
        }
    }
}
