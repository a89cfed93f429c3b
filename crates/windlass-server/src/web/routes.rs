//! The router of pages, built from the page table: a page without a handler does not compile.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::MethodRouter;
use tower_http::catch_panic::CatchPanicLayer;
use windlass_web::table::{Page, pages};

use crate::erased::{get, post};
use crate::http::guard::panic_response;
use crate::state::Server;
use crate::web::{
    approvals, audit, drift, edit, enrolment, events, guard, invitations, node, nodes, notifications,
    overview, page_stream, people, plan_sets, policy, preview, proposal, repositories, repository,
    repository_form, resource, resources, response, rollouts, runs, settings, sign_in, sso, tokens, topology,
};

/// Every page, with its middleware.
pub(crate) fn router(server: &Server) -> Router<Server> {
    let mut router = Router::new();
    for entry in pages() {
        router = router.route(entry.path, handler(entry.page));
    }
    router
        .route_layer(from_fn_with_state(server.clone(), guard::authorize))
        .method_not_allowed_fallback(sign_in::wrong_method)
        .layer(CatchPanicLayer::custom(panic_response))
        .layer(from_fn(response::render_error_page))
}

fn handler(page: Page) -> MethodRouter<Server> {
    match page {
        Page::Root => get(sign_in::root),
        Page::Asset => get(sign_in::asset),
        Page::SignInForm => get(sign_in::sign_in_form),
        Page::SignIn => post(sign_in::sign_in),
        Page::SsoBegin => get(sso::begin_sign_in),
        Page::SsoEnd => get(sso::end_sign_in),
        Page::SignOut => post(sign_in::sign_out),
        Page::PasswordForm => get(sign_in::password_form),
        Page::Password => post(sign_in::password),
        Page::Live => get(page_stream::stream),
        Page::Overview => get(overview::show),
        Page::Approvals => get(approvals::show),
        Page::Decide => post(approvals::decide),
        Page::Proposal => get(proposal::show),
        Page::Approve => post(proposal::approve),
        Page::Reject => post(proposal::reject),
        Page::EditForm => get(edit::show),
        Page::Edit => post(edit::save),
        Page::Repositories => get(repositories::show),
        Page::Sync => post(repositories::sync),
        Page::Runs => get(runs::list),
        Page::Run => get(runs::show),
        Page::ApproveSet => post(plan_sets::approve),
        Page::ConfirmFailure => post(plan_sets::confirm_failure),
        Page::Rollouts => get(rollouts::list),
        Page::Rollout => get(rollouts::show),
        Page::RolloutPause => post(rollouts::pause),
        Page::RolloutResume => post(rollouts::resume),
        Page::RolloutAbort => post(rollouts::abort),
        Page::RolloutPromote => post(rollouts::promote),
        Page::RegisterForm => get(repository_form::show),
        Page::Register => post(repository_form::register),
        Page::Probe => post(repository_form::probe),
        Page::Repository | Page::Tested | Page::Webhook => get(repository::show),
        Page::ConfigureForm => get(repository_form::edit),
        Page::Configure => post(repository_form::configure),
        Page::Schedule => post(repository::schedule),
        Page::Test => post(repository::test),
        Page::ForgetHostKeys => post(repository::forget_host_keys),
        Page::Release => post(repository::release),
        Page::ShowWebhook => post(repository::show_webhook),
        Page::RotateWebhook => post(repository::rotate_webhook),
        Page::Unregister => post(repository::remove),
        Page::Preview => get(preview::show),
        Page::Settings => get(settings::show),
        Page::Halt => post(settings::halt),
        Page::Resume => post(settings::resume),
        Page::People => get(people::show),
        Page::AddPerson => post(people::add),
        Page::ChangePerson => post(people::change),
        Page::RemovePerson => post(people::remove),
        Page::RevokeInvitation => post(people::revoke_invitation),
        Page::Invitations => get(invitations::show),
        Page::AcceptInvitation => post(invitations::accept),
        Page::DeclineInvitation => post(invitations::decline),
        Page::Tokens => get(tokens::show),
        Page::MakeToken => post(tokens::create),
        Page::RevokeToken => post(tokens::revoke),
        Page::Policy => get(policy::show),
        Page::SavePolicy => post(policy::save),
        Page::Notifications => get(notifications::show),
        Page::NotificationTest => post(notifications::test),
        Page::NotificationRetry => post(notifications::retry),
        Page::Resources => get(resources::list_all),
        Page::ResourcesOfKind => get(resources::of_kind),
        Page::Resource => get(resource::show),
        Page::Nodes => get(nodes::show),
        Page::Node | Page::NodeAdopted | Page::NodeEnrolled => get(node::show),
        Page::NodeObserve => post(node::observe),
        Page::NodeRevert => post(node::revert),
        Page::NodeAdopt => post(node::adopt),
        Page::NodeAccept => post(node::accept),
        Page::NodeUnaccept => post(node::unaccept),
        Page::NodeEnroll => post(node::enroll),
        Page::NodeRevokeAgent => post(node::revoke_agent),
        Page::Enrolment => get(enrolment::show),
        Page::CreateEnrolmentToken => post(enrolment::create_token),
        Page::RevokeEnrolmentToken => post(enrolment::revoke),
        Page::ApproveJoin => post(enrolment::approve),
        Page::RejectJoin => post(enrolment::reject),
        Page::ModuleVersion => post(resource::change_version),
        Page::Drift => get(drift::show),
        Page::DriftRevert => post(drift::revert),
        Page::DriftAdopt => post(drift::adopt),
        Page::DriftAccept => post(drift::accept),
        Page::DriftUnaccept => post(drift::unaccept),
        Page::Networks => get(topology::list),
        Page::Topology => get(topology::show),
        Page::Events => get(events::show),
        Page::Audit => get(audit::show),
        Page::AuditVerify => post(audit::verify),
        Page::Lost => get(sign_in::not_found),
    }
}
