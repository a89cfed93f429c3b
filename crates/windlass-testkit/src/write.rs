//! Writes sections in either form, so that one description of a fleet serves both.

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

    /// Writes a line.
    pub(crate) fn line(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    /// Writes an entry of a section on one line; `fields` is the text between the braces.
    pub(crate) fn entry(&mut self, indent: usize, name: EntryName<'_>, fields: &str) {
        let EntryName(key, name) = name;
        let _ = match (self.form, fields.is_empty()) {
            (FleetForm::List, true) => writeln!(self.text, "{:indent$}- {{{key}: {name}}}", ""),
            (FleetForm::List, false) => writeln!(self.text, "{:indent$}- {{{key}: {name}, {fields}}}", ""),
            (FleetForm::Map, _) => writeln!(self.text, "{:indent$}{name}: {{{fields}}}", ""),
        };
    }

    /// Writes the first line of an entry with several lines. The following ones are indented by two more.
    pub(crate) fn open_entry(&mut self, indent: usize, name: EntryName<'_>) {
        let EntryName(key, name) = name;
        match self.form {
            FleetForm::List => self.line(indent, &format!("- {key}: {name}")),
            FleetForm::Map => self.line(indent, &format!("{name}:")),
        }
    }
}

/// The key of an entry's name in the list form, and the name.
#[derive(Clone, Copy)]
pub(crate) struct EntryName<'n>(pub(crate) &'static str, pub(crate) &'n str);
