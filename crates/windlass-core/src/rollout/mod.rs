//! Rollouts: how a change moves over many nodes, wave by wave.
//!
//! A change gives nodes new documents. [`GoverningRollouts`] finds whether a template or a module says how it moves over
//! them. [`decide`] takes every node with what it shall get and what it has, and the rollouts that are under way, and says
//! which nodes get their document now, which rollouts begin, and how the others stand. The waves of one rollout are in
//! [`RolloutPlan`]. [`RolloutStatus::after`] says what people may decide. All of it is pure: any replica may ask at any time
//! and comes to the same.

mod decide;
mod governing;
mod node_state;
mod status;
mod waves;

pub use decide::{
    AppliedState, NewRollout, NodeToAssign, Rollout, RolloutDecisions, RolloutNode, RolloutUpdate, decide,
};
pub use governing::{Governing, GoverningRollouts};
pub use node_state::{RolloutCounts, RolloutNodeState};
pub use status::{Hold, RolloutAction, RolloutStatus};
pub use waves::{NodeProgress, Pace, RolloutOrders, RolloutPlan, RolloutStep, WaitReason, Wave};
