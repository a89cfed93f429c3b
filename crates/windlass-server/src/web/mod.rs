//! The web app: pages of `windlass-web`, loaded by the same functions that the API's handlers use.
//!
//! The page table (`windlass_web::table`) specifies who may see a page. [`guard`] enforces it, and rejects forms that another
//! site sent. Decisions about proposals go through `windlass_control::ask`, as in the API.
//!
//! To add a page: a line in the table, a model and a template in `windlass-web`, one file here that loads the model,
//! and a line in [`routes`]. A page gets a [`browser_request::BrowserRequest`] and an `Identity`; [`frame::load`] loads its
//! frame, [`response::page`] sends it. A form's fields are in [`form::FormFields`], already checked; a form ends with
//! [`response::redirect_with_notice`], whose notice the next page shows.

pub(crate) mod address;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod blast_radius;
pub(crate) mod browser_request;
pub(crate) mod cookies;
pub(crate) mod drift;
mod drift_targets;
pub(crate) mod edit;
pub(crate) mod enrolment;
pub(crate) mod events;
pub(crate) mod form;
pub(crate) mod form_outcome;
pub(crate) mod frame;
pub(crate) mod guard;
pub(crate) mod invitations;
pub(crate) mod node;
pub(crate) mod nodes;
pub(crate) mod notifications;
pub(crate) mod overview;
pub(crate) mod page_stream;
pub(crate) mod people;
pub(crate) mod plan_sets;
pub(crate) mod policy;
pub(crate) mod preview;
pub(crate) mod proposal;
pub(crate) mod repositories;
pub(crate) mod repository;
pub(crate) mod repository_form;
pub(crate) mod resource;
pub(crate) mod resources;
pub(crate) mod response;
pub(crate) mod rollouts;
pub(crate) mod routes;
mod runs;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod sso;
pub(crate) mod tokens;
pub(crate) mod topology;
