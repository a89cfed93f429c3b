//! The pages of the web app: models in, HTML out. Pure: no clock, no files, no server; a page can be made and read in a
//! test without any of them.
//!
//! Models are the API's own types wherever they suffice, so that a page and the API say the same. All text goes through
//! one escaper (`escape`), which no template can leave out; templates hold no inline script or style, because the
//! content security policy forbids them.
//!
//! # How to add a page
//!
//! 1. A line in [`table`]: its address, and the operation of the API that decides who may see it. The compiler then asks
//!    for a handler in the server's `web/routes.rs`.
//! 2. A model in `pages/`, one file, deriving `Template`; a template of the same name in `templates/` that extends
//!    `layout.html`. Wrap what changes by itself in an element with an `id` and `data-live`: the script keeps it current.
//! 3. A file in the server's `web/` that loads the model with the functions the API's handlers use, and renders it.
//! 4. Is it a place of its own? A variant in [`frame::NavEntry`] and a link in `templates/layout.html`.
//! 5. A hostile model in `tests/escaping.rs`.

pub mod assets;
pub mod content;
pub mod diff;
mod escape;
pub mod frame;
mod link;
pub mod pages;
mod sentence;
mod shown;
pub mod table;
pub mod topology;
mod words;

pub use sentence::sentence;

/// Something that can be shown.
pub trait Html {
    /// The page.
    fn html(&self) -> String;
}

impl<T: askama::Template> Html for T {
    fn html(&self) -> String {
        self.render().expect("writing to a string cannot fail, and no template fails by itself")
    }
}
