//! Why someone is not signed in.

use std::time::Duration;

use windlass_store::StoreError;

use crate::limits::password_permits::TooManySignIns;

/// Why someone could not sign in.
#[derive(Debug)]
pub(crate) enum LoginError {
    /// Wrong e-mail address, password or account: which, is not told.
    Refused,
    /// The same where passwords are for administrators of the installation alone.
    RefusedHere,
    /// Too many failures; wait so long.
    Throttled(Duration),
    /// Too many people sign in at this moment.
    Busy,
    /// The database could not tell.
    Store(StoreError),
}

impl From<StoreError> for LoginError {
    fn from(error: StoreError) -> LoginError {
        LoginError::Store(error)
    }
}

impl From<TooManySignIns> for LoginError {
    fn from(_: TooManySignIns) -> LoginError {
        LoginError::Busy
    }
}
