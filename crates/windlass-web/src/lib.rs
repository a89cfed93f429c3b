//! The pages of the web app: models in, HTML out. Pure: without clock, files or server, so that a test can render and
//! check any page.
//!
//! Models use the API's own types where possible, so that a page and the API show the same. All text passes one escaper
//! (`escape`), which no template can bypass; templates have no inline script or style, because the content security
//! policy forbids them.
//!
//! # How to add a page
//!
//! 1. Add a line in `crates/windlass-web/src/table.rs`: its address, and the operation of the API whose permission it needs.
//! 2. The compiler reports the missing handler in `crates/windlass-server/src/web/routes.rs`. Handlers are in
//!    `crates/windlass-server/src/web/`; they load the model with the use cases that the API's handlers call, and render it.
//! 3. Add a model in `crates/windlass-web/src/pages/`, one file, deriving `Template`, and a template of the same name in
//!    `crates/windlass-web/templates/` that extends `layout.html`. Wrap content that changes without a reload in an element with
//!    an `id` and `data-live`: the script keeps it current.
//! 4. If it is in the navigation, add a variant of `NavEntry` in `crates/windlass-web/src/frame.rs` and a link in
//!    `crates/windlass-web/templates/layout.html`. Every page needs a link from another page:
//!    `no_page_causes_browser_errors_or_horizontal_scrolling` follows the links.
//! 5. Add a hostile model in `every_page` in `crates/windlass-web/tests/models/`. — `every_page_has_a_hostile_model` in
//!    `crates/windlass-web/tests/escaping.rs`
//! 6. If its address has another parameter than `{id}`, or the id of another noun than a proposal, add a value for it in
//!    `every_page_forbids_foreign_and_inline_script_and_frames_and_is_not_kept`, which requests every page.
//! 7. If it belongs in the docs, run `UPDATE_SCREENSHOTS=1 cargo test -p windlass --test browser screenshots`. Add a line to
//!    CHANGELOG.md.

pub mod assets;
pub mod content;
pub mod diff;
pub mod effects;
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
