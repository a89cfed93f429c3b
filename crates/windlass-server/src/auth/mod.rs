//! Authentication: sessions, API tokens, sign-ins with a password or through single sign-on, and their limits.

pub(crate) mod device;
pub(crate) mod error;
pub(crate) mod identity;
pub(crate) mod login;
pub(crate) mod sso;
pub(crate) mod throttle;
