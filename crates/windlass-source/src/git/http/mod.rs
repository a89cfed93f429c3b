//! The https transport: the requests that gix needs, within the fetch limits.
//!
//! Redirects are followed only within the same scheme, host and port, so that a credential is sent only to the server
//! it belongs to, and every request passes the address guard. Nothing is decompressed, and no git configuration is
//! read; the environment may name a proxy.

mod exchange;
mod transport;

use std::any::Any;
use std::rc::Rc;

use gix::protocol::transport::client::blocking_io::http::{
    GetResponse, Http, PostBodyDataKind, PostResponse,
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

pub(super) use self::transport::HttpTransport;

use self::exchange::{BodyReader, ExchangeState, HttpExchange, RequestBody, ResponseHead};

impl Http for HttpTransport {
    type Headers = ResponseHead;
    type ResponseBody = BodyReader;
    type PostBody = RequestBody;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> gix::Result<GetResponse<ResponseHead, BodyReader>> {
        let response =
            self.get_with_redirects(url, base_url, &header_map(headers)).map_err(gix::Error::from_error)?;
        let exchange = HttpExchange::new(self.clone(), ExchangeState::Answered(response));
        Ok(GetResponse { headers: ResponseHead::new(&exchange), body: BodyReader::new(&exchange) })
    }

    fn post(
        &mut self,
        url: &str,
        _base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        _body: PostBodyDataKind,
    ) -> gix::Result<PostResponse<ResponseHead, BodyReader, RequestBody>> {
        let step =
            ExchangeState::Asking { url: url.to_owned(), headers: header_map(headers), body: Vec::new() };
        let exchange = HttpExchange::new(self.clone(), step);
        Ok(PostResponse {
            post_body: RequestBody(Rc::clone(&exchange)),
            headers: ResponseHead::new(&exchange),
            body: BodyReader::new(&exchange),
        })
    }

    fn configure(&mut self, _config: &dyn Any) -> gix::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.0.moved_to.borrow().clone()
    }
}

fn header_map(lines: impl IntoIterator<Item = impl AsRef<str>>) -> HeaderMap {
    let mut map = HeaderMap::new();
    for line in lines {
        let Some((name, value)) = line.as_ref().split_once(':') else { continue };
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value.trim())) {
            value.set_sensitive(name == reqwest::header::AUTHORIZATION);
            map.insert(name, value);
        }
    }
    map
}
