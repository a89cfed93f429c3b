//! API calls that tools make, and the trait of those who perform them.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde_json::Value;
use windlass_api::endpoint::Operation;
use windlass_api::types::ErrorBody;

use crate::caller::ToolCaller;
use crate::refusal::{CallError, refusal};

/// One API call.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiCallSpec {
    /// The operation.
    pub operation: Operation,
    /// The values for the `{…}` of its path, in order.
    pub parts: Vec<String>,
    /// The query parameters.
    pub query: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Option<Value>,
    /// The code of an error that does not prevent the next call.
    pub tolerates: Option<&'static str>,
    /// Whether the call counts as a decision although its operation usually does not.
    pub is_decision_call: bool,
}

/// Performs API calls for a user.
pub trait ApiCaller: Send + Sync + 'static {
    /// The user.
    fn identify(&self) -> impl Future<Output = Result<ToolCaller, CallError>> + Send;

    /// Performs a call. A response that is not JSON becomes a text.
    fn call(&self, call: &ApiCallSpec) -> impl Future<Output = Result<Value, CallError>> + Send;

    /// Records that a call was refused before it was made.
    fn record_refusal(&self, call: &ApiCallSpec, refusal: &ErrorBody) -> impl Future<Output = ()> + Send;
}

/// A future without a type of its own.
pub(crate) type BoxFuture<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// An [`ApiCaller`] without a type of its own: the protocol is compiled once, in this crate, and not for each caller in the
/// crates that use it.
pub(crate) trait DynApiCaller: Send + Sync {
    fn identify(&self) -> BoxFuture<'_, Result<ToolCaller, CallError>>;
    fn call<'c>(&'c self, call: &'c ApiCallSpec) -> BoxFuture<'c, Result<Value, CallError>>;
    fn record_refusal<'c>(&'c self, call: &'c ApiCallSpec, refusal: &'c ErrorBody) -> BoxFuture<'c, ()>;
}

impl<C: ApiCaller> DynApiCaller for C {
    fn identify(&self) -> BoxFuture<'_, Result<ToolCaller, CallError>> {
        Box::pin(ApiCaller::identify(self))
    }

    fn call<'c>(&'c self, call: &'c ApiCallSpec) -> BoxFuture<'c, Result<Value, CallError>> {
        Box::pin(ApiCaller::call(self, call))
    }

    fn record_refusal<'c>(&'c self, call: &'c ApiCallSpec, refusal: &'c ErrorBody) -> BoxFuture<'c, ()> {
        Box::pin(ApiCaller::record_refusal(self, call, refusal))
    }
}

impl ApiCallSpec {
    /// A call with only an operation.
    pub(crate) fn new(operation: Operation) -> ApiCallSpec {
        ApiCallSpec {
            operation,
            parts: Vec::new(),
            query: Vec::new(),
            body: None,
            tolerates: None,
            is_decision_call: false,
        }
    }

    /// A call about one object, by id or name.
    pub(crate) fn about(operation: Operation, id: &str) -> Result<ApiCallSpec, CallError> {
        // These path components would lead to another route, with another permission.
        if matches!(id.trim(), "" | "." | "..") {
            return Err(refusal("bad-value", "an id or name is missing", "give the id or name"));
        }
        Ok(ApiCallSpec { parts: vec![id.to_owned()], ..ApiCallSpec::new(operation) })
    }

    /// Adds a query parameter if there is a value.
    pub(crate) fn query(
        mut self,
        name: &'static str,
        value: Option<&(impl ToString + ?Sized)>,
    ) -> ApiCallSpec {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// Marks the call as a decision.
    pub(crate) fn consent(mut self) -> ApiCallSpec {
        self.is_decision_call = true;
        self
    }

    /// Sets the body.
    pub(crate) fn body(mut self, body: &impl Serialize) -> ApiCallSpec {
        self.body = serde_json::to_value(body).ok();
        self
    }

    /// Path and query, percent-encoded.
    pub fn path_and_query(&self) -> String {
        let mut url = url::Url::parse("http://windlass").expect("it is one");
        let mut parts = self.parts.iter();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear();
            for segment in self.operation.endpoint().path.split('/').filter(|segment| !segment.is_empty()) {
                match segment.starts_with('{') {
                    true => segments.push(parts.next().map_or("", String::as_str)),
                    false => segments.push(segment),
                };
            }
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url[url::Position::BeforePath..url::Position::AfterQuery].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_an_id_holds_it_stays_one_part_of_the_path() {
        let path = |id| ApiCallSpec::about(Operation::RepositoryShow, id).map(|call| call.path_and_query());
        let all = "/api/v1/system/gitops_repositories";
        assert_eq!(path("fleet").ok(), Some(format!("{all}/fleet")));
        assert_eq!(path("a/../b?c#d%2e").ok(), Some(format!("{all}/a%2F..%2Fb%3Fc%23d%252e")));
        for elsewhere in ["", " ", ".", ".."] {
            assert!(path(elsewhere).is_err(), "{elsewhere}");
        }
    }
}
