//! Invitations in the web app: created and revoked on the people page, accepted and declined on a page of their own.

use windlass_api::permission::Role;

use crate::browser::Browser;
use crate::harness::{Installation, Person};

const PEOPLE: &str = "/app/settings/people";
const MINE: &str = "/app/settings/invitations";

/// An admin of one account and a member of another.
async fn world() -> (Installation, Person, Person) {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let bravo = installation.new_account("bravo").await;
    let ada = installation.person_with_email("ada@example.com", &bravo, Role::Operator).await;
    (installation, admin, ada)
}

async fn invite(browser: &mut Browser<'_>) -> String {
    let page = browser.page(PEOPLE).await;
    let form = [("email", "ada@example.com"), ("name", "Ada"), ("role", "approver")];
    browser.submit_and_follow(&page, PEOPLE, &form).await
}

/// The first form action on a page that ends with a word.
fn action(page: &str, word: &str) -> String {
    let at = page.find(&format!("/{word}\"")).unwrap_or_else(|| panic!("no {word} on {page}"));
    format!("{}/{word}", &page[page[..at].rfind('"').unwrap() + 1..at])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_accepted_on_its_page_and_only_then_someone_is_in_the_account() {
    let (installation, admin, ada) = world().await;
    let mut theirs = Browser::of(&installation, &admin);
    let invited = invite(&mut theirs).await;
    assert!(invited.contains("Invited ada@example.com"), "{invited}");
    assert!(invited.contains("1 pending invitation") && invited.contains("2 people"), "{invited}");
    let mut hers = Browser::of(&installation, &ada);
    let page = hers.page(MINE).await;
    assert!(page.contains("acme") && page.contains(&admin.email), "{page}");
    let joined = hers.submit_and_follow(&page, &action(&page, "accept"), &[]).await;
    assert!(joined.contains("You joined acme") && joined.contains("No invitation"), "{joined}");
    let people = theirs.page(PEOPLE).await;
    assert!(people.contains("3 people") && !people.contains("pending invitation"), "{people}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_declined_or_taken_back() {
    let (installation, admin, ada) = world().await;
    let mut theirs = Browser::of(&installation, &admin);
    invite(&mut theirs).await;
    let mut hers = Browser::of(&installation, &ada);
    let page = hers.page(MINE).await;
    let declined = hers.submit_and_follow(&page, &action(&page, "decline"), &[]).await;
    assert!(declined.contains("Invitation declined"), "{declined}");
    let people = theirs.page(PEOPLE).await;
    assert!(people.contains("1 pending invitation"), "declining looks like silence: {people}");
    let revoked = theirs.submit_and_follow(&people, &action(&people, "revoke"), &[]).await;
    assert!(revoked.contains("Invitation revoked"), "{revoked}");
    assert!(!revoked.contains("ada@example.com"), "{revoked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_reset_with_or_without_the_persons_tokens() {
    use windlass_api::permission::Permission;

    use crate::harness::Life;
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    for (form, status) in [(vec![("do", "reset"), ("keep_tokens", "yes")], 200), (vec![("do", "reset")], 401)]
    {
        let person = installation.person(&installation.account, Role::Operator).await;
        let token = installation.api_token(&person, &[Permission::GitopsRead], Life::Good).await;
        let page = browser.page(PEOPLE).await;
        let reset = browser.submit(&page, &format!("{PEOPLE}/{}", person.id), &form).await;
        assert_eq!(reset.status, 200, "{reset:?}");
        let asked = installation.ask(&token.secret, "GET", "/api/v1/system/status").await;
        assert_eq!(asked.status, status, "{form:?}");
    }
}
