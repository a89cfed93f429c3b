//! Module versions, and the pins that choose among them.

use std::cmp::Ordering;
use std::fmt;

use super::Name;
use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};

/// A module version: dot-separated parts, compared number by number where both are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(String);

impl Version {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TextValue for Version {
    const WHAT: &'static str = "a version";
    const PATTERN: Option<&'static str> = Some("^[0-9][A-Za-z0-9.+_-]{0,62}$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'_' | b'-');
        let begins_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
        if begins_well && text.len() <= 63 && text.bytes().all(allowed) {
            return Ok(Version(text.to_owned()));
        }
        Err(InvalidText::value(format!("{} is not a version", quoted(text))).help("write it like `1.26.0`"))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Newer is greater: parts compare as numbers where both are, a pre-release (`1.2.0-rc1`) comes before its release.
impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let (release, pre) = split_pre_release(&self.0);
        let (other_release, other_pre) = split_pre_release(&other.0);
        compare_parts(release, other_release)
            .then_with(|| match (pre, other_pre) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(pre), Some(other)) => compare_parts(pre, other),
            })
            .then_with(|| self.0.cmp(&other.0))
    }
}

fn split_pre_release(text: &str) -> (&str, Option<&str>) {
    text.split_once('-').map_or((text, None), |(release, pre)| (release, Some(pre)))
}

fn compare_parts(a: &str, b: &str) -> Ordering {
    let mut left = a.split('.');
    let mut right = b.split('.');
    loop {
        let ordering = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => match (left.parse::<u64>(), right.parse::<u64>()) {
                (Ok(left), Ok(right)) => left.cmp(&right),
                _ => left.cmp(right),
            },
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
}

/// The lifecycle of a module version. Later states are safer to use; `retired` is not to be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lifecycle {
    /// Built, not tested.
    Built,
    /// Being tested.
    Staging,
    /// Tested successfully.
    Blessed,
    /// In use.
    Live,
    /// No longer to be used.
    Retired,
}

impl Lifecycle {
    /// The word used in pins and in the API.
    pub const fn word(self) -> &'static str {
        match self {
            Lifecycle::Built => "built",
            Lifecycle::Staging => "staging",
            Lifecycle::Blessed => "blessed",
            Lifecycle::Live => "live",
            Lifecycle::Retired => "retired",
        }
    }
}

/// The version of a module that a pin selects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selector {
    /// `name` alone: the current newest live version.
    Unpinned,
    /// `name@live`, `name@blessed`, `name@staging`: the newest version in that state.
    State(Lifecycle),
    /// `name@1.26.0`.
    Exact(Version),
}

/// A module and a selector of its version: `nginx@1.26.0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModulePin {
    /// The module.
    pub name: Name,
    /// The selector of its version.
    pub selector: Selector,
}

impl fmt::Display for ModulePin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.selector {
            Selector::Unpinned => write!(f, "{}", self.name),
            Selector::State(state) => write!(f, "{}@{}", self.name, state.word()),
            Selector::Exact(version) => write!(f, "{}@{version}", self.name),
        }
    }
}

impl TextValue for ModulePin {
    const WHAT: &'static str = "a module, as name@version";
    const PATTERN: Option<&'static str> = Some(
        "^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?(@(live|blessed|staging|[0-9][A-Za-z0-9.+_-]{0,62}))?$",
    );

    fn read(text: &str) -> Result<Self, InvalidText> {
        let (name, selector) =
            text.split_once('@').map_or((text, None), |(name, selector)| (name, Some(selector)));
        let name = Name::read(name)?;
        let selector = match selector {
            None => Selector::Unpinned,
            Some("live") => Selector::State(Lifecycle::Live),
            Some("blessed") => Selector::State(Lifecycle::Blessed),
            Some("staging") => Selector::State(Lifecycle::Staging),
            Some(other) => Selector::Exact(Version::read(other).map_err(|_| {
                InvalidText::value(format!("{} is neither a version nor a state", quoted(other)))
                    .help(format!("pin a version (`{name}@1.26.0`) or `@live`, `@blessed`, `@staging`"))
            })?),
        };
        Ok(ModulePin { name, selector })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_people_expect() {
        let ordered = ["1.2", "1.2.0-rc1", "1.2.0", "1.9.0", "1.10.0", "2.0.0-beta", "2.0.0"];
        for pair in ordered.windows(2) {
            let version = |text: &str| Version::read(text).unwrap();
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn pins_read_and_print_the_same() {
        for text in ["nginx", "nginx@live", "nginx@1.26.0", "system-base@staging"] {
            assert_eq!(ModulePin::read(text).unwrap().to_string(), text);
        }
        assert!(ModulePin::read("nginx@latest").is_err());
        assert!(ModulePin::read("@1.0").is_err());
    }
}
