//! Access: permissions, roles, who may change which member, and how long a role is valid. Pure: the server asks and
//! enforces the answer.

mod checkpoint;
mod key;
mod people;
mod permission;
mod role;

pub use checkpoint::{CheckpointPace, is_checkpoint_due};
pub use key::{KeyAdmission, admit_key};
pub use people::{
    AdminScope, InviteeStatus, JoinMethod, MemberFacts, PersonChange, PersonChangeRefusal, Tenancy,
    check_person_change, join_method,
};
pub use permission::{Permission, Role};
pub use role::{MembershipOrigin, RoleSource};
