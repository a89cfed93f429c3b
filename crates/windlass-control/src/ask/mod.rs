//! The use cases that people and programs request: one file each, shared by the API, the web app and MCP.

pub mod account;
pub mod adopt;
pub mod audit;
pub mod checkpoint;
pub mod credential;
pub mod credential_binding;
pub mod drift;
pub mod event;
pub mod export;
pub mod first_start;
pub mod gitea;
pub mod invitation;
pub mod notification;
pub mod plan_facts;
pub mod plan_set;
pub mod policy;
pub mod preview;
pub mod proposal;
pub mod recover;
pub mod repository;
pub mod resource;
pub mod run;
pub mod target;
pub mod token;
pub mod user;
pub mod webhook;
