//! Why a sign-in failed.

use std::time::Duration;

use windlass_store::StoreError;

use crate::limits::password_permits::TooManySignIns;

/// Why a sign-in failed.
#[derive(Debug)]
pub(crate) enum LoginError {
    /// Wrong e-mail address, password or account. The response does not specify which.
    Refused,
    /// The same, on a server where only administrators of the installation may use passwords.
    RefusedHere,
    /// Too many failures; the person must wait this long.
    Throttled(Duration),
    /// Too many sign-ins at the same time.
    Busy,
    /// The database failed.
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
