//! The router of the agent listener: exactly the endpoints of agents, from the endpoint table.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use windlass_api::endpoint::{Operation, endpoints};

use crate::agent_listener::guard;
use crate::http::guard::{panic_response, render_errors};
use crate::http::health;
use crate::http::request_timeout::REQUEST_TIMEOUT;
use crate::routes::handler;
use crate::state::Server;

/// Every route of agents, with its middleware.
pub(crate) fn router(server: &Server) -> Router {
    let mut router = Router::new();
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.is_for_agents()) {
        let mut route = handler(endpoint.operation);
        if endpoint.operation != Operation::AgentStream {
            let status = axum::http::StatusCode::GATEWAY_TIMEOUT;
            route = route.layer(TimeoutLayer::with_status_code(status, REQUEST_TIMEOUT));
        }
        router = router.route(&endpoint.path, route);
    }
    router
        .route_layer(from_fn_with_state(server.clone(), guard::authorize))
        .fallback(health::route_not_found)
        .method_not_allowed_fallback(health::wrong_method)
        .layer(CatchPanicLayer::custom(panic_response))
        .layer(from_fn(render_errors))
        .layer(from_fn(guard::measure))
        .with_state(server.clone())
}
