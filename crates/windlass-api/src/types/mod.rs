//! What crosses the wire, one file per noun. The server writes these and the client reads them; nothing else speaks of
//! the API's shape.

mod account;
mod agent;
mod audit;
mod auth;
mod content;
mod credential;
mod drift;
mod effect;
mod error;
mod event;
mod field_change;
mod forge;
mod module_version;
mod node;
mod notification;
mod page;
mod policy;
mod preview;
mod proposal;
mod render;
mod repository;
mod resource;
mod rollout;
mod run;
mod webhook;

pub use account::{AccountBody, AccountEnvelope, AccountInfo, AccountList, HaltBody, HaltInfo, Status};
pub use agent::{
    AgentRevoked, BatchEnrollmentBody, EnrollmentBody, EnrollmentCreated, EnrollmentTokenInfo,
    EnrollmentTokenList, NodeJoinEnvelope, NodeJoinInfo, NodeJoinList, NodeSelectorInfo,
};
pub use audit::{
    AuditInfo, AuditKeyInfo, AuditKeys, AuditList, AuditVerdict, CheckpointEnvelope, CheckpointInfo,
    CheckpointList,
};
pub use auth::{
    InvitationInfo, InvitationList, JoinedAccount, LoginBody, Me, PasswordBody, ReceivedInvitation,
    ReceivedInvitationList, Session, SignsInWith, TokenBody, TokenCreated, TokenInfo, TokenList, UserAdded,
    UserBody, UserCreated, UserEnvelope, UserInfo, UserList, UserPatch,
};
pub use content::{ContentDifference, FileDifference};
pub use credential::{
    CredentialBindingBody, CredentialBindingInfo, CredentialBindingList, CredentialInfo, CredentialList,
};
pub use drift::{AcceptBody, Acceptance, AdoptBody, Adopted, DriftItem, DriftReport, DriftTarget, Reverted};
pub use effect::{ItemEffect, NodeGroup, ProposalEffects};
pub use error::{ErrorBody, ErrorDetail, ErrorEnvelope};
pub use event::{EventInfo, EventList};
pub use field_change::FieldChange;
pub use forge::{ForgeFields, ForgeInfo, GiteaRepositoryBody, GiteaRepositoryEnvelope, GiteaRepositoryInfo};
pub use module_version::{
    ModuleVersionBody, ModuleVersionInfo, ModuleVersionList, VersionOrigin, VersionUse,
};
pub use node::{
    NodeAcceptBody, NodeAdopted, NodeAgentInfo, NodeDetail, NodeDrift, NodeDriftItem, NodeFieldDifference,
    NodeHostInfo, NodeItemBody, NodeModuleInfo, NodeReverted, NodeStatusGroup, NodeStatusInfo,
    NodeStatusList, NodeStatusSummary, ObserveRequested,
};
pub use notification::{DeliveryEnvelope, DeliveryInfo, DeliveryList, ProviderTest};
pub use page::PageMeta;
pub use policy::{PolicyBody, PolicyInfo};
pub use preview::{PreviewBody, PreviewEnvelope, PreviewInfo, PreviewList};
pub use proposal::{
    ApprovalInfo, ApproveBody, BatchBody, BatchDecision, BatchItem, BatchResult, ContributorInfo, EditBody,
    GateInfo, ProposalEnvelope, ProposalInfo, ProposalList, RejectBody, WaitingChange,
};
pub use render::{NodeRender, RenderedAssignment, RenderedItem, RenderedModule, RenderedSetting};
pub use repository::{
    CheckInfo, CheckOutcome, MoveBody, QuarantineInfo, QuarantinedWork, RepositoryBody, RepositoryEnvelope,
    RepositoryFields, RepositoryInfo, RepositoryList, RepositoryTest,
};
pub use resource::{OwnerInfo, ResourceInfo, ResourceList};
pub use rollout::{
    RolloutDecisionBody, RolloutEnvelope, RolloutInfo, RolloutList, RolloutNodeCounts, RolloutNodeInfo,
    RolloutWave,
};
pub use run::{
    ActionInfo, ApproveSetBody, ApprovedSet, ChangeSetInfo, ConfirmFailureBody, Problem, RunEnvelope,
    RunErrorInfo, RunInfo, RunList, RunProposal, SyncBody,
};
pub use webhook::{
    WebhookAnswer, WebhookInfo, WebhookReceived, WebhookRefused, WebhookSetup, WebhookShown, WebhookStatus,
};
