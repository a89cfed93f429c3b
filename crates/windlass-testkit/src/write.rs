//! Writing sections in either form, so that one description of a fleet serves both.

use std::fmt::Write as _;

use crate::form::Form;

/// A file being written.
pub(crate) struct Writer {
    form: Form,
    text: String,
}

impl Writer {
    pub(crate) fn new(form: Form) -> Writer {
        Writer { form, text: String::new() }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// A line of its own.
    pub(crate) fn line(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    /// An entry of a section on one line; `fields` is what stands between the braces.
    pub(crate) fn entry(&mut self, indent: usize, name: Named<'_>, fields: &str) {
        let Named(key, name) = name;
        let _ = match (self.form, fields.is_empty()) {
            (Form::List, true) => writeln!(self.text, "{:indent$}- {{{key}: {name}}}", ""),
            (Form::List, false) => writeln!(self.text, "{:indent$}- {{{key}: {name}, {fields}}}", ""),
            (Form::Map, _) => writeln!(self.text, "{:indent$}{name}: {{{fields}}}", ""),
        };
    }

    /// The first line of an entry over several lines. What follows is indented by two more.
    pub(crate) fn open_entry(&mut self, indent: usize, name: Named<'_>) {
        let Named(key, name) = name;
        match self.form {
            Form::List => self.line(indent, &format!("- {key}: {name}")),
            Form::Map => self.line(indent, &format!("{name}:")),
        }
    }
}

/// The key that carries an entry's name in the list form, and the name.
#[derive(Clone, Copy)]
pub(crate) struct Named<'n>(pub(crate) &'static str, pub(crate) &'n str);
