//! Values, payloads and the selection of fields.

use std::collections::HashMap;

use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{ListValue, Struct, Value, WithPayloadSelector, with_payload_selector};
use qdrant_edge::external::serde_json::{self, Map, Number};
use qdrant_edge::{JsonPath, Payload, WithPayloadInterface};
use tonic::Status;

use super::invalid;

/// Returns the engine's path of a field.
pub fn field_path(field: &str) -> JsonPath {
    JsonPath { first_key: field.to_owned(), rest: Vec::new() }
}

/// Converts a payload for the engine.
pub fn payload_to_engine(payload: HashMap<String, Value>) -> Payload {
    Payload(payload.into_iter().map(|(field, value)| (field, to_json(value))).collect())
}

/// Converts a payload of the engine.
pub fn payload_from_engine(payload: Option<Payload>) -> HashMap<String, Value> {
    let fields = payload.map(|payload| payload.0).unwrap_or_default();
    fields.into_iter().map(|(field, value)| (field, from_json(value))).collect()
}

/// Converts which fields of the payload a response has. `default` holds where the request does not say.
pub fn payload_selector(
    selector: Option<WithPayloadSelector>,
    default: bool,
) -> Result<WithPayloadInterface, Status> {
    match selector.and_then(|selector| selector.selector_options) {
        None => Ok(WithPayloadInterface::Bool(default)),
        Some(with_payload_selector::SelectorOptions::Enable(all)) => Ok(WithPayloadInterface::Bool(all)),
        Some(with_payload_selector::SelectorOptions::Include(included)) => {
            Ok(WithPayloadInterface::Fields(included.fields.iter().map(|field| field_path(field)).collect()))
        }
        Some(with_payload_selector::SelectorOptions::Exclude(_)) => Err(invalid("excluded fields")),
    }
}

fn to_json(value: Value) -> serde_json::Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => serde_json::Value::Null,
        Some(Kind::DoubleValue(number)) => {
            Number::from_f64(number).map_or(serde_json::Value::Null, serde_json::Value::Number)
        }
        Some(Kind::IntegerValue(number)) => number.into(),
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::BoolValue(is_true)) => is_true.into(),
        Some(Kind::StructValue(fields)) => {
            let fields = fields.fields.into_iter().map(|(field, value)| (field, to_json(value)));
            serde_json::Value::Object(fields.collect::<Map<_, _>>())
        }
        Some(Kind::ListValue(list)) => list.values.into_iter().map(to_json).collect(),
    }
}

fn from_json(value: serde_json::Value) -> Value {
    let kind = match value {
        serde_json::Value::Null => Kind::NullValue(0),
        serde_json::Value::Bool(is_true) => Kind::BoolValue(is_true),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Kind::IntegerValue(number),
            None => Kind::DoubleValue(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Kind::StringValue(text),
        serde_json::Value::Array(values) => {
            Kind::ListValue(ListValue { values: values.into_iter().map(from_json).collect() })
        }
        serde_json::Value::Object(fields) => {
            let fields = fields.into_iter().map(|(field, value)| (field, from_json(value))).collect();
            Kind::StructValue(Struct { fields })
        }
    };
    Value { kind: Some(kind) }
}
