//! The endpoint table: every route, who may use it, and what it takes and gives.
//!
//! The server's router, its permission check, OpenAPI, the client's paths and the authorization tests are all made from
//! this table, so that none of them can forget a route or its permission.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::noun::Noun;
use crate::permission::Permission;
use crate::query_parameters::{
    CHAIN, DIRECT, FOLLOW_EVENTS, LIST_ALL_RESOURCES, LIST_AUDIT, LIST_CHECKPOINTS, LIST_DELIVERIES,
    LIST_EVENTS, LIST_NODE_STATUS, LIST_PROPOSALS, LIST_RESOURCES, LIST_ROLLOUTS, LIST_RUNS, NODE_LOG,
    NODE_STATUS_SUMMARY, NONE, PAGE, SHOW_ROLLOUT, UNBIND, VERIFY_AUDIT, WAIT,
};
use crate::types as t;

/// Marks a request that a tool makes for someone. With it, a session approves nothing by whatever operation: through
/// tools, only tokens that were given it do.
pub const TOOLS_HEADER: &str = "x-windlass-tools";

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Looks.
    Get,
    /// Makes, or does.
    Post,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// Who may use an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everyone, without signing in.
    Public,
    /// Everyone who is signed in.
    SignedIn,
    /// Who has this permission in the account.
    Needs(Permission),
    /// Who administers the installation.
    Root,
    /// Agents of targets, and no person.
    Agent,
}

/// What an endpoint does to a resource noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceVerb {
    /// A page of them.
    List,
    /// A new one.
    Create,
    /// One.
    Show,
    /// Some of its fields.
    Patch,
    /// All of its fields.
    Replace,
    /// Its end.
    Delete,
}

/// How a type is described, for OpenAPI.
pub type Describe = fn(&mut SchemaGenerator) -> Schema;

/// One route.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Which operation it is.
    pub operation: Operation,
    /// How it is called.
    pub method: Method,
    /// Where, with `{id}` for what varies.
    pub path: String,
    /// Who may.
    pub access: Access,
    /// What it does, in one line.
    pub summary: String,
    /// What it takes after `?`.
    pub query: &'static [(&'static str, &'static str)],
    /// What its body is.
    pub request: Option<Describe>,
    /// What it answers.
    pub response: Option<Describe>,
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

macro_rules! body {
    (-) => {
        None
    };
    ($type:ty) => {
        Some(describe::<$type> as Describe)
    };
}

macro_rules! endpoints {
    ($($operation:ident $method:ident $path:literal $access:expr, $query:ident,
       ($($request:tt)+) -> ($($response:tt)+): $summary:literal;)*) => {
        /// What can be asked of the server.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Operation {
            $(#[doc = $summary] $operation,)*
            /// Something with a kind of resource.
            Resource(Noun, ResourceVerb),
        }

        /// Every endpoint.
        pub fn endpoints() -> Vec<Endpoint> {
            let mut all = vec![$(Endpoint {
                operation: Operation::$operation,
                method: Method::$method,
                path: $path.to_owned(),
                access: $access,
                summary: $summary.to_owned(),
                query: $query,
                request: body!($($request)+),
                response: body!($($response)+),
            },)*];
            all.extend(Noun::ALL.iter().flat_map(|noun| resource_endpoints(*noun)));
            all
        }
    };
}

const EXPORT: &[(&str, &str)] = &[
    ("repository", "Only what this repository owns, by id or name."),
    ("form", "`list` (default) or `map`."),
    (
        "secrets",
        "`mask` (default) writes (hidden) for values that look like secrets; `show` writes them, needs \
            system.fleet.export_secrets and is recorded in the audit log.",
    ),
];

use Access::{Agent, Needs, Public, Root, SignedIn};
use Permission::{FleetRead, FleetWrite, GitopsAdmin, GitopsApprove, GitopsRead, GitopsSync, GitopsWrite};

endpoints! {
    Health Get "/healthz" Public, NONE, (-) -> (-): "Whether the process is alive.";
    Ready Get "/readyz" Public, NONE, (-) -> (-): "Whether the server is ready: the database responds.";
    Metrics Get "/metrics" Public, NONE, (-) -> (-): "Metrics for Prometheus, without resource names.";
    OpenApi Get "/api/openapi.json" Public, NONE, (-) -> (-): "This document.";

    Login Post "/api/v1/auth/login" Public, NONE, (t::LoginBody) -> (t::Session): "Signs in.";
    Logout Post "/api/v1/auth/logout" SignedIn, NONE, (-) -> (-): "Ends the session.";
    Me Get "/api/v1/auth/me" SignedIn, NONE, (-) -> (t::Me): "The caller and their permissions.";
    Password Post "/api/v1/auth/password" SignedIn, NONE, (t::PasswordBody) -> (-):
        "Changes your password and ends all your sessions.";
    TokenList Get "/api/v1/auth/tokens" SignedIn, NONE, (-) -> (t::TokenList):
        "API tokens: your own, or everyone's for an admin.";
    TokenCreate Post "/api/v1/auth/tokens" SignedIn, NONE, (t::TokenBody) -> (t::TokenCreated): "Creates an API \
        token.";
    TokenRevoke Delete "/api/v1/auth/tokens/{id}" SignedIn, NONE, (-) -> (-): "Revokes an API token.";
    UserList Get "/api/v1/auth/users" Needs(GitopsAdmin), NONE, (-) -> (t::UserList): "The account's users.";
    UserCreate Post "/api/v1/auth/users" Needs(GitopsAdmin), NONE, (t::UserBody) -> (t::UserAdded):
        "Adds a user to the account. A user of another account is invited and has to accept.";
    UserPatch Patch "/api/v1/auth/users/{id}" Needs(GitopsAdmin), NONE, (t::UserPatch) -> (t::UserCreated):
        "Changes a user's role, enables or disables them, or resets their password, which ends their sessions and \
            API tokens.";
    UserRemove Delete "/api/v1/auth/users/{id}" Needs(GitopsAdmin), NONE, (-) -> (-): "Removes a user from the \
        account.";
    InvitationList Get "/api/v1/auth/invitations" Needs(GitopsAdmin), NONE, (-) -> (t::InvitationList):
        "The account's open invitations.";
    InvitationRevoke Delete "/api/v1/auth/invitations/{id}" Needs(GitopsAdmin), NONE, (-) -> (-):
        "Revokes an invitation.";
    ReceivedInvitationList Get "/api/v1/auth/me/invitations" SignedIn, NONE, (-) -> (t::ReceivedInvitationList):
        "Invitations you received.";
    InvitationAccept Post "/api/v1/auth/me/invitations/{id}/accept" SignedIn, NONE, (-) -> (t::JoinedAccount):
        "Accepts an invitation and joins the account.";
    InvitationDecline Post "/api/v1/auth/me/invitations/{id}/decline" SignedIn, NONE, (-) -> (-):
        "Declines an invitation. The account is not notified.";
    AccountList Get "/api/v1/auth/accounts" Root, NONE, (-) -> (t::AccountList): "Every account.";
    AccountCreate Post "/api/v1/auth/accounts" Root, NONE, (t::AccountBody) -> (t::AccountEnvelope):
        "Creates an account; you become its admin.";

    Status Get "/api/v1/system/status" Needs(GitopsRead), NONE, (-) -> (t::Status): "The account's status.";
    Halt Post "/api/v1/system/halt" Needs(GitopsApprove), NONE, (t::HaltBody) -> (t::AccountEnvelope):
        "The kill switch: stops applying until someone resumes.";
    Resume Post "/api/v1/system/resume" Needs(GitopsApprove), NONE, (-) -> (t::AccountEnvelope): "Resumes applying.";
    PolicyShow Get "/api/v1/system/approval_policy" Needs(GitopsRead), NONE, (-) -> (t::PolicyInfo): "The approval policy.";
    PolicyReplace Put "/api/v1/system/approval_policy" Needs(GitopsAdmin), NONE, (t::PolicyBody) -> (t::PolicyInfo):
        "Replaces the approval policy.";

    RepositoryList Get "/api/v1/system/gitops_repositories" Needs(GitopsRead), NONE, (-) -> (t::RepositoryList):
        "The registered repositories.";
    RepositoryCreate Post "/api/v1/system/gitops_repositories" Needs(GitopsWrite), NONE,
        (t::RepositoryBody) -> (t::RepositoryEnvelope): "Registers a repository and syncs it for the first time.";
    RepositoryProbe Post "/api/v1/system/gitops_repositories/test" Needs(GitopsWrite), NONE,
        (t::RepositoryBody) -> (t::RepositoryTest): "Tests a connection without registering anything.";
    RepositoryShow Get "/api/v1/system/gitops_repositories/{id}" Needs(GitopsRead), NONE,
        (-) -> (t::RepositoryEnvelope): "A repository, by id or name.";
    RepositoryPatch Patch "/api/v1/system/gitops_repositories/{id}" Needs(GitopsWrite), NONE,
        (t::RepositoryBody) -> (t::RepositoryEnvelope): "Changes a repository.";
    RepositoryRemove Delete "/api/v1/system/gitops_repositories/{id}" Needs(GitopsWrite), NONE, (-) -> (-):
        "Removes a repository. Its resources stay, without an owner.";
    RepositoryTest Post "/api/v1/system/gitops_repositories/{id}/test" Needs(GitopsSync), NONE, (-) -> (t::RepositoryTest):
        "Tests a repository's connection, step by step.";
    RepositorySync Post "/api/v1/system/gitops_repositories/{id}/sync_now" Needs(GitopsSync), WAIT,
        (t::SyncBody) -> (t::RunEnvelope): "Syncs now.";
    RepositoryRuns Get "/api/v1/system/gitops_repositories/{id}/sync_runs" Needs(GitopsRead), PAGE, (-) -> (t::RunList):
        "A repository's sync runs, newest first.";
    PreviewCreate Post "/api/v1/system/gitops_repositories/{id}/previews" Needs(GitopsSync), NONE,
        (t::PreviewBody) -> (t::PreviewEnvelope): "What a reference, a commit or files would change. Proposes nothing.";
    PreviewList Get "/api/v1/system/gitops_repositories/{id}/previews" Needs(GitopsRead), NONE,
        (-) -> (t::PreviewList): "The last preview of each reference of a repository, newest first.";
    PreviewShow Get "/api/v1/system/gitops_repositories/{id}/previews/{preview_id}" Needs(GitopsRead), NONE,
        (-) -> (t::PreviewEnvelope): "A preview with its plan.";
    RepositoryMove Post "/api/v1/system/gitops_repositories/{id}/move" Root, NONE,
        (t::MoveBody) -> (t::RepositoryEnvelope): "Moves a repository to another account.";
    RepositoryForgetHostKeys Delete "/api/v1/system/gitops_repositories/{id}/host_keys" Needs(GitopsAdmin), NONE,
        (-) -> (t::RepositoryEnvelope): "Forgets the pinned SSH host keys; the next sync pins the keys it receives.";
    RepositoryRelease Post "/api/v1/system/gitops_repositories/{id}/release" Needs(GitopsSync), NONE,
        (-) -> (t::RepositoryEnvelope): "Releases a repository's quarantined work; the server retries it.";
    RepositoryWebhook Get "/api/v1/system/gitops_repositories/{id}/webhook" Needs(GitopsWrite), NONE,
        (-) -> (t::WebhookShown): "Shows a repository's webhook with its secret. Recorded in the audit log.";
    RepositoryWebhookRotate Post "/api/v1/system/gitops_repositories/{id}/webhook/rotate" Needs(GitopsWrite), NONE,
        (-) -> (t::WebhookShown): "Replaces the secret of a repository's webhook; the old one becomes invalid.";
    WebhookReceive Post "/api/v1/webhooks/{repository}" Public, NONE, (serde_json::Value) -> (t::WebhookAnswer):
        "Receives a forge's push notification, signed with the repository's webhook secret.";
    DriftReport Get "/api/v1/system/gitops_repositories/{id}/drift_report" Needs(GitopsRead), NONE,
        (-) -> (t::DriftReport): "Differences between git and the accepted state, and who caused them.";
    DriftRevert Post "/api/v1/system/gitops_repositories/{id}/drift/revert" Needs(GitopsSync), NONE,
        (t::DriftTarget) -> (t::Reverted): "Proposes to restore a resource to its state in git.";
    DriftAdopt Post "/api/v1/system/gitops_repositories/{id}/drift/adopt" Needs(GitopsWrite), NONE,
        (t::AdoptBody) -> (t::Adopted): "Writes the accepted state into git, as a patch or a pushed branch.";
    DriftAccept Post "/api/v1/system/gitops_repositories/{id}/drift/accept" Needs(GitopsApprove), NONE,
        (t::AcceptBody) -> (t::DriftReport): "Accepts a difference, optionally until a date.";
    DriftUnaccept Post "/api/v1/system/gitops_repositories/{id}/drift/unaccept" Needs(GitopsApprove), NONE,
        (t::DriftTarget) -> (t::DriftReport): "Ends an acceptance.";

    CredentialList Get "/api/v1/system/vault_credentials" Needs(GitopsWrite), NONE, (-) -> (t::CredentialList):
        "The paths of the credentials in Vault, for registering repositories. Never their values.";

    CredentialBindingList Get "/api/v1/system/credential_bindings" Needs(GitopsWrite), NONE,
        (-) -> (t::CredentialBindingList): "The hosts that credentials are bound to. The server sends a credential \
            to no other host.";
    CredentialBind Post "/api/v1/system/credential_bindings" Needs(GitopsAdmin), NONE,
        (t::CredentialBindingBody) -> (t::CredentialBindingList): "Binds a credential to a host.";
    CredentialUnbind Delete "/api/v1/system/credential_bindings" Needs(GitopsAdmin), UNBIND,
        (-) -> (t::CredentialBindingList): "Unbinds a credential from a host.";

    GiteaRepositoryCreate Post "/api/v1/integrations/gitea/repositories" Needs(GitopsWrite), NONE,
        (t::GiteaRepositoryBody) -> (t::GiteaRepositoryEnvelope):
        "Creates an empty repository in the Gitea or Forgejo that the server is configured with.";

    RunList Get "/api/v1/system/gitops_sync_runs" Needs(GitopsRead), LIST_RUNS, (-) -> (t::RunList): "Sync runs, newest first.";
    RunShow Get "/api/v1/system/gitops_sync_runs/{id}" Needs(GitopsRead), WAIT, (-) -> (t::RunEnvelope):
        "A sync run with its proposals and their results.";
    RunApprove Post "/api/v1/system/gitops_sync_runs/{id}/approve" Needs(GitopsApprove), NONE,
        (t::ApproveSetBody) -> (t::ApprovedSet):
        "Approves a set of the run's plan by its digest: the whole plan, or a group of identical changes.";
    RunConfirmFailure Post "/api/v1/system/gitops_sync_runs/{id}/confirm_failure" Needs(GitopsApprove), NONE,
        (t::ConfirmFailureBody) -> (t::RunEnvelope):
        "Resumes applying a repository's proposals although its newest run failed.";

    ProposalList Get "/api/v1/system/proposals" Needs(GitopsRead), LIST_PROPOSALS, (-) -> (t::ProposalList):
        "Proposals, newest first.";
    ProposalBatch Post "/api/v1/system/proposals/batch" Needs(GitopsApprove), NONE, (t::BatchBody) -> (t::BatchResult):
        "Approves or rejects several proposals, each independently.";
    ProposalShow Get "/api/v1/system/proposals/{id}" Needs(GitopsRead), NONE, (-) -> (t::ProposalEnvelope):
        "A proposal with its changes, the policy's requirements and its approvals.";
    ProposalApprove Post "/api/v1/system/proposals/{id}/approve" Needs(GitopsApprove), NONE,
        (t::ApproveBody) -> (t::ProposalEnvelope): "Approves exactly this revision of a proposal.";
    ProposalReject Post "/api/v1/system/proposals/{id}/reject" Needs(GitopsApprove), NONE,
        (t::RejectBody) -> (t::ProposalEnvelope): "Rejects a proposal.";
    ProposalEdit Post "/api/v1/system/proposals/{id}/edit" Needs(GitopsWrite), NONE,
        (t::EditBody) -> (t::ProposalEnvelope): "Edits what the proposal applies; earlier approvals lapse.";
    ProposalApply Post "/api/v1/system/proposals/{id}/apply" Needs(GitopsApprove), WAIT, (-) -> (t::ProposalEnvelope):
        "Applies an approved proposal now and returns the result.";

    RolloutList Get "/api/v1/system/rollouts" Needs(FleetRead), LIST_ROLLOUTS, (-) -> (t::RolloutList):
        "Rollouts, newest first.";
    RolloutShow Get "/api/v1/system/rollouts/{id}" Needs(FleetRead), SHOW_ROLLOUT, (-) -> (t::RolloutEnvelope):
        "A rollout with its waves and the nodes that failed.";
    RolloutPause Post "/api/v1/system/rollouts/{id}/pause" Needs(GitopsSync), NONE,
        (t::RolloutDecisionBody) -> (t::RolloutEnvelope): "Pauses a rollout: no further node gets the change.";
    RolloutResume Post "/api/v1/system/rollouts/{id}/resume" Needs(GitopsApprove), NONE,
        (t::RolloutDecisionBody) -> (t::RolloutEnvelope):
        "Resumes a rollout that was paused or stopped. Nodes that have failed so far do not stop it again.";
    RolloutAbort Post "/api/v1/system/rollouts/{id}/abort" Needs(GitopsSync), NONE,
        (t::RolloutDecisionBody) -> (t::RolloutEnvelope):
        "Aborts a rollout: nodes that it did not reach keep what they have.";
    RolloutPromote Post "/api/v1/system/rollouts/{id}/promote" Needs(GitopsApprove), NONE,
        (t::RolloutDecisionBody) -> (t::RolloutEnvelope): "Gives the change to every node of a rollout now.";

    ResourceList Get "/api/v1/system/resources" Needs(FleetRead), LIST_ALL_RESOURCES, (-) -> (t::ResourceList):
        "Accepted resources of every kind.";
    NodeRender Get "/api/v1/system/nodes/{id}/render" Needs(FleetRead), NONE, (-) -> (t::NodeRender):
        "What a node shall be: every package, file and service, and where each comes from.";
    Export Get "/api/v1/system/export_fleet_yaml" Needs(FleetRead), EXPORT, (-) -> (-): "The accepted state as \
        fleet.yaml.";

    EventList Get "/api/v1/system/fleet_events" Needs(GitopsRead), LIST_EVENTS, (-) -> (t::EventList): "Past events.";
    EventStream Get "/api/v1/system/fleet_events/stream" Needs(GitopsRead), FOLLOW_EVENTS, (-) -> (-):
        "New events, as server-sent events.";
    ProviderTest Post "/api/v1/system/notification_providers/{id}/test" Needs(GitopsWrite), NONE,
        (-) -> (t::ProviderTest): "Sends a test message through a provider now and returns the result.";
    DeliveryList Get "/api/v1/system/notification_deliveries" Needs(GitopsRead), LIST_DELIVERIES,
        (-) -> (t::DeliveryList): "Notifications and their delivery states, newest first.";
    DeliveryRetry Post "/api/v1/system/notification_deliveries/{id}/retry" Needs(GitopsWrite), NONE,
        (-) -> (t::DeliveryEnvelope): "Resends a notification that was not delivered.";
    AuditList Get "/api/v1/system/audit" Needs(GitopsRead), LIST_AUDIT, (-) -> (t::AuditList): "The audit log, newest first.";
    AuditVerify Get "/api/v1/system/audit/verify" Needs(GitopsRead), VERIFY_AUDIT, (-) -> (t::AuditVerdict):
        "Checks every entry of the audit log against its hash, and the log against its signed checkpoints.";
    AuditKeyShow Get "/api/v1/system/audit/key" Needs(GitopsRead), NONE, (-) -> (t::AuditKeys):
        "The current and former public keys for checkpoints of the audit log.";
    ModuleVersionList Get "/api/v1/system/node_modules/{id}/versions" Needs(FleetRead), NONE,
        (-) -> (t::ModuleVersionList): "The versions of a module, newest first, and how many resources use each.";
    ModuleVersionPatch Patch "/api/v1/system/node_modules/{id}/versions/{version}" Needs(Permission::FleetWrite), DIRECT,
        (t::ModuleVersionBody) -> (t::ResourceInfo):
        "Promotes, demotes or retires a module version; returns 202 with a proposal if that needs approval.";
    CheckpointList Get "/api/v1/system/audit/checkpoints" Needs(GitopsRead), LIST_CHECKPOINTS,
        (-) -> (t::CheckpointList): "Signed checkpoints of the audit log, newest first.";
    CheckpointCreate Post "/api/v1/system/audit/checkpoints" Needs(GitopsAdmin), CHAIN, (-) -> (t::CheckpointEnvelope):
        "Signs the head of the audit log now.";

    AgentAssignment Get "/agent/v1/assignment" Access::Agent, NONE, (-) -> (serde_json::Value):
        "The signed assignment of the agent's target, with its document.";
    AgentBlob Get "/agent/v1/blobs/{digest}" Access::Agent, NONE, (-) -> (-):
        "A blob of the agent's assignment, compressed with zstd; `Range: bytes=N-` resumes.";
    NodeEnroll Post "/api/v1/system/nodes/{id}/enrollment" Needs(FleetWrite), NONE,
        (t::EnrollmentBody) -> (t::EnrollmentCreated): "Creates a token with which the agent of a node enrols, once.";
    ClusterEnroll Post "/api/v1/system/clusters/{id}/enrollment" Needs(FleetWrite), NONE,
        (t::EnrollmentBody) -> (t::EnrollmentCreated): "Creates a token with which the agent of a cluster enrols, once.";
    EnrollmentTokenList Get "/api/v1/system/enrollment_tokens" Needs(FleetRead), NONE,
        (-) -> (t::EnrollmentTokenList): "The tokens with which agents can still enrol, newest first. Never their secrets.";
    EnrollmentTokenCreate Post "/api/v1/system/enrollment_tokens" Needs(FleetWrite), NONE,
        (t::BatchEnrollmentBody) -> (t::EnrollmentCreated):
        "Creates a token with which the agents of several nodes enrol, such as those of an autoscaling group.";
    EnrollmentTokenRevoke Delete "/api/v1/system/enrollment_tokens/{id}" Needs(FleetWrite), NONE, (-) -> (-):
        "Revokes an enrolment token. Agents that enrolled with it stay.";
    NodeJoinList Get "/api/v1/system/node_joins" Needs(FleetRead), NONE, (-) -> (t::NodeJoinList):
        "Nodes that want to join and wait for a person, oldest first.";
    NodeJoinApprove Post "/api/v1/system/node_joins/{id}/approve" Needs(GitopsApprove), NONE,
        (-) -> (t::NodeJoinEnvelope): "Approves that a node joins.";
    NodeJoinReject Post "/api/v1/system/node_joins/{id}/reject" Needs(GitopsApprove), NONE,
        (-) -> (t::NodeJoinEnvelope): "Rejects that a node joins.";
    NodeAgentRevoke Post "/api/v1/system/nodes/{id}/revoke_agent" Needs(FleetWrite), NONE, (-) -> (t::AgentRevoked):
        "Revokes the agent of a node: its stream ends and its requests are refused at once.";
    ClusterAgentRevoke Post "/api/v1/system/clusters/{id}/revoke_agent" Needs(FleetWrite), NONE,
        (-) -> (t::AgentRevoked): "Revokes the agent of a cluster.";

    AgentEnroll Post "/agent/v1/enroll" Public, NONE, (serde_json::Value) -> (serde_json::Value):
        "On the agent listener: an agent enrols with a token and gets its certificate.";
    AgentRenew Post "/agent/v1/renew" Agent, NONE, (serde_json::Value) -> (serde_json::Value):
        "On the agent listener: an agent renews its certificate.";
    AgentStream Get "/agent/v1/stream" Agent, NONE, (-) -> (-):
        "On the agent listener: the stream of news for an agent, one JSON message a line.";
    NodeStatusList Get "/api/v1/system/node_status" Needs(FleetRead), LIST_NODE_STATUS, (-) -> (t::NodeStatusList):
        "Nodes with their status and its reason, by name.";
    NodeStatusSummary Get "/api/v1/system/node_status/summary" Needs(FleetRead), NODE_STATUS_SUMMARY,
        (-) -> (t::NodeStatusSummary): "How many nodes have each status, by template, region or label.";
    NodeStatusShow Get "/api/v1/system/nodes/{id}/status" Needs(FleetRead), NONE, (-) -> (t::NodeDetail):
        "A node's status and its reason, its modules and its host.";
    NodeDriftShow Get "/api/v1/system/nodes/{id}/drift" Needs(FleetRead), NONE, (-) -> (t::NodeDrift):
        "How a node's host differs from what is assigned, item by item.";
    NodeLog Get "/api/v1/system/nodes/{id}/log" Needs(GitopsRead), NODE_LOG, (-) -> (t::EventList):
        "What the agent of a node reported: its events, newest first.";
    NodeObserve Post "/api/v1/system/nodes/{id}/observe" Needs(GitopsSync), NONE, (-) -> (t::ObserveRequested):
        "Asks the agent of a node to look now.";
    NodeDriftRevert Post "/api/v1/system/nodes/{id}/drift/revert" Needs(GitopsSync), NONE, (-) -> (t::NodeReverted):
        "Has the agent of a node apply everything that is assigned again.";
    NodeDriftAdopt Post "/api/v1/system/nodes/{id}/drift/adopt" Needs(GitopsWrite), NONE,
        (t::NodeItemBody) -> (t::NodeAdopted): "The patch that makes git declare a file as it is on a node's host.";
    NodeDriftAccept Post "/api/v1/system/nodes/{id}/drift/accept" Needs(GitopsApprove), NONE,
        (t::NodeAcceptBody) -> (t::NodeDrift): "Accepts the drift of an item, optionally until a date.";
    NodeDriftUnaccept Post "/api/v1/system/nodes/{id}/drift/unaccept" Needs(GitopsApprove), NONE,
        (t::NodeItemBody) -> (t::NodeDrift): "Ends the acceptance of an item.";
    AgentReport Post "/agent/v1/report" Access::Agent, NONE, (serde_json::Value) -> (serde_json::Value):
        "An agent reports what it sees on its node.";
}

fn resource_endpoints(noun: Noun) -> Vec<Endpoint> {
    let all = format!("/api/v1/system/{}", noun.path());
    let one = format!("{all}/{{id}}");
    let (plural, singular) = (noun.plural().replace('_', " "), noun.singular().replace('_', " "));
    let (read, write) = (Needs(FleetRead), Needs(FleetWrite));
    let spec = Some(describe::<serde_json::Value> as Describe);
    let info = Some(describe::<t::ResourceInfo> as Describe);
    let endpoint = |verb, method, path: &str, access, summary: String, request, response| Endpoint {
        operation: Operation::Resource(noun, verb),
        method,
        path: path.to_owned(),
        access,
        summary,
        query: match verb {
            ResourceVerb::List => LIST_RESOURCES,
            ResourceVerb::Show => NONE,
            ResourceVerb::Create | ResourceVerb::Patch | ResourceVerb::Replace | ResourceVerb::Delete => {
                DIRECT
            }
        },
        request,
        response,
    };
    vec![
        endpoint(
            ResourceVerb::List,
            Method::Get,
            &all,
            read,
            format!("Accepted {plural}, by name."),
            None,
            info,
        ),
        endpoint(
            ResourceVerb::Create,
            Method::Post,
            &all,
            write,
            format!("Creates a {singular} directly; returns 202 with a proposal if that needs approval."),
            spec,
            info,
        ),
        endpoint(
            ResourceVerb::Show,
            Method::Get,
            &one,
            read,
            format!("A {singular}, by id or name."),
            None,
            info,
        ),
        endpoint(
            ResourceVerb::Patch,
            Method::Patch,
            &one,
            write,
            format!(
                "Changes fields of a {singular} directly; returns 202 with a proposal if that needs approval."
            ),
            spec,
            info,
        ),
        endpoint(
            ResourceVerb::Replace,
            Method::Put,
            &one,
            write,
            format!("Replaces a {singular} directly; returns 202 with a proposal if that needs approval."),
            spec,
            info,
        ),
        endpoint(
            ResourceVerb::Delete,
            Method::Delete,
            &one,
            write,
            format!("Deletes a {singular} directly; returns 202 with a proposal if that needs approval."),
            None,
            None,
        ),
    ]
}

impl Endpoint {
    /// Whether the agent listener serves it; the listener for people does not.
    pub fn is_for_agents(&self) -> bool {
        self.path.starts_with("/agent/")
    }
}

impl Operation {
    /// Its endpoint.
    pub fn endpoint(self) -> Endpoint {
        match self {
            Operation::Resource(noun, verb) => resource_endpoints(noun)
                .into_iter()
                .find(|found| found.operation == Operation::Resource(noun, verb)),
            _ => endpoints().into_iter().find(|endpoint| endpoint.operation == self),
        }
        .expect("every operation is in the table")
    }

    /// What a token cannot do here, whatever it was given: what would let a machine outlive or outgrow the person who
    /// made its token. Nothing where tokens may do what people may.
    pub const fn forbidden_for_tokens(self) -> Option<&'static str> {
        match self {
            Operation::TokenCreate => Some("create tokens"),
            Operation::UserCreate
            | Operation::UserPatch
            | Operation::UserRemove
            | Operation::InvitationRevoke
            | Operation::InvitationAccept
            | Operation::InvitationDecline => Some("change an account's members"),
            Operation::Password => Some("change a password"),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
