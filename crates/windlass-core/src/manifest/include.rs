//! Include patterns: which further files belong to a fleet.

use std::fmt;

use globset::{Glob, GlobBuilder};
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind, PatternSet};

use super::{FLEET_FILE, MAX_FILES};
use crate::code::Code;
use crate::diagnostic::Finding;
use crate::quote::quoted;
use crate::shape::{Canonical, Decoder, Description, InvalidText, Shape, TextValue};
use crate::value::Wildcard;
use crate::yaml::{NodeRef, YamlContent};

/// The longest pattern, in characters.
const MAX_PATTERN: usize = 256;

/// The total length of all patterns: as many patterns as allowed, each as long as a usual path. It limits the cost of
/// compiling and matching.
const MAX_PATTERNS: usize = 32 * 1024;

/// The memory limit for matching, in bytes, however many patterns there are.
const MAX_CACHE_BYTES: usize = 2 << 20;

/// Patterns without a match are reported only if the check takes at most this many steps: one step is a character of a
/// pattern for a byte of a path.
const MAX_STEPS: usize = 1 << 28;

/// A glob relative to fleet.yaml. `*` and `?` stop at `/`; `**` does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludePattern {
    glob: Glob,
}

/// The patterns that match none of these paths, by index. Empty if there is too much to compare.
pub(super) fn unmatched(patterns: &[IncludePattern], paths: &[&str]) -> Vec<usize> {
    let characters: usize = patterns.iter().map(|pattern| pattern.glob.glob().len()).sum();
    let bytes: usize = paths.iter().map(|path| path.len()).sum();
    if patterns.is_empty() || characters.saturating_mul(bytes) > MAX_STEPS {
        return Vec::new();
    }
    let together = compile(patterns);
    let mut matched = PatternSet::new(patterns.len());
    for path in paths {
        together.which_overlapping_matches(&Input::new(*path), &mut matched);
    }
    let is_matched: Vec<bool> = matched.iter().fold(vec![false; patterns.len()], |mut all, pattern| {
        all[pattern.as_usize()] = true;
        all
    });
    (0..patterns.len()).filter(|place| !is_matched[*place]).collect()
}

/// All patterns as one automaton: its cache is limited once, and not for each pattern. Without captures, because their
/// memory would be the product of patterns and states.
fn compile(patterns: &[IncludePattern]) -> Regex {
    let config = Regex::config()
        .match_kind(MatchKind::All)
        .which_captures(WhichCaptures::None)
        .utf8_empty(false)
        .nfa_size_limit(None)
        .hybrid_cache_capacity(MAX_CACHE_BYTES);
    // The same settings as `Glob::regex`.
    let syntax = syntax::Config::new().utf8(false).dot_matches_new_line(true);
    let patterns: Vec<&str> = patterns.iter().map(|pattern| pattern.glob.regex()).collect();
    let together = Regex::builder().configure(config).syntax(syntax).build_many(&patterns);
    together.expect("a glob is a regular expression")
}

/// The value of `include`. There cannot be more patterns than files: each one causes a search of the repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Includes(pub(super) Vec<IncludePattern>);

impl Shape for Includes {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        if let YamlContent::Sequence(items) = node.content()
            && items.len() > MAX_FILES
        {
            let message =
                format!("{} patterns, more than the {MAX_FILES} files a fleet may have", items.len());
            let finding = Finding::new(Code::FilesTooMany, node.span(), message);
            decoder.report(finding.help("use fewer patterns, with wildcards"));
            return None;
        }
        let patterns: Vec<IncludePattern> = Vec::decode(node, decoder)?;
        let characters: usize = patterns.iter().map(|pattern| pattern.glob.glob().len()).sum();
        if characters > MAX_PATTERNS {
            let message =
                format!("the patterns have {characters} characters, more than {MAX_PATTERNS} together");
            let finding = Finding::new(Code::IncludePattern, node.span(), message);
            decoder.report(finding.help("use fewer patterns, with wildcards"));
            return None;
        }
        Some(Includes(patterns))
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

    fn read(text: &str) -> Result<Self, InvalidText> {
        let refuse = |why: &str, help: &str| InvalidText {
            code: Code::IncludePattern,
            message: format!("{} {why}", quoted(text)),
            help: Some(help.to_owned()),
        };
        if text.is_empty() || text.starts_with('/') || text.contains('\\') {
            return Err(refuse(
                "is not a relative glob",
                "write a path relative to fleet.yaml, such as `fleet.d/*.yaml`",
            ));
        }
        if text.split('/').any(|segment| matches!(segment, ".." | "." | ".git")) {
            return Err(refuse(
                "points outside the fleet's directory",
                "do not use `..`, `.` or `.git` in an \
                include",
            ));
        }
        if text.len() > MAX_PATTERN {
            return Err(refuse("is too long", &format!("use at most {MAX_PATTERN} characters")));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        glob.map(|glob| IncludePattern { glob })
            .map_err(|error| refuse("is not a glob", &format!("{}", error.kind())))
    }
}

/// The combined patterns: which files match, and which directories can contain matches.
#[derive(Debug)]
pub struct Selection {
    files: Regex,
    directories: Vec<ReachableDirectories>,
}

impl Selection {
    /// The files that one of these patterns matches.
    pub fn of(patterns: &[IncludePattern]) -> Selection {
        let directories =
            patterns.iter().map(|pattern| ReachableDirectories::of(pattern.glob.glob())).collect();
        Selection { files: compile(patterns), directories }
    }

    /// Whether a path matches. fleet.yaml itself never does.
    pub fn matches(&self, path: &str) -> bool {
        path != FLEET_FILE && self.files.is_match(path)
    }

    /// Whether a path below a directory can match. If not, the directory need not be searched.
    pub fn may_contain_match(&self, directory: &str) -> bool {
        self.directories.iter().any(|reach| reach.leads_into(directory))
    }
}

/// The directories that can contain a match of a pattern.
#[derive(Debug)]
struct ReachableDirectories {
    /// The patterns of the path's components, from the first on.
    parts: Vec<Wildcard>,
    /// Whether further components may follow.
    is_open: bool,
}

impl ReachableDirectories {
    /// Components are compared as long as they are names with `*` and `?`; after anything else, every directory can
    /// match.
    fn of(pattern: &str) -> ReachableDirectories {
        let mut parts = Vec::new();
        let mut rest = pattern.split('/').peekable();
        while let Some(part) = rest.next() {
            let is_file = rest.peek().is_none();
            let is_simple = !part.contains("**") && !part.contains(['{', '[', '}', ']']);
            match Wildcard::read(part) {
                _ if is_file => return ReachableDirectories { parts, is_open: part.contains("**") },
                Ok(name) if is_simple => parts.push(name),
                _ => break,
            }
        }
        ReachableDirectories { parts, is_open: true }
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
        let selected: Vec<&str> = paths.into_iter().filter(|path| selection.matches(path)).collect();
        assert_eq!(selected, ["a.yaml", "fleet.d/c.yaml", "fleet.d/eu/d.yaml"]);
    }

    #[test]
    fn only_directories_in_which_a_pattern_can_find_something_are_entered() {
        let enters = |pattern: &str, directory: &str| {
            Selection::of(&[IncludePattern::read(pattern).unwrap()]).may_contain_match(directory)
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

    /// Different patterns of the maximum total length, for which the automaton needs more states with every byte of a
    /// long name.
    fn hostile_patterns(length: usize) -> Vec<IncludePattern> {
        let made = (0..MAX_PATTERNS / length).map(|nth| {
            let before = nth % (length - 6);
            let text = format!("**/*a{}b{}", "?".repeat(before), "?".repeat(length - 6 - before));
            IncludePattern::read(&text).unwrap()
        });
        made.collect()
    }

    /// Names of pseudo-random letters.
    fn hostile_names(count: usize) -> Vec<String> {
        let mut state = 1_u32;
        let mut letter = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ['a', 'b', 'c', 'd'][(state >> 30) as usize]
        };
        (0..count).map(|_| (0..255).map(|_| letter()).collect()).collect()
    }

    #[test]
    fn any_number_of_patterns_takes_bounded_memory() {
        for length in [64, MAX_PATTERN] {
            let selection = Selection::of(&hostile_patterns(length));
            let mut remembered = selection.files.create_cache();
            for name in hostile_names(20) {
                selection.files.search_half_with(&mut remembered, &Input::new(&name).earliest(true));
            }
            let used = selection.files.memory_usage() + remembered.memory_usage();
            assert!(used < 64 << 20, "{} patterns of {length} take {used} bytes", MAX_PATTERNS / length);
        }
    }

    #[test]
    fn patterns_with_too_many_characters_together_are_refused() {
        let fleet = |count: usize, length: usize| {
            let pattern = |nth: usize| format!("  - '{nth:03}{}'\n", "?".repeat(length - 3));
            let patterns: String = (0..count).map(pattern).collect();
            let text = format!("version: 1\naccount: acme\ninclude:\n{patterns}");
            let file = [crate::manifest::SourceFile::new(FLEET_FILE, text.into_bytes())];
            let read = crate::manifest::ReadCache::default()
                .read_once(&file, &crate::manifest::ReadContext::offline());
            read.diagnostics.into_iter().map(|problem| problem.code).collect::<Vec<_>>()
        };
        assert!(!fleet(MAX_FILES, 64).contains(&Code::IncludePattern), "as many as there may be, each of 64");
        assert!(!fleet(128, MAX_PATTERN).contains(&Code::IncludePattern));
        assert_eq!(fleet(129, MAX_PATTERN), [Code::IncludePattern]);
    }

    #[test]
    fn what_matches_nothing_is_told_unless_there_is_too_much_to_compare() {
        let read = |texts: &[&str]| -> Vec<IncludePattern> {
            texts.iter().map(|text| IncludePattern::read(text).unwrap()).collect()
        };
        let patterns = read(&["*.yaml", "b/*.yaml", "**/c.yaml", "{a,b}/**"]);
        assert_eq!(unmatched(&patterns, &["a.yaml", "a/c.yaml"]), [1]);
        assert_eq!(unmatched(&patterns, &[]), [0, 1, 2, 3]);
        let long = "x".repeat(MAX_STEPS);
        assert_eq!(unmatched(&patterns, &[long.as_str()]), [0; 0]);
    }

    #[test]
    fn all_patterns_together_match_what_each_one_matches() {
        let texts = [
            "*.yaml",
            "a/*.yaml",
            "**/b.yaml",
            "a/**",
            "**",
            "?",
            "a?c",
            "[ab].yaml",
            "[!a]*",
            "{a,b/c}.yaml",
            "a/**/c",
            "*é*",
            "a{,b}c",
            "x/**/y/*.{yaml,yml}",
        ];
        let paths = [
            "a.yaml",
            "b.yaml",
            "a/b.yaml",
            "a/b/c",
            "a",
            "abc",
            "a/c",
            "é",
            "xéy",
            "b/c.yaml",
            "ac",
            "x/y/z.yml",
            "x/q/y/z.yaml",
            "x/y",
            "a\nb.yaml",
        ];
        let patterns: Vec<IncludePattern> =
            texts.iter().map(|text| IncludePattern::read(text).unwrap()).collect();
        for path in paths {
            let each: Vec<usize> = (0..texts.len())
                .filter(|nth| !patterns[*nth].glob.compile_matcher().is_match(path))
                .collect();
            assert_eq!(unmatched(&patterns, &[path]), each, "{path}");
            assert_eq!(Selection::of(&patterns).matches(path), each.len() < texts.len(), "{path}");
        }
    }

    #[test]
    fn patterns_stay_inside() {
        for text in ["/etc/*", "../x.yaml", "a/../../b", "", "a\\b", "[", ".git/*"] {
            assert_eq!(IncludePattern::read(text).unwrap_err().code, Code::IncludePattern, "{text}");
        }
    }
}
