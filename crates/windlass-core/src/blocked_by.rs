//! What a change waits for beside approval: types, each with one word for programs and one sentence for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::conflict::Conflict;
use crate::gate::{BlockingRule, FailedSync, Halt, Hold, WindowOpening};
use crate::resource::ResourceKey;
use crate::states::states;

states! {
    /// What a change waits for beside approval.
    BlockedByKind as BlockedBy {
        /// Someone else has the name or the addresses that it wants, or they do not fit their network.
        Conflict "conflict",
        /// What it destroys is still referred to.
        StillReferenced "still_referenced",
        /// It refers to something that does not exist yet.
        MissingResource "missing_resource",
        /// Its platform is not in the catalogue.
        MissingPlatform "missing_platform",
        /// No version of a module satisfies one of its pins.
        NoVersion "no_version",
        /// The module has a version of this number with other content.
        VersionReused "version_reused",
        /// The module version was not made yet.
        VersionNotMade "version_not_made",
        /// Only a person can take a module version back to an earlier state.
        VersionBack "version_back",
        /// No window of the rule about it is open.
        OutsideWindows "outside_windows",
        /// The account is halted.
        Halted "halted",
        /// The newest sync of its repository failed.
        SyncFailed "sync_failed",
        /// A rule of the policy blocks it.
        Policy "policy",
        /// There are more reasons of the same kind than are listed.
        More "more",
        /// A reason that an earlier version wrote as text; the next look replaces it.
        Text "text",
    }
}

/// What a change waits for beside approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BlockedBy {
    /// Someone else has what it wants.
    Conflict(Conflict),
    /// What it destroys is still referred to.
    StillReferenced {
        /// By what.
        by: ResourceKey,
    },
    /// It refers to something that does not exist yet.
    MissingResource {
        /// To what.
        key: ResourceKey,
    },
    /// Its platform is not in the catalogue.
    MissingPlatform {
        /// Which platform.
        platform: String,
    },
    /// No version of a module satisfies one of its pins.
    NoVersion {
        /// The module.
        module: String,
        /// The state that the pin asks for.
        state: String,
    },
    /// The module has a version of this number with other content.
    VersionReused {
        /// The module.
        module: String,
        /// The number.
        version: String,
    },
    /// The module version was not made yet.
    VersionNotMade {
        /// Its name.
        name: String,
    },
    /// Only a person can take a module version back to an earlier state.
    VersionBack {
        /// Its state.
        from: String,
        /// The earlier state.
        to: String,
    },
    /// No window of the rule about it is open.
    OutsideWindows {
        /// When the next one opens.
        next: Option<WindowOpening>,
    },
    /// The account is halted.
    Halted(Halt),
    /// The newest sync of its repository failed.
    SyncFailed(FailedSync),
    /// A rule of the policy blocks it.
    Policy(BlockingRule),
    /// There are more reasons of the same kind than are listed.
    More {
        /// How many more.
        count: usize,
    },
    /// A reason as an earlier version wrote it, in the same place: as text.
    #[serde(untagged)]
    Text(String),
}

impl BlockedBy {
    /// The same in a word.
    pub const fn kind(&self) -> BlockedByKind {
        match self {
            BlockedBy::Conflict(_) => BlockedByKind::Conflict,
            BlockedBy::StillReferenced { .. } => BlockedByKind::StillReferenced,
            BlockedBy::MissingResource { .. } => BlockedByKind::MissingResource,
            BlockedBy::MissingPlatform { .. } => BlockedByKind::MissingPlatform,
            BlockedBy::NoVersion { .. } => BlockedByKind::NoVersion,
            BlockedBy::VersionReused { .. } => BlockedByKind::VersionReused,
            BlockedBy::VersionNotMade { .. } => BlockedByKind::VersionNotMade,
            BlockedBy::VersionBack { .. } => BlockedByKind::VersionBack,
            BlockedBy::OutsideWindows { .. } => BlockedByKind::OutsideWindows,
            BlockedBy::Halted(_) => BlockedByKind::Halted,
            BlockedBy::SyncFailed(_) => BlockedByKind::SyncFailed,
            BlockedBy::Policy(_) => BlockedByKind::Policy,
            BlockedBy::More { .. } => BlockedByKind::More,
            BlockedBy::Text(_) => BlockedByKind::Text,
        }
    }

    /// All reasons, for people.
    pub fn sentences(reasons: &[BlockedBy]) -> Vec<String> {
        reasons.iter().map(ToString::to_string).collect()
    }

    /// All reasons, in words.
    pub fn kinds(reasons: &[BlockedBy]) -> Vec<BlockedByKind> {
        reasons.iter().map(BlockedBy::kind).collect()
    }
}

impl fmt::Display for BlockedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockedBy::Conflict(conflict) => conflict.fmt(f),
            BlockedBy::StillReferenced { by } => write!(f, "{by} still refers to it"),
            BlockedBy::MissingResource { key } => write!(f, "{key} does not exist yet"),
            BlockedBy::MissingPlatform { platform } => {
                write!(f, "the platform {platform} is not in the catalogue")
            }
            BlockedBy::NoVersion { module, state } => {
                write!(f, "no version of the module {module} is {state}")
            }
            BlockedBy::VersionReused { module, version } => {
                write!(f, "version {version} of {module} exists with other content; give it a new version")
            }
            BlockedBy::VersionNotMade { name } => {
                write!(f, "there is no version {name} yet; applying a module with that version makes it")
            }
            BlockedBy::VersionBack { from, to } => {
                write!(f, "the version is {from}; only a direct change with a reason takes it back to {to}")
            }
            BlockedBy::OutsideWindows { next } => Hold::OutsideWindows { next: next.clone() }.fmt(f),
            BlockedBy::Halted(halt) => halt.fmt(f),
            BlockedBy::SyncFailed(failed) => failed.fmt(f),
            BlockedBy::Policy(rule) => rule.fmt(f),
            BlockedBy::More { count } => write!(f, "and {count} more"),
            BlockedBy::Text(text) => f.write_str(text),
        }
    }
}

impl From<Hold> for BlockedBy {
    fn from(hold: Hold) -> BlockedBy {
        match hold {
            Hold::OutsideWindows { next } => BlockedBy::OutsideWindows { next },
            Hold::Halted(halt) => BlockedBy::Halted(halt),
            Hold::SyncFailed(failed) => BlockedBy::SyncFailed(failed),
        }
    }
}
