//! Passes a request to the tools only if its host name is one of this server's, no page of another site sent it, and the
//! caller is authenticated.

use axum::extract::{Request, State};
use axum::http::header::HOST;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_api::endpoint::Access;
use windlass_control::admission::admit_person;
use windlass_control::refusal::{Refusal, RefusalKind};

use crate::auth::identity::identify;
use crate::http::error::{ErrorResponse, HttpError, render_error};
use crate::http::guard::{AccessRequest, LoggedCaller, RequestId, Route, attach_identity};
use crate::mcp::host_names::{self, PATH};
use crate::state::Server;
use crate::web::browser_request::is_from_here;

pub(super) async fn admit(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let mut who = String::new();
    let asked = AccessRequest::of(&request, &request_id(&request));
    let checked = match check_host_and_origin(&server, &request) {
        Ok(()) => identify(&server, asked.authorization.as_deref(), asked.address, asked.request_id)
            .await
            .map_err(Refusal::from)
            .and_then(|caller| admit_person(Access::SignedIn, &caller)),
        Err(error) => Err(error),
    };
    let mut response = match checked {
        Ok(identity) => {
            who.clone_from(&identity.email);
            attach_identity(&mut request, identity);
            next.run(request).await
        }
        Err(error) => HttpError(error).into_response(),
    };
    response.extensions_mut().insert(Route(PATH.to_owned()));
    response.extensions_mut().insert(LoggedCaller(who));
    response
}

/// Checks that the host name is one of this server's, and that no page of another site sent the request.
fn check_host_and_origin(server: &Server, request: &Request) -> Result<(), Refusal> {
    if !is_by_our_name(server, request) {
        let help =
            "connect with the host name of --public-url, or start the server with --mcp-allowed-host NAME";
        return Err(Refusal::new(
            RefusalKind::Forbidden,
            "foreign-host",
            "the host name is not allowed",
            help,
        ));
    }
    if !is_from_here(request.headers(), server) {
        let message = "web pages of other sites may not use the tools";
        let help = "connect an MCP client instead of a browser";
        return Err(Refusal::new(RefusalKind::Forbidden, "foreign-origin", message, help));
    }
    Ok(())
}

fn is_by_our_name(server: &Server, request: &Request) -> bool {
    let mut named = request.headers().get_all(HOST).iter();
    let host = match (named.next(), named.next()) {
        (Some(host), None) => host.to_str().ok(),
        // HTTP/2 sends the host in the address.
        (None, _) => request.uri().authority().map(|authority| authority.as_str()),
        (Some(_), Some(_)) => None,
    };
    host.is_some_and(|host| host_names::is_ours(server.config(), host))
}

pub(super) fn request_id(request: &Request) -> String {
    request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default()
}

/// Renders refusals and server errors in the format of errors. Responses of the MCP protocol stay unchanged.
pub(super) async fn render_refusals(request: Request, next: Next) -> Response {
    let request_id = request_id(&request);
    let response = next.run(request).await;
    let is_ours =
        response.extensions().get::<ErrorResponse>().is_some() || response.status().is_server_error();
    if is_ours { render_error(response, &request_id) } else { response }
}
