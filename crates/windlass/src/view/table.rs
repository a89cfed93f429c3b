//! Tables without borders, fitted to the terminal: long cells go on in the next line, nothing is cut.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Width};

use super::{Terminal, sanitize_for_terminal};

/// A table that is being put together.
pub(crate) struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column titles.
    pub(crate) fn new(header: &[&'static str]) -> Table {
        Table { header: header.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Every cell is cleaned and put on one line.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let one_line =
            |cell: String| sanitize_for_terminal(&cell).split_whitespace().collect::<Vec<_>>().join(" ");
        self.rows.push(cells.into_iter().map(one_line).collect());
    }

    /// Leaves out a column that says the same in every row, to make room for the others.
    pub(crate) fn leave_out_if_alike(&mut self, title: &str) {
        let Some(index) = self.header.iter().position(|known| *known == title) else { return };
        if self.rows.windows(2).all(|pair| pair[0][index] == pair[1][index]) {
            self.header.remove(index);
            self.rows.iter_mut().for_each(|row| drop(row.remove(index)));
        }
    }

    /// Prints it, or what to say when there is nothing in it.
    pub(crate) fn print(&self, terminal: &Terminal, nothing: &str) -> io::Result<()> {
        let mut out = anstream::stdout();
        if self.rows.is_empty() {
            return writeln!(out, "{nothing}");
        }
        let lines = self.lines(terminal.width);
        let Some((header, rows)) = lines.split_first() else { return Ok(()) };
        let (bold, start) = (Style::new().bold(), state_start(header));
        writeln!(out, "{bold}{header}{bold:#}")?;
        rows.iter().try_for_each(|line| writeln!(out, "{}", coloured(line, start)))
    }

    fn lines(&self, width: usize) -> Vec<String> {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        // The last column's padding may stand beyond the edge: it is trimmed.
        table.set_width(u16::try_from(width + 2).unwrap_or(u16::MAX));
        table.set_header(self.header.iter().copied());
        for row in &self.rows {
            table.add_row(row);
        }
        for (index, (column, title)) in table.column_iter_mut().zip(&self.header).enumerate() {
            column.set_padding((0, 2));
            // A state is one word, which is never broken.
            let states = self.rows.iter().filter(|_| STATES.contains(title)).map(|row| row[index].len());
            let longest = states.chain([title.len()]).max().unwrap_or_default();
            let least = u16::try_from(longest + 2).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

/// The titles of columns that hold states.
const STATES: [&str; 3] = ["STATUS", "SEVERITY", "OUTCOME"];

/// Where states stand: below the title of their column.
fn state_start(header: &str) -> Option<usize> {
    STATES.iter().find_map(|title| header.find(title))
}

/// A line with its state in colour. Wide characters before it can only move the colour, not the text.
fn coloured(line: &str, start: Option<usize>) -> String {
    let Some((from, _)) = start.and_then(|start| line.char_indices().nth(start)) else {
        return line.to_owned();
    };
    let (before, rest) = line.split_at(from);
    let (state, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
    let style = state_style(state);
    format!("{before}{style}{state}{style:#}{after}")
}

/// A state in one short word, for tables. Programs and `--output json` get the state itself.
pub(crate) fn state_word(state: &str) -> &str {
    match state {
        "pending_approval" => "pending",
        "applied_manually" => "by-hand",
        "in_progress" => "running",
        "diff_ready" => "differs",
        other => other,
    }
}

/// The colour of a state, the same everywhere.
pub(crate) fn state_style(state: &str) -> Style {
    match state {
        "ok" | "completed" | "converged" | "success" | "applied" | "approved" | "done" | "active"
        | "granted" => AnsiColor::Green.on_default(),
        "failed" | "stopped" | "aborted" | "refused" | "critical" | "high" | "rejected" | "revoked"
        | "halted" => AnsiColor::Red.on_default(),
        "pending_approval" | "diff_ready" | "partial" | "medium" | "drifted" | "needed" | "pending"
        | "paused" | "promoted" | "applying" | "offline" | "in_progress" | "syncing" | "running"
        | "differs" => AnsiColor::Yellow.on_default(),
        "superseded" | "withdrawn" | "expired" | "disabled" | "low" => Style::new().dimmed(),
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["NAME", "STATUS", "MESSAGE"]);
        table.row([
            "edge".to_owned(),
            "failed".to_owned(),
            "a message that is longer than the terminal".to_owned(),
        ]);
        table.row(["x\u{1b}[31m\ny".to_owned(), "ok".to_owned(), String::new()]);
        table
    }

    #[test]
    fn cells_that_do_not_fit_go_on_below_and_nothing_is_lost() {
        for width in [40, 60, 200] {
            let lines = table().lines(width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:#?}");
            let text = lines.join(" ");
            for word in "edge failed a message that is longer than the terminal ok".split(' ') {
                assert!(text.contains(word), "{width}: {word} is missing in {lines:#?}");
            }
        }
    }

    #[test]
    fn a_column_is_left_out_only_if_nothing_is_lost_by_it() {
        let mut told = table();
        told.leave_out_if_alike("STATUS");
        told.leave_out_if_alike("NAME");
        assert_eq!(told.header, ["NAME", "STATUS", "MESSAGE"]);
        told.rows.remove(1);
        told.leave_out_if_alike("STATUS");
        assert_eq!(told.header, ["NAME", "MESSAGE"]);
        assert_eq!(told.rows[0].len(), 2);
    }

    #[test]
    fn a_cell_cannot_break_the_table_or_reach_the_terminal() {
        let lines = table().lines(80);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].starts_with("x?[31m y"), "{lines:#?}");
    }

    #[test]
    fn the_state_is_coloured_where_it_stands() {
        let lines = table().lines(80);
        let red = AnsiColor::Red.on_default();
        let line = coloured(&lines[1], state_start(&lines[0]));
        assert!(line.contains(&format!("{red}failed{red:#}")), "{line:?}");
    }
}
