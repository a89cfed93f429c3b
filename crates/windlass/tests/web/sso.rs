//! Single sign-on with a real provider: who can sign in, as whom, and with which permissions.

use serde_json::{Value, json};
use windlass_api::permission::Role;
use windlass_core::id::AccountId;
use windlass_server::OidcSettings;
use windlass_testkit::servers::OidcServer;

use crate::browser::Browser;
use crate::harness::{Installation, Reply, config, fleet, now};

/// An installation with a provider and a second account. `None` if the provider is not installed.
async fn start() -> Option<(OidcServer, Installation)> {
    let provider = OidcServer::start()?;
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    // The accounts of grants must exist when the server starts.
    let running = windlass_server::start(config.clone()).await.unwrap();
    let store = windlass_store::Store::open(&config.database).await.unwrap();
    let mut writing = store.write().await.unwrap();
    writing.account_add(&windlass_store::new_id::<AccountId>(), "lab", crate::harness::now()).await.unwrap();
    writing.commit().await.unwrap();
    store.close().await;
    running.stop().await;
    let mut settings = OidcSettings::new(provider.issuer(), "windlass");
    settings.name = "Acme".to_owned();
    let secret = directory.path().join("client-secret");
    std::fs::write(&secret, "planted-secret\n").unwrap();
    settings.client_secret_file = Some(secret);
    let grants = ["ops=operator", "leads=approver", "root=admin", "lab=viewer@lab"];
    settings.grants = grants.map(|grant| grant.parse().unwrap()).to_vec();
    config.oidc = Some(settings);
    Some((provider, Installation::start_with(directory, config).await))
}

/// Signs in at the provider and returns.
async fn sign_in(browser: &mut Browser<'_>, subject: &str, begin: &str) -> Reply {
    let away = browser.get(begin).await;
    assert_eq!(away.status, 303, "{away:?}");
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let form = crate::browser::encoded(&[("sub", subject)]);
    let back = http
        .post(away.header("location"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await
        .unwrap();
    let back = back.headers()["location"].to_str().unwrap().to_owned();
    let path = back.strip_prefix(&browser.installation.base).unwrap_or_else(|| panic!("{back}"));
    let request = browser
        .request("GET", path)
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate");
    browser.send(request).await
}

const BEGIN: &str = "/app/sign-in/oidc?next=/app/runs";

/// The detail of an audit entry.
fn detail(entry: &windlass_store::AuditRecord) -> Value {
    serde_json::from_str(&entry.detail).unwrap()
}

/// The user of the session in a browser.
async fn me(browser: &Browser<'_>) -> Value {
    let token = browser.cookies["windlass_session"].clone();
    browser.installation.ask(&token, "GET", "/api/v1/auth/me").await.expect(200)
}

fn ada(groups: &[&str]) -> Value {
    json!({"email": "Ada@example.com", "email_verified": true, "name": "Ada", "groups": groups})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_sign_in_makes_a_person_with_the_role_that_their_groups_give() {
    let Some((provider, installation)) = start().await else { return };
    provider.put("1", &ada(&["ops", "others"]));
    let mut browser = Browser::new(&installation);
    let page = browser.page("/app/sign-in?next=/app/runs").await;
    assert!(page.contains("href=\"/app/sign-in/oidc?next=%2Fapp%2Fruns\">Sign in with Acme</a>"), "{page}");
    let reply = sign_in(&mut browser, "1", BEGIN).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    // The session cookie is strict: a page of ours loads the target, so that the browser sends the cookie.
    assert!(reply.text.contains("content=\"0;url=/app/runs\""), "{reply:?}");
    let cookies: Vec<&str> =
        reply.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap()).collect();
    let session = cookies.iter().find(|it| it.starts_with("windlass_session=")).unwrap();
    assert!(session.contains("SameSite=Strict") && session.contains("HttpOnly"), "{session}");
    assert_eq!(browser.get("/app/runs").await.status, 200);
    let me = me(&browser).await;
    assert_eq!(
        (&me["email"], &me["role"], &me["account_name"], &me["must_change_password"]),
        (&json!("ada@example.com"), &json!("operator"), &json!("acme"), &json!(false))
    );

    let admin = installation.admin().await;
    let people = Browser::of(&installation, &admin).page("/app/settings/people").await;
    assert_eq!(people.matches("Signs in through single sign-on").count(), 1, "{people}");
    let listed = installation.get(&admin, "/api/v1/auth/users").await;
    let ada = listed["users"].as_array().unwrap().iter().find(|it| it["email"] == "ada@example.com").unwrap();
    assert_eq!(ada["signs_in_with"], "sso", "{ada}");
    let reset = format!("/api/v1/auth/users/{}", ada["id"].as_str().unwrap());
    let refused = installation.tell(&admin.token, "PATCH", &reset, &json!({"reset_password": true})).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "sso"));
    for password in ["", "correct horse battery staple"] {
        let body = json!({"email": "ada@example.com", "password": password});
        let login = installation.send(installation.request("POST", "/api/v1/auth/login").json(&body)).await;
        assert_eq!((login.status, login.code().as_str()), (401, "login-refused"), "{password}");
    }

    let mut reading = installation.store.read().await.unwrap();
    let log = reading.audit(&installation.account, None, i64::MAX, 20).await.unwrap();
    let by_groups = log.iter().find(|entry| entry.action == "user.add" && entry.target == "ada@example.com");
    assert_eq!(detail(by_groups.unwrap()), json!({"role": "operator", "by": "groups"}));
    assert!(log.iter().any(|entry| entry.action == "auth.login" && detail(entry)["by"] == "sso"), "{log:?}");
    let page = browser.page("/app").await;
    let out = browser.submit(&page, "/app/sign-out", &[]).await;
    assert_eq!((out.status, out.header("location")), (303, "/app/sign-in"));
    assert_eq!(browser.get("/app").await.status, 303, "signed out");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sign_in_updates_roles_from_groups_and_keeps_assigned_roles() {
    let Some((provider, installation)) = start().await else { return };
    let lab = installation.store.read().await.unwrap().account("lab").await.unwrap().unwrap().id;
    let role_in = async |account: &AccountId| {
        let mut reading = installation.store.read().await.unwrap();
        reading.member(account, "ada@example.com").await.unwrap().map(|member| member.role.slug())
    };
    provider.put("1", &ada(&["ops", "leads", "lab"]));
    let mut first = Browser::new(&installation);
    assert_eq!(sign_in(&mut first, "1", BEGIN).await.status, 200);
    assert_eq!(role_in(&installation.account).await, Some("approver"), "the stronger of two");
    let mut there = Browser::new(&installation);
    assert_eq!(sign_in(&mut there, "1", "/app/sign-in/oidc?account=lab").await.status, 200);
    assert_eq!(me(&there).await["account_name"], "lab");

    provider.put("1", &ada(&["root"]));
    let mut second = Browser::new(&installation);
    assert_eq!(sign_in(&mut second, "1", BEGIN).await.status, 200);
    assert_eq!(role_in(&installation.account).await, Some("admin"));
    assert_eq!(role_in(&lab).await, None);
    assert_eq!(me(&first).await["role"], "admin", "sessions that run see it at once");
    assert_eq!(there.get("/app").await.status, 303, "the session in an account that is gone ended");

    let boss = installation.admin().await;
    let path = format!("/api/v1/auth/users/{}", me(&first).await["user_id"].as_str().unwrap());
    installation.tell(&boss.token, "PATCH", &path, &json!({"role": "viewer"})).await.expect(200);
    for groups in [&["root"][..], &[]] {
        provider.put("1", &ada(groups));
        assert_eq!(sign_in(&mut Browser::new(&installation), "1", BEGIN).await.status, 200);
        assert_eq!(role_in(&installation.account).await, Some("viewer"), "{groups:?}");
    }
    installation.ask(&boss.token, "DELETE", &path).await;
    let mut last = Browser::new(&installation);
    let refused = sign_in(&mut last, "1", BEGIN).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("none of your groups grants a role here"), "{refused:?}");
    assert!(!last.cookies.contains_key("windlass_session"));
    let mut reading = installation.store.read().await.unwrap();
    let log = reading.audit(&lab, None, i64::MAX, 20).await.unwrap();
    let told: Vec<&str> = log.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(told, ["user.remove", "auth.login", "user.add"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_verified_address_signs_in_an_existing_person_and_never_root() {
    let Some((provider, installation)) = start().await else { return };
    // There are several accounts, so only the administrator of the installation adds people without an invitation.
    let root = installation.root().await;
    let body = json!({"email": "ada@example.com", "role": "viewer"});
    let made = installation.tell(&root.token, "POST", "/api/v1/auth/users", &body).await.expect(201);
    let once = made["one_time_password"].as_str().unwrap();
    for verified in [json!(false), json!("true"), json!(null)] {
        provider
            .put("1", &json!({"email": "ada@example.com", "email_verified": verified, "groups": ["root"]}));
        let mut browser = Browser::new(&installation);
        let refused = sign_in(&mut browser, "1", BEGIN).await;
        assert_eq!(refused.status, 403, "{verified}");
        assert!(refused.text.contains("has not verified that it is yours"), "{verified}: {refused:?}");
    }
    provider.put("1", &ada(&["root"]));
    let mut browser = Browser::new(&installation);
    assert_eq!(sign_in(&mut browser, "1", BEGIN).await.status, 200);
    let me = me(&browser).await;
    assert_eq!(
        (&me["user_id"], &me["role"]),
        (&made["user"]["id"], &json!("viewer")),
        "by hand stays by hand"
    );
    let login = json!({"email": "ada@example.com", "password": once});
    let login = installation.send(installation.request("POST", "/api/v1/auth/login").json(&login)).await;
    assert_eq!(login.status, 401, "whoever handed out the password knows it");
    let log = installation
        .store
        .read()
        .await
        .unwrap()
        .audit(&AccountId::installation(), None, i64::MAX, 20)
        .await
        .unwrap();
    let linked = log.iter().find(|entry| entry.action == "user.link").unwrap();
    assert_eq!((linked.target.as_str(), &detail(linked)["subject"]), ("ada@example.com", &json!("1")));

    provider.put("2", &ada(&["root"]));
    let taken = sign_in(&mut Browser::new(&installation), "2", BEGIN).await;
    assert!(taken.text.contains("another single sign-on user here has your e-mail address"), "{taken:?}");
    provider.put("3", &json!({"email": "ADMIN@localhost", "email_verified": true, "groups": ["root"]}));
    let root = sign_in(&mut Browser::new(&installation), "3", BEGIN).await;
    assert_eq!(root.status, 403);
    assert!(root.text.contains("administrators of the installation sign in with their password"), "{root:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_suspended_until_the_next_sign_in_and_lapses_with_the_group() {
    let Some((provider, installation)) = start().await else { return };
    let admin = installation.admin().await;
    let halt = json!({"reason": "for the time being"});
    installation.tell(&admin.token, "POST", "/api/v1/system/halt", &halt).await.expect(200);
    let work = fleet("version: 1\naccount: acme\nclusters: [{name: one}]\n");
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let proposal = format!("/api/v1/system/proposals/{}", run["proposals"][0]["id"].as_str().unwrap());
    let status = async || installation.get(&admin, &proposal).await["proposal"]["status"].clone();

    provider.put("1", &ada(&["leads"]));
    let mut browser = Browser::new(&installation);
    sign_in(&mut browser, "1", BEGIN).await;
    let token = browser.cookies["windlass_session"].clone();
    installation.ask(&token, "POST", &format!("{proposal}/approve")).await.expect(200);
    assert_eq!(status().await, "approved");

    let user = installation.store.read().await.unwrap().user("ada@example.com").await.unwrap().unwrap();
    let long_ago = now().minus(std::time::Duration::from_secs(13 * 3600));
    let mut writing = installation.store.write().await.unwrap();
    writing.memberships_prove(&user.id, long_ago).await.unwrap();
    writing.commit().await.unwrap();
    let applied = installation.ask(&admin.token, "POST", &format!("{proposal}/apply?wait=60")).await;
    assert_eq!(applied.code(), "not-approved", "{applied:?}");
    assert_eq!(status().await, "pending_approval");
    sign_in(&mut Browser::new(&installation), "1", BEGIN).await;
    assert_eq!(status().await, "approved", "her groups still let her");

    provider.put("1", &ada(&["ops"]));
    sign_in(&mut Browser::new(&installation), "1", BEGIN).await;
    let shown = installation.get(&admin, &proposal).await["proposal"].clone();
    assert_eq!(shown["status"], "pending_approval", "{shown}");
    assert!(shown["reason"].as_str().unwrap().contains("lost the permission to approve"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_disabled_or_in_no_group_stays_out() {
    let Some((provider, installation)) = start().await else { return };
    provider.put("1", &ada(&["planted-group-name"]));
    let refused = sign_in(&mut Browser::new(&installation), "1", BEGIN).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("none of your groups grants a role here"), "{refused:?}");
    assert!(!refused.text.contains("planted-group-name"), "{refused:?}");
    assert!(installation.store.read().await.unwrap().user("ada@example.com").await.unwrap().is_none());
    provider.put("2", &json!({"email_verified": true, "groups": ["root"]}));
    let nobody = sign_in(&mut Browser::new(&installation), "2", BEGIN).await;
    assert!(nobody.text.contains("does not send your e-mail address"), "{nobody:?}");

    provider.put("1", &ada(&["ops"]));
    let mut browser = Browser::new(&installation);
    assert_eq!(sign_in(&mut browser, "1", BEGIN).await.status, 200);
    let id = me(&browser).await["user_id"].as_str().unwrap().to_owned();
    let admin = installation.person(&installation.account, Role::Admin).await;
    let path = format!("/api/v1/auth/users/{id}");
    installation.tell(&admin.token, "PATCH", &path, &json!({"disabled": true})).await.expect(200);
    assert_eq!(browser.get("/app").await.status, 303, "the session ended");
    let refused = sign_in(&mut browser, "1", BEGIN).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("your sign-in is disabled"), "{refused:?}");
}
