//! Small validated values of specs: names, versions, addresses, paths, durations.
//!
//! Each is parsed from text, with an error that says how to fix it, and printed in one canonical spelling, so that `5m`
//! and `300s` are the same value with the same digest.

mod count_or_percent;
mod duration;
mod host;
mod label;
mod name;
mod net;
mod path;
mod receiver;
mod schedule;
mod version;
mod wildcard;

pub use count_or_percent::CountOrPercent;
pub use duration::Timeout;
pub use host::{AccountName, CheckCommand, PackageName, PackagePin, SshPublicKey};
pub use label::{LabelKey, LabelValue, Labels};
pub use name::{Hostname, Name, Namespace, VariableName};
pub use net::{Cidr, HttpsUrl, IpAddress, KeyFingerprint, PeerEndpoint};
pub use path::{AbsolutePath, FileMode, RepositoryPath, SettingName, UnitName};
pub use receiver::{CredentialPath, MailAddress, ReceiverUrl};
pub use schedule::Schedule;
pub use version::{FirstState, Lifecycle, LifecycleStep, ModulePin, Selector, Version};
pub use wildcard::Wildcard;

/// Declares a text newtype with a check.
macro_rules! checked_text {
    ($(#[doc = $doc:literal])* $name:ident: $what:literal, $pattern:expr, $check:path) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl $crate::shape::TextValue for $name {
            const WHAT: &'static str = $what;
            const PATTERN: Option<&'static str> = $pattern;

            fn read(text: &str) -> Result<Self, $crate::shape::InvalidText> {
                $check(text).map(|()| $name(text.to_owned()))
            }
        }
    };
}
use checked_text;
