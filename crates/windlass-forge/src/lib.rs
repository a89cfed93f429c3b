//! Forges (GitHub, Gitea and Forgejo, GitLab, Bitbucket): their webhooks and their APIs.
//!
//! `hook` is pure: it verifies and parses deliveries. `api` sends requests to forges and makes no decisions.

pub mod api;
pub mod hook;
