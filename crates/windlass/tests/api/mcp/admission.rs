//! Who has access to the tools at all.

use serde_json::{Value, json};

use crate::harness::{ALL, Installation, Life, Reply};

/// The first request of every client.
fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

/// Sends that request with these headers.
async fn say(installation: &Installation, headers: &[(&str, &str)]) -> Reply {
    let mut request =
        installation.request("POST", "/mcp").header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    installation.send(request.json(&hello())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_let_in_without_a_token_that_is_good() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut bad =
        vec![String::new(), "Bearer".to_owned(), "Basic YTpi".to_owned(), "Bearer nonsense".to_owned()];
    for life in [Life::Expired, Life::Revoked] {
        bad.push(format!("Bearer {}", installation.api_token(&admin, &ALL, life).await.secret));
    }
    for authorization in bad {
        let reply = say(&installation, &[("authorization", &authorization)]).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "unauthorized"), "{authorization}");
        assert_eq!(reply.header("www-authenticate"), "Bearer");
        assert!(!reply.json()["error"]["help"].as_str().unwrap().is_empty());
    }
    let token = installation.api_token(&admin, &ALL, Life::Good).await;
    let reply = say(&installation, &[("authorization", &format!("Bearer {}", token.secret))]).await;
    let answer = reply.expect(200);
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer["result"]["serverInfo"]["name"], "windlass");
    assert_eq!(reply.header("mcp-session-id"), "", "no session is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_another_site_and_no_rebound_host_name_reaches_the_tools() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let token = installation.api_token(&admin, &ALL, Life::Good).await;
    let authorization = format!("Bearer {}", token.secret);
    let port = installation.base.rsplit_once(':').unwrap().1.to_owned();
    let with = async |name: &str, value: &str| {
        say(&installation, &[("authorization", &authorization), (name, value)]).await
    };
    for foreign in ["http://evil.example", "https://127.0.0.1.evil.example", "null", "http://127.0.0.1:1"] {
        let reply = with("origin", foreign).await;
        assert_eq!((reply.status, reply.code().as_str()), (403, "foreign-origin"), "{foreign}");
    }
    assert_eq!(with("sec-fetch-site", "cross-site").await.code(), "foreign-origin");
    for foreign in ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "192.0.2.1"] {
        let reply = with("host", foreign).await;
        assert_eq!((reply.status, reply.code().as_str()), (403, "foreign-host"), "{foreign}");
    }
    assert_eq!(with("origin", &installation.base).await.status, 200);
    assert_eq!(with("host", &format!("localhost:{port}")).await.status, 200);
    let asked = installation.request("OPTIONS", "/mcp").header("origin", "http://evil.example");
    let asked = installation.send(asked.header("access-control-request-method", "POST")).await;
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (403, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_refused_and_bound_in_size() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let token = installation.api_token(&admin, &ALL, Life::Good).await.secret;
    for method in ["GET", "DELETE", "PUT"] {
        assert_eq!(installation.ask(&token, method, "/mcp").await.status, 405, "{method}");
    }
    let post = |body: String| {
        let request = installation.request("POST", "/mcp").bearer_auth(&token);
        let request = request.header("accept", "application/json, text/event-stream");
        installation.send(request.header("content-type", "application/json").body(body))
    };
    assert_eq!(post(format!("[\"{}\"]", "x".repeat(1024 * 1024))).await.status, 413);
    for nonsense in ["", "{", "[]", "7", "{\"jsonrpc\":\"1.0\"}"] {
        let status = post(nonsense.to_owned()).await.status;
        assert!((400..500).contains(&status), "{nonsense}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_allowed_is_one_of_ours() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = crate::harness::config(directory.path());
    config.control.public_url = Some("https://windlass.example.com".to_owned());
    config.mcp_hosts = vec!["tools.example.com".to_owned()];
    let installation = Installation::start_with(directory, config).await;
    let admin = installation.admin().await;
    let authorization = format!("Bearer {}", installation.api_token(&admin, &ALL, Life::Good).await.secret);
    for host in ["windlass.example.com", "tools.example.com:443"] {
        assert_eq!(
            say(&installation, &[("authorization", &authorization), ("host", host)]).await.status,
            200
        );
    }
    let headers = [
        ("authorization", authorization.as_str()),
        ("host", "windlass.example.com"),
        ("origin", "https://windlass.example.com"),
    ];
    assert_eq!(say(&installation, &headers).await.status, 200);
}
