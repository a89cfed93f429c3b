//! The generated reference: one page each for fleet.yaml, policies, codes and states. A golden test keeps it up to
//! date.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::code::{Code, ProblemSeverity};
use crate::explain::{choices, default_text};
use crate::gate::Policy;
use crate::manifest::FleetFile;
use crate::shape::{FieldDescription, Record, RecordDescription};
use crate::states::Spelled;
use crate::{
    access, audit, code, content, delivery, diff, enrolment, event, forge, gate, plan, preview, proposal,
    report, repository, rollout, run,
};

/// Every section and field of fleet.yaml.
pub fn fleet_page() -> String {
    record_page("fleet.yaml", FleetFile::description())
}

/// Every field of a policy.
pub fn policy_page() -> String {
    record_page("Approval policy", Policy::description())
}

fn record_page(root: &str, record: RecordDescription) -> String {
    let mut page = format!(
        "# {root}\n\nGenerated from the types that read the file; `windlass explain` prints the same.\n\
         Unknown keys are errors everywhere. A field with a default may be omitted or empty.\n",
    );
    let mut written = BTreeSet::new();
    let mut waiting = vec![(root.to_owned(), record)];
    while let Some((title, record)) = waiting.pop() {
        if !written.insert((title.clone(), record.name)) {
            continue;
        }
        write_record(&mut page, &title, &record);
        // Depth first, in the order of the fields.
        for field in record.fields.iter().rev() {
            if let Some(inner) = (field.shape)().record() {
                let title = match title.as_str() {
                    outer if outer == root => field.name.to_owned(),
                    outer => format!("{outer}.{}", field.name),
                };
                waiting.push((title, inner.clone()));
            }
        }
    }
    page
}

fn write_record(page: &mut String, title: &str, record: &RecordDescription) {
    let _ = write!(page, "\n## {title}\n\n{}\n\n", record.text());
    page.push_str("| Field | Type | Default | Meaning | Example |\n|---|---|---|---|---|\n");
    for field in &record.fields {
        let default = default_text(field).map_or("**required**".to_owned(), |default| cell(&default));
        let _ = writeln!(
            page,
            "| `{}` | {} | {default} | {} | `{}` |",
            field.name,
            cell(&(field.shape)().summary()),
            cell(&meaning(field)),
            cell(field.example)
        );
    }
}

fn meaning(field: &FieldDescription) -> String {
    let words: Vec<String> =
        choices(field).iter().map(|choice| format!("`{}`: {}", choice.word, choice.text())).collect();
    match words.is_empty() {
        true => field.text(),
        false => format!("{} {}", field.text(), words.join(" ")),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Every problem code.
pub fn codes_page() -> String {
    let mut page = String::from(
        "# Problem codes\n\nGenerated; `windlass explain CODE` prints the same. The meaning of a code never \
            changes.\n",
    );
    for (severity, title) in [(ProblemSeverity::Error, "Errors"), (ProblemSeverity::Warning, "Warnings")] {
        let _ = write!(page, "\n## {title}\n\n| Code | Meaning |\n|---|---|\n");
        for code in Code::ALL.iter().filter(|code| code.severity() == severity) {
            let _ = writeln!(page, "| `{code}` | {} |", cell(code.explanation()));
        }
    }
    page
}

/// A set of words in the reference.
struct WordSet {
    name: &'static str,
    about: &'static str,
    words: Vec<(&'static str, &'static str)>,
}

fn word_set<T: Spelled>() -> WordSet {
    let words = T::WORDS.iter().map(|word| (word.spelling(), word.meaning())).collect();
    WordSet { name: T::NAME, about: T::ABOUT, words }
}

/// A section of the reference of states: its title, and its sets of words.
type StatesSection = (&'static str, &'static [fn() -> WordSet]);

/// The sections, with the sets of words in each.
const STATES: &[StatesSection] = &[
    (
        "Proposals",
        &[
            word_set::<proposal::Status>,
            word_set::<diff::Action>,
            word_set::<diff::Cause>,
            word_set::<gate::ConsentState>,
            word_set::<gate::GateReasonKind>,
            word_set::<proposal::BlockedByKind>,
            word_set::<proposal::CloseReasonKind>,
            word_set::<gate::ContributorRole>,
            word_set::<plan::SetKind>,
            word_set::<content::FileChange>,
        ],
    ),
    (
        "Sync runs",
        &[
            word_set::<run::RunStatus>,
            word_set::<run::Stage>,
            word_set::<run::Trigger>,
            word_set::<run::Movement>,
            word_set::<code::ProblemSeverity>,
        ],
    ),
    (
        "Repositories",
        &[
            word_set::<repository::RepositoryStatus>,
            word_set::<repository::LastStatus>,
            word_set::<forge::ForgeKind>,
            word_set::<forge::WebhookSender>,
        ],
    ),
    ("Nodes", &[word_set::<report::TargetStatus>]),
    (
        "Previews",
        &[
            word_set::<preview::PreviewSource>,
            word_set::<preview::PreviewOutcome>,
            word_set::<plan::PolicyOutlook>,
        ],
    ),
    (
        "Events, notifications and the audit log",
        &[
            word_set::<event::EventKind>,
            word_set::<event::Severity>,
            word_set::<delivery::DeliveryState>,
            word_set::<audit::Outcome>,
        ],
    ),
    (
        "Rollouts",
        &[
            word_set::<rollout::RolloutStatus>,
            word_set::<rollout::RolloutNodeState>,
            word_set::<rollout::RolloutAction>,
        ],
    ),
    ("Agents", &[word_set::<enrolment::JoinPolicy>, word_set::<enrolment::JoinState>]),
    ("People and tokens", &[word_set::<access::Role>, word_set::<access::Permission>]),
];

/// Every state, cause and reason of the API.
pub fn states_page() -> String {
    let mut page = String::from(
        "# States\n\nGenerated from the tables that the API, the command line and the web app use. The meaning of a \
            word never changes;\nlater versions may add words.\n",
    );
    for (title, sets) in STATES {
        let _ = write!(page, "\n## {title}\n");
        for set in sets.iter().map(|set| set()) {
            let _ = write!(page, "\n### {}\n\n{}\n\n| Word | Meaning |\n|---|---|\n", set.name, set.about);
            for (word, meaning) in set.words {
                let _ = writeln!(page, "| `{word}` | {} |", cell(meaning));
            }
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_set_has_a_unique_name_and_every_word_a_spelling_and_a_meaning() {
        let sets: Vec<WordSet> = STATES.iter().flat_map(|(_, sets)| sets.iter()).map(|set| set()).collect();
        let names: BTreeSet<&str> = sets.iter().map(|set| set.name).collect();
        assert_eq!(names.len(), sets.len());
        for set in sets {
            let spellings: BTreeSet<&str> = set.words.iter().map(|(word, _)| *word).collect();
            assert_eq!(spellings.len(), set.words.len(), "{}", set.name);
            assert!(!set.about.is_empty(), "{}", set.name);
            for (word, meaning) in set.words {
                assert!(!word.is_empty() && !meaning.is_empty(), "{} {word}", set.name);
            }
        }
    }
}
