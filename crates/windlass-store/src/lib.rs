//! All SQL of Windlass: SQLite and PostgreSQL from one set of statements.
//!
//! One file per noun. Reading functions are on [`Reading`], writing ones on [`Writing`], which is one transaction, and
//! on [`AccountWriting`], in which changes, events and audit entries become true together. The writes of an account
//! happen one after the other: that makes event numbers and the audit chain gapless, and compare-and-set simple.
//! Nothing here decides anything.

mod accounts;
mod approval_sets;
mod archive;
mod audit;
mod audit_head;
mod check;
mod checkpoints;
mod connection;
mod contents;
mod credential_bindings;
mod db;
mod deliveries;
mod desired;
mod drift;
mod error;
mod events;
mod forge_reports;
mod identities;
mod invitations;
mod leases;
mod migration_error;
mod migrations;
mod new_events;
mod page;
mod plans;
mod previews;
mod proposal_lists;
mod proposals;
mod pull_requests;
mod pushes;
mod quarantines;
mod replicas;
mod repositories;
mod resources;
mod retention;
mod runs;
mod schema;
mod settings;
mod sql;
mod throttles;
mod tokens;
mod users;
mod verify;
mod webhooks;
mod write;

pub use approval_sets::ApprovalSet;
pub use archive::{ArchiveLimit, ArchivedEntries};
pub use audit::{Actor, AuditEntry, Audited, Outcome};
pub use audit_head::AuditHead;
pub use check::Checked;
pub use checkpoints::{AuditKey, Checkpoint};
pub use credential_bindings::CredentialBinding;
pub use db::{Address, Reading, Store};
pub use deliveries::{Behind, Delivery, DeliveryFilter, DeliveryState, Tried};
pub use desired::{Differing, NewWanted, Wanted};
pub use drift::Drift;
pub use error::StoreError;
pub use events::{EventFilter, EventOrder};
pub use forge_reports::{ForgeReport, NewForgeReport, ReportKind, ReportState};
pub use identities::{Membership, Origin};
pub use invitations::Invitation;
pub use leases::Lease;
pub use migration_error::MigrationError;
pub use page::{looks_like_id, new_id};
pub use plans::{PlanRecord, UnopenedPlan};
pub use previews::{Preview, PreviewOutcome, PreviewSource};
pub use proposal_lists::{Approvals, PlanPlace, ProposalFilter, Tally};
pub use proposals::{Moved, Placed};
pub use pull_requests::PullRequestWish;
pub use replicas::Listener;
pub use resources::{NewResource, Resource, ResourceFilter, ResourceHead};
pub use retention::RowBudget;
pub use schema::{PendingMigration, SchemaState};
pub use settings::{Answer, KeyedRequest};
pub use tokens::Token;
pub use users::{Member, Session, User};
pub use verify::{ChainCheck, Expected, Verified};
pub use webhooks::{Received, Refused, Webhook};
pub use write::{AccountWriting, Writing};
