//! A request before it is sent: values, so that tests can read it.

use serde_json::Value;

use super::{ForgeKind, Project};

/// How something is asked.
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
    /// Parts of the path below the API's base, each percent-encoded when it is sent: no `/` in one can lead elsewhere.
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
    /// What it is for, to go on after "cannot": `set a commit status of acme/fleet`.
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

    /// The same with a body.
    pub(super) fn body(self, body: Value) -> Request {
        Request { body: Some(body), ..self }
    }
}

/// The path of a project and what is below it. GitLab has the whole name in one part.
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

/// Who the token belongs to.
pub(super) fn whoami() -> Request {
    Request::get(&["user"], "read its own user")
}
