//! What may be asked, from the tables of fields.

use serde_json::{Map, Value, json};
use validation::{Field, Kind};

/// No text of ours may hold the character NUL, and words are not only of spaces.
const WORDS: &str = r"^[^\u0000]*[^\s\u0000][^\u0000]*$";
const TEXT: &str = r"^[^\u0000]*$";
/// No path, no control characters, and not only spaces.
const FILENAME: &str =
    r"^[^/\\\u0000-\u001f\u007f-\u009f]*[^/\\\s\u0000-\u001f\u007f-\u009f][^/\\\u0000-\u001f\u007f-\u009f]*$";

/// Control characters, format characters but joiners, and others that are not seen ([`validation::label`]). Those beyond
/// U+FFFF are left out, because patterns of different languages have no common escape for them.
macro_rules! unseen {
    () => {
        concat!(
            r"\u0000-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2",
            r"\u115f-\u1160\u180e\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0",
            r"\ufff9-\ufffb",
        )
    };
}

/// None of these, and not only spaces and joiners.
const LABEL: &str = concat!("^[^", unseen!(), r"]*[^\s\u200c\u200d", unseen!(), "][^", unseen!(), "]*$");

const SHA_256: &str = "^[0-9A-Fa-f]{64}$";

/// Who reads a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A program: every rule that can be said is said, `null` for what may be left out too.
    Program,
    /// A model that fills in a tool's arguments: plain words only, since clients differ in what else they read.
    Model,
}

/// An object with these fields and no others.
pub fn record(fields: &[Field], reader: Reader) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), property(field, reader))).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    if let (Some(members), false) = (schema.as_object_mut(), required.is_empty()) {
        members.insert("required".to_owned(), json!(required));
    }
    schema
}

fn property(field: &Field, reader: Reader) -> Value {
    let mut schema = of_kind(&field.kind, reader);
    if reader == Reader::Program && !field.required {
        schema = json!({ "anyOf": [schema, { "type": "null" }] });
    }
    if let (Some(members), false) = (schema.as_object_mut(), field.about.is_empty()) {
        members.insert("description".to_owned(), json!(field.about));
    }
    schema
}

/// What a field of this kind may hold.
pub fn of_kind(kind: &Kind, reader: Reader) -> Value {
    match kind {
        Kind::Words { min, max } => {
            text(json!({ "type": "string", "minLength": min, "maxLength": max }), WORDS, reader)
        }
        Kind::Label { max } => {
            text(json!({ "type": "string", "minLength": 1, "maxLength": max }), LABEL, reader)
        }
        Kind::Text { max } => text(json!({ "type": "string", "maxLength": max }), TEXT, reader),
        Kind::Filename { max } => {
            text(json!({ "type": "string", "minLength": 1, "maxLength": max }), FILENAME, reader)
        }
        Kind::Content => json!({ "type": "string" }),
        Kind::Sha256 => text(json!({ "type": "string", "minLength": 64, "maxLength": 64 }), SHA_256, reader),
        Kind::Integer { min, max: i64::MAX } if reader == Reader::Model => {
            json!({ "type": "integer", "minimum": min })
        }
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Id => json!({ "type": "string", "format": "uuid" }),
        Kind::Time => json!({ "type": "string", "format": "date-time" }),
        Kind::Choice(names) => json!({ "type": "string", "enum": names }),
        Kind::List { of, min, max } => {
            json!({ "type": "array", "items": of_kind(of, reader), "minItems": min, "maxItems": max })
        }
        Kind::Record(fields) => record(fields, reader),
        Kind::Either { one, beside } => either(one, beside, reader),
        Kind::Open(shapes) => {
            let shapes = shapes.iter().map(|shape| titled(record(shape.fields, reader), shape.name));
            json!({ "oneOf": shapes.collect::<Vec<_>>() })
        }
    }
}

/// A shape for each of the fields of which there is one: the others may only be `null` in it.
fn either(one: &[Field], beside: &[Field], reader: Reader) -> Value {
    if reader == Reader::Model {
        return record(&[one, beside].concat(), reader);
    }
    let shapes = one.iter().map(|chosen| {
        let chosen = Field { required: true, ..*chosen };
        let mut shape = record(&[&[chosen], beside].concat(), reader);
        if let Some(Value::Object(properties)) = shape.get_mut("properties") {
            let others = one.iter().filter(|other| other.name != chosen.name);
            properties.extend(others.map(|other| (other.name.to_owned(), json!({ "type": "null" }))));
        }
        titled(shape, chosen.name)
    });
    json!({ "oneOf": shapes.collect::<Vec<_>>() })
}

fn titled(mut schema: Value, title: &str) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert("title".to_owned(), json!(title));
    }
    schema
}

fn text(mut schema: Value, pattern: &str, reader: Reader) -> Value {
    if let (Some(members), Reader::Program) = (schema.as_object_mut(), reader) {
        members.insert("pattern".to_owned(), json!(pattern));
    }
    schema
}

#[cfg(test)]
mod tests {
    use validation::label;

    use super::*;

    const FIELDS: &[Field] = &[
        Field::required("title", Kind::Words { min: 1, max: 300 }, "A title."),
        Field::optional("progress", Kind::Number { min: 0.0, max: 1.0 }, ""),
    ];

    /// Whether `unseen!` has this character.
    fn is_unseen(c: char) -> bool {
        let number = |code| u32::from_str_radix(code, 16).unwrap();
        let mut codes = unseen!().split(r"\u").skip(1);
        while let Some(code) = codes.next() {
            let (first, last) = match code.strip_suffix('-') {
                Some(first) => (first, codes.next().unwrap()),
                None => (code, code),
            };
            if (number(first)..=number(last)).contains(&u32::from(c)) {
                return true;
            }
        }
        false
    }

    #[test]
    fn pattern_of_a_label_refuses_what_its_rule_refuses() {
        for c in (0..=0xffff).filter_map(char::from_u32) {
            let is_refused = label(&format!("a{c}"), 2).is_err();
            assert_eq!(is_unseen(c), is_refused, "{c:?}");
        }
    }

    #[test]
    fn a_field_that_may_be_left_out_may_be_null_where_that_is_said() {
        let wire = record(FIELDS, Reader::Program);

        assert_eq!(wire["required"], json!(["title"]));
        assert_eq!(wire["properties"]["title"]["description"], "A title.");
        assert_eq!(wire["properties"]["progress"]["anyOf"][1], json!({ "type": "null" }));
        assert_eq!(record(FIELDS, Reader::Model)["properties"]["progress"]["type"], "number");
    }
}
