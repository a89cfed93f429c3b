//! Writing sections in either form, so that one description of a fleet serves both.

use std::fmt::Write as _;

use crate::form::FleetForm;

/// A file being written.
pub(crate) struct FleetWriter {
    form: FleetForm,
    text: String,
}

impl FleetWriter {
    pub(crate) fn new(form: FleetForm) -> FleetWriter {
        FleetWriter { form, text: String::new() }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// A line of its own.
    pub(crate) fn line(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    /// An entry of a section on one line; `fields` is what stands between the braces.
    pub(crate) fn entry(&mut self, indent: usize, name: EntryName<'_>, fields: &str) {
        let EntryName(key, name) = name;
        let _ = match (self.form, fields.is_empty()) {
            (FleetForm::List, true) => writeln!(self.text, "{:indent$}- {{{key}: {name}}}", ""),
            (FleetForm::List, false) => writeln!(self.text, "{:indent$}- {{{key}: {name}, {fields}}}", ""),
            (FleetForm::Map, _) => writeln!(self.text, "{:indent$}{name}: {{{fields}}}", ""),
        };
    }

    /// The first line of an entry over several lines. What follows is indented by two more.
    pub(crate) fn open_entry(&mut self, indent: usize, name: EntryName<'_>) {
        let EntryName(key, name) = name;
        match self.form {
            FleetForm::List => self.line(indent, &format!("- {key}: {name}")),
            FleetForm::Map => self.line(indent, &format!("{name}:")),
        }
    }
}

/// The key that carries an entry's name in the list form, and the name.
#[derive(Clone, Copy)]
pub(crate) struct EntryName<'n>(pub(crate) &'static str, pub(crate) &'n str);
