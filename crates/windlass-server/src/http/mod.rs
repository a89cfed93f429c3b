//! HTTP: one file per noun, a router made from the endpoint table, and what surrounds every request.

mod accounts;
mod audit;
mod auth;
mod body;
mod drift;
mod error;
mod events;
mod guard;
mod health;
mod idempotency;
mod page;
mod policy;
mod proposal_info;
mod proposals;
mod repositories;
mod repository_fields;
mod request;
mod resources;
mod routes;
mod runs;
mod tokens;
mod users;

pub(crate) use health::gather_numbers;
pub(crate) use routes::router;
