//! The web app: pages of `windlass-web`, loaded by the very functions the API's handlers use.
//!
//! Nothing is decided here. Who may see a page is in the page table (`windlass_web::table`) and asked by `guard`, which
//! also sees to it that no form is sent by another site. Decisions go through `decide`, as everywhere.
//!
//! To add a page: a line in the table, a model and a template in `windlass-web`, one file here that loads the model,
//! and a line in [`routes`]. A page gets a [`visit::Visit`] and an `Identity`; [`frame::load`] makes what surrounds it,
//! [`answer::page`] sends it. A form's fields come as [`form::Form`], already checked; a form ends in
//! [`answer::go`], with a notice for the page it leads to.

pub(crate) mod address;
pub(crate) mod answer;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod came;
pub(crate) mod cookies;
pub(crate) mod drift;
pub(crate) mod edit;
pub(crate) mod entrance;
pub(crate) mod events;
pub(crate) mod form;
pub(crate) mod frame;
pub(crate) mod guard;
pub(crate) mod invitations;
pub(crate) mod live;
pub(crate) mod notifications;
pub(crate) mod overview;
pub(crate) mod people;
pub(crate) mod plan_sets;
pub(crate) mod policy;
pub(crate) mod preview;
pub(crate) mod proposal;
pub(crate) mod reach;
pub(crate) mod repositories;
pub(crate) mod repository;
pub(crate) mod repository_form;
pub(crate) mod resource;
pub(crate) mod resources;
pub(crate) mod routes;
pub(crate) mod runs;
pub(crate) mod settings;
pub(crate) mod sso;
pub(crate) mod tokens;
pub(crate) mod topology;
pub(crate) mod visit;
