//! The content of a file on a host, from the assigned content and the reported difference: to adopt it into git.
//!
//! A difference leaves lines out and masks secrets. The content is returned only if it is known completely: every line of
//! the difference that belongs to the assigned content must be there, and no line may be masked.

use crate::secret::HIDDEN;

/// Why the content on the host is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownContent {
    /// A line is masked.
    #[error("the difference contains a masked value")]
    Masked,
    /// The difference is not one of this content.
    #[error("the difference does not belong to the content that git declares")]
    OtherContent,
}

/// A part of a difference: where it begins in the assigned content, and its lines.
struct Hunk<'d> {
    /// The index of its first assigned line.
    start: usize,
    lines: Vec<&'d str>,
}

/// The content on the host. `lines` is the difference from it to the assigned content, as `diff -u` prints it.
pub fn observed_content(assigned: &str, lines: &str) -> Result<String, UnknownContent> {
    let assigned: Vec<&str> = assigned.split_inclusive('\n').collect();
    let (mut observed, mut next) = (String::new(), 0);
    for hunk in hunks(lines)? {
        let until = assigned.get(next..hunk.start).ok_or(UnknownContent::OtherContent)?;
        observed.extend(until.iter().copied());
        next = hunk.start;
        let mut is_last_observed = false;
        for line in hunk.lines {
            let (mark, text) = line.split_at_checked(1).ok_or(UnknownContent::OtherContent)?;
            if mark != "\\" && is_masked(text) {
                return Err(UnknownContent::Masked);
            }
            match mark {
                "-" => push_line(&mut observed, text),
                " " | "+" => {
                    let known = assigned.get(next).ok_or(UnknownContent::OtherContent)?;
                    if known.trim_end_matches('\n') != text {
                        return Err(UnknownContent::OtherContent);
                    }
                    next += 1;
                    if mark == " " {
                        push_line(&mut observed, text);
                    }
                }
                "\\" if is_last_observed => drop(observed.pop()),
                "\\" => {}
                _ => return Err(UnknownContent::OtherContent),
            }
            is_last_observed = matches!(mark, "-" | " ");
        }
    }
    observed.extend(assigned.get(next..).unwrap_or_default().iter().copied());
    Ok(observed)
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Whether a line may be masked. A line with two stars is not adopted: it could be a secret.
fn is_masked(line: &str) -> bool {
    line.contains("**") || line.contains(HIDDEN)
}

fn hunks(lines: &str) -> Result<Vec<Hunk<'_>>, UnknownContent> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    for line in lines.lines() {
        match line.strip_prefix("@@ ") {
            Some(header) => hunks.push(Hunk { start: assigned_start(header)?, lines: Vec::new() }),
            None => hunks.last_mut().ok_or(UnknownContent::OtherContent)?.lines.push(line),
        }
    }
    if hunks.is_empty() { Err(UnknownContent::OtherContent) } else { Ok(hunks) }
}

/// The index of the first assigned line of `-1,2 +1,3 @@`. A hunk without assigned lines names the line before it.
fn assigned_start(header: &str) -> Result<usize, UnknownContent> {
    let range = header.split(' ').find_map(|word| word.strip_prefix('+'));
    let range = range.ok_or(UnknownContent::OtherContent)?;
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    let start: usize = start.parse().map_err(|_| UnknownContent::OtherContent)?;
    Ok(if count == "0" { start } else { start.saturating_sub(1) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::content::FileSide;
    use crate::host::FieldDifference;

    fn lines(observed: &str, assigned: &str) -> Option<String> {
        let side = |text: &str| FileSide::Bytes(text.as_bytes().to_vec());
        match FieldDifference::content("/etc/a", &side(observed), &side(assigned))? {
            FieldDifference::Content(file) => file.lines,
            FieldDifference::Value { .. } => None,
        }
    }

    #[test]
    fn the_content_on_the_host_is_restored_from_the_difference() {
        for (observed, assigned) in [
            ("a\nb\nc\n", "a\nB\nc\n"),
            ("a\n", "a\nb\n"),
            ("a\nb\n", "a\n"),
            ("", "a\n"),
            ("a\n", ""),
            ("no newline", "a newline\n"),
            ("a newline\n", "no newline"),
            ("one\nno newline", "two\nno newline"),
        ] {
            let lines = lines(observed, assigned).expect("short texts are shown");
            assert_eq!(observed_content(assigned, &lines), Ok(observed.to_owned()), "{lines}");
        }
    }

    #[test]
    fn masked_lines_and_other_contents_are_refused() {
        let secret = lines("password: hunter2hunter2\n", "password: other\n").expect("lines");
        assert_eq!(observed_content("password: other\n", &secret), Err(UnknownContent::Masked));
        let other = lines("a\nb\n", "a\nc\n").expect("lines");
        assert_eq!(observed_content("x\ny\n", &other), Err(UnknownContent::OtherContent));
        for nonsense in ["", "no header", "@@ nothing @@\n+a", "@@ -1 +99 @@\n-a", "@@ -1 +1 @@\n?"] {
            assert_eq!(observed_content("a\n", nonsense), Err(UnknownContent::OtherContent), "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn every_difference_of_plain_lines_restores_the_content(
            observed in "([a-d]{0,2}\n){0,12}[a-d]{0,2}",
            assigned in "([a-d]{0,2}\n){0,12}[a-d]{0,2}",
        ) {
            prop_assume!(observed != assigned);
            let lines = lines(&observed, &assigned).expect("short texts are shown");
            prop_assert_eq!(observed_content(&assigned, &lines), Ok(observed));
        }

        #[test]
        fn no_text_makes_it_panic(assigned in ".{0,50}", lines in "(?s).{0,100}") {
            let _ = observed_content(&assigned, &lines);
        }
    }
}
