//! Who is let in, for how long, and what nobody may do to whom. Pure: the server asks, and does what the answer says.

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
