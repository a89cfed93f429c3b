//! Finds cycles among sibling modules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::graph::{ModulePath, Modules, Reference};

/// The node of the parent module's own file.
const OWN_FILE: &str = "(its own file)";

/// Every cycle, with a place for each step. At each level a child stands for everything below it, and the module's own
/// file is one more node: if no level has a cycle, no two files form one.
pub(crate) fn cycles(modules: &Modules<'_>) -> Vec<String> {
    let references = modules.references();
    modules.paths().flat_map(|parent| cycles_below(parent, &references)).collect()
}

/// Each node with the nodes it uses, and the first reference to each.
type Level<'r> = BTreeMap<&'r str, BTreeMap<&'r str, &'r Reference>>;

fn cycles_below(parent: &ModulePath, references: &[Reference]) -> Vec<String> {
    let mut level = Level::new();
    for reference in references {
        let (from, to) = (&reference.from, &reference.to);
        if from.starts_with(parent) && to.starts_with(parent) {
            let node = |path: &'_ ModulePath| path.get(parent.len()).cloned();
            if node(from) != node(to) {
                let from = from.get(parent.len()).map_or(OWN_FILE, String::as_str);
                let to = to.get(parent.len()).map_or(OWN_FILE, String::as_str);
                level.entry(from).or_default().entry(to).or_insert(reference);
            }
        }
    }
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for start in level.keys().copied() {
        if !told.contains(start)
            && let Some(circle) = shortest(&level, start)
        {
            let name = if parent.is_empty() { "the crate".to_owned() } else { parent.join("::") };
            let steps = circle.iter().zip(circle.iter().cycle().skip(1));
            let steps = steps.map(|(from, to)| format!("\n  {from} → {to}: {}", level[from][to].place));
            found.push(format!("in {name}:{}", steps.collect::<String>()));
            told.extend(circle);
        }
    }
    found
}

/// The shortest path from a node back to itself.
fn shortest<'r>(level: &Level<'r>, start: &'r str) -> Option<Vec<&'r str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        for next in level.get(node).into_iter().flat_map(BTreeMap::keys) {
            if *next == start {
                let mut circle = vec![node];
                while circle[circle.len() - 1] != start {
                    circle.push(before[circle[circle.len() - 1]]);
                }
                circle.reverse();
                return Some(circle);
            }
            if !before.contains_key(next) {
                before.insert(next, node);
                waiting.push_back(next);
            }
        }
    }
    None
}
