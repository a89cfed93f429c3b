//! Who has access to which page: every page of the table, requested by everyone.

use windlass_api::endpoint::{Access, Method};
use windlass_api::permission::Role;
use windlass_web::table::{Page, pages};

use crate::browser::{Browser, csrf};
use crate::harness::Installation;

fn path_of(path: &str) -> String {
    path.replace("{id}", "absent")
        .replace("{name}", "absent")
        .replace("{*rest}", "absent")
        .replace("{kind}", "nodes")
        .replace("{network}", "absent")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_sees_and_does_exactly_what_the_table_says() {
    let installation = Installation::start().await;
    for role in Role::ALL {
        for entry in pages() {
            let person = installation.person(&installation.account, *role).await;
            let mut browser = Browser::of(&installation, &person);
            let token = csrf(&browser.page("/app/password").await);
            let path = path_of(entry.path);
            let reply = match entry.method {
                Method::Get => browser.get(&path).await,
                _ => browser.post(&path, &[("csrf", &token)]).await,
            };
            let may = match entry.access {
                Access::Public | Access::SignedIn => true,
                Access::Needs(permission) => role.permissions().contains(&permission),
                Access::Root | Access::Agent => false,
            };
            let at = format!("{} {path} as {role}: {reply:?}", entry.method.as_str());
            match may {
                // The sign-in form is bound to a visit, not to a session.
                true if entry.page == Page::SignIn => assert_eq!(reply.status, 403, "{at}"),
                true => assert!(![401, 403].contains(&reply.status) && reply.status < 500, "{at}"),
                false => {
                    assert_eq!(reply.status, 403, "{at}");
                    assert!(reply.text.contains("this needs the permission system."), "{at}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_session_only_public_pages_answer() {
    let installation = Installation::start().await;
    for entry in pages() {
        let mut browser = Browser::new(&installation);
        let path = path_of(entry.path);
        let reply = browser.send(browser.request(entry.method.as_str(), &path)).await;
        let at = format!("{} {path}: {reply:?}", entry.method.as_str());
        match (entry.access, entry.page) {
            (Access::Public, _) => assert!([200, 303, 403, 404].contains(&reply.status), "{at}"),
            (_, Page::Live) => assert_eq!(reply.status, 401, "{at}"),
            _ => {
                assert_eq!(reply.status, 303, "{at}");
                assert!(reply.header("location").starts_with("/app/sign-in?next=%2Fapp"), "{at}");
            }
        }
    }
}
