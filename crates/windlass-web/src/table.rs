//! The table of pages: every path below `/app`, and the operation of the API whose permission it needs.
//!
//! The server's router, its permission check and the authorization tests are derived from this table, so that none of
//! them can miss a page, and a page can never be open to more people than its operation.

use windlass_api::endpoint::{Access, Method, Operation, endpoints};

/// One page, or one action of a form.
#[derive(Clone, Debug)]
pub struct PageEntry {
    /// The page.
    pub page: Page,
    /// The HTTP method.
    pub method: Method,
    /// The path, with placeholders such as `{id}`.
    pub path: &'static str,
    /// Who has access.
    pub access: Access,
}

/// Who has access to a page.
enum PageAccess {
    /// Everyone.
    Public,
    /// Everyone with permission for this operation.
    As(Operation),
}

impl PageAccess {
    fn access(&self) -> Access {
        match self {
            PageAccess::Public => Access::Public,
            PageAccess::As(operation) => {
                let found = endpoints().into_iter().find(|endpoint| endpoint.operation == *operation);
                found.expect("the endpoint table has every operation").access
            }
        }
    }
}

macro_rules! pages {
    ($($(#[doc = $doc:literal])* $page:ident $method:ident $path:literal $rule:expr;)*) => {
        /// Every page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Page {
            $($(#[doc = $doc])* $page,)*
        }

        /// The table.
        pub fn pages() -> Vec<PageEntry> {
            vec![$(PageEntry {
                page: Page::$page,
                method: Method::$method,
                path: $path,
                access: PageAccess::access(&$rule),
            },)*]
        }
    };
}

use Operation as O;
use PageAccess::{As, Public};

pages! {
    /// Redirects to the app.
    Root Get "/" Public;
    /// The style sheet, the script, the icon.
    Asset Get "/app/assets/{name}" Public;
    /// The sign-in form.
    SignInForm Get "/app/sign-in" Public;
    /// Signs in.
    SignIn Post "/app/sign-in" Public;
    /// Starts a sign-in through the provider.
    SsoBegin Get "/app/sign-in/oidc" Public;
    /// The callback of the provider.
    SsoEnd Get "/app/sign-in/oidc/callback" Public;
    /// Signs out.
    SignOut Post "/app/sign-out" As(O::Logout);
    /// The form to change the password.
    PasswordForm Get "/app/password" As(O::Me);
    /// Changes the user's password.
    Password Post "/app/password" As(O::Password);
    /// The stream of live updates.
    Live Get "/app/live" As(O::EventStream);
    /// The overview of the account.
    Overview Get "/app" As(O::Status);
    /// Proposals that await approval.
    Approvals Get "/app/approvals" As(O::ProposalList);
    /// Decides about several proposals.
    Decide Post "/app/approvals" As(O::ProposalBatch);
    /// One proposal.
    Proposal Get "/app/proposals/{id}" As(O::ProposalShow);
    /// Approves it.
    Approve Post "/app/proposals/{id}/approve" As(O::ProposalApprove);
    /// Rejects it.
    Reject Post "/app/proposals/{id}/reject" As(O::ProposalReject);
    /// The form to edit it.
    EditForm Get "/app/proposals/{id}/edit" As(O::ProposalEdit);
    /// Edits it.
    Edit Post "/app/proposals/{id}/edit" As(O::ProposalEdit);
    /// The registered repositories.
    Repositories Get "/app/repositories" As(O::RepositoryList);
    /// Syncs one now.
    Sync Post "/app/repositories/{id}/sync" As(O::RepositorySync);
    /// Sync runs, newest first.
    Runs Get "/app/runs" As(O::RunList);
    /// One sync run.
    Run Get "/app/runs/{id}" As(O::RunShow);
    /// Approves a set of its plan.
    ApproveSet Post "/app/runs/{id}/approve" As(O::RunApprove);
    /// Resumes the proposals of a repository although the run failed.
    ConfirmFailure Post "/app/runs/{id}/confirm-failure" As(O::RunConfirmFailure);
    /// Rollouts, newest first.
    Rollouts Get "/app/rollouts" As(O::RolloutList);
    /// One rollout.
    Rollout Get "/app/rollouts/{id}" As(O::RolloutShow);
    /// Pauses it.
    RolloutPause Post "/app/rollouts/{id}/pause" As(O::RolloutPause);
    /// Resumes it.
    RolloutResume Post "/app/rollouts/{id}/resume" As(O::RolloutResume);
    /// Aborts it.
    RolloutAbort Post "/app/rollouts/{id}/abort" As(O::RolloutAbort);
    /// Promotes it.
    RolloutPromote Post "/app/rollouts/{id}/promote" As(O::RolloutPromote);
    /// The form to register a repository.
    RegisterForm Get "/app/repositories/new" As(O::RepositoryCreate);
    /// Registers it.
    Register Post "/app/repositories/new" As(O::RepositoryCreate);
    /// Tests the connection of the values in the form.
    Probe Post "/app/repositories/new/test" As(O::RepositoryProbe);
    /// One repository.
    Repository Get "/app/repositories/{id}" As(O::RepositoryShow);
    /// The form to change it.
    ConfigureForm Get "/app/repositories/{id}/edit" As(O::RepositoryPatch);
    /// Changes it.
    Configure Post "/app/repositories/{id}/edit" As(O::RepositoryPatch);
    /// Turns automatic syncs on or off.
    Schedule Post "/app/repositories/{id}/schedule" As(O::RepositoryPatch);
    /// The repository page, for a reload after a test.
    Tested Get "/app/repositories/{id}/test" As(O::RepositoryShow);
    /// Tests its connection.
    Test Post "/app/repositories/{id}/test" As(O::RepositoryTest);
    /// Forgets its host keys.
    ForgetHostKeys Post "/app/repositories/{id}/forget-host-keys" As(O::RepositoryForgetHostKeys);
    /// Releases what is quarantined.
    Release Post "/app/repositories/{id}/release" As(O::RepositoryRelease);
    /// The repository page, for a reload after the webhook's secret was shown.
    Webhook Get "/app/repositories/{id}/webhook" As(O::RepositoryShow);
    /// Shows the secret of its webhook.
    ShowWebhook Post "/app/repositories/{id}/webhook" As(O::RepositoryWebhook);
    /// Replaces the secret of its webhook.
    RotateWebhook Post "/app/repositories/{id}/webhook/rotate" As(O::RepositoryWebhookRotate);
    /// Unregisters it.
    Unregister Post "/app/repositories/{id}/remove" As(O::RepositoryRemove);
    /// What a commit or files would change.
    Preview Get "/app/previews/{id}" As(O::PreviewShow);
    /// The account, the user's own settings, and the kill switch.
    Settings Get "/app/settings" As(O::Status);
    /// Pulls the kill switch.
    Halt Post "/app/settings/halt" As(O::Halt);
    /// Resumes applying.
    Resume Post "/app/settings/resume" As(O::Resume);
    /// The people of the account.
    People Get "/app/settings/people" As(O::UserList);
    /// Adds a person.
    AddPerson Post "/app/settings/people" As(O::UserCreate);
    /// Changes a person.
    ChangePerson Post "/app/settings/people/{id}" As(O::UserPatch);
    /// Removes a person.
    RemovePerson Post "/app/settings/people/{id}/remove" As(O::UserRemove);
    /// Revokes an invitation to the account.
    RevokeInvitation Post "/app/settings/people/invitations/{id}/revoke" As(O::InvitationRevoke);
    /// Invitations that the user has received.
    Invitations Get "/app/settings/invitations" As(O::ReceivedInvitationList);
    /// Accepts an invitation.
    AcceptInvitation Post "/app/settings/invitations/{id}/accept" As(O::InvitationAccept);
    /// Declines an invitation.
    DeclineInvitation Post "/app/settings/invitations/{id}/decline" As(O::InvitationDecline);
    /// API tokens.
    Tokens Get "/app/settings/tokens" As(O::TokenList);
    /// Creates a token.
    MakeToken Post "/app/settings/tokens" As(O::TokenCreate);
    /// Revokes a token.
    RevokeToken Post "/app/settings/tokens/{id}/revoke" As(O::TokenRevoke);
    /// The approval policy.
    Policy Get "/app/settings/policy" As(O::PolicyShow);
    /// Replaces the policy.
    SavePolicy Post "/app/settings/policy" As(O::PolicyReplace);
    /// The notification providers and the delivery log.
    Notifications Get "/app/settings/notifications" As(O::DeliveryList);
    /// Sends a test message.
    NotificationTest Post "/app/settings/notifications/{id}/test" As(O::ProviderTest);
    /// Retries a delivery.
    NotificationRetry Post "/app/settings/notifications/deliveries/{id}/retry" As(O::DeliveryRetry);
    /// The accepted state of all kinds.
    Resources Get "/app/resources" As(O::ResourceList);
    /// The accepted state of one kind.
    ResourcesOfKind Get "/app/resources/{kind}" As(O::ResourceList);
    /// One accepted resource.
    Resource Get "/app/resources/{kind}/{name}" As(O::ResourceList);
    /// Nodes with their status.
    Nodes Get "/app/nodes" As(O::NodeStatusList);
    /// One node as its agent sees it.
    Node Get "/app/nodes/{name}" As(O::NodeStatusShow);
    /// Asks its agent to look now.
    NodeObserve Post "/app/nodes/{name}/observe" As(O::NodeObserve);
    /// Has its agent apply everything again.
    NodeRevert Post "/app/nodes/{name}/revert" As(O::NodeDriftRevert);
    /// The node's page, for a reload after a patch was shown.
    NodeAdopted Get "/app/nodes/{name}/adopt" As(O::NodeStatusShow);
    /// Shows the patch that makes git declare a file as it is on the host.
    NodeAdopt Post "/app/nodes/{name}/adopt" As(O::NodeDriftAdopt);
    /// Accepts the drift of an item.
    NodeAccept Post "/app/nodes/{name}/accept" As(O::NodeDriftAccept);
    /// Withdraws an acceptance.
    NodeUnaccept Post "/app/nodes/{name}/unaccept" As(O::NodeDriftUnaccept);
    /// The node's page, for a reload after an enrolment command was shown.
    NodeEnrolled Get "/app/nodes/{name}/enroll" As(O::NodeStatusShow);
    /// Creates a token with which its agent enrols, and shows the command once.
    NodeEnroll Post "/app/nodes/{name}/enroll" As(O::NodeEnroll);
    /// Revokes its agent.
    NodeRevokeAgent Post "/app/nodes/{name}/revoke-agent" As(O::NodeAgentRevoke);
    /// Hosts that want to join, and the tokens with which agents can still enrol.
    Enrolment Get "/app/enrolment" As(O::EnrollmentTokenList);
    /// Creates a token with which the agents of several nodes enrol, and shows the command once.
    CreateEnrolmentToken Post "/app/enrolment" As(O::EnrollmentTokenCreate);
    /// Revokes a token.
    RevokeEnrolmentToken Post "/app/enrolment/tokens/{id}/revoke" As(O::EnrollmentTokenRevoke);
    /// Approves that a host joins.
    ApproveJoin Post "/app/enrolment/joins/{id}/approve" As(O::NodeJoinApprove);
    /// Rejects that a host joins.
    RejectJoin Post "/app/enrolment/joins/{id}/reject" As(O::NodeJoinReject);
    /// Changes the state of a module version.
    ModuleVersion Post "/app/modules/{id}/versions" As(O::ModuleVersionPatch);
    /// Differences between git, the accepted state and the fleet.
    Drift Get "/app/drift" As(O::DriftReport);
    /// Proposes to restore a resource to git's version.
    DriftRevert Post "/app/drift/{id}/revert" As(O::DriftRevert);
    /// Shows the patch that writes the accepted state into git, and pushes it.
    DriftAdopt Post "/app/drift/{id}/adopt" As(O::DriftAdopt);
    /// Accepts a difference.
    DriftAccept Post "/app/drift/{id}/accept" As(O::DriftAccept);
    /// Withdraws an acceptance.
    DriftUnaccept Post "/app/drift/{id}/unaccept" As(O::DriftUnaccept);
    /// The networks.
    Networks Get "/app/topology" As(O::ResourceList);
    /// One network as a diagram.
    Topology Get "/app/topology/{network}" As(O::ResourceList);
    /// Events.
    Events Get "/app/events" As(O::EventList);
    /// The audit log.
    Audit Get "/app/audit" As(O::AuditList);
    /// Verifies the audit log.
    AuditVerify Post "/app/audit/verify" As(O::AuditVerify);
    /// Every other address below `/app`.
    Lost Get "/app/{*rest}" Public;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_pages_share_a_method_and_an_address() {
        let pages = pages();
        let addresses: BTreeSet<_> = pages.iter().map(|entry| (entry.method, entry.path)).collect();
        assert_eq!(addresses.len(), pages.len());
    }

    #[test]
    fn only_these_pages_are_public() {
        let public: Vec<Page> =
            pages().iter().filter(|entry| entry.access == Access::Public).map(|entry| entry.page).collect();
        let expected = [
            Page::Root,
            Page::Asset,
            Page::SignInForm,
            Page::SignIn,
            Page::SsoBegin,
            Page::SsoEnd,
            Page::Lost,
        ];
        assert_eq!(public, expected);
    }
}
