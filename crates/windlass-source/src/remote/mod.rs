//! The settings of a repository's remote: address, branch, prefix, credential, host keys.
//!
//! Everything here is text from users that is checked once, when it is parsed; a value of one of these types is safe to
//! pass to a program. Pure: nothing is resolved, opened or connected to.

mod branch;
mod credential;
mod host_keys;
mod prefix;
mod url;

pub use branch::{Branch, BranchError};
pub use credential::Credential;
pub(crate) use host_keys::known_name;
pub use host_keys::{HostKeys, HostKeysError};
pub use prefix::{PathPrefix, PathPrefixError};
pub use url::{InsecureUrls, RemoteScheme, RemoteUrl, RemoteUrlError};
