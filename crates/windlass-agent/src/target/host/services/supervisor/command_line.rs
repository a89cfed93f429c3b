//! Command lines of unit files: prefixes, quotes, specifiers and variables.

use std::collections::BTreeMap;

/// What a failure of a command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// The service fails.
    Fail,
    /// Nothing (`-`).
    Ignore,
}

/// The user that a command runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunAs {
    /// The user of the service.
    ServiceUser,
    /// Root (`+` and `!`).
    Root,
}

/// A command of a unit file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The program and its arguments. Variables are not replaced yet.
    pub(super) words: Vec<Word>,
    /// What the program sees as its own name, if that is not its path (`@`).
    pub(super) shown_name: Option<String>,
    pub(super) on_failure: OnFailure,
    pub(super) run_as: RunAs,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    text: String,
    /// Whether it is `$NAME` alone and without quotes: its value becomes several words.
    splits: bool,
}

/// What specifiers such as `%i` stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Specifiers {
    /// The unit with its type: `getty@tty1.service`.
    pub(super) unit: String,
}

impl Specifiers {
    /// Replaces specifiers in a text.
    pub(super) fn fill(&self, text: &str) -> Result<String, String> {
        let name = self.unit.strip_suffix(".service").unwrap_or(&self.unit);
        let (prefix, instance) = name.split_once('@').unwrap_or((name, ""));
        let mut filled = String::with_capacity(text.len());
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            if c != '%' {
                filled.push(c);
                continue;
            }
            filled.push_str(match characters.next() {
                Some('%') => "%",
                Some('n') => &self.unit,
                Some('N') => name,
                Some('p' | 'P') => prefix,
                Some('i' | 'I') => instance,
                Some('t') => "/run",
                Some('S') => "/var/lib",
                Some('C') => "/var/cache",
                Some('L') => "/var/log",
                Some('E') => "/etc",
                Some('T') => "/tmp",
                Some('V') => "/var/tmp",
                Some('h') => "/root",
                Some('u') => "root",
                other => return Err(format!("the specifier %{} is not supported", other.unwrap_or(' '))),
            });
        }
        Ok(filled)
    }
}

impl CommandLine {
    /// Reads the value of a setting such as `ExecStart`.
    pub(super) fn read(value: &str, specifiers: &Specifiers) -> Result<CommandLine, String> {
        let mut rest = value.trim_start();
        let (mut on_failure, mut run_as, mut has_shown_name) = (OnFailure::Fail, RunAs::ServiceUser, false);
        while let Some(c) = rest.chars().next() {
            match c {
                '-' => on_failure = OnFailure::Ignore,
                '+' | '!' => run_as = RunAs::Root,
                '@' => has_shown_name = true,
                ':' => return Err("the prefix `:` is not supported".to_owned()),
                _ => break,
            }
            rest = &rest[c.len_utf8()..];
        }
        let mut words = split(rest)?;
        for word in &mut words {
            word.text = specifiers.fill(&word.text)?;
        }
        if words.is_empty() {
            return Err("the command is empty".to_owned());
        }
        let shown_name = if has_shown_name && words.len() > 1 { Some(words.remove(1).text) } else { None };
        Ok(CommandLine { words, shown_name, on_failure, run_as })
    }

    /// The program and its arguments, with variables replaced.
    pub(super) fn filled(&self, variables: &BTreeMap<String, String>) -> Vec<String> {
        let fill = |word: &Word| match (word.splits, word.text.strip_prefix('$')) {
            (true, Some(name)) => {
                let value = variables.get(name).map_or("", String::as_str);
                value.split_whitespace().map(str::to_owned).collect()
            }
            _ => vec![with_variables(&word.text, variables)],
        };
        self.words.iter().flat_map(fill).collect()
    }
}

/// Splits a value into words: quotes and backslashes as systemd reads them. Also for lists such as `Environment`.
pub(super) fn split(value: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') if word.as_ref().is_none_or(|word| !word.text.is_empty()) => {
                quote = Some(c);
                let word = word.get_or_insert_with(|| Word { text: String::new(), splits: false });
                word.splits = false;
            }
            (Some(open), c) if c == open => quote = None,
            (_, '\\') => {
                let c = match characters.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('s') => ' ',
                    Some(other) => other,
                    None => return Err("a backslash stands at the end".to_owned()),
                };
                word.get_or_insert_with(|| Word { text: String::new(), splits: false }).text.push(c);
            }
            (_, c) => {
                let splits = quote.is_none() && word.is_none() && c == '$';
                let word = word.get_or_insert_with(|| Word { text: String::new(), splits });
                word.splits &= c == '$' && word.text.is_empty() || is_name_character(c);
                word.text.push(c);
            }
        }
    }
    words.extend(word.take());
    match quote {
        Some(_) => Err("a quote is not closed".to_owned()),
        None => Ok(words),
    }
}

impl Word {
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Replaces `${NAME}` and `$NAME`; `$$` is a dollar sign.
fn with_variables(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            filled.push('$');
            rest = after;
            continue;
        }
        let (name, remaining) = match after.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
            Some(found) => found,
            None => after.split_at(after.find(|c: char| !is_name_character(c)).unwrap_or(after.len())),
        };
        match name.is_empty() {
            true => filled.push('$'),
            false => filled.push_str(variables.get(name).map_or("", String::as_str)),
        }
        rest = remaining;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(value: &str) -> Vec<String> {
        let specifiers = Specifiers { unit: "web@one.service".to_owned() };
        let variables = [("OPTIONS", "-a  -b"), ("NAME", "x y"), ("MAINPID", "7")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        CommandLine::read(value, &specifiers).unwrap().filled(&variables.into())
    }

    #[test]
    fn commands_are_read_as_systemd_reads_them() {
        for (value, expected) in [
            (
                "/usr/sbin/nginx -g 'daemon on; master_process on;'",
                vec!["/usr/sbin/nginx", "-g", "daemon on; master_process on;"],
            ),
            ("/bin/a $OPTIONS \"$NAME\" ${NAME} $NONE z", vec!["/bin/a", "-a", "-b", "x y", "x y", "z"]),
            ("/bin/kill -HUP $MAINPID", vec!["/bin/kill", "-HUP", "7"]),
            ("/bin/a %i %p %n 100%%", vec!["/bin/a", "one", "web", "web@one.service", "100%"]),
            ("/bin/sh -c 'echo $$HOME ${NAME}'", vec!["/bin/sh", "-c", "echo $HOME x y"]),
            ("/bin/a don\\'t \"a \\\" b\" c\\x", vec!["/bin/a", "don't", "a \" b", "cx"]),
        ] {
            assert_eq!(filled(value), expected, "{value}");
        }
    }

    #[test]
    fn prefixes_are_understood() {
        let specifiers = Specifiers { unit: "a.service".to_owned() };
        let read = |value: &str| CommandLine::read(value, &specifiers);
        let command = read("-!@/bin/a name b").unwrap();
        assert_eq!((command.on_failure, command.run_as), (OnFailure::Ignore, RunAs::Root));
        assert_eq!(command.shown_name.as_deref(), Some("name"));
        assert_eq!(command.filled(&BTreeMap::new()), ["/bin/a", "b"]);
        for wrong in ["", "-", "/bin/a 'b", "/bin/a %d", "/bin/a \\", ":/bin/a"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
