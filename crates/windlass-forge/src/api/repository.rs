//! Creates a repository. Only for Gitea and Forgejo, as the runbook needs it.

use serde_json::{Value, json};

use super::error::ForgeError;
use super::request::{Request, RequestMethod, whoami};
use super::{Forge, Project};

/// A repository to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRepository {
    /// The owner and the name.
    pub project: Project,
    /// Who may see it.
    pub visibility: Visibility,
}

/// Who may see a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The people it is shared with.
    Private,
    /// Everyone who can use the forge.
    Public,
}

/// A repository that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedRepository {
    /// `owner/name`.
    pub full_name: String,
    /// The https clone URL.
    pub clone_url: String,
    /// The ssh clone URL.
    pub ssh_url: String,
    /// The web page.
    pub html_url: String,
    /// Who may see it.
    pub visibility: Visibility,
    /// The default branch.
    pub default_branch: String,
}

/// The kind of owner; each kind needs a different request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepositoryOwner {
    Myself,
    Organisation,
    SomeoneElse,
}

fn operation_text(new: &NewRepository) -> String {
    format!("create the repository {}", new.project)
}

fn create_request(new: &NewRepository, owner: RepositoryOwner) -> Request {
    let name = new.project.owner();
    let path = match owner {
        RepositoryOwner::Myself => vec!["user", "repos"],
        RepositoryOwner::Organisation => vec!["orgs", name, "repos"],
        RepositoryOwner::SomeoneElse => vec!["admin", "users", name, "repos"],
    };
    Request::new(RequestMethod::Post, &path, operation_text(new)).body(json!({
        "name": new.project.name(), "private": new.visibility == Visibility::Private,
        "default_branch": "main", "auto_init": false,
    }))
}

fn read_created(body: &Value) -> Option<CreatedRepository> {
    let text = |key: &str| body.get(key)?.as_str().map(str::to_owned);
    let private = body.get("private")?.as_bool()?;
    Some(CreatedRepository {
        full_name: text("full_name")?,
        clone_url: text("clone_url").unwrap_or_default(),
        ssh_url: text("ssh_url").unwrap_or_default(),
        html_url: text("html_url").unwrap_or_default(),
        visibility: if private { Visibility::Private } else { Visibility::Public },
        default_branch: text("default_branch").unwrap_or_default(),
    })
}

impl Forge {
    /// Creates an empty repository: for the token's user, for an organisation, or, with an administrator's token, for
    /// another user.
    pub async fn create_repository(&self, new: &NewRepository) -> Result<CreatedRepository, ForgeError> {
        let owner = self.find_owner(new).await?;
        let answer = self.client.send(&create_request(new, owner)).await?;
        read_created(&answer.body).ok_or_else(|| self.client.unexpected_response())
    }

    async fn find_owner(&self, new: &NewRepository) -> Result<RepositoryOwner, ForgeError> {
        let owner = new.project.owner();
        let me = self.client.send(&whoami()).await?.body;
        let login =
            me.get("login").and_then(Value::as_str).ok_or_else(|| self.client.unexpected_response())?;
        if login.eq_ignore_ascii_case(owner) {
            return Ok(RepositoryOwner::Myself);
        }
        let request = Request::get(&["orgs", owner], format!("find the organisation {owner}"));
        let is_admin = me.get("is_admin").and_then(Value::as_bool) == Some(true);
        match (self.client.send(&request).await, is_admin) {
            (Ok(_), _) => Ok(RepositoryOwner::Organisation),
            (Err(ForgeError::Missing { .. }), true) => Ok(RepositoryOwner::SomeoneElse),
            (Err(ForgeError::Missing { .. }), false) => Err(ForgeError::NoOwner { owner: owner.to_owned() }),
            (Err(error), _) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_made_where_its_owner_is() {
        let project = Project::parse("acme/fleet-config").expect("a project");
        let new = NewRepository { project, visibility: Visibility::Private };
        for (owner, path) in [
            (RepositoryOwner::Myself, "user/repos"),
            (RepositoryOwner::Organisation, "orgs/acme/repos"),
            (RepositoryOwner::SomeoneElse, "admin/users/acme/repos"),
        ] {
            let request = create_request(&new, owner);
            assert_eq!((request.method, request.path.join("/")), (RequestMethod::Post, path.to_owned()));
            let body = request.body.expect("a body");
            assert_eq!((&body["name"], &body["private"]), (&json!("fleet-config"), &json!(true)));
            assert_eq!(body["auto_init"], false, "the first commit is the operator's");
        }
    }
}
