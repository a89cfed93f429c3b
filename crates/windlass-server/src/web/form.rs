//! The fields of a submitted form.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windlass_control::refusal::Refusal;

use crate::http::error::HttpError;
use crate::state::Server;

/// The fields, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub(super) struct FormFields {
    fields: Vec<(String, String)>,
}

impl FormFields {
    /// Reads `application/x-www-form-urlencoded`. Browsers write line ends as CR LF; here they are LF.
    pub(super) fn read(bytes: &[u8]) -> Result<FormFields, Refusal> {
        let fields: Vec<(String, String)> = url::form_urlencoded::parse(bytes)
            .map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n")))
            .collect();
        // Databases treat NUL differently, so no stored text may contain it.
        if fields.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')) {
            return Err(Refusal::bad_request("the form contains a NUL character", "remove it"));
        }
        Ok(FormFields { fields })
    }

    /// A field's text; empty if there is none.
    pub(super) fn text<'f>(&'f self, name: &'f str) -> &'f str {
        self.texts(name).next().unwrap_or_default()
    }

    /// A field's text without spaces around it, if it is not empty.
    pub(super) fn non_empty_text<'f>(&'f self, name: &'f str) -> Option<&'f str> {
        Some(self.text(name).trim()).filter(|text| !text.is_empty())
    }

    /// Whether a checkbox was ticked.
    pub(super) fn is_ticked(&self, name: &str) -> bool {
        !self.text(name).is_empty()
    }

    /// Every text of a field that was sent several times.
    pub(super) fn texts<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.fields.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

impl FromRequestParts<Server> for FormFields {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<FormFields, HttpError> {
        // The guard reads it before it calls any handler.
        Ok(parts.extensions.get::<FormFields>().cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_send_them() {
        let form = FormFields::read(b"pick=1&pick=2&reason=a+b%0D%0Ac&empty=+").expect("a form");
        assert_eq!(form.texts("pick").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(
            (form.text("reason"), form.non_empty_text("empty"), form.text("none")),
            ("a b\nc", None, "")
        );
        assert!(FormFields::read(b"a=%00").is_err());
    }
}
