//! What was read: values that fit their fields, to be taken out by name.

use std::collections::BTreeMap;

use entity::time::Timestamp;
use serde_json::{Map, Value as Json};
use uuid::Uuid;

/// A value that fits its field's kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Words, text or content.
    Text(String),
    /// A choice.
    Name(&'static str),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// An id.
    Id(Uuid),
    /// A moment.
    Time(Timestamp),
    /// A list.
    List(Vec<Value>),
    /// An object.
    Record(Values),
    /// An object that is read later.
    Open(Map<String, Json>),
    /// Given as `null`.
    Null,
}

/// The values of one request, by field. A value is taken once; a field that was not given, or given as `null`, is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(pub(super) BTreeMap<&'static str, Value>);

macro_rules! take {
    ($($(#[$doc:meta])* $name:ident: $variant:ident => $type:ty),+ $(,)?) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, field: &str) -> Option<$type> {
            match self.0.remove(field) {
                Some(Value::$variant(value)) => Some(value),
                Some(_) | None => None,
            }
        }
    )+};
}

impl Values {
    take! {
        /// Takes words, a text or content.
        text: Text => String,
        /// Takes the name of a choice.
        name: Name => &'static str,
        /// Takes a number.
        number: Number => f64,
        /// Takes a flag.
        flag: Flag => bool,
        /// Takes an id.
        id: Id => Uuid,
        /// Takes a moment.
        time: Time => Timestamp,
        /// Takes a list.
        list: List => Vec<Value>,
        /// Takes a whole number.
        whole: Integer => i64,
    }

    /// Takes a whole number as the type that its bounds fit into; `None` too where they do not.
    pub fn integer<N: TryFrom<i64>>(&mut self, field: &str) -> Option<N> {
        self.whole(field).and_then(|number| N::try_from(number).ok())
    }

    /// Takes a list of texts.
    pub fn texts(&mut self, field: &str) -> Option<Vec<String>> {
        let texts = self.list(field)?.into_iter();
        Some(texts.filter_map(|item| if let Value::Text(text) = item { Some(text) } else { None }).collect())
    }

    /// Takes a list of ids.
    pub fn ids(&mut self, field: &str) -> Option<Vec<Uuid>> {
        let ids = self.list(field)?.into_iter();
        Some(ids.filter_map(|item| if let Value::Id(id) = item { Some(id) } else { None }).collect())
    }

    /// Takes a list of objects.
    pub fn records(&mut self, field: &str) -> Option<Vec<Values>> {
        let records = self.list(field)?.into_iter();
        Some(
            records.filter_map(|r| if let Value::Record(record) = r { Some(record) } else { None }).collect(),
        )
    }

    /// Takes a list of objects that are read later.
    pub fn opens(&mut self, field: &str) -> Option<Vec<Map<String, Json>>> {
        let opens = self.list(field)?.into_iter();
        Some(
            opens
                .filter_map(|item| if let Value::Open(members) = item { Some(members) } else { None })
                .collect(),
        )
    }

    /// Whether the field was given, as `null` too.
    pub fn has(&self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    /// What a change says of the field: `None` leaves it, `Some(None)` empties it.
    pub fn change(&mut self, field: &str) -> Option<Option<String>> {
        self.has(field).then(|| self.text(field))
    }
}
