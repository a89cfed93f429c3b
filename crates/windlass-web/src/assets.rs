//! The assets of pages: one style sheet, one script, one icon, built into the binary.
//!
//! The URL of an asset contains the digest of its bytes, so browsers can cache it forever and never use an outdated
//! one.

use std::sync::LazyLock;

use windlass_core::digest::Digest;

/// The path prefix of assets.
pub const PREFIX: &str = "/app/assets/";

/// A file that pages load.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Its name with the digest of its bytes.
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// The file.
    pub bytes: &'static [u8],
}

impl Asset {
    fn new(stem: &str, ending: &str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
        let digest: String = Digest::of(bytes).to_string().chars().filter(char::is_ascii_hexdigit).collect();
        // The end of the digest: the beginning may be the name of its algorithm.
        let name = format!("{stem}-{}.{ending}", &digest[digest.len() - 16..]);
        Asset { name, media_type, bytes }
    }

    /// The path of the asset.
    pub fn url(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

/// The style sheet: shared rules first, then the rules of single pages. Later rules override earlier ones, so the order
/// matters.
const SHEET: &str = concat!(
    include_str!("../assets/windlass.css"),
    include_str!("../assets/repositories.css"),
    include_str!("../assets/runs.css"),
    include_str!("../assets/settings.css"),
    include_str!("../assets/resources.css"),
    include_str!("../assets/drift.css"),
    include_str!("../assets/topology.css"),
    include_str!("../assets/rollouts.css"),
);

static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("windlass", "css", "text/css; charset=utf-8", SHEET.as_bytes()));
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("windlass", "js", "text/javascript; charset=utf-8", include_bytes!("../assets/windlass.js"))
});
static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_bytes!("../assets/icon.svg")));

/// The asset with this name, if this version has it.
pub fn find(name: &str) -> Option<&'static Asset> {
    [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.name == name)
}

pub(crate) fn style_url() -> String {
    STYLE.url()
}

pub(crate) fn script_url() -> String {
    SCRIPT.url()
}

pub(crate) fn icon_url() -> String {
    ICON.url()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_found_by_the_address_that_pages_name() {
        for url in [style_url(), script_url(), icon_url()] {
            let name = url.strip_prefix(PREFIX).expect("below the prefix");
            assert!(find(name).is_some_and(|asset| !asset.bytes.is_empty()), "{url}");
        }
        assert!(find("windlass.css").is_none() && find("../lib.rs").is_none());
    }
}
