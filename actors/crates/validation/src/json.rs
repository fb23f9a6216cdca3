//! Reads a JSON body or the arguments of a tool. Repeated members are faults (contract.md, section 11).

use std::cell::{Cell, RefCell};
use std::fmt;

use deserr::{Deserr, deserialize};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value as Json};

use super::faults::{FaultList, Faults, ImportMode, JsonMode, MAX_FAULTS, MAX_NAME_CHARS, ReadMode};
use super::invalid::Invalid;
use super::reasons;
use super::request::{Request, check_rules};

/// Reads a JSON object from the bytes of a body.
///
/// # Errors
/// [`Invalid`] with every fault of the object; with one fault of `body` when the bytes are not a JSON object.
pub fn read_json<R: Request>(body: &[u8]) -> Result<R, Invalid> {
    let (json, repeated) = parse_and_find_repeated(body)?;
    match json {
        Json::Object(members) => read_members::<R, JsonMode>(members, repeated),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(Invalid::new("body", "must be a JSON object"))
        }
    }
}

/// Reads a JSON object that was parsed before.
///
/// # Errors
/// [`Invalid`] with every fault of the object.
pub fn read_object<R: Request>(members: Map<String, Json>) -> Result<R, Invalid> {
    read_members::<R, JsonMode>(members, FaultList::default())
}

/// Reads a row of an imported file, which was parsed before. Texts and lists that are too long are cut, because other programs
/// have other limits. A URL that is too long is a fault: a cut one would be another URL.
///
/// # Errors
/// [`Invalid`] with every fault of the row.
pub fn read_import<R: Request>(members: Map<String, Json>) -> Result<R, Invalid> {
    read_members::<R, ImportMode>(members, FaultList::default())
}

/// Parses any JSON value, which need not be an object.
///
/// # Errors
/// [`Invalid`] when the body is not JSON, has too many values, or an object has a member more than once.
pub fn parse_json(body: &[u8]) -> Result<Json, Invalid> {
    let (json, repeated) = parse_and_find_repeated(body)?;
    repeated.into_result(json)
}

fn read_members<R: Request + Deserr<Faults<M>>, M: ReadMode>(
    members: Map<String, Json>,
    mut faults: FaultList,
) -> Result<R, Invalid> {
    let broken_rules = check_rules::<R>(|name| members.get(name).is_some_and(is_given));
    let read = deserialize::<R, _, Faults<M>>(Json::Object(members));
    // The reason of a value is more useful than that of a rule.
    match read {
        Ok(request) => {
            faults.extend(broken_rules);
            faults.into_result(request)
        }
        Err(found) => {
            faults.extend(found.into_list());
            faults.extend(broken_rules);
            Err(faults.into_invalid())
        }
    }
}

/// Returns whether a member counts as given for the rules of a request ([`FieldRule`](super::request::FieldRule)).
fn is_given(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => !text.trim().is_empty(),
        Json::Bool(true) | Json::Number(_) | Json::Array(_) | Json::Object(_) => true,
    }
}

/// Values and members of one body. Valid requests have at most a thousand, and in memory a value takes a hundred times the
/// bytes that it takes in the body.
const MAX_VALUES: usize = 50_000;

/// Parses any JSON value, with a fault for each member that its object has more than once.
// The reader of `serde_json::Value` would keep the last of several members with one name and report nothing.
fn parse_and_find_repeated(body: &[u8]) -> Result<(Json, FaultList), Invalid> {
    let state = ParseState::default();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let builder = ValueBuilder { state: &state, path: &JsonPath::Body };
    let parsed = builder.deserialize(&mut reader).and_then(|json| reader.end().map(|()| json));
    let ParseState { values, repeated, .. } = state;
    // serde_json does not tell its own errors from those of the builder; the count shows which one it is.
    let json = parsed.map_err(|_| match values.get() {
        0..=MAX_VALUES => Invalid::new("body", "is not valid JSON in UTF-8"),
        _ => Invalid::new("body", format!("holds more than {MAX_VALUES} values")),
    })?;
    Ok((json, repeated.into_inner()))
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

/// The members and faults that were found in a body so far.
// Cells, because the builders of nested values share it.
#[derive(Default)]
struct ParseState {
    values: Cell<usize>,
    repeated: RefCell<FaultList>,
    /// Number of repetitions that were found, including several of one path. It bounds how many paths are formatted, because a
    /// path can be as long as the body is deep.
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
            repeated.add(path.to_string(), reasons::REPEATED_FIELD);
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
            match object.entry(name) {
                Entry::Vacant(vacant) => {
                    vacant.insert(value);
                }
                Entry::Occupied(mut occupied) => {
                    self.state.add_repeated(&JsonPath::Member(self.path, occupied.key()))?;
                    occupied.insert(value);
                }
            }
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::field_types::{Choice, Flag, Fraction, Id, Integer, List, Words};
    use crate::{choices, request};

    choices! {
        enum Role {
            Source = "source",
            Background = "background",
        }
    }

    request! {
        struct ItemRequest {
            bookmark_id?: Id<Uuid>,
            role?: Choice<Role>,
        }
    }

    request! {
        struct BodyRequest {
            title: Words<1, 10>,
            items?: List<ItemRequest, 1, 3>,
            progress?: Fraction,
            limit?: Integer<1, 9>,
            favorite?: Flag,
        }
    }

    fn read(body: &[u8]) -> Result<BodyRequest, Invalid> {
        read_json(body)
    }

    fn faulty(body: &str) -> Vec<String> {
        read(body.as_bytes()).unwrap_err().faults.into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn valid_body_becomes_values() {
        let read =
            read(br#"{"title": "T", "progress": 1, "limit": 3, "items": [{"role": "source"}]}"#).unwrap();

        assert_eq!(read.title.into_inner(), "T");
        assert_eq!(read.progress.map(Fraction::into_inner), Some(1.0));
        assert_eq!(read.limit.and_then(Integer::convert::<u8>), Some(3));
        let item = read.items.unwrap().into_inner().swap_remove(0);
        assert_eq!(item.role.map(Choice::into_inner), Some(Role::Source));
        assert!(item.bookmark_id.is_none() && read.favorite.is_none());
    }

    #[test]
    fn all_faults_are_reported_with_their_paths() {
        let body = r#"{"items": [{}, {"bookmarkId": "x", "zap": 1}], "favorite": "yes", "limit": 1.5, "progress": 2}"#;

        let mut found = faulty(body);
        found.sort();

        assert_eq!(found, ["favorite", "items[1].bookmarkId", "items[1].zap", "limit", "progress", "title"]);
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
        for (given, limit) in [("3", 3_u8), ("3.0", 3), ("3e0", 3)] {
            let body = format!(r#"{{"title": "t", "limit": {given}}}"#);
            assert_eq!(
                read(body.as_bytes()).unwrap().limit.and_then(Integer::convert),
                Some(limit),
                "{given}"
            );
        }
        assert_eq!(faulty(r#"{"title": "t", "limit": 1e300}"#), ["limit"]);
    }

    /// Covers the threat table (row J1).
    #[test]
    fn body_with_too_many_values_is_refused_while_parsing() {
        let items = vec!["{}"; MAX_VALUES + 1].join(",");
        let refused = read(format!("{{\"items\": [{items}]}}").as_bytes()).unwrap_err();
        assert_eq!(refused.faults[0].reason, format!("holds more than {MAX_VALUES} values"));
    }

    #[test]
    fn repetitions_are_bounded_like_other_faults() {
        let many = vec![r#""":0"#; 40_000].join(",");
        let names = "n".repeat(1000);
        let body = format!("{}{{{many}}}{}", format!("{{\"{names}\":").repeat(90), "}".repeat(90));
        let refused = read(body.as_bytes()).unwrap_err();
        let deep = &refused.faults[0];
        assert_eq!(deep.field.chars().count(), 90 * (MAX_NAME_CHARS + 1), "each name is cut");
        let objects = vec![r#"{"a":0,"a":0}"#; 2 * MAX_FAULTS].join(",");
        assert_eq!(faulty(&format!("{{\"items\": [{objects}]}}")).len(), MAX_FAULTS);
    }

    /// Covers the threat table (row J1).
    #[test]
    fn repeated_member_is_a_fault() {
        assert_eq!(faulty(r#"{"title": "a", "title": "b"}"#), ["title"]);
        let body = r#"{"title": "a", "items": [{}, {"role": "source", "role": "source"}], "limit": 0}"#;
        assert_eq!(faulty(body), ["items[1].role", "limit"]);
    }

    fn reasons(body: &str) -> Vec<(String, String)> {
        let faults = read(body.as_bytes()).unwrap_err().faults;
        faults.into_iter().map(|fault| (fault.field, fault.reason)).collect()
    }

    #[test]
    fn reasons_say_what_a_field_must_be() {
        for (body, field, reason) in [
            (r#"{"zap": 1, "title": "t"}"#, "zap", "is not a field of this request"),
            ("{}", "title", "is required"),
            (r#"{"title": null}"#, "title", "must be a string"),
            (r#"{"title": "t", "limit": "5"}"#, "limit", "must be a whole number from 1 to 9"),
            (r#"{"title": "t", "progress": -1}"#, "progress", "must be a number from 0 to 1"),
            (r#"{"title": "t", "favorite": 1}"#, "favorite", "must be true or false"),
            (r#"{"title": "t", "items": {}}"#, "items", "must be an array"),
            (r#"{"title": "t", "items": []}"#, "items", "must have 1 to 3 items"),
            (r#"{"title": "t", "items": [7]}"#, "items[0]", "must be an object"),
            (
                r#"{"title": "t", "items": [{"role": "x"}]}"#,
                "items[0].role",
                "must be one of source, background",
            ),
        ] {
            assert_eq!(reasons(body), [(field.to_owned(), reason.to_owned())], "{body}");
        }
    }

    #[test]
    fn id_is_a_hyphenated_uuid_in_any_case() {
        let read = |id: &str| read_json::<ItemRequest>(format!(r#"{{"bookmarkId": "{id}"}}"#).as_bytes());
        assert!(read("01890000-0000-7000-8000-00000000000a").is_ok());
        assert!(read("01890000-0000-7000-8000-00000000000A").is_ok());
        assert!(read("nonsense").is_err());
    }

    #[test]
    fn import_cuts_long_texts_and_lists() {
        let members = |body: &str| serde_json::from_str::<Map<String, Json>>(body).unwrap();
        let body = format!(r#"{{"title": "{}", "items": [{{}}, {{}}, {{}}, {{}}]}}"#, "t".repeat(11));

        let read = read_import::<BodyRequest>(members(&body)).unwrap();

        assert_eq!(read.title.into_inner().len(), 10);
        assert_eq!(read.items.unwrap().into_inner().len(), 3);
        assert!(read_object::<BodyRequest>(members(&body)).is_err());
    }
}
