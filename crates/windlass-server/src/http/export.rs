//! Requests about exports.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_control::ask::export::{export_fleet, left_out_comment, masked_comment, read_form, read_values};
use windlass_control::caller::Identity;
use windlass_core::export::ExportedFiles;

use crate::http::request::{HandlerResult, QueryParams, json_ok};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct ExportQuery {
    repository: Option<String>,
    form: Option<String>,
    secrets: Option<String>,
}

pub(crate) async fn export(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<ExportQuery>,
) -> HandlerResult {
    let form = read_form(query.form.as_deref())?;
    let values = read_values(&who, query.secrets.as_deref())?;
    answer(export_fleet(&server, &who, query.repository.as_deref(), (form, values)).await?)
}

fn answer(exported: ExportedFiles) -> HandlerResult {
    if let [only] = exported.files.as_slice() {
        let text = masked_comment(exported.masked) + &left_out_comment(&exported.left_out) + &only.text;
        return Ok((StatusCode::OK, [("content-type", "application/yaml")], text).into_response());
    }
    let files: Map<String, Value> =
        exported.files.into_iter().map(|file| (file.path, Value::String(file.text))).collect();
    let left: Vec<String> = exported.left_out.iter().map(ToString::to_string).collect();
    json_ok(&json!({"files": files, "left_out": left, "masked": exported.masked}))
}
