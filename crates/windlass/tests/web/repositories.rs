//! Repositories in a browser: registered, tested, changed, synced and removed with plain forms.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::browser::{Browser, button, field};
use crate::harness::{FLEET, Installation, Person, file_url, fleet};

async fn shown(installation: &Installation, who: &Person, id: &str) -> Value {
    let path = format!("/api/v1/system/gitops_repositories/{id}");
    installation.get(who, &path).await["gitops_repository"].clone()
}

/// The form as a browser sends it, with these fields filled.
fn form<'f>(fields: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let mut whole = vec![("branch", "main"), ("reconcile_interval_seconds", "300")];
    whole.extend_from_slice(fields);
    whole
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_tested_from_the_form_and_then_registered() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let work = fleet(FLEET);
    let url = file_url(&work);
    let page = browser.page("/app/repositories/new").await;
    for told in ["username", "ssh_key", "known_hosts", "Test connection"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let absent = form(&[("repo_url", "file:///nowhere/at/all"), ("name", "fleet")]);
    let tested = browser.submit(&page, "/app/repositories/new/test", &absent).await;
    assert_eq!(tested.status, 200, "{tested:?}");
    assert!(tested.text.contains("check-failed") && tested.text.contains("class=\"remedy\""), "{tested:?}");
    assert!(tested.text.contains("value=\"file:///nowhere/at/all\""), "what was typed stays: {tested:?}");
    let good = form(&[("repo_url", &url), ("name", "fleet")]);
    let tested = browser.submit(&page, "/app/repositories/new/test", &good).await;
    assert!(tested.text.contains("All checks passed"), "{tested:?}");
    let none = installation.get(&admin, "/api/v1/system/gitops_repositories").await;
    assert_eq!(none["gitops_repositories"], json!([]), "testing registers nothing");
    let after = browser.submit_and_follow(&page, "/app/repositories/new", &good).await;
    assert!(after.contains("Registered fleet") && after.contains("Enable scheduled sync"), "{after}");
    let taken = browser.submit(&page, "/app/repositories/new", &good).await;
    assert_eq!(taken.status, 422, "{taken:?}");
    assert!(taken.text.contains("a repository named fleet exists"), "{taken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_field_is_said_at_the_field() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/repositories/new").await;
    for (name, value, told) in [
        ("repo_url", "javascript:alert(1)", "the URL has no scheme and no user"),
        ("repo_url", "https://user:secret@git.example.com/x.git", "field-error"),
        ("branch", "a..b", "field-error"),
        ("path_prefix", "../up", "field-error"),
        ("reconcile_interval_seconds", "1", "10 to 86400"),
        ("reconcile_interval_seconds", "soon", "whole number"),
        ("ca_pem", "not a certificate", "not a PEM certificate"),
        ("allowed_signers", "nobody", "field-error"),
    ] {
        let mut fields = vec![("repo_url", "https://git.example.com/fleet.git")];
        fields.extend(form(&[]));
        fields.retain(|(field, _)| *field != name);
        fields.push((name, value));
        let reply = browser.submit(&page, "/app/repositories/new", &fields).await;
        assert_eq!(reply.status, 422, "{name} {value}: {reply:?}");
        assert!(
            reply.text.contains("class=\"field-error\"") && reply.text.contains(told),
            "{name}: {reply:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_the_wrong_place_does_not_come_back() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/repositories/new").await;
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary-in-form\n-----END OPENSSH PRIVATE KEY-----";
    for fields in [
        form(&[("repo_url", "https://ada:canary-in-form@git.example.com/fleet.git")]),
        form(&[("repo_url", "https://git.example.com/fleet.git"), ("ca_pem", key)]),
        form(&[("repo_url", "https://git.example.com/fleet.git"), ("allowed_signers", key)]),
        form(&[("repo_url", "https://git.example.com/fleet.git"), ("vault_credential_path", key)]),
    ] {
        for path in ["/app/repositories/new", "/app/repositories/new/test"] {
            let reply = browser.submit(&page, path, &fields).await;
            assert_eq!(reply.status, 422, "{reply:?}");
            assert!(!reply.text.contains("canary-in-form"), "{fields:?}: {reply:?}");
            assert!(reply.text.contains("https://git.example.com/fleet.git"), "{reply:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_changed_only_as_it_was_looked_at_and_keeps_what_is_left_empty() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let id = installation.register(&admin, "fleet", &work).await;
    let path = format!("/api/v1/system/gitops_repositories/{id}");
    let ca = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----";
    let body = json!({"gitops_repository": {"ca_pem": ca}});
    installation.tell(&admin.token, "PATCH", &path, &body).await.expect(200);
    let mut browser = Browser::of(&installation, &admin);
    let edit = format!("/app/repositories/{id}/edit");
    let page = browser.page(&edit).await;
    assert!(page.contains("A CA is set") && !page.contains("MA=="), "{page}");
    let version = field(&page, "version");
    let url = file_url(&work);
    let fields =
        form(&[("repo_url", &url), ("name", "renamed"), ("auto_apply", "yes"), ("version", &version)]);
    let after = browser.submit_and_follow(&page, &edit, &fields).await;
    assert!(after.contains("Saved renamed"), "{after}");
    let now = shown(&installation, &admin, &id).await;
    assert_eq!(
        (&now["name"], &now["auto_apply"], &now["has_ca"]),
        (&json!("renamed"), &json!(true), &json!(true))
    );
    let stale = browser.submit(&page, &edit, &fields).await;
    assert!(stale.status == 422 && stale.text.contains("someone else changed it meanwhile"), "{stale:?}");
    let page = browser.page(&edit).await;
    let version = field(&page, "version");
    let fields = form(&[("repo_url", &url), ("name", "renamed"), ("drops_ca", "yes"), ("version", &version)]);
    browser.submit_and_follow(&page, &edit, &fields).await;
    assert_eq!(shown(&installation, &admin, &id).await["has_ca"], false);
    let schedule = format!("/app/repositories/{id}/schedule");
    let after = browser.submit_and_follow(&page, &schedule, &[("enabled", "yes")]).await;
    assert!(after.contains("renamed: scheduled sync enabled") && after.contains("Disable"), "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_forge_is_told_is_chosen_in_the_form_and_taken_back_there() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/repositories/new").await;
    assert!(page.contains("Forge status reporting") && page.contains("Gitea or Forgejo"), "{page}");
    let at = ("repo_url", "https://git.example.com/acme/fleet.git");
    for (name, value, told) in [
        ("forge_api_url", "https://evil.example", "neither the repository’s host nor"),
        ("forge_api_url", "http://git.example.com:1", "neither"),
        ("forge_project", "../up", "not the name of a repository"),
        ("forge_credential_path", "", "required for the token"),
    ] {
        let mut fields = form(&[at, ("forge_kind", "gitea"), ("forge_credential_path", "gitops/forge")]);
        fields.retain(|(field, _)| *field != name);
        fields.push((name, value));
        let reply = browser.submit(&page, "/app/repositories/new", &fields).await;
        let told = told.replace('’', "&#39;");
        assert!(reply.status == 422 && reply.text.contains(&told), "{name}: {reply:?}");
        assert!(reply.text.contains("class=\"field-error\""), "{name}: {reply:?}");
    }
    let good = form(&[
        at,
        ("forge_kind", "gitea"),
        ("forge_credential_path", "gitops/forge"),
        ("forge_comment", "yes"),
    ]);
    browser.submit_and_follow(&page, "/app/repositories/new", &good).await;
    let now = shown(&installation, &admin, "fleet").await;
    let forge = &now["forge"];
    assert_eq!((&forge["kind"], &forge["commit_status"]), (&json!("gitea"), &json!(false)), "{now}");
    assert_eq!((&forge["comment"], &forge["credential_path"]), (&json!(true), &json!("gitops/forge")));
    let id = now["id"].as_str().unwrap();
    let here = browser.page(&format!("/app/repositories/{id}")).await;
    assert!(here.contains("Gitea, comments"), "{here}");
    let edit = format!("/app/repositories/{id}/edit");
    let page = browser.page(&edit).await;
    assert!(
        page.contains("<option value=\"gitea\" selected>") && page.contains("value=\"gitops/forge\""),
        "{page}"
    );
    let none = form(&[at, ("name", "fleet"), ("forge_kind", "none")]);
    browser.submit_and_follow(&page, &edit, &none).await;
    assert_eq!(shown(&installation, &admin, id).await["forge"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_page_tests_syncs_and_removes_it() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    installation.apply_all(&admin, &run).await;
    let mut browser = Browser::of(&installation, &admin);
    let here = format!("/app/repositories/{id}");
    let page = browser.page(&here).await;
    assert!(page.contains("stay unchanged") && page.contains("/app/runs/"), "{page}");
    let tested = browser.submit(&page, &format!("{here}/test"), &[]).await;
    assert!(tested.status == 200 && tested.text.contains("All checks passed"), "{tested:?}");
    let synced = browser.submit_and_follow(&page, &format!("{here}/sync"), &[("back", &here)]).await;
    assert!(synced.contains("Sync started"), "{synced}");
    let forgot = browser.submit_and_follow(&page, &format!("{here}/forget-host-keys"), &[]).await;
    assert!(forgot.contains("Pinned host keys removed"), "{forgot}");
    let remove = format!("{here}/remove");
    let wrong = browser.submit_and_follow(&page, &remove, &[("name", "flet")]).await;
    assert!(wrong.contains("Nothing was removed"), "{wrong}");
    let after = browser.submit_and_follow(&page, &remove, &[("name", "fleet")]).await;
    assert!(after.contains("Removed fleet") && after.contains("No repository yet"), "{after}");
    let nodes = installation.get(&admin, "/api/v1/system/nodes").await;
    assert!(!nodes["nodes"].as_array().unwrap().is_empty(), "what it owned stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_that_would_destroy_most_is_confirmed_where_it_is_told() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let clusters: String = (0..12).map(|n| format!("  c{n}: {{}}\n")).collect();
    let work = fleet(&format!("version: 1\naccount: acme\nclusters:\n{clusters}"));
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    installation.apply_all(&admin, &run).await;
    work.commit("fleet.yaml", "version: 1\naccount: acme\n");
    let run = installation.sync(&admin, &id).await;
    assert_eq!(run["error"]["code"], "mass-destroy", "{run}");
    let mut browser = Browser::of(&installation, &admin);
    let run_page = browser.page(&format!("/app/runs/{}", run["id"].as_str().unwrap())).await;
    assert!(run_page.contains("Confirm: propose these deletions"), "{run_page}");
    let here = format!("/app/repositories/{id}");
    let page = browser.page(&here).await;
    assert!(page.contains("Sync stopped: too many deletions"), "{page}");
    let sync = format!("{here}/sync");
    let commit = format!("name=\"commit\" value=\"{}\"", run["commit_sha"].as_str().unwrap());
    assert!(
        page.contains(&commit) && run_page.contains(&commit),
        "a confirmation is for what is shown: {page}"
    );
    let commit = run["commit_sha"].as_str().unwrap();
    let reply = browser.submit(&page, &sync, &[("confirm_mass_destroy", "yes"), ("commit", commit)]).await;
    let run = reply.header("location").rsplit('/').next().unwrap().to_owned();
    let path = format!("/api/v1/system/gitops_sync_runs/{run}?wait=60");
    let run = installation.get(&admin, &path).await;
    assert_eq!((&run["error"], &run["diff_count"]), (&Value::Null, &json!(12)), "{run}");
    let page = browser.page(&here).await;
    assert!(
        !page.contains("Sync stopped: too many deletions") && page.contains("Review 12 changes"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_look_sees_every_action_disabled_with_the_reason() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let id = installation.register(&admin, "fleet", &work).await;
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let mut browser = Browser::of(&installation, &viewer);
    let page = browser.page(&format!("/app/repositories/{id}")).await;
    for name in [
        "Test connection",
        "Sync now",
        "Edit",
        "Enable scheduled sync",
        "Show secret",
        "Replace the secret",
        "Remove the repository",
    ] {
        let end = page.find(&format!("{name}</button>")).unwrap_or_else(|| panic!("no {name} in {page}"));
        let tag = &page[page[..end].rfind("<button").unwrap()..end];
        assert!(tag.contains(" disabled"), "{name}: {tag}");
    }
    for permission in ["system.gitops.sync", "system.gitops.write"] {
        assert!(page.contains(&format!("this needs the permission {permission}")), "{page}");
    }
    let list = browser.page("/app/repositories").await;
    assert!(button(&list, "Register a repository").contains(" disabled"), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_of_a_webhook_is_shown_by_the_answer_to_its_form_and_by_no_page() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let id = installation.register(&admin, "fleet", &work).await;
    let path = format!("/api/v1/system/gitops_repositories/{id}/webhook");
    let secret = installation.get(&admin, &path).await["secret"].as_str().unwrap().to_owned();
    let mut browser = Browser::of(&installation, &admin);
    let here = format!("/app/repositories/{id}");
    let page = browser.page(&here).await;
    let url = format!("{}/api/v1/webhooks/{id}", installation.base);
    assert!(page.contains(&url) && page.contains("pushes are detected at the next scheduled sync"), "{page}");
    let shown = browser.submit(&page, &format!("{here}/webhook"), &[]).await;
    assert!(shown.status == 200 && shown.text.contains(&secret), "{shown:?}");
    assert!(shown.text.contains("Gitea or Forgejo") && shown.text.contains("whsec_"), "{shown:?}");
    for again in [&here, &format!("{here}/webhook")] {
        let page = browser.page(again).await;
        assert!(
            page.contains(&url) && !page.contains(&secret) && !page.contains("whsec_"),
            "{again}: {page}"
        );
    }
    let after = browser.submit_and_follow(&page, &format!("{here}/webhook/rotate"), &[]).await;
    assert!(after.contains("Webhook secret replaced") && !after.contains(&secret), "{after}");
    let shown = browser.submit(&page, &format!("{here}/webhook"), &[]).await;
    assert!(!shown.text.contains(&secret), "{shown:?}");
    let audit = installation.get(&admin, "/api/v1/system/audit?target=repository/fleet").await;
    let actions = crate::harness::texts(&audit["audit"], "action");
    let looks = |action: &str| actions.iter().filter(|found| *found == action).count();
    assert_eq!((looks("repository.show_webhook"), looks("repository.rotate_webhook")), (3, 1), "{actions:?}");
}
