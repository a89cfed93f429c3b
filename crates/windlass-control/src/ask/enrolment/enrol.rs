//! An agent enrols: a token becomes an identity and a certificate, in one transaction.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_api::agent::{AgentIdentity, EnrollRequest, EnrollResponse};
use windlass_core::agent::Agent;
use windlass_core::enrolment::{
    EnrolmentRefusal, EnrolmentScope, EnrolmentToken, JoinPolicy, JoinState, NodeJoin, NodeSelector,
};
use windlass_core::event::{EventKind, Severity};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, AgentCertificate, JoinMove, new_id};

use crate::agents::certificate::RequestedKey;
use crate::ask::enrolment::record::{EnrolmentEvent, refused};
use crate::clock::now;
use crate::control::Control;
use crate::metrics::{self, MetricOutcome};
use crate::record;
use crate::refusal::Refusal;
use crate::secret::hash_of_secret;

/// After how long an agent that waits for a person asks again.
const JOIN_RETRY: Duration = Duration::from_secs(30);

/// How many joins of a node are looked through for one that was rejected.
const MAX_EARLIER_JOINS: usize = 20;

/// The longest version and host name that are stored and shown.
const MAX_TEXT: usize = 128;

/// What an agent sent, and from where.
pub struct EnrolmentAttempt {
    /// The request.
    pub request: EnrollRequest,
    /// The network address.
    pub address: String,
    /// The id of the request.
    pub request_id: String,
}

/// Why an agent did not enrol.
enum NotEnrolled {
    Refused(EnrolmentRefusal),
    /// A person has to decide.
    Waiting,
    Failed(Refusal),
}

impl<E: Into<Refusal>> From<E> for NotEnrolled {
    fn from(error: E) -> NotEnrolled {
        NotEnrolled::Failed(error.into())
    }
}

/// Enrols an agent.
pub async fn enrol(server: &Control, attempt: &EnrolmentAttempt) -> Result<EnrollResponse, Refusal> {
    let enrolled = try_enrol(server, attempt).await;
    let (outcome, refusal) = match enrolled {
        Ok(response) => {
            metrics::agent_enrolment(MetricOutcome::Done);
            return Ok(response);
        }
        Err(NotEnrolled::Waiting) => return Err(Refusal::join_pending(JOIN_RETRY)),
        Err(NotEnrolled::Failed(error)) => (MetricOutcome::Failed, error),
        Err(NotEnrolled::Refused(_)) => {
            let block = AddressBlock::of_text(&attempt.address).to_string();
            match server.rate_limits().refused_enrolments.take(&block, Instant::now()) {
                Ok(()) => (MetricOutcome::Refused, Refusal::enrolment_refused()),
                Err(wait) => {
                    let message = "too many refused enrolments";
                    let help = "create a token with `windlass node enroll`";
                    (MetricOutcome::Throttled, Refusal::too_many(message, wait, help))
                }
            }
        }
    };
    metrics::agent_enrolment(outcome);
    Err(refusal)
}

async fn try_enrol(server: &Control, attempt: &EnrolmentAttempt) -> Result<EnrollResponse, NotEnrolled> {
    let key = requested_key(&attempt.request.certificate_request)?;
    let hash = hash_of_secret(attempt.request.token.expose());
    let token = server.store().read().await?.enrolment_token_by_hash(&hash).await?;
    let Some(token) = token else {
        // It belongs to no account, so there is no event.
        let address = attempt.address.as_str();
        tracing::warn!(address, reason = EnrolmentRefusal::UnknownToken.slug(), "an enrolment was refused");
        return Err(NotEnrolled::Refused(EnrolmentRefusal::UnknownToken));
    };
    let mut writing = server.store().write_account(&token.account_id).await?;
    // Enrolments change nothing that a comparison reads.
    writing.keep_state();
    // Read again: the transactions of an account run one after the other.
    let token = writing.enrolment_token_by_hash(&hash).await?.unwrap_or(token);
    let candidate = Candidate { attempt, token: &token, key: &key, now: now() };
    match candidate.admit(&mut writing).await {
        Ok(target) => candidate.enrol(server, writing, &target).await,
        Err(NotEnrolled::Waiting) => {
            // The transaction may have added a join.
            server.commit(writing).await?;
            Err(NotEnrolled::Waiting)
        }
        Err(NotEnrolled::Refused(refusal)) => {
            candidate.record_refusal(server, writing, refusal).await?;
            Err(NotEnrolled::Refused(refusal))
        }
        Err(failed) => Err(failed),
    }
}

/// An agent that wants to enrol with a known token.
struct Candidate<'c> {
    attempt: &'c EnrolmentAttempt,
    token: &'c EnrolmentToken,
    key: &'c RequestedKey,
    now: Timestamp,
}

impl Candidate<'_> {
    /// The target that the agent may enrol for.
    async fn admit(&self, writing: &mut AccountWriting) -> Result<ResourceKey, NotEnrolled> {
        self.token.admit(self.now).map_err(NotEnrolled::Refused)?;
        let target = match &self.token.scope {
            EnrolmentScope::Target(target) => match writing.resource(&self.token.account_id, target).await? {
                Some(_) => target.clone(),
                None => return Err(NotEnrolled::Refused(EnrolmentRefusal::NoTarget)),
            },
            EnrolmentScope::Nodes(selector) => self.selected_node(writing, selector).await?,
        };
        match self.token.policy {
            JoinPolicy::Auto => Ok(target),
            JoinPolicy::Approve => self.await_approval(writing, target).await,
        }
    }

    /// The node that the host says it is, if the token selects it and it has no agent.
    async fn selected_node(
        &self,
        writing: &mut AccountWriting,
        selector: &NodeSelector,
    ) -> Result<ResourceKey, NotEnrolled> {
        let target = self.named_node()?;
        let node = writing.resource(&self.token.account_id, &target).await?;
        let Some(Spec::Node(node)) = node.as_ref().map(|node| &*node.spec) else {
            return Err(NotEnrolled::Refused(EnrolmentRefusal::UnknownNode));
        };
        if !selector.selects(&target.name, node) {
            return Err(NotEnrolled::Refused(EnrolmentRefusal::NotSelected));
        }
        if writing.agent_of(&self.token.account_id, &target).await?.is_some() {
            return Err(NotEnrolled::Refused(EnrolmentRefusal::AlreadyEnrolled));
        }
        Ok(target)
    }

    /// The node that the host says it is.
    fn named_node(&self) -> Result<ResourceKey, NotEnrolled> {
        let name = self.attempt.request.hostname.as_deref().unwrap_or_default();
        ResourceKey::read(Kind::Node, name).map_err(|_| NotEnrolled::Refused(EnrolmentRefusal::UnknownNode))
    }

    /// The target, if a person approved that exactly this agent joins. Else the agent waits.
    async fn await_approval(
        &self,
        writing: &mut AccountWriting,
        target: ResourceKey,
    ) -> Result<ResourceKey, NotEnrolled> {
        let account_id = &self.token.account_id;
        let joins = writing.node_joins_of(account_id, &target, MAX_EARLIER_JOINS).await?;
        let is_mine =
            |join: &NodeJoin| join.public_key == self.key.fingerprint && join.token_id == self.token.id;
        let open = joins.iter().find(|join| matches!(join.state, JoinState::Pending | JoinState::Approved));
        match open {
            Some(join) if !is_mine(join) => Err(NotEnrolled::Refused(EnrolmentRefusal::OtherJoin)),
            Some(join) if join.state == JoinState::Approved => {
                let by = join.decided_by.clone().unwrap_or_default();
                let (from, to) = (JoinState::Approved, JoinState::Joined);
                let step = JoinMove { from, to, by: &by, at: self.now };
                writing.node_join_move(&join.id, step).await?;
                Ok(target)
            }
            Some(_) => Err(NotEnrolled::Waiting),
            None if joins.iter().any(|join| is_mine(join) && join.state == JoinState::Rejected) => {
                Err(NotEnrolled::Refused(EnrolmentRefusal::JoinRejected))
            }
            None => {
                self.request_join(writing, &target).await?;
                Err(NotEnrolled::Waiting)
            }
        }
    }

    async fn request_join(
        &self,
        writing: &mut AccountWriting,
        target: &ResourceKey,
    ) -> Result<(), NotEnrolled> {
        let join = NodeJoin {
            id: new_id(),
            account_id: self.token.account_id.clone(),
            token_id: self.token.id.clone(),
            target: target.clone(),
            public_key: self.key.fingerprint.clone(),
            address: self.attempt.address.clone(),
            state: JoinState::Pending,
            created_at: self.now,
            decided_at: None,
            decided_by: None,
        };
        writing.node_join_add(&join).await?;
        let event = EnrolmentEvent {
            kind: EventKind::AgentJoinRequested,
            severity: Severity::Medium,
            target: Some(target),
            by: "windlass",
            message: format!("a host at {} wants to join as {target} and waits for approval", join.address),
            payload: json!({"join_id": join.id, "token_id": join.token_id, "address": join.address,
                "public_key": join.public_key}),
        };
        writing.event(event.event(self.now));
        Ok(())
    }

    /// Uses the token, adds the agent and issues its certificate.
    async fn enrol(
        &self,
        server: &Control,
        mut writing: AccountWriting,
        target: &ResourceKey,
    ) -> Result<EnrollResponse, NotEnrolled> {
        if !writing.enrolment_token_use(&self.token.id, self.now).await? {
            return Err(NotEnrolled::Refused(EnrolmentRefusal::UsedToken));
        }
        let agent = writing.agent_enrol(target, self.now).await?;
        let certificate = server.authority().issue(&agent.id, self.key, self.now)?;
        let stored = AgentCertificate {
            agent_version: &shortened(&self.attempt.request.agent_version),
            serial: &certificate.serial,
            expires_at: certificate.expires_at,
        };
        writing.agent_certified(&agent.id, stored).await?;
        let account = writing.account(agent.account_id.as_str()).await?.map(|account| account.name);
        self.record_enrolment(&mut writing, &agent);
        server.commit(writing).await?;
        // The machine that was there before may still have a stream.
        server.nudges().agents.notify_one();
        let identity = AgentIdentity {
            agent_id: agent.id,
            account_id: agent.account_id,
            account: account.unwrap_or_default(),
            target: agent.target,
            enrolment: agent.enrolment.0,
        };
        let trust = server.authority().trust(self.now);
        Ok(EnrollResponse { identity, certificate: certificate.issued, trust })
    }

    fn record_enrolment(&self, writing: &mut AccountWriting, agent: &Agent) {
        let (target, address) = (&agent.target, &self.attempt.address);
        let actor = Actor {
            name: format!("agent {} of {target}", agent.id),
            id: None,
            token_id: None,
            address: Some(address.clone()),
            request_id: Some(self.attempt.request_id.clone()),
        };
        let hostname = self.attempt.request.hostname.as_deref().map(shortened);
        let detail = json!({"target": target.to_string(), "enrolment": agent.enrolment.0,
            "token_id": self.token.id, "public_key": self.key.fingerprint, "hostname": hostname});
        let subject = ("agent", agent.id.as_str());
        writing.audit(record::audit_entry(&actor, "agent.enrol", subject, detail.clone(), self.now));
        let event = EnrolmentEvent {
            kind: EventKind::AgentEnrolled,
            severity: Severity::Low,
            target: Some(target),
            by: &actor.name,
            message: format!("an agent enrolled for {target} from {address}"),
            payload: json!({"agent_id": agent.id, "address": address, "detail": detail}),
        };
        writing.event(event.event(self.now));
    }

    /// Records why the agent was refused, at most once in a while for each token and reason.
    async fn record_refusal(
        &self,
        server: &Control,
        mut writing: AccountWriting,
        refusal: EnrolmentRefusal,
    ) -> Result<(), NotEnrolled> {
        let (id, address) = (&self.token.id, &self.attempt.address);
        tracing::warn!(token = %id, address, reason = refusal.slug(), "an enrolment was refused");
        let subject = format!("enrolment:{id}:{}", refusal.slug());
        if server.rate_limits().refusal_events.take(&subject, Instant::now()).is_err() {
            return Ok(());
        }
        let target = match &self.token.scope {
            EnrolmentScope::Target(target) => Some(target),
            EnrolmentScope::Nodes(_) => None,
        };
        let hostname = self.attempt.request.hostname.as_deref().map(shortened);
        let detail = json!({"token_id": id, "hostname": hostname});
        writing.event(refused(refusal, target, address, detail, self.now));
        Ok(server.commit(writing).await?)
    }
}

/// The key of a certificate request.
pub(crate) fn requested_key(pem: &str) -> Result<RequestedKey, Refusal> {
    RequestedKey::read(pem).ok_or_else(|| {
        let help = "send a PEM certificate request with an Ed25519 or P-256 key, signed with that key";
        Refusal::bad_request("the certificate request cannot be used", help)
    })
}

/// Text of an agent for people: a few printable characters.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_TEXT).collect()
}
