//! Names of resources, hosts, namespaces and variables.

use super::checked_text;
use crate::quote::quoted;
use crate::shape::InvalidText;

/// Long enough for any sensible name, short enough for a table.
const MAX_NAME: usize = 64;

checked_text! {
    /// The name of a resource: 1 to 64 letters, digits, `.`, `_` and `-`.
    Name: "a name", Some("^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$"), check_name
}

checked_text! {
    /// A lower-case DNS name.
    Hostname: "a hostname",
    Some("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$"), check_hostname
}

checked_text! {
    /// A Kubernetes namespace: one lower-case DNS label.
    Namespace: "a namespace", Some("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"), check_namespace
}

checked_text! {
    /// A variable for substitution: letters, digits and `_`, not beginning with a digit.
    VariableName: "a variable name", Some("^[A-Za-z_][A-Za-z0-9_]*$"), check_variable
}

fn check_name(text: &str) -> Result<(), InvalidText> {
    let help = "use letters, digits, `.`, `_` and `-`, beginning and ending with a letter or digit";
    if text.is_empty() || text.len() > MAX_NAME {
        let message = format!("a name has 1 to {MAX_NAME} characters, this one has {}", text.chars().count());
        return Err(InvalidText::name(message).help(help));
    }
    let ends_well = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let all_allowed = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if !all_allowed || !ends_well(text.chars().next()) || !ends_well(text.chars().last()) {
        return Err(InvalidText::name(format!("{} is not a name", quoted(text))).help(help));
    }
    Ok(())
}

fn is_dns_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn check_hostname(text: &str) -> Result<(), InvalidText> {
    if text.len() <= 253 && text.split('.').all(is_dns_label) {
        return Ok(());
    }
    let complaint = InvalidText::name(format!("{} is not a hostname", quoted(text)));
    let lower = text.to_ascii_lowercase();
    if lower != text && lower.len() <= 253 && lower.split('.').all(is_dns_label) {
        return Err(complaint.help(format!("write it in lower case: {}", quoted(&lower))));
    }
    Err(complaint.help("use lower-case letters, digits and `-`, in labels of at most 63 characters"))
}

fn check_namespace(text: &str) -> Result<(), InvalidText> {
    if is_dns_label(text) {
        return Ok(());
    }
    Err(InvalidText::name(format!("{} is not a namespace", quoted(text)))
        .help("use at most 63 lower-case letters, digits and `-`"))
}

fn check_variable(text: &str) -> Result<(), InvalidText> {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(InvalidText::name(format!("{} is not a variable name", quoted(text)))
        .help("use letters, digits and `_`, not beginning with a digit"))
}
