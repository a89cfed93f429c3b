//! What surrounds every page: who is signed in, where they are, what was just done.

use windlass_api::permission::Permission;
use windlass_api::types::{HaltInfo, Me};
use windlass_core::time::Timestamp;

/// Which entry of the navigation is lit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NavEntry {
    /// The account at a glance.
    Overview,
    /// What waits for a decision.
    Approvals,
    /// Where fleets come from.
    Repositories,
    /// What was compared.
    Runs,
    /// People, tokens, the policy, the kill switch.
    Settings,
    /// The accepted state.
    Resources,
    /// What was changed by hand.
    Drift,
    /// Networks as pictures.
    Topology,
    /// What happened.
    Events,
    /// Who did what.
    Audit,
    /// None of them.
    Elsewhere,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

impl Theme {
    /// The theme of this spelling; the system's for anything else.
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

/// How a notice is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It was done.
    Good,
    /// It was done in part.
    Warn,
    /// It was not done.
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

    /// The tone of this spelling.
    pub fn from_slug(slug: &str) -> Option<Tone> {
        [Tone::Good, Tone::Warn, Tone::Bad].into_iter().find(|tone| tone.slug() == slug)
    }
}

/// What a page says about what was just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How it is meant.
    pub tone: Tone,
    /// One sentence.
    pub message: String,
    /// Each thing by itself.
    pub lines: Vec<String>,
}

impl Notice {
    /// A notice of one sentence.
    pub fn new(tone: Tone, message: impl Into<String>) -> Notice {
        Notice { tone, message: message.into(), lines: Vec::new() }
    }
}

/// What surrounds a page of someone who is signed in.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Who they are and what they may do.
    pub me: Me,
    /// What every form sends back.
    pub csrf: String,
    /// Where they are.
    pub place: NavEntry,
    /// Light or dark.
    pub theme: Theme,
    /// Proposals that wait for a decision.
    pub pending: usize,
    /// Whether applying is halted.
    pub halted: Option<HaltInfo>,
    /// What was just done.
    pub notice: Option<Notice>,
    /// The last event the page knows of.
    pub seen: i64,
    /// The time when it was made.
    pub now: Timestamp,
}

impl Frame {
    /// Why they may not do something; nothing if they may. The same sentence as the API's.
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
