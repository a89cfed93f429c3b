//! Agents of targets: the authority that issues their certificates, and the streams on which they get news.
//!
//! `ask/enrolment` has the use cases of agents and people; `loops/agents` tells the streams what changed.

pub mod authority;
pub mod certificate;
pub mod hub;
pub mod mailbox;
pub mod reads;
