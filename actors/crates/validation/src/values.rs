//! The values of a request that was read. Each fits the kind of its field and is taken out by name.

use std::collections::BTreeMap;

use entity::time::Timestamp;
use serde_json::{Map, Value as Json};
use uuid::Uuid;

/// A value that fits the kind of its field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string of any kind.
    Text(String),
    /// The name of a choice.
    Name(&'static str),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// An id.
    Id(Uuid),
    /// A time.
    Time(Timestamp),
    /// A list.
    List(Vec<Value>),
    /// An object.
    Record(Values),
    /// An object that is read later.
    Open(Map<String, Json>),
    /// The field is `null`.
    Null,
}

/// The values of one request, by field. A value is taken out once; a field that is absent or `null` is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(pub(crate) BTreeMap<&'static str, Value>);

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
        /// Takes a string.
        text: Text => String,
        /// Takes the name of a choice.
        name: Name => &'static str,
        /// Takes a number.
        number: Number => f64,
        /// Takes a flag.
        flag: Flag => bool,
        /// Takes an id.
        id: Id => Uuid,
        /// Takes a time.
        time: Time => Timestamp,
        /// Takes a list.
        list: List => Vec<Value>,
        /// Takes a whole number.
        whole: Integer => i64,
    }

    /// Takes a whole number as a type that its bounds fit into. Returns `None` also if the number does not fit.
    pub fn integer<N: TryFrom<i64>>(&mut self, field: &str) -> Option<N> {
        self.whole(field).and_then(|number| N::try_from(number).ok())
    }

    /// Takes a list of strings.
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

    /// Whether the field is present; it may be `null`.
    pub fn has(&self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    /// Takes the change of a string: `None` if the field is absent and stays as it is, `Some(None)` if it is cleared.
    pub fn change(&mut self, field: &str) -> Option<Option<String>> {
        self.has(field).then(|| self.text(field))
    }
}
