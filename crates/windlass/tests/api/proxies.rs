//! Requests that proxies forward: whose address counts, and which proxies are trusted.

use serde_json::json;
use windlass_server::{TrustedProxies, read_network};

use crate::harness::{Installation, Person, config};

/// A server that trusts proxies in these networks.
async fn behind(networks: &[&str]) -> Installation {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    let networks = networks.iter().map(|text| read_network(text).unwrap());
    config.trusted_proxies = TrustedProxies::new(networks.collect());
    Installation::start_with(directory, config).await
}

/// The address in the audit entry of a request with these headers.
async fn recorded(
    installation: &Installation,
    admin: &Person,
    name: &str,
    headers: &[(&str, &str)],
) -> String {
    let mut request = installation.request("POST", "/api/v1/system/clusters").bearer_auth(&admin.token);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    installation.send(request.json(&json!({"name": name}))).await.expect(201);
    let audit = installation.get(admin, &format!("/api/v1/system/audit?target=cluster/{name}")).await;
    audit["audit"][0]["address"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_addresses_count_only_from_trusted_proxies() {
    let installation = behind(&["127.0.0.0/8", "10.0.0.0/8"]).await;
    let admin = installation.admin().await;
    type Headers = &'static [(&'static str, &'static str)];
    let cases: [(&str, Headers, &str); 5] = [
        ("one", &[("x-forwarded-for", "198.51.100.9")], "198.51.100.9"),
        ("two", &[("x-forwarded-for", "1.2.3.4, 198.51.100.9, 10.0.0.7")], "198.51.100.9"),
        ("three", &[("forwarded", "for=\"[2001:db8::7]:4711\";proto=https")], "2001:db8::7"),
        ("four", &[("x-forwarded-for", "198.51.100.9"), ("forwarded", "for=1.2.3.4")], "127.0.0.1"),
        ("five", &[], "127.0.0.1"),
    ];
    for (name, headers, expected) in cases {
        assert_eq!(recorded(&installation, &admin, name, headers).await, expected, "{headers:?}");
    }
    let installation = behind(&["10.0.0.0/8"]).await;
    let admin = installation.admin().await;
    let headers = [("x-forwarded-for", "198.51.100.9"), ("forwarded", "for=1.2.3.4")];
    assert_eq!(recorded(&installation, &admin, "one", &headers).await, "127.0.0.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_does_counts_for_the_address_of_whoever_uses_it() {
    let installation = behind(&["127.0.0.1"]).await;
    let admin = installation.admin().await;
    // A session may not decide through tools; the refusal is in the audit log.
    let params = json!({"name": "system_gitops_reject_proposal", "arguments": {"proposal_id": "x"}});
    let call = installation
        .request("POST", "/mcp")
        .bearer_auth(&admin.token)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .header("x-forwarded-for", "198.51.100.9")
        .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let answer = installation.send(call).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let audit = installation.get(&admin, "/api/v1/system/audit").await;
    let entries = audit["audit"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["address"] == "198.51.100.9"), "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_for_https_alone_when_a_trusted_proxy_says_that_it_is_spoken() {
    let trusting = behind(&["127.0.0.1"]).await;
    let alone = behind(&[]).await;
    let cookie = async |installation: &Installation, scheme: &str| {
        let request = installation.request("GET", "/app/sign-in").header("x-forwarded-proto", scheme);
        installation.send(request).await.header("set-cookie").to_owned()
    };
    let secure = cookie(&trusting, "https").await;
    assert!(secure.starts_with("__Host-windlass_visit=") && secure.contains("; Secure"), "{secure}");
    for plain in [cookie(&trusting, "http").await, cookie(&alone, "https").await] {
        assert!(plain.starts_with("windlass_visit=") && !plain.contains("Secure"), "{plain}");
    }
}
