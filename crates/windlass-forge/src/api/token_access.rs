//! Checks whether a token is valid and may write to a repository, without writing anything.

use serde_json::Value;

use super::error::ForgeError;
use super::request::{Request, below, whoami};
use super::{Forge, ForgeKind, Project};

/// GitLab's access level Developer, which may set commit statuses.
const GITLAB_DEVELOPER: i64 = 30;

/// The user of a token, and their access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenAccess {
    /// The login of the user.
    pub login: String,
    /// The user's access to the repository.
    pub access: RepositoryAccess,
}

/// A user's access to a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryAccess {
    /// May read.
    Read,
    /// May write, and so set statuses.
    Write,
}

fn access(kind: ForgeKind, repository: &Value) -> RepositoryAccess {
    let permissions = repository.get("permissions");
    let may_write = match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => {
            permissions.and_then(|all| all.get("push")).and_then(Value::as_bool) == Some(true)
        }
        ForgeKind::GitLab => ["project_access", "group_access"].iter().any(|through| {
            let level = permissions.and_then(|all| all.get(through)?.get("access_level")?.as_i64());
            level.is_some_and(|level| level >= GITLAB_DEVELOPER)
        }),
    };
    if may_write { RepositoryAccess::Write } else { RepositoryAccess::Read }
}

impl Forge {
    /// Finds out whom the token belongs to and what it may do with a project.
    pub async fn test(&self, project: &Project) -> Result<TokenAccess, ForgeError> {
        let me = self.client.send(&whoami()).await?.body;
        let key = if self.kind == ForgeKind::GitLab { "username" } else { "login" };
        let login = me.get(key).and_then(Value::as_str).ok_or_else(|| self.client.unexpected_response())?;
        let whole = project.to_string();
        let path = below(self.kind, project, &whole, &[]);
        let found = self.client.send(&Request::get(&path, format!("read {whole}"))).await?;
        Ok(TokenAccess { login: login.chars().take(100).collect(), access: access(self.kind, &found.body) })
    }
}
