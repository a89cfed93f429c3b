//! Parser events → tree, with every limit checked on the way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};

use super::tree::{Node, Stored, Style, Tree};
use super::{MAX_DEPTH, MAX_EXPANDED_NODES, MAX_FILE_BYTES};
use crate::diagnostic::{Code, Finding, MAX_FINDINGS};
use crate::value::quoted;

/// So many bytes of text count as one value when aliases are followed.
const TEXT_PER_NODE: usize = 16;

/// Reads a text as one YAML document.
///
/// The tree is absent when reading could not go on; findings may exist beside a tree (a duplicate key, a custom tag)
/// and then the tree holds the first of what was doubled and the untagged value.
pub fn parse(text: &str) -> (Option<Tree<'_>>, Vec<Finding>) {
    parse_watched(text, options(), |_, _| {})
}

/// Like [`parse`], and shows every event to `watch`; `options` must be those of reading, plus further events.
pub(super) fn parse_watched<'s>(
    text: &'s str,
    options: granit_parser::Options,
    mut watch: impl FnMut(&Event<'s>, &Span),
) -> (Option<Tree<'s>>, Vec<Finding>) {
    let mut findings = Vec::new();
    if let Err(finding) = check_text(text) {
        return (None, vec![finding]);
    }
    let mut builder = Builder { text, ..Builder::default() };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let outcome = loop {
        match parser.next() {
            None => break Ok(()),
            Some(Err(error)) => break Err(syntax_finding(text, &error)),
            Some(Ok((event, span))) => {
                watch(&event, &span);
                if let Err(finding) = builder.take(event, span, &mut findings) {
                    break Err(finding);
                }
            }
        }
    };
    match outcome {
        Ok(()) => (Some(builder.finish()), findings),
        Err(finding) => {
            findings.push(finding);
            (None, findings)
        }
    }
}

/// The parser settings shared by reading and formatting.
pub(super) fn options() -> granit_parser::Options {
    let mut options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    options.set_emit_comments(false);
    options
}

fn check_text(text: &str) -> Result<(), Finding> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes, more than the 1 MiB limit", text.len());
        return Err(Finding::new(Code::FileTooLarge, 0..0, message)
            .help("look for committed binary data, or split the fleet into files and `include` them"));
    }
    if let Some(position) = text.bytes().enumerate().position(|(at, byte)| is_forbidden(text, at, byte)) {
        let c = text[position..].chars().next().unwrap_or_default();
        let message = format!("control character U+{:04X} in the file", u32::from(c));
        return Err(Finding::new(Code::YamlControlCharacter, position..position + c.len_utf8(), message)
            .help("remove it; in a double-quoted text write it as an escape such as \"\\x1b\""));
    }
    Ok(())
}

/// Control characters of ASCII and of Latin-1, which terminals obey as well; those that end lines and tabs are fine.
fn is_forbidden(text: &str, at: usize, byte: u8) -> bool {
    match byte {
        b'\t' | b'\n' | b'\r' => false,
        0..0x20 | 0x7f => true,
        0xc2 => matches!(text.as_bytes().get(at + 1), Some(0x80..=0x84 | 0x86..=0x9f)),
        _ => false,
    }
}

fn syntax_finding(text: &str, error: &ScanError) -> Finding {
    let position = error.marker().byte_offset().unwrap_or(0).min(text.len());
    let position = match error.kind() {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => first_tab(text, position),
        _ => position,
    };
    let span = position..(position + 1).min(text.len()).max(position);
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => depth_finding(span),
        ErrorKind::UnknownAnchor => Finding::new(Code::YamlAlias, span, "alias of an unknown anchor")
            .help("define the anchor with `&name` before it is used"),
        ErrorKind::UndeclaredTagHandle => custom_tag_finding(span, "a custom tag"),
        kind => {
            let finding = Finding::new(Code::YamlSyntax, span, format!("not valid YAML: {}", error.info()));
            match syntax_help(text, position, kind) {
                Some(help) => finding.help(help),
                None => finding,
            }
        }
    }
}

/// The tab that the parser stumbled over; it tells the place after it.
fn first_tab(text: &str, position: usize) -> usize {
    let line_start = text[..position].rfind(['\n', '\r']).map_or(0, |found| found + 1);
    text[line_start..position].find('\t').map_or(position, |found| line_start + found)
}

fn syntax_help(text: &str, position: usize, kind: &ErrorKind) -> Option<&'static str> {
    let line_start = text.get(..position)?.rfind(['\n', '\r']).map_or(0, |found| found + 1);
    let indentation = text[line_start..].split(|c: char| !c.is_whitespace() || c == '\n').next();
    let has_tab = indentation.is_some_and(|indentation| indentation.contains('\t'));
    if has_tab || matches!(kind, ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation) {
        return Some("indent with spaces; YAML does not allow tabs there");
    }
    match kind {
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::UnexpectedEofFlowMapping => {
            Some("a `[` or `{` is never closed")
        }
        ErrorKind::UnclosedFlowCollection { .. } => Some("close the bracket"),
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey => {
            Some("check the indentation of this line and the one before")
        }
        ErrorKind::ExpectedBlockSequenceEntry => Some("items of one list begin at the same column with `- `"),
        ErrorKind::SimpleKeyExpected => Some("a key is followed by `: `, with a space"),
        _ => None,
    }
}

fn depth_finding(span: Range<usize>) -> Finding {
    Finding::new(Code::YamlDepth, span, format!("nested deeper than {MAX_DEPTH} levels"))
        .help("no part of fleet.yaml needs that; look for an unclosed bracket or generated text")
}

fn expansion_finding(span: Range<usize>) -> Finding {
    let message = "aliases expand this value into more than 1,000,000 values";
    Finding::new(Code::YamlAlias, span, message)
        .help("write the values out; a fleet of this size does not need aliases of aliases")
}

fn bad_merge_finding(node: &Node<'_>) -> Finding {
    let span = node.start as usize..node.end as usize;
    Finding::new(Code::WrongType, span, "`<<` merges maps and nothing else")
        .help("refer to an anchored map: `<<: *defaults`, or to several: `<<: [*first, *second]`")
}

fn custom_tag_finding(span: Range<usize>, what: &str) -> Finding {
    Finding::new(Code::YamlTag, span, format!("{what} is refused: only plain YAML types are read"))
        .help("remove the tag and write the value as plain text, number, list or map")
}

#[derive(Default)]
struct Builder<'s> {
    tree: Tree<'s>,
    /// How many nodes each node stands for once its aliases are followed.
    weights: Vec<u32>,
    open: Vec<Frame>,
    /// Children of all open collections, innermost last.
    pending: Vec<u32>,
    text: &'s str,
    anchors: BTreeMap<usize, u32>,
    /// How many entries merge keys have copied so far.
    merged: usize,
    documents: usize,
}

struct Frame {
    is_mapping: bool,
    style: Style,
    start: u32,
    anchor: usize,
    first_child: usize,
}

impl<'s> Builder<'s> {
    fn take(&mut self, event: Event<'s>, span: Span, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        let range = span.byte_range().unwrap_or(0..0);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Finding::new(
                        Code::YamlDocuments,
                        range,
                        "a second YAML document begins here",
                    )
                    .help("move it into a file of its own and list that file under `include`"));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let style = self.scalar_style(style, tag.as_deref(), &range, findings);
                // Text counts too: an alias of a long text, used often, must not become a large fleet.
                let weight = 1_u32.saturating_add(offset(text.len() / TEXT_PER_NODE));
                self.add(Stored::Scalar(text, style), range, weight, anchor)?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.refuse_custom_tag(tag.as_deref(), "seq", &range, findings);
                self.open(false, style, anchor, range)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.refuse_custom_tag(tag.as_deref(), "map", &range, findings);
                self.open(true, style, anchor, range)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range, findings)?,
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(id) => self.pending.push(*id),
                None => {
                    return Err(Finding::new(
                        Code::YamlAlias,
                        range,
                        "an alias inside the value it stands for",
                    ));
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn open(
        &mut self,
        is_mapping: bool,
        style: StructureStyle,
        anchor: usize,
        range: Range<usize>,
    ) -> Result<(), Finding> {
        if self.open.len() >= MAX_DEPTH {
            return Err(depth_finding(range));
        }
        let style = match style {
            StructureStyle::Flow => Style::Flow,
            StructureStyle::Block => Style::Block,
        };
        let first_child = self.pending.len();
        self.open.push(Frame { is_mapping, style, start: offset(range.start), anchor, first_child });
        Ok(())
    }

    fn close(&mut self, range: Range<usize>, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let children: Vec<u32> = self.pending.drain(frame.first_child..).collect();
        let last_end = children.last().map_or(frame.start, |last| self.tree.nodes[*last as usize].end);
        let end = if frame.style == Style::Flow { range.end } else { last_end as usize };
        let children = if frame.is_mapping {
            let kept = self.check_entries(&children, findings);
            self.merged += kept.len().saturating_sub(children.len());
            kept
        } else {
            children
        };
        if self.merged > MAX_EXPANDED_NODES as usize {
            return Err(expansion_finding(frame.start as usize..end.max(frame.start as usize)));
        }
        let weight =
            children.iter().fold(1_u32, |sum, child| sum.saturating_add(self.weights[*child as usize]));
        let first = offset(self.tree.children.len());
        // Merge keys copy entries before the weight of what they end up in is known.
        if self.tree.children.len() + children.len() > 2 * MAX_EXPANDED_NODES as usize {
            return Err(expansion_finding(frame.start as usize..end));
        }
        self.tree.children.extend(children);
        let stored = first..offset(self.tree.children.len());
        let content = match frame.is_mapping {
            true => Stored::Mapping(frame.style, stored),
            false => Stored::Sequence(frame.style, stored),
        };
        self.add(content, frame.start as usize..end.max(frame.start as usize), weight, frame.anchor)
    }

    fn add(
        &mut self,
        content: Stored<'s>,
        range: Range<usize>,
        weight: u32,
        anchor: usize,
    ) -> Result<(), Finding> {
        if weight > MAX_EXPANDED_NODES {
            return Err(expansion_finding(range));
        }
        let id = offset(self.tree.nodes.len());
        self.tree.nodes.push(Node { content, start: offset(range.start), end: offset(range.end) });
        self.weights.push(weight);
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        self.pending.push(id);
        Ok(())
    }

    /// Keeps the first of doubled keys, refuses keys that are not text, and follows merge keys (`<<`).
    fn check_entries(&self, children: &[u32], findings: &mut Vec<Finding>) -> Vec<u32> {
        let mut kept = Vec::with_capacity(children.len());
        let mut merged = None;
        let mut seen = Keys::for_entries(children.len() / 2);
        for entry in children.chunks_exact(2) {
            let key = &self.tree.nodes[entry[0] as usize];
            let span = key.start as usize..key.end as usize;
            let Stored::Scalar(text, style) = &key.content else {
                tell(
                    findings,
                    Finding::new(Code::YamlKey, span, "a key must be plain text, not a list or a map")
                        .help("quote it if it is meant as text, e.g. \"{{ name }}\""),
                );
                continue;
            };
            let is_merge = text == "<<" && *style == Style::Plain;
            if is_merge && merged.is_none() {
                merged = Some(entry[1]);
            } else if !is_merge && seen.insert(text) {
                kept.extend_from_slice(entry);
            } else {
                tell(
                    findings,
                    Finding::new(
                        Code::YamlDuplicateKey,
                        span,
                        format!("the key {} stands twice in this map", quoted(text)),
                    )
                    .help("keep one of the two"),
                );
            }
        }
        if let Some(value) = merged {
            self.merge(value, &mut kept, &mut seen, findings);
        }
        kept
    }

    fn merge<'b>(
        &'b self,
        value: u32,
        kept: &mut Vec<u32>,
        seen: &mut Keys<'b>,
        findings: &mut Vec<Finding>,
    ) {
        let node = &self.tree.nodes[value as usize];
        match &node.content {
            Stored::Mapping(_, range) => {
                for entry in self.tree.children[range.start as usize..range.end as usize].chunks_exact(2) {
                    if let Stored::Scalar(text, _) = &self.tree.nodes[entry[0] as usize].content
                        && seen.insert(text)
                    {
                        kept.extend_from_slice(entry);
                    }
                }
            }
            // A list of maps: earlier ones win. Lists inside are not followed, so this ends.
            Stored::Sequence(_, range) => {
                for item in &self.tree.children[range.start as usize..range.end as usize] {
                    match &self.tree.nodes[*item as usize] {
                        Node { content: Stored::Mapping(..), .. } => self.merge(*item, kept, seen, findings),
                        node => findings.push(bad_merge_finding(node)),
                    }
                }
            }
            Stored::Scalar(..) => tell(findings, bad_merge_finding(node)),
        }
    }

    fn finish(mut self) -> Tree<'s> {
        if self.tree.nodes.is_empty() {
            let content = Stored::Scalar(Cow::Borrowed(""), Style::Plain);
            self.tree.nodes.push(Node { content, start: 0, end: 0 });
        }
        self.tree.root = offset(self.tree.nodes.len() - 1);
        // The document's value may be an alias-free scalar added last; it is what remains pending.
        if let Some(root) = self.pending.first() {
            self.tree.root = *root;
        }
        self.tree
    }
}

/// Keys already seen in one map: small maps are scanned, large ones looked up.
enum Keys<'b> {
    Few(Vec<&'b str>),
    Many(std::collections::BTreeSet<&'b str>),
}

impl<'b> Keys<'b> {
    fn for_entries(count: usize) -> Keys<'b> {
        match count {
            0..=16 => Keys::Few(Vec::with_capacity(count)),
            _ => Keys::Many(std::collections::BTreeSet::new()),
        }
    }

    fn insert(&mut self, key: &'b str) -> bool {
        match self {
            Keys::Few(keys) if keys.contains(&key) => false,
            Keys::Few(keys) if keys.len() < 64 => {
                keys.push(key);
                true
            }
            Keys::Few(keys) => {
                *self = Keys::Many(keys.drain(..).collect());
                self.insert(key)
            }
            Keys::Many(keys) => keys.insert(key),
        }
    }
}

impl Builder<'_> {
    fn scalar_style(
        &self,
        style: ScalarStyle,
        tag: Option<&Tag>,
        range: &Range<usize>,
        findings: &mut Vec<Finding>,
    ) -> Style {
        match tag {
            None if style == ScalarStyle::Plain => Style::Plain,
            None => Style::Text,
            Some(tag) if tag.is_yaml_core_schema_tag("str") => Style::Text,
            Some(tag)
                if ["int", "float", "bool", "null"].iter().any(|name| tag.is_yaml_core_schema_tag(name)) =>
            {
                Style::Plain
            }
            Some(tag) => {
                tell(findings, self.tag_finding(tag, range));
                Style::Text
            }
        }
    }

    fn refuse_custom_tag(
        &self,
        tag: Option<&Tag>,
        allowed: &str,
        range: &Range<usize>,
        findings: &mut Vec<Finding>,
    ) {
        if let Some(tag) = tag
            && !tag.is_yaml_core_schema_tag(allowed)
        {
            tell(findings, self.tag_finding(tag, range));
        }
    }

    fn tag_finding(&self, tag: &Tag, value: &Range<usize>) -> Finding {
        match tag_before(self.text, value.start) {
            Some(place) => {
                custom_tag_finding(place.clone(), &format!("the tag {}", quoted(&self.text[place])))
            }
            None => custom_tag_finding(value.clone(), &format!("the tag {}", quoted(&tag.to_string()))),
        }
    }
}

/// Where the tag of a value stands: the parser tells the value's place alone.
fn tag_before(text: &str, value: usize) -> Option<Range<usize>> {
    let mut before = text.get(..value)?.trim_end();
    loop {
        let start = before.rfind([' ', '\t', '\n', '\r', '[', '{', ',']).map_or(0, |found| found + 1);
        match before.as_bytes().get(start) {
            Some(b'!') => return Some(start..before.len()),
            // An anchor may stand between the tag and the value.
            Some(b'&') => before = before[..start].trim_end(),
            _ => return None,
        }
    }
}

fn tell(findings: &mut Vec<Finding>, finding: Finding) {
    if findings.len() < MAX_FINDINGS {
        findings.push(finding);
    }
}

/// Positions fit 32 bits because files are at most 1 MiB, and so do node counts.
fn offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<(Code, &str)> {
        parse(text).1.into_iter().map(|finding| (finding.code, &text[finding.span])).collect()
    }

    #[test]
    fn merging_one_map_again_and_again_is_bounded() {
        let keys: Vec<String> = (0..2_000).map(|key| format!("k{key}")).collect();
        let text = format!("a: &a {{{}}}\nb:\n{}", keys.join(","), "- {<<: *a}\n".repeat(2_000));
        let (tree, findings) = parse(&text);
        assert!(tree.is_none());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].code, Code::YamlAlias);
    }

    #[test]
    fn a_tag_is_told_at_its_own_place_and_in_its_own_spelling() {
        let text = "a: !!binary &x aGk=\nb: !!omap\n  - [!ruby/object:Date 2026-11-15]\n? !k c\n: 1\n";
        let tags = ["!!binary", "!!omap", "!ruby/object:Date", "!k"];
        assert_eq!(places(text), tags.map(|tag| (Code::YamlTag, tag)));
        assert!(parse(text).1[0].message.contains("`!!binary`"));
    }

    #[test]
    fn tabs_and_control_characters_are_told_where_they_stand() {
        assert_eq!(places("a:\n\t- b\n"), [(Code::YamlSyntax, "\t")]);
        assert_eq!(places("a: é\u{9b}31m\n"), [(Code::YamlControlCharacter, "\u{9b}")]);
        assert_eq!(places("a: \u{85}\u{a0}é\n"), []);
    }

    #[test]
    fn a_merge_key_stands_once_and_takes_maps_only() {
        assert_eq!(places("a: &a {x: 1}\nb: {<<: *a, <<: *a}\n"), [(Code::YamlDuplicateKey, "<<")]);
        assert_eq!(places("a: {<<: [t, {x: 1}, [u]]}\n"), [(Code::WrongType, "t"), (Code::WrongType, "[u]")]);
        assert_eq!(places("a: {<<: t}\n"), [(Code::WrongType, "t")]);
    }
}
