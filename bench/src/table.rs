//! Plain text tables.

/// Rows of cells under a heading; the first column is text, the others are numbers.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&str]) -> Table {
        Table { rows: vec![heading.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table as Markdown, aligned for people as well.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> =
                row.iter().enumerate().map(|(column, cell)| align(cell, column, widths[column])).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
            if index == 0 {
                let rule = |(column, width): (usize, &usize)| match column {
                    0 => "-".repeat(width + 2),
                    _ => format!("{}:", "-".repeat(width + 1)),
                };
                let rules: Vec<String> = widths.iter().enumerate().map(rule).collect();
                text.push_str(&format!("|{}|\n", rules.join("|")));
            }
        }
        text
    }
}

fn align(cell: &str, column: usize, width: usize) -> String {
    match column {
        0 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    }
}
