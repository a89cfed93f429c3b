//! HTTP: one file per noun, a router made from the endpoint table, and what surrounds every request.

pub(crate) mod accounts;
mod audit;
pub(crate) mod auth;
pub(crate) mod body;
mod credentials;
mod drift;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod guard;
mod health;
mod idempotency;
pub(crate) mod page;
mod policy;
mod proposal_info;
pub(crate) mod proposals;
pub(crate) mod repositories;
mod repository_fields;
pub(crate) mod request;
mod resources;
mod routes;
pub(crate) mod runs;
mod tokens;
mod users;

pub(crate) use health::gather_numbers;
pub(crate) use routes::router;
