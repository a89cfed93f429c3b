//! Decisions about who connects: which connections stay open, how long clients may take, whose address a request
//! counts for, and how soon someone may try to sign in again.
//!
//! The server's network code hands in what it saw and does what these functions answer.

pub mod address;
pub mod connections;
pub mod forwarded;
pub mod throttle;
pub mod transfer_time;
