//! Holds a reply against the output schema that is shown for it.

use serde::Serialize;
use serde_json::Value;

/// Panics where the reply has other members or other types than the schema.
pub fn fits(reply: &impl Serialize, schema: &Value) {
    check(&serde_json::to_value(reply).unwrap(), schema, "reply");
}

fn check(value: &Value, schema: &Value, place: &str) {
    if let Some(options) = schema["anyOf"].as_array() {
        let chosen = options.iter().find(|option| (option["type"] == "null") == value.is_null());
        return check(
            value,
            chosen.unwrap_or_else(|| panic!("{place}: {value} fits none of {options:?}")),
            place,
        );
    }
    match (value, schema["type"].as_str()) {
        (Value::Object(members), Some("object")) => {
            let named = schema["properties"].as_object().unwrap();
            let required = schema["required"].as_array().unwrap();
            assert!(members.keys().all(|name| named.contains_key(name)), "{place}: {members:?}");
            assert!(required.iter().all(|name| members.contains_key(name.as_str().unwrap())), "{place}");
            for (name, member) in members {
                check(member, &schema["properties"][name], &format!("{place}.{name}"));
            }
        }
        (Value::Array(items), Some("array")) => {
            assert!(!items.is_empty(), "{place}: nothing to hold against the schema");
            items.iter().for_each(|item| check(item, &schema["items"], place));
        }
        (Value::String(_), Some("string")) => {
            if let Some(names) = schema["enum"].as_array() {
                assert!(names.contains(value), "{place}: {value}");
            }
        }
        (Value::Number(number), Some("integer")) => assert!(number.is_i64(), "{place}: {number}"),
        (Value::Number(_), Some("number"))
        | (Value::Bool(_), Some("boolean"))
        | (Value::Null, Some("null")) => {}
        (value, stated) => panic!("{place}: {value} is no {stated:?}"),
    }
}
