//! What a proposal does to nodes, as rows of tables: one table for the nodes that change alike.

use windlass_api::types::{FileDifference, ItemEffect, NodeGroup, ProposalEffects};
use windlass_core::content::FileChange;

use crate::content::ContentRow;
use crate::words;

/// Nodes that change alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectGroup {
    /// How many, in words.
    pub title: String,
    /// The names of the first.
    pub nodes: Vec<String>,
    /// How many more there are.
    pub more_nodes: usize,
    /// Why these nodes cannot get what is proposed.
    pub problems: Vec<String>,
    /// What changes on each of them.
    pub rows: Vec<ContentRow>,
}

/// The groups of a proposal.
pub(crate) fn groups(effects: &ProposalEffects) -> Vec<EffectGroup> {
    effects.groups.iter().map(group).collect()
}

fn group(group: &NodeGroup) -> EffectGroup {
    let mut rows: Vec<ContentRow> = group.items.iter().flat_map(item_rows).collect();
    if group.more_items > 0 {
        rows.push(fold(format!("and {}", words::count(group.more_items, "more item"))));
    }
    EffectGroup {
        title: match group.count {
            1 => "1 node changes".to_owned(),
            count => format!("{count} nodes change alike"),
        },
        nodes: group.nodes.clone(),
        more_nodes: group.count.saturating_sub(group.nodes.len()),
        problems: group.problems.clone(),
        rows,
    }
}

fn fold(text: String) -> ContentRow {
    ContentRow { class: "fold", sign: "", text }
}

fn item_rows(item: &ItemEffect) -> Vec<ContentRow> {
    let name = format!("{} {}", item.kind, item.name);
    let (class, sign) = match item.change {
        FileChange::Added => ("come", "+"),
        FileChange::Removed => ("gone", "−"),
        FileChange::Changed => ("fold", ""),
    };
    let mut rows = vec![ContentRow { class, sign, text: name }];
    if item.change == FileChange::Changed {
        for field in &item.fields {
            let row = |class, sign, value| {
                let text = format!("{}: {}", field.path, words::value(value));
                ContentRow { class, sign, text }
            };
            rows.push(row("gone", "−", &field.before));
            rows.push(row("come", "+", &field.after));
        }
    }
    rows.extend(item.content.iter().flat_map(content_rows));
    rows
}

fn content_rows(content: &FileDifference) -> Vec<ContentRow> {
    let row = |line: &str| match line.split_at_checked(1) {
        Some(("+", text)) => ContentRow { class: "come", sign: "+", text: text.to_owned() },
        Some(("-", text)) => ContentRow { class: "gone", sign: "−", text: text.to_owned() },
        Some((" ", text)) => ContentRow { class: "", sign: "", text: text.to_owned() },
        _ => fold(line.to_owned()),
    };
    let lines = content.lines.iter().flat_map(|lines| lines.lines()).map(row);
    lines.chain(content.not_shown.iter().cloned().map(fold)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_api::types::FieldChange;

    use super::*;

    #[test]
    fn nodes_that_change_alike_are_one_table_with_the_lines_that_differ() {
        let content = FileDifference {
            path: "/etc/motd".to_owned(),
            change: FileChange::Changed,
            before_bytes: Some(4),
            after_bytes: Some(4),
            lines: Some("@@ -1 +1 @@\n-one\n+two\n three\n".to_owned()),
            not_shown: None,
        };
        let field = FieldChange { path: "mode".to_owned(), before: json!("0600"), after: json!("0640") };
        let item = |name: &str, change, fields, content| ItemEffect {
            kind: "path".to_owned(),
            name: name.to_owned(),
            change,
            fields,
            content,
        };
        let effects = ProposalEffects {
            nodes: 12,
            groups: vec![NodeGroup {
                count: 12,
                nodes: vec!["a".to_owned(), "b".to_owned()],
                items: vec![
                    item("/etc/motd", FileChange::Changed, vec![field], Some(content)),
                    item("/etc/old", FileChange::Removed, Vec::new(), None),
                ],
                more_items: 3,
                problems: Vec::new(),
            }],
            ..ProposalEffects::default()
        };
        let found = groups(&effects);
        assert_eq!((found[0].title.as_str(), found[0].more_nodes), ("12 nodes change alike", 10));
        let shown: Vec<String> =
            found[0].rows.iter().map(|row| format!("{}{}", row.sign, row.text)).collect();
        let expected = [
            "path /etc/motd",
            "−mode: 0600",
            "+mode: 0640",
            "@@ -1 +1 @@",
            "−one",
            "+two",
            "three",
            "−path /etc/old",
            "and 3 more items",
        ];
        assert_eq!(shown, expected);
    }
}
