use std::collections::BTreeSet;

use super::*;

#[test]
fn no_two_endpoints_share_a_method_and_path_and_each_operation_has_one() {
    let all = endpoints();
    let routes: BTreeSet<_> = all.iter().map(|endpoint| (endpoint.method, endpoint.path.clone())).collect();
    let operations: BTreeSet<_> = all.iter().map(|endpoint| endpoint.operation).collect();
    assert_eq!(routes.len(), all.len());
    assert_eq!(operations.len(), all.len());
}

#[test]
fn only_these_are_public() {
    let public: Vec<String> = endpoints()
        .into_iter()
        .filter(|endpoint| endpoint.access == Access::Public)
        .map(|e| e.path)
        .collect();
    // The last two ask for a signature and for an enrolment token instead of a session or an API token.
    assert_eq!(
        public,
        [
            "/healthz",
            "/readyz",
            "/metrics",
            "/api/openapi.json",
            "/api/v1/auth/login",
            "/api/v1/webhooks/{repository}",
            "/agent/v1/enroll"
        ]
    );
}

#[test]
fn agents_use_the_paths_of_agents_and_no_others() {
    for endpoint in endpoints() {
        let is_for_agents = endpoint.access == Access::Agent || endpoint.operation == Operation::AgentEnroll;
        assert_eq!(endpoint.is_for_agents(), is_for_agents, "{}", endpoint.path);
    }
    let path = |operation: Operation| operation.endpoint().path;
    assert_eq!(path(Operation::AgentEnroll), crate::agent::ENROLL);
    assert_eq!(path(Operation::AgentRenew), crate::agent::RENEW);
    assert_eq!(path(Operation::AgentStream), crate::agent::STREAM);
}

#[test]
fn nothing_that_only_looks_needs_more_than_a_viewer_has_except_administration() {
    // Names of credentials are for those who register repositories with them, secrets of webhooks for those who
    // set them up.
    const FOR_WRITERS: [&str; 3] = [
        "/api/v1/system/vault_credentials",
        "/api/v1/system/credential_bindings",
        "/api/v1/system/gitops_repositories/{id}/webhook",
    ];
    let viewer = crate::permission::Role::Viewer.permissions();
    for endpoint in endpoints().iter().filter(|endpoint| endpoint.method == Method::Get) {
        let is_fine = match endpoint.access {
            Access::Needs(GitopsWrite) => FOR_WRITERS.contains(&endpoint.path.as_str()),
            Access::Needs(permission) => viewer.contains(&permission) || permission == GitopsAdmin,
            _ => true,
        };
        assert!(is_fine, "{}", endpoint.path);
    }
}
