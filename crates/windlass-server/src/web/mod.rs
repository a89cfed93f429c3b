//! The web app: pages of `windlass-web`, loaded by the very functions the API's handlers use.
//!
//! Nothing is decided here. Who may see a page is in the page table (`windlass_web::table`) and asked by `guard`, which
//! also sees to it that no form is sent by another site. Decisions go through `decide`, as everywhere.
//!
//! To add a page: a line in the table, a model and a template in `windlass-web`, one file here that loads the model,
//! and a line in [`routes`]. A page gets a [`visit::Visit`] and an `Identity`; [`frame::load`] makes what surrounds it,
//! [`answer::page`] sends it. A form's fields come as [`form::Form`], already checked; a form ends in
//! [`answer::go`], with a notice for the page it leads to.

mod address;
mod answer;
mod approvals;
mod audit;
mod came;
mod cookies;
mod drift;
mod edit;
mod entrance;
mod events;
mod form;
mod frame;
mod guard;
mod invitations;
mod live;
mod notifications;
mod overview;
mod people;
mod plan_sets;
mod policy;
mod preview;
mod proposal;
mod reach;
mod repositories;
mod repository;
mod repository_form;
mod resource;
mod resources;
mod routes;
mod runs;
mod settings;
mod sso;
mod tokens;
mod topology;
mod visit;

pub(crate) use routes::router;
pub(crate) use visit::is_from_here;
