//! The one comment that Windlass writes on a pull request and then updates in place.
//!
//! A comment counts as ours if it begins with our marker and the token's user wrote it: anyone can write a marker.

use serde_json::{Value, json};
use windlass_core::id::RepositoryId;

use super::error::ForgeError;
use super::request::{Request, RequestMethod, below, whoami};
use super::{Forge, ForgeKind, Project};

/// Comments per page.
const COMMENTS_PER_PAGE: usize = 50;

/// How many pages are searched: our comment is written early in the conversation.
const MAX_PAGES: usize = 40;

/// The lowest limit among the forges, less the length of the marker and of the note about the cut.
const MAX_CHARS: usize = 60_000;

/// The marker at the beginning of our comments for a repository; forges do not display it.
pub fn marker(repository_id: &RepositoryId) -> String {
    format!("<!-- windlass:{repository_id} -->")
}

/// The text of a comment: the marker and the markdown, cut to the limit of forges.
pub fn comment_text(marker: &str, markdown: &str) -> String {
    if markdown.chars().count() <= MAX_CHARS {
        return format!("{marker}\n{markdown}");
    }
    let kept: String = markdown.chars().take(MAX_CHARS).collect();
    // Cut at a line end, so that no markup is cut in the middle; an open code fence is closed.
    let kept = kept.rsplit_once('\n').map_or(kept.as_str(), |(lines, _)| lines);
    let is_open = kept.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1;
    let fence = if is_open { "\n```" } else { "" };
    format!("{marker}\n{kept}{fence}\n\n*Truncated: the rest does not fit in a comment.*")
}

/// The desired comment of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullRequestComment<'c> {
    /// The pull request's number.
    pub number: u64,
    /// The marker of our comments.
    pub marker: &'c str,
    /// The whole text, beginning with the marker.
    pub text: &'c str,
}

/// What was done to get the desired comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentChange {
    /// It was created.
    Written,
    /// It was updated in place.
    Changed,
    /// It was already there.
    Unchanged,
}

/// The API path of a pull request's comments.
fn comments_path(kind: ForgeKind, number: &str) -> [&str; 3] {
    match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => ["issues", number, "comments"],
        ForgeKind::GitLab => ["merge_requests", number, "notes"],
    }
}

fn operation_text(kind: ForgeKind, project: &Project, number: u64) -> String {
    format!("comment on {} {number} of {project}", kind.request_word())
}

fn list_request(kind: ForgeKind, project: &Project, number: u64, page: usize) -> Request {
    let (whole, number_text) = (project.to_string(), number.to_string());
    let path = below(kind, project, &whole, &comments_path(kind, &number_text));
    let mut request = Request::get(&path, operation_text(kind, project, number));
    // Gitea returns all comments at once.
    if kind != ForgeKind::Gitea {
        request.query.extend([("per_page", COMMENTS_PER_PAGE.to_string()), ("page", page.to_string())]);
    }
    if kind == ForgeKind::GitLab {
        request.query.extend([("sort", "asc".to_owned()), ("order_by", "created_at".to_owned())]);
    }
    request
}

fn create_request(kind: ForgeKind, project: &Project, comment: PullRequestComment<'_>) -> Request {
    let (whole, number) = (project.to_string(), comment.number.to_string());
    let path = below(kind, project, &whole, &comments_path(kind, &number));
    Request::new(RequestMethod::Post, &path, operation_text(kind, project, comment.number))
        .body(json!({"body": comment.text}))
}

fn update_request(kind: ForgeKind, project: &Project, comment: PullRequestComment<'_>, id: &str) -> Request {
    let (whole, number) = (project.to_string(), comment.number.to_string());
    let (method, rest) = match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => (RequestMethod::Patch, vec!["issues", "comments", id]),
        ForgeKind::GitLab => (RequestMethod::Put, vec!["merge_requests", &number, "notes", id]),
    };
    let path = below(kind, project, &whole, &rest);
    Request::new(method, &path, operation_text(kind, project, comment.number))
        .body(json!({"body": comment.text}))
}

/// The id of a comment's author.
fn author(kind: ForgeKind, comment: &Value) -> Option<i64> {
    let key = match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => "user",
        ForgeKind::GitLab => "author",
    };
    comment.get(key)?.get("id")?.as_i64()
}

/// Our comment on a page: its id and its text.
fn find_own_comment(kind: ForgeKind, page: &[Value], me: i64, marker: &str) -> Option<(String, String)> {
    page.iter().find_map(|comment| {
        let text = comment.get("body")?.as_str()?;
        let is_ours = author(kind, comment) == Some(me) && text.trim_start().starts_with(marker);
        is_ours.then(|| Some((comment.get("id")?.as_i64()?.to_string(), text.to_owned())))?
    })
}

impl Forge {
    /// Creates or updates our comment on a pull request.
    pub async fn put_comment(
        &self,
        project: &Project,
        comment: PullRequestComment<'_>,
    ) -> Result<CommentChange, ForgeError> {
        let me = self.client.send(&whoami()).await?;
        let me =
            me.body.get("id").and_then(Value::as_i64).ok_or_else(|| self.client.unexpected_response())?;
        if let Some((id, text)) = self.find_comment(project, comment, me).await? {
            if is_same_text(&text, comment.text) {
                return Ok(CommentChange::Unchanged);
            }
            match self.client.send(&update_request(self.kind, project, comment, &id)).await {
                Ok(_) => return Ok(CommentChange::Changed),
                // Someone deleted the comment in the meantime.
                Err(ForgeError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.client.send(&create_request(self.kind, project, comment)).await?;
        Ok(CommentChange::Written)
    }

    async fn find_comment(
        &self,
        project: &Project,
        comment: PullRequestComment<'_>,
        me: i64,
    ) -> Result<Option<(String, String)>, ForgeError> {
        for page in 1..=MAX_PAGES {
            let answer = self.client.send(&list_request(self.kind, project, comment.number, page)).await?;
            let found = answer.body.as_array().ok_or_else(|| self.client.unexpected_response())?;
            if let Some(ours) = find_own_comment(self.kind, found, me, comment.marker) {
                return Ok(Some(ours));
            }
            if self.kind == ForgeKind::Gitea || found.len() < COMMENTS_PER_PAGE {
                break;
            }
        }
        Ok(None)
    }
}

/// Whether two texts are equal except for line ends, which forges change.
fn is_same_text(one: &str, other: &str) -> bool {
    let lines = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    lines(one) == lines(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "<!-- windlass:r1 -->";

    fn project() -> Project {
        Project::parse("acme/fleet").expect("a project")
    }

    fn comment() -> PullRequestComment<'static> {
        PullRequestComment { number: 7, marker: MARKER, text: "<!-- windlass:r1 -->\nplan" }
    }

    #[test]
    fn each_forge_has_its_comments_elsewhere() {
        let request_line = |request: Request| format!("{:?} {}", request.method, request.path.join("/"));
        for (kind, listed, changed) in [
            (
                ForgeKind::GitHub,
                "repos/acme/fleet/issues/7/comments",
                "Patch repos/acme/fleet/issues/comments/9",
            ),
            (
                ForgeKind::Gitea,
                "repos/acme/fleet/issues/7/comments",
                "Patch repos/acme/fleet/issues/comments/9",
            ),
            (
                ForgeKind::GitLab,
                "projects/acme/fleet/merge_requests/7/notes",
                "Put projects/acme/fleet/merge_requests/7/notes/9",
            ),
        ] {
            assert_eq!(request_line(list_request(kind, &project(), 7, 1)), format!("Get {listed}"));
            assert_eq!(request_line(create_request(kind, &project(), comment())), format!("Post {listed}"));
            assert_eq!(request_line(update_request(kind, &project(), comment(), "9")), changed);
            assert_eq!(
                create_request(kind, &project(), comment()).body,
                Some(json!({"body": comment().text}))
            );
        }
        assert_eq!(list_request(ForgeKind::Gitea, &project(), 7, 1).query, []);
        assert_eq!(list_request(ForgeKind::GitHub, &project(), 7, 3).query[1], ("page", "3".to_owned()));
    }

    #[test]
    fn only_what_we_wrote_ourselves_is_ours() {
        let page = [
            json!({"id": 1, "user": {"id": 66}, "body": MARKER}),
            json!({"id": 2, "user": {"id": 5}, "body": format!("> {MARKER}")}),
            json!({"id": 3, "user": {"id": 5}, "body": "hello"}),
            json!({"id": 4, "body": MARKER}),
            json!({"id": 5, "user": {"id": 5}, "body": format!("{MARKER}\nplan")}),
        ];
        let found = find_own_comment(ForgeKind::GitHub, &page, 5, MARKER);
        assert_eq!(found.map(|(id, _)| id).as_deref(), Some("5"));
        assert_eq!(
            find_own_comment(ForgeKind::GitLab, &page, 5, MARKER),
            None,
            "GitLab calls authors otherwise"
        );
    }

    #[test]
    fn a_comment_that_is_too_long_ends_at_a_line_and_says_so() {
        let long = format!("```text\n{}", "ü line of a plan\n".repeat(10_000));
        let text = comment_text(MARKER, &long);
        assert!(text.starts_with(MARKER) && text.chars().count() < 65_000);
        assert!(
            text.ends_with("a plan\n```\n\n*Truncated: the rest does not fit in a comment.*"),
            "{}",
            &text[text.len() - 99..]
        );
        assert_eq!(comment_text(MARKER, "short"), format!("{MARKER}\nshort"));
    }
}
