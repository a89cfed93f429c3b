//! Every page of the table, found by following links as a person would.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use windlass_api::endpoint::Method;
use windlass_web::table::{Page, pages};

use crate::harness::{Installation, Person};

/// How many URLs of one page are searched for links: the first may lack a link that another has.
const ENOUGH: usize = 25;

/// A page and an address that shows it.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) page: Page,
    pub(crate) path: String,
}

impl Stop {
    /// A name for files, such as `edit` for the edit form.
    pub(crate) fn name(&self) -> String {
        let word = format!("{:?}", self.page);
        let word = word.strip_suffix("Form").unwrap_or(&word);
        let mut name = String::new();
        for letter in word.chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.extend(letter.to_lowercase());
        }
        name
    }
}

/// Whether a URL belongs to a page.
fn is_of(pattern: &str, path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap();
    let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len()
        && pattern.iter().zip(&path).all(|(part, word)| part == word || part.starts_with('{'))
}

/// The pages to visit: without assets, redirects and pages that only a reload shows.
fn wanted() -> BTreeMap<Page, &'static str> {
    let is_page = |page: Page| {
        let leads_elsewhere = matches!(page, Page::SsoBegin | Page::SsoEnd);
        let after_form =
            matches!(page, Page::Tested | Page::Webhook | Page::NodeAdopted | Page::NodeEnrolled);
        let is_shown = !matches!(page, Page::Root | Page::Asset | Page::Live | Page::Lost);
        is_shown && !after_form && !leads_elsewhere
    };
    let all = pages().into_iter().filter(|entry| entry.method == Method::Get && is_page(entry.page));
    all.map(|entry| (entry.page, entry.path)).collect()
}

/// The links of a page that stay in the app.
fn links(html: &str) -> impl Iterator<Item = String> {
    html.split(" href=\"").skip(1).filter_map(|rest| {
        let link = rest.split('"').next()?.replace("&amp;", "&");
        (link == "/app" || link.starts_with("/app/")).then_some(link)
    })
}

/// A URL for each page of the table, found by following links from the first one. Users cannot find a page without a
/// link.
pub(crate) async fn stops(installation: &Installation, person: &Person) -> Vec<Stop> {
    let wanted = wanted();
    let mut found = BTreeMap::from([(Page::SignInForm, "/app/sign-in".to_owned())]);
    let (mut queue, mut seen) = (VecDeque::from(["/app".to_owned()]), BTreeSet::new());
    let mut looked_at: BTreeMap<Page, usize> = BTreeMap::new();
    while let Some(path) = queue.pop_front() {
        let Some((page, _)) = wanted.iter().find(|(_, pattern)| is_of(pattern, &path)) else { continue };
        let is_enough = found.len() == wanted.len() || looked_at.get(page) == Some(&ENOUGH);
        if is_enough || !seen.insert(path.clone()) {
            continue;
        }
        *looked_at.entry(*page).or_default() += 1;
        let cookie = format!("windlass_session={}", person.token);
        let reply = installation.send(installation.request("GET", &path).header("cookie", cookie)).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        queue.extend(links(&reply.text));
        found.entry(*page).or_insert(path);
    }
    let missing: Vec<&Page> = wanted.keys().filter(|page| !found.contains_key(page)).collect();
    assert!(missing.is_empty(), "no link leads to {missing:?}; {found:?}");
    let mut stops: Vec<Stop> = found.into_iter().map(|(page, path)| Stop { page, path }).collect();
    stops.push(Stop { page: Page::Lost, path: "/app/nowhere".to_owned() });
    stops
}

#[test]
fn addresses_are_told_apart_by_their_parts() {
    assert!(is_of("/app/runs/{id}", "/app/runs/1?x=/2"));
    assert!(!is_of("/app/runs/{id}", "/app/runs") && !is_of("/app/runs/{id}", "/app/runs/1/2"));
    assert_eq!(Stop { page: Page::EditForm, path: String::new() }.name(), "edit");
}
