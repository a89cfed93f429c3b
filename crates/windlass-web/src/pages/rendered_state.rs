//! What a node shall be, for its page: every item with its values and their origins. The page stays small, whatever a
//! fleet declares; the command line shows everything.

use windlass_api::types::{NodeRender, RenderedItem, RenderedModule};
use windlass_core::display::{payload_lines, set_fields};

use crate::words;

/// The most items that the page shows.
const MAX_ITEMS: usize = 200;

/// The most lines of one item.
const MAX_LINES: usize = 12;

/// The most characters of one line.
const MAX_LINE_CHARS: usize = 160;

/// The width at which a list or a map is written on several lines.
const WIDTH: usize = 60;

/// A module of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleOnPage {
    /// Its name with its version.
    pub(crate) title: String,
    /// Why the node has it.
    pub(crate) origin: String,
    pub(crate) priority: i64,
    /// How many items it has.
    pub(crate) count: usize,
    /// Those that are shown.
    pub(crate) items: Vec<ItemOnPage>,
}

/// An item of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemOnPage {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) is_corrected: bool,
    /// The first lines of its fields.
    pub(crate) lines: Vec<String>,
    /// How many more lines there are.
    pub(crate) more_lines: usize,
    /// The settings it uses, each with its value and its origin.
    pub(crate) settings: Vec<(String, String, String)>,
}

/// The modules of a node, and how many items are not shown.
pub(crate) fn modules(render: &NodeRender) -> (Vec<ModuleOnPage>, usize) {
    let mut room = MAX_ITEMS;
    let modules: Vec<ModuleOnPage> = render.modules.iter().map(|one| module(one, &mut room)).collect();
    let hidden = modules.iter().map(|module| module.count - module.items.len()).sum();
    (modules, hidden)
}

fn module(module: &RenderedModule, room: &mut usize) -> ModuleOnPage {
    let version = module.version.as_deref().map(|version| format!("@{version}")).unwrap_or_default();
    let items: Vec<ItemOnPage> = module.items.iter().take(*room).map(item).collect();
    *room -= items.len();
    ModuleOnPage {
        title: format!("{}{version}", module.name),
        origin: module.because.clone(),
        priority: module.priority,
        count: module.items.len(),
        items,
    }
}

fn item(item: &RenderedItem) -> ItemOnPage {
    let mut lines = payload_lines(&set_fields(&item.fields), WIDTH);
    let more_lines = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let settings = item.settings.iter();
    ItemOnPage {
        kind: item.kind.clone(),
        name: item.name.clone(),
        is_corrected: item.drift == "correct",
        lines: lines.iter().map(|line| cut(line)).collect(),
        more_lines,
        settings: settings
            .map(|setting| (setting.name.clone(), words::value(&setting.value), setting.origin.clone()))
            .collect(),
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(items: usize, content: &str) -> RenderedModule {
        let item = |number: usize| RenderedItem {
            kind: "path".to_owned(),
            name: format!("/etc/{number}"),
            drift: "correct".to_owned(),
            fields: json!({"content": content, "owner": "", "mode": "0644"}),
            settings: Vec::new(),
        };
        RenderedModule {
            name: "base".to_owned(),
            version: Some("1.2.0".to_owned()),
            package: String::new(),
            priority: 10,
            because: "template edge (base@live)".to_owned(),
            items: (0..items).map(item).collect(),
        }
    }

    #[test]
    fn a_node_with_many_and_long_items_is_cut_and_the_page_says_how_much() {
        let render = NodeRender {
            modules: vec![rendered(150, &"x\n".repeat(100)), rendered(90, &"y".repeat(100_000))],
            ..NodeRender::unresolved("edge-01", "")
        };
        let (modules, hidden) = modules(&render);
        assert_eq!((modules[0].items.len(), modules[1].items.len(), hidden), (150, 50, 40));
        let first = &modules[0].items[0];
        assert_eq!((first.lines.len(), first.more_lines), (12, 90));
        assert_eq!((first.lines[0].as_str(), modules[0].title.as_str()), ("content: |", "base@1.2.0"));
        let longest = modules[1].items[0].lines.iter().map(|line| line.chars().count()).max();
        assert_eq!(longest, Some(MAX_LINE_CHARS + 1));
    }
}
