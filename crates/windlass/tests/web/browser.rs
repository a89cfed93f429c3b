//! A minimal browser: cookies, forms, and the headers about the origin of a request.

use std::collections::BTreeMap;

use crate::harness::{Installation, Person, Reply};

/// A browser with its cookies.
pub(crate) struct Browser<'i> {
    pub(crate) installation: &'i Installation,
    pub(crate) cookies: BTreeMap<String, String>,
    http: reqwest::Client,
}

impl<'i> Browser<'i> {
    pub(crate) fn new(installation: &'i Installation) -> Browser<'i> {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Browser { installation, cookies: BTreeMap::new(), http }
    }

    /// A browser of a signed-in person.
    pub(crate) fn of(installation: &'i Installation, person: &Person) -> Browser<'i> {
        let mut browser = Browser::new(installation);
        browser.cookies.insert("windlass_session".to_owned(), person.token.clone());
        browser
    }

    /// A request as one of our pages would send it.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method.clone(), format!("{}{path}", self.installation.base));
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = if cookies.is_empty() { request } else { request.header("cookie", cookies.join("; ")) };
        match method == reqwest::Method::POST {
            true => request.header("origin", &self.installation.base).header("sec-fetch-site", "same-origin"),
            false => request,
        }
    }

    /// Sends a request and stores the cookies of the response.
    pub(crate) async fn send(&mut self, request: reqwest::RequestBuilder) -> Reply {
        let reply = self.installation.send(request).await;
        for set in reply.headers.get_all("set-cookie") {
            let (pair, rest) = set.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match rest.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        reply
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send(self.request("GET", path)).await
    }

    /// A page that must exist.
    pub(crate) async fn page(&mut self, path: &str) -> String {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.text
    }

    /// Sends a form with exactly these fields.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.send(self.request("POST", path).body(encoded(fields))).await
    }

    /// Submits a form of a page, with the page's token.
    pub(crate) async fn submit(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let token = csrf(page);
        let mut whole = vec![("csrf", token.as_str())];
        whole.extend_from_slice(fields);
        self.post(path, &whole).await
    }

    /// Submits a form of a page and follows the redirect.
    pub(crate) async fn submit_and_follow(
        &mut self,
        page: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> String {
        let reply = self.submit(page, path, fields).await;
        assert_eq!(reply.status, 303, "{path}: {reply:?}");
        let to = reply.header("location").to_owned();
        self.page(&to).await
    }
}

/// Form fields in URL encoding.
pub(crate) fn encoded(fields: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect()
    };
    fields
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
        .collect::<Vec<_>>()
        .join("&")
}

/// The newest event that a page includes.
pub(crate) fn last_event(page: &str) -> &str {
    page.split("data-seen=\"").nth(1).unwrap().split('"').next().unwrap()
}

/// The value of the first field with this name.
pub(crate) fn field(page: &str, name: &str) -> String {
    let at = page.find(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("no {name} in {page}"));
    page[at..].split('"').nth(3).unwrap().to_owned()
}

/// The values of all fields with this name.
pub(crate) fn fields(page: &str, name: &str) -> Vec<String> {
    page.split(&format!("name=\"{name}\" value=\""))
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

pub(crate) fn csrf(page: &str) -> String {
    field(page, "csrf")
}

/// The tag of the first button that contains this text.
pub(crate) fn button(page: &str, text: &str) -> String {
    let end = page.find(&format!(">{text}</button>")).unwrap_or_else(|| panic!("no button {text} in {page}"));
    page[page[..end].rfind("<button").unwrap()..end].to_owned()
}
