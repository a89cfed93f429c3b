//! Splits a fleet into files within the size limit.

use super::exported::{ExportedFile, ExportedFiles, OmissionReason};
use super::fleet::{ExportedFleet, SectionText};
use crate::manifest::FLEET_FILE;

const DIRECTORY: &str = "fleet.d";
const INCLUDE: &str = "fleet.d/*.yaml";

/// One file if it is small enough, otherwise one or more for each section.
pub(super) fn split(account: &str, mut fleet: ExportedFleet, limit: usize) -> ExportedFiles {
    leave_out_oversized(&mut fleet, limit);
    let text = fleet.text(account);
    if text.len() <= limit {
        let files = vec![ExportedFile { path: FLEET_FILE.to_owned(), text }];
        return ExportedFiles { files, left_out: fleet.left_out, masked: fleet.masked };
    }
    let mut files = vec![ExportedFile { path: FLEET_FILE.to_owned(), text: fleet.head(account, &[INCLUDE]) }];
    for section in &fleet.sections {
        let texts = section_texts(section, limit);
        let is_one = texts.len() == 1;
        files.extend(texts.into_iter().enumerate().map(|(index, text)| {
            let name = section.path.join("-").replace('_', "-");
            let number = if is_one { String::new() } else { format!("-{:03}", index + 1) };
            ExportedFile { path: format!("{DIRECTORY}/{name}{number}.yaml"), text }
        }));
    }
    ExportedFiles { files, left_out: fleet.left_out, masked: fleet.masked }
}

/// Omits entries larger than a file: an entry cannot be continued in another file.
fn leave_out_oversized(fleet: &mut ExportedFleet, limit: usize) {
    let mut oversized = Vec::new();
    for section in &mut fleet.sections {
        let room = limit.saturating_sub(section.heading().len() + 1);
        let (kept, refused) =
            std::mem::take(&mut section.entries).into_iter().partition(|entry| entry.text.len() <= room);
        section.entries = kept;
        oversized.extend::<Vec<_>>(refused);
    }
    for entry in oversized {
        fleet.leave_out(entry.declares, OmissionReason::TooLarge);
    }
}

fn section_texts(section: &SectionText, limit: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for entry in &section.entries {
        let has_room = |text: &String| text.len() + entry.text.len() < limit;
        if !texts.last().is_some_and(has_room) {
            texts.push(section.heading());
        }
        if let Some(text) = texts.last_mut() {
            text.push_str(&entry.text);
            text.push('\n');
        }
    }
    texts
}
