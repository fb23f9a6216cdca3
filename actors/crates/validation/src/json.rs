//! Reads a JSON body or the arguments of a tool. Repeated members are faults (contract.md, section 11).

use std::cell::{Cell, RefCell};
use std::fmt;

use errors::Invalid;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use super::{
    Faults, Field, Kind, MAX_FAULTS, Value, Values, bounds, from_text, integer, mismatch_reason, number,
};

/// Reads a JSON object.
///
/// # Errors
/// Every fault in it.
pub fn read(body: &[u8], fields: &'static [Field]) -> Result<Values, Invalid> {
    let (json, mut faults) = parse_and_find_repeated(body)?;
    match json {
        Json::Object(members) => {
            let values = record(members, fields, "", &mut faults);
            faults.into_result(values)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(Invalid::new("body", "must be a JSON object"))
        }
    }
}

/// Reads a JSON object that was parsed before.
///
/// # Errors
/// Every fault in it.
pub fn read_map(members: Map<String, Json>, fields: &'static [Field]) -> Result<Values, Invalid> {
    let mut faults = Faults::default();
    let values = record(members, fields, "", &mut faults);
    faults.into_result(values)
}

/// Parses any JSON value.
///
/// # Errors
/// The body is not JSON, has too many values, or an object has a member more than once.
pub fn parse(body: &[u8]) -> Result<Json, Invalid> {
    let (json, faults) = parse_and_find_repeated(body)?;
    faults.into_result(json)
}

/// Values and members of one body. Valid requests have at most a thousand, and in memory a value takes a hundred times the
/// bytes that it takes in the body.
const MAX_VALUES: usize = 50_000;

/// Parses any JSON value, with a fault for each member that its object has more than once.
fn parse_and_find_repeated(body: &[u8]) -> Result<(Json, Faults), Invalid> {
    let state = ParseState::default();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let builder = ValueBuilder { state: &state, path: &JsonPath::Body };
    let parsed = builder.deserialize(&mut reader).and_then(|json| reader.end().map(|()| json));
    let ParseState { values, repeated, .. } = state;
    let json = parsed.map_err(|_| match values.get() {
        0..=MAX_VALUES => Invalid::new("body", "is not valid JSON in UTF-8"),
        _ => Invalid::new("body", format!("holds more than {MAX_VALUES} values")),
    })?;
    Ok((json, repeated.into_inner()))
}

fn record(
    members: Map<String, Json>,
    fields: impl IntoIterator<Item = &'static Field, IntoIter: Clone>,
    path: &str,
    faults: &mut Faults,
) -> Values {
    let (mut values, fields) = (Values::default(), fields.into_iter());
    for (name, json) in members {
        let member_path = join(path, &name);
        let Some(field) = fields.clone().find(|field| field.name == name) else {
            faults.add(member_path, "is not a field of this request");
            continue;
        };
        if json.is_null() && !field.required {
            values.0.insert(field.name, Value::Null);
        } else if let Some(value) = member(&field.kind, json, &member_path, faults) {
            values.0.insert(field.name, value);
        }
    }
    for field in fields.filter(|field| field.required && !values.has(field.name)) {
        faults.add(join(path, field.name), "is required");
    }
    values
}

/// Reads an object that must have exactly one field of the table `one`. A field that is `null` does not count.
fn either(
    members: Map<String, Json>,
    one: &'static [Field],
    beside: &'static [Field],
    path: &str,
    faults: &mut Faults,
) -> Values {
    let is_present = |field: &&Field| members.get(field.name).is_some_and(|json| !json.is_null());
    if one.iter().filter(is_present).count() != 1 {
        let names: Vec<_> = one.iter().map(|field| field.name).collect();
        faults.add(path, format!("must have exactly one of {}", names.join(", ")));
    }
    record(members, one.iter().chain(beside), path, faults)
}

fn member(kind: &'static Kind, json: Json, path: &str, faults: &mut Faults) -> Option<Value> {
    let read = match (kind, json) {
        (Kind::List { of, min, max }, Json::Array(items)) => {
            return list(of, *min, *max, items, path, faults);
        }
        (Kind::Record(fields), Json::Object(members)) => {
            return Some(Value::Record(record(members, *fields, path, faults)));
        }
        (Kind::Either { one, beside }, Json::Object(members)) => {
            return Some(Value::Record(either(members, one, beside, path, faults)));
        }
        (Kind::Open(_), Json::Object(members)) => return Some(Value::Open(members)),
        (Kind::Integer { min, max }, Json::Number(json_number)) => match as_integer(&json_number) {
            Some(value) => integer(value, *min, *max),
            None => Err(bounds(*min, *max)),
        },
        (Kind::Number { min, max }, Json::Number(json_number)) => {
            number(json_number.as_f64().unwrap_or(f64::NAN), *min, *max)
        }
        (Kind::Flag, Json::Bool(flag)) => Ok(Value::Flag(flag)),
        (kind, Json::String(text)) => from_text(kind, text),
        (kind, Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
            Err(mismatch_reason(kind))
        }
    };
    read.map_err(|reason| faults.add(path, reason)).ok()
}

/// Returns a number without a fraction. `3`, `3.0` and `3e0` are the same: JSON has one type of number.
#[expect(clippy::cast_possible_truncation, reason = "an f64 represents all these integers exactly")]
fn as_integer(number: &Number) -> Option<i64> {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= MAX_EXACT_INTEGER);
    number.as_i64().or_else(|| float().map(|float| float as i64))
}

fn list(
    of: &'static Kind,
    min: usize,
    max: usize,
    items: Vec<Json>,
    path: &str,
    faults: &mut Faults,
) -> Option<Value> {
    if items.len() < min || items.len() > max {
        faults.add(path, format!("must have {min} to {max} items"));
        return None;
    }
    let read = items.into_iter().enumerate();
    Some(Value::List(
        read.filter_map(|(n, item)| member(of, item, &format!("{path}[{n}]"), faults)).collect(),
    ))
}

/// Characters of the name of a member in a fault. Longer names are cut.
const MAX_NAME_CHARS: usize = 100;

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        format!("{name:.MAX_NAME_CHARS$}")
    } else {
        format!("{path}.{name:.MAX_NAME_CHARS$}")
    }
}

/// The path of a value in a body.
enum JsonPath<'a> {
    Body,
    Member(&'a JsonPath<'a>, &'a str),
    Item(&'a JsonPath<'a>, usize),
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonPath::Body => Ok(()),
            JsonPath::Member(JsonPath::Body, name) => write!(f, "{name:.MAX_NAME_CHARS$}"),
            JsonPath::Member(above, name) => write!(f, "{above}.{name:.MAX_NAME_CHARS$}"),
            JsonPath::Item(above, n) => write!(f, "{above}[{n}]"),
        }
    }
}

/// What was found in a body so far.
#[derive(Default)]
struct ParseState {
    values: Cell<usize>,
    repeated: RefCell<Faults>,
    /// Repetitions that were found, also those of one path. It bounds how many paths are formatted, which can be as long as
    /// the body is deep.
    repetitions: Cell<usize>,
}

impl ParseState {
    fn count_value<E: serde::de::Error>(&self) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_VALUES { Err(E::custom("too many values")) } else { Ok(()) }
    }

    fn add_repeated<E: serde::de::Error>(&self, path: &JsonPath<'_>) -> Result<(), E> {
        if self.repetitions.get() < MAX_FAULTS {
            self.repetitions.set(self.repetitions.get() + 1);
            let mut repeated = self.repeated.try_borrow_mut().map_err(E::custom)?;
            repeated.add(path.to_string(), "is given more than once");
        }
        Ok(())
    }
}

/// Builds a JSON value and records repeated members.
struct ValueBuilder<'a> {
    state: &'a ParseState,
    path: &'a JsonPath<'a>,
}

impl<'de> DeserializeSeed<'de> for ValueBuilder<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Json, D::Error> {
        self.state.count_value()?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueBuilder<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = JsonPath::Item(self.path, list.len());
            match items.next_element_seed(ValueBuilder { state: self.state, path: &path })? {
                Some(item) => list.push(item),
                None => break,
            }
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = JsonPath::Member(self.path, &name);
            let value = members.next_value_seed(ValueBuilder { state: self.state, path: &path })?;
            if object.contains_key(&name) {
                self.state.add_repeated(&path)?;
            }
            object.insert(name, value);
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Kind = Kind::Record(&[
        Field::optional("bookmarkId", Kind::Id, ""),
        Field::optional("role", Kind::Choice(&["source", "background"]), ""),
    ]);
    const THING: Kind = Kind::Either {
        one: &[Field::optional("noteId", Kind::Id, ""), Field::optional("sum", Kind::Sha256, "")],
        beside: &[Field::optional("role", Kind::Choice(&["source"]), "")],
    };
    const FIELDS: &[Field] = &[
        Field::required("title", Kind::Words { min: 1, max: 10 }, ""),
        Field::optional("items", Kind::List { of: &ITEM, min: 1, max: 3 }, ""),
        Field::optional("progress", Kind::Number { min: 0.0, max: 1.0 }, ""),
        Field::optional("limit", Kind::Integer { min: 1, max: 9 }, ""),
        Field::optional("favorite", Kind::Flag, ""),
        Field::optional("things", Kind::List { of: &THING, min: 1, max: 9 }, ""),
    ];

    fn faulty(body: &str) -> Vec<String> {
        read(body.as_bytes(), FIELDS).unwrap_err().faults.into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn valid_body_becomes_values() {
        let mut values =
            read(br#"{"title": "T", "progress": 1, "limit": 3, "items": [{"role": "source"}]}"#, FIELDS)
                .unwrap();

        assert_eq!(values.text("title").as_deref(), Some("T"));
        assert_eq!(values.number("progress"), Some(1.0));
        assert_eq!(values.integer::<u8>("limit"), Some(3));
        assert_eq!(values.records("items").unwrap()[0].clone().name("role"), Some("source"));
    }

    #[test]
    fn all_faults_are_reported_with_their_paths() {
        let body = r#"{"items": [{}, {"bookmarkId": "x", "zap": 1}], "favorite": "yes", "limit": 1.5, "progress": 2}"#;

        let mut found = faulty(body);
        found.sort();

        assert_eq!(found, ["favorite", "items[1].bookmarkId", "items[1].zap", "limit", "progress", "title"]);
    }

    #[test]
    fn object_without_exactly_one_alternative_is_a_fault() {
        let (id, sum) = ("01890000-0000-7000-8000-000000000000", "aB".repeat(32));
        let things = format!(
            r#"[{{}}, {{"noteId": "{id}"}}, {{"noteId": "{id}", "sum": "{sum}"}}, {{"role": "x"}}, {{"noteId": null, "sum": "{sum}"}}, {{"sum": "{}"}}]"#,
            "g".repeat(64)
        );

        let found = faulty(&format!(r#"{{"things": {things}, "limit": 0}}"#));

        assert_eq!(
            found,
            ["things[0]", "things[2]", "things[3]", "things[3].role", "things[5].sum", "limit", "title"]
        );
        let body = format!(r#"{{"title": "t", "things": [{{"noteId": null, "sum": "{sum}"}}]}}"#);
        let mut read = read(body.as_bytes(), FIELDS).unwrap();
        assert_eq!(read.records("things").unwrap()[0].text("sum"), Some(sum.to_lowercase()));
    }

    #[test]
    fn body_that_is_not_an_object_is_one_fault() {
        for body in ["", "{", "[]", "7", "\"text\"", "{} {}", "{\"title\": \"\\ud800\"}", "{\"title\": NaN}"]
        {
            assert_eq!(faulty(body), ["body"], "{body}");
        }
        assert_eq!(faulty(&"[".repeat(100_000)), ["body"]);
    }

    #[test]
    fn number_without_a_fraction_is_whole_in_any_notation() {
        for (given, limit) in [("3", 3), ("3.0", 3), ("3e0", 3)] {
            let body = format!(r#"{{"title": "t", "limit": {given}}}"#);
            assert_eq!(read(body.as_bytes(), FIELDS).unwrap().integer::<u8>("limit"), Some(limit), "{given}");
        }
        assert_eq!(faulty(r#"{"title": "t", "limit": 1e300}"#), ["limit"]);
    }

    /// Threat table (row J1).
    #[test]
    fn body_with_too_many_values_is_refused_while_parsing() {
        let items = vec!["{}"; MAX_VALUES + 1].join(",");
        let refused = read(format!("{{\"items\": [{items}]}}").as_bytes(), FIELDS).unwrap_err();
        assert_eq!(refused.faults[0].reason, format!("holds more than {MAX_VALUES} values"));
    }

    #[test]
    fn repetitions_are_bounded_like_other_faults() {
        let many = vec![r#""":0"#; 40_000].join(",");
        let names = "n".repeat(1000);
        let body = format!("{}{{{many}}}{}", format!("{{\"{names}\":").repeat(90), "}".repeat(90));
        let refused = read(body.as_bytes(), FIELDS).unwrap_err();
        let deep = &refused.faults[0];
        assert_eq!(deep.field.chars().count(), 90 * (MAX_NAME_CHARS + 1), "each name is cut");
        let objects = vec![r#"{"a":0,"a":0}"#; 2 * MAX_FAULTS].join(",");
        assert_eq!(faulty(&format!("{{\"items\": [{objects}]}}")).len(), MAX_FAULTS);
    }

    /// Threat table (row J1).
    #[test]
    fn repeated_member_is_a_fault() {
        assert_eq!(faulty(r#"{"title": "a", "title": "b"}"#), ["title"]);
        let body = r#"{"title": "a", "items": [{}, {"role": "source", "role": "source"}], "limit": 0}"#;
        assert_eq!(faulty(body), ["items[1].role", "limit"]);
    }
}
