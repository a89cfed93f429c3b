//! The policy document: what it looks like, and reading it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::empty::refuse_empty;
use super::identity::RepositoryIdentity;
use super::pattern::{NamePattern, PathPattern, RepositoryPattern};
use super::window::PolicyWindow;
use crate::code::{Code, ProblemSeverity};
use crate::diagnostic::{Diagnostic, Finding, LineIndex, sort_diagnostics};
use crate::diff::Action;
use crate::digest::Digest;
use crate::id::RepositoryId;
use crate::quote::quoted;
use crate::resource::Kind;
use crate::shape::{
    Bounded, Canonical, Decoder, Defaults, Segment, Shape as _, canonical_json, choice, record,
};
use crate::value::{Labels, Lifecycle, Name};
use crate::yaml::{self, NodeRef};

/// A policy may hold 64 KiB: hundreds of rules, and every judgement walks all of them.
pub const MAX_POLICY_BYTES: usize = 64 << 10;

record! {
    /// A policy decides whether a change is approved automatically, needs approval by people, or is blocked. The
    /// first matching rule decides; changes without a matching rule need one approval.
    pub struct Policy {
        /// The rules, in order. The first matching rule decides.
        rules: Vec<PolicyRule> = Vec::new() => "[{name: everything, action: require_approval}]",
    }
    check Policy::check
}

record! {
    /// A rule: which changes it matches, and what happens to them.
    pub struct PolicyRule {
        /// The rule's name, shown with every decision it makes. Names are unique.
        name: Name => "no-destroys-on-friday",
        /// The changes that the rule matches. Default: all.
        subjects "match": Option<PolicyMatch> = None => "{kinds: [node], changes: [destroy]}",
        /// What happens to them.
        action: PolicyAction => "require_approval",
        /// How many people must approve. Only with `require_approval`; default one.
        approvals: Option<Bounded<1, 10>> = None => "2",
        /// Whether contributors cannot approve: author, committer, co-authors, signer, pusher, and everyone who edited
        /// the proposal. If the list of contributors may be incomplete, one more approval is needed. Only with
        /// `require_approval`.
        not_author: bool = false => "true",
        /// The rule's purpose, shown with the changes it matches.
        reason: String = String::new() => "destroying nodes needs a second pair of eyes",
        /// When such changes may be applied: inside any of these. Default: always.
        windows: Vec<PolicyWindow> = Vec::new() =>
            "[{days: [mon, tue, wed, thu], from: \"09:00\", to: \"17:00\", timezone: Europe/Berlin}]",
    }
    check PolicyRule::check
}

record! {
    /// Which changes a rule matches. All given keys must match; without keys, it matches every change.
    pub struct PolicyMatch {
        /// Any of these kinds.
        kinds: BTreeSet<Kind> = BTreeSet::new() => "[node, network]",
        /// Any of these changes.
        changes: BTreeSet<Action> = BTreeSet::new() => "[create, update, destroy]",
        /// Repositories, any of which matches. A plain name means the repository that has this name when the policy is
        /// saved, even if it is renamed later; a glob means every repository with a matching name.
        repositories: Vec<RepositoryPattern> = Vec::new() => "[\"fleet-*\"]",
        /// Globs for the resource's name, any of which matches. `*` matches any text.
        names: Vec<NamePattern> = Vec::new() => "[\"edge-*\"]",
        /// Globs for the file that declares the resource, any of which matches. `*` stops at `/`, `**` does not.
        paths: Vec<PathPattern> = Vec::new() => "[\"environments/prod/**\"]",
        /// Labels that the node or cluster must have, all of them. Resources without labels do not match.
        labels: Labels = Labels::new() => "{tier: edge}",
        /// The change brings a module version into any of these states: a version whose state changes, or a module that
        /// makes a version in that state. Other changes do not match.
        to_states: BTreeSet<Lifecycle> = BTreeSet::new() => "[live]",
    }
    check PolicyMatch::check
}

choice! {
    /// What happens to a change.
    pub enum PolicyAction {
        /// Windlass approves it automatically; destroys only if `changes` lists them.
        AutoApprove = "auto_approve",
        /// Windlass approves it automatically and notifies people; destroys only if `changes` lists them.
        NotifyAndProceed = "notify_and_proceed",
        /// People must approve it.
        RequireApproval = "require_approval",
        /// It is blocked and cannot be approved.
        Block = "block",
    }
}

impl Policy {
    /// Reads a policy from YAML or JSON, with every problem. `file` is the name that problems carry.
    pub fn read(file: &str, text: &str) -> (Option<Policy>, Vec<Diagnostic>) {
        if text.len() > MAX_POLICY_BYTES {
            let message = format!("the policy has {} bytes, more than the 64 KiB limit", text.len());
            let problem = Diagnostic::with_file(Code::FileTooLarge, file, message);
            return (None, vec![problem.help("join rules that do the same")]);
        }
        let (tree, mut findings) = yaml::parse(text);
        let mut policy = None;
        if let Some(tree) = &tree {
            let mut decoder = Decoder::default();
            policy = Policy::decode(tree.root(), &mut decoder);
            findings.extend(decoder.into_findings());
        }
        let is_sound = findings.iter().all(|finding| finding.code.severity() != ProblemSeverity::Error);
        let lines = LineIndex::new(text);
        let mut problems = findings.into_iter().map(|finding| lines.place(file, finding)).collect();
        sort_diagnostics(&mut problems);
        (policy.filter(|_| is_sound), problems)
    }

    /// The policy as JSON, without defaults: the form in which it is stored.
    pub fn to_json(&self) -> Value {
        canonical_json(self, Defaults::Omit)
    }

    /// The plain names of repositories in its rules, each once.
    pub fn repository_names(&self) -> BTreeSet<String> {
        let patterns =
            self.rules.iter().filter_map(|rule| rule.subjects.as_ref()).flat_map(|it| &it.repositories);
        patterns.filter_map(|pattern| pattern.plain_name()).map(str::to_owned).collect()
    }

    /// Says which repository each plain name stands for: name → id. Names that are not given stand for none.
    pub fn bind_repositories(mut self, ids: &BTreeMap<String, RepositoryId>) -> Policy {
        for pattern in self.repository_patterns() {
            let id = pattern.plain_name().and_then(|name| ids.get(name));
            pattern.bind(id);
        }
        self
    }

    /// The policy with each repository under the name that it has now: id → name. Repositories that are gone keep the
    /// name that they had.
    pub fn with_current_names(mut self, names: &BTreeMap<RepositoryId, String>) -> Policy {
        for pattern in self.repository_patterns() {
            if let Some(name) = pattern.bound().and_then(|id| names.get(id)) {
                pattern.rename(name);
            }
        }
        self
    }

    fn repository_patterns(&mut self) -> impl Iterator<Item = &mut RepositoryPattern> {
        self.rules.iter_mut().filter_map(|rule| rule.subjects.as_mut()).flat_map(|it| &mut it.repositories)
    }

    /// The digest of the canonical bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(&Canonical::bytes_of(self, Defaults::Omit))
    }

    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let mut seen = BTreeSet::new();
        let mut is_sound = true;
        for (index, rule) in self.rules.iter().enumerate() {
            if !seen.insert(&rule.name) {
                let place = node.get("rules").and_then(|rules| rules.item(index)?.get("name"));
                let message = format!("another rule is called {} too", quoted(rule.name.as_str()));
                let finding = Finding::new(Code::BadValue, place.unwrap_or(node).span(), message)
                    .help("give each rule a name of its own");
                decoder.within(Segment::Key("rules"), |decoder| {
                    decoder.within(Segment::Index(index), |decoder| {
                        decoder.report_within(Segment::Key("name"), finding);
                    });
                });
                is_sound = false;
            }
        }
        is_sound
    }
}

impl Default for Policy {
    /// No rules: everything needs one approval.
    fn default() -> Policy {
        Policy { rules: Vec::new() }
    }
}

impl PolicyRule {
    /// Whether the rule can be about changes of this repository, or of none.
    pub(super) fn applies_to_repository(&self, repository: Option<&RepositoryIdentity<'_>>) -> bool {
        let Some(subjects) = &self.subjects else { return true };
        let named = &subjects.repositories;
        named.is_empty()
            || repository.is_some_and(|repository| named.iter().any(|pattern| pattern.matches(repository)))
    }

    /// Whether the rule says which repositories it is about.
    pub(super) fn names_repositories(&self) -> bool {
        self.subjects.as_ref().is_some_and(|subjects| !subjects.repositories.is_empty())
    }

    /// Whether the rule is about every change of the repositories it is about.
    pub(super) fn matches_every_change(&self) -> bool {
        let Some(subjects) = &self.subjects else { return true };
        let PolicyMatch { kinds, changes, repositories: _, names, paths, labels, to_states } = subjects;
        let has_names = !(names.is_empty() && paths.is_empty() && labels.is_empty());
        kinds.is_empty() && changes.is_empty() && to_states.is_empty() && !has_names
    }

    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        if self.action == PolicyAction::RequireApproval {
            return refuse_empty(&["windows"], node, decoder);
        }
        let given = [("approvals", self.approvals.is_some()), ("not_author", self.not_author)];
        let mut is_sound = true;
        for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            let span = node.key(key).unwrap_or(node).span();
            let message = format!("`{key}` means nothing with `action: {}`", self.action.word());
            let finding = Finding::new(Code::ConflictingKeys, span, message)
                .help(format!("remove `{key}`, or write `action: require_approval`"));
            decoder.report_within(Segment::Key(key), finding);
            is_sound = false;
        }
        refuse_empty(&["windows"], node, decoder) && is_sound
    }
}

impl PolicyMatch {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let keys = ["kinds", "changes", "repositories", "names", "paths", "labels", "to_states"];
        refuse_empty(&keys, node, decoder)
    }
}
