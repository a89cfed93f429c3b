//! Commit statuses, which a forge shows beside a commit.

use serde_json::json;
pub use windlass_core::forge::StatusState;

use super::client::ForgeResponse;
use super::error::ForgeError;
use super::request::{Request, RequestMethod, below};
use super::{Forge, ForgeKind, Project};

/// GitHub's limit; the other forges allow more.
pub const MAX_DESCRIPTION: usize = 140;

/// The forge's word for a state.
const fn state_word(state: StatusState, kind: ForgeKind) -> &'static str {
    match (state, kind) {
        (StatusState::Failure, ForgeKind::GitLab) => "failed",
        _ => state.slug(),
    }
}

/// A commit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitStatus {
    /// The state.
    pub state: StatusState,
    /// The reporter: a new status replaces the last one with the same context.
    pub context: String,
    /// A short description.
    pub description: String,
    /// The page with details.
    pub target_url: Option<String>,
}

fn set_status(kind: ForgeKind, project: &Project, commit: &str, status: &CommitStatus) -> Request {
    let whole = project.to_string();
    let path = below(kind, project, &whole, &["statuses", commit]);
    let described: String = status.description.chars().take(MAX_DESCRIPTION).collect();
    let context_key = match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => "context",
        ForgeKind::GitLab => "name",
    };
    let mut body = json!({
        "state": state_word(status.state, kind), context_key: status.context, "description": described,
    });
    if let Some(url) = &status.target_url {
        body["target_url"] = json!(url);
    }
    Request::new(RequestMethod::Post, &path, format!("set a commit status of {whole}")).body(body)
}

/// GitLab rejects a change from pending to pending. The status it shows is then right, except for the description.
fn is_already_pending(kind: ForgeKind, answer: &ForgeResponse) -> bool {
    let said = answer.body.get("message").and_then(serde_json::Value::as_str).unwrap_or_default();
    kind == ForgeKind::GitLab && answer.status == 400 && said.starts_with("Cannot transition status")
}

impl Forge {
    /// Sets the status of a commit; it replaces the last one with the same context.
    pub async fn set_status(
        &self,
        project: &Project,
        commit: &str,
        status: &CommitStatus,
    ) -> Result<(), ForgeError> {
        let request = set_status(self.kind, project, commit, status);
        let answer = self.client.send_any_status(&request).await?;
        match answer.status {
            200..=299 => Ok(()),
            _ if is_already_pending(self.kind, &answer) => Ok(()),
            _ => Err(self.client.response_error(&answer, &request)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_request(kind: ForgeKind, project: &str) -> Request {
        let status = CommitStatus {
            state: StatusState::Failure,
            context: "windlass/fleet".to_owned(),
            description: "ü".repeat(200),
            target_url: Some("https://windlass.example.com/app/runs/1".to_owned()),
        };
        set_status(kind, &Project::parse(project).expect("a project"), "c0ffee", &status)
    }

    #[test]
    fn each_forge_is_asked_in_its_own_words() {
        for kind in [ForgeKind::GitHub, ForgeKind::Gitea] {
            let request = status_request(kind, "acme/fleet");
            assert_eq!(
                (request.method, request.path.join(" ")),
                (RequestMethod::Post, "repos acme fleet statuses c0ffee".to_owned())
            );
            let body = request.body.expect("a body");
            assert_eq!((&body["state"], &body["context"]), (&json!("failure"), &json!("windlass/fleet")));
            assert_eq!(body["target_url"], "https://windlass.example.com/app/runs/1");
            assert_eq!(body["description"], "ü".repeat(MAX_DESCRIPTION));
        }
        let request = status_request(ForgeKind::GitLab, "group/sub/fleet");
        assert_eq!(request.path, ["projects", "group/sub/fleet", "statuses", "c0ffee"]);
        let body = request.body.expect("a body");
        assert_eq!(
            (&body["state"], &body["name"], body.get("context")),
            (&json!("failed"), &json!("windlass/fleet"), None)
        );
    }
}
