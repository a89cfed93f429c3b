//! Module versions, and the pins that choose among them.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Name;
use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue, choice};
use crate::states;

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

choice! {
    /// The lifecycle of a module version. Later states are safer to use; `retired` is not to be used any more.
    pub enum Lifecycle {
        /// Built, not tested.
        Built = "built",
        /// Being tested.
        Staging = "staging",
        /// Tested successfully.
        Blessed = "blessed",
        /// In use.
        Live = "live",
        /// No longer to be used.
        Retired = "retired",
    }
}

/// A step in the life of a module version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifecycleStep {
    /// The state stays.
    Same,
    /// One or more states forward, up to `live`.
    Forward,
    /// To `retired`, from any state.
    Retire,
    /// To an earlier state, or out of `retired`: only a person can do that, with a reason.
    Back,
}

impl Serialize for Lifecycle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Lifecycle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lifecycle, D::Error> {
        states::deserialize(deserializer)
    }
}

impl Lifecycle {
    /// The step from this state to another one.
    pub fn step_to(self, to: Lifecycle) -> LifecycleStep {
        match to {
            _ if to == self => LifecycleStep::Same,
            Lifecycle::Retired => LifecycleStep::Retire,
            _ if to > self => LifecycleStep::Forward,
            _ => LifecycleStep::Back,
        }
    }
}

choice! {
    /// The state of a version that a module brings.
    pub enum FirstState {
        /// Built, not tested.
        Built = "built",
        /// Being tested.
        Staging = "staging",
        /// Tested successfully.
        Blessed = "blessed",
        /// In use.
        Live = "live",
    }
}

impl FirstState {
    /// The state in the lifecycle.
    pub const fn lifecycle(self) -> Lifecycle {
        match self {
            FirstState::Built => Lifecycle::Built,
            FirstState::Staging => Lifecycle::Staging,
            FirstState::Blessed => Lifecycle::Blessed,
            FirstState::Live => Lifecycle::Live,
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

impl Selector {
    /// The version, if it says exactly one.
    pub const fn exact(&self) -> Option<&Version> {
        match self {
            Selector::Exact(version) => Some(version),
            Selector::State(_) | Selector::Unpinned => None,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Unpinned => Ok(()),
            Selector::State(state) => f.write_str(state.word()),
            Selector::Exact(version) => version.fmt(f),
        }
    }
}

impl TextValue for Selector {
    const WHAT: &'static str = "a version or a state";
    const PATTERN: Option<&'static str> = Some("^(live|blessed|staging|[0-9][A-Za-z0-9.+_-]{0,62})$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        match text {
            "live" => Ok(Selector::State(Lifecycle::Live)),
            "blessed" => Ok(Selector::State(Lifecycle::Blessed)),
            "staging" => Ok(Selector::State(Lifecycle::Staging)),
            other => Version::read(other).map(Selector::Exact).map_err(|_| {
                InvalidText::value(format!("{} is neither a version nor a state", quoted(other)))
                    .help("write a version such as `1.26.0`, or `live`, `blessed`, `staging`")
            }),
        }
    }
}

/// A module and a selector of its version, such as `nginx@live`, and the version that it selects, as far as it is known.
///
/// Files and requests contain only the module and the selector. The version is found when the fleet is compared, is not
/// part of the declared spec, and is part of the resource's digest. An exact pin needs none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModulePin {
    /// The module.
    pub name: Name,
    /// The selector of its version.
    pub selector: Selector,
    resolved: Option<Version>,
}

impl ModulePin {
    /// A pin whose version is not known yet.
    pub const fn new(name: Name, selector: Selector) -> ModulePin {
        ModulePin { name, selector, resolved: None }
    }

    /// The version that the pin selects: the exact one, or the one that was found.
    pub const fn version(&self) -> Option<&Version> {
        match &self.selector {
            Selector::Exact(version) => Some(version),
            Selector::State(_) | Selector::Unpinned => self.resolved.as_ref(),
        }
    }

    /// The version that was found for a pin that is not exact.
    pub const fn resolved(&self) -> Option<&Version> {
        self.resolved.as_ref()
    }

    pub(crate) fn set_resolved(&mut self, version: Option<Version>) {
        self.resolved = version;
    }
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
            Some(text) => Selector::read(text).map_err(|complaint| {
                complaint.help(format!("pin a version (`{name}@1.26.0`) or `@live`, `@blessed`, `@staging`"))
            })?,
        };
        Ok(ModulePin::new(name, selector))
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
    fn a_version_moves_forward_and_to_retired_and_every_other_step_is_back() {
        use Lifecycle::{Blessed, Built, Live, Retired, Staging};
        use LifecycleStep::{Back, Forward, Retire, Same};
        let states = [Built, Staging, Blessed, Live, Retired];
        let steps = [
            (Built, [Same, Forward, Forward, Forward, Retire]),
            (Staging, [Back, Same, Forward, Forward, Retire]),
            (Blessed, [Back, Back, Same, Forward, Retire]),
            (Live, [Back, Back, Back, Same, Retire]),
            (Retired, [Back, Back, Back, Back, Same]),
        ];
        for (from, expected) in steps {
            assert_eq!(states.map(|to| from.step_to(to)), expected, "{}", from.word());
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
