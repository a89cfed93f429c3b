//! The protocol between a server and its agents: JSON over HTTP/2 with mutual TLS, on a listener of its own.
//!
//! An agent enrols once, with a token. From then on its certificate says who it is: nothing in a body does. It keeps one
//! [`STREAM`] open on which the server says that there is news, and asks for the rest.
//!
//! | Request | Body | Response |
//! |---|---|---|
//! | `POST` [`ENROLL`] | [`EnrollRequest`] | [`EnrollResponse`] |
//! | `POST` [`RENEW`] | [`RenewRequest`] | [`RenewResponse`] |
//! | `GET` [`STREAM`] | | one [`StreamMessage`] a line |
//! | `GET` [`ASSIGNMENT`] | | [`AssignmentResponse`]; 404 if the target has no assignment yet |
//! | `GET` [`BLOBS`]`/{digest}` | | the zstd-compressed blob; `Range: bytes=N-` resumes |
//! | `POST` [`REPORT`] | [`ReportBody`] | [`ReportReceipt`] |
//!
//! Errors have the body of every other error of the API, [`crate::types::ErrorEnvelope`].

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use windlass_core::digest::Digest;
use windlass_core::host::FieldDifference;
use windlass_core::id::{AccountId, AgentId};
use windlass_core::redacted::Redacted;
use windlass_core::resource::{DriftMode, ResourceKey};
use windlass_core::target_assignment::SignedAssignment;
use windlass_core::time::Timestamp;

/// Where an agent enrols.
pub const ENROLL: &str = "/agent/v1/enroll";
/// Where it renews its certificate.
pub const RENEW: &str = "/agent/v1/renew";
/// The stream of news.
pub const STREAM: &str = "/agent/v1/stream";
/// Its assignment.
pub const ASSIGNMENT: &str = "/agent/v1/assignment";
/// Blobs, by digest.
pub const BLOBS: &str = "/agent/v1/blobs";
/// Where it reports.
pub const REPORT: &str = "/agent/v1/report";

/// The name in the server's certificate on the agent listener, whatever its address is. Agents verify this name and the
/// pinned authority, so a server may move, and have several addresses.
pub const SERVER_NAME: &str = "windlass-agents.internal";

/// The error code of every refused enrolment: it does not say whether the token is unknown, used, expired or for another host.
pub const ENROLMENT_REFUSED: &str = "enrolment-refused";
/// The error code of an enrolment that a person has to approve. The agent tries again with the same token and the same key, after
/// the seconds of `Retry-After`.
pub const JOIN_PENDING: &str = "join-pending";
/// The error code of every request of a revoked agent.
pub const AGENT_REVOKED: &str = "agent-revoked";
/// The error code of a request with a certificate that expired: the agent renews it first.
pub const CERTIFICATE_EXPIRED: &str = "certificate-expired";

/// What an enrolment key begins with.
pub const ENROLMENT_KEY_PREFIX: &str = "windlass1.";

/// The largest report. An agent with more to say sends several.
pub const MAX_REPORT_BYTES: usize = 1024 * 1024;
/// The most drifted items in one report. An agent that finds more says how many it left out.
pub const MAX_DRIFTED_ITEMS: usize = 1_000;
/// The most events in one report.
pub const MAX_EVENTS: usize = 200;
/// The longest line of the stream.
pub const MAX_STREAM_LINE: usize = 4 * 1024;

/// A secret in a message. It is written where the message is sent, and printed nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretText(Redacted<String>);

impl SecretText {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> SecretText {
        SecretText(Redacted::new(text.into()))
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SecretText, D::Error> {
        String::deserialize(deserializer).map(SecretText::new)
    }
}

/// What an operator pastes on the host: everything that the agent must know before it trusts anyone.
///
/// Written as `windlass1.` and the URL-safe base64 of its JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnrolmentKey {
    /// The origin of the agent listener: `https://windlass.example.com:3443`.
    pub server: String,
    /// The SHA-256 digest of the certificate authority's public key, as DER (SubjectPublicKeyInfo), in hex.
    pub authority: String,
    /// The token. It is valid once, for an hour, for one target.
    pub token: SecretText,
}

/// A request to enrol.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnrollRequest {
    /// The token.
    pub token: SecretText,
    /// The certificate request, as PEM. The server takes nothing of it but the public key.
    pub certificate_request: String,
    /// The version of the agent.
    pub agent_version: String,
    /// What the host calls itself. A token for several nodes uses it to find which one this is; otherwise it is a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
}

/// The result of an enrolment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EnrollResponse {
    /// Who the agent is.
    pub identity: AgentIdentity,
    /// Its certificate.
    pub certificate: IssuedCertificate,
    /// What it shall trust.
    pub trust: TrustBundle,
}

/// Who an agent is, as the server says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentIdentity {
    /// Its id.
    pub agent_id: AgentId,
    /// Its account.
    pub account_id: AccountId,
    /// The name of the account.
    pub account: String,
    /// The node or cluster.
    pub target: ResourceKey,
    /// How many times the target was enrolled.
    pub enrolment: u64,
}

/// A certificate that the server issued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedCertificate {
    /// The certificate as PEM, followed by those that it needs to lead to an authority.
    pub pem: String,
    /// How many seconds it is valid from now on, by the server's clock.
    pub valid_for_seconds: u64,
    /// After how many seconds the agent shall renew it.
    pub renew_after_seconds: u64,
}

/// What an agent trusts: the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustBundle {
    /// Certificates of the authorities that issue the server's certificate, as PEM.
    pub authorities: Vec<String>,
    /// Ed25519 public keys that sign assignments, as URL-safe base64.
    pub assignment_keys: Vec<String>,
}

/// A request for a new certificate, with the old one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// The certificate request, as PEM. The key may be a new one.
    pub certificate_request: String,
    /// The version of the agent.
    pub agent_version: String,
}

/// A new certificate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RenewResponse {
    /// The certificate.
    pub certificate: IssuedCertificate,
    /// What the agent shall trust from now on.
    pub trust: TrustBundle,
}

/// One line of the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum StreamMessage {
    /// The first line: where things stand.
    Hello {
        /// The generation of the target's assignment; 0 if it has none.
        generation: u64,
        /// After how many seconds the agent shall renew its certificate, by the server's clock.
        renew_after_seconds: u64,
        /// How many seconds may pass without a line. Then the agent connects again.
        silence_seconds: u64,
    },
    /// The target has an assignment of this generation.
    Assignment {
        /// The generation.
        generation: u64,
    },
    /// Someone wants to know how the target is: look now, and report completely.
    Observe,
    /// Nothing new; the connection is alive.
    Ping,
    /// The agent was revoked. The server closes the stream; the agent stops connecting and keeps the host as it is.
    Revoked,
}

/// The assignment of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssignmentResponse {
    /// The assignment, signed.
    pub assignment: SignedAssignment,
    /// The document that it names: the text whose BLAKE3 digest the assignment has.
    pub document: String,
}

/// What an agent reports. Which target it is about, and which enrolment, the server takes from the certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportBody {
    /// The generation in force on the agent; 0 before the first.
    pub generation: u64,
    /// Higher with every report; it survives restarts of the agent.
    pub sequence: u64,
    /// Whether every module of the node is listed. Otherwise only those that changed since the last report.
    pub complete: bool,
    /// The node as a whole.
    pub target: ObservationBody,
    /// Its modules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<ModuleObservation>,
    /// The items that differ, of the modules that are listed. What was reported of these modules before is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<DriftedItem>,
    /// How many more items differ than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift_left_out: u64,
    /// What happened since the last report, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<AgentEvent>,
    /// How many events were dropped because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub events_dropped: u64,
    /// About the agent and its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What there is, and why applying failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservationBody {
    /// What there is.
    pub observed: ObservedBody,
    /// Why applying failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureBody>,
}

/// What there is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ObservedBody {
    /// The agent looked, and saw this.
    Known {
        /// The digest of what it saw: the assigned one while it is in sync.
        digest: Digest,
        /// The generation in force when it looked.
        generation: u64,
        /// When it first saw exactly this.
        since: Timestamp,
        /// When it last looked.
        at: Timestamp,
    },
    /// The agent looked, and there is nothing.
    Absent {
        /// The generation in force when it looked.
        generation: u64,
        /// When it first saw that.
        since: Timestamp,
        /// When it last looked.
        at: Timestamp,
    },
    /// The agent is changing it.
    BeingChanged {
        /// Since when.
        since: Timestamp,
    },
    /// The agent could not look.
    Unreadable {
        /// Since when.
        since: Timestamp,
        /// Why.
        message: String,
    },
}

/// Why applying failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureBody {
    /// The generation that the agent tried to apply.
    pub generation: u64,
    /// When the first attempt failed.
    pub since: Timestamp,
    /// What went wrong.
    pub message: String,
}

/// A module on the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleObservation {
    /// The module.
    pub name: String,
    /// What there is of it: `NodeModule::digest` while it is in sync.
    pub observation: ObservationBody,
}

/// An item that differs from what the node shall be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriftedItem {
    /// The type of the item: `package`, `path`, `service` and so on.
    pub kind: String,
    /// Its name or path.
    pub name: String,
    /// The module that it comes from.
    pub module: String,
    /// What the agent does about it.
    #[serde(with = "drift_mode")]
    pub mode: DriftMode,
    /// Since when it differs.
    pub since: Timestamp,
    /// The fields that differ, secrets masked. Empty if the agent could not compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldDifference>,
    /// Why the agent could not compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

mod drift_mode {
    use serde::{Deserialize as _, Deserializer, Serializer, de};
    use windlass_core::resource::DriftMode;
    use windlass_core::states::Spelled as _;

    pub(super) fn serialize<S: Serializer>(mode: &DriftMode, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(mode.word())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DriftMode, D::Error> {
        let word = String::deserialize(deserializer)?;
        let found = DriftMode::WORDS.iter().find(|mode| mode.word() == word);
        found.copied().ok_or_else(|| de::Error::custom("neither report nor correct"))
    }
}

/// Something that happened on the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentEvent {
    /// When, by the agent's clock.
    pub at: Timestamp,
    /// What.
    pub what: AgentEventKind,
    /// In one sentence, for people.
    pub message: String,
}

/// What happened on a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentEventKind {
    /// The agent applied a generation, and every item is as it should be.
    Applied {
        /// The generation.
        generation: u64,
        /// How many items it changed.
        changed: u64,
    },
    /// The agent tried to apply a generation, and some items failed.
    ApplyFailed {
        /// The generation.
        generation: u64,
        /// The items that failed.
        items: Vec<String>,
    },
    /// The agent refused an assignment, a document or a blob.
    Refused {
        /// The word of the reason: `AssignmentRefusal::slug`, `tampered_blob`.
        reason: String,
        /// The generation that was offered, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<u64>,
    },
    /// Someone changed an item on the host.
    Drifted {
        /// The item, by type and name.
        item: String,
        /// Its module.
        module: String,
    },
    /// An item that had drifted is in sync again, without the agent's doing.
    Resolved {
        /// The item, by type and name.
        item: String,
        /// Its module.
        module: String,
    },
    /// The agent corrected drift.
    Corrected {
        /// The item, by type and name.
        item: String,
        /// Its module.
        module: String,
        /// The fields, before and after.
        fields: Vec<FieldDifference>,
    },
    /// A change cut the agent off from its server, and the agent took it back.
    Reverted {
        /// The generation that it took back.
        generation: u64,
    },
    /// The agent started.
    Started {
        /// Its version.
        version: String,
    },
    /// The agent cannot work as it should: a full or read-only disk, a broken state file.
    Trouble,
}

/// About the agent and its host. For people to read: nothing is decided by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// The version of the agent.
    pub agent_version: String,
    /// What the host calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The operating system: `PRETTY_NAME` of os-release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The kernel's release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The processor architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// When the host started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booted_at: Option<Timestamp>,
}

/// The server received a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportReceipt {
    /// The sequence number of the report.
    pub sequence: u64,
    /// Whether the server wants a complete report next, because something is missing.
    pub send_complete: bool,
    /// The newest report of the agent, if that is a newer one than this. The server then stored nothing of this one: the agent
    /// lost count, continues after the newest, and sends everything again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<NewerReport>,
}

/// A report that the server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewerReport {
    /// Its generation.
    pub generation: u64,
    /// Its sequence number.
    pub sequence: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_written_where_it_is_sent_and_printed_nowhere() {
        let key = EnrolmentKey {
            server: "https://windlass.example.com:3443".to_owned(),
            authority: "00".to_owned(),
            token: SecretText::new("wlenroll_secret"),
        };
        assert!(!format!("{key:?}").contains("wlenroll_secret"));
        let sent = serde_json::to_string(&key).expect("a key is JSON");
        let read: EnrolmentKey = serde_json::from_str(&sent).expect("what was written");
        assert_eq!(read.token.expose(), "wlenroll_secret");
    }

    #[test]
    fn stream_messages_are_short_lines() {
        let hello = StreamMessage::Hello { generation: 7, renew_after_seconds: 57_600, silence_seconds: 60 };
        let line = serde_json::to_string(&hello).expect("a message is JSON");
        assert_eq!(
            line,
            r#"{"message":"hello","generation":7,"renew_after_seconds":57600,"silence_seconds":60}"#
        );
        assert!(line.len() < MAX_STREAM_LINE);
        assert_eq!(serde_json::to_string(&StreamMessage::Ping).expect("JSON"), r#"{"message":"ping"}"#);
    }
}
