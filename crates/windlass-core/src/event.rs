//! Events of an account, and their kinds.

use serde_json::Value as Json;

use crate::id::{RepositoryId, RunId};
use crate::resource::ResourceKey;
use crate::states::states;
use crate::time::Timestamp;

states! {
    /// How much an event matters.
    Severity as EventSeverity {
        /// Routine.
        Low "low",
        /// Worth knowing.
        Medium "medium",
        /// Needs attention.
        High "high",
        /// Needs attention immediately.
        Critical "critical",
    }
}

states! {
    /// What kind of event it is.
    EventKind {
        /// Someone halted all applying.
        AccountHalted "account.halted",
        /// Someone resumed applying.
        AccountResumed "account.resumed",
        /// An agent applied a generation, and every item is in sync.
        AgentApplied "agent.applied",
        /// An agent could not apply some items of a generation.
        AgentApplyFailed "agent.apply_failed",
        /// An agent corrected drift.
        AgentCorrected "agent.corrected",
        /// An item that had drifted is in sync again.
        AgentDriftResolved "agent.drift_resolved",
        /// Someone changed an item on a host.
        AgentDrifted "agent.drifted",
        /// An agent is out of contact.
        AgentOffline "agent.offline",
        /// An agent is in contact again.
        AgentOnline "agent.online",
        /// An agent refused an assignment, a document or a blob.
        AgentRefused "agent.refused",
        /// A change cut an agent off from its server, and the agent took it back.
        AgentReverted "agent.reverted",
        /// An agent started.
        AgentStarted "agent.started",
        /// An agent cannot work as it should.
        AgentTrouble "agent.trouble",
        /// A run has proposals that need review.
        ApprovalRequested "gitops.approval_requested",
        /// Someone accepted a difference.
        DriftAccepted "gitops.drift_accepted",
        /// Someone changed a resource directly in Windlass.
        DriftDetected "gitops.drift_detected",
        /// The resource is in sync again, or the difference was accepted.
        DriftResolved "gitops.drift_resolved",
        /// A branch no longer contains the last synced commit.
        HistoryRewritten "gitops.history_rewritten",
        /// An SSH server's host key differs from the pinned one.
        HostKeyMismatch "gitops.host_key_mismatch",
        /// The host keys of an SSH server were pinned.
        HostKeyRecorded "gitops.host_key_recorded",
        /// An approval of a set of changes lapsed.
        PlanApprovalFell "gitops.plan_approval_fell",
        /// Someone approved a set of changes together.
        PlanApproved "gitops.plan_approved",
        /// A change was applied.
        ProposalApplied "gitops.proposal_applied",
        /// Someone made the change directly.
        ProposalAppliedManually "gitops.proposal_applied_manually",
        /// A change has the approvals it needs.
        ProposalApproved "gitops.proposal_approved",
        /// An approved change needs approval again.
        ProposalAskedAgain "gitops.proposal_asked_again",
        /// Someone approved a change that needs more approvals.
        ProposalConsented "gitops.proposal_consented",
        /// Someone edited what a change would apply.
        ProposalEdited "gitops.proposal_edited",
        /// A change was not reviewed or not applied in time.
        ProposalExpired "gitops.proposal_expired",
        /// A change could not be applied.
        ProposalFailed "gitops.proposal_failed",
        /// A change was proposed.
        ProposalOpened "gitops.proposal_opened",
        /// Someone rejected a change.
        ProposalRejected "gitops.proposal_rejected",
        /// Git or the accepted state changed, and another proposal replaces this one.
        ProposalSuperseded "gitops.proposal_superseded",
        /// A change was withdrawn.
        ProposalWithdrawn "gitops.proposal_withdrawn",
        /// The changes of a pull request were planned.
        PullRequestPreviewed "gitops.pull_request_previewed",
        /// A pull request could not be planned.
        PullRequestUnreadable "gitops.pull_request_unreadable",
        /// Settings of a repository were changed.
        RepositoryChanged "gitops.repository_changed",
        /// A repository moved to another account.
        RepositoryMoved "gitops.repository_moved",
        /// Work on a repository was quarantined.
        RepositoryQuarantined "gitops.repository_quarantined",
        /// A repository was registered.
        RepositoryRegistered "gitops.repository_registered",
        /// Quarantined work on a repository was released.
        RepositoryReleased "gitops.repository_released",
        /// A repository was removed.
        RepositoryRemoved "gitops.repository_removed",
        /// A sync failed.
        SyncFailed "gitops.sync_failed",
        /// Someone resumed applying despite a failed sync.
        SyncFailureConfirmed "gitops.sync_failure_confirmed",
        /// A new commit was fetched.
        SyncFetched "gitops.sync_fetched",
        /// A sync started.
        SyncStarted "gitops.sync_started",
        /// A sync compared a repository with the accepted state.
        SyncSucceeded "gitops.sync_succeeded",
        /// A forge reported a push.
        WebhookReceived "gitops.webhook_received",
        /// A webhook delivery had an invalid signature.
        WebhookRefused "gitops.webhook_refused",
        /// A webhook got a new secret.
        WebhookRotated "gitops.webhook_rotated",
        /// Nodes get no new assignment: no approval covers it, or it cannot be made.
        AgentAssignmentBlocked "agent.assignment_blocked",
        /// A client certificate for an agent was refused.
        AgentCertificateRefused "agent.certificate_refused",
        /// An agent enrolled.
        AgentEnrolled "agent.enrolled",
        /// An agent could not enrol.
        AgentEnrolmentRefused "agent.enrolment_refused",
        /// A node that a batch token selects waits until a person approves that it joins.
        AgentJoinRequested "agent.join_requested",
        /// Someone approved that a node joins.
        AgentJoinApproved "agent.join_approved",
        /// Someone rejected that a node joins.
        AgentJoinRejected "agent.join_rejected",
        /// Someone revoked an agent.
        AgentRevoked "agent.revoked",
        /// Reporting to a forge failed.
        ForgeReportFailed "forge.report_failed",
        /// A notification could not be delivered.
        NotificationFailed "notification.failed",
        /// A resource was created, changed or deleted.
        ResourceChanged "resource.changed",
        /// Someone aborted a rollout. Nodes that it did not reach keep what they have.
        RolloutAborted "rollout.aborted",
        /// Every node that a rollout reaches has the change.
        RolloutCompleted "rollout.completed",
        /// Someone paused a rollout.
        RolloutPaused "rollout.paused",
        /// Someone released a rollout to all of its nodes.
        RolloutPromoted "rollout.promoted",
        /// Someone resumed a rollout.
        RolloutResumed "rollout.resumed",
        /// A change began to move over nodes.
        RolloutStarted "rollout.started",
        /// A rollout stopped: too many nodes failed.
        RolloutStopped "rollout.stopped",
        /// A later change gives the nodes of a rollout other documents.
        RolloutSuperseded "rollout.superseded",
        /// The first nodes of another wave of a rollout got the change.
        RolloutWaveStarted "rollout.wave_started",
    }
}

/// An event to store.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// The kind of event.
    pub kind: EventKind,
    /// How severe it is.
    pub severity: Severity,
    /// The resource it is about.
    pub resource: Option<ResourceKey>,
    /// The repository it is about.
    pub repository_id: Option<RepositoryId>,
    /// The sync run it belongs to.
    pub correlation_id: Option<RunId>,
    /// The person or component that caused it.
    pub source: String,
    /// One line of text.
    pub message: String,
    /// Details for machines.
    pub payload: Json,
    /// The time.
    pub at: Timestamp,
}

/// A stored event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its number in the account.
    pub seq: i64,
    /// The kind, as text: another version of Windlass may know kinds that [`EventKind`] does not have.
    pub kind: String,
    /// How severe it is.
    pub severity: Severity,
    /// The kind of resource it is about.
    pub resource_kind: Option<String>,
    /// The name of the resource it is about.
    pub resource_name: Option<String>,
    /// The repository it is about.
    pub repository_id: Option<RepositoryId>,
    /// The sync run it belongs to.
    pub correlation_id: Option<RunId>,
    /// The person or component that caused it.
    pub source: String,
    /// One line of text.
    pub message: String,
    /// Details for machines.
    pub payload: Json,
    /// The time.
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_spelling_of_its_own_in_a_family() {
        let spellings: BTreeSet<&str> = EventKind::ALL.iter().map(|kind| kind.slug()).collect();
        assert_eq!(spellings.len(), EventKind::ALL.len());
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_slug(kind.slug()), Some(*kind));
            assert!(
                kind.slug()
                    .split_once('.')
                    .is_some_and(|(family, rest)| !family.is_empty() && !rest.is_empty())
            );
        }
    }
}
