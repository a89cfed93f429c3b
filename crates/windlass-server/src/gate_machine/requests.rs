//! A random request for every operation that changes something.
//!
//! Built from the endpoint table: a new operation does not compile until this file specifies how to try it, or why that is
//! not necessary.

use serde_json::{Value, json};
use windlass_api::endpoint::{Access, Endpoint, Method, Operation, ResourceVerb, endpoints};
use windlass_api::noun::Noun;

use crate::gate_machine::chance::Chance;

pub(super) const NAMES: [&str; 4] = ["fleet", "other", "prod-eu", "lab-eu"];

pub(super) const URLS: [&str; 3] =
    ["https://git.example.com/fleet", "https://git.example.com/other", "https://evil.example.com/fleet"];

pub(super) const BRANCHES: [&str; 2] = ["main", "side"];

pub(super) const CLUSTERS: [&str; 3] = ["c1", "c2", "c3"];

pub(super) const TIERS: [&str; 3] = ["lab", "prod", "none"];

pub(super) const NOTES: [&str; 2] = ["one", "two"];

/// A key that was created for this test and signs nothing.
pub(super) const SIGNERS: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIVKU55D4iSnyUF/cXRLxUkoc1Bik5cmnSv5Z1xYZNCc signer@example.com";

/// A request.
pub(super) type RandomRequest = (&'static str, String, Value);

/// The ids that requests can refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownIds {
    pub(super) repositories: Vec<String>,
    pub(super) proposals: Vec<String>,
    pub(super) runs: Vec<String>,
    /// Plan sets: the run, and the digest of the set.
    pub(super) sets: Vec<(String, String)>,
}

/// How an operation is tried.
enum Try {
    /// With these values for the `{…}` in the path, and this body.
    With(Vec<String>, Value),
    /// Not at all, because it cannot lead to a change of a resource: the reason.
    #[expect(dead_code, reason = "the reason is for whoever reads the table")]
    Never(&'static str),
}

/// A random request for a random operation that changes something.
pub(super) fn random_request(chance: &mut Chance, known: &KnownIds) -> Option<RandomRequest> {
    let tried: Vec<Endpoint> = endpoints()
        .into_iter()
        .filter(|endpoint| endpoint.method != Method::Get && endpoint.access != Access::Public)
        .collect();
    // Half of the table is about resources of many nouns, so the relevant operations are chosen more often.
    let endpoint = match chance.below(4) {
        0 => chance.pick(&tried)?.clone(),
        1 => chance.pick_one(&[Operation::RepositoryPatch, Operation::ProposalEdit]).endpoint(),
        2 => {
            let verb = chance.pick_one(&[
                ResourceVerb::Create,
                ResourceVerb::Patch,
                ResourceVerb::Replace,
                ResourceVerb::Delete,
            ]);
            Operation::Resource(Noun::Cluster, verb).endpoint()
        }
        _ => {
            let often = [
                Operation::RepositoryPatch,
                Operation::RepositoryCreate,
                Operation::RepositoryRemove,
                Operation::RepositorySync,
                Operation::DriftRevert,
                Operation::ProposalEdit,
                Operation::ModuleVersionPatch,
            ];
            chance.pick_one(&often).endpoint()
        }
    };
    request(endpoint, chance, known)
}

/// A random request for an operation.
pub(super) fn request(endpoint: Endpoint, chance: &mut Chance, known: &KnownIds) -> Option<RandomRequest> {
    let Try::With(parts, body) = request_for_operation(endpoint.operation, chance, known) else {
        return None;
    };
    let mut parts = parts.into_iter();
    let path: Vec<String> = endpoint
        .path
        .split('/')
        .map(|part| if part.starts_with('{') { parts.next().unwrap_or_default() } else { part.to_owned() })
        .collect();
    Some((endpoint.method.as_str(), path.join("/"), body))
}

fn request_for_operation(operation: Operation, chance: &mut Chance, known: &KnownIds) -> Try {
    let repository = |chance: &mut Chance| chance.pick(&known.repositories).cloned().unwrap_or_default();
    let proposal = |chance: &mut Chance| chance.pick(&known.proposals).cloned().unwrap_or_default();
    let run = |chance: &mut Chance| chance.pick(&known.runs).cloned().unwrap_or_default();
    let drift = |chance: &mut Chance| json!({"kind": "cluster", "name": chance.pick_one(&CLUSTERS)});
    match operation {
        Operation::RepositoryCreate => {
            Try::With(vec![], json!({"gitops_repository": new_repository(chance)}))
        }
        Operation::RepositoryPatch => {
            Try::With(vec![repository(chance)], json!({"gitops_repository": repository_change(chance)}))
        }
        Operation::RepositoryRemove
        | Operation::RepositoryForgetHostKeys
        | Operation::RepositoryRelease
        | Operation::RepositoryWebhookRotate => Try::With(vec![repository(chance)], json!({})),
        Operation::RepositoryMove => Try::With(vec![repository(chance)], json!({"account": "elsewhere"})),
        Operation::RepositorySync => {
            let body = json!({"confirm_mass_destroy": chance.percent(50)});
            Try::With(vec![repository(chance)], body)
        }
        Operation::DriftRevert | Operation::DriftUnaccept => {
            Try::With(vec![repository(chance)], drift(chance))
        }
        Operation::DriftAccept => {
            let mut body = drift(chance);
            body["reason"] = json!("meant");
            Try::With(vec![repository(chance)], body)
        }
        Operation::ProposalEdit => {
            let payload = if chance.percent(20) { Value::Null } else { spec(chance) };
            Try::With(vec![proposal(chance)], json!({"payload": payload}))
        }
        Operation::ProposalApprove | Operation::ProposalReject => {
            Try::With(vec![proposal(chance)], json!({"reason": "because"}))
        }
        Operation::ProposalBatch => {
            let decision = chance.pick_one(&["approve", "reject"]);
            let run = run(chance);
            match chance.percent(50) {
                true => Try::With(vec![], json!({"decision": decision, "approval_request_id": run})),
                false => Try::With(vec![], json!({"decision": decision, "ids": known.proposals})),
            }
        }
        Operation::RunApprove => {
            let (run, digest) = chance.pick(&known.sets).cloned().unwrap_or_default();
            Try::With(vec![run], json!({"digest": digest, "include_destroys": true}))
        }
        Operation::RunConfirmFailure => Try::With(vec![run(chance)], json!({"reason": "because"})),
        Operation::PolicyReplace => {
            let rules = json!([{"name": "all", "action": "auto_approve"}]);
            Try::With(vec![], json!({"policy": {"rules": rules}}))
        }
        Operation::Halt => Try::With(vec![], json!({"reason": "stop"})),
        Operation::Resume => Try::With(vec![], json!({})),
        Operation::TokenCreate => {
            let all = json!(["system.gitops.approve", "system.gitops.read"]);
            Try::With(vec![], json!({"name": "more", "permissions": all, "expires_in_days": 1}))
        }
        Operation::CredentialBind => {
            Try::With(vec![], json!({"path": "git/fleet", "host": "evil.example.com"}))
        }
        Operation::CredentialUnbind => Try::With(vec![], json!({})),
        Operation::TokenRevoke => Try::With(vec!["absent".to_owned()], json!({})),
        Operation::UserPatch | Operation::UserRemove => {
            Try::With(vec!["absent".to_owned()], json!({"role": "admin"}))
        }
        Operation::InvitationRevoke | Operation::InvitationAccept | Operation::InvitationDecline => {
            Try::With(vec!["absent".to_owned()], json!({}))
        }
        Operation::ModuleVersionPatch => {
            let state = chance.pick_one(&["staging", "blessed", "live", "retired"]);
            Try::With(vec!["nginx".to_owned(), "1.26.0".to_owned()], json!({"state": state}))
        }
        Operation::CheckpointCreate => Try::With(vec![], json!({})),
        Operation::AccountCreate => Try::With(vec![], json!({"name": "mine"})),
        Operation::ProviderTest | Operation::DeliveryRetry => Try::With(vec!["absent".to_owned()], json!({})),
        Operation::RolloutPause
        | Operation::RolloutResume
        | Operation::RolloutAbort
        | Operation::RolloutPromote => Try::With(vec!["absent".to_owned()], json!({"reason": "because"})),
        Operation::GiteaRepositoryCreate => Try::With(vec![], json!({"name": "fleet"})),
        Operation::Resource(noun, verb) => resource(noun, verb, chance),
        Operation::Login | Operation::Logout | Operation::Password | Operation::UserCreate => {
            Try::Never("they change only who is signed in, are for people alone, and cost a password's hash")
        }
        Operation::RepositoryProbe | Operation::RepositoryTest | Operation::PreviewCreate => {
            Try::Never("they ask a git server, and write nothing that is compared or applied")
        }
        Operation::NodeObserve
        | Operation::NodeDriftRevert
        | Operation::NodeDriftAccept
        | Operation::NodeDriftUnaccept => {
            let item = json!({"kind": "path", "name": "/etc/motd", "reason": "meant"});
            Try::With(vec!["absent".to_owned()], item)
        }
        Operation::AgentReport | Operation::AgentRenew | Operation::AgentEnroll => {
            Try::With(vec![], json!({}))
        }
        Operation::NodeEnroll
        | Operation::ClusterEnroll
        | Operation::NodeAgentRevoke
        | Operation::ClusterAgentRevoke
        | Operation::EnrollmentTokenRevoke
        | Operation::NodeJoinApprove
        | Operation::NodeJoinReject => Try::With(vec!["absent".to_owned()], json!({})),
        Operation::EnrollmentTokenCreate => Try::With(vec![], json!({"selector": {"name": "*"}, "uses": 2})),
        Operation::NodeDriftAdopt => Try::Never("it reads a git repository, and writes nothing"),
        Operation::DriftAdopt => Try::Never("it pushes a branch to a git server"),
        Operation::ProposalApply => {
            Try::Never("it wakes the apply loop, which runs after every request, and waits for it")
        }
        Operation::WebhookReceive => Try::Never("it queues the run that sync_now queues"),
        Operation::Health
        | Operation::Ready
        | Operation::Metrics
        | Operation::OpenApi
        | Operation::Me
        | Operation::TokenList
        | Operation::UserList
        | Operation::AccountList
        | Operation::Status
        | Operation::PolicyShow
        | Operation::RepositoryList
        | Operation::RepositoryShow
        | Operation::RepositoryRuns
        | Operation::PreviewList
        | Operation::PreviewShow
        | Operation::RepositoryWebhook
        | Operation::DriftReport
        | Operation::ModuleVersionList
        | Operation::CredentialList
        | Operation::CredentialBindingList
        | Operation::RolloutList
        | Operation::RolloutShow
        | Operation::RunList
        | Operation::RunShow
        | Operation::ProposalList
        | Operation::ProposalShow
        | Operation::ResourceList
        | Operation::NodeRender
        | Operation::AgentAssignment
        | Operation::AgentBlob
        | Operation::Export
        | Operation::EventList
        | Operation::EventStream
        | Operation::DeliveryList
        | Operation::AuditList
        | Operation::AuditKeyShow
        | Operation::CheckpointList
        | Operation::InvitationList
        | Operation::ReceivedInvitationList
        | Operation::NodeStatusList
        | Operation::NodeStatusSummary
        | Operation::NodeStatusShow
        | Operation::NodeDriftShow
        | Operation::NodeLog
        | Operation::EnrollmentTokenList
        | Operation::NodeJoinList
        | Operation::AgentStream
        | Operation::AuditVerify => Try::Never("it only looks"),
    }
}

fn resource(noun: Noun, verb: ResourceVerb, chance: &mut Chance) -> Try {
    let name = chance.pick_one(&CLUSTERS);
    let mut spec = spec(chance);
    match verb {
        ResourceVerb::Create => {
            spec["name"] = json!(name);
            Try::With(vec![], json!({ noun.singular(): spec }))
        }
        ResourceVerb::Patch | ResourceVerb::Replace => {
            Try::With(vec![name.to_owned()], json!({ noun.singular(): spec }))
        }
        ResourceVerb::Delete => Try::With(vec![name.to_owned()], json!({})),
        ResourceVerb::List | ResourceVerb::Show => Try::Never("it only looks"),
    }
}

/// The spec of a cluster.
pub(super) fn spec(chance: &mut Chance) -> Value {
    spec_of(chance.pick_one(&TIERS), chance.pick_one(&NOTES))
}

pub(super) fn spec_of(tier: &str, note: &str) -> Value {
    json!({"labels": {"tier": tier}, "description": note})
}

pub(super) fn new_repository(chance: &mut Chance) -> Value {
    json!({"name": chance.pick_one(&NAMES), "repo_url": chance.pick_one(&URLS), "branch": chance.pick_one(&BRANCHES)})
}

/// A change of one or two settings.
pub(super) fn repository_change(chance: &mut Chance) -> Value {
    let mut fields = json!({});
    for _ in 0..=chance.below(2) {
        match chance.below(10) {
            0 | 8 | 9 => fields["name"] = json!(chance.pick_one(&NAMES)),
            1 | 2 => fields["repo_url"] = json!(chance.pick_one(&URLS)),
            3 => fields["branch"] = json!(chance.pick_one(&BRANCHES)),
            4 => fields["allowed_signers"] = json!(chance.pick_one(&["", SIGNERS])),
            5 => fields["auto_apply"] = json!(chance.percent(50)),
            6 => fields["enabled"] = json!(chance.percent(70)),
            _ => fields["reconcile_interval_seconds"] = json!(600),
        }
    }
    fields
}
