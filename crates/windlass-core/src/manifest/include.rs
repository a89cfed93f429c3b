//! Which further files a fleet is made of.

use std::fmt;

use globset::{Glob, GlobBuilder, GlobMatcher};

use super::{FLEET_FILE, MAX_FILES};
use crate::code::Code;
use crate::diagnostic::Finding;
use crate::shape::{Canonical, Complaint, Decoder, Description, Shape, TextValue};
use crate::value::{Wildcard, quoted};
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

/// What patterns mean together: which files, and which directories such files can lie in.
#[derive(Debug)]
pub struct Selection {
    selected: Vec<(GlobMatcher, Reach)>,
}

impl Selection {
    /// What any of these patterns means.
    pub fn of(patterns: &[IncludePattern]) -> Selection {
        let selected = patterns.iter().map(|pattern| {
            let matcher = pattern.glob.compile_matcher();
            (matcher, Reach::of(pattern.glob.glob()))
        });
        Selection { selected: selected.collect() }
    }

    /// Whether a path is meant. fleet.yaml itself never is.
    pub fn takes(&self, path: &str) -> bool {
        path != FLEET_FILE && self.selected.iter().any(|(matcher, _)| matcher.is_match(path))
    }

    /// Whether something in a directory, or below, can be meant. What cannot need not be looked into.
    pub fn enters(&self, directory: &str) -> bool {
        self.selected.iter().any(|(_, reach)| reach.leads_into(directory))
    }
}

/// The directories in which a pattern can find something.
#[derive(Debug)]
struct Reach {
    /// What the parts of the path must look like, from the first on.
    parts: Vec<Wildcard>,
    /// Whether anything may follow these parts, or nothing.
    is_open: bool,
}

impl Reach {
    /// Parts are compared as far as they are names with `*` and `?`; after anything else, every directory may be meant.
    fn of(pattern: &str) -> Reach {
        let mut parts = Vec::new();
        let mut rest = pattern.split('/').peekable();
        while let Some(part) = rest.next() {
            let is_file = rest.peek().is_none();
            let is_simple = !part.contains("**") && !part.contains(['{', '[', '}', ']']);
            match Wildcard::read(part) {
                _ if is_file => return Reach { parts, is_open: part.contains("**") },
                Ok(name) if is_simple => parts.push(name),
                _ => break,
            }
        }
        Reach { parts, is_open: true }
    }

    fn leads_into(&self, directory: &str) -> bool {
        let mut parts = self.parts.iter();
        directory.split('/').all(|name| match parts.next() {
            Some(part) => part.matches(name),
            None => self.is_open,
        })
    }
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
        let selection = Selection::of(&patterns);
        let selected: Vec<&str> = paths.into_iter().filter(|path| selection.takes(path)).collect();
        assert_eq!(selected, ["a.yaml", "fleet.d/c.yaml", "fleet.d/eu/d.yaml"]);
    }

    #[test]
    fn only_directories_in_which_a_pattern_can_find_something_are_entered() {
        let enters = |pattern: &str, directory: &str| {
            Selection::of(&[IncludePattern::read(pattern).unwrap()]).enters(directory)
        };
        for (pattern, directory) in [
            ("fleet.d/*.yaml", "fleet.d"),
            ("a/b/*.yaml", "a"),
            ("a/*/c.yaml", "a/x"),
            ("a-?/c.yaml", "a-1"),
            ("a/**/c.yaml", "a/x/y/z"),
            ("**", "x/y"),
            ("{a/b,c}/*.yaml", "a/b"),
            ("a/{b/c,d}.yaml", "a/b"),
            ("[ab]/x.yaml", "b"),
        ] {
            assert!(enters(pattern, directory), "{pattern} {directory}");
        }
        for (pattern, directory) in [
            ("fleet.d/*.yaml", "other"),
            ("fleet.d/*.yaml", "fleet.d/deeper"),
            ("*.yaml", "a"),
            ("a/*/c.yaml", "a/x/y"),
            ("a/b/*.yaml", "a/c"),
            ("a/**/c.yaml", "b"),
            ("a-?/c.yaml", "a-12"),
        ] {
            assert!(!enters(pattern, directory), "{pattern} {directory}");
        }
    }

    #[test]
    fn patterns_stay_inside() {
        for text in ["/etc/*", "../x.yaml", "a/../../b", "", "a\\b", "[", ".git/*"] {
            assert_eq!(IncludePattern::read(text).unwrap_err().code, Code::IncludePattern, "{text}");
        }
    }
}
