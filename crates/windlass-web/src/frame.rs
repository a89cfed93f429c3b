//! The frame of every page: the user, the navigation, and the result of the last action.

use windlass_api::permission::Permission;
use windlass_api::types::{HaltInfo, Me};
use windlass_core::time::Timestamp;

/// The highlighted entry of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavEntry {
    /// The overview of the account.
    Overview,
    /// Proposals that await approval.
    Approvals,
    /// The registered repositories.
    Repositories,
    /// Sync runs.
    Runs,
    /// People, tokens, the policy, the kill switch.
    Settings,
    /// The accepted state.
    Resources,
    /// Nodes as their agents see them.
    Nodes,
    /// How changes move over nodes.
    Rollouts,
    /// Manual changes and drifted targets.
    Drift,
    /// Networks as diagrams.
    Topology,
    /// Events.
    Events,
    /// The audit log.
    Audit,
    /// None of them.
    Elsewhere,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// The setting of the browser or system.
    #[default]
    System,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

impl Theme {
    /// The theme with this spelling; the system's for anything else.
    pub fn of(word: &str) -> Theme {
        match word {
            "light" => Theme::Light,
            "dark" => Theme::Dark,
            _ => Theme::System,
        }
    }

    pub(crate) fn slug(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }
}

/// The tone of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Success.
    Good,
    /// Partial success.
    Warn,
    /// Failure.
    Bad,
}

impl Tone {
    /// The spelling in class names and cookies.
    pub const fn slug(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Warn => "warn",
            Tone::Bad => "bad",
        }
    }

    /// The tone with this spelling.
    pub fn from_slug(slug: &str) -> Option<Tone> {
        [Tone::Good, Tone::Warn, Tone::Bad].into_iter().find(|tone| tone.slug() == slug)
    }
}

/// The result of the last action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The tone.
    pub tone: Tone,
    /// One sentence.
    pub message: String,
    /// Details, one line each.
    pub lines: Vec<String>,
}

impl Notice {
    /// A notice of one sentence.
    pub fn new(tone: Tone, message: impl Into<String>) -> Notice {
        Notice { tone, message: message.into(), lines: Vec::new() }
    }
}

/// The frame of a page for a signed-in user.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The user and their permissions.
    pub me: Me,
    /// The CSRF token of every form.
    pub csrf: String,
    /// The highlighted entry of the navigation.
    pub place: NavEntry,
    /// Light or dark.
    pub theme: Theme,
    /// The number of proposals that await approval.
    pub pending: usize,
    /// The halt, if applying is halted.
    pub halted: Option<HaltInfo>,
    /// The result of the last action.
    pub notice: Option<Notice>,
    /// The number of the newest event that the page includes.
    pub seen: i64,
    /// The time of rendering.
    pub now: Timestamp,
}

impl Frame {
    /// Why the user may not do something; `None` if they may. The same sentence as in the API.
    pub fn why_not(&self, permission: Permission) -> Option<String> {
        (!self.me.permissions.contains(&permission))
            .then(|| format!("this needs the permission {permission}"))
    }

    pub(crate) fn is_at(&self, place: NavEntry) -> bool {
        self.place == place
    }

    pub(crate) fn ago(&self, at: &str) -> String {
        crate::words::ago(&self.now, at)
    }
}
