//! Which further files a fleet is made of.

use std::collections::BTreeSet;
use std::fmt;

use globset::{Glob, GlobBuilder};

use super::{FLEET_FILE, MAX_FILES};
use crate::code::Code;
use crate::diagnostic::Finding;
use crate::shape::{Canonical, Complaint, Decoder, Description, Shape, TextValue};
use crate::value::quoted;
use crate::yaml::{Content, NodeRef};

/// A glob relative to fleet.yaml. `*` and `?` stop at `/`; `**` does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludePattern {
    glob: Glob,
}

impl IncludePattern {
    /// Whether any of these paths, relative to fleet.yaml, is meant.
    pub fn matches_any<'p>(&self, mut paths: impl Iterator<Item = &'p str>) -> bool {
        let matcher = self.glob.compile_matcher();
        paths.any(|path| matcher.is_match(path))
    }
}

/// The value of `include`. There cannot be more patterns than files: each costs a look at the repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Includes(pub(super) Vec<IncludePattern>);

impl Shape for Includes {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        if let Content::Sequence(items) = node.content()
            && items.len() > MAX_FILES
        {
            let message =
                format!("{} patterns, more than the {MAX_FILES} files a fleet may have", items.len());
            let finding = Finding::new(Code::FilesTooMany, node.span(), message);
            decoder.report(finding.help("use fewer patterns, with wildcards"));
            return None;
        }
        Vec::decode(node, decoder).map(Includes)
    }

    fn write(&self, out: &mut Canonical) {
        self.0.write(out);
    }

    fn describe() -> Description {
        <Vec<IncludePattern> as Shape>::describe()
    }
}

impl fmt::Display for IncludePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.glob.glob())
    }
}

impl TextValue for IncludePattern {
    const WHAT: &'static str = "a glob relative to fleet.yaml";
    const PATTERN: Option<&'static str> = Some("^[^/].*$");

    fn read(text: &str) -> Result<Self, Complaint> {
        let refuse = |why: &str, help: &str| Complaint {
            code: Code::IncludePattern,
            message: format!("{} {why}", quoted(text)),
            help: Some(help.to_owned()),
        };
        if text.is_empty() || text.starts_with('/') || text.contains('\\') {
            return Err(refuse(
                "is not a relative glob",
                "write it relative to fleet.yaml, like `fleet.d/*.yaml`",
            ));
        }
        if text.split('/').any(|segment| matches!(segment, ".." | "." | ".git")) {
            return Err(refuse("leaves the fleet's directory", "no `..`, `.` or `.git` in an include"));
        }
        if text.len() > 256 {
            return Err(refuse("is too long", "use at most 256 characters"));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        glob.map(|glob| IncludePattern { glob })
            .map_err(|error| refuse("is not a glob", &format!("{}", error.kind())))
    }
}

/// The paths any of the patterns means, sorted, without fleet.yaml itself.
pub fn select_includes<'p>(
    patterns: &[IncludePattern],
    paths: impl IntoIterator<Item = &'p str>,
) -> BTreeSet<&'p str> {
    let matchers: Vec<_> = patterns.iter().map(|pattern| pattern.glob.compile_matcher()).collect();
    paths
        .into_iter()
        .filter(|path| *path != FLEET_FILE && matchers.iter().any(|matcher| matcher.is_match(path)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_in_its_directory_and_the_root_is_never_included() {
        let patterns =
            [IncludePattern::read("*.yaml").unwrap(), IncludePattern::read("fleet.d/**/*.yaml").unwrap()];
        let paths =
            ["fleet.yaml", "a.yaml", "x/b.yaml", "fleet.d/c.yaml", "fleet.d/eu/d.yaml", "fleet.d/e.txt"];
        let selected: Vec<&str> = select_includes(&patterns, paths).into_iter().collect();
        assert_eq!(selected, ["a.yaml", "fleet.d/c.yaml", "fleet.d/eu/d.yaml"]);
    }

    #[test]
    fn patterns_stay_inside() {
        for text in ["/etc/*", "../x.yaml", "a/../../b", "", "a\\b", "[", ".git/*"] {
            assert_eq!(IncludePattern::read(text).unwrap_err().code, Code::IncludePattern, "{text}");
        }
    }
}
