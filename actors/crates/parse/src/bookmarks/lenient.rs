//! Lenient deserialisation: members that some versions of a program omit or set to `null`, and rows of another shape.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::row::RowContent;

/// A row of a list, or something else in its place, which does not affect other rows.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Lenient<T> {
    /// A row of the expected shape.
    Valid(T),
    /// An object of another shape, of which only the name is kept.
    Named(ObjectName),
    /// Anything else, which is skipped without being kept.
    Invalid(IgnoredAny),
}

/// What names an object in a list, whatever its other members are.
#[derive(Default)]
pub struct ObjectName {
    title: Option<LenientText>,
    name: Option<LenientText>,
    url: Option<LenientText>,
}

/// A text, or something else in its place.
#[derive(Deserialize)]
#[serde(untagged)]
enum LenientText {
    Text(String),
    Other(IgnoredAny),
}

// A derived implementation would also accept an array in place of the object, and refuse a member that occurs twice.
impl<'de> Deserialize<'de> for ObjectName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ObjectNameVisitor)
    }
}

struct ObjectNameVisitor;

impl<'de> Visitor<'de> for ObjectNameVisitor {
    type Value = ObjectName;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ObjectName, A::Error> {
        let mut name = ObjectName::default();
        while let Some(member) = members.next_key::<String>()? {
            match member.as_str() {
                "title" => name.title = members.next_value()?,
                "name" => name.name = members.next_value()?,
                "url" => name.url = members.next_value()?,
                // Skipped without being kept: it may be large.
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(name)
    }
}

impl ObjectName {
    /// Returns the title, or else the name or the URL: the first that is a text and not blank.
    pub fn into_text(self) -> Option<String> {
        [self.title, self.name, self.url].into_iter().flatten().find_map(|member| match member {
            LenientText::Text(text) => Some(text).filter(|text| !text.trim().is_empty()),
            LenientText::Other(_) => None,
        })
    }
}

impl<T> Lenient<T> {
    /// Converts a row of the expected shape with `read`; anything else is skipped with a reason.
    pub fn content(self, read: impl FnOnce(T) -> RowContent) -> RowContent {
        match self {
            Lenient::Valid(row) => read(row),
            Lenient::Named(object) => RowContent::skipped_with_name("cannot be read", object.into_text()),
            Lenient::Invalid(_) => RowContent::skipped("cannot be read"),
        }
    }
}

/// Deserialises `null` as the default value; `serde(default)` alone covers only a missing member.
pub fn null_as_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(json: &str) -> RowContent {
        let row: Lenient<bool> = serde_json::from_str(json).unwrap();
        row.content(|_| RowContent::skipped("is valid"))
    }

    #[test]
    fn row_of_another_shape_is_named_only_if_it_is_an_object() {
        let named = |name: &str| RowContent::skipped_with_name("cannot be read", Some(name.to_owned()));

        assert_eq!(
            content(r#"{"name": 1, "url": "https://a.example/", "x": []}"#),
            named("https://a.example/")
        );
        assert_eq!(content(r#"{"title": "One", "title": "Two"}"#), named("Two"));
        assert_eq!(content("{}"), RowContent::skipped("cannot be read"));
        assert_eq!(content(r#"["One", "Two"]"#), RowContent::skipped("cannot be read"));
        assert_eq!(content(r#""One""#), RowContent::skipped("cannot be read"));
        assert_eq!(content("true"), RowContent::skipped("is valid"));
    }
}
