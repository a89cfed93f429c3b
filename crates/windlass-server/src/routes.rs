//! The router, built from the endpoint table: an operation without a handler does not compile.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::MethodRouter;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::timeout::TimeoutLayer;
use windlass_api::endpoint::{Operation, ResourceVerb, endpoints};
use windlass_control::ask::enrolment::join::JoinDecision;
use windlass_control::ask::resource::change::UpdateExtent;
use windlass_core::resource::Kind;

use crate::erased::{delete, get, patch, post, put};
use crate::http::request_timeout::REQUEST_TIMEOUT;
use crate::http::{
    accounts, agent_delivery, agent_reports, agents, audit, auth, checkpoints, credentials, drift, enrolment,
    events, export, forge, guard, health, idempotency, invitations, module_versions, nodes, notifications,
    plan_sets, policy, previews, proposals, quarantines, relocate, repositories, resource_changes, resources,
    rollouts, runs, tokens, users, webhooks,
};
use crate::state::Server;
use crate::{mcp, web};

/// Every route of the API and every page, with their middleware.
pub(crate) fn router(server: &Server) -> Router {
    let mut router = Router::new();
    // Only the agent listener admits agents. Their endpoints are here too, so that the guard refuses people, and records it; but
    // for the one without a caller.
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.operation != Operation::AgentEnroll) {
        let streams = endpoint.operation == Operation::EventStream;
        let mut route = handler(endpoint.operation);
        if !streams {
            route = route.layer(TimeoutLayer::with_status_code(
                axum::http::StatusCode::GATEWAY_TIMEOUT,
                REQUEST_TIMEOUT,
            ));
        }
        router = router.route(&endpoint.path, route);
    }
    let api = router
        .route_layer(from_fn_with_state(server.clone(), idempotency::handle_idempotency_key))
        .route_layer(from_fn_with_state(server.clone(), guard::authorize))
        .fallback(health::route_not_found)
        .method_not_allowed_fallback(health::wrong_method)
        .layer(CatchPanicLayer::custom(guard::panic_response))
        .layer(from_fn(guard::render_errors));
    // MCP tools call the same API routes as every other client, with the same middleware.
    let surround = from_fn_with_state(server.clone(), guard::trace_and_log);
    let inside = api.clone().layer(surround.clone()).with_state(server.clone());
    api.merge(web::routes::router(server))
        .merge(mcp::router(server, inside))
        .layer(CompressionLayer::new())
        .layer(surround)
        .with_state(server.clone())
}

pub(crate) fn handler(operation: Operation) -> MethodRouter<Server> {
    match operation {
        Operation::Health => get(health::health),
        Operation::Ready => get(health::ready),
        Operation::Metrics => get(health::metrics),
        Operation::OpenApi => get(health::openapi),
        Operation::Login => post(auth::login),
        Operation::Logout => post(auth::logout),
        Operation::Me => get(auth::me),
        Operation::Password => post(auth::password),
        Operation::TokenList => get(tokens::list),
        Operation::TokenCreate => post(tokens::create),
        Operation::TokenRevoke => delete(tokens::revoke),
        Operation::UserList => get(users::list),
        Operation::UserCreate => post(users::create),
        Operation::UserPatch => patch(users::change),
        Operation::UserRemove => delete(users::remove),
        Operation::InvitationList => get(invitations::list),
        Operation::InvitationRevoke => delete(invitations::revoke),
        Operation::ReceivedInvitationList => get(invitations::list_received),
        Operation::InvitationAccept => post(invitations::accept),
        Operation::InvitationDecline => post(invitations::decline),
        Operation::AccountList => get(accounts::list),
        Operation::AccountCreate => post(accounts::create),
        Operation::Status => get(accounts::status),
        Operation::Halt => post(accounts::halt),
        Operation::Resume => post(accounts::resume),
        Operation::PolicyShow => get(policy::show),
        Operation::PolicyReplace => put(policy::replace),
        Operation::RepositoryList => get(repositories::list),
        Operation::RepositoryCreate => post(repositories::create),
        Operation::RepositoryProbe => post(repositories::probe),
        Operation::RepositoryShow => get(repositories::show),
        Operation::RepositoryPatch => patch(repositories::change),
        Operation::RepositoryRemove => delete(repositories::remove),
        Operation::RepositoryTest => post(repositories::test),
        Operation::RepositorySync => post(runs::sync_now),
        Operation::RepositoryRuns => get(runs::list_of_repository),
        Operation::PreviewCreate => post(previews::create),
        Operation::PreviewList => get(previews::list),
        Operation::PreviewShow => get(previews::show),
        Operation::RepositoryMove => post(relocate::relocate),
        Operation::RepositoryRelease => post(quarantines::release),
        Operation::RepositoryForgetHostKeys => delete(repositories::forget_host_keys),
        Operation::RepositoryWebhook => get(webhooks::show),
        Operation::RepositoryWebhookRotate => post(webhooks::rotate),
        Operation::WebhookReceive => post(webhooks::receive),
        Operation::DriftReport => get(drift::report),
        Operation::DriftRevert => post(drift::revert),
        Operation::DriftAdopt => post(drift::adopt),
        Operation::DriftAccept => post(drift::accept),
        Operation::DriftUnaccept => post(drift::unaccept),
        Operation::CredentialList => get(credentials::list),
        Operation::CredentialBindingList => get(credentials::bindings),
        Operation::CredentialBind => post(credentials::bind),
        Operation::CredentialUnbind => delete(credentials::unbind),
        Operation::GiteaRepositoryCreate => post(forge::create_in_gitea),
        Operation::RunList => get(runs::list),
        Operation::RunShow => get(runs::show),
        Operation::RunApprove => post(plan_sets::approve),
        Operation::RunConfirmFailure => post(plan_sets::confirm_failure),
        Operation::ProposalList => get(proposals::list),
        Operation::ProposalBatch => post(proposals::batch),
        Operation::ProposalShow => get(proposals::show),
        Operation::ProposalApprove => post(proposals::approve),
        Operation::ProposalReject => post(proposals::reject),
        Operation::ProposalEdit => post(proposals::edit),
        Operation::ProposalApply => post(proposals::apply),
        Operation::RolloutList => get(rollouts::list),
        Operation::RolloutShow => get(rollouts::show),
        Operation::RolloutPause => post(rollouts::pause),
        Operation::RolloutResume => post(rollouts::resume),
        Operation::RolloutAbort => post(rollouts::abort),
        Operation::RolloutPromote => post(rollouts::promote),
        Operation::ResourceList => get(resources::list_all),
        Operation::NodeRender => get(nodes::render),
        Operation::Export => get(export::export),
        Operation::EventList => get(events::list),
        Operation::EventStream => get(events::stream),
        Operation::ProviderTest => post(notifications::test),
        Operation::DeliveryList => get(notifications::list),
        Operation::DeliveryRetry => post(notifications::retry),
        Operation::AuditList => get(audit::list),
        Operation::AuditVerify => get(audit::verify),
        Operation::AuditKeyShow => get(checkpoints::keys),
        Operation::ModuleVersionList => get(module_versions::list),
        Operation::ModuleVersionPatch => patch(module_versions::change),
        Operation::CheckpointList => get(checkpoints::list),
        Operation::CheckpointCreate => post(checkpoints::create),
        Operation::AgentAssignment => get(agent_delivery::assignment),
        Operation::AgentBlob => get(agent_delivery::blob),
        Operation::NodeEnroll => post(|s, w, p, b| enrolment::create(Kind::Node, s, w, p, b)),
        Operation::ClusterEnroll => post(|s, w, p, b| enrolment::create(Kind::Cluster, s, w, p, b)),
        Operation::EnrollmentTokenList => get(enrolment::list_tokens),
        Operation::EnrollmentTokenCreate => post(enrolment::create_several),
        Operation::EnrollmentTokenRevoke => delete(enrolment::end_token),
        Operation::NodeJoinList => get(enrolment::list_joins),
        Operation::NodeJoinApprove => post(|s, w, p| enrolment::decide(JoinDecision::Approve, s, w, p)),
        Operation::NodeJoinReject => post(|s, w, p| enrolment::decide(JoinDecision::Reject, s, w, p)),
        Operation::NodeAgentRevoke => post(|s, w, p| enrolment::revoke(Kind::Node, s, w, p)),
        Operation::ClusterAgentRevoke => post(|s, w, p| enrolment::revoke(Kind::Cluster, s, w, p)),
        Operation::AgentEnroll => post(agents::enroll),
        Operation::AgentRenew => post(agents::renew),
        Operation::AgentStream => get(agents::stream),
        Operation::NodeStatusList => get(nodes::list),
        Operation::NodeStatusSummary => get(nodes::summary),
        Operation::NodeStatusShow => get(nodes::show),
        Operation::NodeDriftShow => get(nodes::drift),
        Operation::NodeLog => get(nodes::log),
        Operation::NodeObserve => post(nodes::observe),
        Operation::NodeDriftRevert => post(nodes::revert),
        Operation::NodeDriftAdopt => post(nodes::adopt),
        Operation::NodeDriftAccept => post(nodes::accept),
        Operation::NodeDriftUnaccept => post(nodes::unaccept),
        Operation::AgentReport => post(agent_reports::report),
        Operation::Resource(noun, verb) => match verb {
            ResourceVerb::List => get(move |s, w, q| resources::list(noun, s, w, q)),
            ResourceVerb::Create => post(move |s, w, t, b| resource_changes::create(noun, s, w, t, b)),
            ResourceVerb::Show => get(move |s, w, p| resources::show(noun, s, w, p)),
            ResourceVerb::Patch => patch(move |s, w, p, t, b| {
                resource_changes::change(noun, UpdateExtent::Fields, s, w, p, t, b)
            }),
            ResourceVerb::Replace => {
                put(move |s, w, p, t, b| resource_changes::change(noun, UpdateExtent::Whole, s, w, p, t, b))
            }
            ResourceVerb::Delete => delete(move |s, w, p, t| resource_changes::remove(noun, s, w, p, t)),
        },
    }
}
