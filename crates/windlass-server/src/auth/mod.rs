//! Who is asking, and may they?

pub(crate) mod device;
pub(crate) mod error;
pub(crate) mod identity;
pub(crate) mod login;
pub(crate) mod sso;
pub(crate) mod throttle;
