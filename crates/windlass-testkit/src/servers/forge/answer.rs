//! The responses of each forge.

use serde_json::{Value, json};

use super::state::{FakeComment, ForgeFlavour, ForgeState, LOGIN, ReceivedRequest, TOKEN, USER_ID};

const PROJECT: &str = "acme/fleet";

type ForgeResponse = (u16, Value);

fn missing() -> ForgeResponse {
    (404, json!({"message": "Not Found"}))
}

/// Answers a request, if its token is valid.
pub(super) fn answer(
    flavour: ForgeFlavour,
    state: &mut ForgeState,
    received: &ReceivedRequest,
) -> ForgeResponse {
    let (base, scheme) = match flavour {
        ForgeFlavour::GitHub => ("/api/v3/", "Bearer"),
        ForgeFlavour::Gitea => ("/api/v1/", "token"),
        ForgeFlavour::GitLab => ("/api/v4/", "Bearer"),
    };
    let Some(path) = received.path.strip_prefix(base) else { return missing() };
    if received.header("authorization") != format!("{scheme} {TOKEN}") {
        return (401, json!({"message": "Bad credentials"}));
    }
    let parts: Vec<String> = path.split('/').map(|part| part.replace("%2F", "/")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (flavour, received.method.as_str(), parts.as_slice()) {
        (_, "GET", ["user"]) => (200, user(flavour, state)),
        (ForgeFlavour::GitLab, _, ["projects", PROJECT, rest @ ..]) => {
            project(flavour, state, received, rest)
        }
        (ForgeFlavour::GitHub | ForgeFlavour::Gitea, _, ["repos", owner, name, rest @ ..])
            if format!("{owner}/{name}") == PROJECT =>
        {
            project(flavour, state, received, rest)
        }
        (ForgeFlavour::Gitea, "GET", ["orgs", "acme"]) => (200, json!({"id": 3, "name": "acme"})),
        (ForgeFlavour::Gitea, "POST", ["user", "repos"]) => create_repository(state, LOGIN, received),
        (ForgeFlavour::Gitea, "POST", ["orgs", "acme", "repos"]) => {
            create_repository(state, "acme", received)
        }
        (ForgeFlavour::Gitea, "POST", ["admin", "users", owner, "repos"]) => match state.is_admin {
            true => create_repository(state, owner, received),
            false => (403, json!({"message": "user should be the site admin"})),
        },
        _ => missing(),
    }
}

fn user(flavour: ForgeFlavour, state: &ForgeState) -> Value {
    let (id, login) = (USER_ID, LOGIN);
    match flavour {
        ForgeFlavour::GitLab => json!({"id": id, "username": login}),
        ForgeFlavour::GitHub => json!({"id": id, "login": login}),
        ForgeFlavour::Gitea => json!({"id": id, "login": login, "is_admin": state.is_admin}),
    }
}

fn create_repository(state: &mut ForgeState, owner: &str, received: &ReceivedRequest) -> ForgeResponse {
    let name = received.body["name"].as_str().unwrap_or_default();
    let full_name = format!("{owner}/{name}");
    if state.repositories.contains(&full_name) || full_name == PROJECT {
        return (409, json!({"message": "The repository with the same name already exists."}));
    }
    state.repositories.push(full_name.clone());
    let created = json!({
        "id": 9, "full_name": full_name, "private": received.body["private"], "default_branch": "main",
        "clone_url": format!("https://gitea.example.com/{full_name}.git"),
        "ssh_url": format!("git@gitea.example.com:{full_name}.git"),
        "html_url": format!("https://gitea.example.com/{full_name}"),
    });
    (201, created)
}

fn project(
    flavour: ForgeFlavour,
    state: &mut ForgeState,
    received: &ReceivedRequest,
    rest: &[&str],
) -> ForgeResponse {
    let is_writing = received.method != "GET";
    if is_writing && state.may_only_read {
        return (403, json!({"message": "Resource not accessible"}));
    }
    match (received.method.as_str(), rest) {
        ("GET", []) => {
            let level = if state.may_only_read { 20 } else { 30 };
            let push = !state.may_only_read;
            let access =
                json!({"push": push, "project_access": {"access_level": level}, "group_access": null});
            (200, json!({"id": 5, "full_name": PROJECT, "permissions": access}))
        }
        ("POST", ["statuses", commit]) => status(flavour, state, commit, &received.body),
        (method, ["issues", number, "comments"] | ["merge_requests", number, "notes"]) => match method {
            "GET" => (200, list(flavour, state, number, &received.query)),
            _ => {
                let text = received.body["body"].as_str().unwrap_or_default();
                let id = add_comment(state, number, USER_ID, text);
                (201, json!({"id": id}))
            }
        },
        ("PATCH", ["issues", "comments", id]) | ("PUT", ["merge_requests", _, "notes", id]) => {
            match state.comments.iter_mut().find(|comment| comment.id.to_string() == *id) {
                Some(comment) if comment.author == USER_ID => {
                    received.body["body"].as_str().unwrap_or_default().clone_into(&mut comment.body);
                    (200, json!({"id": comment.id}))
                }
                Some(_) => (403, json!({"message": "it is someone else's"})),
                None => missing(),
            }
        }
        _ => missing(),
    }
}

fn status(flavour: ForgeFlavour, state: &mut ForgeState, commit: &str, body: &Value) -> ForgeResponse {
    let name = if flavour == ForgeFlavour::GitLab { "name" } else { "context" };
    let last = state.statuses.iter().rev().find(|(of, kept)| of == commit && kept[name] == body[name]);
    let is_pending_twice =
        body["state"] == "pending" && last.is_some_and(|(_, kept)| kept["state"] == "pending");
    if flavour == ForgeFlavour::GitLab && is_pending_twice {
        return (400, json!({"message": "Cannot transition status via :enqueue from :pending"}));
    }
    state.statuses.push((commit.to_owned(), body.clone()));
    (201, json!({"id": state.statuses.len()}))
}

pub(super) fn add_comment(state: &mut ForgeState, number: &str, author: i64, body: &str) -> i64 {
    let id = 100 + i64::try_from(state.comments.len()).unwrap_or(0);
    let (number, body) = (number.to_owned(), body.to_owned());
    state.comments.push(FakeComment { id, number, author, body });
    id
}

fn list(flavour: ForgeFlavour, state: &ForgeState, number: &str, query: &str) -> Value {
    let query_number = |name: &str| {
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse::<usize>().ok())
    };
    let author = if flavour == ForgeFlavour::GitLab { "author" } else { "user" };
    let all = state.comments.iter().filter(|comment| comment.number == number);
    let listed =
        all.map(|comment| json!({"id": comment.id, "body": comment.body, author: {"id": comment.author}}));
    match flavour {
        // All at once, whatever page is requested.
        ForgeFlavour::Gitea => listed.collect(),
        ForgeFlavour::GitHub | ForgeFlavour::GitLab => {
            let size = query_number("per_page").unwrap_or(30).min(100);
            listed.skip((query_number("page").unwrap_or(1).max(1) - 1) * size).take(size).collect()
        }
    }
}
