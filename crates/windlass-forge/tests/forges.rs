//! Which requests are sent to forges, how their responses are interpreted, and where the token is sent.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use serde_json::json;
use windlass_core::address_guard::AddressRules;
use windlass_core::id::RepositoryId;
use windlass_core::redacted::Redacted;
use windlass_forge::api::{
    ApiAddress, CommentChange, CommitStatus, Forge, ForgeError, ForgeKind, NewRepository, PlainHttp, Project,
    PullRequestComment, RepositoryAccess, Retryability, StatusState, Visibility, comment_text, marker,
};
use windlass_outbound::AddressGuard;
use windlass_testkit::servers::{FakeForge, ForgeFlavour, TlsFront};

const COMMIT: &str = "8c0ffee08c0ffee08c0ffee08c0ffee08c0ffee0";
const FLAVOURS: [ForgeFlavour; 3] = [ForgeFlavour::GitHub, ForgeFlavour::Gitea, ForgeFlavour::GitLab];

/// Fake forges are on this machine.
fn guard() -> AddressGuard {
    AddressGuard::new(AddressRules::default().with_loopback())
}

fn forge_with(pretend: &FakeForge, token: &str) -> Forge {
    let kind = ForgeKind::from_slug(pretend.kind()).unwrap();
    let address = ApiAddress::read(&pretend.url(), kind, PlainHttp::Allowed).unwrap();
    Forge::new(&address, Redacted::new(token.to_owned()), None, &guard()).unwrap()
}

fn forge(pretend: &FakeForge) -> Forge {
    forge_with(pretend, FakeForge::TOKEN)
}

fn project() -> Project {
    Project::parse("acme/fleet").unwrap()
}

fn status(state: StatusState) -> CommitStatus {
    let (context, description) = ("windlass/fleet".to_owned(), "3 changes pending approval".to_owned());
    CommitStatus { state, context, description, target_url: None }
}

async fn set(forge: &Forge) -> Result<(), ForgeError> {
    forge.set_status(&project(), COMMIT, &status(StatusState::Pending)).await
}

#[tokio::test]
async fn a_commit_status_reaches_each_forge_in_its_own_words() {
    for flavour in FLAVOURS {
        let pretend = FakeForge::start(flavour);
        let forge = forge(&pretend);
        set(&forge).await.unwrap();
        // GitLab rejects a change from pending to pending; that is not a failure.
        set(&forge).await.unwrap();
        forge.set_status(&project(), COMMIT, &status(StatusState::Failure)).await.unwrap();
        let (path, failed, name, authorization) = match flavour {
            ForgeFlavour::GitHub => ("/api/v3/repos/acme/fleet", "failure", "context", "Bearer"),
            ForgeFlavour::Gitea => ("/api/v1/repos/acme/fleet", "failure", "context", "token"),
            ForgeFlavour::GitLab => ("/api/v4/projects/acme%2Ffleet", "failed", "name", "Bearer"),
        };
        let requests = pretend.requests();
        let last = requests.last().unwrap();
        assert_eq!((last.method.as_str(), &last.path), ("POST", &format!("{path}/statuses/{COMMIT}")));
        assert_eq!(last.header("authorization"), format!("{authorization} {}", FakeForge::TOKEN));
        assert!(last.header("user-agent").starts_with("windlass/"), "{last:?}");
        assert_eq!(last.header("content-type"), "application/json");
        let wanted =
            json!({"state": failed, name: "windlass/fleet", "description": "3 changes pending approval"});
        assert_eq!(last.body, wanted);
        let accepts = last.header("accept");
        assert_eq!(accepts == "application/vnd.github+json", flavour == ForgeFlavour::GitHub, "{accepts}");
    }
}

#[tokio::test]
async fn a_comment_is_written_once_updated_in_place_and_never_someone_elses() {
    for flavour in FLAVOURS {
        let pretend = FakeForge::start(flavour);
        let (forge, marker) = (forge(&pretend), marker(&RepositoryId::new("repository-1")));
        // Other users write markers too, and there is more than one page.
        pretend.write_comment(7, 66, &comment_text(&marker, "planted"));
        for number in 0..120 {
            pretend.write_comment(7, 66, &format!("comment {number}"));
        }
        pretend.write_comment(8, FakeForge::USER_ID, &comment_text(&marker, "of another pull request"));
        let put = async |text: &str| {
            let text = comment_text(&marker, text);
            forge
                .put_comment(&project(), PullRequestComment { number: 7, marker: &marker, text: &text })
                .await
                .unwrap()
        };
        assert_eq!(put("plan one").await, CommentChange::Written);
        assert_eq!(put("plan one").await, CommentChange::Unchanged);
        assert_eq!(put("plan two").await, CommentChange::Changed);
        let comments_path = pretend.comments();
        assert_eq!(comments_path.len(), 123, "{flavour:?}");
        let ours = comments_path.last().unwrap();
        assert_eq!(
            (ours.author, ours.body.as_str()),
            (FakeForge::USER_ID, "<!-- windlass:repository-1 -->\nplan two")
        );
        assert!(comments_path[0].body.ends_with("planted"));
        pretend.remove_comments();
        assert_eq!(put("plan three").await, CommentChange::Written, "someone removed it");
    }
}

#[tokio::test]
async fn each_failure_has_its_own_name_and_a_remedy_and_repeats_no_token() {
    let pretend = FakeForge::start(ForgeFlavour::GitHub);
    let forge = forge(&pretend);
    let echo = json!({"message": format!("no {}\n\u{202e}{}", FakeForge::TOKEN, "x".repeat(999))});
    for (answer, headers, code, lasting) in [
        (401, vec![], "forge-token", Retryability::Permanent),
        (403, vec![], "forge-forbidden", Retryability::Permanent),
        (403, vec![("x-ratelimit-remaining", "0")], "forge-busy", Retryability::Transient),
        (404, vec![], "forge-missing", Retryability::Permanent),
        (409, vec![], "forge-exists", Retryability::Permanent),
        (422, vec![], "forge-refused", Retryability::Permanent),
        (429, vec![("retry-after", "7")], "forge-busy", Retryability::Transient),
        (500, vec![], "forge-answer", Retryability::Transient),
        (503, vec![("retry-after", "7")], "forge-busy", Retryability::Transient),
    ] {
        pretend.prepare(answer, &headers, echo.clone());
        let error = set(&forge).await.unwrap_err();
        assert_eq!((error.code(), error.retryability()), (code, lasting), "{answer}: {error}");
        let waits = headers.first().is_some_and(|(name, _)| *name == "retry-after");
        assert_eq!(error.retry_after(), waits.then_some(Duration::from_secs(7)), "{answer}");
        let told = format!("{error} {error:?} {}", error.help());
        assert!(!told.contains(FakeForge::TOKEN) && !told.contains('\u{202e}'), "{told}");
        assert!(!error.help().is_empty() && told.len() < 900, "{told}");
    }
    set(&forge).await.unwrap();
    let wrong = forge_with(&pretend, "another-token");
    assert_eq!(set(&wrong).await.unwrap_err().code(), "forge-token");
    let kind = ForgeKind::GitHub;
    let nobody = ApiAddress::read("http://127.0.0.1:9/", kind, PlainHttp::Allowed).unwrap();
    let nobody = Forge::new(&nobody, Redacted::new("t".to_owned()), None, &guard()).unwrap();
    assert_eq!(set(&nobody).await.unwrap_err().code(), "forge-unreachable");
    for token in ["", "two words", "line\nbreak"] {
        let address = ApiAddress::read(&pretend.url(), kind, PlainHttp::Allowed).unwrap();
        let made = Forge::new(&address, Redacted::new(token.to_owned()), None, &guard());
        assert_eq!(made.unwrap_err(), ForgeError::TokenShape, "{token:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_followed_only_on_the_same_server() {
    let (pretend, other) = (FakeForge::start(ForgeFlavour::Gitea), FakeForge::start(ForgeFlavour::Gitea));
    let forge = forge(&pretend);
    let elsewhere = format!("{}/api/v1/repos/acme/fleet/statuses/{COMMIT}", other.url());
    for status in [301, 302, 307, 308] {
        pretend.prepare(status, &[("location", &elsewhere)], json!(null));
        let error = set(&forge).await.unwrap_err();
        assert_eq!(error.code(), "forge-redirected", "{error}");
    }
    assert!(other.requests().is_empty(), "nothing was told to the other server");
    let renamed = format!("/api/v1/repos/acme/fleet/statuses/{COMMIT}");
    pretend.prepare(307, &[("location", &renamed)], json!(null));
    set(&forge).await.unwrap();
    assert_eq!(pretend.statuses().len(), 1);
    for _ in 0..9 {
        pretend.prepare(308, &[("location", &renamed)], json!(null));
    }
    assert_eq!(set(&forge).await.unwrap_err().code(), "forge-answer", "it never ends");
}

#[tokio::test]
async fn a_repository_is_made_for_oneself_an_organisation_or_as_an_administrator() {
    let pretend = FakeForge::start(ForgeFlavour::Gitea);
    let forge = forge(&pretend);
    let create = async |name: &str| {
        let project = Project::parse(name).unwrap();
        forge.create_repository(&NewRepository { project, visibility: Visibility::Private }).await
    };
    let made = create("acme/fleet-config").await.unwrap();
    assert_eq!((made.full_name.as_str(), made.default_branch.as_str()), ("acme/fleet-config", "main"));
    assert_eq!(made.ssh_url, "git@gitea.example.com:acme/fleet-config.git");
    assert_eq!(made.visibility, Visibility::Private);
    let request = pretend.requests().pop().unwrap();
    assert_eq!(request.path, "/api/v1/orgs/acme/repos");
    let wanted =
        json!({"name": "fleet-config", "private": true, "default_branch": "main", "auto_init": false});
    assert_eq!(request.body, wanted);
    assert_eq!(create("acme/fleet-config").await.unwrap_err().code(), "forge-exists");
    create("Windlass-Bot/own").await.unwrap();
    assert_eq!(pretend.requests().pop().unwrap().path, "/api/v1/user/repos");
    let refused = create("ada/hers").await.unwrap_err();
    assert_eq!(refused, ForgeError::NoOwner { owner: "ada".to_owned() });
    pretend.make_admin();
    create("ada/hers").await.unwrap();
    assert_eq!(pretend.requests().pop().unwrap().path, "/api/v1/admin/users/ada/repos");
}

#[tokio::test]
async fn a_test_tells_whose_token_it_is_and_what_it_may() {
    for flavour in FLAVOURS {
        let pretend = FakeForge::start(flavour);
        let forge = forge(&pretend);
        let reach = forge.test(&project()).await.unwrap();
        assert_eq!((reach.login.as_str(), reach.access), (FakeForge::LOGIN, RepositoryAccess::Write));
        pretend.revoke_write_permission();
        assert_eq!(forge.test(&project()).await.unwrap().access, RepositoryAccess::Read);
        let absent = forge.test(&Project::parse("acme/absent").unwrap()).await.unwrap_err();
        assert_eq!(absent.code(), "forge-missing");
        let written = pretend.requests().iter().any(|request| request.method != "GET");
        assert!(!written, "testing changes nothing");
    }
}

#[tokio::test]
async fn a_forge_with_a_private_authority_is_trusted_if_that_is_given() {
    let pretend = FakeForge::start(ForgeFlavour::GitLab);
    let Some(front) = TlsFront::start(&pretend.url()) else { return };
    let address = ApiAddress::read(&front.url(), ForgeKind::GitLab, PlainHttp::Refused).unwrap();
    let token = || Redacted::new(FakeForge::TOKEN.to_owned());
    let stranger = Forge::new(&address, token(), None, &guard()).unwrap();
    assert_eq!(set(&stranger).await.unwrap_err().code(), "forge-tls");
    assert!(pretend.requests().is_empty());
    let authority = std::fs::read_to_string(front.ca_file()).unwrap();
    set(&Forge::new(&address, token(), Some(&authority), &guard()).unwrap()).await.unwrap();
    let nonsense = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----";
    assert_eq!(Forge::new(&address, token(), Some(nonsense), &guard()).unwrap_err().code(), "forge-client");
}
