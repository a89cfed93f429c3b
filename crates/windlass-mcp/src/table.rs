//! The table of tools.
//!
//! Whoever may use the operation of a tool's row may use the tool. ARCHITECTURE.md, "How to add a tool", says what else a new
//! one takes.

use std::sync::LazyLock;

use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;

use crate::tool::{Effect, Tool};
use crate::tools::{
    credentials, drift, events, export, forges, modules, nodes, proposals, repositories, resources, rollouts,
    runs,
};

/// Every tool.
pub fn tools() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(rows);
    &TOOLS
}

/// The tool with this name.
pub fn find(name: &str) -> Option<&'static Tool> {
    tools().iter().find(|tool| tool.name == name)
}

fn rows() -> Vec<Tool> {
    let mut rows = repository_rows();
    rows.extend(proposal_rows());
    rows.extend(fleet_rows());
    rows.extend(node_rows());
    rows
}

fn repository_rows() -> Vec<Tool> {
    vec![
        Tool::row::<forges::CreateInGitea>(
            "create_gitea_repository",
            Effect::Creates,
            Operation::GiteaRepositoryCreate,
            "Creates an empty repository in the Gitea that this server is configured with.",
        ),
        Tool::row::<repositories::Register>(
            "system_gitops_register_repository",
            Effect::Starts,
            Operation::RepositoryCreate,
            "Registers a git repository with a fleet.yaml and syncs it for the first time. It only proposes changes.",
        ),
        Tool::row::<repositories::List>(
            "system_gitops_list_repositories",
            Effect::Reads,
            Operation::RepositoryList,
            "The registered repositories, by name.",
        ),
        Tool::row::<repositories::Get>(
            "system_gitops_get_repository",
            Effect::Reads,
            Operation::RepositoryShow,
            "A repository: its configuration and the result of its last sync.",
        ),
        Tool::row::<repositories::Unregister>(
            "system_gitops_unregister_repository",
            Effect::Changes,
            Operation::RepositoryRemove,
            "Unregisters a repository. Git is unchanged; its resources stay, without an owner.",
        ),
        Tool::row::<runs::Sync>(
            "system_gitops_sync_repository",
            Effect::Starts,
            Operation::RepositorySync,
            "Syncs a repository now: fetches, compares and proposes. Applies nothing.",
        ),
        Tool::row::<runs::Get>(
            "system_gitops_get_sync_run",
            Effect::Reads,
            Operation::RunShow,
            "A sync run: its diff, its proposals, what was applied, problems in the files.",
        ),
        Tool::row::<runs::List>(
            "system_gitops_list_sync_runs",
            Effect::Reads,
            Operation::RunList,
            "Sync runs, newest first.",
        ),
        Tool::row::<drift::Report>(
            "system_gitops_get_drift_report",
            Effect::Reads,
            Operation::DriftReport,
            "Differences between git and the accepted state, and who caused them.",
        ),
    ]
}

fn node_rows() -> Vec<Tool> {
    vec![
        Tool::row::<nodes::List>(
            "system_list_node_status",
            Effect::Reads,
            Operation::NodeStatusList,
            "Nodes with their status (in sync, applying, drifted, failed, offline, unknown) and the reason in one \
                sentence.",
        ),
        Tool::row::<nodes::Get>(
            "system_get_node_status",
            Effect::Reads,
            Operation::NodeStatusShow,
            "A node's status and its reason, its modules and its host.",
        ),
        Tool::row::<nodes::Drift>(
            "system_get_node_drift",
            Effect::Reads,
            Operation::NodeDriftShow,
            "How a node's host differs from what is assigned, item by item.",
        ),
    ]
}

fn proposal_rows() -> Vec<Tool> {
    vec![
        Tool::row::<proposals::List>(
            "system_gitops_list_proposals",
            Effect::Reads,
            Operation::ProposalList,
            "Proposals, newest first, without their payloads.",
        ),
        Tool::row::<proposals::Get>(
            "system_gitops_get_proposal",
            Effect::Reads,
            Operation::ProposalShow,
            "A proposal: its changes, the policy's requirements and its approvals.",
        ),
        Tool::row::<proposals::Approve>(
            "system_gitops_approve_proposal",
            Effect::Changes,
            Operation::ProposalApprove,
            "Approves exactly one revision of a proposal; Windlass then applies it. Review it first, and give the \
                digest that was reviewed.",
        ),
        Tool::row::<runs::ApproveSet>(
            "system_gitops_approve_plan",
            Effect::Changes,
            Operation::RunApprove,
            "Approves a sync run's whole plan, or a group of identical changes in it, including changes not proposed \
                yet. Review it first, and give the digest of the set that was reviewed.",
        ),
        Tool::row::<proposals::Reject>(
            "system_gitops_reject_proposal",
            Effect::Changes,
            Operation::ProposalReject,
            "Rejects a proposal.",
        ),
        Tool::row::<proposals::Apply>(
            "system_gitops_apply_proposal",
            Effect::Changes,
            Operation::ProposalApply,
            "Applies an approved proposal now and returns the result. With `approve`, approves it first.",
        ),
    ]
}

fn fleet_rows() -> Vec<Tool> {
    vec![
        Tool::row::<export::Export>(
            "system_export_fleet_yaml",
            Effect::Reads,
            Operation::Export,
            "The accepted state as fleet.yaml. Values that look like secrets are masked as (hidden).",
        ),
        Tool::row::<resources::CreateNode>(
            "system_create_node",
            Effect::Creates,
            Operation::Resource(Noun::Node, ResourceVerb::Create),
            "Creates a node directly instead of through git. The change passes the approval gate and may become a \
                proposal; it is audited and is drift unless git declares the same. Takes the payload of a \
             `create_node` proposal as it is.",
        ),
        Tool::row::<resources::CreateTemplate>(
            "system_create_template",
            Effect::Creates,
            Operation::Resource(Noun::NodeTemplate, ResourceVerb::Create),
            "Creates a template directly instead of through git. The change passes the approval gate and may become \
                a proposal; it is audited and is drift unless git declares the same. Takes the payload of a \
             `create_template` proposal as it is.",
        ),
        Tool::row::<resources::UpdateInstance>(
            "system_update_instance",
            Effect::Changes,
            Operation::Resource(Noun::Instance, ResourceVerb::Patch),
            "Changes fields of a machine directly instead of through git. The change passes the approval gate and \
                may become a proposal; it is audited and is drift. Takes the payload of an `update_node` proposal as \
             it is.",
        ),
        Tool::row::<modules::Versions>(
            "system_list_module_versions",
            Effect::Reads,
            Operation::ModuleVersionList,
            "The versions of a module: state, digest of the content, and how many resources use each.",
        ),
        Tool::row::<credentials::List>(
            "list_vault_credentials",
            Effect::Reads,
            Operation::CredentialList,
            "The paths of credentials in Vault, for registering repositories. Never their values.",
        ),
        Tool::row::<events::List>(
            "system_list_fleet_events",
            Effect::Reads,
            Operation::EventList,
            "Events: syncs, proposals, drift, changes. Newest first.",
        ),
        Tool::row::<rollouts::List>(
            "system_list_rollouts",
            Effect::Reads,
            Operation::RolloutList,
            "Rollouts: how changes move over nodes, newest first.",
        ),
        Tool::row::<rollouts::Get>(
            "system_get_rollout",
            Effect::Reads,
            Operation::RolloutShow,
            "A rollout: its waves with the number of nodes in each state, and the nodes that failed with the reason.",
        ),
    ]
}
