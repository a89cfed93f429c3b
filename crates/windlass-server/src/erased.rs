//! Handlers whose type is erased before axum gets them. For each handler type axum makes services, routes and layers of its
//! own; with one type for all of them the compiler makes these once instead of once for each of some 150 handlers.

use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use futures_util::future::BoxFuture;

use crate::state::Server;

/// Any handler.
#[derive(Clone)]
struct ErasedHandler(Arc<dyn Fn(Request, Server) -> BoxFuture<'static, Response> + Send + Sync>);

impl ErasedHandler {
    fn new<H, T>(handler: H) -> ErasedHandler
    where
        H: Handler<T, Server, Future = BoxFuture<'static, Response>> + Sync,
    {
        ErasedHandler(Arc::new(move |request, server| handler.clone().call(request, server)))
    }
}

impl Handler<(), Server> for ErasedHandler {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, server: Server) -> Self::Future {
        self.0(request, server)
    }
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        pub(crate) fn $name<H, T>(handler: H) -> MethodRouter<Server>
        where
            H: Handler<T, Server, Future = BoxFuture<'static, Response>> + Sync,
        {
            routing::$name(ErasedHandler::new(handler))
        }
    )+};
}

methods! {
    /// Answers GET.
    get,
    /// Answers POST.
    post,
    /// Answers PUT.
    put,
    /// Answers PATCH.
    patch,
    /// Answers DELETE.
    delete,
}
