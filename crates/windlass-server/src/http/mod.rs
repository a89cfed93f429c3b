//! HTTP: one file per noun, a router made from the endpoint table, and what surrounds every request.

pub(crate) mod accounts;
pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod body;
mod checkpoints;
mod credentials;
pub(crate) mod drift;
pub(crate) mod error;
pub(crate) mod events;
mod export;
pub(crate) mod forge;
mod forge_fields;
pub(crate) mod guard;
mod health;
mod idempotency;
pub(crate) mod invitations;
pub(crate) mod notifications;
pub(crate) mod page;
pub(crate) mod policy;
pub(crate) mod previews;
mod proposal_info;
pub(crate) mod proposals;
mod relocate;
pub(crate) mod repositories;
mod repository_fields;
pub(crate) mod request;
pub(crate) mod resources;
mod routes;
pub(crate) mod runs;
pub(crate) mod tokens;
pub(crate) mod users;
pub(crate) mod webhooks;

pub(crate) use health::{gather_numbers, tidy_numbers};
pub(crate) use routes::{PATIENCE, router};
