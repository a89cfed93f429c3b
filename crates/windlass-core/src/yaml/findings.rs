//! Problems of a text at the level of YAML.

use std::ops::Range;

use granit_parser::{ErrorKind, ScanError};

use super::tree::YamlNode;
use super::{MAX_DEPTH, MAX_FILE_BYTES};
use crate::diagnostic::{Code, Finding, MAX_FINDINGS};
use crate::quote::quoted;

/// Adds a finding, up to the limit.
pub(super) fn push_finding(findings: &mut Vec<Finding>, finding: Finding) {
    if findings.len() < MAX_FINDINGS {
        findings.push(finding);
    }
}

/// Rejects a text that is too large or contains forbidden characters.
pub(super) fn check_text(text: &str) -> Result<(), Finding> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes, more than the 1 MiB limit", text.len());
        return Err(Finding::new(Code::FileTooLarge, 0..0, message)
            .help("check for committed binary data, or split the fleet into files and `include` them"));
    }
    if let Some(position) = text.bytes().enumerate().position(|(at, byte)| is_forbidden(text, at, byte)) {
        let c = text[position..].chars().next().unwrap_or_default();
        let message = format!("control character U+{:04X} in the file", u32::from(c));
        return Err(Finding::new(Code::YamlControlCharacter, position..position + c.len_utf8(), message)
            .help("remove it; in a double-quoted text write it as an escape such as \"\\x1b\""));
    }
    Ok(())
}

/// Whether a control character of ASCII or Latin-1, which terminals interpret, is forbidden; line ends and tabs are
/// allowed.
fn is_forbidden(text: &str, at: usize, byte: u8) -> bool {
    match byte {
        b'\t' | b'\n' | b'\r' => false,
        0..0x20 | 0x7f => true,
        0xc2 => matches!(text.as_bytes().get(at + 1), Some(0x80..=0x84 | 0x86..=0x9f)),
        _ => false,
    }
}

pub(super) fn syntax_finding(text: &str, error: &ScanError) -> Finding {
    let position = error.marker().byte_offset().unwrap_or(0).min(text.len());
    let position = match error.kind() {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation => first_tab(text, position),
        _ => position,
    };
    let span = position..(position + 1).min(text.len()).max(position);
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => depth_finding(span),
        ErrorKind::UnknownAnchor => Finding::new(Code::YamlAlias, span, "alias of an unknown anchor")
            .help("define the anchor with `&name` before it is used"),
        ErrorKind::UndeclaredTagHandle => custom_tag_finding(span, "a custom tag"),
        kind => {
            let finding = Finding::new(Code::YamlSyntax, span, format!("not valid YAML: {}", error.info()));
            match syntax_help(text, position, kind) {
                Some(help) => finding.help(help),
                None => finding,
            }
        }
    }
}

/// The tab that caused a parse error; the parser reports the position after it.
fn first_tab(text: &str, position: usize) -> usize {
    let line_start = text[..position].rfind(['\n', '\r']).map_or(0, |found| found + 1);
    text[line_start..position].find('\t').map_or(position, |found| line_start + found)
}

fn syntax_help(text: &str, position: usize, kind: &ErrorKind) -> Option<&'static str> {
    let line_start = text.get(..position)?.rfind(['\n', '\r']).map_or(0, |found| found + 1);
    let indentation = text[line_start..].split(|c: char| !c.is_whitespace() || c == '\n').next();
    let has_tab = indentation.is_some_and(|indentation| indentation.contains('\t'));
    if has_tab || matches!(kind, ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation) {
        return Some("indent with spaces; YAML does not allow tabs there");
    }
    match kind {
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::UnexpectedEofFlowMapping => {
            Some("a `[` or `{` is never closed")
        }
        ErrorKind::UnclosedFlowCollection { .. } => Some("close the bracket"),
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey => {
            Some("check the indentation of this line and the one before")
        }
        ErrorKind::ExpectedBlockSequenceEntry => Some("items of one list begin at the same column with `- `"),
        ErrorKind::SimpleKeyExpected => Some("a key is followed by `: `, with a space"),
        _ => None,
    }
}

pub(super) fn depth_finding(span: Range<usize>) -> Finding {
    Finding::new(Code::YamlDepth, span, format!("nested deeper than {MAX_DEPTH} levels"))
        .help("check for an unclosed bracket or generated text")
}

pub(super) fn expansion_finding(span: Range<usize>) -> Finding {
    let message = "aliases expand this value into more than 1,000,000 values";
    Finding::new(Code::YamlAlias, span, message)
        .help("write the values out; a fleet of this size does not need aliases of aliases")
}

pub(super) fn bad_merge_finding(node: &YamlNode<'_>) -> Finding {
    let span = node.start as usize..node.end as usize;
    Finding::new(Code::WrongType, span, "`<<` can merge only maps")
        .help("refer to an anchored map: `<<: *defaults`, or to several: `<<: [*first, *second]`")
}

pub(super) fn custom_tag_finding(span: Range<usize>, what: &str) -> Finding {
    Finding::new(Code::YamlTag, span, format!("{what} is not allowed: use only plain YAML types"))
        .help("remove the tag and write the value as plain text, number, list or map")
}

pub(super) fn bad_key_finding(span: Range<usize>) -> Finding {
    Finding::new(Code::YamlKey, span, "a key must be plain text, not a list or a map")
        .help("quote it if it is text, e.g. \"{{ name }}\"")
}

pub(super) fn doubled_key_finding(span: Range<usize>, key: &str) -> Finding {
    Finding::new(Code::YamlDuplicateKey, span, format!("the key {} appears twice in this map", quoted(key)))
        .help("keep one of the two")
}

pub(super) fn second_document_finding(span: Range<usize>) -> Finding {
    Finding::new(Code::YamlDocuments, span, "a second YAML document begins here")
        .help("move it into a separate file and list that file under `include`")
}

pub(super) fn circular_alias_finding(span: Range<usize>) -> Finding {
    Finding::new(Code::YamlAlias, span, "an alias inside its own value")
        .help("a value cannot contain itself; write the value out")
}
