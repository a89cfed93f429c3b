//! Checks the entries of a map while a tree is built: keys are text and unique, and `<<` merges other maps.

use std::collections::BTreeSet;

use super::findings::{bad_key_finding, bad_merge_finding, doubled_key_finding, push_finding};
use super::tree::{NodeData, Style, Tree, YamlNode};
use crate::diagnostic::Finding;

impl Tree<'_> {
    /// Keeps the first of duplicate keys, rejects keys that are not text, and follows merge keys (`<<`). `merges` is
    /// the number of entries that may still be examined for merging, including existing ones; merging ends when it is
    /// used up.
    pub(super) fn check_entries(
        &self,
        children: &[u32],
        merges: &mut u32,
        findings: &mut Vec<Finding>,
    ) -> Vec<u32> {
        let mut kept = Vec::with_capacity(children.len());
        let mut merged = None;
        let mut seen = SeenKeys::for_entries(children.len() / 2);
        for entry in children.chunks_exact(2) {
            let key = &self.nodes[entry[0] as usize];
            let span = key.start as usize..key.end as usize;
            let NodeData::Scalar(text, style) = &key.content else {
                push_finding(findings, bad_key_finding(span));
                continue;
            };
            let is_merge = text == "<<" && *style == Style::Plain;
            if is_merge && merged.is_none() {
                merged = Some(entry[1]);
            } else if !is_merge && seen.insert(text) {
                kept.extend_from_slice(entry);
            } else {
                push_finding(findings, doubled_key_finding(span, text));
            }
        }
        if let Some(value) = merged {
            self.merge(value, &mut kept, &mut seen, merges, findings);
        }
        kept
    }

    fn merge<'b>(
        &'b self,
        value: u32,
        kept: &mut Vec<u32>,
        seen: &mut SeenKeys<'b>,
        merges: &mut u32,
        findings: &mut Vec<Finding>,
    ) {
        *merges = merges.saturating_sub(1);
        let node = &self.nodes[value as usize];
        match &node.content {
            NodeData::Mapping(_, range) => {
                for entry in self.children[range.start as usize..range.end as usize].chunks_exact(2) {
                    *merges = merges.saturating_sub(1);
                    if *merges == 0 {
                        return;
                    }
                    if let NodeData::Scalar(text, _) = &self.nodes[entry[0] as usize].content
                        && seen.insert(text)
                    {
                        kept.extend_from_slice(entry);
                    }
                }
            }
            // A list of maps: earlier ones take precedence. Nested lists are not followed, so this terminates.
            NodeData::Sequence(_, range) => {
                for item in &self.children[range.start as usize..range.end as usize] {
                    if *merges == 0 {
                        return;
                    }
                    match &self.nodes[*item as usize] {
                        YamlNode { content: NodeData::Mapping(..), .. } => {
                            self.merge(*item, kept, seen, merges, findings);
                        }
                        node => push_finding(findings, bad_merge_finding(node)),
                    }
                }
            }
            NodeData::Scalar(..) => push_finding(findings, bad_merge_finding(node)),
        }
    }
}

/// The keys of one map: small maps are scanned, large ones use a set.
enum SeenKeys<'b> {
    Few(Vec<&'b str>),
    Many(BTreeSet<&'b str>),
}

impl<'b> SeenKeys<'b> {
    fn for_entries(count: usize) -> SeenKeys<'b> {
        match count {
            0..=16 => SeenKeys::Few(Vec::with_capacity(count)),
            _ => SeenKeys::Many(BTreeSet::new()),
        }
    }

    fn insert(&mut self, key: &'b str) -> bool {
        match self {
            SeenKeys::Few(keys) if keys.contains(&key) => false,
            SeenKeys::Few(keys) if keys.len() < 64 => {
                keys.push(key);
                true
            }
            SeenKeys::Few(keys) => {
                *self = SeenKeys::Many(keys.drain(..).collect());
                self.insert(key)
            }
            SeenKeys::Many(keys) => keys.insert(key),
        }
    }
}
