//! The approval policy, and its editor.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use windlass_api::types::{ErrorBody, Problem};
use windlass_control::ask;
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;
use windlass_core::yaml;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::settings::PolicyPage;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::edit::problem;
use crate::web::form::FormFields;
use crate::web::form_outcome::is_user_error;
use crate::web::{frame, response};

/// The text of a policy without rules, with which the editor starts.
const NO_RULES: &str = "rules: []\n";

/// The fields of a rule that are written first.
const FIRST_FIELDS: [&str; 3] = ["name", "match", "action"];

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let stored = ask::policy::load(&mut reading, &who).await?;
    drop(reading);
    let has_rules = stored.policy.get("rules").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let text = if has_rules { render_policy(stored.policy) } else { NO_RULES.to_owned() };
    page(&server, &who, &visit, text, stored.version, PolicyProblems::default()).await
}

/// The text of a policy as people write it: for each rule its name, then what it matches, then its action.
fn render_policy(policy: Value) -> String {
    let Value::Object(mut sections) = policy else { return NO_RULES.to_owned() };
    let rules = sections.remove("rules").unwrap_or_default();
    let rules = rules.as_array().into_iter().flatten().map(render_rule).collect::<String>();
    let rest = if sections.is_empty() { String::new() } else { yaml::write(Value::Object(sections)) };
    format!("rules:\n{rules}{rest}")
}

fn render_rule(rule: &Value) -> String {
    let rank = |key: &str| FIRST_FIELDS.iter().position(|first| *first == key).unwrap_or(FIRST_FIELDS.len());
    let mut fields: Vec<(&String, &Value)> = rule.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(key, _)| rank(key));
    let field = |(key, value): (&String, &Value)| yaml::write(json!({key: value}));
    let lines: String = fields.into_iter().map(field).collect();
    let indented = lines.lines().enumerate();
    indented.map(|(at, line)| format!("{}{line}\n", if at == 0 { "  - " } else { "    " })).collect()
}

pub(super) async fn save(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let text = form.text("text").to_owned();
    let known: Option<i64> = form.text("version").parse().ok();
    let wrong = match ask::policy::read(&text) {
        Ok(read) => match ask::policy::replace_policy(&server, &who, &IfMatch(known), &read).await {
            Ok(_) => {
                let notice = Notice::new(Tone::Good, "Policy saved");
                return response::redirect_with_notice(&server, &visit, "/app/settings/policy", &notice);
            }
            Err(error) if is_user_error(&error) => {
                PolicyProblems { problems: Vec::new(), error: Some(error.into_body()) }
            }
            Err(error) => return Err(error.into()),
        },
        Err(problems) => PolicyProblems { problems: problems.iter().map(problem).collect(), error: None },
    };
    page(&server, &who, &visit, text, known.unwrap_or_default(), wrong).await
}

/// What is wrong with a policy.
#[derive(Default)]
struct PolicyProblems {
    problems: Vec<Problem>,
    error: Option<ErrorBody>,
}

async fn page(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    text: String,
    version: i64,
    wrong: PolicyProblems,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Settings).await?;
    let unknown = ask::policy::load(&mut reading, who).await?.unknown_repositories;
    drop(reading);
    let is_wrong = !wrong.problems.is_empty() || wrong.error.is_some();
    let page = PolicyPage { frame, text, version, unknown, problems: wrong.problems, error: wrong.error };
    match is_wrong {
        true => Ok(response::html(StatusCode::UNPROCESSABLE_ENTITY, &page)),
        false => response::page(visit, &page),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    #[test]
    fn a_policy_is_written_in_reading_order_and_means_the_same() {
        let policy = json!({"rules": [
            {"action": "require_approval", "approvals": 2, "match": {"kinds": ["node"], "labels": {"a": "true"}},
             "name": "twice", "not_author": true},
            {"action": "block", "name": "never"},
        ]});
        let text = render_policy(policy.clone());
        let expected = "rules:\n  - name: twice\n    match:\n      kinds: [node]\n      labels: {a: \"true\"}\n    \
                        action: require_approval\n    approvals: 2\n    not_author: true\n  - name: never\n    action: block\n";
        assert_eq!(text, expected);
        assert_eq!(ask::policy::read(&text).unwrap(), ask::policy::read(&policy.to_string()).unwrap());
    }
}
