//! Paths of pages, encoded so that a name cannot change the path.

use windlass_core::resource::Kind;

/// Percent-encodes a text as one path segment or query value: everything but letters, digits and `-_.~`.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    // `.` and `..` would mean this directory and its parent.
    if out.chars().all(|c| c == '.') { out.replace('.', "%2E") } else { out }
}

/// The page of a resource.
pub(crate) fn resource(kind: &str, name: &str) -> String {
    format!("/app/resources/{}/{}", encoded(kind), encoded(name))
}

/// The page of a node as its agent sees it.
pub(crate) fn node(name: &str) -> String {
    format!("/app/nodes/{}", encoded(name))
}

/// The list of a kind, or of all kinds.
pub(crate) fn resources(kind: Option<Kind>) -> String {
    kind.map_or_else(|| "/app/resources".to_owned(), |kind| format!("/app/resources/{}", kind.plural()))
}

/// The diagram of a network.
pub(crate) fn network(name: &str) -> String {
    format!("/app/topology/{}", encoded(name))
}

/// A path with query parameters; empty ones are left out.
pub(crate) fn with_query(path: &str, pairs: &[(&str, &str)]) -> String {
    let query: Vec<String> = pairs
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_becomes_another_address() {
        assert_eq!(resource("peer", "fabric/edge-01"), "/app/resources/peer/fabric%2Fedge-01");
        assert_eq!(resource("node", ".."), "/app/resources/node/%2E%2E");
        assert_eq!(network("a?b#c"), "/app/topology/a%3Fb%23c");
        assert_eq!(with_query("/app/drift", &[("a", ""), ("q", "ü &")]), "/app/drift?q=%C3%BC%20%26");
        assert_eq!(resources(Some(Kind::VirtualIp)), "/app/resources/virtual_ips");
    }
}
