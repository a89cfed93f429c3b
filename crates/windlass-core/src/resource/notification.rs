//! Notification providers, and the alerts that send events to them.

use std::collections::BTreeSet;

use super::kind::Kind;
use super::needs::{Reference, ResourceSpec, SpecPath};
use crate::diagnostic::{Code, Finding};
use crate::shape::{Decoder, Segment, choice, record};
use crate::value::{CredentialPath, MailAddress, Name, ReceiverUrl, Wildcard};
use crate::yaml::NodeRef;

/// More than any alert needs; every event is compared with all patterns.
const MAX_PATTERNS: usize = 64;

choice! {
    /// What a provider speaks.
    pub enum ProviderType {
        /// An incoming webhook of Slack, or of something that speaks like it. Its address is a secret.
        Slack = "slack",
        /// A webhook of a Discord channel. Its address is a secret.
        Discord = "discord",
        /// A workflow of Microsoft Teams that posts to a channel. Its address is a secret.
        Teams = "teams",
        /// JSON to any address, signed where there is a credential.
        Webhook = "webhook",
        /// Mail, over SMTP.
        Email = "email",
        /// Prometheus' Alertmanager.
        Alertmanager = "alertmanager",
    }
}

choice! {
    /// How much an event matters.
    pub enum AlertSeverity {
        /// Everyday.
        Low = "low",
        /// Worth knowing.
        Medium = "medium",
        /// Someone should look.
        High = "high",
        /// Someone must look now.
        Critical = "critical",
    }
}

record! {
    /// A notification provider is somewhere messages can be sent to. Secrets are never part of it: it names the path of a
    /// credential instead.
    pub struct NotificationProviderSpec {
        /// What it speaks.
        provider_type "type": ProviderType => "slack",
        /// Its address. Omit it where the address itself is a secret: then it is the field `url` of the credential.
        address: Option<ReceiverUrl> = None => "https://hooks.example.com/windlass",
        /// The path of the credential. Chats need its field `url`; webhooks sign with its field `secret`; mail and
        /// Alertmanager use `username` and `password`, or `token`, of one whose field `url` names the same receiver.
        credential_path: Option<CredentialPath> = None => "notifications/team-chat",
        /// The channel messages go to, where the provider can choose one. Slack only.
        channel: String = String::new() => "\"#operations\"",
        /// Who mails come from. Mail only.
        from: Option<MailAddress> = None => "windlass@example.com",
        /// Who mails go to. Mail only.
        to: BTreeSet<MailAddress> = BTreeSet::new() => "[ops@example.com]",
        /// What it is for, shown to reviewers.
        description: String = String::new() => "The operators' channel",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    check NotificationProviderSpec::check
}

impl NotificationProviderSpec {
    /// Checks which fields each type needs and which it does not support.
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        use ProviderType::{Alertmanager, Discord, Email, Slack, Teams, Webhook};
        let is_chat = matches!(self.provider_type, Slack | Discord | Teams);
        let is_mail = self.provider_type == Email;
        let scheme = self.address.as_ref().map(ReceiverUrl::scheme);
        let fits = match scheme {
            Some("smtp" | "smtps") => is_mail,
            Some(_) => matches!(self.provider_type, Webhook | Alertmanager),
            None => true,
        };
        let credential = self.credential_path.is_some();
        let problems: [(bool, &'static str, &str, &str); 7] = [
            (
                is_chat && scheme.is_some(),
                "address",
                "the address of a chat's webhook is a secret",
                "store it in a credential as the field `url`, and give its path as `credential_path`",
            ),
            (
                !is_chat && !fits,
                "address",
                "the address does not match the type",
                "mail needs smtp or smtps, others https",
            ),
            (
                scheme.is_none() && !credential,
                "credential_path",
                "the address is missing",
                "give `address`, or the `credential_path` of a credential with a field `url`",
            ),
            (
                !is_mail && (self.from.is_some() || !self.to.is_empty()),
                if self.from.is_some() { "from" } else { "to" },
                "only the type `email` has senders and recipients",
                "remove it, or use the type `email`",
            ),
            (
                is_mail && self.from.is_none(),
                "from",
                "a mail needs a sender",
                "add `from: windlass@example.com`",
            ),
            (is_mail && self.to.is_empty(), "to", "a mail needs recipients", "add `to: [ops@example.com]`"),
            (
                !self.channel.is_empty() && self.provider_type != Slack,
                "channel",
                "only Slack can choose a channel",
                "remove it; for other types the address decides",
            ),
        ];
        let mut is_fine = true;
        for (_, key, message, help) in problems.into_iter().filter(|(is_wrong, ..)| *is_wrong) {
            report(node, decoder, key, message, help);
            is_fine = false;
        }
        is_fine
    }
}

fn report<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>, key: &'static str, message: &str, help: &str) {
    match node.get(key) {
        Some(value) => {
            let finding = Finding::new(Code::BadValue, value.span(), message).help(help);
            decoder.report_within(Segment::Key(key), finding);
        }
        None => {
            let start = node.span().start;
            let span = start..(start + 1).min(node.span().end);
            decoder.report(Finding::new(Code::MissingKey, span, message).help(help));
        }
    }
}

impl ResourceSpec for NotificationProviderSpec {
    fn references<'s>(&'s self, _name: &'s str, _visit: &mut dyn FnMut(Reference<'s>)) {}

    fn is_protected(&self) -> bool {
        self.protect
    }
}

record! {
    /// An alert says which events are told through which providers. Whatever it lists must fit; what it leaves out fits
    /// everything.
    pub struct AlertSpec {
        /// Where the events are told.
        providers: BTreeSet<Name> => "[team-chat]",
        /// Kinds of events, as patterns. Default: all.
        events: BTreeSet<Wildcard> = BTreeSet::new() => "[\"gitops.approval_requested\", \"gitops.*failed\"]",
        /// How much an event must matter at least.
        severity: AlertSeverity = AlertSeverity::Low => "high",
        /// Names of repositories, as patterns. Default: all, and events without a repository.
        repositories: BTreeSet<Wildcard> = BTreeSet::new() => "[\"fleet-*\"]",
        /// Resources, one of which must match. Default: all, and events without a resource.
        resources: Vec<AlertResource> = Vec::new() => "[{kind: node, name: \"edge-*\"}]",
        /// Patterns for the whole message, one of which must match. Default: all.
        include: BTreeSet<Wildcard> = BTreeSet::new() => "[\"*prod*\"]",
        /// Patterns for the whole message, none of which may match.
        exclude: BTreeSet<Wildcard> = BTreeSet::new() => "[\"*canary*\"]",
        /// Whether it is on.
        enabled: bool = true => "false",
        /// What it is for, shown to reviewers.
        description: String = String::new() => "What someone must look at",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    check AlertSpec::check
}

record! {
    /// Resources an alert is about.
    pub struct AlertResource {
        /// Their kind. Default: every kind.
        kind: Option<Kind> = None => "node",
        /// Their name, as a pattern. Default: every name.
        name: Option<Wildcard> = None => "\"edge-*\"",
    }
}

impl AlertSpec {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let mut is_fine = true;
        if self.providers.is_empty() {
            report(node, decoder, "providers", "an alert needs at least one provider", "list at least one");
            is_fine = false;
        }
        let lists = [
            ("providers", self.providers.len()),
            ("events", self.events.len()),
            ("repositories", self.repositories.len()),
            ("resources", self.resources.len()),
            ("include", self.include.len()),
            ("exclude", self.exclude.len()),
        ];
        for (key, _) in lists.into_iter().filter(|(_, length)| *length > MAX_PATTERNS) {
            let message = format!("more than {MAX_PATTERNS} entries");
            report(node, decoder, key, &message, "use patterns, or several alerts");
            is_fine = false;
        }
        is_fine
    }
}

impl ResourceSpec for AlertSpec {
    fn references<'s>(&'s self, _name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        for (index, provider) in self.providers.iter().enumerate() {
            visit(Reference::new(
                Kind::NotificationProvider,
                provider.as_str(),
                SpecPath::Item("providers", index),
            ));
        }
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Spec;

    fn problems(kind: Kind, json: &str) -> Vec<Code> {
        Spec::read(kind, json).diagnostics.into_iter().map(|problem| problem.code).collect()
    }

    #[test]
    fn each_type_of_provider_takes_exactly_what_it_can_use() {
        let provider = |json: &str| problems(Kind::NotificationProvider, json);
        for json in [
            r##"{"type": "slack", "credential_path": "chat", "channel": "#ops"}"##,
            r#"{"type": "discord", "credential_path": "chat"}"#,
            r#"{"type": "teams", "credential_path": "chat"}"#,
            r#"{"type": "webhook", "address": "https://x.example"}"#,
            r#"{"type": "webhook", "credential_path": "hook"}"#,
            r#"{"type": "alertmanager", "address": "https://am.example:9093"}"#,
            r#"{"type": "email", "address": "smtps://m.example", "from": "a@b.c", "to": ["d@e.f"]}"#,
        ] {
            assert_eq!(provider(json), [], "{json}");
        }
        for (json, code) in [
            (r#"{"type": "slack", "address": "https://x.example"}"#, Code::BadValue),
            (r#"{"type": "slack"}"#, Code::MissingKey),
            (r#"{"type": "webhook", "address": "smtp://x.example"}"#, Code::BadValue),
            (r#"{"type": "webhook", "address": "https://x.example", "channel": "x"}"#, Code::BadValue),
            (r#"{"type": "webhook", "address": "https://x.example", "to": ["a@b.c"]}"#, Code::BadValue),
            (r#"{"type": "email", "address": "smtp://x.example", "to": ["a@b.c"]}"#, Code::MissingKey),
            (r#"{"type": "pigeon", "credential_path": "x"}"#, Code::BadValue),
        ] {
            assert_eq!(provider(json), [code], "{json}");
        }
    }

    #[test]
    fn an_alert_needs_providers_and_refers_to_them() {
        assert_eq!(problems(Kind::Alert, r#"{"providers": []}"#), [Code::BadValue]);
        let many: Vec<String> = (0..65).map(|number| format!("\"p{number}\"")).collect();
        let many = format!(r#"{{"providers": ["a"], "events": [{}]}}"#, many.join(","));
        assert_eq!(problems(Kind::Alert, &many), [Code::BadValue]);
        let alert = Spec::read(Kind::Alert, r#"{"providers": ["b", "a"]}"#).spec.expect("it is sound");
        let names: Vec<String> = alert.targets("x").into_iter().map(|key| key.to_string()).collect();
        assert_eq!(names, ["notification_provider a", "notification_provider b"]);
    }
}
