//! Paths in the repository and on machines, and names with a meaning for the operating system.

use std::fmt;

use super::checked_text;
use crate::content::ContentId;
use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};

checked_text! {
    /// An absolute path on a machine.
    AbsolutePath: "an absolute path", Some("^/[^\\u0000]+$"), check_absolute
}

/// A path inside the repository, relative to the fleet's root, and its content as far as it is known.
///
/// Files and requests contain only the path. The content id comes from git, is not part of the declared spec, and is
/// part of the resource's digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepositoryPath {
    text: String,
    content: Option<ContentId>,
}

impl RepositoryPath {
    /// The path.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The content at the path, if it is known.
    pub fn content(&self) -> Option<ContentId> {
        self.content
    }

    pub(crate) fn set_content(&mut self, content: Option<ContentId>) {
        self.content = content;
    }
}

impl fmt::Display for RepositoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TextValue for RepositoryPath {
    const WHAT: &'static str = "a path in the repository";
    const PATTERN: Option<&'static str> = Some("^[^/\\u0000][^\\u0000]*$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        check_repository_path(text).map(|()| RepositoryPath { text: text.to_owned(), content: None })
    }
}

checked_text! {
    /// A service, as systemd knows it; `.service` may be left out.
    UnitName: "a service name", Some("^[A-Za-z0-9:_.@\\\\-]{1,200}$"), check_unit
}

checked_text! {
    /// A kernel setting such as `net.ipv4.ip_forward`.
    SettingName: "a kernel setting", Some("^[a-z0-9_*-]+([./][A-Za-z0-9_*:-]+)+$"), check_setting
}

/// Permission bits of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMode(pub u32);

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.0)
    }
}

impl TextValue for FileMode {
    const WHAT: &'static str = "a file mode in octal";
    const PATTERN: Option<&'static str> = Some("^[0-7]{3,4}$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        if matches!(text.len(), 3 | 4)
            && let Ok(mode) = u32::from_str_radix(text, 8)
        {
            return Ok(FileMode(mode));
        }
        Err(InvalidText::value(format!("{} is not a file mode", quoted(text))).help("write it like \"0644\""))
    }
}

fn has_bad_segment(path: &str) -> bool {
    path.split('/').any(|segment| segment == ".." || segment == ".")
}

fn check_absolute(text: &str) -> Result<(), InvalidText> {
    let complaint =
        |help: &str| InvalidText::value(format!("{} is not a valid path", quoted(text))).help(help);
    if !text.starts_with('/') || text.len() < 2 || text.len() > 4096 {
        return Err(complaint("begin with `/`"));
    }
    if has_bad_segment(text) || text.contains("//") || text.ends_with('/') {
        return Err(complaint("write the path without `.`, `..`, `//` and a `/` at the end"));
    }
    if text.chars().any(char::is_control) {
        return Err(complaint("remove control characters"));
    }
    Ok(())
}

fn check_repository_path(text: &str) -> Result<(), InvalidText> {
    let complaint = |help: &str| {
        InvalidText::value(format!("{} is not a path in the repository", quoted(text))).help(help)
    };
    if text.is_empty() || text.starts_with('/') || text.contains('\\') {
        return Err(complaint("write it relative to the directory of fleet.yaml, with `/` between parts"));
    }
    if has_bad_segment(text.strip_prefix("./").unwrap_or(text)) {
        return Err(complaint("it must stay inside the repository: no `..`"));
    }
    if text.split('/').any(|segment| segment == ".git") || text.chars().any(char::is_control) {
        return Err(complaint("`.git` and control characters are refused"));
    }
    Ok(())
}

fn check_unit(text: &str) -> Result<(), InvalidText> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":_.@\\-".contains(&byte);
    if !text.is_empty() && text.len() <= 200 && !text.starts_with('-') && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(InvalidText::name(format!("{} is not a service name", quoted(text))).help("write it like `nginx`"))
}

fn check_setting(text: &str) -> Result<(), InvalidText> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/*:".contains(&byte);
    let has_parts = text.contains(['.', '/']) && !text.starts_with(['.', '/']) && !text.ends_with(['.', '/']);
    if has_parts && !text.contains("..") && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(InvalidText::name(format!("{} is not a kernel setting", quoted(text)))
        .help("write it like `net.ipv4.ip_forward`"))
}
