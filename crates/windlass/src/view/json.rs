//! For machines: stable JSON documents.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;
use windlass_core::display::is_unsafe;

use super::ValidationResult;

/// Prints a document as it is made, without holding its text.
pub(crate) fn document(value: &impl Serialize) -> io::Result<()> {
    let escaping = TerminalSafeWriter { out: io::stdout().lock(), cut: Vec::new() };
    let mut out = io::BufWriter::with_capacity(64 << 10, escaping);
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.flush()
}

/// Prints one of many documents, on one line.
pub(crate) fn line(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", escape(&text))?;
    out.flush()
}

/// Escapes what JSON may hold as it is and a terminal may not. Outside of texts JSON has none of these characters.
struct TerminalSafeWriter<W> {
    out: W,
    /// The beginning of a character that the last write cut off.
    cut: Vec<u8>,
}

impl<W: Write> Write for TerminalSafeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Nearly everything is plain ASCII, which needs no closer look.
        if self.cut.is_empty() && is_plain(bytes) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut whole = std::mem::take(&mut self.cut);
        whole.extend_from_slice(bytes);
        let valid = std::str::from_utf8(&whole).map_or_else(|error| error.valid_up_to(), str::len);
        self.cut = whole.split_off(valid);
        let text = std::str::from_utf8(&whole).unwrap_or_default();
        self.out.write_all(escape(text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Looks at every byte rather than stopping early, which is faster many bytes at a time.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~' | b'\n'))
}

fn escape(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match is_unsafe(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped += &format!("\\u{unit:04x}")),
            false => escaped.push(c),
        }
    }
    escaped
}

/// Prints what `validate` found.
pub(crate) fn problems(checked: &ValidationResult<'_>) -> io::Result<()> {
    document(&json!({
        "problems": checked.problems,
        "resources": checked.resources,
        "digest": checked.digest,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn what_a_terminal_must_not_see_is_escaped_and_reads_back_the_same() {
        let value = json!({ "a\u{9b}": "\u{1b}\u{7f}\u{202e}\u{e0041}✓ é\n\t" });
        let mut written = TerminalSafeWriter { out: Vec::new(), cut: Vec::new() };
        for byte in serde_json::to_vec_pretty(&value).unwrap() {
            written.write_all(&[byte]).unwrap();
        }
        let text = String::from_utf8(written.out).unwrap();
        assert!(!text.chars().any(is_unsafe));
        assert!(text.contains("✓ é"));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
