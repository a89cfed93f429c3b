//! The approval policy, and its editor.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;
use windlass_api::types::{ErrorBody, Problem};
use windlass_core::yaml;
use windlass_web::frame::{Notice, Place, Tone};
use windlass_web::pages::settings::Policy;

use super::came::is_mendable;
use super::edit::problem;
use super::form::Form;
use super::visit::Visit;
use super::{answer, frame};
use crate::auth::Identity;
use crate::http::policy;
use crate::http::request::{Answer, IfMatch};
use crate::server::Server;

/// An account without rules: what an editor begins with.
const NO_RULES: &str = "rules: []\n";

pub(super) async fn show(State(server): State<Server>, who: Identity, visit: Visit) -> Answer {
    let mut reading = server.store().read().await?;
    let stored = policy::load(&mut reading, &who).await?;
    drop(reading);
    let has_rules = stored.policy.get("rules").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    let text = if has_rules { yaml::write(stored.policy) } else { NO_RULES.to_owned() };
    page(&server, &who, &visit, text, stored.version, Wrong::default()).await
}

pub(super) async fn save(State(server): State<Server>, who: Identity, visit: Visit, form: Form) -> Answer {
    let text = form.text("text").to_owned();
    let known: Option<i64> = form.text("version").parse().ok();
    let wrong = match policy::read(&text) {
        Ok(read) => match policy::put(&server, &who, &IfMatch(known), &read).await {
            Ok(_) => {
                let notice = Notice::new(Tone::Good, "The policy was saved");
                return answer::go_saying(&server, &visit, "/app/settings/policy", &notice);
            }
            Err(error) if is_mendable(&error) => {
                Wrong { problems: Vec::new(), error: Some(error.into_body()) }
            }
            Err(error) => return Err(error),
        },
        Err(problems) => Wrong { problems: problems.iter().map(problem).collect(), error: None },
    };
    page(&server, &who, &visit, text, known.unwrap_or_default(), wrong).await
}

/// What is wrong with a policy.
#[derive(Default)]
struct Wrong {
    problems: Vec<Problem>,
    error: Option<ErrorBody>,
}

async fn page(
    server: &Server,
    who: &Identity,
    visit: &Visit,
    text: String,
    version: i64,
    wrong: Wrong,
) -> Answer {
    let mut reading = server.store().read().await?;
    let frame = frame::load(server, &mut reading, who, visit, Place::Settings).await?;
    drop(reading);
    let is_wrong = !wrong.problems.is_empty() || wrong.error.is_some();
    let page = Policy { frame, text, version, problems: wrong.problems, error: wrong.error };
    match is_wrong {
        true => Ok(answer::html(StatusCode::UNPROCESSABLE_ENTITY, &page)),
        false => answer::page(server, visit, &page),
    }
}
