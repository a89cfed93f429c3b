//! A request before it is sent: plain values, so that tests can inspect it.

use serde_json::Value;

use super::{ForgeKind, Project};

/// The HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestMethod {
    Get,
    Post,
    Put,
    Patch,
}

/// A request to the API of a forge.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) method: RequestMethod,
    /// Components of the path below the API's base. Each is percent-encoded when the request is sent, so that a `/` in
    /// one cannot change the path.
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
    /// The operation, worded to follow "cannot": `set a commit status of acme/fleet`.
    pub(super) doing: String,
}

impl Request {
    pub(super) fn new(method: RequestMethod, path: &[&str], doing: impl Into<String>) -> Request {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Request { method, path, query: Vec::new(), body: None, doing: doing.into() }
    }

    pub(super) fn get(path: &[&str], doing: impl Into<String>) -> Request {
        Request::new(RequestMethod::Get, path, doing)
    }

    /// Sets the body.
    pub(super) fn body(self, body: Value) -> Request {
        Request { body: Some(body), ..self }
    }
}

/// The path of a project and a path below it. GitLab writes the whole project name as one component.
pub(super) fn below<'p>(
    kind: ForgeKind,
    project: &'p Project,
    whole: &'p str,
    rest: &[&'p str],
) -> Vec<&'p str> {
    let mut path = match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => vec!["repos", project.owner(), project.name()],
        ForgeKind::GitLab => vec!["projects", whole],
    };
    path.extend_from_slice(rest);
    path
}

/// Requests the user that the token belongs to.
pub(super) fn whoami() -> Request {
    Request::get(&["user"], "read its own user")
}
