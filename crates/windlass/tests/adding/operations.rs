//! Every operation can be reached: by a command and by a tool, or the reason why not stands here.

use windlass_api::endpoint::{Endpoint, Method, Operation, ResourceVerb, endpoints};
use windlass_api::noun::Noun;
use windlass_mcp::tools;

use crate::words::sources;
use crate::{has_word, read};

const SEE: &str = "(ARCHITECTURE.md, How to add an endpoint)";

/// The command that asks for an operation, or why there is none.
type CommandOrReason = Result<&'static str, &'static str>;

/// The tool that stands for an operation, or why there is none.
type ToolOrReason = Result<&'static str, &'static str>;

const MACHINES: &str = "machines ask for it, not people";
const PEOPLE: &str = "assistants decide nothing about people, tokens, accounts and sign-ins";
const SETTINGS: &str =
    "assistants do not change what guards the fleet: the policy, the kill switch, credentials, repositories";
const ROLLOUTS: &str = "people decide how a change moves on over machines";
const LOG: &str = "the audit log is verified by people; assistants read events";
const DRIFT: &str = "assistants tell of drift; people decide what becomes of it";
const RESOURCES: &str =
    "the specification names tools for nodes and templates alone; the rest goes through git";
const SECRET: &str = "it shows a secret";
const ENROLMENT: &str = "people decide which machines belong to the fleet";
const AGENTS: &str = "only agents use it, on a listener of their own";
const STATUS: &str = "lists of runs, proposals and events tell an assistant more";
const STREAM: &str = "a tool gives one answer and ends";

/// How an operation is reached. Without a wildcard: whoever adds an operation decides here.
fn reached_by(operation: Operation) -> (CommandOrReason, ToolOrReason) {
    use Operation as O;
    match operation {
        O::Health | O::Ready | O::Metrics | O::OpenApi | O::WebhookReceive => (Err(MACHINES), Err(MACHINES)),
        O::AgentReport => (Err(MACHINES), Err(MACHINES)),
        O::NodeStatusList => (Ok("node list"), Ok("system_list_node_status")),
        O::NodeStatusSummary => (Ok("node list"), Err(STATUS)),
        O::NodeStatusShow => (Ok("node describe"), Ok("system_get_node_status")),
        O::NodeDriftShow => (Ok("node drift"), Ok("system_get_node_drift")),
        O::NodeLog => (Ok("node logs"), Err(STATUS)),
        O::NodeObserve => (Ok("node observe"), Err(DRIFT)),
        O::NodeDriftRevert => (Ok("drift node revert"), Err(DRIFT)),
        O::NodeDriftAdopt => (Ok("drift node adopt"), Err(DRIFT)),
        O::NodeDriftAccept => (Ok("drift node accept"), Err(DRIFT)),
        O::NodeDriftUnaccept => (Ok("drift node unaccept"), Err(DRIFT)),
        O::Login => (Ok("login"), Err(PEOPLE)),
        O::Logout => (Ok("logout"), Err(PEOPLE)),
        O::Me => (Ok("whoami"), Err(PEOPLE)),
        O::Password => (Ok("login"), Err(PEOPLE)),
        O::TokenList => (Ok("token list"), Err(PEOPLE)),
        O::TokenCreate => (Ok("token create"), Err(PEOPLE)),
        O::TokenRevoke => (Ok("token revoke"), Err(PEOPLE)),
        O::UserList => (Ok("user list"), Err(PEOPLE)),
        O::UserCreate => (Ok("user add"), Err(PEOPLE)),
        O::UserPatch => (Ok("user set-role"), Err(PEOPLE)),
        O::UserRemove => (Ok("user remove"), Err(PEOPLE)),
        O::InvitationList => (Ok("invitation sent"), Err(PEOPLE)),
        O::InvitationRevoke => (Ok("invitation revoke"), Err(PEOPLE)),
        O::ReceivedInvitationList => (Ok("invitation list"), Err(PEOPLE)),
        O::InvitationAccept => (Ok("invitation accept"), Err(PEOPLE)),
        O::InvitationDecline => (Ok("invitation decline"), Err(PEOPLE)),
        O::AccountList => (Ok("account list"), Err(PEOPLE)),
        O::AccountCreate => (Ok("account create"), Err(PEOPLE)),
        O::Status => (Ok("status"), Err(STATUS)),
        O::Halt => (Ok("halt"), Err(SETTINGS)),
        O::Resume => (Ok("resume"), Err(SETTINGS)),
        O::PolicyShow => (Ok("policy show"), Err(SETTINGS)),
        O::PolicyReplace => (Ok("policy set"), Err(SETTINGS)),
        O::RepositoryList => (Ok("repo list"), Ok("system_gitops_list_repositories")),
        O::RepositoryCreate => (Ok("repo add"), Ok("system_gitops_register_repository")),
        O::RepositoryProbe => (Ok("repo test"), Err(SETTINGS)),
        O::RepositoryShow => (Ok("repo show"), Ok("system_gitops_get_repository")),
        O::RepositoryPatch => (Ok("repo set"), Err(SETTINGS)),
        O::RepositoryRemove => (Ok("repo remove"), Ok("system_gitops_unregister_repository")),
        O::RepositoryTest => (Ok("repo test"), Err(SETTINGS)),
        O::RepositorySync => (Ok("sync"), Ok("system_gitops_sync_repository")),
        O::RepositoryRuns => (
            Err("`run list --repository` asks for the same through `RunList`"),
            Err("`system_gitops_list_sync_runs` tells the same through `RunList`"),
        ),
        O::PreviewCreate => (Ok("repo preview"), Err("a sync proposes and applies nothing by itself")),
        O::PreviewList => (Err("a page and forges show them"), Err("a page and forges show them")),
        O::PreviewShow => (
            Err("`repo preview` and `plan --server` print the plan they made"),
            Err("a page and forges show them"),
        ),
        O::RepositoryMove => (Ok("repo move"), Err(SETTINGS)),
        O::RepositoryRelease => (Ok("repo release"), Err(SETTINGS)),
        O::RepositoryForgetHostKeys => (Ok("repo forget-host-keys"), Err(SETTINGS)),
        O::RepositoryWebhook => (Ok("repo webhook"), Err(SECRET)),
        O::RepositoryWebhookRotate => (Ok("repo webhook"), Err(SECRET)),
        O::DriftReport => (Ok("drift"), Ok("system_gitops_get_drift_report")),
        O::DriftRevert => (Ok("drift revert"), Err(DRIFT)),
        O::DriftAdopt => (Ok("drift adopt"), Err(DRIFT)),
        O::DriftAccept => (Ok("drift accept"), Err(DRIFT)),
        O::DriftUnaccept => (Ok("drift unaccept"), Err(DRIFT)),
        O::CredentialList => (Ok("credential list"), Ok("list_vault_credentials")),
        O::CredentialBindingList => (Ok("credential bindings"), Err(SETTINGS)),
        O::CredentialBind => (Ok("credential bind"), Err(SETTINGS)),
        O::CredentialUnbind => (Ok("credential unbind"), Err(SETTINGS)),
        O::GiteaRepositoryCreate => {
            (Err("people make repositories in the forge itself"), Ok("create_gitea_repository"))
        }
        O::RunList => (Ok("run list"), Ok("system_gitops_list_sync_runs")),
        O::RunShow => (Ok("run show"), Ok("system_gitops_get_sync_run")),
        O::RunApprove => (Ok("proposal approve"), Ok("system_gitops_approve_plan")),
        O::RunConfirmFailure => (Ok("run confirm-failure"), Err(SETTINGS)),
        O::RolloutList => (Ok("rollout list"), Ok("system_list_rollouts")),
        O::RolloutShow => (Ok("rollout show"), Ok("system_get_rollout")),
        O::RolloutPause => (Ok("rollout pause"), Err(ROLLOUTS)),
        O::RolloutResume => (Ok("rollout resume"), Err(ROLLOUTS)),
        O::RolloutAbort => (Ok("rollout abort"), Err(ROLLOUTS)),
        O::RolloutPromote => (Ok("rollout promote"), Err(ROLLOUTS)),
        O::ProposalList => (Ok("proposal list"), Ok("system_gitops_list_proposals")),
        O::ProposalBatch => (Ok("proposal approve"), Err("an assistant decides about one at a time")),
        O::ProposalShow => (Ok("proposal show"), Ok("system_gitops_get_proposal")),
        O::ProposalApprove => (Ok("proposal approve"), Ok("system_gitops_approve_proposal")),
        O::ProposalReject => (Ok("proposal reject"), Ok("system_gitops_reject_proposal")),
        O::ProposalEdit => (Ok("proposal edit"), Err("an assistant proposes through git")),
        O::ProposalApply => (Ok("apply"), Ok("system_gitops_apply_proposal")),
        O::ResourceList => (Ok("get"), Err(RESOURCES)),
        O::NodeRender => (Ok("node render"), Err(RESOURCES)),
        O::AgentAssignment | O::AgentBlob => (Err(MACHINES), Err(MACHINES)),
        O::Export => (Ok("export"), Ok("system_export_fleet_yaml")),
        O::EventList => (Ok("events"), Ok("system_list_fleet_events")),
        O::EventStream => (Ok("events"), Err(STREAM)),
        O::NodeEnroll | O::ClusterEnroll | O::EnrollmentTokenCreate => (Ok("node enroll"), Err(SECRET)),
        O::EnrollmentTokenList | O::EnrollmentTokenRevoke => (Ok("node tokens"), Err(ENROLMENT)),
        O::NodeJoinList => (Ok("node join list"), Err(ENROLMENT)),
        O::NodeJoinApprove => (Ok("node join approve"), Err(ENROLMENT)),
        O::NodeJoinReject => (Ok("node join reject"), Err(ENROLMENT)),
        O::NodeAgentRevoke | O::ClusterAgentRevoke => (Ok("node revoke"), Err(ENROLMENT)),
        O::AgentEnroll | O::AgentRenew | O::AgentStream => (Err(AGENTS), Err(AGENTS)),
        O::ProviderTest => (Ok("notify test"), Err(SETTINGS)),
        O::DeliveryList => (Ok("notify log"), Err(SETTINGS)),
        O::DeliveryRetry => (Ok("notify retry"), Err(SETTINGS)),
        O::AuditList => (Ok("audit list"), Err(LOG)),
        O::AuditVerify => (Ok("audit verify"), Err(LOG)),
        O::AuditKeyShow => (Ok("audit key"), Err(LOG)),
        O::ModuleVersionList => (Ok("module versions"), Ok("system_list_module_versions")),
        O::ModuleVersionPatch => (Ok("module promote"), Err("people promote and retire versions")),
        O::CheckpointList => (Ok("audit checkpoints"), Err(LOG)),
        O::CheckpointCreate => (Ok("audit checkpoint"), Err(LOG)),
        O::Resource(noun, verb) => (Ok(resource_command(verb)), resource_tool(noun, verb)),
    }
}

const fn resource_command(verb: ResourceVerb) -> &'static str {
    match verb {
        ResourceVerb::List | ResourceVerb::Show => "get",
        ResourceVerb::Create | ResourceVerb::Patch | ResourceVerb::Replace => "set",
        ResourceVerb::Delete => "delete",
    }
}

const fn resource_tool(noun: Noun, verb: ResourceVerb) -> ToolOrReason {
    match (noun, verb) {
        (Noun::Node, ResourceVerb::Create) => Ok("system_create_node"),
        (Noun::NodeTemplate, ResourceVerb::Create) => Ok("system_create_template"),
        (Noun::Instance, ResourceVerb::Patch) => Ok("system_update_instance"),
        _ => Err(RESOURCES),
    }
}

/// How the program's source names an operation.
fn written(operation: Operation) -> String {
    match operation {
        Operation::Resource(_, verb) => format!("ResourceVerb::{verb:?}"),
        other => format!("Operation::{other:?}"),
    }
}

/// The source of the commands.
fn commands_source() -> String {
    sources("crates/windlass/src/commands").into_values().collect()
}

#[test]
fn every_operation_has_a_command_or_a_reason_for_none() {
    let (source, reference) = (commands_source(), read("docs/reference/command-line.md"));
    for Endpoint { operation, .. } in endpoints() {
        let is_called = has_word(&source, &written(operation));
        match reached_by(operation).0 {
            Ok(command) => {
                let title = format!("\n## windlass {command}\n");
                assert!(
                    reference.contains(&title),
                    "there is no command `windlass {command}` for {operation:?} {SEE}"
                );
                assert!(
                    is_called,
                    "no command calls {operation:?}: add one in crates/windlass/src/commands {SEE}"
                );
            }
            Err(reason) => {
                assert!(!is_called, "a command calls {operation:?}: name it here instead of {reason:?}");
            }
        }
    }
}

#[test]
fn every_operation_has_a_tool_or_a_reason_for_none() {
    for Endpoint { operation, .. } in endpoints() {
        let tool = tools().iter().find(|tool| tool.operation == operation).map(|tool| tool.name);
        let expected = reached_by(operation).1;
        assert_eq!(
            tool,
            expected.ok(),
            "{operation:?}: on the left the tool in crates/windlass-mcp/src/table.rs, on the right the one named here {SEE}"
        );
    }
}

/// What tokens may change below `/api/v1/auth/`, and why that lets no machine outlive or outgrow the person who made its token.
const FOR_TOKENS: &[(Operation, &str)] = &[
    (Operation::Login, "it needs a password"),
    (Operation::Logout, "it only ends something"),
    (Operation::TokenRevoke, "it only ends something"),
    (Operation::AccountCreate, "no token administers the installation"),
];

#[test]
fn tokens_cannot_manage_people_or_tokens_without_a_listed_exception() {
    for Endpoint { operation, path, method, .. } in endpoints() {
        let changes_access = path.starts_with("/api/v1/auth/") && method != Method::Get;
        let is_open = operation.forbidden_for_tokens().is_none();
        let is_excepted = FOR_TOKENS.iter().any(|(other, _)| *other == operation);
        assert!(
            !changes_access || is_open == is_excepted,
            "{operation:?} changes who may what: add it to `forbidden_for_tokens` in crates/windlass-api/src/endpoint.rs, or to \
             `FOR_TOKENS` here with the reason {SEE}"
        );
    }
}
