//! Builds a tree from parser events, and checks every limit while reading.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, Tag};

use super::findings::{
    check_text, circular_alias_finding, custom_tag_finding, depth_finding, expansion_finding, push_finding,
    second_document_finding, syntax_finding,
};
use super::tree::{NodeData, Style, Tree, YamlNode};
use super::{MAX_DEPTH, MAX_EXPANDED_NODES, quick};
use crate::diagnostic::Finding;
use crate::quote::quoted;

/// How many bytes of text count as one value when aliases are expanded.
const TEXT_PER_NODE: usize = 16;

/// Reads a text as one YAML document.
///
/// There is no tree if reading had to stop. There may be findings beside a tree (a duplicate key, a custom tag); the
/// tree then has the first of the duplicates and the untagged value.
pub fn parse(text: &str) -> (Option<Tree<'_>>, Vec<Finding>) {
    if let Err(finding) = check_text(text) {
        return (None, vec![finding]);
    }
    match quick::read(text) {
        Some(tree) => (Some(tree), Vec::new()),
        None => parse_generally(text),
    }
}

/// Like [`parse`], without the quick reader. The text has passed [`check_text`].
pub(super) fn parse_generally(text: &str) -> (Option<Tree<'_>>, Vec<Finding>) {
    parse_watched(text, options(), |_, _| {})
}

/// Like [`parse_generally`], and passes every event to `watch`; `options` must be those of reading, plus further
/// events.
pub(super) fn parse_watched<'s>(
    text: &'s str,
    options: granit_parser::Options,
    mut watch: impl FnMut(&Event<'s>, &Span),
) -> (Option<Tree<'s>>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut builder = Builder { text, merges: MAX_EXPANDED_NODES, ..Builder::default() };
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

#[derive(Default)]
struct Builder<'s> {
    tree: Tree<'s>,
    /// The size of each node with its aliases expanded.
    sizes: Vec<Size>,
    open: Vec<OpenCollection>,
    /// Children of all open collections, innermost last.
    pending: Vec<u32>,
    text: &'s str,
    anchors: BTreeMap<usize, u32>,
    documents: usize,
    /// How many more entries may be examined for merge keys, in all maps together.
    merges: u32,
    /// The size of all nodes without expanding aliases.
    written: u32,
}

/// The size of a node with its aliases expanded.
#[derive(Clone, Copy)]
struct Size {
    /// The number of nodes.
    weight: u32,
    /// The nesting depth of collections, itself included.
    height: usize,
}

struct OpenCollection {
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
                    return Err(second_document_finding(range));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let allowed = ["str", "int", "float", "bool", "null"];
                refuse_custom_tag(self.text, tag.as_deref(), &allowed, &span, findings);
                let style = scalar_style(style, tag.as_deref());
                // The parser reports `~` for an empty value.
                let text = if range.is_empty() { Cow::Borrowed("") } else { text };
                // Text counts too: a long text with many aliases must not become a large fleet.
                let weight = 1_u32.saturating_add(offset(text.len() / TEXT_PER_NODE));
                self.written = self.written.saturating_add(weight);
                self.add(NodeData::Scalar(text, style), range, Size { weight, height: 0 }, anchor)?;
            }
            Event::SequenceStart(style, anchor, tag) => {
                refuse_custom_tag(self.text, tag.as_deref(), &["seq"], &span, findings);
                self.open(false, style, anchor, range)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                refuse_custom_tag(self.text, tag.as_deref(), &["map"], &span, findings);
                self.open(true, style, anchor, range)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range, findings)?,
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                // Aliases of aliases nest like brackets, and code that follows them recurses as deep.
                Some(id) if self.open.len() + self.sizes[*id as usize].height > MAX_DEPTH => {
                    return Err(depth_finding(range));
                }
                Some(id) => self.pending.push(*id),
                None => return Err(circular_alias_finding(range)),
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
        self.open.push(OpenCollection { is_mapping, style, start: offset(range.start), anchor, first_child });
        Ok(())
    }

    fn close(&mut self, range: Range<usize>, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let children: Vec<u32> = self.pending.drain(frame.first_child..).collect();
        let last_end = children.last().map_or(frame.start, |last| self.tree.nodes[*last as usize].end);
        let end = if frame.style == Style::Flow { range.end } else { last_end as usize };
        let span = frame.start as usize..end.max(frame.start as usize);
        let children = match frame.is_mapping {
            true => self.tree.check_entries(&children, &mut self.merges, findings),
            false => children,
        };
        if self.merges == 0 {
            return Err(expansion_finding(span));
        }
        let size = self.size_of_collection(&children);
        self.written = self.written.saturating_add(1);
        let first = offset(self.tree.children.len());
        // Merge keys copy entries before the total size is known.
        if self.tree.children.len() + children.len() > MAX_EXPANDED_NODES as usize {
            return Err(expansion_finding(span));
        }
        self.tree.children.extend(children);
        let stored = first..offset(self.tree.children.len());
        let content = match frame.is_mapping {
            true => NodeData::Mapping(frame.style, stored),
            false => NodeData::Sequence(frame.style, stored),
        };
        self.add(content, span, size, frame.anchor)
    }

    fn size_of_collection(&self, children: &[u32]) -> Size {
        children.iter().map(|child| self.sizes[*child as usize]).fold(
            Size { weight: 1, height: 1 },
            |size, child| Size {
                weight: size.weight.saturating_add(child.weight),
                height: size.height.max(child.height + 1),
            },
        )
    }

    fn add(
        &mut self,
        content: NodeData<'s>,
        range: Range<usize>,
        size: Size,
        anchor: usize,
    ) -> Result<(), Finding> {
        if size.weight > MAX_EXPANDED_NODES {
            return Err(expansion_finding(range));
        }
        let id = offset(self.tree.nodes.len());
        self.tree.nodes.push(YamlNode { content, start: offset(range.start), end: offset(range.end) });
        self.sizes.push(size);
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        self.pending.push(id);
        Ok(())
    }

    fn finish(mut self) -> Tree<'s> {
        if self.tree.nodes.is_empty() {
            let content = NodeData::Scalar(Cow::Borrowed(""), Style::Plain);
            self.tree.nodes.push(YamlNode { content, start: 0, end: 0 });
        }
        self.tree.root = offset(self.tree.nodes.len() - 1);
        // A document that is a single scalar is the last pending node.
        if let Some(root) = self.pending.first() {
            self.tree.root = *root;
        }
        let whole = self.sizes.get(self.tree.root as usize).map_or(0, |size| size.weight);
        self.tree.copied = whole.saturating_sub(self.written) as usize;
        self.tree
    }
}

/// Whether a scalar's meaning follows from its text. `!!str` makes it text; other plain types are what they look like.
fn scalar_style(style: ScalarStyle, tag: Option<&Tag>) -> Style {
    match tag {
        None if style == ScalarStyle::Plain => Style::Plain,
        Some(tag) if is_plain_type(tag, &["int", "float", "bool", "null"]) => Style::Plain,
        _ => Style::Text,
    }
}

fn is_plain_type(tag: &Tag, names: &[&str]) -> bool {
    names.iter().any(|name| tag.is_yaml_core_schema_tag(name))
}

/// Rejects every tag but those of the plain types that a value of this kind can have.
fn refuse_custom_tag(
    text: &str,
    tag: Option<&Tag>,
    allowed: &[&str],
    span: &Span,
    findings: &mut Vec<Finding>,
) {
    if let Some(tag) = tag
        && !is_plain_type(tag, allowed)
    {
        let place = span.tag_span().unwrap_or(*span).byte_range().unwrap_or(0..0);
        let spelled = text.get(place.clone()).unwrap_or_default();
        push_finding(findings, custom_tag_finding(place, &format!("the tag {}", quoted(spelled))));
    }
}

/// Positions and node counts fit 32 bits because files are at most 1 MiB.
fn offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

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
