//! The pages of the web app: models in, HTML out. Pure: without clock, files or server, so that a test can render and
//! check any page.
//!
//! Models use the API's own types where possible, so that a page and the API show the same. All text passes one escaper
//! (`escape`), which no template can bypass; templates have no inline script or style, because the content security
//! policy forbids them.
//!
//! # How to add a page
//!
//! 1. A line in `crates/windlass-web/src/table.rs`: its address, and the operation of the API that decides who may see it.
//! 2. The compiler asks for its handler in `crates/windlass-server/src/web/routes.rs`. Handlers stand in a file of
//!    `crates/windlass-server/src/web/` that loads the model with the use cases that the API's handlers call, and renders it.
//! 3. A model in `crates/windlass-web/src/pages/`, one file, deriving `Template`; a template of the same name in
//!    `crates/windlass-web/templates/` that extends `layout.html`. Wrap what changes by itself in an element with an `id` and
//!    `data-live`: the script keeps it current.
//! 4. Is it a place of its own? A variant of `NavEntry` in `crates/windlass-web/src/frame.rs` and a link in
//!    `crates/windlass-web/templates/layout.html`. No page without a link:
//!    `no_page_makes_the_browser_complain_or_scroll_sideways` follows them.
//! 5. A hostile model in `every_page` in `crates/windlass-web/tests/models/`. — `every_page_has_a_hostile_model` in
//!    `crates/windlass-web/tests/escaping.rs`
//! 6. Does its address hold anything but `{id}`, or an id of another thing than a proposal? Say what stands there in
//!    `every_page_forbids_foreign_and_inline_script_and_frames_and_is_not_kept`, which asks for every page.
//! 7. `UPDATE_SCREENSHOTS=1 cargo test -p windlass --test browser screenshots`, if it belongs in the docs, and a line in
//!    CHANGELOG.md.

pub mod assets;
pub mod content;
pub mod diff;
mod escape;
pub mod frame;
mod link;
pub mod pages;
mod sentence;
mod state_label;
pub mod table;
pub mod topology;
mod words;

pub use sentence::sentence;

/// Something that can be rendered as a page.
pub trait Html {
    /// The HTML of the page.
    fn html(&self) -> String;
}

impl<T: askama::Template> Html for T {
    fn html(&self) -> String {
        self.render().expect("writing to a string cannot fail, and no template fails by itself")
    }
}
