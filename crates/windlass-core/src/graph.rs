//! A dependency graph over numbered items.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A directed graph over `0..n`. Numbers are priorities: among the items that may come next, the smallest does.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    after: Vec<Vec<u32>>,
    waiting_for: Vec<u32>,
}

impl Graph {
    pub(crate) fn new(count: usize) -> Graph {
        Graph { after: vec![Vec::new(); count], waiting_for: vec![0; count] }
    }

    /// Adds the edge that one item must come before another.
    pub(crate) fn add_edge(&mut self, first: usize, then: usize) {
        self.after[first].push(number(then));
        self.waiting_for[then] += 1;
    }

    /// A total order that respects every edge; the error lists the cycles that make one impossible.
    pub(crate) fn sort(&self) -> Result<Vec<usize>, Vec<Vec<usize>>> {
        let mut waiting_for = self.waiting_for.clone();
        let mut ready: BinaryHeap<Reverse<u32>> = (0..number(self.after.len()))
            .filter(|node| waiting_for[*node as usize] == 0)
            .map(Reverse)
            .collect();
        let mut order = Vec::with_capacity(self.after.len());
        while let Some(Reverse(node)) = ready.pop() {
            order.push(node as usize);
            for next in &self.after[node as usize] {
                waiting_for[*next as usize] -= 1;
                if waiting_for[*next as usize] == 0 {
                    ready.push(Reverse(*next));
                }
            }
        }
        if order.len() == self.after.len() {
            return Ok(order);
        }
        let left: BTreeSet<u32> =
            (0..number(self.after.len())).filter(|node| waiting_for[*node as usize] > 0).collect();
        Err(self.cycles(left))
    }

    /// One cycle for each strongly connected part of the items that could not be ordered. No edge is followed twice:
    /// the walk backtracks from a dead end step by step.
    fn cycles(&self, mut left: BTreeSet<u32>) -> Vec<Vec<usize>> {
        let mut circles = Vec::new();
        let mut path: Vec<u32> = Vec::new();
        let mut on_path = BTreeSet::new();
        let mut followed = vec![0_usize; self.after.len()];
        while let Some(last) = path.last().copied().or_else(|| left.first().copied()) {
            if path.is_empty() {
                path.push(last);
                on_path.insert(last);
            }
            let edges = &self.after[last as usize];
            let edge = &mut followed[last as usize];
            while edges.get(*edge).is_some_and(|next| !left.contains(next)) {
                *edge += 1;
            }
            match edges.get(*edge).copied() {
                Some(next) if on_path.contains(&next) => {
                    let begin = path.iter().rposition(|node| *node == next).unwrap_or(0);
                    circles.push(rotate_to_smallest(&path[begin..]));
                    for node in path.drain(begin..) {
                        left.remove(&node);
                        on_path.remove(&node);
                    }
                }
                Some(next) => {
                    path.push(next);
                    on_path.insert(next);
                }
                None => {
                    left.remove(&last);
                    on_path.remove(&last);
                    path.pop();
                }
            }
        }
        circles.sort();
        circles
    }
}

fn rotate_to_smallest(circle: &[u32]) -> Vec<usize> {
    let smallest =
        circle.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(position, _)| position);
    circle[smallest..].iter().chain(&circle[..smallest]).map(|node| *node as usize).collect()
}

/// The number of resources is limited to far below 2^32.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_may_come_next_comes_next() {
        let mut graph = Graph::new(5);
        graph.add_edge(4, 0);
        graph.add_edge(3, 1);
        assert_eq!(graph.sort().unwrap(), [2, 3, 1, 4, 0]);
    }

    #[test]
    fn every_knot_is_told_once_beginning_with_its_smallest() {
        let mut graph = Graph::new(7);
        for (first, then) in [(2, 0), (0, 1), (1, 2), (5, 4), (4, 5), (1, 3), (6, 6)] {
            graph.add_edge(first, then);
        }
        assert_eq!(graph.sort().unwrap_err(), [vec![0, 1, 2], vec![4, 5], vec![6]]);
    }

    #[test]
    fn a_long_way_behind_a_circle_does_not_take_the_square_of_its_length() {
        let count = 200_000;
        let mut graph = Graph::new(count + 1);
        graph.add_edge(count, count);
        graph.add_edge(count, 0);
        for node in 1..count {
            graph.add_edge(node - 1, node);
        }
        assert_eq!(graph.sort().unwrap_err(), [vec![count]]);
    }
}
